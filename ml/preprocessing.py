"""Scalers with exact statistics: `fit` is one pass over the chunks, `transform` is scikit-learn's, lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import preprocessing as own
from sklearn.base import clone

from ..arrays.execution.compute import compute
from ..arrays.interop.spaces import publish_space
from ..arrays.ops.elementwise.functions import where
from ..arrays.ops.elementwise.ufuncs import isnan
from ..graph.errors import BadValue, bad
from .docstrings import ESTIMATORS
from .fitted import Lazily
from .rows import check_weights, finite, is_lazy, learn_names, same_features, samples, weights

if TYPE_CHECKING:
    from typing import Self

    from ..arrays.array import Array

    Values = np.ndarray[Any, Any]

__all__ = ["MaxAbsScaler", "MinMaxScaler", "StandardScaler"]


def _go_on(model: Any, X: Any, **keywords: Any) -> Any:
    """Fit to further rows: their statistics are combined with those of the rows before."""
    new: Any = clone(model)
    new.fit(X, **keywords)
    if not hasattr(model, "n_features_in_"):
        vars(model).update(vars(new))
        return model
    name = f"{type(model).__name__}.partial_fit"
    same_features(name, model, samples(name, X))
    model._beside(new)
    return model


class StandardScaler(Lazily, own.StandardScaler):
    """Scikit-learn's `StandardScaler`; mean and variance of Windrow arrays are computed chunk by chunk, exactly.

    Notes
    -----
    `transform` of a Windrow array is lazy. `copy` is ignored for Windrow arrays, which are never written to.

    >>> from windrow.ml.preprocessing import StandardScaler
    >>> X = wr.random.default_rng(1).normal(5, 2, (1000, 3), chunks=(100, 3))
    >>> Z = StandardScaler().fit(X).transform(X)
    >>> Z.std(axis=0).compute().round(6)
    array([1., 1., 1.])
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute mean and variance of each feature.

        Parameters
        ----------
        {X, no_y, sample_weight}

        Returns
        -------
        self
            With `mean_`, `var_` and `scale_`, NumPy arrays of float64.

        Raises
        ------
        ShapeError
            `X` isn't 2-D, or has no rows or no features; or `sample_weight` doesn't have one entry for each row.
        {DTypeError}
        BadValue
            A number is infinite, or all weights are zero. NaN is a missing value, and ignored.
        {ValueError}
        """
        if not is_lazy(X, sample_weight):
            super().fit(X, y, sample_weight)
            return self
        array = samples("StandardScaler.fit", X).astype(np.float64)
        mean, variance, seen = _moments("StandardScaler.fit", array, sample_weight)
        # By this scikit-learn's class sets all its attributes; the statistics are replaced below.
        super().fit(np.nan_to_num(np.stack([mean, mean])))
        self._learn(mean, variance, seen)
        learn_names(self, X)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to further rows, as if they had come together with those before.

        Parameters
        ----------
        X : array of shape (rows, features)
            Real numbers. If any argument is a Windrow array, the model is fitted to all its chunks; else this is
            scikit-learn's `partial_fit`.
        {no_y, sample_weight}

        Returns
        -------
        self
            With mean and variance of all rows until now.

        Raises
        ------
        ShapeError
            `X` isn't 2-D, or has no rows or no features, or other features than before.
        {DTypeError}
        BadValue
            A number is infinite, or all weights are zero.
        """
        if not is_lazy(X, sample_weight):
            super().partial_fit(X, y, sample_weight)
            return self
        _go_on(self, X, sample_weight=sample_weight)
        return self

    def _learn(self, mean: Values, variance: Values, seen: Values) -> None:
        self.n_samples_seen_ = seen[0] if (seen == seen[0]).all() else seen
        self.mean_ = mean if self.with_mean or self.with_std else None
        if self.with_std:
            self.var_ = variance
            eps = np.finfo(np.float64).eps  # as in scikit-learn: a constant's, by rounding
            constant = variance <= seen * eps * variance + (seen * mean * eps) ** 2
            self.scale_ = np.where(constant, 1.0, np.sqrt(variance))

    def _beside(self, new: Any) -> None:
        if self.mean_ is None:
            self.n_samples_seen_ = self.n_samples_seen_ + new.n_samples_seen_
            return
        before, after = np.asarray(self.n_samples_seen_), np.asarray(new.n_samples_seen_)
        seen = np.broadcast_to(before + after, self.mean_.shape)
        # 0 or 1 for a feature that is missing in one of both parts
        share = after / np.maximum(seen, np.finfo(float).tiny)
        apart = np.where((share > 0) & (share < 1), new.mean_ - self.mean_, 0.0)
        variance = np.zeros_like(self.mean_)
        if self.with_std:
            variance = np.where(share < 1, self.var_, 0.0) * (1 - share) + np.where(share > 0, new.var_, 0.0) * share
            variance += apart**2 * share * (1 - share)
        self._learn(np.where(share < 1, self.mean_, new.mean_) + apart * share, variance, seen)


def _moments(operation: str, array: Array, sample_weight: Any) -> tuple[Values, Values, Values]:
    """Return mean, variance and number (or weight) of the values of each feature, without NaN."""
    rows = np.full(array.shape[1], array.shape[0], np.int64)
    if sample_weight is None:
        moments = compute(array.mean(axis=0), array.var(axis=0))
        if np.isfinite(moments).all():
            return np.asarray(moments[0], np.float64), np.asarray(moments[1], np.float64), rows
    there = ~isnan(array)
    weight = there * weights(operation, sample_weight, array)[:, None]
    values = where(there, array, 0.0)
    seen, sums = map(np.asarray, compute(weight.sum(axis=0), (values * weight).sum(axis=0)))
    if sample_weight is not None:
        check_weights(operation, seen)
    finite(operation, X=sums)
    some = np.where(seen, seen, np.nan)
    mean = sums / some
    spread = (weight * (values - mean) ** 2).sum(axis=0).compute()
    return mean, np.asarray(spread) / some, seen if sample_weight is not None else seen.astype(np.int64)


class _ByExtremes(Lazily):
    """Fits to the extremes of each feature."""

    def fit(self: Any, X: Any, y: Any = None) -> Any:
        """Compute the extremes of each feature.

        Parameters
        ----------
        {X, no_y}

        Returns
        -------
        self
            With the extremes and the scale, NumPy arrays of `X`'s dtype.

        Raises
        ------
        ShapeError
            `X` isn't 2-D, or has no rows or no features.
        {DTypeError}
        BadValue
            A number is infinite. NaN is a missing value, and ignored.
        {ValueError}
        """
        if not is_lazy(X):
            super().fit(X, y)  # type: ignore[misc]
            return self
        name = f"{type(self).__name__}.fit"
        array = samples(name, X)
        super().fit(np.stack(_extremes(name, array)).astype(array.dtype))  # type: ignore[misc]
        self.n_samples_seen_ = array.shape[0]
        return self

    def partial_fit(self: Any, X: Any, y: Any = None) -> Any:
        """Extend the extremes by those of further rows.

        Parameters
        ----------
        X : array of shape (rows, features)
            Real numbers. If any argument is a Windrow array, the model is fitted to all its chunks; else this is
            scikit-learn's `partial_fit`.
        {no_y}

        Returns
        -------
        self
            With the extremes of all rows until now.

        Raises
        ------
        ShapeError
            `X` isn't 2-D, or has no rows or no features, or other features than before.
        {DTypeError}
        BadValue
            A number is infinite.
        """
        if not is_lazy(X):
            super().partial_fit(X, y)  # type: ignore[misc]
            return self
        return _go_on(self, X)

    def _beside(self: Any, new: Any) -> None:
        seen = self.n_samples_seen_ + new.n_samples_seen_
        self.fit(np.concatenate([self._extreme_rows(), new._extreme_rows()]))
        self.n_samples_seen_ = seen


class MinMaxScaler(_ByExtremes, own.MinMaxScaler):
    """Scikit-learn's `MinMaxScaler`; extremes of Windrow arrays are computed chunk by chunk, exactly.

    Notes
    -----
    `transform` of a Windrow array is lazy. `copy` is ignored for Windrow arrays, which are never written to.

    >>> from windrow.ml.preprocessing import MinMaxScaler
    >>> X = wr.arange(10, chunks=3).reshape(10, 1)
    >>> float(MinMaxScaler().fit(X).transform(X).max())
    1.0
    """

    def _extreme_rows(self) -> Values:
        return np.stack([self.data_min_, self.data_max_])


class MaxAbsScaler(_ByExtremes, own.MaxAbsScaler):
    """Scikit-learn's `MaxAbsScaler`; extremes of Windrow arrays are computed chunk by chunk, exactly.

    Notes
    -----
    `transform` of a Windrow array is lazy. `copy` is ignored for Windrow arrays, which are never written to.

    >>> from windrow.ml.preprocessing import MaxAbsScaler
    >>> X = wr.arange(-10, 10, chunks=3).reshape(20, 1)
    >>> float(MaxAbsScaler().fit(X).transform(X).min())
    -1.0
    """

    def _extreme_rows(self) -> Values:
        return np.asarray(self.max_abs_[None])


def _extremes(operation: str, array: Array) -> tuple[Values, Values]:
    """Return the least and greatest value of each feature, without NaN."""
    least, most = map(np.asarray, compute(array.min(axis=0), array.max(axis=0)))
    if np.isnan(least).any():
        there = ~isnan(array)
        lows, highs = where(there, array, np.inf).min(axis=0), where(there, array, -np.inf).max(axis=0)
        some, least, most = map(np.asarray, compute(there.any(axis=0), lows, highs))
        least, most = np.where(some, least, np.nan), np.where(some, most, np.nan)
    if np.isinf(least).any() or np.isinf(most).any():
        raise BadValue(bad(operation, "X", "infinity", "finite numbers, or NaN for what is missing"))
    return least, most


ESTIMATORS.fill(__name__)
publish_space(__name__, "ml.preprocessing")
