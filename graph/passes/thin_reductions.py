"""Reductions across thin blocks of what is made where it is used: the whole tree of a part of the result is one task.

In `zeros((13_000_000, 410), chunks=(-1, 1)).sum(1)` each partial result is as large as a block. Nothing is read, so
the blocks may be cut along the axes that stay; what is combined at a time, and in which order, is as for whole blocks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..chunks.grid import Axis, Grid
from ..expr.expr import Expr
from ..expr.token import token_of
from ..kinds.elementwise import Elementwise
from ..kinds.move import rechunk
from ..kinds.reduction import GROUP_BLOCKS, LEAST_TASKS, Level, is_thin, reduce_grid
from ..kinds.source import Full, Ramp, Random

if TYPE_CHECKING:
    from collections.abc import Callable

CELL = 1 << 15
"""Elements of a part of a block, which fits the cache with what is combined."""
DEEP = 16
"""More operations in a row are left as they are."""


def reduce_in_cells(root: Expr, operand: Expr, sole: Callable[[Expr], bool], stored: Callable[[str], bool]) -> Expr:
    """Return a reduction's tree of levels with one level in its place, where that does; the same bits."""
    levels: list[Level] = []
    below = root
    while isinstance(below.op, Level) and (not levels or not levels[-1].leaf):
        levels.append(below.op)
        (below,) = below.operands
    final, leaf = levels[0], levels[-1]
    reduce, grid = final.reduce, operand.grid
    several = [a for a in reduce.axes if grid.axes[a].count > 1]
    thin = is_thin(grid, reduce.axes, operand.dtype.itemsize, leaf.partial.itemsize)
    if len(several) != 1 or len(levels) < 2 or not thin:
        return root
    cells = _cut(grid, reduce.axes)
    count = grid.axes[several[0]].count
    if count > GROUP_BLOCKS or cells.nblocks < LEAST_TASKS * count or not _is_made(operand, grid.shape, sole, stored):
        return root
    groups = tuple([axis.count if a in several else 1 for a, axis in enumerate(grid.axes)])
    at_a_time = tuple([level.groups[several[0]] for level in reversed(levels)])
    op = replace(leaf, groups=groups, final=True, tree=at_a_time)
    out = reduce_grid(cells, reduce.axes, reduce.keepdims)
    reduced = Expr(op, (_over(operand, cells),), out, root.dtype, root.origin, None, token_of("cells", root.token))
    return Expr(rechunk(out.ndim), (reduced,), root.grid, root.dtype, root.origin, None, root.token)


def _is_made(
    node: Expr, shape: tuple[int, ...], sole: Callable[[Expr], bool], stored: Callable[[str], bool], deep: int = 0
) -> bool:
    """Tell whether elements follow from their positions, and are made for one user alone or cheap to make again."""
    if node.shape != shape or stored(node.token) or deep > DEEP:
        return False
    if isinstance(node.op, Elementwise):
        return sole(node) and all(_is_made(child, shape, sole, stored, deep + 1) for child in node.operands)
    return isinstance(node.op, Full | Ramp) or (isinstance(node.op, Random) and sole(node))


def _over(node: Expr, grid: Grid) -> Expr:
    """Return the same elements in other blocks."""
    operands = tuple([_over(child, grid) for child in node.operands])
    return Expr(node.op, operands, grid, node.dtype, node.origin)


def _cut(grid: Grid, axes: tuple[int, ...]) -> Grid:
    """Return a grid whose blocks are cut along the axes that stay."""
    left, cut_axes = CELL, list(grid.axes)
    for a in reversed(range(grid.ndim)):
        if a not in axes:
            step = max(1, min(left, cut_axes[a].length))
            cut_axes[a], left = Axis.regular(cut_axes[a].length, step), left // step
    return Grid(cut_axes)
