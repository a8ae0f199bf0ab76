"""What ranks are told of gangs: to run one together, or to stop waiting for one that came to nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...workers.wire.protocol import GangOrder, Meet, Recall
from .commands import order

if TYPE_CHECKING:
    from ..ledger.gangs import GangRun
    from .engine import Engine


def run_gangs(engine: Engine) -> None:
    """Start the gangs that are ready; have those that came to nothing stop waiting."""
    ledger = engine.ledger
    for run in ledger.gangs.runs:
        if (late := run.overdue()) is not None:
            ledger.gangs.break_up(ledger, run)
            engine.fail(run.record, np.arange(run.record.ntasks), late)
        if run.broken:
            engine.recall(run.left(ledger.batches))
    while (started := ledger.gangs.take(ledger)) is not None:
        _start(engine, started)


def _start(engine: Engine, run: GangRun) -> None:
    """Have all ranks make a communicator for a gang, and its members run."""
    alive = engine.ledger.alive
    gang = GangOrder(run.number, run.base, run.epoch, run.ranks, run.record.ntasks, sum(alive) == 1)
    engine.returned.pop(run.record.stage.token, None)
    for batch in run.batches:
        engine.send(batch.rank, replace(order(batch, None), gang=gang))
    for rank, is_alive in enumerate(alive):
        if is_alive and rank not in run.ranks:
            engine.send(rank, Meet(gang))


def note_unmet(engine: Engine, number: int) -> None:
    """Have all gangs come to nothing, and be joined anew: some rank has found no communicator for one."""
    gangs = engine.ledger.gangs
    if (run := gangs.of(number)) is not None:
        gangs.note_unmet(engine.ledger, run)
        for rank, alive in enumerate(engine.ledger.alive):
            if alive and rank not in run.ranks:
                engine.send(rank, Recall((number,)))
