"""Arrays turned in a plane, mirrored, and with an axis rolled back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, AxisError, ShapeError, bad
from ..base import as_array, check_axis
from .moving import moveaxis, swapaxes
from .taking import flip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array

__all__ = [
    "fliplr",
    "flipud",
    "rollaxis",
    "rot90",
]


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    """Turn an array by right angles, from the first of two axes towards the second.

    Parameters
    ----------
    m : array
    k : int
        How often.
    axes : pair of int

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.rot90(wr.arange(4).reshape(2, 2)).compute()
    array([[1, 3],
           [0, 2]])
    """
    x = as_array("rot90", "m", m)
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise ArgumentError(bad("rot90", "k", k, "an integer"))
    found = [check_axis("rot90", a, x.ndim, "axes") for a in axes]
    if len(found) != 2 or found[0] == found[1]:
        raise ShapeError(bad("rot90", "axes", axes, "two different axes"))
    first, second = found
    turns = int(k) % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, found)
    return swapaxes(flip(x, second), first, second) if turns == 1 else flip(swapaxes(x, first, second), second)


def fliplr(m: Any) -> Array:
    """Reverse the second axis.

    Parameters
    ----------
    m : array of at least two axes

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.fliplr(wr.arange(4).reshape(2, 2)).compute()
    array([[1, 0],
           [3, 2]])
    """
    x = as_array("fliplr", "m", m)
    if x.ndim < 2:
        raise ShapeError(bad("fliplr", "m", x.shape, "at least two axes"))
    return flip(x, 1)


def flipud(m: Any) -> Array:
    """Reverse the first axis.

    Parameters
    ----------
    m : array of at least one axis

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.flipud(wr.arange(4).reshape(2, 2)).compute()
    array([[2, 3],
           [0, 1]])
    """
    x = as_array("flipud", "m", m)
    if x.ndim < 1:
        raise ShapeError(bad("flipud", "m", x.shape, "at least one axis"))
    return flip(x, 0)


def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """Move an axis back until it lies before another one.

    Parameters
    ----------
    a : array
    axis : int
    start : int
        The axis before which it comes; the number of axes: it comes last.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.rollaxis(wr.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = as_array("rollaxis", "a", a)
    at = check_axis("rollaxis", axis, x.ndim)
    if isinstance(start, bool) or not isinstance(start, int | np.integer):
        raise ArgumentError(bad("rollaxis", "start", start, "an integer"))
    to = int(start) + x.ndim if start < 0 else int(start)
    if not 0 <= to <= x.ndim:
        raise AxisError(bad("rollaxis", "start", start, f"an axis of an array of {x.ndim} axes, or {x.ndim}"))
    return moveaxis(x, at, to - 1 if at < to else to)
