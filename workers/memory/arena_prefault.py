"""Pages of an arena that are made ahead, while its rank has nothing to compute.

The kernel clears a page of shared memory when it is first written to, and that takes longer than to compute what goes
into it; so what is computed first was several times slower than the same afterwards. An arena is filled from its
beginning. A thread has the kernel make as many pages beyond the last one in use as are in use, so that a program that
needs little memory takes no more than twice as much.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
import time
from typing import TYPE_CHECKING

from .memory_limit import room

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..wire.transport import Bytes

LEAST = 1 << 22
"""Bytes in use below which nothing is made ahead."""
MOST = 1 << 29
"""Bytes that are made ahead at most."""
STEP = 1 << 20
PAUSE = 0.02
"""Seconds until it is looked again whether the rank has nothing to compute."""
_POPULATE_WRITE = 23
"""Linux's advice, since 5.14."""


class PagesAhead:
    """Makes pages of an arena ahead, when `idle`; `note` is called with the highest offset that is written to."""

    def __init__(self, arena: Bytes, idle: Callable[[], bool]) -> None:
        self._idle = idle
        self._size = arena.nbytes
        self._address = int(arena.ctypes.data)
        self._high = self._done = 0
        self._more = threading.Event()
        self._thread: threading.Thread | None = None
        self._madvise = ctypes.CDLL(None, use_errno=True).madvise
        self._madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

    def note(self, offset: int) -> None:
        """Note that the arena is written to up to some offset, or a little beyond."""
        if offset <= self._high:
            return
        self._high = offset
        if offset >= LEAST and self._done < self._goal():
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="windrow-pages", daemon=True)
                self._thread.start()
            self._more.set()

    def _goal(self) -> int:
        return min(2 * self._high, self._high + MOST, self._size // 2)

    def _run(self) -> None:
        while True:
            self._more.wait()
            self._more.clear()
            while (begin := max(self._done, self._high)) < (goal := self._goal()):
                if not self._idle():
                    time.sleep(PAUSE)
                    continue
                begin -= begin % mmap.PAGESIZE
                if room() < 4 * (goal - begin):  # the memory is others' then
                    break
                if self._madvise(self._address + begin, min(STEP, self._size - begin), _POPULATE_WRITE):
                    return  # a kernel that doesn't know it, or has no memory left
                self._done = begin + STEP
