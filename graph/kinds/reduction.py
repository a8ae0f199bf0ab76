"""Reductions: a fixed tree over the blocks, so that the bits depend on the chunks alone.

`Reduce` is what the user wrote. `simplify` makes of it a chain of `Level`s: the first takes the array's own blocks, a
group of them for each partial result, and those above partial results, until one group is left along each reduced
axis; the last level also finishes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..chunks.grid import Axis, Grid
from ..expr.expr import DType, Expr, Op

GROUP_BYTES = 1 << 20
GROUP_BLOCKS = 4096
LEAST_TASKS = 16
"""Groups of thin blocks aren't formed where fewer tasks would be left."""


@dataclass(frozen=True)
class Reduce(Op):
    """A reduction over `axes`; `head` names it in `workers.kernels.reductions`.

    `partial` is the dtype of its partial results, which follows from the head and the dtypes; None: the result's.
    """

    head: str
    axes: tuple[int, ...]
    keepdims: bool
    ddof: float = 0.0
    partial: DType | None = field(default=None, metadata={"token": False})

    @property
    def label(self) -> str:
        return self.head


@dataclass(frozen=True)
class Level(Op):
    """One level of a reduction's tree: each block of the result covers `groups` blocks along each axis.

    `leaf` says whether it takes the array's own elements or partial results; `final` whether it finishes. `parts` are
    the levels that are done together over one operand, whose partial results are fields; `field` is the one that a
    level goes on from. `tree` says how many of a group's blocks are combined at a time, how many of what these come to,
    and so on; empty: all at once.
    """

    reduce: Reduce
    groups: tuple[int, ...]
    leaf: bool
    final: bool
    shape: tuple[int, ...]
    source: DType
    target: DType
    parts: tuple[Level, ...] = ()
    field: int | None = None
    tree: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        return self.reduce.head if self.final else f"{self.reduce.head} (partial)"

    @property
    def partial(self) -> DType:
        """The dtype of partial results."""
        return self.target if self.reduce.partial is None else self.reduce.partial


def expand(expr: Expr, operand: Expr) -> Expr:
    """Return the tree of levels for a reduction; the last one bears the reduction's own token."""
    reduce = expr.op
    assert isinstance(reduce, Reduce)
    partial = expr.dtype if reduce.partial is None else reduce.partial
    current, leaf = operand, True
    while True:
        itemsize = operand.dtype.itemsize if leaf else partial.itemsize
        groups = _groups(current.grid, reduce.axes, current.grid.largest * itemsize, leaf)
        if leaf and is_thin(current.grid, reduce.axes, itemsize, partial.itemsize):
            # As the next level would take them, to its bits: what is as large as the blocks isn't written down.
            thin = _partials_grid(current.grid, reduce.axes, groups)
            above = _groups(thin, reduce.axes, thin.largest * partial.itemsize, False)
            groups = above if math.prod(thin.counts) >= LEAST_TASKS * math.prod(above) else groups
        counts = [-(-n // g) for n, g in zip(current.grid.counts, groups, strict=True)]
        final = all(counts[a] == 1 for a in reduce.axes)
        op = Level(reduce, groups, leaf, final, operand.shape, operand.dtype, expr.dtype)
        if final:
            return Expr(op, (current,), expr.grid, expr.dtype, expr.origin, None, expr.token)
        grid = _partials_grid(current.grid, reduce.axes, groups)
        current, leaf = Expr(op, (current,), grid, partial, expr.origin), False


def _partials_grid(grid: Grid, axes: tuple[int, ...], groups: tuple[int, ...]) -> Grid:
    """Return the grid of a level's partial results: along reduced axes one for each group."""
    return Grid([Axis.regular(-(-a.count // groups[i]), 1) if i in axes else a for i, a in enumerate(grid.axes)])


def is_thin(grid: Grid, axes: tuple[int, ...], itemsize: int, partial: int) -> bool:
    """Whether large blocks' partial results take about as many bytes as the blocks."""
    reduced = math.prod(grid.axes[a].largest for a in axes)
    return grid.largest * itemsize > GROUP_BYTES and reduced * itemsize < 2 * partial


def _groups(grid: Grid, axes: tuple[int, ...], block_bytes: int, leaf: bool) -> tuple[int, ...]:
    """How many blocks a group has along each axis, by bytes: a level is a round trip, a group one task."""
    least = 1 if leaf else 4
    left = max(least, min(GROUP_BLOCKS, GROUP_BYTES // max(1, block_bytes)))
    groups = [1] * grid.ndim
    for a in sorted(axes, reverse=True):
        groups[a] = max(1, min(grid.counts[a], left))
        left //= groups[a]
    return tuple(groups)


def reduce_grid(grid: Grid, axes: tuple[int, ...], keepdims: bool) -> Grid:
    if keepdims:
        return Grid([Axis.whole(1) if i in axes else a for i, a in enumerate(grid.axes)])
    return Grid([a for i, a in enumerate(grid.axes) if i not in axes])


def count_reduced(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """Return the number of elements that one result covers."""
    return math.prod(shape[a] for a in axes)
