"""What a fitted estimator says of rows, lazily: `predict`, `transform` and the like, a block of rows a task."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.align import regrid
from ..arrays.core import Node, make
from ..arrays.ops.ufuncs import equal
from ..arrays.payload import payload
from ..graph.errors import ArgumentError, bad
from ..graph.grid import Axis, Grid
from ..graph.kinds.mapping import MapBlocks
from .rows import beside, samples

if TYPE_CHECKING:
    from ..arrays.array import Array

__all__ = ["Fitted", "Lazily", "Supervised", "over_rows"]

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples")


class _Called:
    """Calls a method of an estimator on a block of rows."""

    def __init__(self, estimator: Any, method: str, dtype: np.dtype[Any]) -> None:
        self.estimator, self.method, self.dtype = estimator, method, dtype

    def __call__(self, block: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if not len(block):
            shape = np.shape(getattr(self.estimator, self.method)(np.zeros((1, *block.shape[1:]), block.dtype)))
            return np.empty((0, *shape[1:]), self.dtype)
        found = getattr(self.estimator, self.method)(np.ascontiguousarray(block))
        return np.asarray(found).astype(self.dtype, copy=False)


def over_rows(estimator: Any, method: str, X: Any) -> Array:
    """Return `estimator.method(X)` as an array: the method is called for each block of rows when it is computed.

    Parameters
    ----------
    estimator : any fitted estimator of scikit-learn, or an object with the method
        It must be picklable, and the method must treat rows one by one.
    method : str
        Such as "predict".
    X : array of (rows, features)

    Returns
    -------
    Array

    Examples
    --------
    >>> import numpy as np
    >>> import windrow as wr
    >>> from windrow.ml.fitted import over_rows
    >>> class Doubled:
    ...     def predict(self, X):
    ...         return X[:, 0] * 2
    >>> over_rows(Doubled(), "predict", wr.ones((4, 2), chunks=2)).compute()
    array([2., 2., 2., 2.])
    """
    array = samples(method, X, floats=False)
    probe = np.asarray(getattr(estimator, method)(np.zeros((1, array.shape[1]), array.dtype)))
    if probe.shape[:1] != (1,):
        raise ArgumentError(bad(method, "estimator", type(estimator).__name__, "a method that gives a row for a row"))
    packed = payload(method, _Called(estimator, method, probe.dtype), (), {}, method)
    rest = [Axis.regular(n, max(1, n)) for n in probe.shape[1:]]
    grid = Grid([array.expr.grid.axes[0], *rest])
    return make(MapBlocks(packed, ((0, None),)), (array,), grid, probe.dtype)


def score(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Array:
    """Return R² for a regressor, the accuracy for a classifier, as an array without axes."""
    found = over_rows(estimator, "predict", X)
    truth = beside("score", "y", y, samples("score", X, floats=False), wide=found.ndim == 2)
    weight = None if sample_weight is None else beside("score", "sample_weight", sample_weight, truth)
    kind = getattr(estimator, "_estimator_type", None) or _kind(estimator)
    if kind == "classifier":
        same = equal(regrid(found, truth.expr.grid), truth).astype(np.float64)
        share: Array = same.mean() if weight is None else (same * weight).sum() / weight.sum()
        return share
    if kind != "regressor":
        raise ArgumentError(bad("score", "estimator", type(estimator).__name__, "a classifier or a regressor"))
    w: Any = 1.0 if weight is None else weight if truth.ndim == 1 else weight[:, None]
    centre = truth.mean(axis=0) if weight is None else (truth * w).sum(axis=0) / w.sum(axis=0)
    off, spread = ((truth - found) ** 2 * w).sum(axis=0), ((truth - centre) ** 2 * w).sum(axis=0)
    explained: Array = 1.0 - off / spread
    return explained.mean() if truth.ndim == 2 else explained


def _kind(estimator: Any) -> str | None:
    tags = getattr(estimator, "__sklearn_tags__", None)
    return getattr(tags(), "estimator_type", None) if tags is not None else None


class Lazily:
    """Makes an estimator's methods lazy where X is a Windrow array; else they are the estimator's own."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name in METHODS:
            own = getattr(cls, name, None)
            if callable(own) and name not in vars(cls) and not hasattr(own, "lazy"):
                setattr(cls, name, _method(name, own))


class Supervised(Lazily):
    """The same for what learns from y, with a lazy `score`."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Return R² or the accuracy: a number, or for Windrow arrays a lazy one."""
        if isinstance(X, Node) or isinstance(y, Node):
            return score(self, X, y, sample_weight)
        return super().score(X, y, sample_weight)  # type: ignore[misc]


def _method(name: str, own: Any) -> Any:
    @wraps(own)
    def call(self: Any, X: Any, *args: Any, **keywords: Any) -> Any:
        if isinstance(X, Node) and not args and not keywords:
            return over_rows(self, name, X)
        return own(self, X, *args, **keywords)

    call.lazy = True  # type: ignore[attr-defined]
    return call


class Fitted:
    """Any fitted estimator, whose methods are lazy over the chunks.

    Parameters
    ----------
    estimator : fitted estimator of scikit-learn, or an object with `predict`, `transform` or the like

    Examples
    --------
    >>> import numpy as np
    >>> import windrow as wr
    >>> from sklearn.linear_model import LinearRegression
    >>> from windrow.ml import Fitted
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> model = Fitted(LinearRegression().fit(X, X.sum(axis=1)))
    >>> model.predict(wr.from_array(X, chunks=2)).compute().round(6)
    array([1., 5., 9.])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "estimator":
            raise AttributeError(name)
        if name in METHODS:
            getattr(self.estimator, name)  # what it can't do it doesn't have
            return lambda X: over_rows(self.estimator, name, X)
        return getattr(self.estimator, name)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Return R² for a regressor, the accuracy for a classifier, lazily."""
        return score(self.estimator, X, y, sample_weight)
