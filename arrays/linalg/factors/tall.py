"""QR of tall matrices by blocks of rows (TSQR); see `workers.kernels.blocks.linalg.tallqr`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....graph.chunks.axismap import Slice
from ....graph.chunks.grid import Axis, Grid
from ....graph.chunks.positions import Runs
from ....graph.kinds.mapping import BlockFunction
from ....graph.kinds.move import Move, Route
from ....workers.kernels.blocks.linalg.tallqr import count_packed_rows
from ...base import make
from ...chunking.rechunk import regrid
from ...creation.ranges import eye
from ..common import step

if TYPE_CHECKING:
    from ...array import Array

TALL = 4
"""A matrix with this many times more rows than columns is factored by rows."""
WIDEST = 2048
"""Triangles of at most this many columns go up the tree as one chunk each."""
ROWS = 1 << 20
"""Size of a block of rows, if the array's own chunks can't serve as blocks."""
JOINED = 1 << 20
"""Size of the triangles that are factored together, at least four of them."""


def is_tall(x: Array) -> bool:
    """Whether a matrix is factored by rows."""
    m, n = x.shape
    return 0 < n <= WIDEST and m >= TALL * n


def row_blocks(x: Array) -> Array:
    """Return a tall matrix on blocks of at least as many rows as columns: its own chunks, if they have as many."""
    m, n = x.shape
    rows = x.expr.grid.axes[0]
    sizes = np.array(rows.sizes() if rows.count <= m // n else ())
    if len(sizes) < 2 or sizes.min() < n or sizes.max() * n > 16 * ROWS:
        each = max(TALL * n, ROWS // n)
        sizes = np.full(max(1, m // each), each)
        sizes[-1] += m - sizes.sum()
    return regrid(x, Grid([Axis.of_sizes(sizes), Axis.whole(n)]))


@dataclass(frozen=True)
class Tall:
    """A tall matrix factored by blocks of rows: the blocks' packed factors, and those of the joined triangles."""

    leaves: Array
    rows: Axis
    levels: tuple[Array, ...]
    triangle: Array

    @classmethod
    def of(cls, x: Array) -> Tall:
        """Factor a matrix."""
        x = row_blocks(x)
        n, rows = x.shape[1], x.expr.grid.axes[0]
        packed = [count_packed_rows(size, n) for size in rows.sizes()]
        leaves = _blocks("linalg.tallqr:leaf", x, packed)
        triangles = _last_rows(leaves, n)
        levels: list[Array] = []
        while len(triangles) > n:
            groups = _group_triangles(triangles)
            level = _blocks("linalg.tallqr:join", groups, [size + n for size in groups.expr.grid.axes[0].sizes()])
            levels.append(level)
            triangles = _last_rows(level, n)
        return cls(leaves, rows, tuple(levels), regrid(triangles, Grid.single((n, n))))

    def form(self, right: Array | None) -> Array:
        """Return Q, or its product with a small matrix."""
        n = self.leaves.shape[1]
        below = right if right is not None else eye(n, dtype=self.leaves.dtype, chunks=-1)
        for level in reversed(self.levels):
            sizes = [size - n for size in level.expr.grid.axes[0].sizes()]
            columns = Axis.whole(below.shape[1])
            below = regrid(below, Grid([Axis.regular(len(below), n), columns]))
            grid = Grid([Axis.of_sizes(sizes), columns])
            below = make(
                BlockFunction("linalg.tallqr:descend", (), ((0, None), (0, None))), (level, below), grid, below.dtype
            )
        columns = Axis.whole(below.shape[1])
        below = regrid(below, Grid([Axis.regular(len(below), n), columns]))
        op = BlockFunction("linalg.tallqr:form", (), ((0, None), (0, None)), True)
        return make(op, (self.leaves, below), Grid([self.rows, columns]), below.dtype)


def tall_triangle(x: Array) -> Array:
    """Return R of a tall matrix alone."""
    x = row_blocks(x)
    n = x.shape[1]
    triangles = _blocks("linalg.tallqr:leaf_r", x, [n] * x.expr.grid.axes[0].count)
    while len(triangles) > n:
        groups = _group_triangles(triangles)
        triangles = _blocks("linalg.tallqr:join_r", groups, [n] * groups.expr.grid.axes[0].count)
    return triangles


def _blocks(function: str, x: Array, sizes: list[int]) -> Array:
    """Apply a function to blocks of rows, which changes the numbers of rows to `sizes`."""
    return step(function, (x,), Grid([Axis.of_sizes(sizes), x.expr.grid.axes[1]]), [(0, 1)])


def _last_rows(packed: Array, n: int) -> Array:
    """Return the last n rows of each block of packed factors, one below the other."""
    rows = packed.expr.grid.axes[0]
    blocks = np.arange(rows.count)
    starts = rows.stop(blocks) - n
    route = Route(((0, Runs(starts, np.full(rows.count, n))), (1, Slice())))
    grid = Grid([Axis.regular(rows.count * n, n), packed.expr.grid.axes[1]])
    return make(Move("triangles", (route,)), (packed,), grid, packed.dtype)


def _group_triangles(triangles: Array) -> Array:
    """Bring the triangles that are factored together to one chunk."""
    n = triangles.shape[1]
    together = max(4, JOINED // (n * n))
    return regrid(triangles, Grid([Axis.regular(len(triangles), together * n), triangles.expr.grid.axes[1]]))
