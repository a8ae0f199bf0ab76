"""Principal components from sums of products over blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import decomposition as own
from sklearn.utils.extmath import svd_flip

from ..arrays.execution.compute import compute
from ..graph.arguments import check_integer
from ..graph.errors import ArgumentError, bad
from ..workers.boundary import publish
from .fitted import Lazily
from .rows import finite, is_lazy, samples, total

if TYPE_CHECKING:
    from typing import Self

__all__ = ["PCA", "TruncatedSVD"]

Values = np.ndarray[Any, Any]


def _square(X: Values, centre: Values) -> Values:
    """Return X'X of centred columns."""
    columns = X - centre
    return np.asarray(columns.T @ columns)


def _eigen(squares: Values) -> tuple[Values, Values]:
    """Return eigenvalues from the largest on, and eigenvectors as rows, with scikit-learn's signs."""
    values, vectors = np.linalg.eigh(squares)
    rows = vectors.T[::-1].copy()
    svd_flip(rows.T.copy(), rows, u_based_decision=False)  # in place: a transpose of the same memory would be undone
    return np.maximum(values[::-1], 0.0), rows


class PCA(Lazily, own.PCA):
    """Scikit-learn's `PCA` by the eigenvectors of the covariance, which is summed over the chunks.

    Parameters
    ----------
    n_components : int, float or None, default=None
        How many components are kept; a float between 0 and 1: as many as explain this share of the variance. None: all.
    svd_solver : str, default='auto'
        Has no part for Windrow arrays, of which the covariance's eigenvectors are found.

    Notes
    -----
    Components whose variance is below 1e-16 of the greatest are lost in the covariance's rounding. `n_components="mle"`
    is refused, and `copy`, `tol`, `iterated_power`, `n_oversamples`, `power_iteration_normalizer` and `random_state`
    have no part for Windrow arrays. Rows are kept (persisted) while the model is fitted.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.decomposition import PCA
    >>> X = wr.random.default_rng(1).normal(size=(1000, 3), chunks=(100, 3)) * wr.asarray([1.0, 5.0, 1.0])
    >>> abs(PCA(1).fit(X).components_).round(1)
    array([[0., 1., 0.]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components.

        Parameters
        ----------
        X : array of shape (rows, features)
            Real numbers. Where an argument is a Windrow array all chunks are learnt from, else it is scikit-learn's
            `fit`.
        y : None
            Not used.

        Returns
        -------
        self
            With `components_`, `mean_`, `explained_variance_` and others, NumPy arrays of `X`'s dtype.

        Raises
        ------
        ArgumentError
            `n_components` is none of what it may be, or there is only one row.
        ShapeError
            `X` isn't 2-D, or has no rows or no features.
        DTypeError
            `X` isn't of numbers.
        BadValue
            A number is NaN or infinite.
        """
        if not is_lazy(X):
            super().fit(X, y)
            return self
        rows = samples("PCA.fit", X).persist()
        n, d = rows.shape
        if n < 2:
            raise ArgumentError(bad("PCA.fit", "X", rows.shape, f"at least two rows; it has {n} sample"))
        mean = np.asarray(rows.astype(np.float64).mean(axis=0).compute())
        finite("PCA.fit", X=mean)
        values, components = _eigen(total(_square, [rows], (d, d), mean))
        variance = values / (n - 1)
        count = self._count(variance, min(n, d))
        self.n_samples_, self.n_features_in_, self.n_components_, own = n, d, count, rows.dtype
        self.mean_ = mean.astype(own)
        self.components_, self.explained_variance_ = components[:count].astype(own), variance[:count].astype(own)
        share = variance[:count] / max(variance.sum(), np.finfo(float).tiny)
        self.explained_variance_ratio_, self.singular_values_ = share.astype(own), np.sqrt(values[:count]).astype(own)
        self.noise_variance_ = own.type(variance[count : min(n, d)].mean()) if count < min(n, d) else 0.0
        return self

    def _count(self, variance: Values, most: int) -> int:
        asked = self.n_components
        if asked is None:
            return most
        if isinstance(asked, float) and 0 < asked < 1:
            shares = np.cumsum(variance) / variance.sum()
            return int(np.searchsorted(shares, asked, side="right") + 1)
        expected = f"None, 1 to {most}, or a share of the variance"
        return check_integer("PCA.fit", "n_components", asked, 1, most, expected=expected)


class TruncatedSVD(Lazily, own.TruncatedSVD):
    """Scikit-learn's `TruncatedSVD` by the eigenvectors of X'X, which is summed over the chunks.

    Notes
    -----
    Singular values below 1e-8 of the greatest are lost in the rounding of X'X. `algorithm`, `n_iter`, `n_oversamples`,
    `power_iteration_normalizer`, `random_state` and `tol` have no part for Windrow arrays: the result is exact, and
    nothing is drawn. Rows are kept (persisted) while the model is fitted.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.decomposition import TruncatedSVD
    >>> X = wr.random.default_rng(1).normal(size=(1000, 5), chunks=(100, 5))
    >>> TruncatedSVD(2).fit(X).transform(X).shape
    (1000, 2)
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components.

        Parameters
        ----------
        X : array of shape (rows, features)
            Real numbers. Where an argument is a Windrow array all chunks are learnt from, else it is scikit-learn's
            `fit`.
        y : None
            Not used.

        Returns
        -------
        self
            With `components_`, `singular_values_`, `explained_variance_` and others, NumPy arrays of `X`'s dtype.

        Raises
        ------
        ArgumentError
            `n_components` is no integer from 1 to the number of features.
        ShapeError
            `X` isn't 2-D, or has no rows or no features.
        DTypeError
            `X` isn't of numbers.
        BadValue
            A number is NaN or infinite.
        """
        if is_lazy(X):
            self._learn(X)
        else:
            super().fit(X, y)
        return self

    def _learn(self, X: Any) -> None:
        rows = samples("TruncatedSVD.fit", X).persist()
        d, count = rows.shape[1], self.n_components
        check_integer("TruncatedSVD.fit", "n_components", count, 1, d)
        squares = total(_square, [rows], (d, d), np.zeros(d))
        finite("TruncatedSVD.fit", X=squares)
        values, components = _eigen(squares)
        own, self.n_features_in_ = rows.dtype, d
        means, spread = compute(rows.astype(np.float64).mean(axis=0), rows.astype(np.float64).var(axis=0).sum())
        shares = values[:count] / rows.shape[0] - (components[:count] @ np.asarray(means)) ** 2
        self.components_, self.singular_values_ = components[:count].astype(own), np.sqrt(values[:count]).astype(own)
        self.explained_variance_ = shares.astype(own)
        self.explained_variance_ratio_ = (shares / float(spread)).astype(own)


publish(__name__)
