"""Rank programs in the ledger: all members are given out at once, and what they make counts when all are through.

Gangs run side by side where they take different seats: a seat is a rank, and where one rank is all there is, a thread
of it. When a member comes to nothing, so does its gang; the others are recalled, and it is planned anew. When a rank is
lost all that run do so, on the ranks that are left. A rank that is lost later takes the whole result along: what other
members have made of it is let go of, and the gang runs again. Where there are fewer ranks than members each stands for
several of them, with all their chunks.

`base` counts what may have harmed the communicator of all ranks, from which gangs get theirs: ranks that see a new one
leave the dead behind first (`workers/mpi/messages/gang_comm.py`). No gang may run meanwhile, nor be waited for, since
it may wait for one that is to run again. `epoch` counts deaths, and what else has arrays go back that all ranks write
(`scheduler/shared/symmetric.py`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...graph.errors import WaitTimeout
from .stage_record import ChunkState

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from ...graph.chunks.grid import Index
    from .slabs import Slabs
    from .stage_record import Batch, StageRecord


@dataclass(eq=False)
class GangRun:
    """A gang that runs: a batch for each rank that takes part, and the seconds of those that are through."""

    record: StageRecord
    batches: tuple[Batch, ...]
    seats: frozenset[int]
    base: int
    epoch: int
    arrived: dict[int, float] = field(default_factory=lambda: {})
    broken: bool = False
    begun: float = field(default_factory=time.monotonic)

    @property
    def number(self) -> int:
        """Its number, which no other run has: that of its first batch."""
        return self.batches[0].number

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks, by their place in the gang."""
        return tuple(batch.rank for batch in self.batches)

    def overdue(self) -> WaitTimeout | None:
        """Return the error of a gang that has run for longer than it may."""
        gang = self.record.stage.gang
        assert gang is not None
        if self.broken or gang.timeout is None or time.monotonic() - self.begun < gang.timeout:
            return None
        late = [k for k, batch in enumerate(self.batches) if batch.number not in self.arrived]
        s, places = "s" * (len(late) > 1), ", ".join(str(self.ranks[k]) for k in late)
        who = f"member{s} {', '.join(map(str, late))} of {len(self.batches)} (rank{s} {places})"
        if len(self.batches) == 1:
            who = "it"
        return WaitTimeout(
            f"spmd: function {gang.label!r} hasn't ended within {gang.timeout:g} s: {who} still ran"
            + (f", created at {self.record.stage.origin}" if self.record.stage.origin else "")
        )

    def left(self, running: Container[int]) -> list[Batch]:
        """Return what hasn't been answered for, of what runs."""
        return [batch for batch in self.batches if batch.number in running and batch.number not in self.arrived]

    def break_up(self) -> list[int]:
        """Note that it comes to nothing; return the batches that were through."""
        arrived = list(self.arrived)
        self.arrived.clear()
        self.broken = True
        return arrived


class Gangs:
    """The gangs of a ledger: which may begin, which run, and who sits where."""

    def __init__(self, ranks: int) -> None:
        self.records: dict[StageRecord, None] = {}
        self.runs: list[GangRun] = []
        self.counts = [0] * ranks
        """How many batches of gangs each rank has."""
        self.base = self.epoch = 0
        self._joined = 0  # the base of the last one that was given out

    def startable(
        self, alive: Sequence[bool], threads: Sequence[int], members_left: bool
    ) -> Iterator[tuple[StageRecord, list[int], Sequence[int]]]:
        """Yield gangs all of whose members could run, in the order in which they came: their ranks and seats.

        A gang that finds its seats taken holds up no other one, since what runs may wait for that. `members_left` says
        whether members of gangs that nobody wants any more still run.
        """
        living = [rank for rank, is_alive in enumerate(alive) if is_alive]
        if (self.runs or members_left) and self.base != self._joined and len(living) > 1:
            return
        for record in self.records:
            if not record.nready or (record.state != ChunkState.READY).any():
                continue
            if len(living) == 1:
                seats = self._find_threads(record, threads[living[0]])
                ranks = living if seats is not None else None
            else:
                seats = ranks = self._find_ranks(record, alive, living)
            if ranks is not None and seats is not None:
                yield record, ranks, seats

    def _find_threads(self, record: StageRecord, threads: int) -> Sequence[int] | None:
        """Return a gang's seats where one rank has all members; None: too few are free."""
        gang = record.stage.gang
        assert gang is not None
        taken = {seat for run in self.runs for seat in run.seats}
        if gang.ranks:
            return None if taken.intersection(gang.ranks) else gang.ranks
        free = [seat for seat in range(max(threads, record.ntasks)) if seat not in taken]
        return free[: record.ntasks] if len(free) >= record.ntasks else None

    def _find_ranks(self, record: StageRecord, alive: Sequence[bool], living: list[int]) -> list[int] | None:
        """Return each member's rank; None where one of them is taken, or too few are free.

        Members go to the ranks that were asked for, as far as these live; else where their chunks are, as far as no two
        are on one.
        """
        gang = record.stage.gang
        assert gang is not None
        free = [rank for rank in living if not self.counts[rank]]
        if named := [rank for rank in gang.ranks if rank in living]:
            return named if all(rank in free for rank in named) else None
        count = min(len(living), record.ntasks)
        if len(free) < count:
            return None
        firsts = np.array([tasks[0] for tasks in np.array_split(np.arange(record.ntasks), count)])
        wanted = record.prefer_ranks(firsts, alive).tolist()
        seats = [rank if rank in free and rank not in wanted[:k] else None for k, rank in enumerate(wanted)]
        others = iter([rank for rank in free if rank not in seats])
        return [next(others) if rank is None else rank for rank in seats]

    def begin(self, record: StageRecord, batches: tuple[Batch, ...], seats: Sequence[int]) -> GangRun:
        """Note that all of a gang has been given out."""
        run = GangRun(record, batches, frozenset(seats), self.base, self.epoch)
        self.runs.append(run)
        self._joined = self.base
        return run

    def of(self, number: int) -> GangRun | None:
        """Return the gang that a batch belongs to."""
        return next((run for run in self.runs if any(batch.number == number for batch in run.batches)), None)

    def lose(self) -> None:
        """Note that the communicator of all ranks has lost one."""
        self.base += 1
        self.epoch += 1

    def free_seats(self, running: Container[int]) -> None:
        """Let others have the seats of gangs none of whose batches run."""
        self.runs = [run for run in self.runs if any(batch.number in running for batch in run.batches)]


def place_members(slabs: Slabs, record: StageRecord, ranks: Sequence[int]) -> list[tuple[int, Index, Index]] | None:
    """Return each rank's tasks of a gang, and the places of their slabs; None where results don't fit."""
    placed: list[tuple[int, Index, Index]] = []
    for rank, tasks in zip(ranks, np.array_split(np.arange(record.ntasks), len(ranks)), strict=True):
        offsets = slabs.place(rank, record.bytes[tasks])
        placed.append((rank, tasks, offsets))
        if len(offsets) < len(tasks):
            for where, some, taken in placed:
                slabs.give(where, taken, record.bytes[some[: len(taken)]])
            return None
    return placed
