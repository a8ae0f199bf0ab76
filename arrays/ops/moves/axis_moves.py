"""Moves along axes: transposing, slicing, flipping, broadcasting. No element is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import is_integer
from ....graph.chunks.axismap import AxisMap, Fixed, Slice
from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, ShapeError, bad
from ....graph.kinds.move import Move, Route
from ...base import ArrayBase, as_array, check_axes, check_axis, make
from ...views import gives_view

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "expand_dims",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "squeeze",
    "swapaxes",
    "transpose",
]

Step = tuple[int | None, AxisMap]


def move(name: str, x: ArrayBase, steps: Sequence[Step], axes: Sequence[Axis]) -> Array:
    """Return the array of a move of one operand."""
    return make(Move(name, (Route(tuple(steps)),)), (x,), Grid(axes), x.dtype)


def slice_axis(axis: Axis, start: int, step: int, count: int) -> Axis:
    """Return the chunks of `count` positions from `start` on by `step`: the source's borders are kept."""
    if count == 0:
        return Axis.regular(0, 1)
    if step == 1 and (start == 0 or (axis.is_regular and start % axis.step == 0)) and axis.is_regular:
        return Axis.regular(count, axis.step)
    bounds = np.append(axis.start(np.arange(axis.count)), axis.length)
    before = -((start - bounds) // step) if step > 0 else (start - bounds[::-1]) // -step + 1
    sizes = np.diff(np.clip(before, 0, count))
    return Axis.of_sizes(sizes[sizes > 0])


@gives_view
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Return the array with its axes in another order.

    Parameters
    ----------
    a : array_like
        The array.
    axes : sequence of int, optional
        The new order; None: reversed.

    Returns
    -------
    Array
        Lazy; chunks are transposed too.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axes` is not an integer.
    ShapeError
        `axes` doesn't name each axis once.
    AxisError
        `axes` is out of range for the array.
    DTypeError
        `a` holds Python objects.

    >>> wr.transpose(wr.ones((2, 3))).shape
    (3, 2)
    """
    array = as_array("transpose", "a", a)
    if axes is None:
        order = tuple(reversed(range(array.ndim)))
    else:
        raw_axes: Any = (axes,) if is_integer(axes) else axes
        order = tuple(check_axis("transpose", i, array.ndim, "axes") for i in raw_axes)
        if len(order) != array.ndim or len(set(order)) != array.ndim:
            raise ShapeError(bad("transpose", "axes", tuple(raw_axes), f"each of {array.ndim} axes once"))
    if order == tuple(range(array.ndim)):
        return array
    steps = [(order.index(i), Slice()) for i in range(array.ndim)]
    return move("transpose", array, steps, [array.expr.grid.axes[i] for i in order])


permute_dims = transpose


@gives_view
def matrix_transpose(x: ArrayLike) -> Array:
    """Return the array with its last two axes swapped.

    Parameters
    ----------
    x : array_like, at least 2-D
        The array.

    Returns
    -------
    Array
        Lazy, of shape (..., N, M) for (..., M, N).

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        `x` has fewer than two axes.
    DTypeError
        `x` holds Python objects.

    >>> wr.matrix_transpose(wr.ones((4, 2, 3))).shape
    (4, 3, 2)
    """
    array = as_array("matrix_transpose", "x", x)
    if array.ndim < 2:
        raise ShapeError(bad("matrix_transpose", "x", array.shape, "at least two axes"))
    return swapaxes(array, -1, -2)


@gives_view
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Return the array with two axes swapped.

    Parameters
    ----------
    a : array_like
        The array.
    axis1, axis2 : int
        The axes.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis1` or `axis2` is not
        an integer.
    AxisError
        `axis1` or `axis2` is out of range for the array.
    DTypeError
        `a` holds Python objects.

    >>> wr.swapaxes(wr.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    array = as_array("swapaxes", "a", a)
    first = check_axis("swapaxes", axis1, array.ndim, "axis1")
    second = check_axis("swapaxes", axis2, array.ndim, "axis2")
    order = list(range(array.ndim))
    order[first], order[second] = second, first
    return transpose(array, order)


@gives_view
def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Return the array with axes moved to other positions; the others keep their order.

    Parameters
    ----------
    a : array_like
        The array.
    source : int or sequence of int
        The axes to move.
    destination : int or sequence of int
        Their positions in the result.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `source` or `destination`
        is not an integer.
    ShapeError
        `source` and `destination` differ in length, or name an axis twice.
    AxisError
        `source` or `destination` is out of range for the array.
    DTypeError
        `a` holds Python objects.

    >>> wr.moveaxis(wr.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    array = as_array("moveaxis", "a", a)
    axis_lists = [s if isinstance(s, Sequence) else (s,) for s in (source, destination)]
    names = ("source", "destination")
    first, last = (
        [check_axis("moveaxis", i, array.ndim, n) for i in s] for s, n in zip(axis_lists, names, strict=True)
    )
    if len(first) != len(last) or len(set(first)) != len(first) or len(set(last)) != len(last):
        raise ShapeError(bad("moveaxis", "destination", destination, f"as many different axes as in {source!r}"))
    order = [i for i in range(array.ndim) if i not in first]
    for to, i in sorted(zip(last, first, strict=True)):
        order.insert(to, i)
    return transpose(array, order)


@gives_view
def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """Insert size-1 axes.

    Parameters
    ----------
    a : array_like
        The array.
    axis : int or sequence of int
        Positions of the new axes in the result.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is neither an
        integer nor a sequence of them.
    ShapeError
        `axis` names a position twice.
    AxisError
        `axis` is out of range for the result.
    DTypeError
        `a` holds Python objects.

    >>> wr.expand_dims(wr.ones(3), 0).shape
    (1, 3)
    """
    array = as_array("expand_dims", "a", a)
    if axis is None:
        raise ArgumentError(bad("expand_dims", "axis", axis, "an integer or a sequence of them"))
    count = len(axis) if isinstance(axis, Sequence) else 1
    new = check_axes("expand_dims", axis, array.ndim + count)
    old = [i for i in range(array.ndim + count) if i not in new]
    axes = [Axis.whole(1)] * (array.ndim + count)
    for target, own in zip(old, array.expr.grid.axes, strict=True):
        axes[target] = own
    return move("expand_dims", array, [(i, Slice()) for i in old], axes)


@gives_view
def squeeze(a: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Remove size-1 axes.

    Parameters
    ----------
    a : array_like
        The array.
    axis : int, sequence of int or None
        The axes to remove; None: all of length 1.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an integer.
    ShapeError
        An axis is longer than 1, or named twice.
    AxisError
        The array has no such axis.
    DTypeError
        `a` holds Python objects.

    >>> wr.squeeze(wr.ones((1, 3, 1))).shape
    (3,)
    """
    array = as_array("squeeze", "a", a)
    if axis is None:
        gone = tuple(i for i, n in enumerate(array.shape) if n == 1)
    else:
        gone = () if array.ndim == 0 and axis in (0, -1) else check_axes("squeeze", axis, array.ndim)
        if any(array.shape[i] != 1 for i in gone):
            raise ShapeError(bad("squeeze", "axis", axis, f"size-1 axes of shape {array.shape}"))
    kept = [i for i in range(array.ndim) if i not in gone]
    steps: list[Step] = [(kept.index(i), Slice()) if i in kept else (None, Fixed(0)) for i in range(array.ndim)]
    return move("squeeze", array, steps, [array.expr.grid.axes[i] for i in kept]) if gone else array
