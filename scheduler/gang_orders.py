"""What ranks are told of gangs: to run one together, or to stop waiting for one that came to nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..workers.protocol import GangOrder, Meet
from .orders import order

if TYPE_CHECKING:
    from .engine import Engine


def run_gangs(engine: Engine) -> None:
    """Start the gang that is ready; have one that came to nothing stop waiting."""
    ledger = engine.ledger
    run = ledger.gangs.run
    if run is not None and (late := run.overdue()) is not None:
        left = run.left(ledger.batches)
        engine.recall(left)  # the one that is refused here is known no longer, but may wait for the others
        ledger.note_refused(left[0].number)
        engine.fail(run.record, np.arange(run.record.ntasks), late)
    if run is not None and run.broken:
        engine.recall(run.left(ledger.batches))
    if (run := ledger.gangs.take(ledger)) is None:
        return
    gang = GangOrder(run.epoch, run.ranks, run.record.ntasks, sum(ledger.alive) == 1)
    engine.returned.pop(run.record.stage.token, None)
    for batch in run.batches:
        engine.send(batch.rank, replace(order(batch, None), gang=gang))
    for rank, alive in enumerate(ledger.alive):
        if alive and rank not in run.ranks:
            engine.send(rank, Meet(run.batches[0].number, gang))
