"""Rows of samples: reading `X` and `y`, and sums over blocks of rows.

Exact estimators are fitted by sums: a function returns a small array for each block of rows, and these arrays are added
in the order of the blocks, so that the result depends on the chunks alone.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.base import ArrayBase, as_array, as_array_nocopy, make
from ..arrays.chunking.rechunk import regrid
from ..arrays.execution.compute import compute
from ..arrays.sorting import unique_values
from ..arrays.user_functions.travel.pickling import payload
from ..graph.chunks.grid import Axis, Grid
from ..graph.errors import ArgumentError, BadValue, DTypeError, InWords, ShapeError, bad
from ..graph.kinds.mapping import MapBlocks
from ..graph.kinds.source import Full
from ..workers.public_api import warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..arrays.array import Array

    Values = np.ndarray[Any, Any]


HERE = 1 << 20
"""Bytes of the blocks' results up to which the driver adds them up."""


def is_lazy(*values: Any) -> bool:
    """Tell whether any of some values is a Windrow array."""
    return any(isinstance(v, ArrayBase) for v in values)


def samples(operation: str, X: Any, *, floats: bool = True) -> Array:
    """Return X as an array of (rows, features), of float32 or float64, whose chunks have whole rows."""
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise ArgumentError(bad(operation, "X", InWords(f"a sparse {type(X).__name__}"), "a dense array: X.toarray()"))
    array = as_array_nocopy(operation, "X", X)
    if array.ndim != 2:
        reshape = ". Reshape your data: X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row"
        raise ShapeError(bad(operation, "X", array.shape, f"an array of (rows, features){reshape}"))
    for length, what in zip(array.shape, ("sample", "feature"), strict=True):
        if not length:
            message = f"{length} {what}(s) (shape={array.shape}) while a minimum of 1 is required."
            raise ShapeError(bad(operation, "X", array.shape, f"at least one row and one feature: {message}"))
    if array.dtype.kind == "c":
        raise ArgumentError(bad(operation, "X", array.dtype, "real numbers. Complex data not supported"))
    if array.dtype.kind not in "biuf":
        raise DTypeError(bad(operation, "X", array.dtype, "real numbers"))
    if floats and array.dtype.char not in "fd":
        array = array.astype(np.float64)
    return whole_rows(array)


def whole_rows(array: Array, rows: Axis | None = None) -> Array:
    """Return an array whose chunks have whole rows, in its own blocks of rows or in `rows`."""
    first, *rest = array.expr.grid.axes
    return regrid(array, Grid([first if rows is None else rows, *(Axis.whole(a.length) for a in rest)]))


def learn_names(model: Any, X: Any) -> None:
    """Set a model's `feature_names_in_` to the names of X's columns; names from an earlier fit go."""
    importlib.import_module("sklearn.utils.validation")._check_feature_names(model, X, reset=True)


def labels_as(y: Any) -> Any:
    """Return labels that are Python objects (such as strings), or a column of a table, as an array with a dtype."""
    if hasattr(y, "__array__") and hasattr(y, "iloc"):
        y = np.asarray(y)
    return np.asarray(y.tolist()) if isinstance(y, np.ndarray) and y.dtype.kind == "O" else y


def beside(operation: str, argument: str, value: Any, X: Array, *, wide: bool = False) -> Array:
    """Return y, or weights, in X's blocks of rows; with `wide` it may have columns."""
    if value is None:
        expected = f"one for each of {X.shape[0]} rows: {operation} requires {argument} to be passed, but the target "
        raise BadValue(bad(operation, argument, None, f"{expected}{argument} is None"))
    array = as_array(operation, argument, labels_as(value))
    if array.ndim == 2 and array.shape[1] == 1 and not wide:
        if argument == "y":
            message = f"A column-vector y was passed when a 1d array was expected; {operation} takes y.ravel()"
            exceptions = sys.modules.get("sklearn.exceptions")  # imported if a scikit-learn estimator is in use
            warn(message, getattr(exceptions, "DataConversionWarning", UserWarning))
        array = array.reshape(-1)
    if array.ndim not in ((1, 2) if wide else (1,)) or array.shape[0] != X.shape[0]:
        raise ShapeError(bad(operation, argument, array.shape, f"one for each of {X.shape[0]} rows"))
    return whole_rows(array, X.expr.grid.axes[0])


def check_numbers(operation: str, target: Array) -> None:
    """Raise unless the target of a regression has real numbers."""
    if target.dtype.kind not in "biuf":
        raise DTypeError(bad(operation, "y", target.dtype, "real numbers, which a regression learns"))


def weights(operation: str, value: Any, X: Array) -> Array:
    """Return the rows' weights in X's blocks: those given, or ones."""
    if value is None:
        grid = Grid(X.expr.grid.axes[:1])
        return make(Full(np.float64(1.0)), (), grid, np.float64)
    return beside(operation, "sample_weight", value, X).astype(np.float64)


def by_block(
    function: Callable[..., Values],
    arrays: list[Array],
    shape: tuple[int, ...],
    *params: Any,
    numbered: bool = False,
) -> Array:
    """Return `function(*blocks, *params)` for each block of rows, as an array of float64 (blocks, *shape).

    With `numbered` the function gets the number of the block too, as `block`.
    """
    rows = arrays[0].expr.grid.axes[0]
    grid = Grid([Axis.regular(rows.count, 1), *(Axis.whole(n) for n in shape)])
    operand_axes = tuple((0, *(None,) * (a.ndim - 1)) for a in arrays)
    packed = payload(function.__name__, _Shaped(function, shape), params, {})
    return make(MapBlocks(packed, operand_axes, ("block_id",) if numbered else ()), arrays, grid, np.float64)


class _Shaped:
    """Calls a function, and adds an axis of length one in front of its result."""

    def __init__(self, function: Callable[..., Values], shape: tuple[int, ...]) -> None:
        self.function, self.shape = function, shape

    def __call__(self, *values: Any, block_id: Any = None) -> Values:
        output = self.function(*values) if block_id is None else self.function(*values, block=block_id[0])
        return np.asarray(output).reshape(1, *self.shape)


def total(function: Callable[..., Values], arrays: list[Array], shape: tuple[int, ...], *params: Any) -> Values:
    """Return the sum of `function(*blocks, *params)` over all blocks of rows, computed."""
    partials = by_block(function, arrays, shape, *params)
    if partials.size * 8 <= HERE:  # the driver adds them up faster than a task would run
        return np.asarray(np.add.reduce(np.asarray(partials.compute()), axis=0))
    return np.asarray(partials.sum(axis=0).compute())


def finite(operation: str, **values: Any) -> None:
    """Raise if a sum over the rows of an argument isn't finite: then there is a NaN or an infinity among them."""
    for argument, value in values.items():
        if not np.isfinite(value).all():
            raise BadValue(bad(operation, argument, "NaN or infinity, or too large for its dtype", "finite numbers"))


def same_features(operation: str, model: Any, X: Array) -> None:
    """Raise if X doesn't have as many features as the model was fitted to."""
    learnt = getattr(model, "n_features_in_", X.shape[1])
    if X.shape[1] != learnt:
        message = f"X has {X.shape[1]} features, but {type(model).__name__} is expecting {learnt} features as input"
        raise ShapeError(bad(operation, "X", X.shape, f"{learnt} features, as it was fitted with: {message}"))


def check_weights(operation: str, weight: Any) -> None:
    """Raise if weights aren't finite, or are all zero."""
    finite(operation, sample_weight=weight)
    if not np.any(weight):
        raise BadValue(bad(operation, "sample_weight", "zero for every row", "weights that are positive for some rows"))


def some_weight(operation: str, weight: Array, *, negative: bool = True) -> None:
    """Raise if all weights are zero, or one isn't finite, or is negative where `negative` is False."""
    least, most = compute(weight.min(), weight.max())
    check_weights(operation, np.array([least, most]))
    if not negative:
        check_signs(operation, least)


def check_signs(operation: str, least: Any) -> None:
    """Raise if the least weight is negative: with negative weights a loss may have no minimum."""
    if least < 0:
        expected = "0 or more for each row: Negative values in data passed to `sample_weight`"
        raise BadValue(bad(operation, "sample_weight", InWords(f"{float(least)!r} at the least"), expected))


def labels_of(operation: str, target: Array, least: int = 2) -> Values:
    """Return the distinct labels of a 1-D array, sorted."""
    labels: Values = np.asarray(unique_values(target).compute())
    if len(labels) < least:
        known = InWords(f"{len(labels)} class ({labels[0]}) alone" if len(labels) else "no labels at all")
        raise BadValue(bad(operation, "y", known, f"at least {least} classes"))
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        raise BadValue(bad(operation, "y", InWords("NaN or infinity"), "labels of classes"))
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        raise BadValue(bad(operation, "y", InWords("continuous: fractions, as a regression has"), "labels of classes"))
    return labels
