"""Searching sorted arrays, tables and bins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ..base import ArrayBase, as_array, make
from ..chunking import coalesce
from ..chunking.rechunk import regrid
from ..ops.elementwise.functions import astype
from ..ops.elementwise.ufuncs import logical_not
from ..ops.moves.axis_moves import expand_dims
from ..ops.moves.reshaping import ravel
from ..ops.reductions import extremes, sums
from .sorts import in_chunks, sort

if TYPE_CHECKING:
    from ..array import Array
    from ..typing import ArrayLike

__all__ = [
    "digitize",
    "isin",
    "searchsorted",
]

SIDES = ("left", "right")


def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None) -> Array:
    """Return the positions at which elements go into a sorted array.

    Parameters
    ----------
    a : 1-D array
        Sorted, in ascending order, unless `sorter` is given; not checked.
    v : array or scalar
        What to look for, of any shape.
    side : {"left", "right"}
        Whether the position is before or after equal elements.
    sorter : array of int, optional
        Positions that sort `a`; None: it is sorted. Only their number is looked at: `a` is sorted again.

    Returns
    -------
    Array of int64
        In the shape of `v`, positions from 0 to the length of `a`.

    Raises
    ------
    ArgumentError
        `a` or `v` can't be read as an array; `side` is unknown; or `sorter` isn't integers in the shape of `a`.
    ShapeError
        `a` isn't 1-D.
    DTypeError
        `a` and `v` can't be compared.

    Notes
    -----
    A sorted array in several chunks is searched chunk by chunk, and the counts are added; only one of at most 65,536
    elements, or of the size of a chunk, is brought into one.

    >>> wr.searchsorted(wr.arange(10, chunks=4), [2, 11], side="right").compute()
    array([ 3, 10])
    """
    table, x = as_array("searchsorted", "a", a), as_array("searchsorted", "v", v)
    if side not in SIDES:
        raise ArgumentError(bad("searchsorted", "side", side, "'left' or 'right'"))
    if table.ndim != 1:
        raise ShapeError(bad("searchsorted", "a", table.shape, "a 1-D array"))
    _common("searchsorted", "v", table, x)
    if sorter is not None:
        order = as_array("searchsorted", "sorter", sorter)
        if order.shape != table.shape or order.dtype.kind not in "iu":
            description = f"{order.dtype} of shape {order.shape}"
            raise ArgumentError(bad("searchsorted", "sorter", description, f"integers of shape {table.shape}"))
        table = sort(table)
    return over_chunks("positions", table, x, (str(side),), np.dtype(np.int64))


def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> Array:
    """Return the number of the bin that each element is in.

    The bins are brought into one chunk.

    Parameters
    ----------
    x : array_like of real numbers
        What to put into bins, of any shape.
    bins : 1-D array
        Borders of the bins, which rise or fall.
    right : bool
        Whether a border belongs to the bin below it.

    Returns
    -------
    Array of int64
        In the shape of `x`: 0 below the first border of rising ones, their number beyond the last.

    Raises
    ------
    ArgumentError
        `x` or `bins` can't be read as an array; or `bins` neither rises nor falls (lazy bins raise ValueError when the
        result is computed).
    ShapeError
        `bins` isn't 1-D.
    DTypeError
        `x` is complex, or holds Python objects.

    >>> wr.digitize(wr.asarray([0.5, 1.0, 9.0]), [0, 1, 2]).compute()
    array([1, 2, 3])
    """
    array = as_array("digitize", "x", x)
    if array.dtype.kind == "c":
        raise DTypeError(bad("digitize", "x", array.dtype, "real numbers"))
    table = as_array("digitize", "bins", bins)
    if table.ndim != 1:
        raise ShapeError(bad("digitize", "bins", table.shape, "a 1-D array"))
    if not isinstance(bins, ArrayBase):
        try:
            np.digitize(np.empty(0), np.asarray(bins))
        except (ValueError, TypeError) as error:
            raise ArgumentError(bad("digitize", "bins", bins, f"borders that grow or fall ({error})")) from error
    return _whole("bins", table, array, (bool(right),), np.dtype(np.int64))


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: object = None,
) -> Array:
    """Tell for each element whether it is among others.

    The others are sorted, and searched chunk by chunk, unless they fit one chunk.

    Parameters
    ----------
    element : array_like
        What to look for, of any shape.
    test_elements : array_like
        What to look among, of any shape.
    assume_unique : bool
        As in NumPy: whether elements occur once; it makes no difference.
    invert : bool
        Whether to tell which are not among them.
    kind : {None, "sort", "table"}
        As in NumPy; it makes no difference.

    Returns
    -------
    Array of bool
        In the shape and chunks of `element`. NaN isn't among others.

    Raises
    ------
    ArgumentError
        `element` or `test_elements` can't be read as an array; or `kind` is unknown.
    DTypeError
        The elements can't be compared, such as dates and numbers (NumPy says False).

    >>> wr.isin(wr.arange(5), [1, 3]).compute()
    array([False,  True, False,  True, False])
    """
    x, table = as_array("isin", "element", element), ravel(as_array("isin", "test_elements", test_elements))
    if kind not in (None, "sort", "table"):
        raise ArgumentError(bad("isin", "kind", kind, "None, 'sort' or 'table'"))
    dtype = _common("isin", "test_elements", x, table)
    function = "is_in"
    if in_chunks(table, 0) and dtype.kind != "V":
        table, x, function = sort(astype(coalesce.merge_small_chunks(table), dtype)), astype(x, dtype), "is_in_sorted"
    among = over_chunks(function, table, x, (), np.dtype(bool))
    return logical_not(among) if invert else among


def _common(operation: str, argument: str, first: ArrayBase, second: ArrayBase) -> np.dtype[Any]:
    try:
        return np.result_type(first.dtype, second.dtype)
    except TypeError as error:
        raise DTypeError(bad(operation, argument, second.dtype, f"elements to compare with {first.dtype}")) from error


def _whole(function: str, table: Array, x: Array, params: tuple[Any, ...], dtype: np.dtype[Any]) -> Array:
    operand_axes = ((None,), tuple(range(x.ndim)))
    table = regrid(table, Grid.single(table.shape))
    return make(BlockFunction(f"order.searching:{function}", params, axes=operand_axes), (table, x), x.expr.grid, dtype)


def over_chunks(function: str, table: Array, x: Array, params: tuple[Any, ...], dtype: np.dtype[Any]) -> Array:
    """Return the sum (or any) of a function's results for each chunk of a table.

    Small results are computed for all chunks of the table at once, larger ones for one chunk after the other.
    """
    (axis,) = table.expr.grid.axes
    if axis.count == 1 or axis.length <= max(axis.largest, coalesce.SMALLEST):
        return _whole(function, table, x, params, dtype)
    table = coalesce.merge_small_chunks(table)
    (axis,) = table.expr.grid.axes
    if axis.count * x.size <= max(axis.length, coalesce.SMALLEST):
        operand_axes = ((0,), (None, *range(1, x.ndim + 1)))
        op = BlockFunction(f"order.searching:{function}", params, axes=operand_axes)
        grid = Grid([Axis.regular(axis.count, 1), *x.expr.grid.axes])
        each = make(op, (table, expand_dims(x, 0)), grid, dtype)
        total: Array = (extremes.any if dtype.kind == "b" else sums.sum)(each, axis=0)
        return total
    grid, combined = x.expr.grid, None
    for i in range(x.ndim):
        x = coalesce.merge_small_chunks(x, i)
    for i in range(axis.count):
        part = table[axis.start(i) : axis.stop(i)]
        if not part.size:
            continue
        if combined is None:
            combined = _whole(function, part, x, params, dtype)
            continue
        own = tuple(range(x.ndim))
        part = regrid(part, Grid.single(part.shape))
        op = BlockFunction(f"order.searching:more_{function}", params, axes=((None,), own, own))
        combined = make(op, (part, x, combined), x.expr.grid, dtype)
    assert combined is not None
    return regrid(combined, grid)
