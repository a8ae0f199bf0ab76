"""Repeating arrays along new axes and size-1 axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.axismap import Fixed, Slice
from ....graph.chunks.grid import Axis
from ....graph.errors import ShapeError, bad
from ...base import ArrayBase, as_array, broadcast_shape, check_shape, grid_for
from ...chunking.rechunk import common_axes, regrid
from ...views import gives_readonly_view
from .axis_moves import move

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...array import Array
    from ...typing import ArrayLike, ChunksLike

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
]


def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to.

    Parameters
    ----------
    *shapes : int or tuple of int
        The shapes.

    Returns
    -------
    tuple of int
        The common shape.

    Raises
    ------
    ArgumentError
        `shapes` is not an integer or a tuple of integers.
    ShapeError
        `shapes` has a negative length, or 2**63 elements or more. The shapes don't broadcast.

    >>> wr.broadcast_shapes((3, 1), (4,), ())
    (3, 4)
    """
    return broadcast_shape("broadcast_shapes", *(check_shape("broadcast_shapes", s, "shapes") for s in shapes))


@gives_readonly_view
def broadcast_to(
    array: ArrayLike, shape: int | Sequence[int], subok: bool = False, *, chunks: ChunksLike = None
) -> Array:
    """Return the array broadcast to a shape.

    Parameters
    ----------
    array : array_like
        The array.
    shape : int or tuple of int
        The shape; that of `array` must broadcast to it.
    subok : bool
        Accepted for NumPy and ignored: there are no subclasses.
    chunks : int, str, tuple, dict or None
        Chunks of the result. None, or an entry of None: one chunk along a repeated axis, the array's own along the
        others.

    Returns
    -------
    Array
        Lazy, of that shape; a read-only view, as in NumPy.

    Raises
    ------
    ArgumentError
        `array` can't be read as an array: an unknown object, a ragged sequence or a masked array. `shape` is not an
        integer or a tuple of integers.
    ShapeError
        `shape` has a negative length, or 2**63 elements or more. The array's shape doesn't broadcast to `shape`.
    DTypeError
        `array` holds Python objects.
    ChunksError
        `chunks` can't be read or doesn't fit the shape.

    >>> wr.broadcast_to(wr.arange(2), (2, 2)).compute()
    array([[0, 1],
           [0, 1]])
    """
    source = as_array("broadcast_to", "array", array)
    wanted = check_shape("broadcast_to", shape)
    if len(wanted) < source.ndim or broadcast_shape("broadcast_to", source.shape, wanted) != wanted:
        raise ShapeError(bad("broadcast_to", "shape", wanted, f"a shape that {source.shape} broadcasts to"))
    broadcasted = _broadcast(source, [Axis.whole(n) for n in wanted])
    if chunks is None:
        return broadcasted
    grid = grid_for("broadcast_to", chunks, wanted, source.dtype, broadcasted.expr.grid)
    return regrid(_broadcast(source, list(grid.axes)), grid)


def _broadcast(array: Array, axes: list[Axis]) -> Array:
    """Broadcast to the lengths of `axes`, with their chunks where an axis is repeated."""
    if array.shape == tuple(a.length for a in axes):
        return array
    axes, steps = list(axes), []
    shift = len(axes) - array.ndim
    for i, own in enumerate(array.expr.grid.axes):
        same = own.length == axes[i + shift].length
        steps.append((i + shift, Slice()) if same else (None, Fixed(0)))
        axes[i + shift] = own if same else axes[i + shift]
    return move("broadcast_to", array, steps, axes)


def broadcast_any(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """Do what NumPy's `broadcast_arrays` does with Python objects among lazy arrays: these stay NumPy's arrays."""
    arrays: list[Any] = [a if isinstance(a, ArrayBase) else np.asanyarray(a) for a in args]
    plain = [not isinstance(a, ArrayBase) and a.dtype.hasobject for a in arrays]
    if not any(plain):
        return broadcast_arrays(*args)
    shape = broadcast_shape("broadcast_arrays", *(a.shape for a in arrays))
    return tuple(np.broadcast_to(a, shape) if p else broadcast_to(a, shape) for a, p in zip(arrays, plain, strict=True))


@gives_readonly_view
def broadcast_arrays(*arrays: ArrayLike, subok: bool = False) -> tuple[Array, ...]:
    """Return arrays broadcast to their common shape.

    Parameters
    ----------
    *arrays : array_like
        The arrays.
    subok : bool
        Accepted for NumPy and ignored: there are no subclasses.

    Returns
    -------
    tuple of Array
        Lazy, all of one shape and with the same chunks.

    Raises
    ------
    ArgumentError
        `arrays` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        The shapes don't broadcast.
    DTypeError
        `arrays` holds Python objects.

    >>> [a.shape for a in wr.broadcast_arrays(wr.ones((2, 1)), wr.ones(3))]
    [(2, 3), (2, 3)]
    """
    operands = [as_array("broadcast_arrays", "arrays", a) for a in arrays]
    shape = broadcast_shape("broadcast_arrays", *(a.shape for a in operands))
    axes = common_axes(operands, shape)
    return tuple(_broadcast(a, axes) for a in operands)
