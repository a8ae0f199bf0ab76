"""Methods of ufuncs that take positions, `at` and `reduceat`; and elements read as those of another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from .positions import coordinates

Array = np.ndarray[Any, Any]


def at(block: Array, numbers: Array, *rest: Any, where: tuple[slice, ...]) -> Array:
    """Apply a ufunc to elements of a block, given by their numbers in the whole array, once for each occurrence.

    `rest` are the second operand's values, if there is one, the ufunc's name and the array's shape.
    """
    *values, ufunc, shape = rest
    places = coordinates(numbers, shape)
    mine = np.ones(numbers.shape, bool)
    for place, part in zip(places, where, strict=True):
        mine &= (place >= part.start) & (place < part.stop)
    inside = tuple(place[mine] - part.start for place, part in zip(places, where, strict=True))
    out = block.copy()
    getattr(np, ufunc).at(out, inside, *(np.broadcast_to(v, numbers.shape)[mine] for v in values))
    return out


def reduceat(
    x: Array, ufunc: str, axis: int, dtype: Any, starts: Array, whole: bool, *, where: tuple[slice, ...]
) -> Array:
    """Reduce runs that begin at some places, each up to the next one's; the block begins with its first run.

    `starts` are those of all runs of the array; with `whole` the block is all of the axis.
    """
    own = starts[where[axis]]
    return np.asarray(getattr(np, ufunc).reduceat(x, own if whole else own - own[0], axis=axis, dtype=dtype))


def view_as(x: Array, dtype: np.dtype[Any]) -> Array:
    """Read the bytes along the last axis as elements of another dtype."""
    return np.ascontiguousarray(x).view(dtype)
