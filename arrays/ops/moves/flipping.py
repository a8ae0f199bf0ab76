"""Rotating by right angles, mirroring, and rolling an axis back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....graph.arguments import check_integer
from ....graph.errors import AxisError, ShapeError, bad
from ...base import as_array, check_axis
from ...views import gives_view
from .axis_moves import moveaxis, swapaxes
from .taking import flip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "fliplr",
    "flipud",
    "rollaxis",
    "rot90",
]


@gives_view
def rot90(m: ArrayLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    """Rotate the array by right angles in the plane of two axes.

    Parameters
    ----------
    m : array_like, at least 2-D
        The array.
    k : int
        Number of turns, from the first axis towards the second; negative: the other way.
    axes : pair of int
        The two axes.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ArgumentError
        `m` can't be read as an array: an unknown object, a ragged sequence or a masked array. `k` or an axis is not an
        integer.
    ShapeError
        `axes` are not two different axes.
    AxisError
        An axis is out of range for `m`.
    DTypeError
        `m` holds Python objects.

    >>> wr.rot90(wr.arange(4).reshape(2, 2)).compute()
    array([[1, 3],
           [0, 2]])
    """
    x = as_array("rot90", "m", m)
    k = check_integer("rot90", "k", k)
    plane = [check_axis("rot90", a, x.ndim, "axes") for a in (axes if np.iterable(axes) else (axes,))]
    if len(plane) != 2 or plane[0] == plane[1]:
        raise ShapeError(bad("rot90", "axes", axes, "two different axes"))
    first, second = plane
    turns = int(k) % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, plane)
    return swapaxes(flip(x, second), first, second) if turns == 1 else flip(swapaxes(x, first, second), second)


@gives_view
def fliplr(m: ArrayLike) -> Array:
    """Reverse the second axis: left and right.

    Parameters
    ----------
    m : array_like, at least 2-D
        The array.

    Returns
    -------
    Array
        Lazy, of the same shape.

    Raises
    ------
    ArgumentError
        `m` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        `m` has fewer than two axes.
    DTypeError
        `m` holds Python objects.

    >>> wr.fliplr(wr.arange(4).reshape(2, 2)).compute()
    array([[1, 0],
           [3, 2]])
    """
    x = as_array("fliplr", "m", m)
    if x.ndim < 2:
        raise ShapeError(bad("fliplr", "m", x.shape, "at least two axes"))
    return flip(x, 1)


@gives_view
def flipud(m: ArrayLike) -> Array:
    """Reverse the first axis: up and down.

    Parameters
    ----------
    m : array_like, at least 1-D
        The array.

    Returns
    -------
    Array
        Lazy, of the same shape.

    Raises
    ------
    ArgumentError
        `m` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        `m` is 0-d.
    DTypeError
        `m` holds Python objects.

    >>> wr.flipud(wr.arange(4).reshape(2, 2)).compute()
    array([[2, 3],
           [0, 1]])
    """
    x = as_array("flipud", "m", m)
    if x.ndim < 1:
        raise ShapeError(bad("flipud", "m", x.shape, "at least one axis"))
    return flip(x, 0)


@gives_view
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Move an axis back until it lies before another one; see `moveaxis`.

    Parameters
    ----------
    a : array_like
        The array.
    axis : int
        The axis to move.
    start : int
        The axis before which it comes; the number of axes: it becomes the last.

    Returns
    -------
    Array
        Lazy, with its axes in another order.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` or `start` is not
        an integer.
    AxisError
        `axis` or `start` is out of range for `a`.
    DTypeError
        `a` holds Python objects.

    >>> wr.rollaxis(wr.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = as_array("rollaxis", "a", a)
    at = check_axis("rollaxis", axis, x.ndim)
    start = check_integer("rollaxis", "start", start)
    to = int(start) + x.ndim if start < 0 else int(start)
    if not 0 <= to <= x.ndim:
        raise AxisError(bad("rollaxis", "start", start, f"an axis of an array of {x.ndim} axes, or {x.ndim}"))
    return moveaxis(x, at, to - 1 if at < to else to)
