"""What users' functions take at work beside what was said of them: `memory=`, or what is assumed where nobody says.

A function that is said to take twice its block may take twelve times as much where blocks are large. Nobody can tell
one thread's memory from another's. So it is looked at how much of the C library's memory is in use, before functions
run, some twenty times a second while they do, and when one ends. What is far above all that was declared, and goes when
a task ends, is the function's. What libraries map for themselves isn't seen, nor are Python's own small objects.
"""

from __future__ import annotations

import ctypes
import threading
import time
from functools import cache
from typing import TYPE_CHECKING

from ..sources.io_pool import READERS
from ..wire.protocol import Exceeded
from .footprint import read_bytes, task_work
from .pressure import PERIOD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...graph.kinds.source import HostData
    from ...graph.lowering.stage import Stage

MARGIN, TIMES = 64 << 20, 1.5
"""Bytes above so many times what was declared that nobody is blamed for."""
RARELY = 50
"""A look is followed by none for so many times as long: glibc goes over all its free pieces, which may be many."""


class Excess:
    """Looks at what is in use while users' functions run; `stages` are those that the rank knows, by token."""

    def __init__(self, rank: int, stages: Mapping[str, Stage]) -> None:
        self._rank, self._stages = rank, stages
        self._guard = threading.Lock()
        self._running: dict[int, Stage] = {}
        self._functions = 0
        """How many of those that run call users' functions."""
        self._based = self._looked = 0.0
        self._pause = PERIOD
        self._base = self._peak = 0
        self._at_peak: tuple[Stage, ...] = ()

    def begin(self, batch: int, stage: Stage) -> None:
        """Note that a batch begins."""
        with self._guard:
            now = time.monotonic()
            if stage.foreign and not self._functions and now - self._based > self._pause:
                self._base, self._based = self._measure(), now
                self._peak = 0
            self._running[batch] = stage
            self._functions += stage.foreign

    def look(self, now: float) -> None:
        """Look, if a user's function runs, unless somebody has just done so."""
        if self._functions and now - self._looked > self._pause:
            self._looked = now
            with self._guard:
                running = tuple(self._running)
            nbytes = self._measure()  # not under the guard, for which threads would wait meanwhile
            with self._guard:
                if nbytes > self._peak and running == tuple(self._running):
                    self._peak, self._at_peak = nbytes, tuple(self._running.values())

    def grant(self, nbytes: int) -> None:
        """Note what another thread of this process has taken for results."""
        with self._guard:
            self._base += nbytes

    def end(self, batch: int) -> Exceeded | None:
        """Note that a batch ends; tell what its function took where that is too much."""
        with self._guard:
            stage = self._running.pop(batch)
            self._functions -= stage.foreign
            peak, among = self._peak, self._at_peak
            self._peak, self._at_peak = 0, ()  # stages hold what the user has let go of
            if not stage.foreign or peak - self._base <= MARGIN or any(s.foreign and s is not stage for s in among):
                return None
            count = sum(each is stage for each in among)
            if not count:
                return None
            others = sum(self._declared(each) for each in among if each is not stage)
            others += (READERS + count) * read_bytes(stage, self._sources(stage))
            each, declared = (peak - self._base - others) // count, self._declared(stage)
            if each <= TIMES * declared + MARGIN or peak - bytes_in_use() < each // 2:
                return None
            return Exceeded(self._rank, batch, each, declared)

    def _measure(self) -> int:
        begin = time.perf_counter()
        nbytes = bytes_in_use()
        self._pause = max(PERIOD, RARELY * (time.perf_counter() - begin))
        return nbytes

    def _declared(self, stage: Stage) -> int:
        return task_work(stage, self._sources(stage)).total

    def _sources(self, stage: Stage) -> dict[str, HostData]:
        inputs = [known for token in stage.inputs if (known := self._stages.get(token)) is not None]
        return {known.token: known.data for known in inputs if known.data is not None}


def bytes_in_use() -> int:
    """Return the bytes that the C library has handed out; 0 where it doesn't tell."""
    function = _counter()
    return function() if function is not None else 0


class _Counts(ctypes.Structure):
    """What glibc tells of its memory (`struct mallinfo2`)."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


@cache
def _counter() -> Callable[[], int] | None:
    function = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if function is None:
        return None
    function.restype = _Counts

    def count() -> int:
        info = function()
        return int(info.uordblks + info.hblkhd)

    return count
