"""Gets from the window that are under way: few at a time, into buffers of their own, and none once a rank has died.

Measured with Open MPI 5.0, by ranks that were killed amid Gets: a Get under way from a rank that dies never completes,
and may be let go of; the call that begins one returns, as long as few pieces are under way. Each takes a fragment of
MPI's, which a dead rank doesn't give back, and without one left the call waits for ever.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI

from .regions import datatypes, pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...wire.transport import Bytes, Region

RING_EVERY = 0.001
MOST_PIECES = 64
"""Separate runs of bytes under way at once, of all Gets; half of what MPI has calls wait with that die, or more."""
_MOST_BYTES = 2**31 - 1


@dataclass(slots=True)
class Get:
    """A read by one-sided access, wanted or under way."""

    rank: int
    region: Region
    into: Bytes
    done: Callable[[bool], None]
    pieces: int = 0
    deadline: float = 0.0
    request: MPI.Request | None = None
    buffer: Bytes | None = None
    types: list[MPI.Datatype] = field(default_factory=list)


class Gets:
    """A rank's Gets from a window of arenas, each given up after `limit` seconds; `ring` wakes a rank of this host."""

    def __init__(self, window: MPI.Win, ring: Callable[[int], None], limit: float) -> None:
        self._window, self._ring, self._limit = window, ring, limit
        self._watch = _Watch(2 * limit)
        self._waiting: deque[Get] = deque()
        self._flying: list[Get] = []
        self._lost: list[Get] = []  # MPI may write to their buffers yet
        self._slow: set[int] = set()
        self._rung = 0.0

    def __bool__(self) -> bool:
        return bool(self._waiting or self._flying)

    def take(self, get: Get) -> bool:
        """Accept a read, unless asking for it is better: it lies in many pieces, or its owner was too slow before."""
        get.pieces = pieces(get.region)
        if get.rank in self._slow or get.pieces > MOST_PIECES or get.into.size > _MOST_BYTES:
            return False
        self._waiting.append(get)
        return True

    def progress(self, any_dead: bool) -> tuple[list[Get], list[Get]]:
        """Return the Gets that have come, and those that won't: after a death, too late, refused by MPI."""
        if any_dead:
            given_up = [*self._flying, *self._waiting]
            self._lost += self._flying
            self._flying = []
            self._waiting.clear()
            return [], given_up
        now = time.monotonic()
        arrived, given_up, still = [], [], []
        for get in self._flying:
            succeeded = self._test(get)
            if succeeded is None and now <= get.deadline:
                still.append(get)
            elif succeeded:
                arrived.append(get)
            else:
                given_up.append(get)
                self._lost.append(get)
                self._slow.add(get.rank)
        self._flying = still
        room = MOST_PIECES - sum(get.pieces for get in still)
        while self._waiting and self._waiting[0].pieces <= room:
            get = self._waiting.popleft()
            if self._begin(get, now):
                room -= get.pieces
            else:
                given_up.append(get)
        self._ring_targets(now)
        return arrived, given_up

    def _begin(self, get: Get, now: float) -> bool:
        """Start a Get; a target on this host is rung into MPI first."""
        self._ring(get.rank)
        get.deadline = now + self._limit
        get.buffer = np.empty(get.into.size, np.uint8)
        try:
            get.types = datatypes(get.region)
            with self._watch.inside(f"a Get of rank {get.rank}"):
                get.request = self._window.Rget([get.buffer, MPI.BYTE], get.rank, (get.region.offset, 1, get.types[-1]))
        except MPI.Exception:
            self._lost.append(get)
            return False
        self._flying.append(get)
        return True

    def _test(self, get: Get) -> bool | None:
        """Tell how a Get ended; None while it has not."""
        assert get.request is not None
        assert get.buffer is not None
        try:
            with self._watch.inside(f"a look at a Get of rank {get.rank}"):
                if not get.request.Test():
                    return None
        except MPI.Exception:
            return False
        get.into[:] = get.buffer
        for datatype in get.types:
            datatype.Free()
        return True

    def _ring_targets(self, now: float) -> None:
        """Keep the targets inside MPI, where they are on this host."""
        if now - self._rung >= RING_EVERY:
            self._rung = now
            for rank in {get.rank for get in self._flying}:
                self._ring(rank)


class _Watch:
    """Ends this process when a call into MPI does not return: nothing else frees it."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._name, self._begun = "", 0.0
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def inside(self, name: str) -> Iterator[None]:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="windrow-get-watch", daemon=True)
            self._thread.start()
        self._begun = time.monotonic()
        self._name = name
        try:
            yield
        finally:
            self._name = ""

    def _run(self) -> None:
        while True:
            time.sleep(self._limit / 4)
            name = self._name
            if name and time.monotonic() - self._begun > self._limit:
                sys.stderr.write(f"windrow: {name} did not return within {self._limit} s; this rank ends itself\n")
                sys.stderr.flush()
                os.kill(os.getpid(), signal.SIGKILL)
