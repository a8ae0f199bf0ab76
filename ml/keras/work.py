"""The work of a shard with a copy of a Keras model: rounds of batches, or the gradient of one batch.

If gradients are averaged, the steps are those of one process, whose batches are divided among the shards. Variables
that aren't trained, such as the moments of batch normalisation, are averaged as with `average="batch"`. The states of
random numbers stay with their shard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..training.shuffling import order_of
from ..training.tasks import RoundMetrics
from .models.replicas import borrow_replica

if TYPE_CHECKING:
    from ..training.tasks import Round
    from .models.recipe import Recipe

__all__ = ["KerasWork"]

Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class KerasWork:
    """Trains a copy of a model on the batches of a round.

    Attributes
    ----------
    recipe : Recipe
    size : int
        Rows of a batch.
    period : int
        Batches of a round. The remaining rows of a shard, less than a batch, belong to its last round; if gradients are
        averaged they are a round of their own.
    shuffle : bool
        Whether whole batches are shuffled in each epoch.
    means : tuple of str
        Names of the logs whose means over rows are taken.
    """

    only_reads: ClassVar = True
    recipe: Recipe
    size: int
    period: int
    shuffle: bool
    means: tuple[str, ...]

    def __call__(self, state: Any, mine: Any, at: Round, *rows: Values) -> tuple[Any, Any, RoundMetrics]:
        count, size = len(rows[0]), self.size
        whole = count // size
        order = order_of(at, whole) if self.shuffle else np.arange(whole)
        first, end = at.number * self.period, (at.number + 1) * self.period
        blocks = order[first:end]
        rest = slice(whole * size, count) if count % size and first <= max(whole - 1, 0) < end else None
        seen = len(blocks) * size + (count % size if rest is not None else 0)
        if not seen:
            return state, mine, RoundMetrics(0.0)
        with borrow_replica(self.recipe) as copy:

            def begin() -> None:
                copy.variables.put(state, mine)
                copy.variables.set_rate(float(state["rate"]))
                if mine["fresh"]:
                    copy.variables.reseed(at.shard)

            logs = copy.train(begin, rows, size, blocks, rest)
            new = {**copy.variables.shared(), "rate": state["rate"]}
            means = {name: logs[name] for name in self.means if name in logs}
            return new, copy.variables.own(), RoundMetrics(float(seen), means, copy.counters.sums())

    def gradient(self, state: Any, mine: Any, at: Round, *rows: Values) -> tuple[Any, Any, RoundMetrics]:
        """Return the gradient of the shard's part of a batch, and the variables that the step has changed otherwise."""
        whole, rest = divmod(len(rows[0]), self.size)
        if at.number >= whole + (rest > 0):
            return None, mine, RoundMetrics(0.0)
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

    def update(self, state: Any, slots: list[Values], mean: Any) -> tuple[Any, list[Values]]:
        """Return the state and the slots after a step of the optimiser by the averaged gradients."""
        with borrow_replica(self.recipe) as copy:
            variables = copy.variables
            weights = [*state["weights"][: variables.trained], *mean["rest"]]
            variables.put({**state, "weights": weights, "moments": mean["moments"]})
            variables.put_slots(slots)
            variables.set_rate(float(state["rate"]))
            copy.apply(mean["gradients"])
            return {**variables.shared(), "rate": state["rate"]}, variables.slots()
