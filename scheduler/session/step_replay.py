"""Stages that are run again and again over other inputs: lowered once.

Each time they get names of their own, and read what stands for their inputs then; the programs are the same objects.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ...graph.lowering.lower import lower
from ...graph.lowering.stage import relations
from .job import Job

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...graph.expr.expr import Expr
    from .pin import Pin
    from .session import Session

_numbers = itertools.count()


class Repeated:
    """Expressions over inputs that change, by their tokens, ready to be run; none of the roots is one of the inputs."""

    def __init__(self, roots: Sequence[Expr], inputs: set[str]) -> None:
        self.targets = list(dict.fromkeys(root.token for root in roots))
        self._stages = lower(list({root.token: root for root in roots}.values()), lambda token: token in inputs)
        for stage in self._stages:
            stage.learn()
        self._made = {stage.token: stage for stage in self._stages}

    def start(self, session: Session, given: Mapping[str, Pin]) -> dict[str, Pin]:
        """Start making the roots of what is given, by token; return what keeps them, by token."""
        session.check_open()
        number = next(_numbers)
        names = {token: f"{token}@{number}" for token in self._made}
        names |= {token: kept.token for token, kept in given.items()}
        jobs = tuple(
            Job([], [names[token]], None, name=stage.name, blocks_per_task=stage.blocks_per_task)
            for token, stage in ((token, self._made[token]) for token in self.targets)
        )
        jobs[0].stages = [
            stage.rename(names[stage.token], tuple(names[token] for token in stage.inputs)) for stage in self._stages
        ]
        jobs[0].reads = relations(jobs[0].stages, {kept.token: kept.job.blocks_per_task for kept in given.values()})
        jobs[0].relied = [kept.job for kept in given.values()]
        pins = session.enter(jobs)
        return dict(zip(self.targets, pins, strict=True))
