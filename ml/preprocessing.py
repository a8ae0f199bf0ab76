"""Scalers whose statistics are exact: one pass over the chunks, then scikit-learn's own `transform`, lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import preprocessing as own

from ..arrays.ops.elementwise import where
from ..arrays.ops.ufuncs import isnan
from ..arrays.verbs import compute
from ..graph.errors import BadValue, bad
from ..workers.boundary import publish
from .fitted import Lazily
from .rows import finite, is_lazy, samples, weights

if TYPE_CHECKING:
    from typing import Self

    from ..arrays.array import Array

    Values = np.ndarray[Any, Any]

__all__ = ["MaxAbsScaler", "MinMaxScaler", "StandardScaler"]


class StandardScaler(Lazily, own.StandardScaler):
    """Scikit-learn's `StandardScaler`; for Windrow arrays mean and variance are found chunk by chunk, exactly.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.preprocessing import StandardScaler
    >>> X = wr.random.default_rng(1).normal(5, 2, (1000, 3), chunks=(100, 3))
    >>> Z = StandardScaler().fit(X).transform(X)
    >>> Z.std(axis=0).compute().round(6)
    array([1., 1., 1.])
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn mean and variance of each feature."""
        if not is_lazy(X, sample_weight):
            super().fit(X, y, sample_weight)
            return self
        array = samples("StandardScaler.fit", X)
        mean, variance, seen = _moments("StandardScaler.fit", array, sample_weight)
        # scikit-learn's own takes what it knows of no scale from the state of one more (empty) step.
        super().fit(np.stack([mean, mean]))
        self.n_samples_seen_ = seen[0] if (seen == seen[0]).all() else seen
        self.mean_ = mean if self.with_mean or self.with_std else None
        if self.with_std:
            self.var_ = variance
            constant = variance <= 10 * np.finfo(np.float64).eps * mean**2
            self.scale_ = np.where(constant | (variance == 0), 1.0, np.sqrt(variance))
        return self


def _moments(operation: str, array: Array, sample_weight: Any) -> tuple[Values, Values, Values]:
    """Return mean, variance and number (or weight) of each feature's values; those that are NaN have no part."""
    rows = np.full(array.shape[1], array.shape[0], np.int64)
    if sample_weight is None:
        found = compute(array.mean(axis=0), array.var(axis=0))
        if np.isfinite(found).all():
            return np.asarray(found[0], np.float64), np.asarray(found[1], np.float64), rows
    there = ~isnan(array)
    weight = there * weights(operation, sample_weight, array)[:, None]
    values = where(there, array, 0.0)
    seen, sums = map(np.asarray, compute(weight.sum(axis=0), (values * weight).sum(axis=0)))
    finite(operation, sample_weight=seen, X=sums)
    mean = sums / seen
    spread = (weight * (values - mean) ** 2).sum(axis=0).compute()
    return mean, np.asarray(spread) / seen, seen if sample_weight is not None else seen.astype(np.int64)


class MinMaxScaler(Lazily, own.MinMaxScaler):
    """Scikit-learn's `MinMaxScaler`; for Windrow arrays the extremes are found chunk by chunk, exactly.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.preprocessing import MinMaxScaler
    >>> X = wr.arange(10, chunks=3).reshape(10, 1)
    >>> float(MinMaxScaler().fit(X).transform(X).max())
    1.0
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the extremes of each feature."""
        if not is_lazy(X):
            super().fit(X, y)
            return self
        array = samples("MinMaxScaler.fit", X)
        super().fit(np.stack(_extremes("MinMaxScaler.fit", array)))
        self.n_samples_seen_ = array.shape[0]
        return self


class MaxAbsScaler(Lazily, own.MaxAbsScaler):
    """Scikit-learn's `MaxAbsScaler`; for Windrow arrays the extremes are found chunk by chunk, exactly.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.preprocessing import MaxAbsScaler
    >>> X = wr.arange(-10, 10, chunks=3).reshape(20, 1)
    >>> float(MaxAbsScaler().fit(X).transform(X).min())
    -1.0
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the greatest absolute value of each feature."""
        if not is_lazy(X):
            super().fit(X, y)
            return self
        array = samples("MaxAbsScaler.fit", X)
        super().fit(np.stack(_extremes("MaxAbsScaler.fit", array)))
        self.n_samples_seen_ = array.shape[0]
        return self


def _extremes(operation: str, array: Array) -> tuple[Values, Values]:
    """Return the least and greatest value of each feature; those that are NaN have no part."""
    least, most = map(np.asarray, compute(array.min(axis=0), array.max(axis=0)))
    if np.isnan(least).any():
        there = ~isnan(array)
        lows, highs = where(there, array, np.inf).min(axis=0), where(there, array, -np.inf).max(axis=0)
        some, least, most = map(np.asarray, compute(there.any(axis=0), lows, highs))
        least, most = np.where(some, least, np.nan), np.where(some, most, np.nan)
    if np.isinf(least).any() or np.isinf(most).any():
        raise BadValue(bad(operation, "X", "infinity", "finite numbers, or NaN for what is missing"))
    return least, most


publish(__name__)
