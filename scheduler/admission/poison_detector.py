"""Which users' functions end the processes that call them, as far as their calls have told. No I/O, no clock.

A death counts against the functions that its rank was at, until a task that calls them ends well somewhere: then
somebody else has ended the rank, or single blocks are deadly, whose deaths are counted for themselves
(`StageRecord.deaths`). Ranks that were at it when the first one's death became known are one round: they may all
have been killed at once, and nothing has been tried again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ...graph.chunks.grid import Index
    from ..ledger.stage_record import Batch, StageRecord

    Function = tuple[str, str]

KNOWN = 4096
"""Users' functions of which something is known, at most."""
PROVEN = 16
"""Tasks that have ended well, for each round of deaths since, after which rank 0 calls a function still."""


@dataclass(frozen=True, slots=True)
class Deadly:
    """Tasks of a stage that are given up: ranks have died at them, or at others that call the same functions.

    `at` has the stage's tasks that ranks died at. `alone`: they aren't tried again since only rank 0 is left.
    """

    tasks: Index
    ranks: int
    at: tuple[int, ...]
    alone: bool = False


@dataclass(slots=True)
class _Doubt:
    """Ranks that have died since a function ended well, and in how many rounds."""

    ranks: int = 0
    rounds: int = 0
    before: int = 0
    """The last batch that was given out before the last round was known."""


class Suspicion:
    """What is known of users' functions, by their names and the lines that called them."""

    def __init__(self) -> None:
        self.given_up: dict[str, Deadly] = {}
        """The last verdict on stages, by token."""
        self._well: dict[Function, int] = {}
        self._doubts: dict[Function, _Doubt] = {}

    def __bool__(self) -> bool:
        return bool(self.given_up or self._doubts)

    def trust(self, functions: Iterable[Function], well: int = 0) -> None:
        """Note that calls go on for a while, or that so many tasks have ended well."""
        for function in functions:
            if function not in self._well and len(self._well) >= KNOWN:
                del self._well[next(iter(self._well))]
            self._well[function] = self._well.get(function, 0) + well
            if well:
                self._doubts.pop(function, None)

    def trusts(self, functions: Iterable[Function]) -> bool:
        """Whether functions end no process at once, and none has died since they last ended well."""
        return all(f in self._well and f not in self._doubts for f in functions)

    def note_death(self, function: Function, number: int, last: int) -> None:
        """Note that a rank has died at batch `number`, where `last` is the last one that was given out."""
        doubt = self._doubts.setdefault(function, _Doubt())
        doubt.ranks += 1
        if number > doubt.before:
            doubt.rounds += 1
            doubt.before = last

    def note_loss(self, batches: Collection[Batch], threads: int, last: int) -> None:
        """Note the death of a rank that had these batches: what calls users' functions may have ended it.

        What was given ahead, beyond its threads, hadn't begun. It may be another user's, and mustn't answer for what it
        stood behind.
        """
        foreign = [batch for batch in batches if batch.record.stage.functions]
        gangs = [batch for batch in foreign if batch.record.stage.gang is not None]
        suspects = gangs + [batch for batch in foreign if batch.record.stage.gang is None][:threads]
        called = {function: batch.number for batch in suspects for function in batch.record.stage.functions}
        for function, number in called.items():
            self.note_death(function, number, last)
        for batch in suspects:
            for task in batch.tasks.tolist():
                batch.record.deaths[task] = batch.record.deaths.get(task, 0) + 1

    def rounds(self, functions: Iterable[Function]) -> int:
        """How often functions were tried in vain since they last ended well."""
        return max((self._doubts[f].rounds for f in functions if f in self._doubts), default=0)

    def ranks(self, functions: Iterable[Function]) -> int:
        """How many ranks have died at functions since they last ended well."""
        return max((self._doubts[f].ranks for f in functions if f in self._doubts), default=0)

    def ends_rank_0(self, functions: Iterable[Function]) -> bool:
        """Whether rank 0 had better not call functions, though nobody else can."""
        return any(self._well.get(f, 0) < PROVEN * self._doubts[f].rounds for f in functions if f in self._doubts)

    def poisoned_stages(
        self, active: Iterable[StageRecord], alive: Sequence[bool], running: Collection[Function]
    ) -> list[tuple[StageRecord, Deadly]]:
        """Return what is to be given up, since what it calls ends the processes of ranks, as far as deaths tell.

        That is a task at which two or three ranks have died; a stage whose functions were tried so often, on whatever
        blocks, while none of their tasks ended well; and, when only rank 0 is left, one that it had better not try.
        """
        doomed: list[tuple[StageRecord, Deadly]] = []
        limit = max(2, min(3, len(alive) - 1))
        alone = not any(alive[1:])
        for record in active:
            functions, at = record.stage.functions, tuple(sorted(record.deaths))
            if not functions:
                continue
            task = max(at, key=record.deaths.__getitem__, default=-1)
            verdict = self.given_up.get(record.stage.token)
            waiting, ranks = np.flatnonzero(record.is_waiting), self.ranks(functions)
            if at and record.deaths[task] >= limit:
                doomed.append((record, Deadly(np.array([task]), record.deaths[task], (task,))))
            elif at and self.rounds(functions) >= limit:
                doomed.append((record, Deadly(waiting, ranks, at)))
            elif alone and verdict is not None and record.nwaiting and record.is_waiting[verdict.tasks].any():
                doomed.append((record, verdict))
            elif alone and record.nwaiting and functions.isdisjoint(running) and self.ends_rank_0(functions):
                doomed.append((record, Deadly(waiting, ranks, at, alone=True)))
        return doomed

    def give_up(self, record: StageRecord, deadly: Deadly) -> None:
        """Note a verdict; deaths count no longer. It is the stage's: mended functions may have the same names."""
        self.given_up[record.stage.token] = deadly
        record.deaths.clear()
        for function in record.stage.functions:
            self._well.pop(function, None)
            self._doubts.pop(function, None)
