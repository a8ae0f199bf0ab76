"""Bounds on lineage: how much is computed again after a death, and how much is remembered for that.

A persisted array keeps the records of what it was made from, and a loop over persisted arrays would keep those of all
its steps. So after some generations, or as soon as they would take some time to be computed again, a copy of an array
is made on rank 0, behind what else is computed; no other rank's death takes it along. When it is there the array's
record has another program, which makes it from the copy, and what it was made from before is forgotten, here and in
the expression that the user holds (`graph/kinds/anchor.py`). The copy lives as long as an array that leads back to it:
in a loop until the next one is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...graph.lowering.stage import Stage
    from ..session.job import Job
    from .ledger import Ledger
    from .stage_record import StageRecord

GENERATIONS = 256
"""So many persisted arrays, each made from the one before, are at most to be computed again."""
SECONDS = 10.0
"""So long it may take to compute again what an array was made from, unless copying it takes a good part of that."""
SHARE = 20
COPIED_BYTES = 1e9
"""Bytes that are copied in a second."""


def is_due(job: Job, nbytes: int) -> bool:
    """Tell whether what a job keeps is to be copied."""
    long = job.past >= max(SECONDS, SHARE * nbytes / COPIED_BYTES)
    return job.generation >= GENERATIONS or (long and job.generation > 1)


def follow(job: Job, relied: list[Job]) -> None:
    """Note how long a job's lineage is, by those whose arrays it reads."""
    job.generation = 1 + max((other.generation for other in relied), default=0)
    job.past = max((other.past + other.seconds for other in relied), default=0.0)


def rebase(ledger: Ledger) -> list[Stage]:
    """Let arrays whose copies are there be made from these from now on; return their stages."""
    stages: list[Stage] = []
    for anchor in list(ledger.anchors):
        token = anchor.stage.token
        if ledger.records.get(token) is not anchor:
            del ledger.anchors[anchor]
        elif anchor.complete and not anchor.busy and not anchor.inputs[0].record.busy:
            stages.append(_rebase(ledger, anchor, ledger.anchors.pop(anchor)))
    return stages


def _rebase(ledger: Ledger, anchor: StageRecord, stage: Stage) -> Stage:
    (edge,) = anchor.inputs
    record = edge.record
    anchor.inputs.clear()
    del record.users[anchor]
    for old in record.inputs:
        del old.record.users[record]
        ledger.forgettable[old.record] = None
    record.stage = stage.remake(fixed=record.stage.blocks_per_task)
    (rows,) = record.stage.all_reads([anchor.stage.blocks_per_task])
    anchor.number = record.number - 1  # inputs have smaller numbers than their readers; one is free between two others
    record.inputs = []
    record.connect([anchor], [rows])
    record.inputs_missing = np.zeros_like(record.inputs_missing)
    ledger.forgettable[record] = None
    return record.stage
