"""Reads of memory that is not mapped: by `MPI_Get` where the network is one-sided, else by asking the owner.

Asking ("service"): the owner's I/O thread sends the region, packed, and the reader has posted the receive
before it asked. Such a receive fails when the owner dies.

Getting ("get"): nobody is asked, but a Get of a dead rank never ends, and one of a busy rank may need that
rank inside MPI. So it goes into a buffer of its own, which a late answer can do no harm to, and has a limit.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI

from .mailbox import count_as_mpi
from .regions import datatypes, pack, pieces

if TYPE_CHECKING:
    from ..transport import Bytes, Region
    from .mailbox import Mailbox, Message

MESSAGE, REQUEST, REFUSED, GONE, DATA = 1, 2, 3, 4, 16  # tags; DATA + ticket is the answer to a request
_TICKETS = 1 << 16
_MOST_PIECES = 4096  # a Get of more separate pieces is slower than asking
_MOST_GOT = 2**31 - 1  # bytes
_CANCELLING = 1.0  # seconds: an answer that has begun to stream in, and stays away so long, stays away
RING_EVERY = 0.001

Done = Callable[[bool], None]


@dataclass(slots=True)
class _Read:
    rank: int
    request: MPI.Request
    into: Bytes
    done: Done
    deadline: float
    ticket: int = -1
    buffer: Bytes | None = None
    cancelled: bool = False
    types: list[MPI.Datatype] = field(default_factory=list)


class Fetcher:
    """The reads of one rank that are under way, and its answers to those of others.

    Parameters
    ----------
    mailbox
        Carries requests and answers.
    window
        The arenas, locked for reading; None when nobody gets.
    ring
        Wakes a rank of this host; does nothing for another host's.
    memory
        Returns the own memory by source: -1 for the arena, else a spill file; None when there is no such
        file.
    limit
        Seconds until an unanswered read is given up.
    """

    def __init__(
        self,
        mailbox: Mailbox,
        window: MPI.Win | None,
        ring: Callable[[int], None],
        memory: Callable[[int], Bytes | None],
        limit: float = 10.0,
    ) -> None:
        self._mailbox, self._window, self._ring, self._memory = mailbox, window, ring, memory
        self.limit = limit
        self.slow: set[int] = set()
        self._reads: list[_Read] = []
        self._failed: list[Done] = []
        self._stuck: list[_Read] = []
        self._ticket = 0
        self._rung = 0.0

    @property
    def under_way(self) -> bool:
        """Tell whether a read waits."""
        return bool(self._reads or self._failed)

    def start(self, route: str, rank: int, region: Region, into: Bytes, done: Done) -> None:
        """Begin a read; `progress` calls `done`."""
        if rank in self._mailbox.dead:
            self._failed.append(done)
            return
        get = route == "get" and self._window is not None and region.source < 0 and rank not in self.slow
        get = get and not self._mailbox.dead  # after a death a window may hang or crash for the living too
        try:
            if get and pieces(region) <= _MOST_PIECES and into.size <= _MOST_GOT:
                self._reads.append(self._get(rank, region, into, done))
            else:
                self._reads.append(self._ask(rank, region, into, done))
        except MPI.Exception:
            self._failed.append(done)

    def _ask(self, rank: int, region: Region, into: Bytes, done: Done) -> _Read:
        """Post the receive, then ask."""
        self._ticket = (self._ticket + 1) % _TICKETS
        request = self._mailbox.comm.Irecv(count_as_mpi(into), rank, DATA + self._ticket)
        self._mailbox.send(rank, REQUEST, pickle.dumps((self._ticket, region), 5))
        self._ring(rank)
        return _Read(rank, request, into, done, time.monotonic() + self.limit, self._ticket)

    @contextlib.contextmanager
    def _watchdog(self, name: str) -> Iterator[None]:
        """End this process when a call into MPI does not return: nothing else frees it."""
        timer = threading.Timer(2 * self.limit, _give_up, (name, 2 * self.limit))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _get(self, rank: int, region: Region, into: Bytes, done: Done) -> _Read:
        """Start a Get; a target on this host is rung into MPI first."""
        assert self._window is not None
        self._ring(rank)
        buffer: Bytes = np.empty(into.size, np.uint8)
        types = datatypes(region)
        with self._watchdog(f"a Get of rank {rank}"):
            request = self._window.Rget([buffer, MPI.BYTE], rank, (region.offset, 1, types[-1]))
        return _Read(rank, request, into, done, time.monotonic() + self.limit, -1, buffer, False, types)

    def progress(self) -> int:
        """Look at the reads under way; returns how many have ended, well or not."""
        failed, self._failed = self._failed, []
        for done in failed:
            done(False)
        if not self._reads:
            return len(failed)
        now = time.monotonic()
        self._ring_targets(now)
        reads, self._reads = self._reads, []
        ended: list[tuple[Done, bool]] = []
        for read in reads:
            result = self._result(read, now)
            if result is None:
                self._reads.append(read)
            else:
                ended.append((read.done, result))
        for done, ok in ended:
            done(ok)
        return len(failed) + len(ended)

    def _result(self, read: _Read, now: float) -> bool | None:
        """Tell how a read ended; None while it has not."""
        dead = read.rank in self._mailbox.dead
        if read.buffer is not None:
            if self._mailbox.dead or now > read.deadline:  # never touch it again: the next call on it could hang
                if dead or now > read.deadline:
                    self.slow.add(read.rank)
                self._stuck.append(read)
                return False
            return self._got(read)
        if (dead or now > read.deadline) and not read.cancelled:
            # Cancelled once the answer streams in, a receive goes on all the same, into memory that must wait
            # for it.
            read.cancelled = True
            read.deadline = now + _CANCELLING
            with contextlib.suppress(MPI.Exception):
                read.request.Cancel()
        found = self._read_answer(read)
        if found is None and dead and read.cancelled and now > read.deadline:
            self._stuck.append(read)
            return False
        return found

    def _got(self, read: _Read) -> bool | None:
        """Look at a Get."""
        try:
            if not read.request.Test():
                return None
        except MPI.Exception:
            return False
        assert read.buffer is not None
        read.into[:] = read.buffer
        for datatype in read.types:
            datatype.Free()
        return True

    def _read_answer(self, read: _Read) -> bool | None:
        """Look at an answer."""
        status = MPI.Status()
        try:
            if not read.request.Test(status):
                return None
        except MPI.Exception:
            return False
        return not status.Is_cancelled() and status.Get_elements(MPI.BYTE) == read.into.size

    def _ring_targets(self, now: float) -> None:
        """Keep the targets of Gets inside MPI, where they are on this host."""
        if now - self._rung >= RING_EVERY:
            self._rung = now
            for rank in {x.rank for x in self._reads if x.buffer is not None}:
                self._ring(rank)

    def answer(self, message: Message) -> None:
        """Serve what another rank asks for: a REQUEST, or the news that it REFUSED one."""
        if message.tag == REFUSED:
            ticket = pickle.loads(message.buffer.data)
            for read in self._reads:
                if (read.rank, read.ticket) == (message.source, ticket):
                    read.deadline = 0.0
        elif message.tag == REQUEST:
            ticket, region = pickle.loads(message.buffer.data)
            packed = self._pack(region)
            if packed is None:
                self._mailbox.send(message.source, REFUSED, pickle.dumps(ticket, 5))
            else:
                self._mailbox.send(message.source, DATA + ticket, packed)
            self._ring(message.source)

    def _pack(self, region: Region) -> Bytes | None:
        """Return a region's bytes in C order, not copied where they lie so; None when they are not there."""
        memory = self._memory(region.source)
        return None if memory is None else pack(memory, region)


def _give_up(name: str, limit: float) -> None:
    """Say what hung, and die as a lost rank does."""
    sys.stderr.write(f"windrow: {name} did not return within {limit} s; this rank ends itself\n")
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGKILL)
