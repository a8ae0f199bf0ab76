"""Lazy methods of fitted estimators: `predict`, `transform` and the like, computed block by block of rows."""

from __future__ import annotations

import copy
import importlib
import importlib.util
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.base import ArrayBase, as_array, make
from ..arrays.chunking.rechunk import regrid
from ..arrays.ops.elementwise.functions import where
from ..arrays.ops.elementwise.ufuncs import equal
from ..arrays.user_functions.travel.pickling import payload
from ..graph.chunks.grid import Axis, Grid
from ..graph.errors import ArgumentError, DTypeError, InWords, bad
from ..graph.expr.origin import publish as publish_code
from ..graph.kinds.mapping import MapBlocks
from ..workers.public_api import guard, publish
from .estimators.documents import describe
from .rows import beside, same_features, samples

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..arrays.array import Array

__all__ = ["Fitted", "Lazily", "Supervised", "of_model", "over_rows", "tags_of"]

PACKAGE = __name__.partition(".")[0]
METHODS = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function"),
    *("transform", "inverse_transform", "score_samples"),
)


def tags_of(tags: Any, estimator: Any) -> Any:
    """Return a meta-estimator's scikit-learn tags, with the type and the targets of the estimator inside."""
    inner = getattr(estimator, "__sklearn_tags__", None)
    if inner is not None:
        inner_tags = inner()
        tags.estimator_type, tags.classifier_tags = inner_tags.estimator_type, inner_tags.classifier_tags
        tags.regressor_tags, tags.target_tags = inner_tags.regressor_tags, inner_tags.target_tags
        tags.transformer_tags = inner_tags.transformer_tags
    return tags


def check_instance(operation: str, estimator: Any) -> None:
    """Raise where an estimator's class was given in place of an estimator."""
    if isinstance(estimator, type):
        name = estimator.__name__
        raise ArgumentError(
            bad(operation, "estimator", InWords(f"the class {name}"), f"an estimator, such as {name}()")
        )


def may_write(estimator: Any) -> bool:
    """Whether an estimator may write into rows that it predicts of: scikit-learn's own, and those in them, never do."""
    parts = [estimator, *(estimator.get_params().values() if hasattr(estimator, "get_params") else ())]
    return any(type(each).__module__.partition(".")[0] != "sklearn" for each in parts if _calls_code(each))


def _calls_code(value: Any) -> bool:
    return hasattr(value, "get_params") or (callable(value) and not isinstance(value, type | np.ufunc))


def of_model(call: Callable[..., Any]) -> Callable[..., Any]:
    """Publish a function as a method of an estimator. Its variables `model` and `name` say of which and which one."""
    publish_code(call, lambda frame: f"{type(frame.f_locals['model']).__name__}.{frame.f_locals['name']}")
    return guard(call)


class _Called:
    """Calls a method of an estimator on a block of rows.

    An estimator that was fitted to a table gets tables with the same columns: a ColumnTransformer selects by name.
    """

    def __init__(self, estimator: Any, method: str, dtype: np.dtype[Any] | None = None) -> None:
        self.estimator, self.method, self.dtype = estimator, method, dtype
        self.writes = may_write(estimator)

    def __call__(self, block: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if not len(block):
            row = np.zeros((1, *block.shape[1:]), block.dtype)
            return np.empty((0, *self.values(row).shape[1:]), self.dtype)
        values = self.values(np.array(block) if self.writes else np.ascontiguousarray(block))
        kept = values.astype(self.dtype, copy=False)
        fits = np.can_cast(values.dtype, kept.dtype, "same_kind")
        if not fits or (kept.dtype.kind in "SU" and kept.itemsize < values.itemsize and (kept != values).any()):
            cls = type(self.estimator).__name__
            raise DTypeError(
                bad(f"{cls}.{self.method}", "estimator", values.dtype, f"{self.dtype}, as for a first row")
            )
        return kept

    def values(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the method's result for some rows as an array; a sparse matrix or a table is converted."""
        output = getattr(self.estimator, self.method)(self._name_columns(rows))
        return np.asarray(output.toarray() if hasattr(output, "toarray") else output)

    def _name_columns(self, rows: np.ndarray[Any, Any]) -> Any:
        names = getattr(self.estimator, "feature_names_in_", None)
        if names is None or self.method == "inverse_transform" or importlib.util.find_spec("pandas") is None:
            return rows
        return importlib.import_module("pandas").DataFrame(rows, columns=names, copy=False)


def _probe(estimator: Any, method: str, array: Array) -> np.ndarray[Any, Any]:
    """Return a method's result for one row: a row of zeros, or the first row, computed, if the method refuses zeros."""
    call = _Called(estimator, method).values
    try:
        return call(np.zeros((1, array.shape[1]), array.dtype))
    except ValueError:
        return call(np.asarray(array[:1].compute()))


def _without_slots(estimator: Any) -> Any:
    """Return an estimator without its shards' optimiser slots, which only further training needs."""
    if "_slots" not in getattr(estimator, "__dict__", {}):
        return estimator
    copied = copy.copy(estimator)
    del copied._slots
    return copied


def over_rows(estimator: Any, method: str, X: Any) -> Array:
    """Return `estimator.method(X)` as a lazy array: computing it calls the method for each block of rows.

    Parameters
    ----------
    estimator : estimator or object
        A fitted estimator of scikit-learn, or another object with the method. It must be picklable, and the method must
        treat each row independently.
    method : str
        Such as "predict".
    X : array of shape (rows, features)
        A lazy array is rechunked to whole rows if needed; any other becomes a lazy array.

    Returns
    -------
    Array
        Lazy, with X's chunks of rows. The method is called now with one row, to find shape and dtype.

    Raises
    ------
    ShapeError
        `X` isn't 2-D, has no rows, or has other features than the estimator was fitted to.
    DTypeError
        `X` isn't of numbers; or, when it is computed, a block has another dtype than the first row had.
    ArgumentError
        The method doesn't return one row for each row, or the estimator can't be pickled.

    >>> import numpy as np
    >>> import windrow as wr
    >>> from windrow.ml.fitted import over_rows
    >>> class Doubled:
    ...     def predict(self, X):
    ...         return X[:, 0] * 2
    >>> over_rows(Doubled(), "predict", wr.ones((4, 2), chunks=2)).compute()
    array([2., 2., 2., 2.])
    """
    cls = type(estimator).__name__
    array = samples(f"{cls}.{method}", as_array(f"{cls}.{method}", "X", X), floats=False)
    if method != "inverse_transform":
        same_features(f"{cls}.{method}", estimator, array)
    probe = _probe(estimator, method, array)
    if probe.shape[:1] != (1,):
        raise ArgumentError(bad(method, "estimator", type(estimator).__name__, "a method that gives a row for a row"))
    packed = payload(method, _Called(_without_slots(estimator), method, probe.dtype), (), {})
    rest = [Axis.whole(n) for n in probe.shape[1:]]
    grid = Grid([array.expr.grid.axes[0], *rest])
    return make(MapBlocks(packed, ((0, None),)), (array,), grid, probe.dtype)


def score(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    """Compute an estimator's score as a number, which scikit-learn's pipelines and searches expect.

    It is R² of a regressor, the accuracy of a classifier, the mean of `score_samples` where that is defined (for
    KernelDensity the sum), and the negative inertia of clusters.
    """
    kind = getattr(estimator, "_estimator_type", None) or _kind(estimator)
    if kind not in ("classifier", "regressor"):
        return float(_score_unsupervised(estimator, X, sample_weight))
    predicted = over_rows(estimator, "predict", X)
    truth = beside("score", "y", y, samples("score", X, floats=False), wide=predicted.ndim == 2)
    weight = None if sample_weight is None else beside("score", "sample_weight", sample_weight, truth)
    if kind == "classifier":
        same = equal(regrid(predicted, truth.expr.grid), truth)
        same = (same.all(axis=1) if same.ndim == 2 else same).astype(np.float64)
        return float(same.mean() if weight is None else (same * weight).sum() / weight.sum())
    w: Any = 1.0 if weight is None else weight if truth.ndim == 1 else weight[:, None]
    centre = truth.mean(axis=0) if weight is None else (truth * w).sum(axis=0) / w.sum(axis=0)
    off, spread = ((truth - predicted) ** 2 * w).sum(axis=0), ((truth - centre) ** 2 * w).sum(axis=0)
    some = spread > 0  # for a constant target R² is 1 or 0
    explained: Array = where(some, 1.0 - off / where(some, spread, 1.0), equal(off, 0.0).astype(np.float64))
    return float(explained.mean() if truth.ndim == 2 else explained)


def _score_unsupervised(estimator: Any, X: Any, sample_weight: Any) -> Array:
    if sample_weight is not None or not hasattr(estimator, "score"):
        expected = "a classifier or a regressor, or an estimator with a score, without weights"
        raise ArgumentError(bad("score", "estimator", type(estimator).__name__, expected))
    if hasattr(estimator, "score_samples"):
        scores = over_rows(estimator, "score_samples", X)
        each: Array = scores.sum() if type(estimator).__name__ == "KernelDensity" else scores.mean()
        return each
    if hasattr(estimator, "inertia_"):
        far: Array = -(over_rows(estimator, "transform", X).min(axis=1) ** 2).sum()
        return far
    expected = "a classifier, a regressor, or an estimator with score_samples or inertia_"
    raise ArgumentError(bad("score", "estimator", type(estimator).__name__, expected))


def _kind(estimator: Any) -> str | None:
    tags = getattr(estimator, "__sklearn_tags__", None)
    return getattr(tags(), "estimator_type", None) if tags is not None else None


class Lazily:
    """Makes an estimator's methods lazy where X is a Windrow array; else they are the estimator's own.

    A lazy result is a Windrow array whatever `set_output` says, which applies to rows in memory.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if ">>>" in str(cls.__dict__.get("__doc__")):
            cls.__doc__ = describe(cls)
        for name in (*METHODS, "score", "fit_transform"):
            if hasattr(cls, name) and name not in vars(cls) and not isinstance(_find(cls, name), _Lazy):
                setattr(cls, name, _Lazy(cls, name))
        if hasattr(cls, "partial_fit") and not _find(cls, "partial_fit").__module__.startswith(PACKAGE):
            cls.partial_fit = _rows_in_memory(cls.partial_fit)


class Supervised(Lazily):
    """The same for estimators that are fitted to `y` as well."""


def _rows_in_memory(own: Any) -> Any:
    """Return a `partial_fit` that refuses Windrow arrays: it takes one step on some rows; `fit` takes all of them."""

    @wraps(own)
    def partial_fit(self: Any, X: Any, *args: Any, **keywords: Any) -> Any:
        if any(isinstance(v, ArrayBase) for v in (X, *args, *keywords.values())):
            name = f"{type(self).__name__}.partial_fit"
            raise ArgumentError(
                bad(name, "X", InWords("a Windrow array"), "rows in memory; fit learns from all chunks")
            )
        return own(self, X, *args, **keywords)

    return partial_fit


def _find(cls: type, name: str) -> Any:
    return next(vars(c)[name] for c in cls.__mro__ if name in vars(c))


class _Lazy:
    """A method of an estimator; present if the estimator's own class has it."""

    def __init__(self, cls: type, name: str) -> None:
        self.cls, self.name = cls, name
        self.__doc__ = getattr(getattr(cls, name), "__doc__", None)

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        own = getattr(super(self.cls, owner if model is None else model), self.name)
        if model is None:
            return own
        name = self.name

        def call(X: Any, *args: Any, **keywords: Any) -> Any:
            if name in _FOR_ARRAYS and any(isinstance(v, ArrayBase) for v in (X, *args, *keywords.values())):
                return _FOR_ARRAYS[name](model, X, *args, **keywords)
            if isinstance(X, ArrayBase) and not args and not keywords:
                importlib.import_module("sklearn.utils.validation").check_is_fitted(model)
                return over_rows(model, name, X)
            return own(X, *args, **keywords)

        return wraps(own)(of_model(call))


def _fit_transform(model: Any, X: Any, y: Any = None, **keywords: Any) -> Any:
    fitted = model.fit(X, **keywords) if y is None else model.fit(X, y, **keywords)
    return fitted.transform(X)


_FOR_ARRAYS: dict[str, Any] = {"score": score, "fit_transform": _fit_transform}


class Fitted:
    """Any fitted estimator, whose methods are lazy over the chunks.

    Parameters
    ----------
    estimator : estimator or object
        A fitted estimator of scikit-learn, or another object with `predict`, `transform` or the like. It must be
        picklable.

    Raises
    ------
    AttributeError
        The estimator doesn't have the attribute.

    Notes
    -----
    The methods predict, predict_proba, predict_log_proba, decision_function, transform, inverse_transform and
    score_samples are lazy, and score computes a number; all other attributes are the estimator's own.

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
        attribute = getattr(self.estimator, name)  # a method that the estimator lacks is missing here, too
        if name not in METHODS:
            return attribute
        model = self

        def call(X: Any) -> Array:
            return over_rows(model.estimator, name, X)

        return of_model(call)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Compute the score: R² of a regressor, the accuracy of a classifier, or another estimator's own.

        Parameters
        ----------
        X : array of shape (rows, features)
            The rows to predict.
        y : array of shape (rows,) or (rows, targets), optional
            The true targets; None for an estimator without targets.
        sample_weight : array of shape (rows,), optional
            Weights of the rows. None: all are equal.

        Returns
        -------
        float
            The score.

        Raises
        ------
        ShapeError
            `X` has other features than the model was fitted to; `y` or `sample_weight` doesn't have one entry for each
            row.
        BadValue
            A classifier or regressor gets no `y`.
        ArgumentError
            The estimator has no score, or takes no weights.

        >>> import numpy as np
        >>> import windrow as wr
        >>> from sklearn.linear_model import LinearRegression
        >>> from windrow.ml import Fitted
        >>> X = np.arange(6.0).reshape(3, 2)
        >>> model = Fitted(LinearRegression().fit(X, X[:, 0]))
        >>> round(model.score(wr.from_array(X, chunks=2), X[:, 0]), 6)
        1.0
        """
        return score(self.estimator, X, y, sample_weight)


publish(__name__, ("Fitted", "over_rows"))
