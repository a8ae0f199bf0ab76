"""Reshaping: the same elements in C order under another shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, ShapeError, bad
from ....graph.kinds.reshape import Reshape, reshape_grid, reshape_groups
from ...base import ArrayBase, alias, as_array, check_shape, grid_for, make
from ...chunking.rechunk import regrid
from ...views import gives_view, is_contiguous
from .axis_moves import transpose

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, ChunksLike

__all__ = [
    "ravel",
    "reshape",
]


@gives_view
def reshape(
    a: ArrayLike,
    /,
    shape: int | Sequence[int],
    order: str = "C",
    *,
    copy: bool | None = None,
    chunks: ChunksLike = None,
) -> Array:
    """Return the array with another shape; elements keep their C order.

    Parameters
    ----------
    a : array_like
        The array.
    shape : int or tuple of int
        The shape. One length may be -1: it follows from the others.
    order : {"C", "F", "A"}
        "F": elements keep the order in which the first axis runs fastest. "A" is "C".
    copy : bool, optional
        True: the result is no view, so that setting its elements leaves `a` as it is. None or False: it is one where
        NumPy's is.
    chunks : int, str, tuple, dict or None
        Chunks of the result; None: those of `a` where borders fit.

    Returns
    -------
    Array
        Lazy. Where chunks can't be kept, elements move between chunks.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `shape` is neither an
        integer nor a tuple of integers, or `order` is unknown.
    ShapeError
        `shape` has another number of elements, a negative length, or more than one -1.
    DTypeError
        `a` holds Python objects.
    ChunksError
        `chunks` can't be read or doesn't fit the shape.

    >>> wr.reshape(wr.arange(6, chunks=4), (2, -1)).compute()
    array([[0, 1, 2],
           [3, 4, 5]])
    """
    array = as_array("reshape", "a", a)
    wanted = _infer_shape(array.shape, shape)
    if math.prod(wanted) != array.size:
        raise ShapeError(bad("reshape", "shape", shape, f"a shape of {array.size} elements, as {array.shape} has"))
    if order not in ("C", "F", "A"):
        raise ArgumentError(bad("reshape", "order", order, "'C' or 'F'"))
    first = order == "F"
    reshaped = transpose(_reshape(transpose(array), wanted[::-1])) if first else _reshape(array, wanted)
    if chunks is None:
        return reshaped
    return regrid(reshaped, grid_for("reshape", chunks, wanted, array.dtype, reshaped.expr.grid))


def _reshape(array: Array, wanted: tuple[int, ...]) -> Array:
    if wanted == array.shape:
        return array
    if array.size == 0:
        grid = grid_for("reshape", -1, wanted, array.dtype)
        groups: Any = (((0, array.ndim), (0, len(wanted))),)
    else:
        groups = reshape_groups(array.shape, wanted)
        grid = reshape_grid(groups, array.expr.grid, wanted)
    return make(Reshape(groups), (array,), grid, array.dtype)


def _infer_shape(old: tuple[int, ...], shape: Any) -> tuple[int, ...]:
    """Replace -1 by the length that follows from the other axes."""
    lengths = tuple(shape) if isinstance(shape, Sequence | np.ndarray) else (shape,)
    if lengths.count(-1) > 1:
        raise ShapeError(bad("reshape", "shape", shape, "at most one length of -1"))
    if -1 not in lengths:
        return check_shape("reshape", lengths)
    at = lengths.index(-1)
    rest = math.prod(check_shape("reshape", lengths[:at] + lengths[at + 1 :]))
    if rest == 0 or math.prod(old) % rest:
        raise ShapeError(bad("reshape", "shape", shape, f"lengths that divide the {math.prod(old)} elements of {old}"))
    return check_shape("reshape", (*lengths[:at], math.prod(old) // rest, *lengths[at + 1 :]))


def ravel(a: ArrayLike, order: str = "C") -> Array:
    """Return the flattened array.

    Parameters
    ----------
    a : array_like
        The array.
    order : {"C", "F", "A", "K"}
        "F": the first axis runs fastest; the others: the last one does.

    Returns
    -------
    Array
        1-D and lazy, with all elements; a view where NumPy gives one.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `order` is unknown.
    DTypeError
        `a` holds Python objects.

    >>> wr.ravel(wr.ones((2, 3))).shape
    (6,)
    """
    order = "C" if order == "K" else order
    shared = isinstance(a, ArrayBase) and is_contiguous(a, order)
    return reshape(a if shared else as_array("ravel", "a", a), -1, order)


def flatten(a: ArrayBase, order: str = "C") -> Array:
    """Return a copy along one axis.

    Parameters
    ----------
    a : Array
        The array.
    order : {"C", "F", "A", "K"}
        "F": the first axis runs fastest; the others: the last one does.

    Returns
    -------
    Array
        All elements, with an axis.

    Raises
    ------
    ArgumentError
        `order` is unknown.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.asarray([[1, 2], [3, 4]]).flatten().compute()
    array([1, 2, 3, 4])
    """
    return alias(ravel(a, order))
