"""Sorting a long axis in chunks by buckets, over which numbers in memory are distributed before they are sorted.

There are many more buckets than chunks; their borders come from a sample. Each bucket is sent unsorted to its chunk of
the result, and sorted there. A bucket that two chunks of the result share is sorted for both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.axismap import Slice
from ...graph.chunks.grid import Axis, Grid
from ...graph.kinds.mapping import BlockFunction
from ...workers.kernels.blocks.order import sorting as blocks
from ...workers.kernels.compiled.fixed.dealing import BUCKETS
from ..base import make
from ..chunking import coalesce
from ..ops.moves.axis_moves import move
from .samples import in_memory, merge_sorted, pieces, ranges

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array
    from .samples import Steps

SAMPLE = 1 << 14
"""About this many elements come to the driver."""

MOST = BUCKETS // 4
"""With more chunks, too many buckets would be sorted twice."""

LEAST = 1 << 12
"""Smaller chunks are sorted faster than distributed over buckets."""


def sort_long(x: Array) -> Steps:
    """Recipe of the sorted 1-D array."""
    x = coalesce.merge_small_chunks(x)
    ordered = (yield from _sort_once(x)) if _fits(x) else None
    if ordered is None:
        ordered = yield from merge_sorted(make(BlockFunction("order.sorting:sort"), (x,), x.expr.grid, x.dtype))
    return ordered


def _fits(x: Array) -> bool:
    """Tell whether an array is to be sorted by buckets, which reads it twice."""
    (axis,) = x.expr.grid.axes
    plain = x.dtype.kind in "iuf" and x.dtype.itemsize in (4, 8) and x.dtype.isnative
    return plain and 1 < axis.count <= MOST and axis.length >= LEAST * axis.count and in_memory(x)


def _sort_once(x: Array) -> Generator[Any, Any, Array | None]:
    """Give an array in order; None if the sample has many equal elements or NaN, or was misleading."""
    (axis,) = x.expr.grid.axes
    sizes = np.asarray(axis.sizes())
    step = axis.length // SAMPLE | 1  # odd, since repeating data mostly has an even period
    taken = axis.length // step
    sample = yield move("sample", x, [(0, Slice(step - 1, step))], [Axis.whole(taken)])
    splitters = blocks.sort(sample)[np.arange(1, BUCKETS) * len(sample) // BUCKETS]
    if not (splitters[1:] > splitters[:-1]).all():
        return None
    grid = Grid([Axis.of_sizes(sizes + BUCKETS)])
    function = BlockFunction("order.sorting:deal_into_buckets", (splitters, axis.length))
    dealt = make(function, (x,), grid, x.dtype).persist()
    raw = yield ranges(dealt, sizes[:, None], sizes[:, None] + BUCKETS)
    counts = raw.view(f"i{x.dtype.itemsize}").reshape(axis.count, BUCKETS).astype(np.int64)
    return _in_chunks(dealt, counts, axis)


def _in_chunks(dealt: Array, counts: np.ndarray[Any, Any], axis: Axis) -> Array | None:
    """Return in order, in the chunks of an axis, what was dealt; None where it would be sorted too often."""
    total, start = counts.sum(0), axis.start(np.arange(axis.count))
    ends = np.cumsum(total)
    stop = np.append(start[1:], axis.length)
    first, last = np.minimum(np.searchsorted(ends, start, "right"), BUCKETS - 1), np.searchsorted(ends, stop)
    lengths = tuple(np.ascontiguousarray(counts[:, a : b + 1]) for a, b in zip(first, last, strict=True))
    if total[last].max() > axis.largest or sum(int(n.sum()) for n in lengths) > 2 * axis.length:
        return None
    begin = (np.cumsum(counts, 1) - counts)[:, first]
    parts = pieces(dealt, begin, np.stack([n.sum(1) for n in lengths], 1))
    skipped = start - (ends - total)[first]
    function = BlockFunction("order.sorting:in_order", (start, skipped, lengths), where=True)
    return make(function, (parts,), Grid([axis]), dealt.dtype)
