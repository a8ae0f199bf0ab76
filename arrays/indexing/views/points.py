"""Points and orders: `x.vindex`, and groups of positions along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import is_integer
from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import IndexingError, bad
from ...base import ArrayBase, as_array, check_axis
from ...chunking.rechunk import regrid
from ...ops.moves.axis_moves import moveaxis
from ...ops.moves.taking import take
from ..keys import expand_ellipsis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...array import Array
    from ...typing import ArrayLike, ChunksLike, KeyLike

__all__ = [
    "shuffle",
]


class PointView:
    """The elements at points; index it by arrays of positions that broadcast.

    `x.vindex[i, j]` is the array of the elements at the points (i[k], j[k]). Where some axes have slices, the axes of
    the points stand first in the result, as in dask and xarray, whatever lies between.

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.arange(12).reshape(3, 4)
    >>> x.vindex[[0, 2], [1, 3]].compute()
    array([ 1, 11])
    >>> x.vindex[:, [1, 3]].shape
    (2, 3)
    """

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, key: KeyLike) -> Array:
        array = self._array
        items: list[Any] = list(key) if isinstance(key, tuple) else [key]
        if any(item is None for item in items) or sum(item is not Ellipsis for item in items) > array.ndim:
            raise IndexingError(bad("vindex", "key", key, f"positions or slices for at most {array.ndim} axes"))
        items = [slice(None) if item is Ellipsis else item for item in expand_ellipsis(array.ndim, items)]
        slices = tuple(item if isinstance(item, slice) else slice(None) for item in items)
        points = [i for i, item in enumerate(items) if not isinstance(item, slice)]
        if any(s != slice(None) for s in slices):
            array = array[slices]
        if not points:
            return array
        positions: list[Any] = [items[i] if isinstance(items[i], ArrayBase) else np.asarray(items[i]) for i in points]
        if any(p.dtype.kind not in "iu" and p.size != 0 for p in positions):
            raise IndexingError(bad("vindex", "key", key, "integers; x[mask] takes bool"))
        whole = [p if isinstance(p, ArrayBase) or p.size else p.astype(np.int64) for p in positions]
        return moveaxis(array, points, range(len(points)))[tuple(whole)]


def shuffle(x: ArrayLike, indexer: Sequence[Sequence[int]], axis: int, chunks: ChunksLike = "auto") -> Array:
    """Return the array with positions along an axis in another order, in groups.

    Parameters
    ----------
    x : array_like
        The array.
    indexer : list of list of int
        Groups of positions; each group lies within one chunk of the result.
    axis : int
        The axis.
    chunks : "auto"
        Only "auto": groups share a chunk up to the size of the axis' largest one.

    Returns
    -------
    Array
        Lazy; its length along the axis is the number of positions.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an integer.
    AxisError
        The array has no such axis.
    DTypeError
        `x` holds Python objects.
    IndexingError
        `indexer` is no list of lists of positions within the axis, or `chunks` is not "auto".

    >>> wr.shuffle(wr.arange(6, chunks=3), [[5, 0], [1], [4, 2, 3]], axis=0).compute()
    array([5, 0, 1, 4, 2, 3])
    """
    array = as_array("shuffle", "x", x)
    at = check_axis("shuffle", axis, array.ndim)
    if chunks != "auto":
        raise IndexingError(bad("shuffle", "chunks", chunks, "'auto': groups say what chunks hold"))
    if not isinstance(indexer, list) or not all(isinstance(group, list) for group in indexer):
        raise IndexingError(bad("shuffle", "indexer", indexer, "a list of lists of positions"))
    n, own = array.shape[at], array.expr.grid.axes[at]
    sizes: list[int] = []
    for group in indexer:
        if any(not is_integer(k) or not 0 <= k < n for k in group):
            raise IndexingError(bad("shuffle", "indexer", group, f"positions from 0 to {n - 1}"))
        if sizes and sizes[-1] + len(group) <= own.largest:
            sizes[-1] += len(group)
        elif group:
            sizes.append(len(group))
    order = np.array([k for group in indexer for k in group], np.int64)
    shuffled = take(array, order, axis=at)
    axes = list(shuffled.expr.grid.axes)
    axes[at] = Axis.of_sizes(sizes)
    return regrid(shuffled, Grid(axes))
