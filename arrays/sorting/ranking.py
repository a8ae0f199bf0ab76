"""How quantiles are computed, exactly.

An axis that fits a chunk of ordinary size is brought into one, and sorted there. On a longer one the elements that
define the quantiles are selected by rank (`selection.py`), which takes a few passes, and no sort.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_flag
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ...workers.kernels.blocks.order.quantiles import missing
from ...workers.kernels.blocks.order.ranks import METHODS
from ...workers.kernels.functions import EMPTY
from ..base import ArrayBase, as_array, check_axes, make
from ..chunking import coalesce
from ..chunking.rechunk import regrid
from ..creation.filled import constant
from ..execution.deferred import defer
from ..ops.moves.axis_moves import expand_dims, moveaxis
from ..ops.outputs import deliver, deliver_reduced
from ..ops.reductions.nodes import warn_of_few
from ..ops.reductions.sums import mean
from .selection import select_quantiles
from .sorts import LINES, by_lines

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array
    from ..typing import ArrayLike, AxisLike


def find_quantiles(
    name: str,
    a: Any,
    q: Any,
    axis: Any,
    out: Any,
    method: str,
    keepdims: Any,
    weights: Any,
    overwrite: Any,
) -> Any:
    """Return quantiles; `method` may be "median"."""
    array, keepdims = as_array(name, "a", a), check_flag(name, "keepdims", keepdims)
    if isinstance(q, ArrayBase):
        return deliver(name, _lazily(name, array, q, axis, method, keepdims, weights), out)
    axes = check_axes(name, axis, array.ndim)
    skip = name.startswith("nan")
    wanted = _levels(name, q, method)
    dtype = _result_dtype(name, array, wanted, method, axes, keepdims, weights is not None)
    lengths = math.prod(array.shape[i] for i in axes)
    if lengths == 0 and method != "median" and not skip:
        raise ShapeError(f"{name}: array of shape {array.shape} has no elements along axis {axis!r}; expected some")
    if array.size == 0 and skip and method != "median" and array.dtype.kind in "biuf":
        quantiles = mean(array, axes, keepdims=keepdims)  # as in NumPy, whose result has no axes of `q` then
        return deliver(name, quantiles, out)
    if lengths == 0:
        warn_of_few(EMPTY, lengths)
        rest = [n for i, n in enumerate(array.shape) if i not in axes]
        dtype = dtype if dtype.kind not in "iub" else np.dtype(np.float64)
        quantiles = constant((*np.shape(wanted), *rest), missing(dtype), dtype)
    elif weights is not None:
        quantiles = _weighted(name, array, wanted, axes, method, weights, skip, dtype)
    elif not array.ndim:
        quantiles = _along(array.reshape(1), wanted, (0,), method, skip, dtype)
    elif _selects(array, axes):
        quantiles = _selected(name, array, wanted, axes, method, skip, dtype)
    else:
        quantiles = _along(array, wanted, axes, method, skip, dtype)
    if keepdims and axes:
        quantiles = expand_dims(quantiles, tuple(np.ndim(wanted) + i for i in axes))
    return (deliver_reduced if method == "median" else deliver)(name, quantiles, out)


def _lazily(
    name: str, x: Array, q: ArrayBase, axis: AxisLike, method: str, keepdims: bool, weights: ArrayLike
) -> Array:
    """Compute lazy levels first, when the result is computed; its grid and dtype don't depend on their values."""
    if q.dtype.kind not in "biuf" or q.ndim > 2:
        raise ArgumentError(bad(name, "q", (q.dtype, q.shape), "real numbers, along at most two axes"))
    more = () if weights is None else (as_array(name, "weights", weights),)
    axes = check_axes(name, axis, x.ndim)
    outline = _known(x, np.zeros(q.shape, q.dtype), *more, name, axes, method, keepdims)
    params = (name, axes, method, keepdims, outline.expr.grid)
    return defer(name, _by_levels, (x, q, *more), params, outline.expr.grid, outline.dtype)


def _known(x: Array, q: np.ndarray[Any, Any], *rest: Any) -> Array:
    """Return quantiles at known levels; `rest` are weights, if there are any, and the arguments."""
    *weights, name, axes, method, keepdims = rest
    quantiles: Array = find_quantiles(name, x, q, axes, None, method, keepdims, weights[0] if weights else None, False)
    return quantiles


def _by_levels(x: Array, q: Array, *rest: Any) -> Generator[Any, Any, Array]:
    levels = yield q
    return regrid(_known(x, np.asarray(levels), *rest[:-1]), rest[-1])


def _levels(name: str, q: ArrayLike, method: str) -> Any:
    """Return the levels as fractions: a Python number, which doesn't widen the dtype, or an array."""
    levels = np.asarray(q)
    scale = 100 if "percentile" in name else 1
    if levels.dtype.kind not in "biuf" or levels.ndim > 2:
        raise ArgumentError(bad(name, "q", q, "real numbers, along at most two axes"))
    if levels.size and not (np.min(levels) >= 0 and np.max(levels) <= scale):
        raise ArgumentError(bad(name, "q", q, f"numbers from 0 to {scale}"))
    if method not in (*METHODS, "median"):
        raise ArgumentError(bad(name, "method", method, f"one of {', '.join(METHODS)}"))
    part = levels / 100 if scale == 100 else levels
    if type(q) in (int, float) and (part.dtype.kind == "f" or method != "linear"):
        return float(part)
    return np.asarray(part)


def _result_dtype(
    name: str, x: Array, q: ArrayLike, method: str, axes: tuple[int, ...], keepdims: bool, weighted: bool
) -> np.dtype[Any]:
    """Return the dtype of NumPy's result; its byte order depends on whether that is a scalar."""
    source = x.dtype
    shape = (1,) * x.ndim
    sample = np.ones(shape, source) if source.kind not in "mM" else np.zeros(shape, source)
    weights = np.ones(shape) if weighted and method == "inverted_cdf" else None
    try:
        if source.kind == "c" and method != "median":
            raise TypeError("complex numbers have no such order")
        kind = "nan" if name.startswith("nan") else ""
        if method == "median":
            quantiles = getattr(np, f"{kind}median")(sample, axes, keepdims=keepdims)
        else:
            options = {"method": method, "keepdims": keepdims, "weights": weights}
            quantiles = getattr(np, f"{kind}quantile")(sample, q, axes, **options)
    except (TypeError, ValueError) as error:
        raise DTypeError(bad(name, "a", source, f"an array of real numbers ({error})")) from error
    return source if source.kind in "SU" else np.asarray(quantiles).dtype


def _selects(x: Array, axes: tuple[int, ...]) -> bool:
    """Tell whether axes are too long to be brought into one chunk, and lines are few enough to be searched one by
    one."""
    grid = x.expr.grid
    lengths = math.prod(x.shape[i] for i in axes)
    if all(grid.axes[i].count == 1 for i in axes) or lengths <= max(grid.largest, coalesce.SMALLEST):
        return False
    return x.size // lengths <= LINES


def _selected(
    name: str, x: Array, q: Any, axes: tuple[int, ...], method: str, skip: bool, dtype: np.dtype[Any]
) -> Array:
    """Select by ranks, line by line."""
    rest = [i for i in range(x.ndim) if i not in axes]
    merged = moveaxis(x, axes, range(len(rest), x.ndim)).reshape(*(x.shape[i] for i in rest), -1)
    shape = merged.shape[:-1]
    grid = Grid([Axis.whole(n) for n in (*shape, *np.shape(q))])
    quantiles = defer(
        name, partial(by_lines, select_quantiles), (merged,), (q, method, skip, dtype, len(rest)), grid, dtype
    )
    return moveaxis(quantiles, range(len(rest), quantiles.ndim), range(np.ndim(q)))


def _along(x: Array, q: ArrayLike, axes: tuple[int, ...], method: str, skip: bool, dtype: np.dtype[Any]) -> Array:
    """Bring axes into one chunk, and sort there."""
    if not axes:
        return _along(expand_dims(x, x.ndim), q, (x.ndim,), method, skip, dtype)
    x = coalesce.whole(x, axes)
    return make(
        BlockFunction("order.quantiles:along", (axes, q, method, skip, dtype), axes=(_operand_axes(x, axes, q),)),
        (x,),
        _grid(x, axes, q),
        dtype,
    )


def _operand_axes(x: Array, axes: tuple[int, ...], q: Any) -> tuple[int | None, ...]:
    rest = [i for i in range(x.ndim) if i not in axes]
    return tuple(None if i in axes else np.ndim(q) + rest.index(i) for i in range(x.ndim))


def _grid(x: Array, axes: tuple[int, ...], q: ArrayLike) -> Grid:
    front = [Axis.whole(n) for n in np.shape(q)]
    return Grid([*front, *(own for i, own in enumerate(x.expr.grid.axes) if i not in axes)])


def _weighted(
    name: str,
    x: Array,
    q: ArrayLike,
    axes: tuple[int, ...],
    method: str,
    weights: ArrayLike,
    skip: bool,
    dtype: np.dtype[Any],
) -> Array:
    if method != "inverted_cdf":
        raise ArgumentError(bad(name, "method", method, "'inverted_cdf', the only one for weights"))
    weight_array = as_array(name, "weights", weights)
    x = coalesce.whole(x, axes)
    if weight_array.shape == x.shape:
        weight_array, operand_axes = regrid(weight_array, x.expr.grid), _operand_axes(x, axes, q)
    elif len(axes) == 1 and weight_array.shape == (x.shape[axes[0]],):
        weight_array, operand_axes = regrid(weight_array, Grid.single(weight_array.shape)), (None,)
    else:
        raise ShapeError(bad(name, "weights", weight_array.shape, f"the shape {x.shape}, or the length of one axis"))
    op = BlockFunction(
        "order.quantiles:weighted_quantile", (axes, q, skip, dtype), axes=(_operand_axes(x, axes, q), operand_axes)
    )
    return make(op, (x, weight_array), _grid(x, axes, q), dtype)
