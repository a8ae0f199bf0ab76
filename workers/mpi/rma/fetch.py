"""Reads of memory that is not mapped: by `MPI_Get` where the network is one-sided, else by asking the owner.

Asking ("service"): the owner's I/O thread sends the region, packed, and the reader has posted the receive
before it asked. Such a receive fails when the owner dies.

Getting ("get"): nobody is asked (see `gets`). What doesn't come, or is under way when a rank dies, is asked for.
"""

from __future__ import annotations

import contextlib
import pickle
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mpi4py import MPI

from ..messages.mailbox import count_as_mpi
from .gets import Get, Gets
from .regions import pack

if TYPE_CHECKING:
    from ...wire.transport import Bytes, Region
    from ..messages.mailbox import Mailbox, Message

MESSAGE, REQUEST, REFUSED, GONE, DATA = 1, 2, 3, 4, 16  # tags; DATA + ticket is the answer to a request
_TICKETS = 1 << 16
_CANCELLING = 1.0  # seconds: an answer that has begun to stream in, and stays away so long, stays away

Done = Callable[[bool], None]


@dataclass(slots=True)
class _Read:
    rank: int
    request: MPI.Request
    into: Bytes
    done: Done
    deadline: float
    ticket: int = -1
    cancelled: bool = False


class Fetcher:
    """The reads of one rank that are under way, and its answers to those of others.

    The window has the arenas, locked for reading; None where MPI has none. `ring` wakes a rank of this host. `memory`
    returns the own memory by source: -1 for the arena, else a spill file. An unanswered read is given up after `limit`
    seconds.
    """

    def __init__(
        self,
        mailbox: Mailbox,
        window: MPI.Win | None,
        ring: Callable[[int], None],
        memory: Callable[[int], Bytes | None],
        limit: float = 10.0,
    ) -> None:
        self._mailbox, self._ring, self._memory = mailbox, ring, memory
        self.limit = limit
        self.counts = Counter[str]()
        self.served = 0
        self._gets = None if window is None else Gets(window, ring, limit)
        self._reads: list[_Read] = []
        self._failed: list[Done] = []
        self._stuck: list[_Read] = []
        self._ticket = 0

    @property
    def under_way(self) -> bool:
        """Tell whether a read waits."""
        return bool(self._reads or self._failed or self._gets)

    def start(self, route: str, rank: int, region: Region, into: Bytes, done: Done) -> None:
        """Begin a read; `progress` calls `done`."""
        if rank in self._mailbox.dead:
            self._failed.append(done)
            return
        # After a death a window may hang or crash for the living too.
        may_get = route == "get" and region.source < 0 and not self._mailbox.dead
        if may_get and self._gets is not None and self._gets.take(Get(rank, region, into, done)):
            return
        self.counts["service"] += 1
        try:
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

    def progress(self) -> int:
        """Look at the reads under way; returns how many have ended, well or not."""
        ended = [(done, False) for done in self._failed]
        self._failed = []
        if self._gets:
            ended += [(get.done, True) for get in self._progress_gets(self._gets)]
        now = time.monotonic()
        reads, self._reads = self._reads, []
        for read in reads:
            result = self._result(read, now)
            if result is None:
                self._reads.append(read)
            else:
                ended.append((read.done, result))
        for done, ok in ended:
            done(ok)
        return len(ended)

    def _progress_gets(self, gets: Gets) -> list[Get]:
        """Return the Gets that have come; ask for what will not."""
        arrived, given_up = gets.progress(bool(self._mailbox.dead))
        for get in given_up:
            self.start("service", get.rank, get.region, get.into, get.done)
        self.counts["get"] += len(arrived)
        return arrived

    def _result(self, read: _Read, now: float) -> bool | None:
        """Tell how a read ended; None while it has not."""
        dead = read.rank in self._mailbox.dead
        if (dead or now > read.deadline) and not read.cancelled:
            # Cancelled once the answer streams in, a receive goes on all the same, into memory that must wait
            # for it.
            read.cancelled = True
            read.deadline = now + _CANCELLING
            with contextlib.suppress(MPI.Exception):
                read.request.Cancel()
        succeeded = self._read_answer(read)
        if succeeded is None and dead and read.cancelled and now > read.deadline:
            self._stuck.append(read)
            return False
        return succeeded

    def _read_answer(self, read: _Read) -> bool | None:
        status = MPI.Status()
        try:
            if not read.request.Test(status):
                return None
        except MPI.Exception:
            return False
        return not status.Is_cancelled() and status.Get_elements(MPI.BYTE) == read.into.size

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
                self.served += packed.nbytes
                self._mailbox.send(message.source, DATA + ticket, packed)
            self._ring(message.source)

    def _pack(self, region: Region) -> Bytes | None:
        """Return a region's bytes in C order, not copied where they lie so; None when they are not there."""
        memory = self._memory(region.source)
        return None if memory is None else pack(memory, region)
