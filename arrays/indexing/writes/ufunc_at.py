"""The methods of ufuncs that take positions: `at`, which counts positions that occur several times, and `reduceat`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, DTypeError, IndexingError, bad
from ....graph.kinds.mapping import BlockFunction
from ...base import ArrayBase, as_array, check_axis, check_dtype, check_writable, make, wrap
from ...chunking import coalesce
from ...chunking.rechunk import regrid
from ...creation.ranges import arange
from ...execution.deferred import defer
from ...ops.moves.broadcasting import broadcast_to
from ..getitem import getitem
from .setitem import assign

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ...array import Array
    from ...typing import ArrayLike, AxisLike, DTypeLike


def apply_at(
    ufunc: np.ufunc, function: Callable[..., Any], a: ArrayLike, indices: ArrayLike, operands: tuple[Any, ...]
) -> None:
    """Apply `ufunc.at` to an array.

    A key without repeated elements is read, and set. Otherwise positions and values are brought into one chunk, and
    each chunk of the array picks its own among them.
    """
    name = f"{ufunc.__name__}.at"
    if ufunc.nin != 1 + len(operands):
        raise ArgumentError(bad(name, "operands", f"{1 + len(operands)} operands", f"{ufunc.nin}, the indices aside"))
    if isinstance(a, np.ndarray):
        ufunc.at(a, _compute(indices), *map(_compute, operands))
        return
    if not isinstance(a, ArrayBase):
        raise ArgumentError(bad(name, "a", type(a).__name__, "an array, whose elements are set"))
    values = tuple(as_array(name, "b", b) for b in operands)
    _check_dtypes(ufunc, name, a.dtype, values)
    check_writable(name, a)
    x = wrap(a.expr)
    if not _repeats(indices):
        a.expr = assign(x, indices, function(getitem(x, indices), *values)).expr
        return
    numbers = getitem(arange(x.size, chunks=-1).reshape(x.shape), indices)
    line = regrid(numbers.reshape(-1), Grid.single((numbers.size,)))
    flat = [
        v.reshape(1) if v.size == 1 else regrid(broadcast_to(v, numbers.shape).reshape(-1), line.expr.grid)
        for v in values
    ]
    op = BlockFunction(
        "elements.unbuffered:at",
        (ufunc.__name__, x.shape),
        (tuple(range(x.ndim)), (None,), *[(None,)] * len(flat)),
        where=True,
    )
    a.expr = make(op, (x, line, *flat), x.expr.grid, x.dtype).expr


def _compute(value: object) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_compute, value))
    return np.asarray(value) if isinstance(value, ArrayBase) else value


def _check_dtypes(ufunc: np.ufunc, name: str, dtype: np.dtype[Any], values: tuple[Array, ...]) -> None:
    for value in values:
        if value.dtype.kind == "c" and dtype.kind != "c":
            raise DTypeError(bad(name, "b", value.dtype, f"a dtype that {dtype} can hold; take .real or abs()"))
    try:
        with np.errstate(all="ignore"):
            ufunc.at(np.ones(1, dtype), [0], *(np.ones(1, v.dtype) for v in values))
    except TypeError as error:
        raise DTypeError(bad(name, "a", dtype, f"a dtype that holds what is computed ({error})")) from error
    except (ValueError, IndexError) as error:
        raise ArgumentError(f"{name}: {error}") from error


def _repeats(indices: ArrayLike) -> bool:
    """Whether a key may name an element more than once: it has arrays of positions."""
    for item in indices if isinstance(indices, tuple) else (indices,):
        if isinstance(item, ArrayBase | np.ndarray | list):
            array = item if isinstance(item, ArrayBase | np.ndarray) else np.asarray(item)
            if array.ndim and array.dtype.kind in "iu":
                return True
    return False


def reduce_runs(ufunc: np.ufunc, array: ArrayLike, indices: ArrayLike, axis: AxisLike, dtype: DTypeLike) -> Array:
    """Return what `ufunc.reduceat` gives.

    Where runs begin in order, chunks along the axis are cut where runs begin, and each reduces its own; else the axis
    comes into one chunk.
    """
    name = f"{ufunc.__name__}.reduceat"
    x = as_array(name, "array", array)
    along = check_axis(name, axis, x.ndim)
    wanted = None if dtype is None else check_dtype(name, "dtype", dtype)
    try:
        known = np.asarray(ufunc.reduceat(np.ones(1, x.dtype), [0], dtype=wanted)).dtype
    except (TypeError, ValueError) as error:
        raise DTypeError(bad(name, "array", x.dtype, f"a dtype that it takes ({error})")) from error
    starts = indices if isinstance(indices, ArrayBase) else np.asarray(indices)
    if isinstance(indices, list | tuple) and not indices:
        starts = np.zeros(0, np.intp)
    if starts.ndim != 1 or starts.dtype.kind not in "iu":
        raise ArgumentError(bad(name, "indices", indices, "whole numbers along one axis"))
    if isinstance(starts, ArrayBase):
        axes = list(coalesce.whole_grid(x.expr.grid, {along}).axes)
        axes[along] = Axis.whole(starts.shape[0])
        return defer(name, _apply_at, (x, starts), (ufunc.__name__, along, known, Grid(axes)), Grid(axes), known)
    return _runs(name, x, starts.astype(np.int64), along, known)


def _apply_at(
    x: Array, starts: Array, ufunc: str, along: int, dtype: np.dtype[Any], grid: Grid
) -> Generator[Any, Any, Array]:
    known = yield starts
    return regrid(_runs(f"{ufunc}.reduceat", x, known.astype(np.int64), along, dtype), grid)


def _runs(name: str, x: Array, starts: np.ndarray[Any, Any], along: int, dtype: np.dtype[Any]) -> Array:
    n = x.shape[along]
    if len(starts) and not (starts.min() >= 0 and starts.max() < n):
        raise IndexingError(bad(name, "indices", starts, f"positions from 0 to {n - 1}"))
    ordered = len(starts) > 0 and bool((np.diff(starts) >= 0).all())
    if ordered:
        first = int(starts[0])
        x = getitem(x, (*[slice(None)] * along, slice(first, None)))
        starts = starts - first
        own = x.expr.grid.axes[along]
        borders = np.asarray(own.start(np.arange(own.count)))
        at = np.searchsorted(starts, borders)
        cuts = np.unique(starts[at[at < len(starts)]])
        axes = list(x.expr.grid.axes)
        axes[along] = Axis.of_sizes(np.diff(cuts, append=n - first))
        x = regrid(x, Grid(axes))
        axes[along] = Axis.of_sizes(np.diff(np.searchsorted(starts, cuts), append=len(starts)))
    else:
        x = coalesce.whole(x, {along})
        axes = list(x.expr.grid.axes)
        axes[along] = Axis.whole(len(starts))
    params = (name.partition(".")[0], along, None if dtype.kind in "mM" else dtype, starts, not ordered)
    return make(BlockFunction("elements.unbuffered:reduceat", params, where=True), (x,), Grid(axes), dtype)
