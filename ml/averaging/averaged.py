"""Scikit-learn's estimators trained on shards: an epoch of `partial_fit` on each, then the average of the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data

from ...arrays.base import ArrayBase
from ...graph.arguments import check_flag
from ...graph.errors import BadValue, bad
from ...workers.public_api import publish
from ..fitted import METHODS, check_instance, of_model, over_rows, score, tags_of
from ..rows import is_lazy, learn_names
from ..training.averages import Averaging
from .averageable import averageable
from .training import train_averaged
from .validation import FLOATS, check_rows

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Averaged", "find_classes"]

Values = np.ndarray[Any, Any]


def find_classes(name: str, model: Any, classes: Any) -> Any:
    """Return the classes that `partial_fit` is told or knows; None for what has none."""
    if not is_classifier(model):
        return None
    before = getattr(model, "classes_", None)
    if before is None and classes is None:
        raise BadValue(bad(name, "classes", None, "the labels of all classes in the first call"))
    class_labels: Values = np.asarray(before) if classes is None else np.unique(np.asarray(classes))
    if before is not None and not np.array_equal(class_labels, np.asarray(before)):
        raise BadValue(bad(name, "classes", list(class_labels), f"those of the first call: {list(before)}"))
    return class_labels


@dataclass(eq=False, repr=False)
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
        None: the number of ranks when `fit` is called (of threads, on the embedded engine). At most one for each row.
    shuffle : bool
        Whether rows are shuffled over all shards at first (for classifiers so that each shard has each class in its
        share), and within shards in each epoch.
    seed : int
        The same seed and number of shards give the same weights to the bit on any ranks; not with "async".
    average : {"epoch", "batch", "gradient", "async"}, int or ("async", int)
        When weights are averaged: after each epoch, each batch, or so many batches. These have the estimator's own
        `batch_size` rows at most (200 where it has none), dealt out among the shards in even parts, so that there
        are as many steps as with one shard. "gradient", for MLPClassifier and MLPRegressor: at each such batch
        gradients are averaged, and one optimiser steps, as in one process. "async": without waiting for each other,
        16 times an epoch, see `windrow.ml.train`.
    scale_learning_rate : {"auto", True, False}
        Of networks: whether the learning rate is larger on shards, each of which takes so many times fewer steps.
        "auto": times their number, but not so large that training would diverge, reached over the first 8 steps; not
        where they share each batch. True: times their number.
    outer_momentum : float
        Momentum of the averages, each of which is a step from the weights before (BMUF; Chen and Huo, 2016). It wants a
        short period: over whole epochs it tends to oscillate.
    outer_learning_rate : float
        Of these steps: by how much of the way to the average they go.
    outer_nesterov : bool
        Whether they are Nesterov's: each shard goes on from where the momentum will lead.

    Attributes
    ----------
    estimator_ : the fitted estimator
    history_ : History

    Raises
    ------
    ArgumentError
        There is no parameter of such a name. What they may be is looked at in `fit`.

    Notes
    -----
    Scikit-learn trains on one process, row after row. Here coefficients depend on `shards`, `seed` and the rows, not on
    chunks, ranks or their schedule; with "async" they depend on who comes first, too.

    >>> from sklearn.linear_model import SGDRegressor
    >>> from windrow.ml import Averaged
    >>> X = wr.random.default_rng(1).normal(size=(10_000, 3), chunks=(1000, 3))
    >>> model = Averaged(SGDRegressor(), epochs=5, shards=2).fit(X, X[:, 0] - X[:, 2])
    >>> round(model.score(X, X[:, 0] - X[:, 2]), 3)
    1.0
    """

    estimator: Any = None
    epochs: int = 10
    shards: int | None = None
    shuffle: bool = True
    seed: int = 0
    average: str | int | tuple[str, int] = "epoch"
    scale_learning_rate: bool | str = "auto"
    outer_momentum: float = 0.0
    outer_learning_rate: float = 1.0
    outer_nesterov: bool = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train; from what was learnt before, where the estimator has `warm_start=True`.

        Parameters
        ----------
        X : array of shape (rows, features)
            Real numbers: a Windrow array, or one in memory, which is cut into shards, too.
        y : array of shape (rows,) or (rows, targets), optional
            What is to be predicted; None for an estimator that has no targets.
        sample_weight : array of shape (rows,), optional
            What each row counts. None: all the same.

        Returns
        -------
        self
            With `estimator_` and `history_`; weights are NumPy arrays.

        Raises
        ------
        ArgumentError
            The estimator, or one of its parameters, can't be averaged; `epochs`, `shards` or `average` is none of what
            it may be.
        ShapeError
            `X` isn't 2-D or has no rows; `y` or `sample_weight` hasn't one entry for each row.
        BadValue
            There is one class alone, a label is NaN, a weight is negative, or all are zero.
        ValueError
            Scikit-learn's: a number is NaN or infinite, or a parameter of the estimator has a value that it can't take.

        >>> from sklearn.linear_model import SGDClassifier
        >>> from windrow.ml import Averaged
        >>> X = wr.random.default_rng(1).normal(size=(4000, 2), chunks=(1000, 2))
        >>> model = Averaged(SGDClassifier(), epochs=3, shards=2).fit(X, X[:, 0] > 0)
        >>> model.classes_, model.history_.epoch
        (array([False,  True]), [0, 1, 2])
        """
        before = self.__dict__.get("estimator_") if getattr(self.estimator, "warm_start", False) else None
        return self._learn("fit", X, y, sample_weight, epochs=self.epochs, start=before)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one epoch, from what was learnt before.

        Parameters
        ----------
        X : array of shape (rows, features)
            Real numbers: a Windrow array, or one in memory.
        y : array of shape (rows,) or (rows, targets), optional
            What is to be predicted; None for an estimator that has no targets.
        classes : array of labels, optional
            All that a classifier will meet: needed at the first call, and the same later.
        sample_weight : array of shape (rows,), optional
            What each row counts. None: all the same.

        Returns
        -------
        self
            With `estimator_` and the `history_` of this epoch.

        Raises
        ------
        BadValue
            A classifier's first call lacks `classes`, a later one has others, or a label isn't among them.
        ShapeError
            `X` isn't 2-D or has other features than before; `y` or `sample_weight` hasn't one entry for each row.
        ArgumentError
            The estimator, or one of its parameters, can't be averaged.

        >>> from sklearn.linear_model import SGDClassifier
        >>> from windrow.ml import Averaged
        >>> X = wr.random.default_rng(1).normal(size=(4000, 2), chunks=(1000, 2))
        >>> model = Averaged(SGDClassifier(), shards=2)
        >>> for _ in range(3):
        ...     model = model.partial_fit(X, X[:, 0] > 0, classes=[False, True])
        >>> float(model.score(X, X[:, 0] > 0)) > 0.95
        True
        """
        before = self.__dict__.get("estimator_")
        name = self._name("partial_fit")
        known = find_classes(name, self, classes) if is_classifier(self) else None
        return self._learn("partial_fit", X, y, sample_weight, epochs=1, start=before, classes=known)

    def _name(self, operation: str) -> str:
        """Return what messages call an operation."""
        check_instance(f"Averaged.{operation}", self.estimator)
        return f"{type(self.estimator).__name__}.{operation}"

    def _learn(self, operation: str, X: Any, y: Any, sample_weight: Any, **how: Any) -> Self:
        name = self._name(operation)
        averageable(name, self.estimator)
        check_flag(operation, "shuffle", self.shuffle)
        if (check := getattr(self.estimator, "_validate_params", None)) is not None:  # as scikit-learn's `fit` does
            check()
        lazily = is_lazy(X, y, sample_weight)
        if not lazily:
            first = operation == "fit" or how["start"] is None
            X, y, sample_weight = check_rows(self, X, y, sample_weight, reset=first, classes=how.get("classes"))
        outer = (self.outer_momentum, self.outer_learning_rate, self.outer_nesterov)
        averaging = Averaging(name, self.average, *outer, self.scale_learning_rate)
        how |= {"shards": self.shards, "shuffle": self.shuffle, "seed": self.seed}
        fitted, self.history_ = train_averaged(self.estimator, X, y, sample_weight, averaging, **how)
        self.estimator_ = fitted
        if lazily:
            learn_names(self, X)
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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute R² of a regressor, or the accuracy of a classifier.

        Parameters
        ----------
        X : array of shape (rows, features)
            What is predicted from.
        y : array of shape (rows,) or (rows, targets)
            What should be predicted.
        sample_weight : array of shape (rows,), optional
            What each row counts. None: all the same.

        Returns
        -------
        float
            The score; it is computed at once.

        Raises
        ------
        NotFittedError
            Scikit-learn's: `fit` hasn't been called.
        ShapeError
            `X` isn't 2-D or has other features than those learnt from; `y` or `sample_weight` hasn't one entry for each
            row.

        >>> from sklearn.linear_model import SGDRegressor
        >>> from windrow.ml import Averaged
        >>> X = wr.random.default_rng(1).normal(size=(4000, 2), chunks=(1000, 2))
        >>> model = Averaged(SGDRegressor(), epochs=5, shards=2).fit(X, X[:, 0])
        >>> round(model.score(X, X[:, 0]), 2)
        1.0
        """
        check_is_fitted(self, "estimator_")
        if is_lazy(X, y, sample_weight):
            return score(self.estimator_, X, y, sample_weight)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        rows = validate_data(self, X, reset=False, dtype=FLOATS, order="C")
        return float(self.estimator_.score(rows, y, **weights))

    def __sklearn_tags__(self) -> Any:
        tags = tags_of(super().__sklearn_tags__(), self.estimator)
        tags.non_deterministic = False
        return tags


publish(__name__, ("Averaged",))
