"""Scikit-learn's estimators trained on shards: an epoch of `partial_fit` on each, then the average of the weights."""

from __future__ import annotations

import copy
import inspect
import time
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from ...arrays.base import ArrayBase
from ...arrays.execution.compute import compute
from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, BadValue, bad
from ...workers.boundary import publish, warn
from ..fitted import METHODS, Supervised, of_model, over_rows, score, tags_of
from ..progress import Progress
from ..rows import beside, is_lazy, same_features, samples, some_weight
from ..training import History, is_async, period_of
from .asynchronous import PUSHES, Asynchronous
from .averageable import Averageable, averageable, partial_fit
from .rounds import Round, RoundMetrics, Rounds
from .shards import cut_shards
from .shuffling import in_order, order_of, shuffle_rows
from .validation import FLOATS, check_rows, several

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from ...arrays.array import Array

__all__ = ["Averaged", "FitsByAveraging", "train_averaged"]

Values = np.ndarray[Any, Any]
BATCH = 200
"""Rows of a batch, as scikit-learn's networks take them."""
FEW_STEPS = 8
"""Of a shard in an epoch: with fewer a network learns less than from one shard."""


@dataclass(frozen=True)
class _Epoch:
    """One epoch of a shard, or one of its rounds: its rows in a new order, once through `partial_fit`.

    `size` are the rows of a batch; None: the estimator knows.
    """

    template: Any
    kind: Averageable
    classes: Any
    shuffle: bool
    scored: bool
    rounds: int
    size: int | None = None

    def __call__(self, state: Any, own: Any, at: Round, *rows: Values) -> tuple[Any, Any, RoundMetrics]:
        if self.rounds > 1:
            rows = self._part(rows, at)
        if not len(rows[0]):
            return state, own, RoundMetrics(0.0)
        estimator = copy.deepcopy(self.template)
        self.kind.put(estimator, state, own)
        told = self._score(estimator, rows) if self.scored else np.zeros(0)
        if self.kind.steps == "batches":  # it draws numbers in each step
            names = [at.seed, at.epoch, at.shard, *([at.number] if self.rounds > 1 else [])]
            estimator.set_params(random_state=np.random.RandomState(names))
        if self.size is not None:
            self.kind.deal(estimator, min(self.size, len(rows[0])))
        before = copy.deepcopy(self.kind.state(estimator)) if self.classes is not None else None
        for some in self._passes(rows, at):
            partial_fit(estimator, self.classes, some)
        if before is not None and self.kind.inner is None:
            _keep_absent(estimator, before, self.classes, rows[1])
        return self.kind.state(estimator), self.kind.own(estimator), RoundMetrics(float(len(rows[0])), sums=told)

    def _score(self, estimator: Any, rows: Sequence[Values]) -> Values:
        """Return the score times what the rows weigh, and what they weigh: as much as they count in the loss."""
        weight = rows[2].astype(np.float64) if len(rows) > 2 else np.ones(len(rows[0]))
        classes = getattr(estimator, "class_weight", None)
        if classes is not None and rows[1].ndim == 1:
            each = compute_class_weight(classes, classes=self.classes, y=self.classes)
            weight *= each[np.searchsorted(self.classes, rows[1])]
        whole = float(weight.sum())
        return np.array([whole * float(estimator.score(*rows[:2], sample_weight=weight)), whole] if whole else [0.0, 0])

    def _part(self, rows: tuple[Values, ...], at: Round) -> tuple[Values, ...]:
        """Return the rows of a round, in the order of the epoch."""
        count = len(rows[0])
        part = slice(count * at.number // self.rounds, count * (at.number + 1) // self.rounds)
        if not self.shuffle:
            return tuple(r[part] for r in rows)
        order = order_of(at, count)[part]
        return tuple(np.take(r, order, axis=0) for r in rows)

    def _passes(self, rows: tuple[Values, ...], at: Round) -> Iterator[list[Values]]:
        """Yield what each call of `partial_fit` gets."""
        by_row = self.kind.steps == "rows"
        if self.shuffle and self.rounds == 1:
            # SFC64 is the fastest of NumPy's generators; three numbers name the epoch of a shard.
            generator = np.random.Generator(np.random.SFC64([at.seed, at.epoch, at.shard]))
            found = shuffle_rows(rows, generator, whole=not by_row)
        else:
            found = in_order(rows) if by_row else iter([[np.ascontiguousarray(r) for r in rows]])
        if self.kind.steps != "batches":
            yield from found
            return
        size = self.template.batch_size if self.size is None else self.size
        for some in found:
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
    start: Any = None,
    classes: Any = None,
    operation: str = "fit",
) -> tuple[Any, History]:
    """Return a fitted copy of an estimator, trained on shards and averaged, and its history.

    With `tol`, training ends when the score on the training rows, weighed as their losses are, has not risen by so much
    for `patience` epochs: each epoch tells that of the model it begins with. It goes on from `start`, where that has
    learnt something; `classes` are those that labels may have.
    """
    name = f"{type(estimator).__name__}.{operation}"
    kind = averageable(name, estimator)
    epochs = check_integer(name, "epochs", epochs, 1)
    period_of(name, average, 1)
    if start is not None:
        same_features(name, start, samples(name, X))
    arrays, labels, found = _arrays(name, estimator, X, y, sample_weight, classes)
    classes = found
    estimator = _replace_balanced(estimator, labels, classes)
    dealt = labels if shuffle and labels is not None and labels.ndim == 1 else None
    parts = cut_shards(name, list(arrays), shards, shuffle, seed, dealt)
    if sample_weight is not None:
        some_weight(name, parts.arrays[-1])
    if not shuffle and labels is not None and labels.ndim == 1:
        _warn_of_absent(name, labels, classes, parts.sizes)
    template = kind.template(estimator, classes, _few(arrays, labels), seed)
    first = 0 if start is None else kind.go_on(name, template, start)
    size, count = None, 1
    if (is_async(average) or average == "epoch") and (kind.inner or kind).steps != "rows" and len(parts) > 1:
        _warn_of_few_steps(name, len(parts), min(parts.sizes) // _batch(estimator))
    if average != "epoch":
        size = -(-_batch(estimator) // (1 if is_async(average) else len(parts)))
        batches = -(-max(parts.sizes) // size)
        count = PUSHES if average == "async" else -(-batches // min(period_of(name, average, batches), batches))
    work = _Epoch(template, kind, classes, shuffle, tol is not None, count, size)
    given = (work, kind.state(template), kind.own(template), parts, seed, ())
    run = range(first, first + epochs)
    rounds = Asynchronous(*given, run, count) if is_async(average) else Rounds(*given, 2 if work.scored else 0)
    history, seen = History(), 0
    best, since = -np.inf, 0
    with rounds, Progress(name, epochs, sum(parts.sizes)) as progress:
        for epoch in run:
            begin = time.perf_counter()
            made = rounds.epoch(epoch, count, progress)
            seen += round(made.rows)
            told = {"score": float(made.sums[0] / (made.sums[1] or 1.0))} if tol is not None else {}
            history.add(epoch - first, told, time.perf_counter() - begin)
            progress.epoch(epoch - first, told)
            if tol is not None and epoch:  # the first score is that of a model that has learnt nothing
                since = 0 if told["score"] > best + tol else since + 1
                best = max(best, told["score"])
                if since >= patience:
                    break
    kind.put(template, rounds.state, rounds.task.own.unpack(rounds.owns[0]))
    template.n_iter_ = len(history.epoch)
    template._epochs = first + len(history.epoch)
    if kind.steps == "shard" and hasattr(template, "t_"):  # a network's count of the samples it has seen
        template.t_ = seen + (getattr(start, "t_", 0) if first else 0)
    template.set_params(**{k: v for k, v in estimator.get_params(deep=False).items() if k != "class_weight"})
    return template, history


def _batch(estimator: Any) -> int:
    """Return the rows of a batch: an estimator's own, or 200 as scikit-learn's networks take."""
    sizes = [v for k, v in estimator.get_params().items() if k.rpartition("__")[2] == "batch_size"]
    return next((int(v) for v in sizes if isinstance(v, int | np.integer)), BATCH)


def _warn_of_few_steps(name: str, shards: int, steps: int) -> None:
    if steps < FEW_STEPS:
        text = (
            f"{name}: each of {shards} shards takes only {max(steps, 1)} steps an epoch, and learns the less; "
            "windrow.ml.Averaged(…, average='batch') deals each batch out among the shards, so that there are as many "
            "steps as with one; else give fewer shards, or a smaller batch_size"
        )
        warn(text)


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
    found = compute(*(a[which] for a in arrays))
    return list(found) if isinstance(found, tuple) else [found]


def _classes(name: str, estimator: Any, labels: Values) -> Any:
    """Return the classes, a list of them for each column of a target that has several."""
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        raise BadValue(bad(name, "y", "NaN or infinity", "labels of classes"))
    if labels.ndim == 1:
        found = np.unique(labels)
        if len(found) < 2:
            raise BadValue(bad(name, "y", f"1 class ({found[0]})", "at least 2 classes"))
        return found
    if estimator.__sklearn_tags__().target_tags.single_output:  # labels for each row, in columns of zeros and ones
        return np.arange(labels.shape[1])
    return [np.unique(column) for column in labels.T]


def _among(name: str, labels: Values, known: Any) -> Any:
    """Return classes that are known, which labels must be among."""
    found = np.unique(labels)
    other = found[~np.isin(found, known)] if labels.ndim == 1 else found[:0]
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


def _replace_balanced(estimator: Any, labels: Values | None, classes: Any) -> Any:
    """Replace balanced class weights, which a shard can't know, by those of all rows."""
    if getattr(estimator, "class_weight", None) != "balanced" or labels is None or labels.ndim > 1:
        return estimator
    counts = np.bincount(np.searchsorted(classes, labels), minlength=len(classes))
    weights = len(labels) / (len(classes) * counts)
    copied: Any = clone(estimator)
    return copied.set_params(class_weight=dict(zip(classes.tolist(), weights.tolist(), strict=True)))


class FitsByAveraging(Supervised):
    """Makes an estimator's `fit` and `partial_fit` train on shards where any of the rows are in Windrow arrays.

    `max_iter` epochs are run, fewer when `tol` is set and the score on the training rows stays the same for
    `n_iter_no_change` of them; `partial_fit` runs one. With `warm_start` training goes on from what was learnt before.
    `random_state` (an integer) seeds the shuffles; shards are as many as there are ranks.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        own = cls.partial_fit  # type: ignore[attr-defined]
        super().__init_subclass__(**keywords)
        cls.partial_fit = _partial_fit(cls, own)  # type: ignore[attr-defined]

    def fit(self, X: Any, y: Any, *args: Any, sample_weight: Any = None, **keywords: Any) -> Self:
        """Train."""
        if not is_lazy(X, y, sample_weight):
            own = {} if sample_weight is None else {"sample_weight": sample_weight}
            super().fit(X, y, *args, **own, **keywords)  # type: ignore[misc]
            return self
        name = f"{type(self).__name__}.fit"
        if args or keywords:
            raise ArgumentError(bad(name, next(iter(keywords), "coef_init"), "a value", "none for Windrow arrays"))
        given = self.get_params(deep=False)  # type: ignore[attr-defined]
        how = {"tol": given["tol"], "patience": given["n_iter_no_change"], "epochs": given["max_iter"]}
        return self._learn("fit", X, y, sample_weight, start=self if given["warm_start"] else None, **how)

    def _learn(self, operation: str, X: Any, y: Any, sample_weight: Any, **how: Any) -> Self:
        name = f"{type(self).__name__}.{operation}"
        given = self.get_params(deep=False)  # type: ignore[attr-defined]
        if given["random_state"] is not None and not isinstance(given["random_state"], int | np.integer):
            raise ArgumentError(bad(name, "random_state", given["random_state"], "an integer or None"))
        seed = int(given["random_state"] or 0)
        how |= {"shuffle": given["shuffle"], "seed": seed, "operation": operation}
        fitted, self.history_ = train_averaged(self, X, y, sample_weight, **how)
        learnt = {k: v for k, v in vars(fitted).items() if k not in given}
        vars(self).update(learnt)
        return self


def _partial_fit(cls: Any, own: Any) -> Any:
    """Return the `partial_fit` of a class, by scikit-learn's own signature: an epoch for Windrow arrays."""
    signature = inspect.signature(own)
    name = "partial_fit"

    def partial_fit(model: Any, X: Any, y: Any, *args: Any, **keywords: Any) -> Any:
        if not is_lazy(X, y, *args, *keywords.values()):
            return super(cls, model).partial_fit(X, y, *args, **keywords)
        given = signature.bind(model, X, y, *args, **keywords).arguments
        classes = _find_classes(f"{cls.__name__}.{name}", model, given.get("classes"))
        return model._learn(name, X, y, given.get("sample_weight"), epochs=1, start=model, classes=classes)

    return available_if(lambda model: hasattr(super(cls, model), name))(wraps(own)(of_model(partial_fit)))


def _find_classes(name: str, model: Any, classes: Any) -> Any:
    """Return the classes that `partial_fit` is told or knows; None for what has none."""
    if not is_classifier(model):
        return None
    before = getattr(model, "classes_", None)
    if before is None and classes is None:
        raise BadValue(bad(name, "classes", None, "the labels of all classes in the first call"))
    found: Values = np.asarray(before) if classes is None else np.unique(np.asarray(classes))
    if before is not None and not np.array_equal(found, np.asarray(before)):
        raise BadValue(bad(name, "classes", list(found), f"those of the first call: {list(before)}"))
    return found


class Averaged(MetaEstimatorMixin, BaseEstimator):
    """Trains an estimator of scikit-learn on shards of the rows and averages the weights after each epoch.

    Parameters
    ----------
    estimator : estimator
        SGDRegressor, SGDClassifier, SGDOneClassSVM, Perceptron, PassiveAggressive*, MLPClassifier, MLPRegressor,
        BernoulliRBM, or MultiOutput*, OneVsRest* and OneVsOne* of these; others raise at `fit`, naming what to use. Its
        own `max_iter`, `tol` and `shuffle` have no part; where its `random_state` is None, `seed` takes its place.
    epochs : int
        Passes over all rows.
    shards : int, optional
        None: the number of ranks when `fit` is called (of threads, on the embedded engine).
    shuffle : bool
        Whether rows are shuffled over all shards at first (for classifiers so that each shard has each class in its
        share), and within shards in each epoch.
    seed : int
        The same seed and number of shards give the same weights to the bit on any ranks; not with "async".
    average : {"epoch", "batch", "async"}, int or ("async", int)
        When weights are averaged: after each epoch, each batch, or so many batches. These have the estimator's own
        `batch_size` rows (200 where it has none), dealt out among the shards, so that there are as many steps as with
        one shard. "async": without waiting for each other, 16 times an epoch, see
        `windrow.ml.train`.

    Attributes
    ----------
    estimator_ : the fitted estimator
    history_ : History

    Examples
    --------
    >>> import windrow as wr
    >>> from sklearn.linear_model import SGDRegressor
    >>> from windrow.ml import Averaged
    >>> X = wr.random.default_rng(1).normal(size=(10_000, 3), chunks=(1000, 3))
    >>> model = Averaged(SGDRegressor(), epochs=5, shards=2).fit(X, X[:, 0] - X[:, 2])
    >>> round(float(model.score(X, X[:, 0] - X[:, 2])), 3)
    1.0
    """

    def __init__(
        self,
        estimator: Any = None,
        epochs: int = 10,
        shards: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        average: str | int | tuple[str, int] = "epoch",
    ) -> None:
        self.estimator = estimator
        self.epochs = epochs
        self.shards = shards
        self.shuffle = shuffle
        self.seed = seed
        self.average = average

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train; from what was learnt before, where the estimator has `warm_start=True`."""
        before = self.__dict__.get("estimator_") if getattr(self.estimator, "warm_start", False) else None
        return self._learn("fit", X, y, sample_weight, epochs=self.epochs, start=before)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one epoch, from what was learnt before; the first call tells a classifier all its classes."""
        before = self.__dict__.get("estimator_")
        name = f"{type(self.estimator).__name__}.partial_fit"
        known = _find_classes(name, self, classes) if is_classifier(self) else None
        return self._learn("partial_fit", X, y, sample_weight, epochs=1, start=before, classes=known)

    def _learn(self, operation: str, X: Any, y: Any, sample_weight: Any, **how: Any) -> Self:
        averageable(f"{type(self.estimator).__name__}.{operation}", self.estimator)
        if not is_lazy(X, y, sample_weight):
            first = operation == "fit" or how["start"] is None
            X, y, sample_weight = check_rows(self, X, y, sample_weight, reset=first, classes=how.get("classes"))
        how |= {"shards": self.shards, "shuffle": self.shuffle, "seed": self.seed, "average": self.average}
        fitted, self.history_ = train_averaged(self.estimator, X, y, sample_weight, operation=operation, **how)
        self.estimator_ = fitted
        if is_lazy(X):
            self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_, self.n_iter_ = X.shape[1], fitted.n_iter_
        if hasattr(fitted, "classes_"):
            self.classes_ = fitted.classes_
        return self

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        getattr(self.__dict__.get("estimator_", self.__dict__.get("estimator")), name)  # what it can't do we don't have
        model = self

        def call(X: Any) -> Any:
            check_is_fitted(model, "estimator_")
            if isinstance(X, ArrayBase):
                return over_rows(model.estimator_, name, X)
            return getattr(model.estimator_, name)(validate_data(model, X, reset=False, dtype=FLOATS, order="C"))

        return of_model(call)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Return R² or the accuracy: a number, or for Windrow arrays a lazy one."""
        check_is_fitted(self, "estimator_")
        if is_lazy(X, y, sample_weight):
            return score(self.estimator_, X, y, sample_weight)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        rows = validate_data(self, X, reset=False, dtype=FLOATS, order="C")
        return self.estimator_.score(rows, y, **weights)

    def __sklearn_tags__(self) -> Any:
        tags = tags_of(super().__sklearn_tags__(), self.estimator)
        tags.non_deterministic = False
        return tags


publish(__name__, ("Averaged",))
