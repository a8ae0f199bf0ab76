"""A thread that does one thing after the other, and ends some time after the last."""

from __future__ import annotations

import os
import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable


IDLE = 1.0
"""Seconds after which a thread ends that has nothing to do for tasks."""
_every: WeakSet[SerialThread] = WeakSet()


class SerialThread:
    """Does what it is given, in that order, each thing for itself: what raises keeps no other from being done."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._begin_anew()
        _every.add(self)

    def _begin_anew(self) -> None:
        self._works: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.RLock()  # what is collected while it is held may put something in
        self._thread: threading.Thread | None = None

    def put(self, work: Callable[[], None]) -> None:
        """Have something done: where no thread can be started, a RuntimeError, when the next thing is put in."""
        self._works.put(work)
        with self._lock:
            self._start()

    @property
    def is_current(self) -> bool:
        """Whether it is what runs the caller."""
        return self._thread is threading.current_thread()

    def _start(self) -> None:
        """Start a thread, unless there is one; the lock is held."""
        if self._runs():
            return
        thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
        if self._runs():  # what was collected meanwhile has put something in
            return
        self._thread = thread
        try:
            thread.start()
        except BaseException:
            self._thread = None  # one that starts nevertheless sees that, and ends
            raise

    def _runs(self) -> bool:
        thread = self._thread
        return thread is not None and (thread.ident is None or thread.is_alive())

    def _loop(self) -> None:
        with self._lock:
            if not self.is_current:
                return
        try:
            while True:
                try:
                    work = self._works.get(timeout=IDLE)
                except Empty:
                    return
                work()
                del work
        finally:
            with self._lock:  # what is put in from now on is done by another thread
                self._thread = None
                if not self._works.empty():
                    self._start()


def _begin_anew() -> None:
    """Leave to the process that has forked what it was given to do, and its locks."""
    for each in _every:
        each._begin_anew()


os.register_at_fork(after_in_child=_begin_anew)
