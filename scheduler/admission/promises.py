"""What users' functions were said to take at work, and take in truth: those that take more run fewer at once.

A bound counts each thread's task with what was declared (`memory=`). Where a rank has seen that tasks of a function
take so many times as much, only that part of its threads runs such tasks at once from then on: together these take what
was declared, or one alone what it must.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

from ...graph.lowering.program import Call
from ...workers.memory.footprint import said_of
from ..session.html import size_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...graph.lowering.stage import Stage
    from ...workers.wire.protocol import Exceeded
    from ..ledger.stage_record import Batch, StageRecord

    Functions = frozenset[tuple[str, str]]

KNOWN = 4096
"""Users' functions of which something is known, at most."""

log = logging.getLogger("windrow")


class Promises:
    """What is known of users' functions, by their names and the lines that called them."""

    def __init__(self) -> None:
        self._times: dict[Functions, float] = {}
        """So many times what was declared."""

    def break_(self, event: Exceeded, stage: Stage) -> None:
        """Note what a function has been seen to take; say it once."""
        known = self._times.pop(stage.functions, 0.0)
        self._times[stage.functions] = max(known, event.taken / max(1, event.declared))
        if len(self._times) > KNOWN:
            del self._times[next(iter(self._times))]
        if not known:
            log.warning(_describe(event, stage))

    def most(self, record: StageRecord, threads: int) -> int:
        """Return how many batches of a record a rank may have at once."""
        times = self._times.get(record.stage.functions) if self._times else None
        return threads if times is None else max(1, int(threads / times))

    def allow(self, record: StageRecord, given: Iterable[Batch], threads: int) -> bool:
        """Tell whether a rank with these batches may have another one of a record."""
        if not self._times or record.stage.functions not in self._times:
            return True
        mine = sum(batch.record.stage.functions == record.stage.functions for batch in given)
        return mine < self.most(record, threads)


def _describe(event: Exceeded, stage: Stage) -> str:
    factor, each = said_of(stage)
    wanted = math.ceil(factor + (event.taken - event.declared) / max(1, each))
    names = ", ".join(sorted({name for name, _ in stage.functions}))
    said = f"with memory={factor:g}, as declared or assumed,"
    advice = f". Say what it takes (memory={wanted}, so many times its block), or use smaller chunks"
    if not any(isinstance(value, Call) and value.op.taken for value in stage.program.values):
        # Windrow's own, of which nobody can say anything
        names, said, advice = "training or predicting", "as assumed,", ""
    where = f", called at {stage.origin}," if stage.origin else ""
    return (
        f"{names}{where} takes about {size_text(event.taken)} for a block, on rank {event.rank}; {said} it would be "
        f"{size_text(event.declared)}. So fewer blocks are computed at once from now on{advice}"
    )
