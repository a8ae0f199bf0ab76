"""Linear models that are learnt exactly from sums over blocks of rows.

LinearRegression and Ridge solve the normal equations of the centred data; LogisticRegression minimises scikit-learn's
own objective by L-BFGS, whose loss and gradient are sums over the blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize
from sklearn import linear_model as own
from sklearn.exceptions import ConvergenceWarning

from ..arrays.verbs import compute, persist
from ..graph.errors import ArgumentError, bad
from ..workers.boundary import publish, warn
from .averaged import FitsByAveraging
from .fitted import Supervised
from .rows import beside, finite, is_lazy, labels_of, samples, total, weights

if TYPE_CHECKING:
    from typing import Self

    from ..arrays.array import Array

__all__ = ["LinearRegression", "LogisticRegression", "Perceptron", "Ridge", "SGDClassifier", "SGDRegressor"]

Values = np.ndarray[Any, Any]


def _products(X: Values, y: Values, w: Values, x_mean: Values, y_mean: Values) -> Values:
    """Return X'WX beside X'Wy, of centred columns."""
    columns = X - x_mean
    targets = (y - y_mean).reshape(len(y), -1)
    weighted = columns * w[:, None]
    return np.concatenate([weighted.T @ columns, weighted.T @ targets], axis=1)


def _normal(name: str, model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Values, Values, Values, Values, bool]:
    """Return X'X, X'y, the means, and whether y has one column."""
    rows = samples(f"{name}.fit", X)
    target = beside(f"{name}.fit", "y", y, rows, wide=True).astype(np.float64)
    weight = weights(f"{name}.fit", sample_weight, rows)
    k, single = rows.shape[1], target.ndim == 1
    x_mean, y_mean = np.zeros(k), np.zeros(1 if single else target.shape[1])
    if model.fit_intercept:
        w = weight[:, None]
        wide = target[:, None] if single else target
        sums = compute((rows * w).sum(axis=0), (wide * w).sum(axis=0), weight.sum())
        x_mean, y_mean = np.asarray(sums[0]) / sums[2], np.asarray(sums[1]) / sums[2]
        finite(f"{name}.fit", sample_weight=sums[2], X=x_mean, y=y_mean)
    made = total(_products, [rows, target, weight], (k, k + len(y_mean)), x_mean, y_mean[0] if single else y_mean)
    finite(f"{name}.fit", X=made[:, :k], y=made[:, k:])
    return made[:, :k], made[:, k:], x_mean, y_mean, single


def _set(model: Any, coef: Values, x_mean: Values, y_mean: Values, single: bool) -> None:
    model.n_features_in_ = len(x_mean)
    model.coef_ = coef[:, 0] if single else coef.T
    intercept = y_mean - x_mean @ coef
    model.intercept_ = (float(intercept[0]) if single else intercept) if model.fit_intercept else 0.0


class LinearRegression(Supervised, own.LinearRegression):
    """Scikit-learn's `LinearRegression`; for Windrow arrays by the normal equations X'X of centred columns.

    These square the condition number: columns that nearly depend on each other lose twice the digits. Directions
    below float64's precision get no weight, as by a pseudoinverse.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.linear_model import LinearRegression
    >>> X = wr.random.default_rng(1).random((1000, 2), chunks=(100, 2))
    >>> model = LinearRegression().fit(X, X[:, 0] * 3 - X[:, 1] + 2)
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([ 3., -1.]), 2.0)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the coefficients."""
        if not is_lazy(X, y):
            super().fit(X, y, sample_weight)
            return self
        self._validate_params()
        if self.positive:
            raise ArgumentError(bad("LinearRegression.fit", "positive", True, "False for Windrow arrays"))
        squares, products, x_mean, y_mean, single = _normal("LinearRegression", self, X, y, sample_weight)
        values, vectors = np.linalg.eigh(squares)
        kept = values > values[-1] * len(values) * np.finfo(np.float64).eps
        inverse = vectors[:, kept] / values[kept] @ vectors[:, kept].T
        self.rank_, self.singular_ = int(kept.sum()), np.sqrt(np.maximum(values[::-1], 0))
        _set(self, inverse @ products, x_mean, y_mean, single)
        return self


class Ridge(Supervised, own.Ridge):
    """Scikit-learn's `Ridge`; for Windrow arrays by the normal equations.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.linear_model import Ridge
    >>> X = wr.random.default_rng(1).random((1000, 2), chunks=(100, 2))
    >>> Ridge(alpha=1e-6).fit(X, X[:, 0]).coef_.round(3) + 0.0
    array([1., 0.])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the coefficients."""
        if not is_lazy(X, y):
            super().fit(X, y, sample_weight)
            return self
        self._validate_params()
        if self.positive:
            raise ArgumentError(bad("Ridge.fit", "positive", True, "False for Windrow arrays"))
        squares, products, x_mean, y_mean, single = _normal("Ridge", self, X, y, sample_weight)
        alphas = np.broadcast_to(np.asarray(self.alpha, np.float64), (products.shape[1],))
        eye = np.eye(len(squares))
        columns = [np.linalg.solve(squares + a * eye, p) for a, p in zip(alphas, products.T, strict=True)]
        self.n_iter_, self.solver_ = None, "cholesky"
        _set(self, np.stack(columns, axis=1), x_mean, y_mean, single)
        return self


def _softmax_sums(X: Values, y: Values, w: Values, coef: Values, classes: Values) -> Values:
    """Return the summed log loss, then its gradient by coefficients and intercepts, of a block of rows."""
    k = X.shape[1]
    raw = X @ coef[:, :k].T + coef[:, k]
    which = np.searchsorted(classes, y)
    if len(coef) == 1:
        score, truth = raw[:, 0], which.astype(np.float64)
        loss = (w * (np.logaddexp(0.0, score) - truth * score)).sum()
        off = (w * (1.0 / (1.0 + np.exp(-np.clip(score, -700, 700))) - truth))[:, None]
    else:
        raw = raw - raw.max(axis=1, keepdims=True)
        norm = np.exp(raw).sum(axis=1)
        rows = np.arange(len(y))
        loss = (w * (np.log(norm) - raw[rows, which])).sum()
        off = np.exp(raw) / norm[:, None]
        off[rows, which] -= 1.0
        off *= w[:, None]
    gradient = np.concatenate([off.T @ X, off.sum(axis=0)[:, None]], axis=1)
    return np.concatenate([[loss], gradient.ravel()])


class LogisticRegression(Supervised, own.LogisticRegression):
    """Scikit-learn's `LogisticRegression` by L-BFGS; for Windrow arrays loss and gradient are sums over the chunks.

    The objective is scikit-learn's: C times the summed log loss plus half the squared coefficients. X is kept
    (persisted) while it is fitted. Only `solver="lbfgs"` with an L2 penalty or none, and no `class_weight`.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.linear_model import LogisticRegression
    >>> X = wr.random.default_rng(1).normal(size=(2000, 2), chunks=(500, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> float(LogisticRegression().fit(X, y).score(X, y)) > 0.97
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the coefficients."""
        if not is_lazy(X, y):
            super().fit(X, y, sample_weight)
            return self
        self._validate_params()
        name = "LogisticRegression.fit"
        for argument, expected in (("solver", "lbfgs"), ("class_weight", None)):
            if getattr(self, argument) != expected:
                raise ArgumentError(bad(name, argument, getattr(self, argument), f"{expected!r} for Windrow arrays"))
        if getattr(self, "l1_ratio", None) not in (None, 0, 0.0):
            raise ArgumentError(bad(name, "l1_ratio", self.l1_ratio, "0 for Windrow arrays"))
        rows = samples(name, X)
        target = beside(name, "y", y, rows)
        weight = weights(name, sample_weight, rows)
        rows, target, weight = persist(rows, target, weight)
        self.classes_ = labels_of(name, target)
        self._minimise(rows, target, weight)
        return self

    def _minimise(self, rows: Array, target: Array, weight: Array) -> None:
        k, several = rows.shape[1], len(self.classes_)
        shape = (1 if several == 2 else several, k + 1)
        strength = 0.0 if self.penalty is None or not np.isfinite(self.C) else 1.0 / self.C
        scale = 1.0 / float(weight.sum())

        def objective(flat: Values) -> tuple[float, Values]:
            coef = flat.reshape(shape)
            used = coef if self.fit_intercept else np.concatenate([coef[:, :k], np.zeros((shape[0], 1))], axis=1)
            found = total(_softmax_sums, [rows, target, weight], (1 + coef.size,), used, self.classes_)
            if not coef.any():
                finite("LogisticRegression.fit", X=found)
            gradient = found[1:].reshape(shape).copy()
            gradient[:, :k] += strength * coef[:, :k]
            if not self.fit_intercept:
                gradient[:, k] = 0.0
            penalty = 0.5 * strength * float((coef[:, :k] ** 2).sum())
            return (float(found[0]) + penalty) * scale, gradient.ravel() * scale

        options = {"maxiter": self.max_iter, "gtol": self.tol, "ftol": 64 * np.finfo(float).eps, "maxls": 50}
        found = minimize(objective, np.zeros(shape).ravel(), method="L-BFGS-B", jac=True, options=options)
        if found.status == 1:
            message = f"LogisticRegression: no convergence in max_iter={self.max_iter} iterations; raise it or scale X"
            warn(message, ConvergenceWarning)
        coef = found.x.reshape(shape)
        self.coef_, self.intercept_ = coef[:, :k].copy(), coef[:, k].copy()
        if not self.fit_intercept:
            self.intercept_[:] = 0.0
        self.n_features_in_, self.n_iter_ = k, np.array([found.nit], np.int32)


class SGDRegressor(FitsByAveraging, own.SGDRegressor):
    """Scikit-learn's `SGDRegressor`; for Windrow arrays trained on shards, averaged after each epoch.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.linear_model import SGDRegressor
    >>> X = wr.random.default_rng(1).normal(size=(10_000, 2), chunks=(1000, 2))
    >>> SGDRegressor(max_iter=5, tol=None).fit(X, X[:, 0] - X[:, 1]).coef_.round(2)
    array([ 1., -1.])
    """


class SGDClassifier(FitsByAveraging, own.SGDClassifier):
    """Scikit-learn's `SGDClassifier`; for Windrow arrays trained on shards, averaged after each epoch.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.linear_model import SGDClassifier
    >>> X = wr.random.default_rng(1).normal(size=(10_000, 2), chunks=(1000, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> float(SGDClassifier(max_iter=5, tol=None).fit(X, y).score(X, y)) > 0.97
    True
    """


class Perceptron(FitsByAveraging, own.Perceptron):
    """Scikit-learn's `Perceptron`; for Windrow arrays trained on shards, averaged after each epoch.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.linear_model import Perceptron
    >>> X = wr.random.default_rng(1).normal(size=(10_000, 2), chunks=(1000, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> float(Perceptron(max_iter=5, tol=None).fit(X, y).score(X, y)) > 0.95
    True
    """


publish(__name__)
