"""Elements set one after the other are written at once.

`x[i] = v` in a loop makes a chain of moves, each of which goes over all blocks. Where nothing else reads what lies
between, all points of the chain are scattered in one step, and a block reads the values that lie in it, and no others.
Rows, columns and other lines that lie beside each other are joined, and set as one.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..chunks.axismap import Fixed, Slice, Spread, StridedPlace
from ..chunks.grid import Axis, Grid
from ..expr.expr import Expr
from ..kinds.move import Move, Route, join_operands
from ..kinds.points import PutPoints, last_by_block

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..chunks.axismap import AxisMap

MOST_RUNS = 16
"""Runs of lines beside each other that are set in one step, at most."""


class Writes:
    """Finds chains of moves that set elements, in a graph of some nodes whose users it counts."""

    def __init__(self, roots: list[Expr], nodes: list[Expr], stored: Callable[[str], bool]) -> None:
        self._stored = stored
        self._users = Counter(root.token for root in roots)
        for node in nodes:
            if not stored(node.token):
                self._users.update(child.token for child in node.operands)

    def collect_writes(self, node: Expr) -> Expr:
        """Return the expression that sets at once what a node and those below it do; the node where that is all."""
        points: list[tuple[int, ...]] = []
        values: list[Expr] = []
        base = node
        while (own := _points(base)) and (base is node or self.is_between(base)):
            points += reversed(own)
            values += reversed(base.operands[1:])
            base = base.operands[0]
        if base is node:
            return self._collect_lines(node)
        if base is node.operands[0]:
            return node
        return _scatter_values(node, base, points[::-1], values[::-1])

    def _collect_lines(self, node: Expr) -> Expr:
        """Return the expression that sets lines at once; the node where there are no more than it sets itself."""
        lines: dict[int, Expr] = {}
        base, kind = node, _kind_of_lines(node)
        while kind is not None and _kind_of_lines(base) == kind and (base is node or self.is_between(base)):
            assert isinstance(base.op, Move)
            for route, value in zip(base.op.routes[:0:-1], base.operands[:0:-1], strict=True):
                lines.setdefault(_start(route, kind.axis), value)
            base = base.operands[0]
        if kind is None or base is node.operands[0]:
            return node
        return _set_lines(node, base, kind, dict(sorted(lines.items()))) or node

    def is_between(self, node: Expr) -> bool:
        """Whether a node is there for its only user alone."""
        return self._users[node.token] == 1 and node.pin is None and not self._stored(node.token)


def _points(node: Expr) -> list[tuple[int, ...]]:
    """Return the positions of the elements that a move sets; none where it sets anything else."""
    op = node.op
    if not isinstance(op, Move) or not op.sets_elements:
        return []
    every = tuple(range(node.grid.ndim))
    points: list[tuple[int, ...]] = []
    for route in op.routes[1:]:
        at = [axis_map.start for _, axis_map in route.axes if isinstance(axis_map, Spread) and axis_map.count == 1]
        if len(at) != len(every) or not every or route.targets != every:
            return []
        points.append(tuple(at))
    return points


@dataclass(frozen=True)
class _Lines:
    """What lines have in common: the axis along which each is at one place, how they lie along others, their shape."""

    axis: int
    others: tuple[AxisMap, ...]
    shape: tuple[int, ...]


def _kind_of_lines(node: Expr) -> _Lines | None:
    """Return what the lines that a move sets have in common; None where it sets anything else."""
    op, ndim = node.op, node.grid.ndim
    if not isinstance(op, Move) or not op.sets_elements or len(op.routes) < 2:
        return None
    kinds: set[_Lines] = set()
    for route, value in zip(op.routes[1:], node.operands[1:], strict=True):
        maps = [axis_map for _, axis_map in route.axes]
        single = [a for a, m in enumerate(maps) if isinstance(m, Spread) and m.count == 1 and value.shape[a] == 1]
        if len(single) != 1 or route.targets != tuple(range(ndim)):
            return None
        (axis,) = single
        others = (*maps[:axis], *maps[axis + 1 :])
        if not all(isinstance(m, StridedPlace) for m in others):
            return None
        kinds.add(_Lines(axis, others, value.shape))
    return kinds.pop() if len(kinds) == 1 else None


def _start(route: Route, axis: int) -> int:
    axis_map = route.axes[axis][1]
    assert isinstance(axis_map, Spread)
    return axis_map.start


def _set_lines(node: Expr, base: Expr, kind: _Lines, lines: dict[int, Expr]) -> Expr | None:
    """Return an expression like `node` that sets lines of `base`, in order; None where too many are apart."""
    axis, ndim = kind.axis, node.grid.ndim
    places, values = np.array([*lines]), [*lines.values()]
    borders = [0, *(np.flatnonzero(np.diff(places) != 1) + 1).tolist(), len(places)]
    if len(borders) - 1 > MOST_RUNS:
        return None
    routes = [Route(tuple([(i, Slice()) for i in range(ndim)]))]
    operands = [base]
    for lo, hi in itertools.pairwise(borders):
        maps = [*kind.others[:axis], StridedPlace(int(places[lo]), 1), *kind.others[axis:]]
        routes.append(Route(tuple(enumerate(maps))))
        axes = list(values[lo].grid.axes)
        axes[axis] = _part_of(node.grid.axes[axis], int(places[lo]), hi - lo)
        op = join_operands("setitem", [1] * (hi - lo), ndim, axis)
        operands.append(Expr(op, tuple(values[lo:hi]), Grid(axes), node.dtype, node.origin))
    move = Move("setitem", tuple(routes))
    return Expr(move, tuple(operands), node.grid, node.dtype, node.origin, node.pin, node.token)


def _part_of(axis: Axis, start: int, count: int) -> Axis:
    """Return the chunks of a part of an axis."""
    borders = axis.start(np.arange(axis.count))
    inside = borders[(borders > start) & (borders < start + count)]
    return Axis.of_sizes(np.diff([start, *inside.tolist(), start + count]))


def _scatter_values(node: Expr, base: Expr, points: list[tuple[int, ...]], values: list[Expr]) -> Expr:
    """Return an expression like `node` that sets points of `base`; values of one block are one chunk."""
    grid, ndim = node.grid, node.grid.ndim
    index = list(np.array(points, np.int64).T)
    kept, bounds = last_by_block(grid.axes, index)
    along = Axis.of_sizes(counts[counts > 0]) if (counts := np.diff(bounds)).size else Axis.regular(0, 1)
    ones = [Axis.whole(1)] * (ndim - 1)
    op = join_operands("setitem", [1] * len(kept), ndim, 0)
    line = Expr(op, tuple(values[int(k)] for k in kept), Grid([along, *ones]), node.dtype, node.origin)
    if ndim > 1:
        first = Move("setitem", (Route(((0, Slice()), *((None, Fixed(0)),) * (ndim - 1))),))
        line = Expr(first, (line,), Grid([along]), node.dtype, node.origin)
    scatter = PutPoints(tuple(range(ndim)), tuple(i[kept] for i in index), np.arange(len(kept)), bounds, ())
    return Expr(scatter, (base, line), grid, node.dtype, node.origin, node.pin, node.token)
