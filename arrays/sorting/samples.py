"""Sorting a long axis in chunks, by samples; and moving elements to given positions.

Each chunk is sorted. Every step-th element of the sorted chunks tells where a chunk of the result must begin, to within
a known number of elements. These are read, which makes the border exact; a border among equal elements counts them in
the order of chunks. A chunk of the result is one run of each sorted chunk, sorted again. Only samples come to the
driver.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.chunks.positions import Runs
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.source import Host, Ramp
from ...workers.kernels.blocks.order import sorting as blocks
from ..base import make
from ..chunking import coalesce
from ..chunking.rechunk import regrid
from ..execution.compute import persist
from ..ops.moves.axis_moves import move

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array

    Steps = Generator[Any, Any, Array]

Values = np.ndarray[Any, Any]

SAMPLES = 1 << 20
"""At most about this many elements come to the driver in one step."""


def merge_sorted(parts: Array) -> Steps:
    """Sort an array whose chunks are sorted."""
    if parts.expr.grid.nblocks == 1:
        return parts
    parts = keep_readable(parts)
    runs = in_runs(parts, (yield from _cuts(parts)))
    return make(BlockFunction("order.sorting:sort"), (runs,), runs.expr.grid, parts.dtype)


def order_long(x: Array) -> Steps:
    """Recipe of the positions that put a 1-D array in order."""
    x = coalesce.merge_small_chunks(x)
    _, order = yield from sort_pair(x, positions(x))
    return order


def lexsort_long(*keys: Array) -> Steps:
    """Recipe of the positions that sort by several 1-D arrays on the same chunks; the last is the primary key."""
    (axis,) = keys[0].expr.grid.axes
    grid = Grid([coalesce.merge_axis(axis, max(key.dtype.itemsize for key in keys))])
    keys = tuple(regrid(key, grid) for key in keys)
    order = positions(keys[0])
    for number, key in enumerate(keys):
        if number:
            order = order.persist()
            key = yield from restore_order((yield from restore_order(order, positions(order), grid)), key, grid)
        _, order = yield from sort_pair(key, order)
    return order


def keep_readable(x: Array) -> Array:
    """Return an array that is cheap to read twice: one that isn't in memory is computed now, and kept."""
    return x if in_memory(x) else x.persist()


def in_memory(x: Array) -> bool:
    """Tell whether an array is cheap to read twice."""
    return x.expr.pin is not None or (isinstance(x.expr.op, Host) and x.expr.op.data.in_place)


def positions(x: Array) -> Array:
    """Return 0, 1, 2, … on the chunks of a 1-D array."""
    return make(Ramp(0, 1), (), x.expr.grid, "i8")


def sort_pair(x: Array, others: Array) -> Generator[Any, Any, tuple[Array, Array]]:
    """Sort a 1-D array, and move the elements of another one, on the same chunks, along with its own."""
    return (yield from merge_sorted_pair(*parts_in_order(x, others)))


def parts_in_order(x: Array, others: Array) -> tuple[Array, Array]:
    """Sort the chunks of an array, and move another one's elements along."""
    grid = x.expr.grid
    order = make(BlockFunction("order.sorting:argsort"), (x,), grid, "i8")
    x = make(BlockFunction("order.sorting:pick"), (x, order), grid, x.dtype)
    return x, make(BlockFunction("order.sorting:pick"), (others, order), grid, others.dtype)


def merge_sorted_pair(x: Array, others: Array) -> Generator[Any, Any, tuple[Array, Array]]:
    """Sort an array whose chunks are sorted, and move another one's elements along."""
    if x.expr.grid.nblocks == 1:
        return x, others
    if x.expr.pin is None:
        x, others = persist(x, others)
    cuts = yield from _cuts(x)
    x, others = in_runs(x, cuts), in_runs(others, cuts)
    grid = x.expr.grid
    values = make(BlockFunction("order.sorting:sort"), (x,), grid, x.dtype)
    return values, make(BlockFunction("order.sorting:merge_runs"), (x, others), grid, others.dtype)


def in_runs(x: Array, cuts: Values) -> Array:
    """Return a 1-D array whose chunk j is, of each chunk i of `x`, the part from cuts[i, j] to cuts[i, j + 1].

    Cuts are counted from the chunk's start.
    """
    return pieces(x, cuts[:, :-1], np.diff(cuts, axis=1))


def pieces(x: Array, begin: Values, length: Values) -> Array:
    """Return a 1-D array whose chunk j is, of each chunk i of `x`, length[i, j] elements from begin[i, j] on.

    Beginnings are counted from the chunk's start.
    """
    (axis,) = x.expr.grid.axes
    begin = axis.start(np.arange(axis.count))[:, None] + begin
    axis_map = Runs(np.ascontiguousarray(begin.T).reshape(-1), np.ascontiguousarray(length.T).reshape(-1))
    return move("runs", x, [(0, axis_map)], [Axis.of_sizes(length.sum(0))])


def ranges(x: Array, begin: Values, end: Values) -> Array:
    """Return in one chunk, range by range, of each chunk i of a long array the elements from begin[i, j] to end[i, j].

    They are counted from the chunk's start.
    """
    (axis,) = x.expr.grid.axes
    start, length = (begin + axis.start(np.arange(axis.count))[:, None]).T.reshape(-1), (end - begin).T.reshape(-1)
    total = int(length.sum())
    return move("between", x, [(0, Runs(start, length))], [Axis.whole(total)])


def _cuts(parts: Array) -> Generator[Any, Any, Values]:
    """Give for each sorted chunk where the result's chunks begin and end in it."""
    (axis,) = parts.expr.grid.axes
    n, m = axis.length, axis.count
    sizes = np.asarray(axis.sizes())
    wanted = axis.start(np.arange(1, m))
    step = max(1, round(math.sqrt(n / 2) / m), n // SAMPLES)
    exact = 2 * m * m * step <= 2 * SAMPLES
    taken = Axis.of_sizes(sizes // step)
    sample = yield make(BlockFunction("order.sorting:sample", (step,)), (parts,), Grid([taken]), parts.dtype)
    values, low, high = _brackets(blocks.sort(sample), wanted, step, m if exact else 0)
    grid = Grid([Axis.regular(m, 1), Axis.whole(2), Axis.whole(len(values))])
    ranks = yield make(BlockFunction("order.sorting:ranks", (values,), axes=((0,),)), (parts,), grid, "i8")
    left, right = (np.concatenate([0 * sizes[:, None], ranks[:, s], sizes[:, None]], 1) for s in (0, 1))
    cuts = _split(left, right, high, wanted)
    if exact:
        cuts = np.where(wanted <= right[:, low].sum(0), _split(left, right, low, wanted), cuts)
        open_ = np.flatnonzero((wanted > right[:, low].sum(0)) & (wanted < left[:, high].sum(0)))
        begin, end = right[:, low[open_]], left[:, high[open_]]
        if len(open_):
            between = yield ranges(parts, begin, end)
            cuts[:, open_] = begin + _count_elements(between, end - begin, wanted[open_] - begin.sum(0))
    return np.concatenate([0 * sizes[:, None], cuts, sizes[:, None]], 1)


def _brackets(sample: Values, wanted: Values, step: int, slack: int) -> tuple[Values, Values, Values]:
    """Return values, and for each wanted rank the numbers of those around it: 0 and the last stand for the ends.

    Before sample k (from 0 on) there are at least (k + 1) * step - 1 elements, and at most (k + slack) * step.
    """
    if not len(sample):
        return sample, 0 * wanted, 0 * wanted + 1
    if slack == 0:
        near = np.minimum(wanted // step, len(sample) - 1)
        values = sample[near]
        return values, np.arange(len(values)) + 1, np.arange(len(values)) + 1
    below, above = wanted // step - slack - 1, -(-wanted // step) + 1
    inside = np.concatenate([below[below >= 0], above[above < len(sample)]])
    values = blocks.sort(sample[inside])
    values = np.concatenate([values[:1], values[1:][values[1:] != values[:-1]]])
    low = np.where(below < 0, 0, np.searchsorted(values, sample[np.maximum(below, 0)]) + 1)
    last = np.searchsorted(values, sample[np.minimum(above, len(sample) - 1)]) + 1
    return values, low, np.where(above >= len(sample), len(values) + 1, last)


def _split(left: Values, right: Values, column: Values, wanted: Values) -> Values:
    """Return how many elements of each chunk come before a border, which lies at a value, or among elements equal to
    it."""
    first, ties = left[:, column], right[:, column] - left[:, column]
    earlier = np.cumsum(ties, 0) - ties
    return np.asarray(first + np.clip(wanted - first.sum(0) - earlier, 0, ties))


def _count_elements(between: Values, length: Values, wanted: Values) -> Values:
    """Return how many elements of each range are among the first `wanted` of a border's ranges."""
    counts, at = np.empty_like(length), 0
    for j, count in enumerate(wanted.tolist()):
        size = int(length[:, j].sum())
        chunk = np.repeat(np.arange(len(length)), length[:, j])
        order = blocks.argsort(between[at : at + size])
        counts[:, j] = np.bincount(chunk[order[:count]], minlength=len(length))
        at += size
    return counts


def restore_order(order: Array, x: Array, grid: Grid) -> Steps:
    """Give the array, on a grid, whose element order[k] is x[k].

    `order` holds each position once, on the same chunks as `x`; it is read twice.
    """
    local = make(BlockFunction("order.sorting:argsort"), (order,), order.expr.grid, "i8")
    x = make(BlockFunction("order.sorting:pick"), (x, local), order.expr.grid, x.dtype)
    order, x = persist(make(BlockFunction("order.sorting:sort"), (order,), order.expr.grid, "i8"), x)
    wanted = np.append(grid.axes[0].start(np.arange(grid.nblocks)), grid.size)
    shape = Grid([Axis.regular(order.npartitions, 1), Axis.whole(len(wanted))])
    cuts = yield make(BlockFunction("order.sorting:starts", (wanted,), axes=((0,),)), (order,), shape, "i8")
    runs, moved = in_runs(order, cuts), in_runs(x, cuts)
    return make(BlockFunction("order.sorting:place_sorted", where=True), (runs, moved), grid, x.dtype)
