"""Linear models. Least squares solve the normal equations, which are sums over blocks of rows; SGD trains on shards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import linear_model as own

from ..arrays.execution.compute import compute
from ..arrays.interop.spaces import publish_space
from ..graph.errors import ArgumentError, bad
from .averaging.fits import FitsByAveraging
from .docstrings import ESTIMATORS
from .estimators.logistic import LogisticRegression
from .fitted import Supervised
from .rows import (
    beside,
    check_numbers,
    check_signs,
    check_weights,
    finite,
    is_lazy,
    learn_names,
    samples,
    some_weight,
    total,
    weights,
)

if TYPE_CHECKING:
    from typing import Self

__all__ = ["LinearRegression", "LogisticRegression", "Perceptron", "Ridge", "SGDClassifier", "SGDRegressor"]

Values = np.ndarray[Any, Any]
ROUNDED = 64
"""Units in the last place by which a column may depart from its mean and still count as constant."""
SUMMED = 16
"""Units in the last place, for each column, of eigenvalues that rounding leaves where columns depend on each other."""


def _products(X: Values, y: Values, w: Values, x_mean: Values, y_mean: Values) -> Values:
    """Return X'WX beside X'Wy of centred columns, for a block of rows."""
    columns = X - x_mean
    targets = y - y_mean
    if targets.ndim == 1:
        targets = targets[:, None]
    weighted = columns * w[:, None]
    return np.concatenate([np.dot(weighted.T, columns), np.dot(weighted.T, targets)], axis=1)


@dataclass(frozen=True)
class _Normal:
    """The normal equations: X'X and X'y of centred columns, the columns' means, whether y has one column, X's dtype.

    `noise` bounds the diagonal of X'X for columns that are constant up to rounding.
    """

    squares: Values
    products: Values
    x_mean: Values
    y_mean: Values
    single: bool
    dtype: np.dtype[Any]
    noise: Values


def _normal(name: str, model: Any, X: Any, y: Any, sample_weight: Any) -> _Normal:
    rows = samples(f"{name}.fit", X)
    target = beside(f"{name}.fit", "y", y, rows, wide=True)
    check_numbers(f"{name}.fit", target)
    target = target.astype(np.float64)
    weight = weights(f"{name}.fit", sample_weight, rows)
    k, single = rows.shape[1], target.ndim == 1
    x_mean, y_mean = np.zeros(k), np.zeros(1 if single else target.shape[1])
    noise = np.zeros(k)
    if model.fit_intercept:
        w = weight[:, None]
        wide = target[:, None] if single else target
        sums = compute((rows * w).sum(axis=0), (wide * w).sum(axis=0), weight.sum(), weight.min())
        check_weights(f"{name}.fit", sums[2])
        check_signs(f"{name}.fit", sums[3])
        x_mean, y_mean = np.asarray(sums[0]) / sums[2], np.asarray(sums[1]) / sums[2]
        finite(f"{name}.fit", X=x_mean, y=y_mean)
        noise = sums[2] * (ROUNDED * np.finfo(np.float64).eps * x_mean) ** 2
    elif sample_weight is not None:
        some_weight(f"{name}.fit", weight, negative=False)
    products = total(_products, [rows, target, weight], (k, k + len(y_mean)), x_mean, y_mean[0] if single else y_mean)
    finite(f"{name}.fit", X=products[:, :k], y=products[:, k:])
    learn_names(model, X)
    return _Normal(products[:, :k], products[:, k:], x_mean, y_mean, single, rows.dtype, noise)


def _set(model: Any, coef: Values, sums: _Normal) -> None:
    """Set a model's coefficients, which were computed in float64, in X's dtype."""
    model.n_features_in_ = len(sums.x_mean)
    model.coef_ = (coef[:, 0] if sums.single else coef.T).astype(sums.dtype)
    intercept = (sums.y_mean - sums.x_mean @ coef).astype(sums.dtype)
    model.intercept_ = (intercept[0] if sums.single else intercept) if model.fit_intercept else 0.0


@dataclass(frozen=True)
class _Scaled:
    """Eigenvalues and eigenvectors of X'X with columns scaled to length one; `lengths` of constant columns are 0.

    Unscaled, columns of small numbers would be lost in the rounding of columns of large numbers.
    """

    values: Values
    vectors: Values
    lengths: Values

    @classmethod
    def of(cls, squares: Values, noise: Values) -> _Scaled:
        lengths = np.sqrt(np.where(np.diag(squares) > noise, np.diag(squares), 0.0))
        scale = _inverse(lengths)
        values, vectors = np.linalg.eigh(squares * scale * scale[:, None])
        return cls(np.maximum(values, 0.0), vectors, lengths)

    @property
    def kept(self) -> Values:
        """Which eigenvalues are larger than rounding errors in float64."""
        return np.asarray(self.values > self.values[-1] * len(self.values) * SUMMED * np.finfo(np.float64).eps)

    def solve(self, products: Values) -> Values:
        """Return the solution of minimum norm."""
        kept, scale = self.kept, _inverse(self.lengths)[:, None]
        basis = self.vectors[:, kept]
        solution = scale * (basis @ (basis.T @ (scale * products) / self.values[kept][:, None]))
        free = scale * self.vectors[:, ~kept]
        return np.asarray(solution - free @ np.linalg.lstsq(free, solution)[0] if free.any() else solution)

    def singular(self) -> Values:
        """Return the singular values of the unscaled columns."""
        root = np.sqrt(self.values)[:, None] * self.vectors.T * self.lengths
        return np.asarray(np.linalg.svd(root, compute_uv=False))


def _inverse(lengths: Values) -> Values:
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


class LinearRegression(Supervised, own.LinearRegression):
    """Scikit-learn's `LinearRegression`; Windrow arrays are fitted by the normal equations of centred columns.

    Notes
    -----
    The normal equations square the condition number: columns that nearly depend on each other lose twice the digits.
    Directions below float64's precision get no weight, as in a pseudoinverse, whatever the scale of the columns.
    `copy_X`, `tol` and `n_jobs` are ignored for Windrow arrays, and `positive` is refused.

    >>> from windrow.ml.linear_model import LinearRegression
    >>> X = wr.random.default_rng(1).random((1000, 2), chunks=(100, 2))
    >>> model = LinearRegression().fit(X, X[:, 0] * 3 - X[:, 1] + 2)
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([ 3., -1.]), 2.0)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        {X}
        y : array of shape (rows,) or (rows, targets)
            The targets.
        {sample_weight}

        Returns
        -------
        self
            With `coef_` and `intercept_`, NumPy arrays of `X`'s dtype.

        Raises
        ------
        ArgumentError
            `positive` is True.
        {ShapeError, DTypeError, BadValue, ValueError}
        """
        if not is_lazy(X, y, sample_weight):
            super().fit(X, y, sample_weight)
            return self
        self._validate_params()
        if self.positive:
            raise ArgumentError(bad("LinearRegression.fit", "positive", True, "False for Windrow arrays"))
        sums = _normal("LinearRegression", self, X, y, sample_weight)
        scaled = _Scaled.of(sums.squares, sums.noise)
        self.rank_, self.singular_ = int(scaled.kept.sum()), scaled.singular().astype(sums.dtype)
        _set(self, scaled.solve(sums.products), sums)
        return self


class Ridge(Supervised, own.Ridge):
    """Scikit-learn's `Ridge`; Windrow arrays are fitted by the normal equations.

    Notes
    -----
    Where columns depend on each other and `alpha` is 0, the coefficients are those of minimum norm. `copy_X`,
    `max_iter`, `tol`, `solver` and `random_state` are ignored for Windrow arrays, and `positive` is refused.

    >>> from windrow.ml.linear_model import Ridge
    >>> X = wr.random.default_rng(1).random((1000, 2), chunks=(100, 2))
    >>> Ridge(alpha=1e-6).fit(X, X[:, 0]).coef_.round(3) + 0.0
    array([1., 0.])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        {sections of LinearRegression.fit}
        """
        if not is_lazy(X, y, sample_weight):
            super().fit(X, y, sample_weight)
            return self
        self._validate_params()
        if self.positive:
            raise ArgumentError(bad("Ridge.fit", "positive", True, "False for Windrow arrays"))
        sums = _normal("Ridge", self, X, y, sample_weight)
        alphas = np.broadcast_to(np.asarray(self.alpha, np.float64), (sums.products.shape[1],))
        self.n_iter_, self.solver_ = None, "cholesky"
        coef = np.empty_like(sums.products)
        for alpha in np.unique(alphas):
            penalized = sums.squares + alpha * np.eye(len(coef))
            coef[:, alphas == alpha] = _Scaled.of(penalized, sums.noise).solve(sums.products[:, alphas == alpha])
        _set(self, coef, sums)
        return self


class SGDRegressor(FitsByAveraging, own.SGDRegressor):
    """Scikit-learn's `SGDRegressor`; on Windrow arrays it trains in shards, averaged after each epoch.

    Notes
    -----
    For Windrow arrays there are as many shards as ranks (threads, on the embedded engine). Rows are shuffled over all
    shards, and weights are averaged after each epoch. So coefficients differ from those of one process; scores differ
    little. `tol` is compared with the mean loss of rows, each measured before the step that trains on it. `average`,
    `early_stopping` and `learning_rate="adaptive"` are refused; `random_state` is an integer or None, which means 0.

    >>> from windrow.ml.linear_model import SGDRegressor
    >>> X = wr.random.default_rng(1).normal(size=(10_000, 2), chunks=(1000, 2))
    >>> SGDRegressor(max_iter=5, tol=None).fit(X, X[:, 0] - X[:, 1]).coef_.round(2)
    array([ 1., -1.])
    """


class SGDClassifier(FitsByAveraging, own.SGDClassifier):
    """Scikit-learn's `SGDClassifier`; on Windrow arrays it trains in shards, averaged after each epoch.

    Notes
    -----
    For Windrow arrays there are as many shards as ranks (threads, on the embedded engine). Rows are shuffled over all
    shards, and weights are averaged after each epoch. So coefficients differ from those of one process; scores differ
    little. `tol` is compared with the mean loss of rows, each measured before the step that trains on it. `average`,
    `early_stopping` and `learning_rate="adaptive"` are refused; `random_state` is an integer or None, which means 0.

    >>> from windrow.ml.linear_model import SGDClassifier
    >>> X = wr.random.default_rng(1).normal(size=(10_000, 2), chunks=(1000, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> float(SGDClassifier(max_iter=5, tol=None).fit(X, y).score(X, y)) > 0.97
    True
    """


class Perceptron(FitsByAveraging, own.Perceptron):
    """Scikit-learn's `Perceptron`; on Windrow arrays it trains in shards, averaged after each epoch.

    Notes
    -----
    For Windrow arrays there are as many shards as ranks (threads, on the embedded engine). Rows are shuffled over all
    shards, and weights are averaged after each epoch. So coefficients differ from those of one process; scores differ
    little. `tol` is compared with the mean loss of rows, each measured before the step that trains on it.
    `early_stopping` is refused; `random_state` is an integer or None, which means 0.

    >>> from windrow.ml.linear_model import Perceptron
    >>> X = wr.random.default_rng(1).normal(size=(10_000, 2), chunks=(1000, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> float(Perceptron(max_iter=5, tol=None).fit(X, y).score(X, y)) > 0.95
    True
    """


ESTIMATORS.fill(__name__)
publish_space(__name__, "ml.linear_model")
