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
    from collections.abc import Iterator, Mapping, Sequence

    from ...graph.chunks.grid import Index
    from .ledger import Ledger
    from .stage_record import Batch, StageRecord


@dataclass(eq=False)
class GangRun:
    """A gang that runs: a batch for each rank that takes part, and the seconds of those that are through."""

    record: StageRecord
    batches: tuple[Batch, ...]
    seats: frozenset[int]
    base: int
    epoch: int
    arrived: dict[int, float] = field(default_factory=dict)
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

    def left(self, batches: Mapping[int, Batch]) -> list[Batch]:
        """Return what hasn't been answered for."""
        return [batch for batch in self.batches if batch.number in batches and batch.number not in self.arrived]


class Gangs:
    """The gangs of a ledger.

    Parameters
    ----------
    ranks : int
        How many there are.
    """

    def __init__(self, ranks: int) -> None:
        self.records: dict[StageRecord, None] = {}
        self.runs: list[GangRun] = []
        self.counts = [0] * ranks
        """How many batches of gangs each rank has."""
        self.base = self.epoch = 0
        self._joined = 0  # the base of the last one that was given out

    def take(self, ledger: Ledger) -> GangRun | None:
        """Give out all of a gang; None where none is ready and has its seats, or its results don't fit."""
        for record, ranks, seats in self._startable(ledger):
            batches = self._place(ledger, record, ranks)
            if batches is not None:
                record.nready = 0
                run = GangRun(record, batches, frozenset(seats), self.base, self.epoch)
                self.runs.append(run)
                self._joined = self.base
                return run
        return None

    def find_stuck(self, ledger: Ledger) -> StageRecord | None:
        """Return a gang that waits for nothing but memory."""
        return next((record for record, _, _ in self._startable(ledger)), None)

    def _startable(self, ledger: Ledger) -> Iterator[tuple[StageRecord, list[int], Sequence[int]]]:
        """Yield gangs all of whose members could run, in the order in which they came: their ranks and seats.

        A gang that finds its seats taken holds up no other one, since what runs may wait for that.
        """
        living = [rank for rank, alive in enumerate(ledger.alive) if alive]
        under_way = self.runs or ledger.strays.have_members
        if under_way and self.base != self._joined and len(living) > 1:
            return
        for record in self.records:
            if not record.nready or (record.state != ChunkState.READY).any():
                continue
            if len(living) == 1:
                seats = self._find_threads(record, ledger.threads[living[0]])
                ranks = living if seats is not None else None
            else:
                seats = ranks = self._find_ranks(ledger, record, living)
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

    def _find_ranks(self, ledger: Ledger, record: StageRecord, living: list[int]) -> list[int] | None:
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
        wanted = ledger.prefer_ranks(record, firsts).tolist()
        seats = [rank if rank in free and rank not in wanted[:k] else None for k, rank in enumerate(wanted)]
        others = iter([rank for rank in free if rank not in seats])
        return [next(others) if rank is None else rank for rank in seats]

    @staticmethod
    def _place(ledger: Ledger, record: StageRecord, ranks: list[int]) -> tuple[Batch, ...] | None:
        """Give each rank its tasks; None where results don't fit."""
        placed: list[tuple[int, Index, Index]] = []
        for rank, tasks in zip(ranks, np.array_split(np.arange(record.ntasks), len(ranks)), strict=True):
            offsets = ledger.slabs.place(rank, record.bytes[tasks])
            placed.append((rank, tasks, offsets))
            if len(offsets) < len(tasks):
                for where, some, taken in placed:
                    ledger.slabs.give(where, taken, record.bytes[some[: len(taken)]])
                return None
        return tuple(ledger.give(rank, record, *rest) for rank, *rest in placed)

    def of(self, number: int) -> GangRun | None:
        """Return the gang that a batch belongs to."""
        return next((run for run in self.runs if any(batch.number == number for batch in run.batches)), None)

    def done(self, ledger: Ledger, run: GangRun, number: int, seconds: float) -> tuple[StageRecord, Index] | None:
        """Note that a member is through; return what is stored when all are."""
        if run.broken:
            ledger.note_refused(number)
            ledger.plan()
            return None
        run.arrived[number] = seconds
        if len(run.arrived) < len(run.batches):
            return None
        for each, taken in run.arrived.items():
            ledger.note_stored(each, taken)
        self.rest(ledger)
        return run.record, np.arange(run.record.ntasks)

    @staticmethod
    def break_up(ledger: Ledger, run: GangRun, dead: int = -1) -> None:
        """Note that a gang comes to nothing, with what was made so far; the dead's is the ledger's."""
        arrived = list(run.arrived)
        run.arrived.clear()
        run.broken = True
        for number in arrived:
            if ledger.batches[number].rank != dead:
                ledger.refuse(number)

    def note_unmet(self, ledger: Ledger, run: GangRun) -> None:
        """Note that a rank has found no communicator for a gang: that of all ranks may be harmed."""
        if run.base == self.base:
            self.base += 1
            for each in self.runs:
                self.break_up(ledger, each)

    def lose(self, ledger: Ledger, rank: int) -> None:
        """Note that the communicator of all ranks has lost one, and so have the gangs that run."""
        for run in self.runs:
            self.break_up(ledger, run, rank)
        self.base += 1
        self.epoch += 1

    @staticmethod
    def expel(ledger: Ledger, record: StageRecord) -> int:
        """Let go of what is left of a result: what runs now may read it to its end; return how many chunks it was."""
        rest = np.flatnonzero(record.state == ChunkState.STORED)
        ledger.slabs.expel(record, rest, ledger.readers(record))
        ledger.slabs.bury(ledger.batches)
        record.state[rest] = ChunkState.LOST
        record.nstored = 0
        return record.count_blocks(rest)

    def rest(self, ledger: Ledger) -> None:
        """Let others have the seats of gangs that have been answered for."""
        self.runs = [run for run in self.runs if any(batch.number in ledger.batches for batch in run.batches)]
