"""Slow sources that the driver reads: by its I/O threads, never on the engine's thread."""

from __future__ import annotations

import threading
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ...workers.sources import source_reader
from ...workers.sources.io_pool import read_soon
from ...workers.wire.protocol import Run
from ..session.job import Arrival, post
from .commands import join_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.chunks.grid import Index
    from ..ledger.stage_record import Batch, StageRecord
    from ..session.job import Job
    from .engine import Engine

Array = np.ndarray[Any, Any]


class _Blocks:
    """Has I/O threads read the blocks of some tasks, all at once; then calls `then(blocks by task, error)`."""

    def __init__(
        self,
        record: StageRecord,
        tasks: Index,
        then: Callable[[list[list[Array]], BaseException | None], None],
        job: Job | None,
    ) -> None:
        self._data, self._grid, self._job, self._then = record.stage.data, record.stage.grid, job, then
        self._numbers = [list(record.stage.blocks(task)) for task in tasks.tolist()]
        self._found: dict[int, Array] = {}
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._left = sum(map(len, self._numbers))
        for number in chain.from_iterable(self._numbers):
            read_soon(partial(self._read, number))

    def _read(self, number: int) -> None:
        assert self._data is not None
        if self._error is None and not (self._job is not None and (self._job.cancelled or self._job.error is not None)):
            try:
                self._found[number] = source_reader.read(self._data, self._grid.block_slices(number))
            except BaseException as error:  # whatever a class of the user's raises
                self._error = error
        with self._lock:
            self._left -= 1
            last = not self._left
        if last:
            whole = len(self._found) == sum(map(len, self._numbers))
            self._then([[self._found[n] for n in mine] for mine in self._numbers] if whole else [], self._error)


class Feeder:
    """Feeds ranks, and callers, with what the driver alone can read."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def feed(self, batch: Batch) -> None:
        """Have a batch run on its rank when what it takes is read."""
        _Blocks(batch.record, batch.tasks, partial(self._feed, batch), None)

    def _feed(self, batch: Batch, blocks: list[list[Array]], error: BaseException | None) -> None:
        command = None
        if error is None:
            fed = tuple(np.ascontiguousarray(join_blocks(mine)) for mine in blocks)
            command = Run(batch.number, batch.record.stage.token, batch.tasks, batch.offsets, (), None, fed)
        post(self.engine, partial(_start, batch=batch, command=command, error=error))

    def deliver(self, job: Job, number: int, record: StageRecord, tasks: Index) -> None:
        """Have a caller get chunks of a source itself."""
        for task in tasks.tolist():
            one = np.array([task])
            _Blocks(record, one, partial(self._deliver, job, number, record, one), job)

    def _deliver(
        self,
        job: Job,
        number: int,
        record: StageRecord,
        one: Index,
        blocks: list[list[Array]],
        error: BaseException | None,
    ) -> None:
        if error is not None:
            post(self.engine, partial(_fail, record=record, tasks=one, error=error))
        elif blocks:
            raw = [np.ascontiguousarray(block).reshape(-1).view(np.uint8) for block in blocks[0]]
            job.tell(Arrival(number, record.stage, one, (np.concatenate(raw) if len(raw) > 1 else raw[0],)))


def _start(engine: Engine, batch: Batch, command: Run | None, error: BaseException | None) -> None:
    if batch.number not in engine.ledger.batches:  # its rank is lost
        return
    if command is None:
        assert error is not None
        engine.ledger.note_refused(batch.number)
        engine.fail(batch.record, batch.tasks, error)
    else:
        engine.send(batch.rank, command)


def _fail(engine: Engine, record: StageRecord, tasks: Index, error: BaseException) -> None:
    engine.fail(record, tasks, error)
