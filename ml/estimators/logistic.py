"""Logistic regression: scikit-learn's objective, with loss and gradient summed over blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize
from sklearn import linear_model as own
from sklearn.exceptions import ConvergenceWarning

from ...arrays.execution.compute import persist
from ...graph.errors import ArgumentError, bad
from ...workers.public_api import publish, warn
from ..docstrings import ESTIMATORS
from ..fitted import Supervised
from ..rows import beside, check_weights, finite, is_lazy, labels_of, learn_names, samples, some_weight, total, weights

if TYPE_CHECKING:
    from typing import Self

    from ...arrays.array import Array

__all__ = ["LogisticRegression"]

Values = np.ndarray[Any, Any]
NAME = "LogisticRegression.fit"
ANY_PENALTY = ("saga",)
ONLY_L2 = ("lbfgs", "newton-cg", "newton-cholesky", "sag")


def _class_totals(X: Values, y: Values, w: Values, classes: Values) -> Values:
    """Return the total weight of the rows of each class."""
    return np.bincount(np.searchsorted(classes, y), w, len(classes))


def _log_loss_sums(X: Values, y: Values, w: Values, coef: Values, classes: Values, scales: Values) -> Values:
    """Return the summed log loss of a block of rows, followed by its gradient by coefficients and intercepts."""
    k = X.shape[1]
    raw = X @ coef[:, :k].T + coef[:, k]
    which = np.searchsorted(classes, y)
    w = w * scales[which]
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
    gradient = np.concatenate([np.dot(off.T, X), off.sum(axis=0)[:, None]], axis=1)
    return np.concatenate([[loss], gradient.ravel()])


@dataclass(frozen=True)
class _Penalty:
    """The penalty `strength * (l1 * sum|c| + (1 - l1) / 2 * sum c**2)` of the coefficients c."""

    strength: float
    l1: float


class LogisticRegression(Supervised, own.LogisticRegression):
    """Scikit-learn's `LogisticRegression`; loss and gradient of Windrow arrays are summed over their chunks.

    Parameters
    ----------
    penalty : {'l1', 'l2', 'elasticnet', None}
        The norm of the penalty, as older releases specify it. Use `l1_ratio`, and `C=np.inf` for no penalty.
    solver : str, default='lbfgs'
        Windrow arrays are always fitted by L-BFGS. "liblinear" is refused, since its objective is different, and so are
        solvers for which scikit-learn has no L1 penalty, if there is one.

    Notes
    -----
    The objective is scikit-learn's: C times the summed log loss, with rows weighted by `sample_weight` and
    `class_weight`, plus the penalty (L2, L1 or both). It is minimised by L-BFGS. With an L1 penalty coefficients are
    split into a positive and a negative part, so that zeros are exact. Rows are persisted while the model is fitted.
    `dual`, `intercept_scaling`, `n_jobs`, `random_state` and `verbose` are ignored for Windrow arrays.

    >>> from windrow.ml.linear_model import LogisticRegression
    >>> X = wr.random.default_rng(1).normal(size=(2000, 2), chunks=(500, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> float(LogisticRegression().fit(X, y).score(X, y)) > 0.97
    True
    >>> LogisticRegression(l1_ratio=1, solver="saga", C=0.05).fit(X, y).coef_[0, 1]
    np.float64(0.0)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        {X}
        y : array of shape (rows,)
            Labels of at least two classes: numbers without fractions, or words.
        {sample_weight}

        Returns
        -------
        self
            With `classes_`, `coef_` and `intercept_`, NumPy arrays of `X`'s dtype.

        Raises
        ------
        ArgumentError
            `solver` isn't accepted, `class_weight` names a class that doesn't occur, or `l1_ratio` is missing with
            `penalty="elasticnet"`.
        {ShapeError, DTypeError}
        BadValue
            A number is NaN or infinite, a weight is negative, all are zero, or `y` has one class or fractions.
        {ValueError}
        """
        if not is_lazy(X, y, sample_weight):
            super().fit(X, y, sample_weight)
            return self
        self._validate_params()
        penalty = _penalty_of(self)
        rows = samples(NAME, X)
        target = beside(NAME, "y", y, rows)
        weight = weights(NAME, sample_weight, rows)
        rows, target, weight = persist(rows, target, weight)
        if sample_weight is not None:
            some_weight(NAME, weight, negative=False)
        earlier = getattr(self, "coef_", None), getattr(self, "intercept_", None)
        self.classes_ = labels_of(NAME, target)
        self._minimise(rows, target, weight, penalty, earlier if self.warm_start else (None, None))
        learn_names(self, X)
        return self

    def _minimise(
        self, rows: Array, target: Array, weight: Array, penalty: _Penalty, earlier: tuple[Values | None, Values | None]
    ) -> None:
        k, several = rows.shape[1], len(self.classes_)
        shape = (1 if several == 2 else several, k + 1)
        totals = total(_class_totals, [rows, target, weight], (several,), self.classes_)
        check_weights(NAME, totals)
        scales = _class_scales(self.class_weight, self.classes_, totals)
        scale = 1.0 / float(totals @ scales)

        def objective(flat: Values) -> tuple[float, Values]:
            coef = flat.reshape(shape)
            used = coef if self.fit_intercept else np.concatenate([coef[:, :k], np.zeros((shape[0], 1))], axis=1)
            sums = total(_log_loss_sums, [rows, target, weight], (1 + coef.size,), used, self.classes_, scales)
            if not coef.any():
                finite(NAME, X=sums)
            gradient = sums[1:].reshape(shape).copy()
            smooth = penalty.strength * (1.0 - penalty.l1)
            gradient[:, :k] += smooth * coef[:, :k]
            if not self.fit_intercept:
                gradient[:, k] = 0.0
            loss = float(sums[0]) + 0.5 * smooth * float((coef[:, :k] ** 2).sum())
            return loss * scale, gradient.ravel() * scale

        begin = np.zeros(shape)
        if earlier[0] is not None and earlier[0].shape == (shape[0], k) and earlier[1] is not None:
            begin = np.concatenate([earlier[0], np.reshape(earlier[1], (-1, 1))], axis=1).astype(np.float64)
        options = {"maxiter": self.max_iter, "gtol": self.tol, "ftol": 64 * np.finfo(float).eps, "maxls": 50}
        flat, turns, status = _lowest(objective, begin, penalty.strength * penalty.l1 * scale, options)
        if status == 1:
            message = f"LogisticRegression: no convergence in max_iter={self.max_iter} iterations; raise it or scale X"
            warn(message, ConvergenceWarning)
        coef = flat.reshape(shape).astype(rows.dtype)
        self.coef_, self.intercept_ = coef[:, :k].copy(), coef[:, k].copy()
        if not self.fit_intercept:
            self.intercept_[:] = 0.0
        self.n_features_in_, self.n_iter_ = k, np.array([turns], np.int32)


def _lowest(objective: Any, begin: Values, rate: float, options: dict[str, Any]) -> tuple[Values, int, int]:
    """Minimise a smooth objective plus `rate` times the sum of absolute coefficients, without those in the last column.

    With a rate, coefficients are c = p - n with p, n >= 0. Their absolute values are p + n, which is smooth.
    """
    if not rate:
        optimum = minimize(objective, begin.ravel(), method="L-BFGS-B", jac=True, options=options)
        return optimum.x, optimum.nit, optimum.status
    sparse = np.ones(begin.shape, bool)
    sparse[:, -1] = False
    chosen, n = sparse.ravel(), begin.size

    def split(both: Values) -> tuple[float, Values]:
        loss, gradient = objective(both[:n] - both[n:])
        value = loss + rate * float(both[:n][chosen].sum() + both[n:].sum())
        return value, np.concatenate([gradient + rate * chosen, np.where(chosen, rate - gradient, 0.0)])

    start = np.concatenate([np.where(chosen, np.maximum(begin.ravel(), 0), begin.ravel()), np.zeros(n)])
    start[n:][chosen] = np.maximum(-begin.ravel()[chosen], 0)
    bounds = [(0.0 if c else None, None) for c in chosen] + [(0.0, None if c else 0.0) for c in chosen]
    optimum = minimize(split, start, method="L-BFGS-B", jac=True, bounds=bounds, options=options)
    return optimum.x[:n] - optimum.x[n:], optimum.nit, optimum.status


def _penalty_of(model: Any) -> _Penalty:
    """Return a model's penalty, as `l1_ratio` and `C` specify it, or `penalty` in older releases of scikit-learn."""
    named, ratio = getattr(model, "penalty", "deprecated"), getattr(model, "l1_ratio", None)
    if named == "elasticnet" and ratio is None:
        raise ArgumentError(bad(NAME, "l1_ratio", None, "a number from 0 to 1 with penalty='elasticnet'"))
    l1 = {"l1": 1.0, "l2": 0.0, None: 0.0}.get(named, float(ratio or 0.0))
    strength = 0.0 if named is None or not np.isfinite(model.C) else 1.0 / model.C
    solvers = ANY_PENALTY if l1 and strength else (*ONLY_L2, *ANY_PENALTY)
    if model.solver not in solvers:
        condition = "with an L1 penalty" if l1 and strength else "for Windrow arrays"
        raise ArgumentError(bad(NAME, "solver", model.solver, f"one of {', '.join(solvers)} {condition}"))
    return _Penalty(strength, l1)


def _class_scales(class_weight: Any, classes: Values, totals: Values) -> Values:
    """Return the weights of the classes that scikit-learn's `class_weight` stands for."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        return np.asarray(totals.sum() / (len(classes) * np.where(totals, totals, 1.0)))
    known = dict(zip(classes.tolist(), range(len(classes)), strict=True))
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise ArgumentError(bad(NAME, "class_weight", class_weight, f"weights of the classes {classes.tolist()}"))
    return np.array([float(class_weight.get(label, 1.0)) for label in known])


ESTIMATORS.fill(__name__)
publish(__name__)
