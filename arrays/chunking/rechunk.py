"""Chunk grids of operands: changing them, and bringing several operands to one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.chunks.normalize import normalize, parse_bytes
from ...graph.errors import ArgumentError, bad
from ...graph.expr.expr import Expr
from ...graph.kinds.move import rechunk as rechunk_move
from ...graph.kinds.source import Host, Source
from ...workers.config import config
from ..base import ArrayBase, as_array, broadcast_shape, check_dtype, check_shape, grid_for, make, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..array import Array
    from ..typing import ArrayLike, ChunksLike, DTypeLike

__all__ = [
    "normalize_chunks",
    "rechunk",
]


def regrid(x: ArrayBase, grid: Grid) -> Array:
    """Return the array on another chunk grid; formulas and the user's memory are read on it at once."""
    expr = x.expr
    if expr.grid == grid:
        return wrap(expr)
    op = expr.op
    if expr.pin is None and (isinstance(op, Source) or (isinstance(op, Host) and op.data.in_place)):
        return wrap(Expr(op, (), grid, expr.dtype, expr.origin))
    return make(rechunk_move(x.ndim), (x,), grid, x.dtype)


def drop_empty_chunks(x: ArrayBase, axes: Iterable[int]) -> Array:
    """Return the array without its empty chunks along axes, which many functions don't take.

    A mask that holds nowhere in a chunk leaves such.
    """
    new_axes = list(x.expr.grid.axes)
    for i in axes:
        if not new_axes[i].is_regular:
            sizes = np.asarray(new_axes[i].sizes())
            new_axes[i] = new_axes[i] if sizes.all() else Axis.of_sizes(sizes[sizes > 0])
    return regrid(x, Grid(new_axes))


def rechunk(x: ArrayLike, chunks: ChunksLike = "auto") -> Array:
    """Return the array with other chunks.

    Parameters
    ----------
    x : array_like
        The array.
    chunks : int, str, tuple, dict or None
        Sizes for each axis, one size for all, -1 for a whole axis, or "auto": about `config.chunk_bytes` each. An axis
        whose entry is None, or that a dict doesn't name, keeps its chunks.

    Returns
    -------
    Array
        Lazy, with the same elements.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    DTypeError
        `x` holds Python objects.
    ChunksError
        `chunks` can't be read or doesn't fit the shape.

    >>> wr.rechunk(wr.arange(10, chunks=5), 4).chunks
    ((4, 4, 2),)
    """
    array = as_array("rechunk", "x", x)
    return regrid(array, grid_for("rechunk", chunks, array.shape, array.dtype, array.expr.grid))


def normalize_chunks(
    chunks: Any,
    shape: tuple[int, ...] | None = None,
    limit: int | str | None = None,
    dtype: DTypeLike = None,
    previous_chunks: Any = None,
) -> tuple[tuple[int, ...], ...]:
    """Return the sizes of the chunks along each axis that `chunks=` means.

    Parameters
    ----------
    chunks : int, str, tuple, dict or None
        For each axis, or one for all: a size, the sizes of all chunks, -1 for the whole axis, "auto", or bytes as text
        ("64 MiB": "auto" with this limit). None, and an axis that a dict doesn't name: as in `previous_chunks`, else
        the whole axis.
    shape : tuple of int, optional
        Shape of the array; None: the sum of the sizes along each axis.
    limit : int or str, optional
        Bytes of a chunk that "auto" aims at; None: `config.chunk_bytes`.
    dtype : dtype, optional
        Of the elements, for "auto" and bytes; None: float64.
    previous_chunks : tuple, optional
        Present chunks, as `x.chunks` gives them.

    Returns
    -------
    tuple of tuple of int
        The sizes of the chunks along each axis.

    Raises
    ------
    ArgumentError
        `shape` is missing and `chunks` doesn't give all sizes, or `limit` is no number of bytes.
    ShapeError
        `shape` has a negative length.
    DTypeError
        `dtype` is not a NumPy dtype, or one of Python objects.
    ChunksError
        `chunks` can't be read or doesn't fit the shape.

    >>> wr.normalize_chunks({0: 4}, shape=(10, 3))
    ((4, 4, 2), (3,))
    >>> wr.normalize_chunks("auto", shape=(8,), limit=32, dtype="f8")
    ((4, 4),)
    """
    name = "normalize_chunks"
    if shape is None:
        if not isinstance(chunks, tuple | list) or not all(isinstance(c, tuple | list) for c in chunks):
            raise ArgumentError(bad(name, "shape", shape, "a shape, unless chunks has the sizes along each axis"))
        shape = tuple(sum(c) for c in chunks)
    lengths = check_shape(name, shape)
    known = check_dtype(name, "dtype", np.float64 if dtype is None else dtype)
    try:
        most = config.chunk_bytes if limit is None else parse_bytes(limit)
    except (TypeError, ValueError) as error:
        raise ArgumentError(bad(name, "limit", limit, "bytes, such as 1000 or '64 MiB'")) from error
    previous = None
    if previous_chunks is not None:
        previous = normalize(name, previous_chunks, lengths, known, most)
    return normalize(name, chunks, lengths, known, most, previous).chunks()


def common_axes(arrays: Sequence[ArrayBase], shape: tuple[int, ...]) -> list[Axis]:
    """Return for each axis of the broadcast shape the chunks of the operand with most bytes there.

    Among operands of as many bytes, in as many chunks, it is the one whose chunks are the most even: so the chunks of
    neighbours in a stencil, `p[:-2] + p[1:-1] + p[2:]`, don't wander by a position each time it is applied.
    """
    by_bytes = sorted(arrays, key=lambda a: -a.nbytes)
    return [_common_axis(by_bytes, i - len(shape), n) for i, n in enumerate(shape)]


def _common_axis(by_bytes: list[ArrayBase], place: int, n: int) -> Axis:
    common, most = None, -1
    for array in by_bytes if n != 1 else ():
        if -place <= array.ndim and array.shape[place] == n:
            axis = array.expr.grid.axes[place]
            if common is None:
                common, most = axis, array.nbytes
            elif array.nbytes < most:
                break
            elif axis is not common and axis.count == common.count and axis.largest < common.largest:
                common = axis
    return Axis.whole(n) if common is None else common


def align_chunks(operation: str, arrays: Sequence[ArrayBase]) -> tuple[Grid, list[Array]]:
    """Return the grid of what operands broadcast to, and the operands rechunked to fit it."""
    first = arrays[0].expr.grid
    if all(a.expr.grid is first for a in arrays) and not any(a.length == 1 != a.count for a in first.axes):
        return first, [wrap(a.expr) for a in arrays]
    shape = broadcast_shape(operation, *(a.expr.shape for a in arrays))
    axes = common_axes(arrays, shape)
    grid = next((a.expr.grid for a in arrays if _has_axes(a.expr.grid, axes)), None) or Grid(axes)
    fitted = []
    for array in arrays:
        if array.expr.grid is grid:
            fitted.append(wrap(array.expr))
            continue
        mine = axes[len(axes) - array.ndim :]
        wanted = [Axis.whole(1) if n == 1 else axis for n, axis in zip(array.shape, mine, strict=True)]
        fitted.append(regrid(array, Grid(wanted)))
    return grid, fitted


def _has_axes(grid: Grid, axes: list[Axis]) -> bool:
    """Whether a grid has these very axes."""
    return len(grid.axes) == len(axes) and all(a is b for a, b in zip(grid.axes, axes, strict=True))
