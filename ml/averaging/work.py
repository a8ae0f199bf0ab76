"""What a shard does with scikit-learn's estimators: rounds of `partial_fit`, and gradients of networks."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from ..training.averages import WARM
from ..training.shuffling import in_order, order_of, shuffle_rows
from ..training.tasks import Round, RoundMetrics
from .averageable import Averageable, partial_fit
from .losses import row_losses, tells_by_loss

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["EstimatorWork", "batch_of"]

Values = np.ndarray[Any, Any]
BATCH = 200
"""Rows of a batch, as scikit-learn's networks take them."""
PARTS = 16
"""Parts of a shard's rows, the loss of each of which is told before it is learnt."""


@dataclass(frozen=True)
class EstimatorWork:
    """One epoch of a shard, or one of its rounds: its rows in a new order, once through `partial_fit`.

    `sizes` are the rows of the shards, `rounds` those of an epoch, `size` the rows of a batch; None: the estimator
    knows. `factor` is that of the rates of networks.
    """

    template: Any
    kind: Averageable
    classes: Any
    shuffle: bool
    scored: bool
    sizes: tuple[int, ...]
    rounds: int
    size: int | None = None
    factor: float = 1.0

    def __call__(self, state: Any, own: Any, at: Round, *rows: Values) -> tuple[Any, Any, RoundMetrics]:
        if self.rounds > 1:
            rows = self.part(rows, at)
        if not len(rows[0]):
            return state, own, RoundMetrics(0.0)
        estimator = copy.deepcopy(self.template)
        self.kind.put(estimator, state, own)
        by_loss = self.scored and tells_by_loss(estimator)
        sums = np.zeros(2 if self.scored or self.kind.loss else 0)
        if self.scored and not by_loss:
            sums = self._measure(estimator, rows, by_loss)
        if self.kind.steps == "batches":  # it draws numbers in each step
            names = [at.seed, at.epoch, at.shard, *([at.number] if self.rounds > 1 else [])]
            estimator.set_params(random_state=np.random.RandomState(names))
        if self.size is not None:
            self.kind.deal(estimator, min(self.size, len(rows[0])))
        before = copy.deepcopy(self.kind.state(estimator)) if self.classes is not None else None
        warm = self.factor != 1.0 and not any(self.kind.counts(estimator))
        others = self._rows_of_all(at) - len(rows[0])
        if self.kind.steps == "rows":  # first: it takes many steps to recover from the first rates
            self.kind.count_others(estimator, others)
        passes = self._passes(rows, at)
        for some, factor in self._pace(_cut(passes, len(rows[0])) if by_loss else passes, warm=warm):
            if not len(some[0]):
                continue
            if by_loss:  # of rows that it is about to learn, as scikit-learn has it: that falls more steadily
                sums = sums + self._measure(estimator, some, by_loss)
            if warm:
                self.kind.deal(estimator, min(self.size or batch_of(self.template), len(some[0])))
            self.kind.set_rates(estimator, factor)
            partial_fit(estimator, self.classes, some)
            if self.kind.loss:
                weight = float(some[2].sum()) if len(some) > 2 else float(len(some[0]))
                sums = sums + np.array([weight * estimator.loss_, weight])
        if self.kind.steps != "rows":
            self.kind.count_others(estimator, others)
        if before is not None and self.kind.inner is None:
            _keep_absent(estimator, before, self.classes, rows[1])
        return self.kind.state(estimator), self.kind.own(estimator), RoundMetrics(float(len(rows[0])), sums=sums)

    def gradient(self, state: Any, own: Any, at: Round, *rows: Values) -> tuple[Any, Any, RoundMetrics]:
        """Return the gradient of the shard's part of a batch: by the weights of rows, times their mean weight."""
        rows = self.part(rows, at)
        count = len(rows[0])
        weight = float(rows[2].sum()) if len(rows) > 2 else float(count)
        if not weight:
            return self.zero(state), own, RoundMetrics(float(count), sums=np.zeros(2))
        estimator, keep = copy.deepcopy(self.template), KeepGradient()
        self.kind.put(estimator, state, {})
        # A shard's part of the penalty: a batch has it once.
        estimator.set_params(alpha=self.template.alpha * (count / self._rows_of_all(at)), batch_size=count)
        estimator._optimizer = keep
        partial_fit(estimator, self.classes, [np.ascontiguousarray(r) for r in rows])
        mean = weight / count
        metrics = RoundMetrics(float(count), sums=np.array([weight * estimator.loss_, weight]))
        return {"gradients": [g * mean for g in keep.gradients], "weight": mean}, own, metrics

    def zero(self, state: Any) -> dict[str, Any]:
        """Return zeros such as a gradient."""
        return {
            "gradients": [np.zeros_like(a) for name in self.kind.shared for a in state[name]],
            "weight": np.float64(0),
        }

    def update(self, state: Any, slots: Any, mean: Any) -> tuple[Any, Any]:
        """Return the state and the slots after the optimiser's step by the mean of the gradients."""
        if not mean["weight"]:
            return state, slots
        estimator = copy.deepcopy(self.template)
        self.kind.put(estimator, state, slots)
        gradients = [(g / mean["weight"]).astype(g.dtype) for g in mean["gradients"]]
        estimator._optimizer.update_params(estimator.coefs_ + estimator.intercepts_, gradients)
        return self.kind.state(estimator), self.kind.own(estimator)

    def _measure(self, estimator: Any, rows: Sequence[Values], by_loss: bool) -> Values:
        """Return the score, or the loss, times what the rows weigh, and what they weigh: as they count in the loss."""
        weight = rows[2].astype(np.float64) if len(rows) > 2 else np.ones(len(rows[0]))
        classes = getattr(estimator, "class_weight", None)
        if classes is not None and rows[1].ndim == 1:
            each = compute_class_weight(classes, classes=self.classes, y=self.classes)
            weight *= each[np.searchsorted(self.classes, rows[1])]
        whole = float(weight.sum())
        if not whole:
            return np.zeros(2)
        if by_loss:
            return np.array([float(weight @ row_losses(estimator, rows[0], rows[1], self.classes)), whole])
        return np.array([whole * float(estimator.score(*rows[:2], sample_weight=weight)), whole])

    def _rows_of_all(self, at: Round) -> int:
        """Return how many rows all shards have in a round."""
        return sum(n * (at.number + 1) // self.rounds - n * at.number // self.rounds for n in self.sizes)

    def part(self, rows: tuple[Values, ...], at: Round) -> tuple[Values, ...]:
        """Return the rows of a round, in the order of the epoch."""
        count = len(rows[0])
        part = slice(count * at.number // self.rounds, count * (at.number + 1) // self.rounds)
        if not self.shuffle:
            return tuple(r[part] for r in rows)
        order = order_of(at, count)[part]
        return tuple(np.take(r, order, axis=0) for r in rows)

    def _pace(self, passes: Iterator[list[Values]], *, warm: bool) -> Iterator[tuple[list[Values], float]]:
        """Yield rows with the factor of the rate, which grows over the first batches."""
        if warm:
            size, first = self.size or batch_of(self.template), next(passes)
            for step in range(WARM):
                yield [r[step * size : (step + 1) * size] for r in first], 1 + (self.factor - 1) * step / WARM
            passes = itertools.chain([[r[WARM * size :] for r in first]], passes)
        yield from ((some, self.factor) for some in passes)

    def _passes(self, rows: tuple[Values, ...], at: Round) -> Iterator[list[Values]]:
        """Yield what each call of `partial_fit` gets."""
        by_row = self.kind.steps == "rows"
        if self.shuffle and self.rounds == 1:
            # SFC64 is the fastest of NumPy's generators; three numbers name the epoch of a shard.
            generator = np.random.Generator(np.random.SFC64([at.seed, at.epoch, at.shard]))
            passes = shuffle_rows(rows, generator, whole=not by_row)
        else:
            passes = in_order(rows) if by_row else iter([[np.ascontiguousarray(r) for r in rows]])
        if self.kind.steps != "batches":
            yield from passes
            return
        size = self.template.batch_size if self.size is None else self.size
        for some in passes:
            yield from ([r[lo : lo + size] for r in some] for lo in range(0, len(some[0]), size))


class KeepGradient:
    """Stands where a network has its optimiser, and keeps the gradients instead."""

    def update_params(self, params: Any, grads: Any) -> None:
        """Keep the gradients of a batch."""
        self.gradients = [np.array(g) for g in grads]

    def iteration_ends(self, time_step: Any) -> None:
        """An epoch is not a shard's matter."""


def batch_of(estimator: Any) -> int:
    """Return the rows of a batch: an estimator's own, or 200 as scikit-learn's networks take."""
    sizes = [v for k, v in estimator.get_params().items() if k.rpartition("__")[2] == "batch_size"]
    return next((int(v) for v in sizes if isinstance(v, int | np.integer)), BATCH)


def _cut(passes: Iterator[list[Values]], count: int) -> Iterator[list[Values]]:
    """Yield the rows of each pass in small parts, of so many rows in all."""
    size = -(-count // PARTS)
    for some in passes:
        yield from ([r[lo : lo + size] for r in some] for lo in range(0, len(some[0]), size))


def _keep_absent(estimator: Any, before: dict[str, Any], classes: Any, y: Values) -> None:
    """Undo what a shard learnt of classes that it has no rows of: it would only push these away from the average."""
    coef = getattr(estimator, "coef_", None)
    if coef is None or len(coef) != len(classes):
        return
    absent = ~np.isin(classes, y)
    coef[absent], estimator.intercept_[absent] = before["coef_"][absent], before["intercept_"][absent]
