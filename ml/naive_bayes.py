"""Naive Bayes. Counts and moments are summed over blocks, so the fit equals that of all rows at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import naive_bayes as own
from sklearn.base import clone
from sklearn.utils.multiclass import _check_partial_fit_first_call

from ..arrays.execution.compute import compute, persist
from ..arrays.interop.spaces import publish_space
from ..graph.errors import ArgumentError, BadValue, InWords, bad
from .docstrings import ESTIMATORS
from .fitted import Supervised
from .rows import beside, check_weights, finite, is_lazy, labels_of, learn_names, same_features, samples, total, weights

if TYPE_CHECKING:
    from typing import Self

    from ..arrays.array import Array

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]

Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Rows:
    """The training data: persisted rows, their labels and weights, and the classes."""

    X: Array
    y: Array
    weight: Array
    classes: Values

    @classmethod
    def of(cls, name: str, X: Any, y: Any, sample_weight: Any, classes: Any, *, floats: bool = True) -> _Rows:
        """Read the arguments of a fit; where `classes` is None, they are those in `y`."""
        rows = samples(name, X, floats=floats)
        target = beside(name, "y", y, rows)
        rows, target, weight = persist(rows, target, weights(name, sample_weight, rows))
        labels = labels_of(name, target, least=1)
        if classes is not None and not np.isin(labels, classes).all():
            known = f"labels among the classes {np.asarray(classes).tolist()}"
            raise BadValue(bad(name, "y", labels[~np.isin(labels, classes)].tolist(), known))
        return cls(rows, target, weight, labels if classes is None else np.asarray(classes))

    def total(self, function: Any, shape: tuple[int, ...], *params: Any) -> Values:
        """Return the sum of a function's results over the blocks."""
        return total(function, [self.X, self.y, self.weight], shape, *params)


class _ByClass(Supervised):
    """Fits by sums over the rows of each class, to which `partial_fit` adds those of further rows."""

    _floats = True
    classes_: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to all rows; an earlier fit is forgotten.

        Parameters
        ----------
        {X}
        y : array of shape (rows,)
            Labels of the classes: numbers without fractions, or words.
        {sample_weight}

        Returns
        -------
        self
            With the same attributes as scikit-learn's, NumPy arrays.

        Raises
        ------
        {ShapeError, DTypeError}
        BadValue
            All weights are zero, or `y` has fractions.
        ArgumentError
            `priors` aren't shares of the classes that sum to 1.
        ValueError
            A number is NaN or infinite, or negative where it is counted; or a parameter has a value that it can't take.
        """
        if not is_lazy(X, y, sample_weight):
            super().fit(X, y, sample_weight)  # type: ignore[misc]
            return self
        name = f"{type(self).__name__}.fit"
        self._learn(name, _Rows.of(name, X, y, sample_weight, None, floats=self._floats), first=True)
        learn_names(self, X)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Fit to further rows, as if they had come together with those before.

        Parameters
        ----------
        X : array of shape (rows, features)
            Real numbers. If any argument is a Windrow array, the model is fitted to all its chunks; else this is
            scikit-learn's `partial_fit`.
        y : array of shape (rows,)
            Labels of the classes.
        classes : array of labels, optional
            All classes that will occur: required at the first call, and the same later.
        {sample_weight}

        Returns
        -------
        self
            With the counts or moments of all rows until now.

        Raises
        ------
        ShapeError
            `X` isn't 2-D, or has no rows or no features, or other features than before; `y` or `sample_weight` doesn't
            have one entry for each row.
        {DTypeError}
        BadValue
            All weights are zero, or `y` has a label that isn't among the classes.
        ValueError
            `classes` is missing at the first call, or differs from the first call's; or a number is NaN or infinite, or
            negative where it is counted.
        """
        if not is_lazy(X, y, sample_weight):
            super().partial_fit(X, y, classes, sample_weight)  # type: ignore[misc]
            return self
        name = f"{type(self).__name__}.partial_fit"
        first = _check_partial_fit_first_call(self, classes)
        rows = _Rows.of(name, X, y, sample_weight, self.classes_, floats=self._floats)
        if not first:
            same_features(name, self, rows.X)
        return self._learn(name, rows, first=first)

    def _begin(self, row: Values, classes: Values) -> None:
        """Have scikit-learn's class set up its attributes, by one row for each class."""
        for name in ("classes_", "category_count_"):
            if hasattr(self, name):
                delattr(self, name)
        self.partial_fit(np.tile(row, (len(classes), 1)), classes, classes=classes)

    def _learn(self, name: str, rows: _Rows, *, first: bool) -> Self:
        raise NotImplementedError

    def _conclude(self: Any) -> None:
        self._update_feature_log_prob(self._check_alpha())
        self._update_class_log_prior(class_prior=self.class_prior)


@dataclass(frozen=True)
class _Moments:
    """Weight, mean and sum of squared distances from the mean, for each class; the greatest variance of a feature."""

    counts: Values
    means: Values
    spreads: Values
    widest: float

    def beside(self, other: _Moments) -> _Moments:
        """Return the moments of both sets of rows together (Chan, Golub and LeVeque, 1979)."""
        counts = self.counts + other.counts
        share = (self.counts / np.where(counts, counts, 1.0))[:, None]
        apart = self.means - other.means
        spreads = self.spreads + other.spreads + apart**2 * share * other.counts[:, None]
        return _Moments(counts, other.means + apart * share, spreads, self.widest)


def _moments(name: str, rows: _Rows) -> _Moments:
    k, d = len(rows.classes), rows.X.shape[1]
    sums = rows.total(_class_sums, (k, d + 1), rows.classes)
    check_weights(name, sums[:, 0])
    finite(name, X=sums)
    counts = sums[:, 0]
    means = sums[:, 1:] / np.where(counts, counts, 1.0)[:, None]
    spreads = rows.total(_class_spreads, (k, d), rows.classes, means)
    return _Moments(counts, means, spreads, float(rows.X.var(axis=0).max()))


def _class_sums(X: Values, y: Values, w: Values, classes: Values) -> Values:
    """Return for each class its weight, then the sums of its rows."""
    member = (y[:, None] == classes) * w[:, None]
    return np.concatenate([member.sum(axis=0)[:, None], np.dot(member.T, X)], axis=1)


def _class_spreads(X: Values, y: Values, w: Values, classes: Values, means: Values) -> Values:
    """Return for each class the sums of its rows' squared distances from its mean."""
    out = np.zeros(means.shape)
    for k, label in enumerate(classes):
        mine = y == label
        out[k] = np.dot(w[mine], (X[mine] - means[k]) ** 2)
    return out


class GaussianNB(_ByClass, own.GaussianNB):
    """Scikit-learn's `GaussianNB`; for Windrow arrays means and variances of the classes are exact.

    >>> from windrow.ml.naive_bayes import GaussianNB
    >>> X = wr.random.default_rng(1).normal(size=(1000, 2), chunks=(100, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> float(GaussianNB().fit(X, y).score(X, y)) > 0.9
    True
    """

    def _learn(self: Any, name: str, rows: _Rows, *, first: bool) -> Any:
        moments = _moments(name, rows)
        if not first:
            spreads = (self.var_ - self.epsilon_) * self.class_count_[:, None]
            moments = moments.beside(_Moments(self.class_count_, self.theta_, spreads, moments.widest))
        counts, dtype = moments.counts, rows.X.dtype
        priors = counts / counts.sum() if self.priors is None else np.asarray(self.priors, np.float64)
        if len(priors) != len(counts) or not np.isclose(priors.sum(), 1.0) or (priors < 0).any():
            raise ArgumentError(bad(name, "priors", self.priors, f"{len(counts)} shares that sum to 1"))
        self.classes_, self.n_features_in_ = rows.classes, rows.X.shape[1]
        self.epsilon_ = dtype.type(self.var_smoothing * moments.widest)
        variances = moments.spreads / np.where(counts, counts, 1.0)[:, None]
        self.theta_, self.var_ = moments.means.astype(dtype), (variances + self.epsilon_).astype(dtype)
        self.class_count_, self.class_prior_ = counts.astype(dtype), priors.astype(dtype)
        return self


def _counts(X: Values, y: Values, w: Values, estimator: Any, classes: Values) -> Values:
    """Return an estimator's counts for a block: for each class its weight, then the counts of the features."""
    if not w.any():  # scikit-learn refuses such rows
        return np.zeros((len(classes), 1 + X.shape[1]))
    fresh: Any = clone(estimator)
    fitted = fresh.partial_fit(X, y, classes=classes, sample_weight=w)
    counts, features = fitted.class_count_, fitted.feature_count_
    return np.concatenate([counts.reshape(len(classes), 1), features], axis=1)


class _Counted(_ByClass):
    """Fits by counts: scikit-learn's `partial_fit` counts a block, and the counts of all blocks are added."""

    _floats = False
    class_count_: Values
    feature_count_: Values

    def _learn(self, name: str, rows: _Rows, *, first: bool) -> Self:
        base = next(c for c in type(self).__mro__ if c.__module__.startswith("sklearn."))
        plain = base(**self.get_params())  # type: ignore[attr-defined]
        counts = rows.total(_counts, (len(rows.classes), 1 + rows.X.shape[1]), plain, rows.classes)
        check_weights(name, counts[:, 0])
        if first:
            self._begin(np.zeros(rows.X.shape[1]), rows.classes)
        else:
            counts += np.concatenate([self.class_count_[:, None], self.feature_count_], axis=1)
        self.class_count_, self.feature_count_ = counts[:, 0].copy(), counts[:, 1:].copy()
        if hasattr(self, "feature_all_"):
            self.feature_all_ = self.feature_count_.sum(axis=0)
        self._conclude()
        return self


class MultinomialNB(_Counted, own.MultinomialNB):
    """Scikit-learn's `MultinomialNB`; for Windrow arrays the counts of all blocks are added.

    >>> from windrow.ml.naive_bayes import MultinomialNB
    >>> X = wr.random.default_rng(1).integers(0, 5, (1000, 3), chunks=(100, 3))
    >>> MultinomialNB().fit(X, X[:, 0] > 2).classes_
    array([False,  True])
    """


class BernoulliNB(_Counted, own.BernoulliNB):
    """Scikit-learn's `BernoulliNB`; for Windrow arrays the counts of all blocks are added.

    >>> from windrow.ml.naive_bayes import BernoulliNB
    >>> X = wr.random.default_rng(1).integers(0, 2, (1000, 3), chunks=(100, 3))
    >>> float(BernoulliNB().fit(X, X[:, 0]).score(X, X[:, 0]))
    1.0
    """


class ComplementNB(_Counted, own.ComplementNB):
    """Scikit-learn's `ComplementNB`; for Windrow arrays the counts of all blocks are added.

    >>> from windrow.ml.naive_bayes import ComplementNB
    >>> X = wr.random.default_rng(1).integers(0, 5, (1000, 3), chunks=(100, 3))
    >>> ComplementNB().fit(X, X[:, 0] > 2).classes_
    array([False,  True])
    """


def _categories(X: Values, y: Values, w: Values, classes: Values, begins: Values, width: int) -> Values:
    """Return for each class its weight, then the weights of all features' categories, one feature after the other."""
    rows, which = X.astype(np.int64), np.searchsorted(classes, y)
    out = np.zeros((len(classes), 1 + width))
    out[:, 0] = np.bincount(which, w, len(classes))
    for begin, column in zip(begins, rows.T, strict=True):
        places = which * width + begin + column
        out[:, 1:] += np.bincount(places, w, len(classes) * width).reshape(len(classes), width)
    return out


class CategoricalNB(_ByClass, own.CategoricalNB):
    """Scikit-learn's `CategoricalNB`; for Windrow arrays the counts of all blocks are added.

    >>> from windrow.ml.naive_bayes import CategoricalNB
    >>> X = wr.random.default_rng(1).integers(0, 5, (1000, 3), chunks=(100, 3))
    >>> float(CategoricalNB().fit(X, X[:, 0] > 2).score(X, X[:, 0] > 2)) > 0.99
    True
    """

    _floats = False

    def _learn(self: Any, name: str, rows: _Rows, *, first: bool) -> Any:
        least, most = map(np.asarray, compute(rows.X.min(axis=0), rows.X.max(axis=0)))
        finite(name, X=most - least)
        if (least < 0).any():
            negative = f"integers from 0 on. Negative values in data passed to {name}"
            raise BadValue(bad(name, "X", InWords(f"{least.min()} at the least"), negative))
        earlier = None if first else (self.class_count_, self.category_count_)
        if earlier is not None:
            most = np.maximum(most, self.n_categories_ - 1)
        self._begin(most.astype(np.int64), rows.classes)
        ends = np.cumsum(self.n_categories_)
        params = (rows.classes, ends - self.n_categories_, int(ends[-1]))
        counts = rows.total(_categories, (len(rows.classes), 1 + int(ends[-1])), *params)
        check_weights(name, counts[:, 0])
        self.class_count_ = counts[:, 0].copy()
        self.category_count_ = np.split(counts[:, 1:], ends[:-1], axis=1)
        if earlier is not None:
            self.class_count_ += earlier[0]
            for now, before in zip(self.category_count_, earlier[1], strict=True):
                now[:, : before.shape[1]] += before
        self._conclude()
        return self


ESTIMATORS.fill(__name__)
publish_space(__name__, "ml.naive_bayes")
