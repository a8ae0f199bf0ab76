"""What the driver reads of sources, for itself and for ranks that can't: at once, or by I/O threads if slow."""

from __future__ import annotations

import threading
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ...workers.sources import source_reader
from ...workers.sources.io_pool import read_soon

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...graph.chunks.grid import Index
    from ..ledger.stage_record import StageRecord
    from ..session.job import Job

    Then = Callable[[Sequence["Array"], BaseException | None], None]

Array = np.ndarray[Any, Any]


def read_slab(record: StageRecord, task: int) -> Array:
    """Return a task's blocks one after the other, as they lie in its slab."""
    data = record.stage.data
    assert data is not None
    return _join([source_reader.read(data, record.stage.grid.block_slices(b)) for b in record.stage.blocks(task)])


def _join(blocks: list[Array]) -> Array:
    blocks = [np.ascontiguousarray(block) for block in blocks]
    if len(blocks) == 1:
        return blocks[0]
    return np.concatenate([block.reshape(-1) for block in blocks], dtype=blocks[0].dtype)


class SlowRead:
    """Has I/O threads read the blocks of some tasks, all at once; the last of them calls `then(slabs, error)`.

    There are no slabs where `job`, for which they are read, has ended meanwhile.
    """

    def __init__(self, record: StageRecord, tasks: Index, then: Then, job: Job | None = None) -> None:
        self._data, self._grid, self._job, self._then = record.stage.data, record.stage.grid, job, then
        self._numbers = [list(record.stage.blocks(task)) for task in tasks.tolist()]
        self._blocks: dict[int, Array] = {}
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._left = sum(map(len, self._numbers))
        for number in chain.from_iterable(self._numbers):
            read_soon(partial(self._read, number))

    def _read(self, number: int) -> None:
        assert self._data is not None
        if self._error is None and not (self._job is not None and (self._job.cancelled or self._job.error is not None)):
            try:
                self._blocks[number] = source_reader.read(self._data, self._grid.block_slices(number))
            except BaseException as error:  # whatever a class of the user's raises
                self._error = error
        with self._lock:
            self._left -= 1
            last = not self._left
        if not last:
            return
        slabs, failure = self._slabs()
        self._blocks.clear()
        self._then(slabs, failure)

    def _slabs(self) -> tuple[list[Array], BaseException | None]:
        """Return the blocks of each task together, or why there are none."""
        if self._error is not None or len(self._blocks) < sum(map(len, self._numbers)):
            return [], self._error
        try:
            return [_join([self._blocks[n] for n in mine]) for mine in self._numbers], None
        except Exception as error:  # no memory, say
            return [], error.with_traceback(None)
