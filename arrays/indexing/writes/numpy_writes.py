"""Writes to arrays of NumPy's that were made of lazy ones.

`np.asarray(x)` computes, so what a library writes into the result doesn't reach `x`. And `a[i] = lazy`, for an array
`a` of NumPy, computes now, and again in each turn of a loop.
"""

from __future__ import annotations

import dis
from typing import TYPE_CHECKING

from ....graph.kinds.elementwise import Elementwise
from ....graph.kinds.move import Move
from ....graph.kinds.points import PutPoints
from ....graph.kinds.reshape import Reshape
from ....graph.kinds.source import Full
from ....workers.public_api import caller, warn
from ...storage import traced_here

if TYPE_CHECKING:
    from ....graph.expr.expr import Expr


def is_blank(expr: Expr) -> bool:
    """Whether nothing but what `zeros`, `empty` and `full` gave is in an array: libraries make such ones to fill them.

    They hand them to functions in C that convert them, write into that, and return the array itself. Arrays that hold
    something are handed over to be read, and what is converted is the library's own, to change as it likes.
    """
    left, seen = [expr], {expr.token}
    while left:
        node = left.pop()
        cast = isinstance(node.op, Elementwise) and node.op.function in ("cast", "view")
        if not (cast or isinstance(node.op, Full | Move | Reshape | PutPoints)):
            return False
        fresh = {operand.token: operand for operand in node.operands if operand.token not in seen}
        left.extend(fresh.values())
        seen.update(fresh)
    return True


_turns: dict[tuple[str, int], int] = {}


def warn_turns(depth: int = 0) -> None:
    """Warn where a line sets elements of a NumPy array from lazy ones for the second time.

    The method that the user's line calls is so many frames below the one that calls this.
    """
    frame = caller(depth + 2)
    if frame is None or traced_here():
        return
    name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    if name not in ("BINARY_OP", "STORE_SUBSCR", "STORE_SLICE"):
        return
    line = (frame.f_code.co_filename, frame.f_lineno)
    _turns[line] = _turns.get(line, 0) + 1
    if _turns[line] == 2:
        warn(
            "elements of a NumPy array are set from a lazy array, which is computed each time that this line runs; "
            "begin with a lazy array (windrow.zeros), or collect lazy ones in a list and stack() them"
        )
