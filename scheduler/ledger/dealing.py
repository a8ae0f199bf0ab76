"""Giving out: which ready tasks a rank gets next, and where their slabs go."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..admission.admission import PLENTY
from ..admission.io_slots import Readings, bytes_read
from ..admission.poison_detector import Suspicion
from ..admission.promises import Promises
from .gangs import Gangs
from .planning import Planner, never
from .ready_queue import SPARE
from .stage_record import Batch, ChunkState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...graph.chunks.grid import Index
    from .stage_record import StageRecord

BATCH_SECONDS = 0.02
FIRST_BYTES = 1 << 25
BATCH_BYTES = 1 << 24
HANDING_SECONDS = 5e-5
"""What a batch costs for each thread of its rank: all of these take turns with Python's lock (16 threads: .7 ms)."""


class Dealer(Planner):
    """Gives tasks to ranks."""

    def __init__(self, arenas: Sequence[int], threads: Sequence[int]) -> None:
        super().__init__(arenas, threads)
        self.arenas = self.slabs.arenas
        self.batches: dict[int, Batch] = {}
        self.given: list[dict[int, Batch]] = [{} for _ in arenas]
        """Each rank's batches, the oldest first."""
        self.readings = Readings(self.arenas, threads)
        self.gangs = Gangs(len(arenas))
        self.suspicion, self.promises = Suspicion(), Promises()
        self._before = [0] * len(arenas)
        self._number = 0

    @property
    def only_gangs(self) -> bool:
        """Whether nothing runs, but for gangs, which may take long."""
        return len(self.batches) == sum(self.gangs.counts)

    def plan(self, stop: Callable[[], bool] = never) -> int:
        """See `Planner.plan`; what is in use before anything runs was there before."""
        if self.only_gangs:
            self._before = [arena.used for arena in self.arenas]
        return super().plan(stop)

    def trust(self, record: StageRecord) -> None:
        """Note that a task has run for a while: what it calls ends no process at once."""
        self.suspicion.trust(record.stage.functions)

    def _dangerous(self, record: StageRecord, alone: bool) -> bool:
        """Whether rank 0 leaves a record's tasks to others: it dies last, and is the last to call what is unknown.

        What a user's function does to the process that calls it is found out on a rank that can be spared, if one is
        at leisure.
        """
        stage = record.stage
        if not stage.functions:
            return False
        if not any(self.alive[1:]):
            return self.suspicion.ends_rank_0(stage.functions)
        if record.deaths:
            return True
        if alone or self.suspicion.trusts(stage.functions):
            return False
        return bool(record.nrunning) or any(
            self.alive[rank] and self.load(rank) < self.threads[rank] for rank in range(1, len(self.threads))
        )

    def take(self, rank: int, ahead: bool = False, alone: bool = False) -> Batch | None:
        """Give out ready tasks to a rank; None when none is ready or none fits.

        What somebody waits for goes before what is only held, and the latest stages before others; but whom somebody
        has waited longest for has every second turn, see `turns`.

        While little memory is used, what others wait for goes before what only frees its inputs. Tasks to be run
        `ahead`, after what the rank has, aren't taken from other ranks' short queues, since these may well be quicker,
        but from an earlier stage if need be. Rank 0 is not given what may end it, unless it is the one that can go on
        `alone`.
        """
        arena, before = self.arenas[rank], self._before[rank]
        little = arena.used - before < min((arena.size - before) // 2, PLENTY)
        batch = self._take(rank, ahead, alone, little)
        if batch is None and self.only_gangs:  # nothing may be held up for good
            batch = self._take(rank, ahead, alone, little, bounded=False)
        return batch

    def _take(self, rank: int, ahead: bool, alone: bool, little: bool, bounded: bool = True) -> Batch | None:
        """Give out tasks, where `bounded` only such as don't run too far ahead of others."""
        turns = self.ready.turns
        for candidate in turns.arrange(self.ready.candidates(rank, ahead, little)):
            record = self.readings.abreast(rank, candidate)
            if rank and record.stage.at_driver:
                continue
            if (rank == 0 and self._dangerous(record, alone)) or not self.readings.allows(rank, record):
                continue
            if not self.promises.allow(record, self.given[rank].values(), self.threads[rank]):
                continue
            if turns.holds_up(record):
                return None
            spare = record.ntasks if record.is_dealt else SPARE if ahead else 0
            tasks, queue = record.dequeue(rank, self._share(rank, record), spare)
            if not len(tasks):
                continue
            admitted = len(tasks)
            if bounded and record.admission is not None and record.places is not None:
                admitted = record.admission.admit(record.places[tasks])
            offsets = self.slabs.place(rank, record.bytes[tasks[:admitted]])
            if len(offsets) < len(tasks):
                record.put_back(queue, tasks[len(offsets) :])
            if len(offsets):
                turns.note(record)
                self.ready.update(record)
                return self.give(rank, record, tasks[: len(offsets)], offsets)
            if admitted:
                turns.lack(record)
        return None

    def load(self, rank: int) -> int:
        """Return how many batches a rank has that need its compute threads alone."""
        return self.busy(rank) - self.readings.counts[rank]

    def busy(self, rank: int) -> int:
        """Return how many batches a rank has that end soon: gangs, which have threads of their own, may not."""
        return len(self.given[rank]) - self.gangs.counts[rank]

    def _share(self, rank: int, record: StageRecord) -> int:
        """Return how many tasks go into a batch.

        Batches are handed out one after the other, tasks run side by side: n tasks of s seconds in k batches that cost
        c each end after about k c + n s / k, which is least where a batch has sqrt(n c / s) tasks.
        """
        most = max(1, BATCH_BYTES // max(1, int(record.bytes[0]), bytes_read(record)))
        fair = -(-record.nready // (2 * self._slots))
        if record.seconds:
            handed = HANDING_SECONDS * self.threads[rank]
            fair = max(fair, int(math.sqrt(record.nready * handed / record.seconds)))
            return max(1, min(fair, most, int(BATCH_SECONDS / record.seconds)))
        stage = record.stage
        if stage.costly:
            return 1
        work = stage.domain.largest * stage.dtype.itemsize * math.prod(stage.groups) * stage.blocks_per_task
        return max(1, min(fair, most, FIRST_BYTES // max(1, work)))

    def give(self, rank: int, record: StageRecord, tasks: Index, offsets: Index) -> Batch:
        """Note that tasks are given to a rank, with these places for their slabs."""
        self._number += 1
        batch = Batch(self._number, rank, record, tasks, offsets)
        self.batches[batch.number] = self.given[rank][batch.number] = batch
        self.readings.counts[rank] += record.slow
        self.gangs.counts[rank] += record.stage.gang is not None
        record.state[tasks] = ChunkState.RUNNING
        record.owner[tasks] = rank
        record.offset[tasks] = offsets
        record.source[tasks] = -1
        if record.admission is not None:
            record.admission.begin(record.places_of(tasks))
        record.nwaiting -= len(tasks)
        record.nrunning += len(tasks)
        return batch
