"""A hint, once a process, that users' functions keep Python's lock from many threads: then ranks are quicker.

Threads that wait for the lock use no processor. So where more than four are in users' functions for some seconds, and
all of them together use about one processor, they stand in each other's way. Functions that sleep use less, and those
that are in compiled code without the lock use more.
"""

from __future__ import annotations

import logging
import threading

MANY = 4
"""So many threads, or fewer, get along."""
SECONDS = 2.0
ONE = 0.75, 1.3
"""Processors that threads use together which pass the lock on."""
GAP = 0.2
"""After so many seconds in which no function ended it is counted anew."""

_log = logging.getLogger("windrow")
_given = threading.Event()


class LockHint:
    """Counts the seconds of threads in users' functions, and what they used of the processors."""

    def __init__(self, threads: int) -> None:
        self._wanted = threads > MANY
        self._guard = threading.Lock()
        self._begin = self._end = self._busy = self._used = 0.0

    def note(self, begin: float, end: float, used: float) -> None:
        """Note a batch of calls: when it began and ended, and the processor's seconds of its thread; give the hint."""
        if not self._wanted or _given.is_set():
            return
        with self._guard:
            if end - self._end > GAP + (end - begin):
                self._begin, self._busy, self._used = begin, 0.0, 0.0
            self._end = max(self._end, end)
            self._busy += end - begin
            self._used += used
            lasted = self._end - self._begin
            if lasted < SECONDS or self._busy < MANY * lasted or not ONE[0] <= self._used / lasted <= ONE[1]:
                return
            if _given.is_set():
                return
            _given.set()
        _log.warning(
            f"a function of yours that runs on blocks holds Python's lock: {self._busy / lasted:.0f} threads used one "
            "processor together. Ranks have a lock each: python -m windrow -n auto, or the setting ranks='auto'"
        )
