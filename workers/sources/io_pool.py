"""I/O threads: they read sources that may be slow, so that neither compute threads nor the engine wait for these.

They are begun when the first such source is read, and are the process's: sources are read as many at a time whatever
computes with them. What two batches ask for at the same time is read once; who asks when no batch has it any more reads
again, since a source may have changed.
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
    """Have an I/O thread do something, which raises nothing."""
    _queue.put(act)
    if len(_threads) < READERS:
        with _lock:
            if len(_threads) < READERS:
                _threads.append(threading.Thread(target=_loop, name=f"windrow-reader-{len(_threads)}", daemon=True))
                _threads[-1].start()


class Reading:
    """What is read, or was; each batch that wants it holds it.

    Attributes
    ----------
    outcome : numpy.ndarray or BaseException
        What was read; there before who waits is told.
    void : bool
        Whether it wasn't read, since all who had asked for it had been recalled by then, or couldn't be: who asks now
        has it read anew. An error's traceback may keep the reading for long.
    """

    __slots__ = ("__weakref__", "_waiting", "outcome", "void")
    outcome: np.ndarray[Any, Any] | BaseException

    def __init__(self) -> None:
        self._waiting: list[tuple[Callable[[], bool], Callable[[], None]]] | None = []
        self.void = False

    def await_(self, wanted: Callable[[], bool], tell: Callable[[], None]) -> None:
        """Be told when it has been read, now or on an I/O thread; `wanted` says whether it is still of use."""
        with _lock:
            waits = self._waiting is not None
            if self._waiting is not None:
                self._waiting.append((wanted, tell))
        if not waits:
            tell()

    def lives(self) -> bool:
        """Tell whether it may be given to who asks now: somebody has it, or still waits for it. The lock is held."""
        return not self.void and (self._waiting is None or any(wanted() for wanted, _ in self._waiting))

    def read(self, act: Callable[[], np.ndarray[Any, Any] | BaseException]) -> None:
        """Read it, and tell all who wait; on an I/O thread."""
        with _lock:
            self.void = not self.lives()
        if not self.void:
            self.outcome = act()
        with _lock:
            self.void |= isinstance(getattr(self, "outcome", None), BaseException)
            waiting, self._waiting = self._waiting, None
        for _, tell in waiting or ():
            tell()


_readings: WeakValueDictionary[Hashable, Reading] = WeakValueDictionary()


def share(key: Hashable) -> tuple[Reading, bool]:
    """Return the reading of a key, and whether it is a new one, which the caller must have read."""
    with _lock:
        known = _readings.get(key)
        if known is not None and known.lives():
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
