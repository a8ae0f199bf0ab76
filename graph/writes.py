"""Elements set one after the other are written at once.

`x[i] = v` in a loop makes a chain of moves, each of which goes over all blocks. Where nothing else reads what lies
between, all points of the chain are scattered in one step, and a block reads the values that lie in it, and no others.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from .axismap import Fixed, Slice, Spread
from .expr import Expr, walk
from .grid import Axis, Grid
from .kinds.move import Move, Route, join_operands
from .kinds.points import PutPoints, last_by_block

if TYPE_CHECKING:
    from collections.abc import Callable


class Writes:
    """Finds chains of moves that set elements, in a graph whose users it counts."""

    def __init__(self, roots: list[Expr], stored: Callable[[str], bool]) -> None:
        self._stored = stored
        self._users = Counter(root.token for root in roots)
        for node in walk(roots, lambda node: stored(node.token)):
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
        if base is node or base is node.operands[0]:
            return node
        return _scatter_values(node, base, points[::-1], values[::-1])

    def is_between(self, node: Expr) -> bool:
        """Whether a node is there for its only user alone."""
        return self._users[node.token] == 1 and node.pin is None and not self._stored(node.token)


def _points(node: Expr) -> list[tuple[int, ...]]:
    """Return the positions of the elements that a move sets; none where it sets anything else."""
    op = node.op
    if not isinstance(op, Move) or op.name != "setitem":
        return []
    every = tuple(range(node.grid.ndim))
    found = []
    for route in op.routes[1:]:
        at = [axis_map.start for _, axis_map in route.axes if isinstance(axis_map, Spread) and axis_map.count == 1]
        if len(at) != len(every) or not every or route.targets != every:
            return []
        found.append(tuple(at))
    return found


def _scatter_values(node: Expr, base: Expr, points: list[tuple[int, ...]], values: list[Expr]) -> Expr:
    """Return an expression like `node` that sets points of `base`; values of one block are one chunk."""
    grid, ndim = node.grid, node.grid.ndim
    index = list(np.array(points, np.int64).T)
    kept, bounds = last_by_block(grid.axes, index)
    along = Axis.of_sizes(counts[counts > 0]) if (counts := np.diff(bounds)).size else Axis.regular(0, 1)
    ones = [Axis.whole(1)] * (ndim - 1)
    op = join_operands("setitem", [1] * len(kept), ndim, 0)
    line = Expr(op, tuple(values[k] for k in kept.tolist()), Grid([along, *ones]), node.dtype, node.origin)
    if ndim > 1:
        first = Move("setitem", (Route(((0, Slice()), *((None, Fixed(0)),) * (ndim - 1))),))
        line = Expr(first, (line,), Grid([along]), node.dtype, node.origin)
    scatter = PutPoints(tuple(range(ndim)), tuple(i[kept] for i in index), np.arange(len(kept)), bounds, ())
    return Expr(scatter, (base, line), grid, node.dtype, node.origin, node.pin, node.token)
