"""The command that has a rank run a batch: where its inputs lie, or what the driver feeds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.few import distinct
from ...workers.wire.protocol import Places, Run
from .driver_reads import read_slab

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..ledger.stage_record import Batch

Array = np.ndarray[Any, Any]


def order(batch: Batch, sink: Array | None) -> Run:
    """Return the command for a batch; an exception is the user's array's, or file's, that can't be read."""
    record, tasks = batch.record, batch.tasks
    if record.stage.data is not None:
        return feed(batch, [read_slab(record, task) for task in tasks.tolist()])
    inputs: list[Places] = []
    for edge in record.inputs:
        need = edge.reads.of(tasks)
        need = distinct(need) if len(tasks) > 1 else need
        other = edge.record
        inputs.append(Places(need, other.owner[need], other.offset[need], other.source[need]))
    return Run(batch.number, record.stage.token, tasks, batch.offsets, tuple(inputs), sink)


def feed(batch: Batch, slabs: Iterable[Array]) -> Run:
    """Return the command for a batch whose slabs the driver has read."""
    return Run(batch.number, batch.record.stage.token, batch.tasks, batch.offsets, (), None, tuple(slabs))
