"""Expressions over sources in other chunks: operations whose chunks follow from their operands' follow them.

Elementwise functions, reductions, slices, joins, reshapes, products, and built-in functions of blocks along the axes
along which their blocks are apart get the chunks that they would have had, about, if the sources had been made so.
What an operation is made of may follow from its operands' chunks; such a one is built again over them (`refitting`).
Rechunks that an operation put in are chosen anew. What takes blocks as they are (users' functions, operations planned
when they run) and a user's `rechunk` keep their own chunks: operands are brought into those that they had.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...graph.chunks.axismap import Halo, Slice
from ...graph.chunks.grid import Axis, Grid
from ...graph.expr.expr import Expr, Op, rewrite, with_operands
from ...graph.kinds.contraction import Contract
from ...graph.kinds.elementwise import Elementwise
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.move import Move
from ...graph.kinds.reduction import Reduce, reduce_grid
from ...graph.kinds.reshape import Reshape, reshape_grid
from ..base import wrap
from ..chunking.coalesce import whole_grid
from ..chunking.rechunk import align_chunks, regrid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

APART = {
    "signal.fft:steps",
    "scipy.signal:lines",
    "order.quantiles:along",
    "statistics.scans:scan",
    "statistics.scans:scan_from",
    "statistics.scans:total",
    "order.searching:positions",
    "signal.lines:gradient",
    "signal.lines:interp",
    "signal.lines:polyval",
    "order.sorting:argsort",
    "order.sorting:sort",
}
"""Built-in functions of blocks whose results don't depend on where blocks end along the axes that these share."""


def fit(roots: Sequence[Expr], grids: Mapping[str, Grid]) -> list[Expr]:
    """Return expressions over sources on other grids.

    Parameters
    ----------
    roots
        What is to be computed.
    grids
        The grids of sources, or of what is rechunked, by their tokens; other sources, and what is persisted, stay as
        they are.
    """

    def end(node: Expr) -> Expr | None:
        if node.pin is not None or node.operands:
            return None if node.pin is None else node
        grid = grids.get(node.token)
        return node if grid is None else Expr(node.op, (), grid, node.dtype, node.origin)

    def build(node: Expr, operands: tuple[Expr, ...]) -> Expr:
        grid = grids.get(node.token)
        return _over(node, operands) if grid is None else Expr(node.op, operands, grid, node.dtype, node.origin)

    return rewrite(list(roots), end, build, lambda node: node if node.refit is None else _as_built(node))


@dataclass(frozen=True)
class Rebuilt(Op):
    """Stands for an operation that is built again, over what it was built over."""

    node: Expr


def _as_built(node: Expr) -> Expr:
    operands: tuple[Expr, ...] = node.refit.operands
    return Expr(Rebuilt(node), operands, node.grid, node.dtype, node.origin, None, node.token)


def _over(node: Expr, operands: tuple[Expr, ...]) -> Expr:
    """Return a node over operands that may have other chunks."""
    op, same = node.op, all(a is b for a, b in zip(operands, node.operands, strict=True))
    if isinstance(op, Rebuilt):
        return op.node if same else op.node.refit.over(operands, op.node)
    if same:
        return node
    if isinstance(op, Elementwise):
        grid, fitted = align_chunks(op.label, [wrap(each) for each in operands])
        return Expr(op, tuple([each.expr for each in fitted]), grid, node.dtype, node.origin)
    if isinstance(op, Move) and op.is_rechunk:
        return regrid(wrap(operands[0]), _rechunked_grid(node, operands[0])).expr
    if (
        isinstance(op, BlockFunction)
        and op.function == "statistics.scans:scan_from"
        and _is_whole(operands[0], op.params[1])
    ):
        return Expr(
            BlockFunction("statistics.scans:scan", op.params[:3]),
            operands[:1],
            operands[0].grid,
            node.dtype,
            node.origin,
        )
    grid, own = _grids(node, operands)
    fitted = [regrid(wrap(new), each) for new, each in zip(operands, own, strict=True)]
    below = tuple([each.expr for each in fitted])
    if grid == node.grid and all(a.token == b.token for a, b in zip(below, node.operands, strict=True)):
        return with_operands(node, below)
    return Expr(op, below, grid, node.dtype, node.origin)


def _is_whole(node: Expr, axis: int) -> bool:
    return node.grid.axes[axis].count == 1


def _grids(node: Expr, operands: tuple[Expr, ...]) -> tuple[Grid, list[Grid]]:
    """Return the chunks of a node, and those that it takes its operands in."""
    op, present = node.op, [each.grid for each in operands]
    if isinstance(op, Reduce):
        return reduce_grid(present[0], op.axes, op.keepdims), present
    if isinstance(op, Move) and not any(isinstance(axis_map, Halo) for r in op.routes for _, axis_map in r.axes):
        return _moved_grid(op, node, operands), present
    if isinstance(op, Reshape) and node.grid == reshape_grid(op.groups, node.operands[0].grid, node.shape):
        return reshape_grid(op.groups, present[0], node.shape), present
    if isinstance(op, Contract):
        return _product_grids(op, node, operands)
    if isinstance(op, Move):
        return _along(node, operands, [tuple([target for target, _ in route.axes]) for route in op.routes])
    if isinstance(op, BlockFunction) and op.function in APART:
        return _along(node, operands, [op.operand_axes(k, node.grid.ndim) for k in range(len(operands))])
    return node.grid, [each.grid for each in node.operands]


def _along(node: Expr, operands: tuple[Expr, ...], targets: list[tuple[int | None, ...]]) -> tuple[Grid, list[Grid]]:
    """Return the chunks of what shares those of its largest operand along some axes, and those of its operands.

    Along other axes, those of lines, margins and tables, all stays as it was: lines that are cut now are made whole.
    """
    own = [list(each.grid.axes) for each in node.operands]
    met = [(k, place, t) for k, each in enumerate(targets) for place, t in enumerate(each) if t is not None]
    differing = {t for k, place, t in met if own[k][place] != node.grid.axes[t]}
    lead = max(range(len(own)), key=lambda k: node.operands[k].nbytes)
    gone = isinstance(node.op, BlockFunction) and None in targets[lead]  # lines are what the result doesn't have
    shared = {t for _, _, t in met if gone or node.grid.axes[t].count > 1} - differing
    now = operands[lead].grid.axes
    lines = [k for k, t in enumerate(targets[lead]) if t not in shared and own[lead][k].count == 1]
    wide = [
        new if t in shared or k in lines else own[lead][k]
        for k, (t, new) in enumerate(zip(targets[lead], now, strict=True))
    ]
    cut = whole_grid(Grid(wide), lines).axes
    led = [cut[k] if t in shared else own[lead][k] for k, t in enumerate(targets[lead])]
    taken = {t: axis for t, axis in zip(targets[lead], led, strict=True) if t in shared}
    for k, place, t in met:
        own[k][place] = taken.get(t, own[k][place])
    own[lead] = led
    return Grid([taken.get(t, axis) for t, axis in enumerate(node.grid.axes)]), [Grid(each) for each in own]


def _rechunked_grid(node: Expr, operand: Expr) -> Grid:
    """Return the chunks of a rechunk: a user's own along axes where they gave some, elsewhere an operation's choice."""
    mine = node.grid.axes
    free = [axis.is_free or node.origin.call != "rechunk" for axis in mine]
    axes = [new if f else axis for f, axis, new in zip(free, mine, operand.grid.axes, strict=True)]
    old = node.operands[0].grid.axes
    return whole_grid(Grid(axes), [i for i, f in enumerate(free) if f and mine[i].count == 1 < old[i].count])


def _product_grids(op: Contract, node: Expr, operands: tuple[Expr, ...]) -> tuple[Grid, list[Grid]]:
    """Return the chunks of a product and its operands, as `contract` has them: the larger operand's count."""
    axes: dict[int, Axis] = {}
    for k in sorted((0, 1), key=lambda k: node.operands[k].nbytes):
        axes |= dict(zip((op.left, op.right)[k], operands[k].grid.axes, strict=True))
    if op.split > math.prod(axes[label].count for label in op.summed):
        return node.grid, [each.grid for each in node.operands]
    parts = node.grid.axes[: node.grid.ndim - len(op.out)]
    grid = Grid([*parts, *(axes[label] for label in op.out)])
    return grid, [Grid([axes[label] for label in labels]) for labels in (op.left, op.right)]


def _moved_grid(op: Move, node: Expr, operands: tuple[Expr, ...]) -> Grid:
    """Return the chunks of what is moved: along an axis that has those of an operand, or of its slice, they follow."""
    axes, left = list(node.grid.axes), set(range(node.grid.ndim))
    for route, own, new in zip(op.routes, node.operands, operands, strict=True):
        for (target, axis_map), old, axis in zip(route.axes, own.grid.axes, new.grid.axes, strict=True):
            if target not in left:
                continue
            if old == axes[target]:
                axes[target] = axis
                left.remove(target)
            elif len(operands) == 1 and isinstance(axis_map, Slice) and axis_map.step and axis != old:
                axes[target] = _sliced(axis, axis_map, axes[target].length)
    return Grid(axes)


def _sliced(axis: Axis, cut: Slice, length: int) -> Axis:
    """Return the chunks of a slice of an axis: those of the axis, as far as the slice reaches into them."""
    borders = np.append(axis.start(np.arange(axis.count)), axis.length)
    backward = cut.step < 0  # then a chunk's elements come before those of the chunks below it
    places = (cut.start - borders) // -cut.step + 1 if backward else -((cut.start - borders) // cut.step)
    inside = np.unique(np.concatenate([[0], np.clip(places, 0, length), [length]]))
    return Axis.of_sizes(np.diff(inside)) if length else Axis.whole(0)
