"""Moves of what is computed: an elementwise function of shifted arrays is the shifted function.

A slice, or a change of chunks, of an elementwise node that nothing else uses is led below it, so that the function is
computed where its result is wanted, in one stage with what follows. A function set into the middle of an array,
`h[1:-1, 1:-1] = f(…)`, is computed in the array's own chunks, where it is chosen inside a box and the old elements
outside; nothing is held in between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from ..chunks.axismap import AxisMap, Fixed, Slice
from ..chunks.grid import Axis, Grid
from ..expr.expr import Expr
from ..expr.interned import recall, recurs, same_grid
from ..kinds.elementwise import Elementwise
from ..kinds.move import Move, Route
from ..kinds.source import Full, Inside
from .shift_boxes import compose, find_patches, meet
from .windows import makes_much

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..expr.expr import DType
    from ..expr.origin import Origin
    from .shift_boxes import Box, Patch

    Judge = Callable[[Expr], bool]
    Axes = tuple[tuple[int | None, AxisMap], ...]

DEEP = 16
"""Functions of functions are led through to such a depth."""
HALF = 2
"""A function that is set is computed for the whole array where its box has at least one element of so many."""

CHOICE = Elementwise("where", (0, 1, 2))


@lru_cache(1024)
def _inside(box: Box) -> Inside:
    return recurs(Inside(box))


@lru_cache(1024)
def _shifted(by: tuple[int, ...], dtype: DType | None) -> Move:
    """Return the move that shifts; beyond what is shifted stand zeros of a dtype, where nothing is chosen."""
    fill = None if dtype is None else np.zeros((), dtype)[()]
    return recurs(Move("getitem", (Route(tuple((i, Slice(s)) for i, s in enumerate(by))),), fill))


def push_down(
    node: Expr, op: Move, operands: tuple[Expr, ...], sole: Judge, stored: Callable[[str], bool]
) -> Expr | None:
    """Return what stands for a move of an elementwise node that nothing else uses; None where it isn't one."""
    patches = find_patches(op, operands, node)
    if patches is None or not node.grid.size:
        return _pick(node, op, operands[0], sole, stored) if node.grid.size else None
    if op.sets_elements:
        return _set(node, op, operands, patches, sole, stored)
    if len(patches) != 1 or op.fill is not None:
        return None
    (patch,) = patches
    value = operands[patch.operand]
    if patch.box != tuple((0, n) for n in node.shape) or not _goes_down(value, sole):
        return None
    shifted = _Shifting(node.origin, sole, stored).shift(value, patch.shift, node.grid)
    return Expr(shifted.op, shifted.operands, node.grid, node.dtype, shifted.origin, node.pin, node.token)


def _goes_down(node: Expr, sole: Judge) -> bool:
    return isinstance(node.op, Elementwise) and sole(node)


def _pick(node: Expr, op: Move, value: Expr, sole: Judge, stored: Callable[[str], bool]) -> Expr | None:
    """Return the function of slices that a slice of a function is, with steps, single positions and new axes.

    What is transposed is taken where it is little, since each operand would be transposed.
    """
    if len(op.routes) != 1 or op.fill is not None or not _goes_down(value, sole) or makes_much(node):
        return None
    if op.routes[0].order is not None and HALF * node.grid.size > value.grid.size:
        return None
    if not all(isinstance(axis_map, Slice | Fixed) for _, axis_map in op.routes[0].axes):
        return None
    picked = _Picking(node, sole, stored).pick(value, op.routes[0].axes)
    return Expr(picked.op, picked.operands, node.grid, node.dtype, picked.origin, node.pin, node.token)


@dataclass(frozen=True)
class _Picking:
    node: Expr
    sole: Judge
    stored: Callable[[str], bool]

    def pick(self, value: Expr, axes: Axes, deep: int = 0) -> Expr:
        """Return what a slice takes of an operand; where that has one element for all positions there is one axis."""
        grid = self._grid(axes)
        if _goes_down(value, self.sole) and deep < DEEP:
            operands = tuple([self.pick(child, _broadcast(child, value, axes), deep + 1) for child in value.operands])
            return Expr(value.op, operands, grid, value.dtype, value.origin)
        if isinstance(value.op, Full):
            return Expr(value.op, (), grid, value.dtype, value.origin)
        move = Move("getitem", (Route(axes),))
        if isinstance(value.op, Move) and not self.stored(value.token):
            both = value.op.compose(move)
            if both is not None:
                return Expr(both, value.operands, grid, value.dtype, self.node.origin)
        return Expr(move, (value,), grid, value.dtype, self.node.origin)

    def _grid(self, axes: Axes) -> Grid:
        """Return the chunks of the result along the axes that an operand has, and one of one element along others."""
        mine = {target for target, _ in axes}
        grid_axes = [axis if i in mine else Axis.whole(1) for i, axis in enumerate(self.node.grid.axes)]
        return same_grid(Grid(grid_axes))


def _broadcast(child: Expr, value: Expr, axes: Axes) -> Axes:
    """Return what a slice of a function's result takes of an operand."""
    skipped = value.grid.ndim - child.grid.ndim
    return tuple(
        (None, Fixed(0)) if n == 1 and m != 1 else each
        for each, n, m in zip(axes[skipped:], child.shape, value.shape[skipped:], strict=True)
    )


@dataclass(frozen=True)
class _Shifting:
    origin: Origin
    sole: Judge
    stored: Callable[[str], bool]

    def shift(self, node: Expr, by: tuple[int, ...], grid: Grid, deep: int = 0) -> Expr:
        """Return a node whose element at p is that of another at `p + by`, in chunks of its own."""
        if _goes_down(node, self.sole) and deep < DEEP:
            return Expr(node.op, self._operands(node, by, grid, deep + 1), grid, node.dtype, node.origin)
        if grid == node.grid and not any(by):
            return node
        if isinstance(node.op, Full):
            return Expr(node.op, (), grid, node.dtype, node.origin)
        if isinstance(node.op, Inside):
            box = tuple([(lo - s, hi - s) for (lo, hi), s in zip(node.op.box, by, strict=True)])
            return Expr(_inside(box), (), grid, node.dtype, node.origin)
        beyond = any(s < 0 or s + n > m for s, n, m in zip(by, grid.shape, node.shape, strict=True))
        op = _shifted(by, node.dtype if beyond else None)
        shifted = Expr(op, (node,), grid, node.dtype, self.origin)
        both = compose(op, (node,), shifted, self.stored)
        return shifted if both is None else Expr(*both, grid, node.dtype, self.origin)

    def _operands(self, node: Expr, by: tuple[int, ...], grid: Grid, deep: int) -> tuple[Expr, ...]:
        """Return a node's operands so shifted; where one element serves all positions it stays."""
        operands: list[Expr] = []
        for child in node.operands:
            skipped = node.grid.ndim - child.grid.ndim
            wide = [n == 1 and m != 1 for n, m in zip(child.shape, node.shape[skipped:], strict=True)]
            axes = [Axis.whole(1) if w else a for w, a in zip(wide, grid.axes[skipped:], strict=True)]
            mine = grid if not (skipped or any(wide)) else same_grid(Grid(axes))
            own = tuple(0 if w else s for w, s in zip(wide, by[skipped:], strict=True))
            operands.append(self.shift(child, own, mine, deep))
        return tuple(operands)


def _set(
    node: Expr, op: Move, operands: tuple[Expr, ...], patches: list[Patch], sole: Judge, stored: Callable[[str], bool]
) -> Expr | None:
    """Return the choice between a function that is set into a box, and what the move makes without it."""
    for number, patch in enumerate(patches):
        value = operands[patch.operand]
        size = math.prod(hi - lo for lo, hi in patch.box)
        alone = sum(p.operand == patch.operand for p in patches) == 1 and number > 0
        later = any(meet(patch.box, p.box) for p in patches[number + 1 :])
        if not alone or later or size * HALF < node.grid.size or not _goes_down(value, sole):
            continue
        rest = [k for k in range(len(operands)) if k != patch.operand]
        old = operands[0]
        if len(rest) > 1:
            routes = tuple(op.routes[k] for k in rest)
            left = Move(op.name, routes)
            if op.recurring:
                left = recall(("rest", patch.operand), (op,), partial(recurs, left))
            old = Expr(left, tuple(operands[k] for k in rest), node.grid, node.dtype, node.origin)
        elif old.grid != node.grid:
            return None
        new = _Shifting(node.origin, sole, stored).shift(value, patch.shift, node.grid)
        inside = Expr(_inside(patch.box), (), node.grid, np.dtype(bool), node.origin)
        return Expr(CHOICE, (inside, new, old), node.grid, node.dtype, node.origin, node.pin, node.token)
    return None
