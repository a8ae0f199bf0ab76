"""Sorting a long axis in chunks: numbers in memory are dealt into buckets first, and sorted once.

There are many more buckets than chunks; borders between them come from a sample. The few buckets in which a chunk of
the result begins are sorted first, and cut there. All others go as they are into their chunk, which is sorted then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.grid import Axis, Grid
from ...graph.kinds.mapping import BlockFunction
from ...workers.kernels.blocks import sorting as blocks
from ...workers.kernels.compiled.dealing import BUCKETS
from ..align import regrid
from ..core import make
from ..verbs import persist
from .samples import in_memory, merged, pieces

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array
    from .samples import Steps

SAMPLE = 1 << 14
"""So many elements come to the driver, about."""

MOST = BUCKETS // 4
"""With more chunks, too many buckets would be sorted twice."""

LEAST = 1 << 12
"""Chunks of fewer elements are sorted in less time than buckets take."""


def sorted_long(x: Array) -> Steps:
    """Recipe of the sorted array of one axis."""
    found = (yield from _sorted_once(x)) if _fits(x) else None
    if found is None:
        found = yield from merged(make(BlockFunction("sorting:sort"), (x,), x.expr.grid, x.dtype))
    return found


def _fits(x: Array) -> bool:
    """Tell whether an array is one to be dealt, which reads it twice."""
    (axis,) = x.expr.grid.axes
    plain = x.dtype.kind in "iuf" and x.dtype.itemsize in (4, 8) and x.dtype.isnative
    return plain and axis.count <= MOST and axis.length >= LEAST * axis.count and in_memory(x)


def _sorted_once(x: Array) -> Generator[Any, Any, Array | None]:
    """Give an array in order; None where a sample has many equal elements, or NaN, and where it misled."""
    (axis,) = x.expr.grid.axes
    sizes = np.asarray(axis.sizes())
    step = axis.length // SAMPLE | 1  # odd, since what recurs mostly does so at even distances
    sample = yield make(BlockFunction("sorting:sample", (step,)), (x,), Grid([Axis.of_sizes(sizes // step)]), x.dtype)
    splitters = blocks.sort(sample)[np.arange(1, BUCKETS) * len(sample) // BUCKETS]
    if not (splitters[1:] > splitters[:-1]).all():
        return None
    grid = Grid([Axis.of_sizes(sizes + BUCKETS)])
    dealt = persist(make(BlockFunction("sorting:dealt", (splitters,)), (x,), grid, x.dtype))
    grid = Grid([Axis.regular(axis.count, 1), Axis.regular(BUCKETS, BUCKETS)])
    counts = yield make(BlockFunction("sorting:dealt_counts", (BUCKETS,), axes=((0,),)), (dealt,), grid, "i8")
    return _in_chunks(dealt, counts, axis)


def _in_chunks(dealt: Array, counts: np.ndarray[Any, Any], axis: Axis) -> Array | None:
    """Return in order, in the chunks of an axis, what was dealt; None where too much would be sorted twice."""
    total, wanted = counts.sum(0), axis.start(np.arange(1, axis.count))
    ends = np.cumsum(total)
    edge = np.searchsorted(ends, wanted)
    edges, number = np.unique(edge, return_inverse=True)
    if total[edges].max() > axis.largest:
        return None
    begin = np.concatenate([0 * counts[:, :1], np.cumsum(counts, 1)], 1)
    some = pieces(dealt, begin[:, edges], counts[:, edges])
    some = make(BlockFunction("sorting:sort"), (some,), some.expr.grid, dealt.dtype)
    before = wanted - (ends - total)[edge]
    cut = some.expr.grid.axes[0].start(number) + before
    sizes = np.diff(cut, prepend=0, append=some.size)
    tails = np.append(0, np.minimum(total[edge] - before, sizes[1:]))
    spans = list(zip([0, *(edge + 1).tolist()], [*edge.tolist(), BUCKETS], strict=True))
    lengths = tuple(np.ascontiguousarray(counts[:, first:last]) for first, last in spans)
    first = np.array([first for first, _ in spans])
    whole = pieces(dealt, begin[:, first], np.stack([n.sum(1) for n in lengths], 1))
    edges_there = regrid(some, Grid([Axis.of_sizes(sizes)]))
    function = BlockFunction("sorting:in_order", (axis.start(np.arange(axis.count)), tails, lengths), where=True)
    return make(function, (whole, edges_there), Grid([axis]), dealt.dtype)
