"""Axes brought into one chunk each, for operations that need whole lines, without making chunks larger; and small
chunks along an axis merged, for operations in which each chunk meets each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from .rechunk import regrid

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..array import Array
    from ..base import ArrayBase

SMALLEST = 1 << 16
"""Chunks are not made smaller than so many elements: each is a task."""
MOST_SIZES = 1 << 16

SMALL_BYTES, LARGE_BYTES = 1 << 20, 1 << 26
FEW_CHUNKS, MANY_CHUNKS = 1 << 6, 1 << 11
"""Chunks that meet each other are merged to SMALL_BYTES; up to LARGE_BYTES where there would be more than FEW_CHUNKS
of them, and further where there would be more than MANY_CHUNKS."""


def whole_grid(grid: Grid, axes: Collection[int]) -> Grid:
    """Return a grid with these axes whole; the others are cut so that chunks stay about as large as they were."""
    room = max(grid.largest, SMALLEST)
    lines = math.prod(grid.axes[a].length for a in axes)
    rest = [i for i in range(grid.ndim) if i not in axes]
    over = lines * math.prod(grid.axes[i].largest for i in rest) / room
    new_axes = [Axis.whole(a.length).freed(a.is_free) if i in axes else a for i, a in enumerate(grid.axes)]
    for i in rest:
        if over <= 1:
            break
        largest = grid.axes[i].largest
        pieces = min(math.ceil(over), largest)
        new_axes[i] = cut(grid.axes[i], -(-largest // pieces)).freed(grid.axes[i].is_free)
        over /= largest / max(1, new_axes[i].largest)
    return Grid(new_axes)


def cut(axis: Axis, step: int) -> Axis:
    """Return an axis with chunks of at most `step` that keeps its borders, unless there would be very many."""
    if (axis.is_regular and axis.step % step == 0) or axis.count * (axis.largest // step + 1) > MOST_SIZES:
        return Axis.regular(axis.length, step)
    sizes: list[int] = []
    for size in axis.sizes():
        parts = max(1, -(-size // step))
        small, longer = divmod(size, parts)
        sizes += [small + 1] * longer + [small] * (parts - longer)
    return Axis.of_sizes(sizes)


def whole(x: ArrayBase, axes: Collection[int]) -> Array:
    """Return the array with these axes in one chunk each; see `whole_grid`."""
    return regrid(x, whole_grid(x.expr.grid, axes))


def merge_axis(axis: Axis, line_bytes: int) -> Axis:
    """Return an axis of which so many bytes make one position, with small chunks merged with those beside them.

    Chunks that are large enough stay as they are: borders are left out, and none is moved.
    """
    total = axis.length * line_bytes
    wanted = max(min(max(SMALL_BYTES, total // FEW_CHUNKS), LARGE_BYTES), total // MANY_CHUNKS)
    step = max(1, wanted // max(1, line_bytes))
    if axis.is_regular:
        return Axis.regular(axis.length, axis.step * max(1, step // axis.step))
    start = axis.start(np.arange(axis.count))
    _, first = np.unique(start // step, return_index=True)
    return Axis.of_sizes(np.diff(np.append(start[first], axis.length)))


def merge_small_chunks(x: ArrayBase, axis: int = 0) -> Array:
    """Return the array with small chunks along an axis merged; see `merge_axis`."""
    grid = x.expr.grid
    line = math.prod(a.largest for i, a in enumerate(grid.axes) if i != axis) * x.dtype.itemsize
    axes = list(grid.axes)
    axes[axis] = merge_axis(axes[axis], line).freed(axes[axis].is_free)
    return regrid(x, Grid(axes))
