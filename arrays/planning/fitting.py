"""Expressions over sources in other chunks: operations whose chunks follow from their operands' follow them.

Elementwise functions, reductions, slices and functions of whole lines (transforms, sorting, quantiles) get the chunks
that they would have had if the sources had been made so. What takes blocks as they are (other functions of blocks,
products, halos, reshapes, operations planned when they run), and `rechunk`, keeps its own chunks: its operands are
brought into those that they had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...graph.axismap import Slice
from ...graph.expr import Expr, rewrite, with_operands
from ...graph.grid import Axis, Grid
from ...graph.holding import reads_by_positions
from ...graph.kinds.elementwise import Elementwise
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.move import Move
from ...graph.kinds.reduction import Reduce, reduce_grid
from ..base import wrap
from ..chunking.rechunk import align_chunks, regrid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


LINES = {"fft:steps", "filtering:lines", "quantiles:along", "sorting:argsort", "sorting:sort"}
"""Built-in functions of blocks that take each line as a whole, and lines apart from each other."""


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
        if node.token not in grids:
            return node if node.pin is not None or not node.operands else None
        return Expr(node.op, node.operands, grids[node.token], node.dtype, node.origin)

    return rewrite(list(roots), end, _over)


def _over(node: Expr, operands: tuple[Expr, ...]) -> Expr:
    """Return a node over operands that may have other chunks."""
    op = node.op
    if all(a is b for a, b in zip(operands, node.operands, strict=True)):
        return node
    if isinstance(op, Elementwise):
        grid, fitted = align_chunks(op.label, [wrap(each) for each in operands])
        return Expr(op, tuple([each.expr for each in fitted]), grid, node.dtype, node.origin)
    if isinstance(op, Reduce):
        grid = reduce_grid(operands[0].grid, op.axes, op.keepdims)
        return Expr(op, operands, grid, node.dtype, node.origin)
    if isinstance(op, Move) and reads_by_positions(op):
        return Expr(op, operands, _moved_grid(op, node, operands), node.dtype, node.origin)
    if isinstance(op, BlockFunction) and op.function in LINES and (lines := _over_lines(op, node, operands[0])):
        return lines
    old = [regrid(wrap(new), own.grid).expr for new, own in zip(operands, node.operands, strict=True)]
    if all(a.token == b.token for a, b in zip(old, node.operands, strict=True)):
        return with_operands(node, tuple(old))
    return Expr(op, tuple(old), node.grid, node.dtype, node.origin)


def _over_lines(op: BlockFunction, node: Expr, operand: Expr) -> Expr | None:
    """Return a function of lines in its operand's chunks; None where these cut the lines."""
    own = node.operands[0].grid.axes
    while isinstance(operand.op, Move) and operand.op.name == "rechunk" and operand.origin == node.origin:
        (operand,) = operand.operands
    axes = list(node.grid.axes)
    for target, old, new in zip(op.operand_axes(0, node.grid.ndim), own, operand.grid.axes, strict=True):
        if old.count == 1 != new.count:
            return None
        if old.count > 1:
            assert target is not None
            assert axes[target] == old
            axes[target] = new
    return Expr(op, (operand,), Grid(axes), node.dtype, node.origin)


def _moved_grid(op: Move, node: Expr, operands: tuple[Expr, ...]) -> Grid:
    """Return the chunks of what slices an operand, or turns its axes; what is rechunked or joined keeps its own."""
    if len(operands) != 1 or op.name == "rechunk":
        return node.grid
    axes = list(node.grid.axes)
    for (target, axis_map), new, old in zip(
        op.routes[0].axes, operands[0].grid.axes, node.operands[0].grid.axes, strict=True
    ):
        if target is not None and isinstance(axis_map, Slice) and axis_map.step and new != old:
            axes[target] = _sliced(new, axis_map, axes[target].length)
    return Grid(axes)


def _sliced(axis: Axis, cut: Slice, length: int) -> Axis:
    """Return the chunks of a slice of an axis: those of the axis, as far as the slice reaches into them."""
    borders = np.append(axis.start(np.arange(axis.count)), axis.length)
    backward = cut.step < 0  # then a chunk's elements come before those of the chunks below it
    places = (cut.start - borders) // -cut.step + 1 if backward else -((cut.start - borders) // cut.step)
    inside = np.unique(np.concatenate([[0], np.clip(places, 0, length), [length]]))
    return Axis.of_sizes(np.diff(inside)) if length else Axis.whole(0)
