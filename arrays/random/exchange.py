"""A permutation along an axis in many chunks: chunks are split into runs, sent, and ordered where they arrive.

Where an element goes follows from its position alone, so no index is made or sent. Chunk i sorts its elements by the
chunks that they go to; chunk j takes one run of each; and since the runs keep the order in which the elements stood, j
knows from its own positions' origins where each of them belongs. The driver only knows how many elements go from i to
j.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.axismap import Slice
from ...graph.chunks.grid import Axis, Grid
from ...graph.chunks.positions import Runs
from ...graph.kinds.mapping import BlockFunction
from ..base import make, wrap_host
from ..chunking.rechunk import regrid
from ..execution.deferred import defer
from ..ops.moves.axis_moves import Step, move

if TYPE_CHECKING:
    from collections.abc import Generator

    from ...workers.kernels.randoms.permuting import Seed
    from ..array import Array


FEWEST, MOST = 64, 1024
JOINED_BYTES = 1 << 22
"""Chunks along the axis are joined first where there are more than `MOST`, or more than `FEWEST` that are smaller than
this: each sends a run to each other one."""


def permutation_of(name: str, x: Array, seed: Seed, axis: int) -> Array:
    """Return the array with its elements along an axis in the order of a seed."""
    if x.expr.grid.axes[axis].count == 1:
        return make(BlockFunction("order.permutations:shuffle_block", (seed, axis)), [x], x.expr.grid, x.dtype)
    axes = list(x.expr.grid.axes)
    most = min(MOST, max(FEWEST, x.nbytes // JOINED_BYTES))
    if axes[axis].count > most:
        axes[axis] = Axis.regular(axes[axis].length, -(-axes[axis].length // most))
    joined = regrid(x, Grid(axes))
    return regrid(defer(name, _exchange, [joined], (seed, axis), joined.expr.grid, x.dtype), x.expr.grid)


def _exchange(x: Array, seed: Seed, axis: int) -> Generator[Any, Any, Array]:
    along, n = x.expr.grid.axes[axis], x.shape[axis]
    chunks = np.arange(along.count)
    begins, ends = np.asarray(along.start(chunks)), np.asarray(along.stop(chunks))
    grid = Grid([Axis.regular(along.count, 1), Axis.whole(2)])
    bounds = wrap_host(np.stack([begins, ends], axis=1), grid, np.dtype(np.int64), in_place=True)
    square = Grid([Axis.regular(along.count, 1), Axis.whole(along.count)])
    counted = BlockFunction("order.permutations:count_moves", (seed, n, begins), ((0, None),))
    counts = yield make(counted, [bounds], square, np.int64)
    dealt = make(
        BlockFunction("order.permutations:deal_elements", (seed, n, axis, begins), where=True),
        [x],
        x.expr.grid,
        x.dtype,
    )
    starts = begins[:, None] + np.cumsum(counts, axis=1) - counts
    steps: list[Step] = [(i, Slice()) for i in range(x.ndim)]
    steps[axis] = (axis, Runs(starts.T.reshape(-1), counts.T.reshape(-1)))
    come = move("permutation", dealt, steps, x.expr.grid.axes)
    return make(
        BlockFunction("order.permutations:place_elements", (seed, n, axis), where=True), [come], x.expr.grid, x.dtype
    )
