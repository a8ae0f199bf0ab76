"""Naive Bayes: counts and moments are sums over blocks, so that the fit equals one pass over all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import naive_bayes as own
from sklearn.base import clone

from ..arrays.verbs import compute, persist
from ..graph.errors import ArgumentError, BadValue, DTypeError, bad
from ..workers.boundary import publish
from .fitted import Supervised
from .rows import beside, finite, is_lazy, labels_of, samples, total, weights

if TYPE_CHECKING:
    from typing import Self

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]

Values = np.ndarray[Any, Any]


def _class_sums(X: Values, y: Values, w: Values, classes: Values) -> Values:
    """Return for each class its weight, then the sums of its rows."""
    member = (y[:, None] == classes) * w[:, None]
    return np.concatenate([member.sum(axis=0)[:, None], member.T @ X], axis=1)


def _class_spreads(X: Values, y: Values, w: Values, classes: Values, means: Values) -> Values:
    """Return for each class the sums of its rows' squared distances from its mean."""
    out = np.zeros(means.shape)
    for k, label in enumerate(classes):
        mine = y == label
        out[k] = w[mine] @ (X[mine] - means[k]) ** 2
    return out


class GaussianNB(Supervised, own.GaussianNB):
    """Scikit-learn's `GaussianNB`; for Windrow arrays means and variances of the classes are exact.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.naive_bayes import GaussianNB
    >>> X = wr.random.default_rng(1).normal(size=(1000, 2), chunks=(100, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> float(GaussianNB().fit(X, y).score(X, y)) > 0.9
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the classes' moments."""
        if not is_lazy(X, y):
            super().fit(X, y, sample_weight)
            return self
        rows = samples("GaussianNB.fit", X)
        target = beside("GaussianNB.fit", "y", y, rows)
        weight = weights("GaussianNB.fit", sample_weight, rows)
        rows, target, weight = persist(rows, target, weight)
        classes = labels_of("GaussianNB.fit", target, least=1)
        k, d = len(classes), rows.shape[1]
        sums = total(_class_sums, [rows, target, weight], (k, d + 1), classes)
        finite("GaussianNB.fit", X=sums)
        counts, means = sums[:, 0], sums[:, 1:] / sums[:, :1]
        spreads = total(_class_spreads, [rows, target, weight], (k, d), classes, means)
        self.epsilon_ = self.var_smoothing * float(rows.var(axis=0).max())
        self.classes_, self.n_features_in_ = classes, d
        self.theta_, self.var_, self.class_count_ = means, spreads / counts[:, None] + self.epsilon_, counts
        priors = counts / counts.sum() if self.priors is None else np.asarray(self.priors, np.float64)
        if len(priors) != k or not np.isclose(priors.sum(), 1.0) or (priors < 0).any():
            raise ArgumentError(bad("GaussianNB.fit", "priors", self.priors, f"{k} shares that sum to 1"))
        self.class_prior_ = priors
        return self


def _counts(X: Values, y: Values, w: Values, estimator: Any, classes: Values) -> Values:
    """Return what an estimator counts in a block: for each class its weight, then the features' counts."""
    fresh: Any = clone(estimator)
    fitted = fresh.partial_fit(X, y, classes=classes, sample_weight=w)
    counts, features = fitted.class_count_, fitted.feature_count_
    return np.concatenate([counts.reshape(len(classes), 1), features], axis=1)


def _forget(model: Any) -> None:
    """Drop what an earlier fit has learnt, which `partial_fit` would go on from."""
    for name in ("classes_", "category_count_"):
        if hasattr(model, name):
            delattr(model, name)


class _Counted(Supervised):
    """Learns from counts, which a block's own `partial_fit` gives and which are added."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count."""
        if not is_lazy(X, y):
            super().fit(X, y, sample_weight)  # type: ignore[misc]
            return self
        name = f"{type(self).__name__}.fit"
        rows = samples(name, X, floats=False)
        target = beside(name, "y", y, rows)
        weight = weights(name, sample_weight, rows)
        rows, target, weight = persist(rows, target, weight)
        classes = labels_of(name, target, least=1)
        base = next(c for c in type(self).__mro__ if c.__module__.startswith("sklearn."))
        plain = base(**self.get_params())  # type: ignore[attr-defined]
        shape = (len(classes), 1 + rows.shape[1])
        counts = total(_counts, [rows, target, weight], shape, plain, classes)
        zeros = np.zeros((len(classes), rows.shape[1]))
        _forget(self)
        self.partial_fit(zeros, classes, classes=classes)  # type: ignore[attr-defined]
        self.class_count_, self.feature_count_ = counts[:, 0].copy(), counts[:, 1:].copy()
        if hasattr(self, "feature_all_"):
            self.feature_all_ = self.feature_count_.sum(axis=0)
        self._update_feature_log_prob(self._check_alpha())  # type: ignore[attr-defined]
        self._update_class_log_prior(class_prior=self.class_prior)  # type: ignore[attr-defined]
        return self


class MultinomialNB(_Counted, own.MultinomialNB):
    """Scikit-learn's `MultinomialNB`; for Windrow arrays the counts of all blocks are added.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.naive_bayes import MultinomialNB
    >>> X = wr.random.default_rng(1).integers(0, 5, (1000, 3), chunks=(100, 3))
    >>> MultinomialNB().fit(X, X[:, 0] > 2).classes_
    array([False,  True])
    """


class BernoulliNB(_Counted, own.BernoulliNB):
    """Scikit-learn's `BernoulliNB`; for Windrow arrays the counts of all blocks are added.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.naive_bayes import BernoulliNB
    >>> X = wr.random.default_rng(1).integers(0, 2, (1000, 3), chunks=(100, 3))
    >>> float(BernoulliNB().fit(X, X[:, 0]).score(X, X[:, 0]))
    1.0
    """


class ComplementNB(_Counted, own.ComplementNB):
    """Scikit-learn's `ComplementNB`; for Windrow arrays the counts of all blocks are added.

    Examples
    --------
    >>> import windrow as wr
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


class CategoricalNB(Supervised, own.CategoricalNB):
    """Scikit-learn's `CategoricalNB`; for Windrow arrays the counts of all blocks are added.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.naive_bayes import CategoricalNB
    >>> X = wr.random.default_rng(1).integers(0, 5, (1000, 3), chunks=(100, 3))
    >>> float(CategoricalNB().fit(X, X[:, 0] > 2).score(X, X[:, 0] > 2)) > 0.99
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count."""
        if not is_lazy(X, y, sample_weight):
            super().fit(X, y, sample_weight)
            return self
        name = "CategoricalNB.fit"
        rows = samples(name, X, floats=False)
        if rows.dtype.kind not in "biu":
            raise DTypeError(bad(name, "X", rows.dtype, "integers from 0 on, a number for each category"))
        target, weight = beside(name, "y", y, rows), weights(name, sample_weight, rows)
        rows, target, weight = persist(rows.astype(np.int64), target, weight)
        classes = labels_of(name, target, least=1)
        least, most = map(np.asarray, compute(rows.min(axis=0), rows.max(axis=0)))
        if (least < 0).any():
            raise BadValue(bad(name, "X", f"{least.min()} at the least", "integers from 0 on"))
        # A step on the greatest categories makes what scikit-learn keeps, as wide as it will be.
        greatest = np.tile(most, (len(classes), 1))
        _forget(self)
        self.partial_fit(greatest, classes, classes=classes)
        ends = np.cumsum(self.n_categories_)
        params = (classes, ends - self.n_categories_, int(ends[-1]))
        counts = total(_categories, [rows, target, weight], (len(classes), 1 + int(ends[-1])), *params)
        self.class_count_ = counts[:, 0].copy()
        self.category_count_ = np.split(counts[:, 1:], ends[:-1], axis=1)
        self._update_feature_log_prob(self._check_alpha())
        self._update_class_log_prior(class_prior=self.class_prior)
        return self


publish(__name__)
