"""Which nodes are generated where they are used: sources, and views of them, which make only what is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kinds.move import Move
from ..kinds.points import TakePoints
from ..kinds.reshape import Reshape
from ..kinds.source import Eye, Full, Inside, Ramp, Source
from ..kinds.view import View, leads_back, shift_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..expr.expr import Expr

_CHEAP = (Full, Ramp, Eye, Inside)
FEW = 16
"""What is costly to generate is generated for its views alone where these ask for one element of so many, or fewer."""
RUN = 16
"""And where they ask for each at most once, in runs of so many or more."""


def is_cheap(source: Source) -> bool:
    """Whether elements may be generated again wherever they are used."""
    return is_cheap(source.source) if isinstance(source, View) else isinstance(source, _CHEAP)


def find_generated(
    nodes: Sequence[Expr],
    users: Mapping[str, Sequence[tuple[Expr, int]]],
    roots: set[str],
    stored: Callable[[str], bool],
) -> dict[str, Source]:
    """Return the source of each node that is one, or a view of one; operands come before their users."""
    sources: dict[str, Source] = {}
    for node in nodes:
        if stored(node.token):
            continue
        if isinstance(node.op, Source):
            sources[node.token] = node.op
        elif leads_back(node) and (below := sources.get(node.operands[0].token)) is not None:
            if not is_cheap(below):
                (operand,) = node.operands
                asked = sum(u.grid.size if leads_back(u) else operand.grid.size for u, _ in users[operand.token])
                few = asked * FEW <= operand.grid.size
                once = asked <= operand.grid.size and all(_in_runs(u) for u, _ in users[operand.token])
                if operand.token in roots or not (few or once):
                    continue
            assert isinstance(node.op, Move | TakePoints | Reshape)
            whole = isinstance(below, Full)
            sources[node.token] = below if whole else View(below, node.operands[0].shape, node.op)
    return sources


def _in_runs(node: Expr) -> bool:
    """Tell whether a node's blocks are made of runs of its operand's last axis."""
    shifts = shift_of(node.op) if isinstance(node.op, Move) and leads_back(node) else None
    if not shifts or shifts[-1][0] != node.grid.ndim - 1:
        return False
    last = node.grid.axes[-1]
    return last.count == 1 or last.largest >= RUN
