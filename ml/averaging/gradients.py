"""Networks of scikit-learn's trained by gradients averaged at each batch, with one optimiser."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from ..training.rounds import Rounds
from ..training.state import StateLayout
from .averageable import partial_fit
from .tasks import RoundMetrics, Update

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..training.shards import Shards
    from .averageable import Averageable
    from .tasks import Round

__all__ = ["check_gradient", "gradient_rounds", "rows_of"]

Values = np.ndarray[Any, Any]


def check_gradient(operation: str, estimator: Any, kind: Averageable) -> None:
    """Raise for an estimator whose steps aren't those of an optimiser by the gradient of a batch."""
    if "coefs_" not in kind.shared:
        expected = "another value: only MLPClassifier and MLPRegressor step by the gradient of a batch"
        raise ArgumentError(bad(operation, "average", "gradient", f"{expected}, {type(estimator).__name__} doesn't"))
    if estimator.solver == "sgd" and estimator.learning_rate != "constant":
        expected = "'constant' with average='gradient'"
        raise ArgumentError(bad(operation, "learning_rate", estimator.learning_rate, expected))


def gradient_rounds(
    template: Any, kind: Averageable, classes: Any, parts: Shards, seed: int, count: int, part: Callable[..., Any]
) -> Rounds:
    """Return rounds of which each is a batch; `part(rows, Round)` are a shard's rows of it."""
    state = kind.state(template)
    zero = {"gradients": [np.zeros_like(a) for name in kind.shared for a in state[name]], "weight": np.float64(0)}
    update = Update(ApplyGradient(template, kind), kind.own(template), zero)
    work = Gradient(template, kind, classes, parts.sizes, count, part, StateLayout.of(zero))
    return Rounds(work, state, (), parts, seed, (), 2, update)


def rows_of(sizes: Sequence[int], number: int, rounds: int) -> int:
    """Return how many rows all shards have in a round of an epoch."""
    return sum(n * (number + 1) // rounds - n * number // rounds for n in sizes)


class KeepGradient:
    """Stands where a network has its optimiser, and keeps the gradients instead."""

    def update_params(self, params: Any, grads: Any) -> None:
        """Keep the gradients of a batch."""
        self.gradients = [np.array(g) for g in grads]

    def iteration_ends(self, time_step: Any) -> None:
        """An epoch is not a shard's matter."""


@dataclass(frozen=True)
class Gradient:
    """A shard's part of one batch: its gradient, times the mean weight of its rows."""

    template: Any
    kind: Averageable
    classes: Any
    sizes: tuple[int, ...]
    count: int
    part: Callable[..., Any]
    given: StateLayout

    def __call__(self, state: Any, own: Any, at: Round, *rows: Values) -> tuple[Any, Any, RoundMetrics]:
        rows = self.part(rows, at)
        count = len(rows[0])
        weight = float(rows[2].sum()) if len(rows) > 2 else float(count)
        if not weight:
            return self.given.zeros(), own, RoundMetrics(float(count), sums=np.zeros(2))
        estimator, keep = copy.deepcopy(self.template), KeepGradient()
        self.kind.put(estimator, state, {})
        # A shard's part of the penalty: a batch has it once.
        share = count / rows_of(self.sizes, at.number, self.count)
        estimator.set_params(alpha=self.template.alpha * share, batch_size=count)
        estimator._optimizer = keep
        partial_fit(estimator, self.classes, [np.ascontiguousarray(r) for r in rows])
        mean = weight / count
        metrics = RoundMetrics(float(count), sums=np.array([weight * estimator.loss_, weight]))
        return {"gradients": [g * mean for g in keep.gradients], "weight": mean}, own, metrics


@dataclass(frozen=True)
class ApplyGradient:
    """The optimiser's step; see `Update`."""

    template: Any
    kind: Averageable

    def __call__(self, state: Any, slots: Any, mean: Any) -> tuple[Any, Any]:
        if not mean["weight"]:
            return state, slots
        estimator = copy.deepcopy(self.template)
        self.kind.put(estimator, state, slots)
        gradients = [(g / mean["weight"]).astype(g.dtype) for g in mean["gradients"]]
        estimator._optimizer.update_params(estimator.coefs_ + estimator.intercepts_, gradients)
        return self.kind.state(estimator), self.kind.own(estimator)
