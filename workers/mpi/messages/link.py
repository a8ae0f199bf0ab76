"""The transport between MPI processes: messages, news of deaths, and reads of other ranks' memory.

One thread of the rank drives a link (`wake` excepted). Nothing in it waits for a peer: sends and receives go
on in the background, a read has a limit, and `poll` sleeps on a socket, not inside MPI.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import time
from typing import TYPE_CHECKING

from mpi4py import MPI

from ....graph.expr.serialize import dump
from ...wire.transport import Bytes, RanksLost, Region
from ..deaths.exits import die
from ..deaths.guard import guard
from ..deaths.processes import open_process
from ..rma.fetch import GONE, MESSAGE, REFUSED, REQUEST, Fetcher
from ..rma.gets import RING_EVERY
from ..rma.memory import PeerMemory, make_arena
from ..start.handshake import agree, greet
from .gang_comm import MpiMeeting
from .mailbox import Mailbox
from .wakeup import Bell

if TYPE_CHECKING:
    from collections.abc import Callable

_SPINS = 20  # probes before sleeping: a round trip is over within them
_LAST_LOOKS = 20  # for what rank 0 said last, a millisecond each
_LONGEST_SLEEP = 0.05  # a death is noticed after that at the latest, and a lost ring costs no more
_LONGEST_UNDER_WAY = 0.005  # while something large is on its way, which moves only inside MPI
_BUSY_FOR = 1.0  # after traffic with another host, which cannot ring, look often for so long


class MpiLink:
    """A rank's `Transport` over an MPI communicator of its own; to make it is collective.

    `transport` says how other ranks' chunks are read: "auto", or "map", "get" or "service" for all. A read that gets no
    answer is given up after `fetch_limit` seconds.
    """

    def __init__(
        self, comm: MPI.Intracomm, arena_bytes: int, transport: str = "auto", fetch_limit: float = 10.0
    ) -> None:
        for each in (comm, MPI.COMM_WORLD, MPI.COMM_SELF):
            each.Set_errhandler(MPI.ERRORS_RETURN)
        self.comm, self.rank, self.size = comm, comm.rank, comm.size
        word, transport = agree(comm, transport)
        self._arena = make_arena(self.rank, arena_bytes)
        self._memory = PeerMemory()
        self._bell = Bell(word, self.rank)
        roster = greet(comm, self._arena, self._memory, transport)
        self.peers, self.window = roster.peers, roster.window
        self.transport = transport
        # Rank 0 watches the processes of its host, the others watch rank 0: quicker than MPI when idle.
        watched = [r for r in roster.killable if 0 in (r, self.rank)]
        opened = {r: open_process(self.peers[r].pid) for r in watched}
        self._pidfds = {r: fd for r, fd in opened.items() if fd is not None}
        for rank, fd in self._pidfds.items():
            self._bell.watch(rank, fd)
        # On other hosts than rank 0's each may be asked to kill the others.
        near = [] if 0 in (self.rank, *roster.killable) else sorted(roster.killable)
        held = {r: open_process(self.peers[r].pid) for r in near}
        self._neighbours = {r: fd for r, fd in held.items() if fd is not None}
        self.meeting = MpiMeeting(comm)
        self._turns = self.meeting.turns
        self._mailbox = Mailbox(comm)
        self._fetcher = Fetcher(self._mailbox, roster.window, self._ring, self._find_own, fetch_limit)
        self._reported: set[int] = set()
        self._remote = any(not x.same_node for x in self.peers)
        self._traffic = 0.0
        self._declared: set[int] = set()
        self._notes = guard().notes if self.rank == 0 else None
        self.closed = False
        comm.Barrier()  # every bell hangs, every arena is mapped: from here on a rank may die

    def send(self, rank: int, message: object) -> None:
        """Queue a message for a rank (not the own one); silently dropped when it is dead."""
        if rank in self._mailbox.dead:
            return
        data = dump(message)
        with self._turns:
            self._mailbox.send(rank, MESSAGE, data)
        self._ring(rank)

    def poll(self, timeout: float) -> list[object]:
        """Return what has come: messages and `RanksLost`; see `Transport.poll`.

        Returns early, perhaps with nothing, after `wake` and when a read has ended.
        """
        deadline = time.monotonic() + timeout
        arrivals: list[object] = []
        spins, patience = _SPINS, RING_EVERY
        while True:
            with self._turns:
                ended = self._step(arrivals)
            if self._bell.take_wake() or arrivals or ended:
                return arrivals
            if timeout <= 0:
                return arrivals
            if spins:
                spins -= 1
                os.sched_yield()
                continue
            left = deadline - time.monotonic()
            if left <= 0:
                return arrivals
            patience, longest = self._patience(patience)
            spins = _SPINS if self._bell.wait(min(left, longest)) else 3
            if not arrivals and time.monotonic() >= deadline and not spins:
                return arrivals

    def _patience(self, now: float) -> tuple[float, float]:
        """Return the next and the present limit of a sleep, in seconds."""
        if self._fetcher.under_way or (self._remote and time.monotonic() - self._traffic < _BUSY_FOR):
            return RING_EVERY, RING_EVERY
        if self._mailbox.under_way:  # the other side may need us, or be busy for long: look ever less often
            return min(now * 1.02, _LONGEST_UNDER_WAY), now
        return RING_EVERY, _LONGEST_SLEEP

    def _step(self, found: list[object]) -> int:
        """Look once at everything; returns the number of reads that ended."""
        ended = self._bell.take_ended()  # before the messages: what a rank said last counts
        self._take(found)
        for rank in ended:
            self._mailbox.has_ended(rank)
        if len(self._mailbox.dead) > len(self._reported):
            lost = sorted(self._mailbox.dead - self._reported)
            for _ in range(_LAST_LOOKS if 0 in lost else 0):  # another thread may be taking in that all is over
                time.sleep(0.001)
                self._take(found)
            self._reported.update(lost)
            found.append(RanksLost(tuple(lost)))
        return self._fetcher.progress()

    def _take(self, found: list[object]) -> None:
        for message in self._mailbox.take_messages():
            if message.tag == MESSAGE:
                found.append(pickle.loads(message.buffer.data))
                self._traffic = time.monotonic() if self._remote else 0.0
            elif message.tag == GONE:
                self._give_up(pickle.loads(message.buffer.data))
            elif message.tag in (REQUEST, REFUSED):
                self._fetcher.answer(message)

    def wake(self) -> None:
        """Make `poll` return at once, from any thread."""
        self._bell.wake()

    def _ring(self, rank: int) -> None:
        if self.peers[rank].same_node:
            self._bell.ring(rank)
        else:
            self._traffic = time.monotonic()

    def note(self, slot: int, text: str) -> None:
        if self._notes is not None:
            self._notes.write(slot, text)

    def declare_dead(self, rank: int) -> int | None:
        """Count a rank as dead, one that is silent, say: the next `poll` reports it. Return who kills it.

        On another host some rank there is asked to. All others are told, so that none waits for it; it is itself, and
        ends when it hears that.
        """
        self._declared.add(rank)
        if rank in self._pidfds:
            self._give_up(rank)
            return self.rank
        living = [x for x in self.peers if x.rank not in (self.rank, *self._mailbox.dead)]
        for peer in living:
            with self._turns:
                self._mailbox.send(peer.rank, GONE, pickle.dumps(rank, 5))
            self._ring(peer.rank)
        self._give_up(rank)
        host = self.peers[rank].host
        return next((x.rank for x in living if x.host == host and x.rank != rank), None)

    def _give_up(self, rank: int) -> None:
        """Bury a rank that was declared dead, and kill it where that is possible."""
        if rank == self.rank:
            die()
        fd = self._pidfds.get(rank, self._neighbours.get(rank))
        if fd is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
        self._mailbox.bury(rank)

    @property
    def out_of_reach(self) -> frozenset[int]:
        """The ranks that were declared dead, and may be alive."""
        return frozenset(self._declared - self._mailbox.ended)

    @property
    def dead(self) -> frozenset[int]:
        """The ranks known to be dead."""
        return frozenset(self._mailbox.dead)

    def arena(self, rank: int) -> Bytes | None:
        return self._arena.memory if rank == self.rank else self._memory.arena(rank)

    def shared_bytes(self) -> int:
        return self._arena.used

    def map_spill_file(self, rank: int, source: int) -> Bytes | None:
        if not self.peers[rank].in_place:
            return None
        return self._memory.map_spill_file(rank, self.peers[rank].pid, source)

    def forget(self, rank: int, source: int) -> None:
        self._memory.forget(rank, source)

    def _find_own(self, source: int) -> Bytes | None:
        """Return the own memory by its source."""
        return self._arena.memory if source < 0 else self.map_spill_file(self.rank, source)

    def fetch(self, rank: int, region: Region, into: Bytes, done: Callable[[bool], None]) -> None:
        """Read a region of a rank's memory into `into`; see `Transport.fetch`.

        A "map" peer can be fetched from as well: by asking it.
        """
        with self._turns:
            self._fetcher.start(self.peers[rank].route, rank, region, into, done)

    def close(self) -> None:
        """Flush what is queued for up to a second, and free what the rank holds. Not collective.

        The window and the communicator are not freed: that would wait for ranks that may be dead.
        """
        if self.closed:
            return
        self.closed = True
        if self._notes is not None:
            guard().quiet()
        deadline = time.monotonic() + 1.0
        while not self._mailbox.idle and time.monotonic() < deadline:
            with self._turns:
                self._step([])
            self._bell.wait(RING_EVERY)
        for fd in (*self._pidfds.values(), *self._neighbours.values()):
            os.close(fd)
        self._pidfds, self._neighbours = {}, {}
        self._memory.close()
        self._arena.close()
        self._bell.close()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
