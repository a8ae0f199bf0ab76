"""Rewrites of the graph that keep every value.

Moves are composed, functions of windows become windows of functions, elements set one after the other are set at once,
reductions and joins of many become trees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..chunks.axismap import AxisMap, Fixed, Slice
from ..chunks.counted_positions import cut, lead
from ..chunks.grid import Axis, Grid
from ..expr.expr import Expr, rewrite, walk, with_operands
from ..expr.interned import recall, recurs
from ..few import distinct
from ..kinds.contraction import Contract
from ..kinds.elementwise import Elementwise
from ..kinds.move import Move, Route, join_operands, rechunk
from ..kinds.reduction import Reduce, expand
from ..kinds.source import Host, Source
from ..kinds.view import leads_back
from .generated_sources import is_cheap
from .merge_setitems import Writes
from .push_slices import push_down
from .shift_boxes import compose
from .thin_reductions import reduce_in_cells
from .windows import is_windows, lift_windows

if TYPE_CHECKING:
    from collections.abc import Callable

COPY = Elementwise("copy", (0,))
JOINED = 64
"""Joins of more operands are cut into groups."""


def simplify(roots: list[Expr], stored: Callable[[str], bool]) -> list[Expr]:
    """Return the roots rewritten; a node keeps its token, since it keeps its value.

    What is stored is not looked into: it is read, not computed.
    """
    nodes = list(walk(roots, lambda node: stored(node.token)))
    writes = Writes(roots, nodes, stored)
    has_windows = any(map(is_windows, nodes))  # only these make others
    return rewrite(
        roots,
        lambda node: node if stored(node.token) else None,
        lambda node, operands: _simplify_node(node, operands, stored, writes.is_between),
        lambda node: writes.collect_writes(lift_windows(node, stored) if has_windows else node),
    )


def _simplify_node(
    node: Expr, operands: tuple[Expr, ...], stored: Callable[[str], bool], sole: Callable[[Expr], bool]
) -> Expr:
    op = node.op
    if isinstance(op, Reduce):
        return reduce_in_cells(expand(node, operands[0]), operands[0], sole, stored)
    if isinstance(op, Move):
        operands = tuple([_copied(operand, stored) for operand in operands])
        inner = operands[0]
        if len(operands) == 1 and isinstance(inner.op, Move) and not stored(inner.token):
            composed = _compose_slices(inner.op, op)
            if composed is not None:
                op, operands = composed, inner.operands
        if op.joins is not None and len(operands) > JOINED:
            op, operands = _in_groups(node, op.joins, operands)
        elif not _is_generated(node, operands[0], stored) and (both := compose(op, operands, node, stored)) is not None:
            op, operands = both
        elif (cut := _cut(op, operands[0], node, stored)) is not None:
            op, operands = cut, operands[0].operands
        if len(operands) == 1 and _identity(op, operands[0], node):
            return Expr(COPY, operands, node.grid, node.dtype, node.origin, None, node.token)
        direct = {child.token for child in node.operands}
        if all(e.token in direct for e in operands):
            pushed = push_down(node, op, operands, sole, stored)
            if pushed is not None:
                return pushed
    if isinstance(op, Contract):
        op, operands = _absorb_transposes(op, operands, stored)
    if op is node.op:
        return with_operands(node, operands)
    return Expr(op, operands, node.grid, node.dtype, node.origin, node.pin, node.token)


def _copied(node: Expr, stored: Callable[[str], bool]) -> Expr:
    """Return what a copy is of: a move reads that as well, and the copy needn't be held.

    A copy of what is read from elsewhere is what reads it once.
    """
    while node.op == COPY and not stored(node.token):
        (below,) = node.operands
        if below.dtype != node.dtype or isinstance(below.op, Host):
            break
        node = below
    return node


def _is_generated(node: Expr, below: Expr, stored: Callable[[str], bool]) -> bool:
    """Return whether a node is a view of views of a cheap source, which is made position by position."""
    if not (leads_back(node) and isinstance(below.op, Move)):
        return False
    while leads_back(below) and not stored(below.token):
        below = below.operands[0]
    return isinstance(below.op, Source) and is_cheap(below.op)


def _compose_slices(inner: Move, outer: Move) -> Move | None:
    if not (inner.recurring and outer.recurring):
        return inner.compose(outer)

    def compose_once() -> Move | None:
        composed = inner.compose(outer)
        return None if composed is None else recurs(composed)

    return recall("slices", (inner, outer), compose_once)


def _cut(outer: Move, operand: Expr, node: Expr, stored: Callable[[str], bool]) -> Move | None:
    """Return the one move that makes of what another one moves, by whatever positions, no more than a slice takes.

    Slices that take most of it may share it with others.
    """
    inner, by = operand.op, outer.routes[0].axes
    if not isinstance(inner, Move) or stored(operand.token) or len(outer.routes) > 1 or outer.fill is not None:
        return None
    if 2 * node.grid.size > operand.grid.size:
        return None
    whole = len(inner.routes) == 1 and inner.fill is None
    if not all(isinstance(m, Slice) or (whole and isinstance(m, Fixed)) for _, m in by):
        return None
    routes: list[Route] = []
    for route, source in zip(inner.routes, operand.operands, strict=True):
        axes: list[tuple[int | None, AxisMap]] = []
        for (target, axis_map), n in zip(route.axes, source.shape, strict=True):
            to, taken = (None, Slice()) if target is None else by[target]
            cut_map: AxisMap | None = axis_map
            if isinstance(taken, Fixed):
                at = lead(axis_map, np.array([taken.index]), n)
                cut_map = None if at is None else Fixed(int(at[0]))
            elif to is not None and taken != Slice():
                assert isinstance(taken, Slice)
                cut_map = cut(axis_map, taken, node.shape[to], n, whole)
            if cut_map is None:
                return None
            axes.append((to, cut_map))
        routes.append(Route(tuple(axes)))
    return Move(f"{inner.name}+{outer.name}", tuple(routes), inner.fill)


def _in_groups(node: Expr, at: int, operands: tuple[Expr, ...]) -> tuple[Move, tuple[Expr, ...]]:
    """Return a join of joins, none of which has many operands.

    A task must be told of all inputs of its stage: with many of them, all tasks together take the square of that.
    """
    (name, ndim), own = (node.op.label, node.grid.ndim), node.grid.axes[at]
    borders = own.start(np.arange(own.count))
    while len(operands) > JOINED:
        groups, begin = list[Expr](), 0
        for first in range(0, len(operands), JOINED):
            group = operands[first : first + JOINED]
            lengths = [e.shape[at] for e in group]
            end = begin + sum(lengths)
            inside = borders[(borders > begin) & (borders < end)]
            axes = list(node.grid.axes)
            axes[at] = Axis.of_sizes(np.diff(distinct(np.concatenate([[begin], inside, [end]]))))
            op = join_operands(name, lengths, ndim, at)
            groups.append(group[0] if len(group) == 1 else Expr(op, group, Grid(axes), node.dtype, node.origin))
            begin = end
        operands = tuple(groups)
    return join_operands(name, [e.shape[at] for e in operands], ndim, at), operands


def _identity(op: Move, source: Expr, node: Expr) -> bool:
    axes = op.routes[0].axes
    return source.grid == node.grid and all(
        a == i and isinstance(axis_map, Slice) and axis_map == Slice() for i, (a, axis_map) in enumerate(axes)
    )


def _absorb_transposes(
    op: Contract, operands: tuple[Expr, ...], stored: Callable[[str], bool]
) -> tuple[Contract, tuple[Expr, ...]]:
    """Read transposed operands of a contraction, and parts of such, where they lie: labels follow the axes."""
    labels = [op.left, op.right]
    new_operands = list(operands)
    for i, operand in enumerate(operands):
        move = operand.op
        if not isinstance(move, Move) or stored(operand.token) or len(move.routes) != 1 or move.fill is not None:
            continue
        targets, source = move.routes[0].targets, operand.operands[0]
        if len(targets) != operand.grid.ndim or targets == tuple(sorted(targets)):
            continue
        grid, straight = Grid([operand.grid.axes[a] for a in targets]), _straighten(move)
        if straight.takes_parts(grid, source.grid):
            straight_operand = Expr(straight, (source,), grid, operand.dtype, operand.origin)
            labels[i] = tuple(labels[i][a] for a in targets)
            new_operands[i] = source if _identity(straight, source, straight_operand) else straight_operand
    if labels == [op.left, op.right]:
        return op, operands
    return Contract(labels[0], labels[1], op.out, op.split, op.summed), tuple(new_operands)


def _straighten(move: Move) -> Move:
    """Return a move of one operand with the result's axes in the operand's order."""
    places = iter(range(len(move.routes[0].axes)))
    axes = [(None if a is None else next(places), axis_map) for a, axis_map in move.routes[0].axes]
    if all(axis_map == Slice() for _, axis_map in axes):
        return rechunk(len(axes))  # as the other operand may be read
    return Move(move.name, (Route(tuple(axes)),))
