"""A thread that does one thing after the other, and ends some time after the last."""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


IDLE = 1.0
"""Seconds after which a thread ends that has nothing to do for tasks."""


class SerialThread:
    """Does what it is given, in that order, each thing for itself: what raises keeps no other from being done."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._works: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.RLock()  # what is collected while it is held may put something in
        self._thread: threading.Thread | None = None

    def put(self, work: Callable[[], None]) -> None:
        """Have something done."""
        self._works.put(work)
        with self._lock:
            thread = self._thread
            if thread is None or not (thread.is_alive() or thread.ident is None):  # it ended with a fork
                self._start()

    def _start(self) -> None:
        thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
        if self._thread is None or self._thread.ident is not None:  # else one was made while this one was
            self._thread = thread
            thread.start()

    def _loop(self) -> None:
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
