"""From stored chunks to the calling thread: as they lie where that can be read, fetched where not."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...workers.rank.chunk_reader import SlabPlace, spacing, view_strided
from ...workers.wire.transport import Region
from ..ledger.stage_record import ChunkState, StageRecord
from ..session.job import Arrival, Job
from .driver_reads import SlowRead, read_slab

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...graph.chunks.grid import Index
    from ...workers.rank.rank import Rank
    from ...workers.wire.transport import Transport
    from ..ledger.ledger import Ledger

Array = np.ndarray[Any, Any]


class Delivery:
    """Hands chunks that are to be gathered to jobs; `fail` is told, from any thread, why tasks can't be read."""

    def __init__(
        self,
        ledger: Ledger,
        transport: Transport,
        local: Rank,
        fail: Callable[[StageRecord, Index, BaseException], None],
    ) -> None:
        self._ledger, self._transport, self._local, self._fail = ledger, transport, local, fail

    def deliver(self, job: Job, number: int, record: StageRecord, tasks: Index) -> None:
        """Tell a job of chunks of one of its targets that are stored."""
        if job.results is None:
            return
        if record.in_place and record.slow:
            for task in tasks.tolist():
                one = np.array([task])
                SlowRead(record, one, partial(self._hand, job, number, record, one), job)
            return
        if record.stage.token in job.sinks:
            job.tell(Arrival(number, record.stage, tasks, None))
            return
        if (together := self._together(record, tasks)) is not None:
            job.tell(Arrival(number, record.stage, tasks, together))
            return
        try:
            slabs = [self.slab(record, task) for task in tasks.tolist()]
        except Exception as error:  # the user's file could not be read
            self._fail(record, tasks, error)
            return
        if all(s is not None for s in slabs):
            job.tell(Arrival(number, record.stage, tasks, tuple(s for s in slabs if s is not None)))
        else:
            for task, slab in zip(tasks.tolist(), slabs, strict=True):
                self._fetch(job, number, record, task, slab)

    def _hand(
        self,
        job: Job,
        number: int,
        record: StageRecord,
        one: Index,
        slabs: Sequence[Array],
        error: BaseException | None,
    ) -> None:
        """Tell a job of a chunk that an I/O thread has read, or couldn't."""
        if error is not None:
            self._fail(record, one, error)
        elif slabs:
            job.tell(Arrival(number, record.stage, one, (_as_bytes(slabs[0]),)))

    def _together(self, record: StageRecord, tasks: Index) -> Array | None:
        """Return the slabs of many small tasks as one array (tasks, bytes), where they lie at equal distances."""
        step = spacing(record.offset[tasks])
        if (
            step is None
            or np.ptp(record.owner[tasks])
            or np.ptp(record.bytes[tasks])
            or record.stage.blocks_per_task > 1
        ):
            return None
        sizes = record.stage.grid.block_sizes(tasks)
        place = SlabPlace(int(record.owner[tasks[0]]), int(record.offset[tasks[0]]), int(record.source[tasks[0]]))
        memory = self._local.memory(place) if place.owner >= 0 else None
        if memory is None or np.ptp(sizes) or np.ptp(record.source[tasks]):
            return None
        nbytes = int(sizes[0]) * record.stage.dtype.itemsize
        return view_strided(memory, place.offset, step, len(tasks), np.dtype(np.uint8), (nbytes,))

    def slab(self, record: StageRecord, task: int) -> Array | None:
        """Return a task's slab in place, as bytes, or None where it has to be fetched."""
        owner, nbytes = int(record.owner[task]), int(record.stage.offsets(task)[-1])
        if owner < 0:
            return _as_bytes(read_slab(record, task))
        memory = self._local.memory(SlabPlace(owner, int(record.offset[task]), int(record.source[task])))
        if memory is None:
            return None
        offset = int(record.offset[task])
        return memory[offset : offset + nbytes]

    def _fetch(self, job: Job, number: int, record: StageRecord, task: int, slab: Array | None) -> None:
        one = np.array([task])
        if slab is not None:
            job.tell(Arrival(number, record.stage, one, (slab,)))
            return
        nbytes = int(record.stage.offsets(task)[-1])
        into = np.empty(nbytes, np.uint8)
        region = Region(int(record.offset[task]), (nbytes,), (1,), 1, int(record.source[task]))

        def on_arrival(ok: bool) -> None:
            if ok:
                job.tell(Arrival(number, record.stage, one, (into,)))
            elif self._ledger.alive[int(record.owner[task])] and record.state[task] == ChunkState.STORED:
                self._fetch(job, number, record, task, None)

        self._transport.fetch(int(record.owner[task]), region, into, on_arrival)


def _as_bytes(slab: Array) -> Array:
    return slab.reshape(-1).view(np.uint8)
