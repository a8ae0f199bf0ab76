"""Gradients averaged at each batch, and one optimiser: the steps of one process, with batches that shards share.

A round is a batch. Each shard gives the gradient of its rows, the mean by rows is that of the whole batch, and the
optimiser steps once, in one place. What isn't trained, such as the moments of batch normalisation, is averaged as with
`average="batch"`; the states of random numbers stay with their shard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...graph.errors import ArgumentError, bad
from ..averaging.tasks import RoundMetrics, Update
from ..training.rounds import Rounds
from ..training.shuffling import order_of
from ..training.state import StateLayout
from .models.replicas import borrow_replica

if TYPE_CHECKING:
    from ..averaging.tasks import Round
    from ..training.shards import Shards
    from .metrics import Names
    from .models.recipe import Recipe
    from .models.state import Variables

__all__ = ["gradient_rounds"]

Values = np.ndarray[Any, Any]


def gradient_rounds(
    recipe: Recipe, mine: Variables, parts: Shards, seed: int, size: int, shuffle: bool, names: Names
) -> tuple[Rounds, int]:
    """Return the rounds, and how many make an epoch.

    Raises
    ------
    ArgumentError
        The optimiser scales the loss by what it meets, which the shards don't know.
    """
    if mine.scales_loss:
        raise ArgumentError(bad("fit", "average", "gradient", "another value for an optimizer that scales the loss"))
    state = mine.shared()
    zero = {"gradients": [np.zeros_like(w) for w in state["weights"][: mine.trained]], **mine.untrained()}
    update = Update(ApplyKerasGradient(recipe), mine.slots(), zero)
    work = KerasGradient(recipe, size, shuffle, names.means, StateLayout.of(zero))
    rounds = Rounds(work, state, mine.own_apart(fresh=True), parts, seed, names.means, names.sums, update)
    return rounds, -(-max(parts.sizes) // size)


@dataclass(frozen=True)
class KerasGradient:
    """A shard's part of one batch."""

    only_reads: ClassVar = True
    recipe: Recipe
    size: int
    shuffle: bool
    means: tuple[str, ...]
    given: StateLayout

    def __call__(self, state: Any, mine: Any, at: Round, *rows: Values) -> tuple[Any, Any, RoundMetrics]:
        whole, rest = divmod(len(rows[0]), self.size)
        if at.number >= whole + (rest > 0):
            return self.given.zeros(), mine, RoundMetrics(0.0)
        block = at.number
        if self.shuffle and block < whole:
            block = int(order_of(at, whole)[block])
        some = tuple(r[block * self.size : (block + 1) * self.size] for r in rows)
        with borrow_replica(self.recipe) as copy:
            copy.variables.put(state)
            copy.variables.put_apart(mine)
            if mine["fresh"]:
                copy.variables.reseed(at.shard)
            logs, gradients = copy.gradients(some)
            means = {name: logs[name] for name in self.means if name in logs}
            metrics = RoundMetrics(float(len(some[0])), means, copy.counters.sums())
            return {"gradients": gradients, **copy.variables.untrained()}, copy.variables.own_apart(), metrics


@dataclass(frozen=True)
class ApplyKerasGradient:
    """The optimiser's step; see `Update`."""

    only_reads: ClassVar = True
    recipe: Recipe

    def __call__(self, state: Any, slots: list[Values], mean: Any) -> tuple[Any, list[Values]]:
        with borrow_replica(self.recipe) as copy:
            variables = copy.variables
            weights = [*state["weights"][: variables.trained], *mean["rest"]]
            variables.put({**state, "weights": weights, "moments": mean["moments"]})
            variables.put_slots(slots)
            variables.set_rate(float(state["rate"]))
            copy.apply(mean["gradients"])
            return {**variables.shared(), "rate": state["rate"]}, variables.slots()
