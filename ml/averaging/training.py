"""Training an estimator of scikit-learn's on shards: epochs of `partial_fit`, and the averages of the weights."""

from __future__ import annotations

import copy
import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.class_weight import compute_class_weight

from ...arrays.execution.compute import compute
from ...graph.arguments import check_integer
from ...graph.errors import BadValue, bad
from ...workers.public_api import warn
from ..rows import beside, check_numbers, same_features, samples, some_weight
from ..training.asynchronous import PUSHES, Asynchronous
from ..training.loop import History, add_epoch, is_async, period_of
from ..training.outer import check_outer, outer_update
from ..training.progress import Progress
from ..training.rates import ADAPTIVE, PLAIN, WARM, check_scale, rate_factor
from ..training.rounds import Rounds
from ..training.shards import cut_shards, warn_of_few_steps
from ..training.shuffling import in_order, order_of, shuffle_rows
from ..training.slots import keep_slots, mean_slots, restore_slots
from .averageable import NOTHING, Averageable, averageable, balanced_weights, is_balanced, partial_fit
from .gradients import check_gradient, gradient_rounds, rows_of
from .losses import row_losses, tells_by_loss
from .stopping import ByLoss, ByScore
from .tasks import Round, RoundMetrics
from .validation import several

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...arrays.array import Array

__all__ = ["train_averaged"]

Values = np.ndarray[Any, Any]
BATCH = 200
"""Rows of a batch, as scikit-learn's networks take them."""
PARTS = 16
"""Parts of a shard's rows, the loss of each of which is told before it is learnt."""


@dataclass(frozen=True)
class _Epoch:
    """One epoch of a shard, or one of its rounds: its rows in a new order, once through `partial_fit`.

    `sizes` are the rows of the shards, `size` those of a batch; None: the estimator knows. `factor` is that of the
    rates of networks.
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
        others = rows_of(self.sizes, at.number, self.rounds) - len(rows[0])
        if self.kind.steps == "rows":  # first: it takes many steps to recover from the first rates
            self.kind.count_others(estimator, others)
        passes = self._passes(rows, at)
        for some, factor in self._pace(_cut(passes, len(rows[0])) if by_loss else passes, warm=warm):
            if not len(some[0]):
                continue
            if by_loss:  # of rows that it is about to learn, as scikit-learn has it: that falls more steadily
                sums = sums + self._measure(estimator, some, by_loss)
            if warm:
                self.kind.deal(estimator, min(self.size or _batch(self.template), len(some[0])))
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
            size, first = self.size or _batch(self.template), next(passes)
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


def train_averaged(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    epochs: int,
    shards: int | None = None,
    shuffle: bool = True,
    seed: int = 0,
    tol: float | None = None,
    patience: int = 5,
    average: str | int | tuple[str, int] = "epoch",
    outer: tuple[float, float, bool] = (0.0, 1.0, False),
    scale: bool | str = "auto",
    start: Any = None,
    classes: Any = None,
    operation: str = "fit",
) -> tuple[Any, History]:
    """Return a fitted copy of an estimator, trained on shards and averaged, and its history.

    With `tol`, training ends as `stopping` says: by the loss, or by the score where there is none. It
    goes on from `start`, where that has learnt something; `classes` are those that labels may have. `outer` are
    momentum, learning rate and Nesterov's kind of the outer steps.
    """
    name = f"{type(estimator).__name__}.{operation}"
    kind = averageable(name, estimator)
    epochs = check_integer(name, "epochs", epochs, 1)
    period_of(name, average, 1)
    check_outer(name, average, *outer)
    check_scale(name, scale)
    gradient = isinstance(average, str) and average == "gradient"
    if gradient:
        check_gradient(name, estimator, kind)
    if start is not None:
        same_features(name, start, samples(name, X))
    arrays, labels, known_classes = _arrays(name, estimator, X, y, sample_weight, classes)
    classes = known_classes
    if is_balanced(estimator) and labels is not None and labels.ndim == 1:
        copied: Any = clone(estimator)
        estimator = copied.set_params(class_weight=balanced_weights(labels, classes))
    dealt = labels if shuffle and labels is not None and labels.ndim == 1 else None
    parts = cut_shards(name, list(arrays), shards, shuffle, seed, dealt)
    if sample_weight is not None:
        some_weight(name, parts.arrays[-1], negative=False)
    if not shuffle and labels is not None and labels.ndim == 1:
        _warn_of_absent(name, labels, classes, parts.sizes)
    template = kind.template(estimator, classes, _few(arrays, labels), seed)
    first = 0 if start is None else kind.go_on(name, template, start)
    factor = _rate_factor(estimator, scale, average, len(parts))
    size, count = None, 1
    if (is_async(average) or average == "epoch") and (kind.inner or kind).steps != "rows":
        advice = (
            "windrow.ml.Averaged(…, average='batch') deals each batch out among the shards, so that there are as many "
            "steps as with one; else give fewer shards, or a smaller batch_size"
        )
        warn_of_few_steps(name, parts, _batch(estimator), advice)
    if average != "epoch":
        size = -(-_batch(estimator) // (1 if is_async(average) else len(parts)))
        batches = -(-max(parts.sizes) // size)
        count = PUSHES if average == "async" else -(-batches // min(period_of(name, average, batches), batches))
    scored = tol is not None and not kind.loss
    work = _Epoch(template, kind, classes, shuffle, scored, parts.sizes, count, size, factor)
    sums = 2 if scored or kind.loss else 0
    arguments = (work, kind.state(template), kind.own(template), parts, seed, ())
    run = range(first, first + epochs)
    rounds: Rounds | Asynchronous
    if is_async(average):
        rounds = Asynchronous(*arguments, run, count, sums=sums)
    elif gradient:
        kind.set_rates(template, factor)
        rounds = gradient_rounds(template, kind, classes, parts, seed, count, work.part)
    else:
        rounds = Rounds(*arguments, sums, outer_update(arguments[1], *outer, ("t_",)))
    restore_slots(rounds, start if first else None)
    history, seen = History(), 0
    patient: ByLoss | ByScore
    if kind.loss:
        patient = ByLoss(template, start if first else None, tol, patience)
    else:
        patient = ByScore(tol, patience, "loss" if tells_by_loss(template) else "score")
    with rounds, Progress(name, epochs, sum(parts.sizes)) as progress:
        for epoch in run:
            begin = time.perf_counter()
            epoch_metrics = rounds.epoch(epoch, count, progress)
            seen += round(epoch_metrics.rows)
            metrics = {patient.metric: float(epoch_metrics.sums[0] / (epoch_metrics.sums[1] or 1.0))} if sums else {}
            add_epoch(history, epoch - first, metrics, time.perf_counter() - begin)
            progress.epoch(epoch - first, metrics)
            if sums and patient.ends(epoch, metrics[patient.metric]):
                break
    kind.put(template, rounds.state, rounds.kept if gradient else mean_slots(rounds))
    kind.set_rates(template)
    template.n_iter_ = len(history.epoch)
    template._epochs = first + len(history.epoch)
    if gradient:  # shards give gradients, and count nothing
        template.t_ = seen + (getattr(start, "t_", 0) if first else 0)
    else:
        keep_slots(rounds, template)
    template.set_params(**{k: v for k, v in estimator.get_params(deep=False).items() if k != "class_weight"})
    return template, history


def _rate_factor(estimator: Any, scale: bool | str, average: Any, shards: int) -> float:
    """Return the factor of a network's learning rate on so many shards.

    Where averages come after batches these are dealt out among the shards, which take as many steps as one would.
    """
    if scale == "auto" and not (is_async(average) or average == "epoch"):
        return 1.0
    inner = getattr(estimator, "estimator", estimator)
    rate = getattr(inner, "learning_rate_init", 1.0)
    if getattr(inner, "solver", "") == "sgd":
        return rate_factor(scale, average, shards, rate / max(1 - inner.momentum, NOTHING), PLAIN)
    return rate_factor(scale, average, shards, rate, ADAPTIVE)


def _batch(estimator: Any) -> int:
    """Return the rows of a batch: an estimator's own, or 200 as scikit-learn's networks take."""
    sizes = [v for k, v in estimator.get_params().items() if k.rpartition("__")[2] == "batch_size"]
    return next((int(v) for v in sizes if isinstance(v, int | np.integer)), BATCH)


def _arrays(name: str, estimator: Any, X: Any, y: Any, sample_weight: Any, known: Any) -> tuple[list[Array], Any, Any]:
    """Return X, y and weights as arrays in the same blocks; the labels in memory; and the classes."""
    rows = samples(name, X)
    arrays = [rows]
    required = estimator.__sklearn_tags__().target_tags.required
    labels = classes = None
    if required or (y is None and sample_weight is not None):
        wide = several(estimator) or not is_classifier(estimator)
        target = beside(name, "y", y, rows, wide=wide)
        if target.shape[1:] == (1,) and estimator.__sklearn_tags__().target_tags.single_output:
            target = beside(name, "y", target, rows)  # says that it was a column
        if is_regressor(estimator):
            check_numbers(name, target)
        if is_classifier(estimator):
            labels = np.asarray(target.compute())
            classes = _classes(name, estimator, labels) if known is None else _among(name, labels, known)
        arrays.append(target)
    if sample_weight is not None:
        arrays.append(beside(name, "sample_weight", sample_weight, rows))
    return arrays, labels, classes


def _few(arrays: list[Array], labels: Any) -> list[Values]:
    """Return two rows, or one of each class, in memory."""
    which: Any = slice(0, 2)
    if labels is not None and labels.ndim == 1:
        which = np.sort(np.unique(labels, return_index=True)[1])
    return list(compute(*(a[which] for a in arrays)))


def _classes(name: str, estimator: Any, labels: Values) -> Any:
    """Return the classes, a list of them for each column of a target that has several."""
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        raise BadValue(bad(name, "y", "NaN or infinity", "labels of classes"))
    if labels.ndim == 1:
        classes = np.unique(labels)
        if len(classes) < 2:
            raise BadValue(bad(name, "y", f"1 class ({classes[0]})", "at least 2 classes"))
        return classes
    if estimator.__sklearn_tags__().target_tags.single_output:  # labels for each row, in columns of zeros and ones
        return np.arange(labels.shape[1])
    return [np.unique(column) for column in labels.T]


def _among(name: str, labels: Values, known: Any) -> Any:
    """Return classes that are known, which labels must be among."""
    distinct = np.unique(labels)
    other = distinct[~np.isin(distinct, known)] if labels.ndim == 1 else distinct[:0]
    if len(other):
        raise BadValue(bad(name, "y", f"labels with {other[0]!s}", f"labels of the classes {list(known)}"))
    return known


def _warn_of_absent(name: str, labels: Values, classes: Values, sizes: Sequence[int]) -> None:
    """Warn of shards that lack classes, where rows are left as they stand."""
    ends = np.cumsum(sizes)
    for i, (end, size) in enumerate(zip(ends, sizes, strict=True)):
        absent = classes[~np.isin(classes, labels[end - size : end])]
        if len(absent):
            warn(
                f"{name}: shard {i} of {len(sizes)} has no rows of class {absent[0]!s}; its weights are learnt from "
                "other shards only; shuffle=True gives each shard its share",
            )
            return
