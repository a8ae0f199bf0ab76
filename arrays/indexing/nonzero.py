"""Positions of elements that are not zero, and elements selected by conditions. Their number is computed when something
needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, ShapeError, bad
from ...graph.kinds.mapping import BlockFunction
from ..base import ArrayBase, as_array, check_axis, make
from ..chunking.rechunk import rechunk
from ..execution.deferred import defer_unsized
from ..ops.elementwise.functions import astype
from ..ops.elementwise.ufuncs import floor_divide, not_equal, remainder
from ..ops.moves.joining import stack
from ..ops.moves.reshaping import ravel
from .boolean import count_by_chunk

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array
    from ..typing import ArrayLike

__all__ = [
    "argwhere",
    "compress",
    "extract",
    "flatnonzero",
    "nonzero",
]


def nonzero(a: ArrayLike) -> tuple[Array, ...]:
    """Return the positions of elements that are not zero.

    Parameters
    ----------
    a : array_like, at least 1-D
        The array.

    Returns
    -------
    tuple of Array
        Lazy and 1-D, one for each axis, in C order of the elements. Their length is None until it is needed, and is
        computed then.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        `a` is 0-d.
    DTypeError
        `a` holds Python objects.

    >>> rows, columns = wr.nonzero(wr.from_array([[3, 0], [0, 4]]))
    >>> rows.compute(), columns.compute()
    (array([0, 1]), array([0, 1]))
    """
    array = as_array("nonzero", "a", a)
    if not array.ndim:
        raise ShapeError(bad("nonzero", "a", "a 0-d array", "at least one axis"))
    flat = _positions(array)
    if array.ndim == 1:
        return (flat,)
    return tuple(
        defer_unsized("nonzero", _along, (flat,), (axis, array.shape), (None,), np.int64) for axis in range(array.ndim)
    )


def _positions(array: Array) -> Array:
    """Return the positions in C order."""
    mask = array if array.dtype == bool else not_equal(array, np.zeros((), array.dtype)[()])
    return defer_unsized("nonzero", _find_positions, (ravel(mask),), (), (None,), np.int64)


def _find_positions(mask: Array) -> Generator[Any, Any, Array]:
    """Recipe: count what a mask selects of each chunk; the mask is kept meanwhile, and as long as the result lives."""
    mask = mask.persist()
    counts = yield count_by_chunk(mask)
    axis = mask.expr.grid.axes[0]
    starts = axis.start(np.arange(axis.count))
    first = _column(starts)
    return make(BlockFunction("elements.masks:positions"), (mask, first), Grid([Axis.of_sizes(counts)]), np.int64)


def _column(values: np.ndarray[Any, Any]) -> Array:
    """Return small values as an array with a chunk for each."""
    return rechunk(as_array("nonzero", "values", values), 1)


def _along(flat: Array, axis: int, shape: tuple[int, ...]) -> Generator[Any, Any, Array]:
    """Recipe: the positions along one axis of an array for positions in C order."""
    yield from ()
    inner = int(np.prod(shape[axis + 1 :], dtype=np.int64))
    quotient: Array = floor_divide(flat, max(1, inner))
    return remainder(quotient, max(1, shape[axis])) if axis else quotient


def flatnonzero(a: ArrayLike) -> Array:
    """Return the flat indices of elements that are not zero.

    Parameters
    ----------
    a : array_like
        The array.

    Returns
    -------
    Array
        Lazy and 1-D. Its length is None until it is needed, and is computed then.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    DTypeError
        `a` holds Python objects.

    >>> wr.flatnonzero(wr.from_array([[0, 5], [6, 0]])).compute()
    array([1, 2])
    """
    return _positions(as_array("flatnonzero", "a", a))


def argwhere(a: ArrayLike) -> Array:
    """Return the positions of elements that are not zero, one row for each.

    Parameters
    ----------
    a : array_like
        The array.

    Returns
    -------
    Array
        Lazy, of shape (count, a.ndim). The count is None until it is needed, and is computed then.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    DTypeError
        `a` holds Python objects.

    >>> wr.argwhere(wr.from_array([[3, 0], [0, 4]])).compute()
    array([[0, 0],
           [1, 1]])
    """
    array = as_array("argwhere", "a", a)
    if not array.ndim:
        rows: Array = argwhere(array.reshape(1))[:, :0]
        return rows
    return defer_unsized("argwhere", _rows, nonzero(array), (), (None, array.ndim), np.int64)


def _rows(*along: Array) -> Generator[Any, Any, Array]:
    yield from ()
    return stack(along, axis=1)


def compress(condition: ArrayLike, a: ArrayLike, axis: int | None = None, out: None = None) -> Array:
    """Return the slices along an axis where a condition holds.

    Parameters
    ----------
    condition : array_like of bool, 1-D
        Not longer than the axis; what it doesn't cover is left out.
    a : array_like
        The array.
    axis : int or None
        The axis; None: of the flattened array.
    out : None
        Only None: the result is a new array.

    Returns
    -------
    Array
        Lazy. Where `condition` is lazy, the length along the axis is computed when it is needed.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an integer.
        `out` is given.
    ShapeError
        `condition` is not 1-D, or holds beyond the axis.
    AxisError
        The array has no such axis.
    DTypeError
        `a` holds Python objects.

    >>> wr.compress([False, True, True], wr.from_array([[1, 2], [3, 4], [5, 6]]), axis=0).compute()
    array([[3, 4],
           [5, 6]])
    """
    if out is not None:
        raise ArgumentError(bad("compress", "out", out, "None; results are new arrays"))
    array = as_array("compress", "a", a)
    if axis is None:
        array, axis = ravel(array), 0
    at = check_axis("compress", axis, array.ndim)
    mask: Any = (
        as_array("compress", "condition", condition) if isinstance(condition, ArrayBase) else np.asarray(condition)
    )
    if mask.ndim != 1:
        raise ShapeError(bad("compress", "condition", mask.shape, "a 1-D array"))
    n = array.shape[at]
    if isinstance(mask, np.ndarray):
        mask = mask.astype(bool)
        if mask[n:].any():
            raise ShapeError(bad("compress", "condition", mask.shape, f"nothing true beyond the axis' length {n}"))
        mask = mask[:n]
    elif mask.shape[0] > n:
        raise ShapeError(bad("compress", "condition", mask.shape, f"at most the axis' length {n}"))
    else:
        mask = astype(mask, bool)
    before = (slice(None),) * at
    covered: Array = array[(*before, slice(0, mask.shape[0]))]
    return covered[(*before, mask)]


def extract(condition: ArrayLike, arr: ArrayLike) -> Array:
    """Return the elements of the flattened array where a condition holds.

    Parameters
    ----------
    condition : array_like of bool
        As many elements as `arr`.
    arr : array_like
        The array.

    Returns
    -------
    Array
        1-D and lazy. Where `condition` is lazy, the length is computed when it is needed.

    Raises
    ------
    ArgumentError
        `arr` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        `condition` has more elements than `arr`.
    DTypeError
        `arr` holds Python objects.

    >>> x = wr.arange(6)
    >>> wr.extract(x % 3 == 0, x).compute()
    array([0, 3])
    """
    mask = condition.reshape(-1) if isinstance(condition, ArrayBase) else np.ravel(condition)  # type: ignore[attr-defined]
    return compress(mask, ravel(as_array("extract", "arr", arr)))
