"""Which 0-d results are arrays, and which are scalars: as NumPy's functions give them.

Reductions, ufuncs and single elements are scalars. What was made as an array is one, and so is what only looks at one
in another way: `squeeze`, `reshape`, `x[0, ...]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graph.kinds.elementwise import Elementwise
from ...graph.kinds.move import Move
from ...graph.kinds.reshape import Reshape
from ...graph.kinds.source import Constant, Host, Source

if TYPE_CHECKING:
    from ...graph.expr.expr import Expr

SUBARRAY = "subarray"
"""Name of a move that leaves a 0-d array: a key with an ellipsis."""

MOVES = frozenset(["broadcast_to", "diagonal", "permute_dims", "squeeze", "transpose", SUBARRAY])
"""Moves whose results are arrays whatever they come from."""

CALLS = frozenset(["cov", "imag", "isin", "select", "squeeze", "tensordot", "where"])
"""Functions of NumPy whose results are arrays though they compute."""

SAME = frozenset(["cast", "copy", "imag", "real", "view"])
"""Elementwise functions that are methods of arrays and of scalars, and give what they are called on."""


def stays_array(expr: Expr) -> bool:
    """Tell whether NumPy has an array where an expression has no axes."""
    while True:
        op = expr.op
        if isinstance(op, Source | Host):
            return not isinstance(op, Constant)
        if isinstance(op, Reshape) or expr.origin.call in CALLS:
            return True
        if isinstance(op, Move) and op.name in MOVES:
            return True
        same = isinstance(op, Elementwise) and op.function in SAME
        if not same and not (isinstance(op, Move) and op.is_rechunk):
            return False
        expr = expr.operands[0]
