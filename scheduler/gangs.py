"""Rank programs in the ledger: all members are given out at once, and what they make counts when all are through.

One gang runs at a time. When a member is lost, or comes to nothing, so does the whole; the others are recalled, and it
is planned anew on the ranks that are left. A rank that is lost later takes the whole result along: what other members
have made of it is let go of, and the gang runs again. Where there are fewer ranks than members each stands for several
of them, with all their chunks.

`epoch` counts what may have harmed the communicator of all ranks, from which gangs get theirs: ranks that see a new
one leave the dead behind first (`workers/mpi/gang_comm.py`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..graph.errors import WaitTimeout
from .record import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph.grid import Index
    from .ledger import Batch, Ledger
    from .record import Record


@dataclass(eq=False)
class GangRun:
    """A gang that runs: a batch for each rank that takes part, and the seconds of those that are through."""

    record: Record
    batches: tuple[Batch, ...]
    epoch: int
    arrived: dict[int, float] = field(default_factory=dict)
    broken: bool = False
    begun: float = field(default_factory=time.monotonic)

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
        late = [str(k) for k, batch in enumerate(self.batches) if batch.number not in self.arrived]
        who = f"member{'s' if len(late) > 1 else ''} {', '.join(late)} of {len(self.batches)}"
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
    """The gangs of a ledger."""

    def __init__(self) -> None:
        self.records: dict[Record, None] = {}
        self.run: GangRun | None = None
        self.epoch = 0

    def find_ready(self) -> Record | None:
        """Return a gang all of whose members could run."""
        ready = (record for record in self.records if record.nready and (record.state == State.READY).all())
        return next(ready, None)

    def take(self, ledger: Ledger) -> GangRun | None:
        """Give out all of a gang; None where none is ready, another one runs, or its results don't fit."""
        if self.run is not None or not self.records or (record := self.find_ready()) is None:
            return None
        ranks = [rank for rank, alive in enumerate(ledger.alive) if alive]
        parts = np.array_split(np.arange(record.ntasks), min(len(ranks), record.ntasks))
        placed: list[tuple[int, Index, Index]] = []
        for rank, tasks in zip(self._seat(ledger, record, parts, ranks), parts, strict=True):
            offsets = ledger.slabs.place(rank, record.bytes[tasks])
            placed.append((rank, tasks, offsets))
            if len(offsets) < len(tasks):
                for where, some, taken in placed:
                    ledger.slabs.give(where, taken, record.bytes[some[: len(taken)]])
                return None
        record.nready = 0
        self.run = GangRun(record, tuple(ledger.give(rank, record, *rest) for rank, *rest in placed), self.epoch)
        return self.run

    @staticmethod
    def _seat(ledger: Ledger, record: Record, parts: list[Index], ranks: list[int]) -> list[int]:
        """Return each member's rank: where its chunks are, as far as no two are on one."""
        wanted = ledger.prefer_ranks(record, np.array([tasks[0] for tasks in parts])).tolist()
        seats: list[int | None] = [rank if rank not in wanted[:k] else None for k, rank in enumerate(wanted)]
        free = iter([rank for rank in ranks if rank not in seats])
        return [next(free) if rank is None else rank for rank in seats]

    def of(self, number: int) -> GangRun | None:
        """Return the gang that a batch belongs to."""
        run = self.run
        return run if run is not None and any(batch.number == number for batch in run.batches) else None

    def done(self, ledger: Ledger, run: GangRun, number: int, seconds: float) -> tuple[Record, Index] | None:
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

    def break_up(self, ledger: Ledger, run: GangRun, dead: int = -1) -> None:
        """Note that a gang comes to nothing, with what was made so far; the dead's is the ledger's."""
        arrived = list(run.arrived)
        run.arrived.clear()
        if not run.broken:
            run.broken = True
            self.epoch += 1
        for number in arrived:
            if ledger.batches[number].rank != dead:
                ledger.refuse(number)

    def lose(self, ledger: Ledger, rank: int) -> None:
        """Note that the communicator of all ranks has lost one, and so has the gang that runs, if it was a member."""
        if self.run is not None and rank in self.run.ranks:
            self.break_up(ledger, self.run, rank)
        self.epoch += 1

    @staticmethod
    def expel(ledger: Ledger, record: Record) -> int:
        """Let go of what is left of a result: what runs now may read it to its end; return how many chunks it was."""
        rest = np.flatnonzero(record.state == State.STORED)
        ledger.slabs.expel(record, rest, ledger.batches)
        record.state[rest] = State.LOST
        record.nstored = 0
        return record.count_blocks(rest)

    def rest(self, ledger: Ledger) -> None:
        """Let the next one run when all of this one has been answered for."""
        if self.run is not None and not any(batch.number in ledger.batches for batch in self.run.batches):
            self.run = None
