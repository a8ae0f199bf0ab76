"""Missing elements filled with the last one before them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.errors import DTypeError, bad
from ..base import as_array, check_axis
from .overlap import map_overlap
from .reduction import cumreduction

if TYPE_CHECKING:
    from ..array import Array
    from ..typing import ArrayLike

__all__ = [
    "push",
]


def push(array: ArrayLike, n: int | None = None, axis: int = -1) -> Array:
    """Fill missing elements with the last one before them along an axis.

    Parameters
    ----------
    array : array_like
        The array, of floating-point or complex numbers or times: NaN and NaT are missing.
    n : int, optional
        How many in a row are filled at most; None: all.
    axis : int
        The axis.

    Returns
    -------
    Array
        Lazy, of the same shape, dtype and chunks. What is missing before the first element stays so.

    Raises
    ------
    ArgumentError
        `array` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an
        integer, or `n` none from 0 on.
    AxisError
        `axis` is out of range for the array.
    DTypeError
        `array` has a dtype that has no missing elements, or holds Python objects.

    >>> import numpy as np
    >>> import windrow as wr
    >>> x = wr.from_array(np.array([np.nan, 1, np.nan, np.nan, 2, np.nan]), chunks=2)
    >>> wr.push(x).compute()
    array([nan,  1.,  1.,  1.,  2.,  2.])
    >>> wr.push(x, n=1).compute()
    array([nan,  1.,  1., nan,  2.,  2.])
    """
    x = as_array("push", "array", array)
    at = check_axis("push", axis, x.ndim)
    if x.dtype.kind not in "fcmM":
        raise DTypeError(bad("push", "array", x.dtype, "a dtype that has NaN or NaT"))
    if n is not None:
        limit = check_integer("push", "n", n, 0)
        if limit < x.shape[at]:
            return map_overlap(fill, x, depth={at: (limit, 0)}, boundary="none", dtype=x.dtype, axis=at, limit=limit)
    missing = np.array("NaT" if x.dtype.kind in "mM" else np.nan).astype(x.dtype)[()]
    return cumreduction(fill, fill_from, missing, x, at, x.dtype, preop=last)


WIDE = 256
"""Elements of a block across an axis from which on it is gone through along that, line by line."""


def _is_wide(block: np.ndarray[Any, Any], axis: int) -> bool:
    return bool(block.size >= WIDE * block.shape[axis])


def fill(block: np.ndarray[Any, Any], axis: int, limit: int | None = None) -> Any:
    """Fill what is missing in a block."""
    if _is_wide(block, axis):
        filled = block.copy()
        in_a_row = np.zeros_like(block.take(0, axis), np.int64)
        for before, line in itertools.pairwise(np.moveaxis(filled, axis, 0)):
            missing = np.isnan(line)
            if limit is not None:
                in_a_row += 1
                in_a_row *= missing
                missing &= in_a_row <= limit
            np.copyto(line, before, where=missing)
        return filled
    missing = np.isnan(block)
    place = np.arange(block.shape[axis]).reshape([-1 if i == axis else 1 for i in range(block.ndim)])
    before = np.maximum.accumulate(np.where(missing, -1, place), axis)
    late = missing & (before >= 0)
    if limit is not None:
        late &= place - before <= limit
    return np.where(late, np.take_along_axis(block, np.maximum(before, 0), axis), block)


def fill_from(before: np.ndarray[Any, Any], block: np.ndarray[Any, Any]) -> Any:
    """Fill what is missing in a block, which is filled but for the beginnings of lines, with what came before it."""
    along = [i for i, (n, m) in enumerate(zip(before.shape, block.shape, strict=True)) if n != m]
    if not along or not _is_wide(block, along[0]):
        return np.where(np.isnan(block), before, block)
    filled = block.copy()
    (first,) = np.moveaxis(before, along[0], 0)
    for line in np.moveaxis(filled, along[0], 0):
        missing = np.isnan(line)
        if not missing.any():
            break
        np.copyto(line, first, where=missing)
    return filled


def last(block: np.ndarray[Any, Any], axis: int, keepdims: bool) -> Any:
    """Return the last element along an axis that isn't missing."""
    if not _is_wide(block, axis):
        values = fill(block, axis).take(-1, axis)
    else:
        latest, *others = np.moveaxis(block, axis, 0)[::-1]
        values = latest.copy()
        for line in others:
            missing = np.isnan(values)
            if not missing.any():
                break
            np.copyto(values, line, where=missing)
    return np.expand_dims(values, axis) if keepdims else values
