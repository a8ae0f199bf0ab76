"""One round of a shard: some of its batches in this epoch's order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .backends import backend
from .replicas import borrowed

if TYPE_CHECKING:
    from ..rounds import Round
    from ..shards import Shards
    from .recipe import Recipe

__all__ = ["Epoch"]

Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Epoch:
    """Runs a round, as `windrow.ml.rounds.Task` wants it.

    Attributes
    ----------
    recipe : Recipe
    size : int
        Rows of a batch.
    period : int
        Batches of a round. The rest of a shard's rows, less than a batch, belongs to its last round.
    shuffle : bool
        Whether whole batches change places from epoch to epoch.
    scale : float
        Of the learning rate.
    """

    recipe: Recipe
    size: int
    period: int
    shuffle: bool
    scale: float

    def __call__(self, state: Any, mine: Any, at: Round, *rows: Values) -> tuple[Any, Any, dict[str, float]]:
        count, size = len(rows[0]), self.size
        whole = count // size
        order = at.generator().permutation(whole) if self.shuffle else np.arange(whole)
        first, end = at.number * self.period, (at.number + 1) * self.period
        blocks = order[first:end]
        rest = slice(whole * size, count) if count % size and first <= max(whole - 1, 0) < end else None
        seen = len(blocks) * size + (count % size if rest is not None else 0)
        if not seen:
            return state, mine, {"rows": 0.0}
        with borrowed(self.recipe) as copy:

            def begin() -> None:
                copy.variables.put(state, mine)
                copy.variables.set_rate(float(state["rate"]) * self.scale)
                if mine["fresh"]:
                    copy.variables.reseed(at.shard)

            logs = copy.train(begin, rows, size, blocks, rest)
            new = {**copy.variables.shared(), "rate": state["rate"]}
            return new, copy.variables.own(), {**logs, "rows": float(seen)}

    def names(self, shards: Shards, state: Any, own: Any) -> tuple[str, ...]:
        """Return the names of the metrics, by training a copy on a few rows; nothing remains of it."""
        few = tuple(np.asarray(a[: min(self.size, shards.sizes[0])].compute()) for a in shards.arrays)
        with borrowed(self.recipe) as copy:
            copy.variables.put(state, own)
            return backend().told(copy.model, few)
