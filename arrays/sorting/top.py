"""The greatest or the least elements along an axis, and their positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.chunks.grid import Axis, Grid
from ...graph.kinds.mapping import BlockFunction
from ..base import as_array, check_axis, make
from ..chunking import coalesce
from ..refitting import refittable
from .docstrings import SORTING
from .sorts import argsort, sort

if TYPE_CHECKING:
    from ..array import Array
    from ..typing import ArrayLike, AxisLike, DTypeLike

__all__ = [
    "argtopk",
    "topk",
]


def topk(a: ArrayLike, k: int, axis: int = -1) -> Array:
    """Return the k greatest elements along an axis, the greatest first.

    Parameters
    ----------
    a : array_like
        Numbers, bool, dates, times or strings.
    k : int
        How many; all, where the axis has fewer. -k: the k least elements, the least first.
    axis : int
        The axis along which to look.

    Returns
    -------
    Array
        The shape of `a` with so many elements along the axis, in its dtype.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `k` isn't an integer; or `axis` isn't an integer.
    {AxisError}
    DTypeError
        `a` has a dtype without an order.

    Notes
    -----
    NumPy has no such function. As in `sort(a, descending=True)` NaN counts as greatest. Each chunk along the axis is
    searched by itself, and the candidates are brought into one chunk if they fit.

    >>> x = wr.asarray([3, 9, 4])
    >>> wr.topk(x, 2).compute(), wr.topk(x, -2).compute()
    (array([9, 4]), array([3, 4]))
    """
    return _find_best(*_read("topk", a, k, axis))


@refittable
def _find_best(array: Array, k: int, at: int) -> Array:
    count = abs(k)
    array = coalesce.merge_small_chunks(array, at)
    if _few(array, count, at) is None:
        return sort(array, at, descending=k > 0)[(slice(None),) * at + (slice(count),)]
    return _best(_leading("first_of", array, k, at, array.dtype), k, at)


def argtopk(a: ArrayLike, k: int, axis: int = -1) -> Array:
    """Return the positions of the k greatest elements along an axis, that of the greatest first.

    {Parameters of topk}

    Returns
    -------
    Array of int64
        The shape of `a` with so many positions along the axis; equal elements keep their order.

    {Raises, Notes of topk}

    >>> wr.argtopk(wr.asarray([3, 9, 4]), 2).compute()
    array([1, 2])
    """
    return _find_places(*_read("argtopk", a, k, axis))


@refittable
def _find_places(array: Array, k: int, at: int) -> Array:
    count = abs(k)
    array = coalesce.merge_small_chunks(array, at)
    sizes = _few(array, count, at)
    if sizes is None:
        return argsort(array, at, descending=k > 0)[(slice(None),) * at + (slice(count),)]
    own = array.expr.grid.axes[at]
    starts = as_array("argtopk", "a", np.repeat(own.start(np.arange(own.count)), sizes))
    places = _leading("first_order", array, k, at, "i8")
    places = places + starts.reshape(*(-1 if i == at else 1 for i in range(array.ndim)))
    values = coalesce.whole(_leading("first_of", array, k, at, array.dtype), (at,))
    op = BlockFunction("order.sorting:first_places", (int(k), at))
    return make(op, (values, coalesce.whole(places, (at,))), _short(values, count, at), "i8")


def _read(operation: str, a: ArrayLike, k: object, axis: AxisLike) -> tuple[Array, int, int]:
    array = as_array(operation, "a", a)
    at = check_axis(operation, axis, array.ndim)
    n = array.shape[at]
    return array, max(-n, min(check_integer(operation, "k", k), n)), at


def _few(array: Array, count: int, axis: int) -> Any:
    """Return the number of candidates of each chunk; None if sorting the whole axis is no more work."""
    own = array.expr.grid.axes[axis]
    sizes = np.minimum(own.sizes(), count)
    if own.count == 1 or count == 0 or int(sizes.sum()) > max(array.expr.grid.largest, coalesce.SMALLEST):
        return None
    return sizes


def _leading(function: str, array: Array, k: int, axis: int, dtype: DTypeLike) -> Array:
    """Return the candidates of each chunk."""
    axes = list(array.expr.grid.axes)
    axes[axis] = Axis.of_sizes(np.minimum(axes[axis].sizes(), abs(k)))
    return make(BlockFunction(f"order.sorting:{function}", (int(k), axis)), (array,), Grid(axes), dtype)


def _best(values: Array, k: int, axis: int) -> Array:
    values = coalesce.whole(values, (axis,))
    op = BlockFunction("order.sorting:first_of", (int(k), axis))
    return make(op, (values,), _short(values, abs(k), axis), values.dtype)


def _short(values: Array, count: int, axis: int) -> Grid:
    axes = list(values.expr.grid.axes)
    axes[axis] = Axis.whole(int(count))
    return Grid(axes)


SORTING.fill(__name__)
