"""Principal components from sums over blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import decomposition as own
from sklearn.utils import check_random_state

from ..arrays.execution.compute import compute
from ..arrays.interop.spaces import publish_space
from ..graph.arguments import check_integer
from ..graph.errors import ArgumentError, bad
from .docstrings import ESTIMATORS
from .estimators.directions import EXACT, Directions, RandomDirections, exact_directions, random_directions
from .fitted import Lazily
from .rows import finite, is_lazy, learn_names, samples

if TYPE_CHECKING:
    from typing import Self

    from ..arrays.array import Array

__all__ = ["PCA", "TruncatedSVD"]

Values = np.ndarray[Any, Any]


def _random(iterations: int, oversamples: int, state: Any) -> RandomDirections:
    seed = check_random_state(0 if state is None else state).randint(2**31 - 1)
    return RandomDirections(iterations, oversamples, int(seed))


class PCA(Lazily, own.PCA):
    """Scikit-learn's `PCA`, by eigenvectors of X'X, or of XX' where there are fewer rows than features.

    Parameters
    ----------
    n_components : int, float or None, default=None
        The number of components to keep. A float between 0 and 1: as many as explain this share of the variance. None:
        all.
    svd_solver : str, default='auto'
        "randomized" approximates the components by a randomized SVD, in `iterated_power + 2` passes. "auto" does so for
        Windrow arrays of more than 2048 rows and features, if fewer than 80 % of the components are wanted. All other
        solvers are exact.

    Notes
    -----
    Components whose variance is below 1e-16 of the greatest one are lost to rounding. `n_components="mle"` is refused,
    and `copy`, `tol` and `power_iteration_normalizer` are ignored for Windrow arrays; `random_state=None` means 0. Rows
    are persisted while the model is fitted.

    >>> from windrow.ml.decomposition import PCA
    >>> X = wr.random.default_rng(1).normal(size=(1000, 3), chunks=(100, 3)) * wr.asarray([1.0, 5.0, 1.0])
    >>> abs(PCA(1).fit(X).components_).round(1)
    array([[0., 1., 0.]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components.

        Parameters
        ----------
        {X, no_y}

        Returns
        -------
        self
            With `components_`, `mean_`, `explained_variance_` and others, NumPy arrays of `X`'s dtype.

        Raises
        ------
        ArgumentError
            `n_components` has a value that isn't accepted, or there is only one row.
        ShapeError
            `X` isn't 2-D, or has no rows or no features.
        {DTypeError}
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
        directions = self._find(rows, mean)
        learn_names(self, X)
        variance, whole = directions.squares / (n - 1), directions.total / (n - 1)
        count = self._count(variance, whole, min(n, d))
        self.n_samples_, self.n_features_in_, self.n_components_, own = n, d, count, rows.dtype
        self.mean_ = mean.astype(own)
        self.components_ = directions.vectors[:count].astype(own)
        self.explained_variance_ = variance[:count].astype(own)
        self.explained_variance_ratio_ = (variance[:count] / max(whole, np.finfo(float).tiny)).astype(own)
        self.singular_values_ = np.sqrt(directions.squares[:count]).astype(own)
        rest = max(whole - float(variance[:count].sum()), 0.0)
        self.noise_variance_ = own.type(rest / (min(n, d) - count)) if count < min(n, d) else 0.0
        return self

    def _find(self, rows: Array, mean: Values) -> Directions:
        """Return the wanted directions; all of them where a share of the variance is wanted."""
        most, asked = min(rows.shape), self.n_components
        share = isinstance(asked, float) and 0 < asked < 1
        count = most if share else self._count(np.zeros(0), 0.0, most)
        random = self.svd_solver == "randomized"
        if random and share:
            raise ArgumentError(bad("PCA.fit", "n_components", asked, 'an integer with svd_solver="randomized"'))
        if random or (self.svd_solver == "auto" and most > EXACT and count < 0.8 * most):
            powers = (7 if count < 0.1 * most else 4) if self.iterated_power == "auto" else int(self.iterated_power)
            how = _random(powers, self.n_oversamples, self.random_state)
            return random_directions("PCA.fit", rows, mean, count, how)
        return exact_directions("PCA.fit", rows, mean, count)

    def _count(self, variance: Values, whole: float, most: int) -> int:
        asked = self.n_components
        if asked is None:
            return most
        if isinstance(asked, float) and 0 < asked < 1:
            shares = np.cumsum(variance) / whole
            return int(np.searchsorted(shares, asked, side="right") + 1)
        expected = f"None, 1 to {most}, or a share of the variance"
        return check_integer("PCA.fit", "n_components", asked, 1, most, expected=expected)


class TruncatedSVD(Lazily, own.TruncatedSVD):
    """Scikit-learn's `TruncatedSVD`, by eigenvectors of X'X, or of XX' where there are fewer rows than features.

    Notes
    -----
    Singular values below 1e-8 of the greatest one are lost to rounding. For Windrow arrays of up to 2048 rows or
    features components are exact and no random numbers are drawn, whatever `algorithm` says. For larger ones
    "randomized" approximates them in `n_iter + 2` passes; "arpack" is exact. `power_iteration_normalizer` and `tol`
    are ignored for Windrow arrays; `random_state=None` means 0. Rows are persisted while the model is fitted.

    >>> from windrow.ml.decomposition import TruncatedSVD
    >>> X = wr.random.default_rng(1).normal(size=(1000, 5), chunks=(100, 5))
    >>> TruncatedSVD(2).fit(X).transform(X).shape
    (1000, 2)
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components.

        Parameters
        ----------
        {X, no_y}

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
        {DTypeError}
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
        n, d = rows.shape
        count = check_integer("TruncatedSVD.fit", "n_components", self.n_components, 1, d)
        if self.algorithm == "randomized" and min(n, d) > EXACT and count < 0.8 * min(n, d):
            how = _random(self.n_iter, self.n_oversamples, self.random_state)
            directions = random_directions("TruncatedSVD.fit", rows, np.zeros(d), count, how)
        else:
            directions = exact_directions("TruncatedSVD.fit", rows, np.zeros(d), count)
        learn_names(self, X)
        own, self.n_features_in_ = rows.dtype, d
        means, spread = compute(rows.astype(np.float64).mean(axis=0), rows.astype(np.float64).var(axis=0).sum())
        shares = directions.squares / n - (directions.vectors @ np.asarray(means)) ** 2
        self.components_ = directions.vectors.astype(own)
        self.singular_values_ = np.sqrt(directions.squares).astype(own)
        self.explained_variance_ = shares.astype(own)
        self.explained_variance_ratio_ = (shares / float(spread)).astype(own)


ESTIMATORS.fill(__name__)
publish_space(__name__, "ml.decomposition")
