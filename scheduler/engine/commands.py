"""The command that has a rank run a batch: where its inputs lie, or what the driver feeds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.few import distinct
from ...workers.sources import source_reader
from ...workers.wire.protocol import Places, Run

if TYPE_CHECKING:
    from ..ledger.stage_record import Batch, StageRecord

Array = np.ndarray[Any, Any]


def order(batch: Batch, sink: Array | None) -> Run:
    """Return the command for a batch; an exception is the user's array's, or file's, that can't be read."""
    record, tasks = batch.record, batch.tasks
    data = record.stage.data
    if data is not None:
        fed = tuple(np.ascontiguousarray(_read(record, t)) for t in tasks.tolist())
        return Run(batch.number, record.stage.token, tasks, batch.offsets, (), None, fed)
    inputs = []
    for edge in record.inputs:
        need = edge.reads.of(tasks)
        need = distinct(need) if len(tasks) > 1 else need
        other = edge.record
        inputs.append(Places(need, other.owner[need], other.offset[need], other.source[need]))
    return Run(batch.number, record.stage.token, tasks, batch.offsets, tuple(inputs), sink)


def _read(record: StageRecord, task: int) -> Array:
    data = record.stage.data
    assert data is not None
    return join_blocks([source_reader.read(data, record.stage.grid.block_slices(b)) for b in record.stage.blocks(task)])


def join_blocks(blocks: list[Array]) -> Array:
    """Return a task's blocks one after the other, as they lie in its slab."""
    if len(blocks) == 1:
        return blocks[0]
    return np.concatenate([np.ascontiguousarray(b).reshape(-1) for b in blocks], dtype=blocks[0].dtype)
