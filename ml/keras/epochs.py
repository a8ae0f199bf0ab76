"""One round of a shard: some of its batches in this epoch's order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..averaging.tasks import RoundMetrics
from ..training.shuffling import order_of
from .backends.compiled_rounds import backend
from .metrics import plain_logs
from .models.replicas import borrow_replica

if TYPE_CHECKING:
    from ..averaging.tasks import Round
    from .metrics import Names
    from .models.recipe import Recipe

__all__ = ["Epoch", "names_of", "collect_metrics"]

Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Epoch:
    """Runs a round, as `windrow.ml.averaging.tasks.Task` wants it.

    Attributes
    ----------
    recipe : Recipe
    size : int
        Rows of a batch.
    period : int
        Batches of a round. The rest of a shard's rows, less than a batch, belongs to its last round.
    shuffle : bool
        Whether whole batches change places from epoch to epoch.
    means : tuple of str
        Names of what is told as means over rows.
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


def names_of(recipe: Recipe, some: tuple[Values, ...], state: Any, own: Any) -> Names:
    """Return the names of what training tells, by training a copy on some rows; nothing remains of it."""
    with borrow_replica(recipe) as copy:
        copy.variables.put(state, own)
        copy.model.reset_metrics()
        backend().find_metrics(copy.model, some)  # it builds the metrics
        apart = copy.apart(some)
        copy.model.reset_metrics()
        return copy.counters.names(plain_logs(backend().find_metrics(copy.model, some)), apart)


def collect_metrics(recipe: Recipe, names: Names, told: RoundMetrics, some: tuple[Values, ...]) -> dict[str, Any]:
    """Return what an epoch tells of all rows that it saw."""
    with borrow_replica(recipe) as copy:
        return copy.collect_metrics(names, told.means, told.sums, some)
