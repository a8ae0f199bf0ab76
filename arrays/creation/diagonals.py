"""Diagonals and triangles of matrices, and matrices made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer, is_integer
from ...graph.chunks.axismap import Slice
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.move import Move, Route
from ...workers.config import config
from ..base import LONGEST, as_array, check_axis, check_shape, grid_for, make
from ..chunking.rechunk import regrid
from ..ops.elementwise.functions import where
from ..ops.moves.axis_moves import expand_dims, moveaxis
from ..ops.outputs import deliver_reduced
from ..ops.reductions.nodes import reduce_from
from ..views import gives_readonly_view
from .docstrings import CREATION
from .ranges import arange

if TYPE_CHECKING:
    from ...graph.expr.expr import DType
    from ..array import Array
    from ..typing import ArrayLike, DTypeLike, OutLike

__all__ = [
    "diag",
    "diagflat",
    "diagonal",
    "trace",
    "tril",
    "triu",
    "vander",
]


def _offset(operation: str, argument: str, value: object) -> int:
    return check_integer(operation, argument, value)


def trace(
    a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike = None, out: OutLike = None
) -> Any:
    """Return the sum along a diagonal.

    Parameters
    ----------
    a : array_like, at least 2-D
        Matrices along `axis1` and `axis2`.
    offset : int
        The diagonal: 0 is the main one, positive ones lie above it.
    axis1, axis2 : int
        Axes of the matrices' rows and columns.
    dtype : dtype, optional
        In which to add; None: as for `sum`.
    {out}

    Returns
    -------
    Array
        Lazy, with the other axes of `a`: 0-d for one matrix.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `offset` or an axis is
        not an integer. `out` is not an array.
    ShapeError
        `a` has fewer than two axes, or `axis1` equals `axis2`. `out` doesn't have the result's shape.
    AxisError
        `axis1` or `axis2` is out of range for `a`.
    DTypeError
        `a` holds Python objects. The result can't be cast to the dtype of `out` by the rule "same_kind".

    >>> wr.trace(wr.eye(3)).compute()
    np.float64(3.0)
    """
    diagonals = _diagonal("trace", a, offset, axis1, axis2)
    total = reduce_from("sum", diagonals, -1, dtype, False, np._NoValue, True, "trace")
    return deliver_reduced("trace", total, out)


@gives_readonly_view
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return a diagonal of a matrix, or of each matrix along two axes.

    Parameters
    ----------
    a : array_like, at least 2-D
        Matrices along `axis1` and `axis2`.
    offset : int
        The diagonal: 0 is the main one, positive ones lie above it.
    axis1, axis2 : int
        Axes of the matrices' rows and columns.

    Returns
    -------
    Array
        Lazy: the other axes of `a`, then the diagonal. Only chunks on the diagonal are read.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `offset` or an axis is
        not an integer.
    ShapeError
        `a` has fewer than two axes, or `axis1` equals `axis2`.
    AxisError
        `axis1` or `axis2` is out of range for `a`.
    DTypeError
        `a` holds Python objects.

    >>> wr.diagonal(wr.eye(3)).compute()
    array([1., 1., 1.])
    """
    return _diagonal("diagonal", a, offset, axis1, axis2)


def _diagonal(operation: str, a: ArrayLike, offset: Any, axis1: Any, axis2: Any) -> Array:
    """Rechunk the square around the diagonal into square chunks along it; only these are read."""
    x = as_array(operation, "a", a)
    if x.ndim < 2:
        raise ShapeError(bad(operation, "a", x.shape, "at least two axes"))
    first, second = check_axis(operation, axis1, x.ndim, "axis1"), check_axis(operation, axis2, x.ndim, "axis2")
    if first == second:
        raise ShapeError(bad(operation, "axis2", axis2, f"another axis than axis1, {axis1}"))
    k = _offset(operation, "offset", offset)
    x = moveaxis(x, (first, second), (-2, -1))
    rows, columns = x.shape[-2:]
    top, left = max(-k, 0), max(k, 0)
    n = max(0, min(rows - top, columns - left))
    lead = x.ndim - 2
    if n == 0:
        top = left = 0
    grid = x.expr.grid
    axis = _square_axis(grid.axes[-2], grid.axes[-1], top, left, n)
    route = Route((*((i, Slice()) for i in range(lead)), (lead, Slice(top)), (lead + 1, Slice(left))))
    wanted = Grid([*grid.axes[:-2], axis, axis])
    square = x if wanted == grid else make(Move("slice", (route,)), (x,), wanted, x.dtype)
    operand_axes = ((*range(lead), lead, lead),)
    return make(
        BlockFunction("linalg.diagonals:diagonal", axes=operand_axes), (square,), Grid([*grid.axes[:-2], axis]), x.dtype
    )


def _square_axis(rows: Axis, columns: Axis, top: int, left: int, n: int) -> Axis:
    """Return the chunks of a diagonal: those of the axis that has more chunks there."""
    if n == 0:
        return Axis.regular(0, 1)
    finer, start = (rows, top) if rows.largest <= columns.largest else (columns, left)
    bounds = np.append(finer.start(np.arange(finer.count)), finer.length)
    sizes = np.diff(np.clip(bounds - start, 0, n))
    return Axis.of_sizes(sizes[sizes > 0])


@gives_readonly_view
def diag(v: ArrayLike, k: int = 0) -> Array:
    """Return a diagonal of a matrix, or the matrix with a given diagonal and zeros elsewhere.

    Parameters
    ----------
    v : array_like, 1-D or 2-D
        A matrix, or the elements of the diagonal.
    {k}

    Returns
    -------
    Array
        Lazy: 1-D for a matrix, 2-D for a vector.

    Raises
    ------
    ArgumentError
        `v` can't be read as an array: an unknown object, a ragged sequence or a masked array. `k` is not an integer.
    ShapeError
        `v` is neither 1-D nor 2-D.
    DTypeError
        `v` holds Python objects.

    >>> wr.diag(wr.arange(1, 3)).compute()
    array([[1, 0],
           [0, 2]])
    """
    x = as_array("diag", "v", v)
    if x.ndim == 2:
        return _diagonal("diag", x, k, 0, 1)
    if x.ndim != 1:
        raise ShapeError(bad("diag", "v", x.shape, "a 1-D or 2-D array"))
    offset = _offset("diag", "k", k)
    if len(x) + abs(offset) > LONGEST:
        raise ShapeError(bad("diag", "k", k, "a matrix of fewer than 2**63 rows"))
    front, back = (0, offset) if offset >= 0 else (-offset, 0)
    n = front + len(x) + back
    grid = _around(x.expr.grid.axes[0], front, back, x.dtype) or grid_for("diag", "auto", (n, n), x.dtype)
    padded = make(
        Move("diag", (Route(((0, Slice(-front)),)),), np.zeros((), x.dtype)[()]), (x,), Grid(grid.axes[:1]), x.dtype
    )
    i, j = expand_dims(_positions(grid.axes[0], offset), 1), _positions(grid.axes[1], 0)
    placed: Array = where(i == j, expand_dims(padded, 1), np.zeros((), x.dtype))
    return placed


def _around(own: Axis, front: int, back: int, dtype: DType) -> Grid | None:
    """Return the squares along a diagonal in its elements' chunks, with the rows before and behind; None if they are
    too large."""
    sizes = [size for size in own.sizes() if size]
    rows = Axis.of_sizes([*[front] * (front > 0), *sizes, *[back] * (back > 0)])
    columns = Axis.of_sizes([*[back] * (back > 0), *sizes, *[front] * (front > 0)])
    return Grid([rows, columns]) if rows.largest * columns.largest * dtype.itemsize <= config.chunk_bytes else None


def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """Return the matrix that has the flattened elements on a diagonal.

    Parameters
    ----------
    v : array_like
        The elements, in C order.
    {k}

    Returns
    -------
    Array
        2-D and lazy, with v.size + abs(k) rows and columns.

    Raises
    ------
    ArgumentError
        `v` can't be read as an array: an unknown object, a ragged sequence or a masked array. `k` is not an integer.
    ShapeError
        The matrix would have 2**63 elements or more.
    DTypeError
        `v` holds Python objects.

    >>> wr.diagflat(wr.ones((1, 2)), 1).shape
    (3, 3)
    """
    return diag(as_array("diagflat", "v", v).reshape(-1), k)


def _keep_side(operation: str, m: ArrayLike, k: Any, lower: bool) -> Array:
    """Keep one side of a diagonal of the last two axes; a 1-D array is each row of a square."""
    x = as_array(operation, "m", m)
    if x.ndim == 0:
        raise ShapeError(bad(operation, "m", x.shape, "at least one axis"))
    offset = _offset(operation, "k", k)
    if x.ndim == 1:
        (own,) = x.expr.grid.axes
        route = Route(((1, Slice()),))
        x = make(Move(operation, (route,)), (x,), Grid([own, own]), x.dtype)
    rows, columns = x.expr.grid.axes[-2:]
    i = expand_dims(_positions(rows, 0), 1)
    j = _positions(columns, -offset)
    mask = (i >= j) if lower else (i <= j)
    kept: Array = where(mask, x, np.zeros((), x.dtype))
    return kept


def _positions(axis: Axis, start: int) -> Array:
    return regrid(arange(start, start + axis.length), Grid([axis]))


def tril(m: ArrayLike, k: int = 0) -> Array:
    """Return the lower triangle: elements above a diagonal become zero.

    Parameters
    ----------
    m : array_like (..., M, N)
        Matrices along the last two axes; a 1-D array is each row of a square.
    {k}

    Returns
    -------
    Array
        Lazy, of the shape and dtype of `m`.

    Raises
    ------
    ArgumentError
        `m` can't be read as an array: an unknown object, a ragged sequence or a masked array. `k` is not an integer.
    ShapeError
        `m` is 0-d.
    DTypeError
        `m` holds Python objects.

    >>> wr.tril(wr.ones((2, 2))).compute()
    array([[1., 0.],
           [1., 1.]])
    """
    return _keep_side("tril", m, k, True)


def triu(m: ArrayLike, k: int = 0) -> Array:
    """Return the upper triangle: elements below a diagonal become zero.

    {sections of tril}

    >>> wr.triu(wr.ones((2, 2))).compute()
    array([[1., 1.],
           [0., 1.]])
    """
    return _keep_side("triu", m, k, False)


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """Return the Vandermonde matrix: powers of a vector's elements.

    Parameters
    ----------
    x : array_like, 1-D
        The elements, one for each row.
    N : int, optional
        Number of columns; None: the length of `x`.
    increasing : bool
        Whether powers rise from 0 from left to right; else they fall to 0.

    Returns
    -------
    Array
        Lazy, of shape (len(x), N); the dtype holds integers at least.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `N` is not an integer.
    ShapeError
        `x` is not 1-D, or `N` is negative.
    DTypeError
        `x` holds Python objects.

    >>> wr.vander(wr.arange(1, 4), 3).compute()
    array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]])
    """
    vector = as_array("vander", "x", x)
    if vector.ndim != 1:
        raise ShapeError(bad("vander", "x", vector.shape, "a 1-D array"))
    if N is not None and not is_integer(N):
        raise ArgumentError(bad("vander", "N", N, "an integer, or None"))
    count = len(vector) if N is None else check_shape("vander", N, "N")[0]
    dtype = np.promote_types(vector.dtype, int)
    rows = vector.expr.grid.axes[0]
    room = max(1, (1 << 20) // max(1, count))
    if rows.largest > room:
        rows = Axis.regular(len(vector), room)
    grid = Grid([rows, Axis.whole(count)])
    op = BlockFunction("linalg.diagonals:vander", (count, bool(increasing)), ((0,),))
    return make(op, (regrid(vector, Grid([rows])),), grid, dtype)


CREATION.fill(__name__)
