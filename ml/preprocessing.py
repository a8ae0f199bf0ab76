"""Scalers whose statistics are exact: one pass over the chunks, then scikit-learn's own `transform`, lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import preprocessing as own

from ..arrays.verbs import compute
from .fitted import Lazily
from .rows import is_lazy, samples

if TYPE_CHECKING:
    from typing import Self

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
        if not is_lazy(X) or sample_weight is not None:
            super().fit(X if not is_lazy(X) else np.asarray(X), y, sample_weight)
            return self
        array = samples("StandardScaler.fit", X)
        mean, variance = compute(array.mean(axis=0), array.var(axis=0))
        # scikit-learn's own takes what it knows of no scale from the state of one more (empty) step.
        super().fit(np.stack([mean, mean]))
        self.n_samples_seen_ = np.int64(array.shape[0])
        self.mean_ = np.asarray(mean, np.float64) if self.with_mean or self.with_std else None
        if self.with_std:
            self.var_ = np.asarray(variance, np.float64)
            constant = self.var_ <= 10 * np.finfo(np.float64).eps * np.maximum(np.abs(mean) ** 2, 0)
            self.scale_ = np.where(constant | (self.var_ == 0), 1.0, np.sqrt(self.var_))
        return self


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
        super().fit(np.stack(compute(array.min(axis=0), array.max(axis=0))))
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
        super().fit(abs(array).max(axis=0).compute()[None])
        self.n_samples_seen_ = array.shape[0]
        return self
