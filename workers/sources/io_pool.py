"""I/O threads read slow sources, so that neither compute threads nor the engine wait for them.

A process has a fixed number of them, started when the first slow source is read. A piece that two batches need at the
same time is read once. When no batch has it any more, it is read again, since the source may have changed.
"""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    import numpy as np

READERS = 8
"""Threads of a process."""
_queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
_threads: list[threading.Thread] = []
_lock = threading.Lock()


def read_soon(act: Callable[[], None]) -> None:
    """Run a function on an I/O thread; it must not raise."""
    _queue.put(act)
    if len(_threads) < READERS:
        with _lock:
            if len(_threads) < READERS:
                _threads.append(threading.Thread(target=_loop, name=f"windrow-reader-{len(_threads)}", daemon=True))
                _threads[-1].start()


class Reading:
    """A piece of a source that is being read, or has been; each batch that needs it refers to it.

    `outcome`, the piece or the exception, is set before those that wait are notified. It is `void` where it can't be
    used: all batches had been recalled before it was read, or reading it failed. Later batches have the piece read
    anew, even if the traceback of an error keeps this object alive.
    """

    __slots__ = ("__weakref__", "_waiting", "outcome", "void")
    outcome: np.ndarray[Any, Any] | BaseException

    def __init__(self) -> None:
        self._waiting: list[tuple[Callable[[], bool], Callable[[], None]]] | None = []
        self.void = False

    def call_when_read(self, wanted: Callable[[], bool], tell: Callable[[], None]) -> None:
        """Call `tell` when it has been read, now or on an I/O thread; `wanted` says whether it is still needed."""
        with _lock:
            waits = self._waiting is not None
            if self._waiting is not None:
                self._waiting.append((wanted, tell))
        if not waits:
            tell()

    def is_usable(self) -> bool:
        """Whether another batch may use it: it was read, or some batch still waits for it. Call with the lock held."""
        return not self.void and (self._waiting is None or any(wanted() for wanted, _ in self._waiting))

    def read(self, act: Callable[[], np.ndarray[Any, Any] | BaseException]) -> None:
        """Read it, and notify all that wait; on an I/O thread."""
        with _lock:
            self.void = not self.is_usable()
        if not self.void:
            self.outcome = act()
        with _lock:
            self.void |= isinstance(getattr(self, "outcome", None), BaseException)
            waiting, self._waiting = self._waiting, None
        for _, tell in waiting or ():
            tell()


_readings: WeakValueDictionary[Hashable, Reading] = WeakValueDictionary()


def share(key: Hashable) -> tuple[Reading, bool]:
    """Return the reading of a key, and whether it is new; a new one must be read by the caller."""
    with _lock:
        known = _readings.get(key)
        if known is not None and known.is_usable():
            return known, False
        reading = _readings[key] = Reading()
        return reading, True


def _loop() -> None:
    while True:
        _queue.get()()


def _begin_anew() -> None:
    global _queue, _lock
    _queue, _lock = SimpleQueue(), threading.Lock()
    _threads.clear()
    _readings.clear()


os.register_at_fork(after_in_child=_begin_anew)
