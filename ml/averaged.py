"""Scikit-learn's estimators trained on shards: an epoch of `partial_fit` on each, then the average of the weights."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from ..arrays.core import Node
from ..arrays.verbs import compute
from ..graph.errors import ArgumentError, bad
from .averageable import Averageable, averageable
from .fitted import METHODS, Supervised, over_rows, score
from .passes import in_order, shuffled
from .rows import beside, is_lazy, labels_of, samples
from .shards import sharded
from .training import History, Round, Rounds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from ..arrays.array import Array

__all__ = ["Averaged", "FitsByAveraging", "train_averaged"]

Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Epoch:
    """One epoch of a shard: its rows in a new order, once through `partial_fit`."""

    template: Any
    kind: Averageable
    classes: Values | None
    shuffle: bool
    scored: bool

    def __call__(self, state: Any, own: Any, at: Round, *rows: Values) -> tuple[Any, Any, dict[str, float]]:
        estimator = copy.deepcopy(self.template)
        self.kind.put(estimator, state, own)
        told = {"rows": float(len(rows[0]))}
        if self.scored:
            told["score"] = float(estimator.score(*rows[:2]))
        if not self.shuffle:
            passes = in_order(rows) if self.kind.by_row else iter([[np.ascontiguousarray(r) for r in rows]])
        else:
            # SFC64 is the fastest of NumPy's generators; three numbers name the epoch of a shard.
            generator = np.random.Generator(np.random.SFC64([at.seed, at.epoch, at.shard]))
            passes = shuffled(rows, generator, whole=not self.kind.by_row)
        for some in passes:
            _partial_fit(estimator, self.classes, some)
        return self.kind.state(estimator), self.kind.own(estimator), told


def _partial_fit(estimator: Any, classes: Values | None, rows: Sequence[Values]) -> None:
    keywords: dict[str, Any] = {} if classes is None else {"classes": classes}
    if len(rows) > 2:
        keywords["sample_weight"] = rows[2]
    estimator.partial_fit(rows[0], rows[1], **keywords)


def _template(estimator: Any, classes: Values | None, rows: Sequence[Values]) -> Any:
    """Return a copy that has its attributes, as they are before the first step."""
    made: Any = clone(estimator)
    ours = {"shuffle": False, "warm_start": False, "verbose": 0}
    made.set_params(**{k: v for k, v in ours.items() if k in made.get_params(deep=False)})
    first = copy.deepcopy(made)
    own = {name: getattr(made, name) for name in ("learning_rate_init", "batch_size") if hasattr(made, name)}
    if own:
        first.set_params(learning_rate_init=1e-300, batch_size="auto")
    _partial_fit(first, classes, rows)
    if own:  # a network keeps the weights that it drew
        first.set_params(**own)
        first._optimizer.learning_rate_init = first._optimizer.learning_rate = made.learning_rate_init
        for name in ("ms", "vs", "velocities"):
            for slot in getattr(first._optimizer, name, ()):
                slot[...] = 0.0
        if hasattr(first._optimizer, "t"):
            first._optimizer.t = 0
    else:
        for name in ("coef_", "intercept_"):
            getattr(first, name)[...] = 0.0
        first.t_ = 1.0
    return first


def train_averaged(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    epochs: int,
    shards: int | None = None,
    shuffle: bool = True,
    seed: int = 0,
    tol: float | None = None,
    patience: int = 5,
) -> tuple[Any, History]:
    """Return a fitted copy of an estimator, trained on shards and averaged after each epoch, and its history.

    With `tol`, training ends when the score on the training rows has not risen by so much for `patience` epochs.
    """
    name = f"{type(estimator).__name__}.fit"
    kind = averageable(name, estimator)
    if isinstance(epochs, bool) or not isinstance(epochs, int | np.integer) or epochs < 1:
        raise ArgumentError(bad(name, "epochs", epochs, "a positive integer"))
    rows = samples(name, X)
    arrays: list[Array] = [rows, beside(name, "y", y, rows, wide=not is_classifier(estimator))]
    if sample_weight is not None:
        arrays.append(beside(name, "sample_weight", sample_weight, rows))
    classes = labels_of(name, arrays[1]) if is_classifier(estimator) else None
    labels = None if classes is None else np.asarray(arrays[1].compute())
    estimator = _weighted(estimator, labels, classes)
    parts = sharded(name, arrays, shards, shuffle, seed, labels if shuffle else None)
    few = compute(*(a[: min(2, parts.sizes[0])] for a in parts.arrays))
    template = _template(estimator, classes, few)
    work = _Epoch(template, kind, classes, shuffle, tol is not None)
    told = ("score",) if tol is not None else ()
    rounds = Rounds(work, kind.state(template), kind.own(template), parts, seed, told)
    history, best, since = History(), -np.inf, 0
    for epoch in range(epochs):
        found = rounds.run(epoch, 0)
        history.add(epoch, {n: found[n] for n in told})
        if tol is not None:
            since = 0 if found["score"] > best + tol else since + 1
            best = max(best, found["score"])
            if since >= patience:
                break
    kind.put(template, rounds.state, kind.own(template))
    template.n_iter_ = len(history.epoch)
    template.set_params(**{k: v for k, v in estimator.get_params(deep=False).items() if k != "class_weight"})
    return template, history


def _weighted(estimator: Any, labels: Values | None, classes: Values | None) -> Any:
    """Replace balanced class weights, which a shard can't know, by those of all rows."""
    if getattr(estimator, "class_weight", None) != "balanced" or labels is None or classes is None:
        return estimator
    counts = np.bincount(np.searchsorted(classes, labels), minlength=len(classes))
    weights = len(labels) / (len(classes) * counts)
    copied: Any = clone(estimator)
    return copied.set_params(class_weight=dict(zip(classes.tolist(), weights.tolist(), strict=True)))


class FitsByAveraging(Supervised):
    """Makes an estimator's `fit` train on shards where X or y is a Windrow array.

    `max_iter` epochs are run, fewer when `tol` is set and the score on the training rows stays the same for
    `n_iter_no_change` of them. `random_state` (an integer) seeds the shuffles; shards are as many as there are ranks.
    """

    def fit(self, X: Any, y: Any, *args: Any, sample_weight: Any = None, **keywords: Any) -> Self:
        """Train."""
        if not is_lazy(X, y):
            own = {} if sample_weight is None else {"sample_weight": sample_weight}
            super().fit(X, y, *args, **own, **keywords)  # type: ignore[misc]
            return self
        name = f"{type(self).__name__}.fit"
        if args or keywords:
            raise ArgumentError(bad(name, next(iter(keywords), "coef_init"), "a value", "none for Windrow arrays"))
        given = self.get_params(deep=False)  # type: ignore[attr-defined]
        if given["random_state"] is not None and not isinstance(given["random_state"], int | np.integer):
            raise ArgumentError(bad(name, "random_state", given["random_state"], "an integer or None"))
        fitted, self.history_ = train_averaged(
            self,
            X,
            y,
            sample_weight,
            epochs=given["max_iter"],
            shuffle=given["shuffle"],
            seed=int(given["random_state"] or 0),
            tol=given["tol"],
            patience=given["n_iter_no_change"],
        )
        learnt = {k: v for k, v in vars(fitted).items() if k not in given}
        vars(self).update(learnt)
        return self


class Averaged(MetaEstimatorMixin, BaseEstimator):
    """Trains an estimator of scikit-learn on shards of the rows and averages the weights after each epoch.

    Parameters
    ----------
    estimator : estimator
        SGDRegressor, SGDClassifier, Perceptron, PassiveAggressive*, MLPClassifier or MLPRegressor; others raise at
        `fit`, naming what to use. Its own `max_iter`, `tol` and `shuffle` have no part.
    epochs : int
        Passes over all rows.
    shards : int, optional
        None: the number of ranks when `fit` is called (of threads, on the embedded engine).
    shuffle : bool
        Whether rows are shuffled over all shards at first (for classifiers so that each shard has each class in its
        share), and within shards in each epoch.
    seed : int
        The same seed and number of shards give the same weights to the bit on any ranks.

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
        self, estimator: Any = None, epochs: int = 10, shards: int | None = None, shuffle: bool = True, seed: int = 0
    ) -> None:
        self.estimator = estimator
        self.epochs = epochs
        self.shards = shards
        self.shuffle = shuffle
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train."""
        self.estimator_, self.history_ = train_averaged(
            self.estimator,
            X,
            y,
            sample_weight,
            epochs=self.epochs,
            shards=self.shards,
            shuffle=self.shuffle,
            seed=self.seed,
        )
        self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "classes_"):
            self.classes_ = self.estimator_.classes_
        return self

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        getattr(self.__dict__.get("estimator_", self.__dict__.get("estimator")), name)  # what it can't do we don't have
        return _Said(self, name)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Return R² or the accuracy: a number, or for Windrow arrays a lazy one."""
        check_is_fitted(self, "estimator_")
        if isinstance(X, Node) or isinstance(y, Node):
            return score(self.estimator_, X, y, sample_weight)
        return self.estimator_.score(X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = getattr(self.estimator, "__sklearn_tags__", None)
        if inner is not None:
            told = inner()
            tags.estimator_type, tags.classifier_tags = told.estimator_type, told.classifier_tags
            tags.regressor_tags, tags.target_tags = told.regressor_tags, told.target_tags
        return tags


@dataclass(frozen=True)
class _Said:
    """A method of the fitted estimator, lazy for Windrow arrays."""

    model: Averaged
    name: str

    def __call__(self, X: Any) -> Any:
        check_is_fitted(self.model, "estimator_")
        fitted = self.model.estimator_
        return over_rows(fitted, self.name, X) if isinstance(X, Node) else getattr(fitted, self.name)(X)
