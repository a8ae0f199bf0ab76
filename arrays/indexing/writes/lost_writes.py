"""Lost writes: `x[0][1] = 5` sets an element of `x[0]`, a new array that nothing refers to.

NumPy's views make such writes reach `x`. There are no views here, so the user is warned if reference counts show that
nothing else refers to the array; the count to expect is measured with a tiny class at import. Where counts don't show
it (later versions of Python don't count references of local variables), there is no warning.

`u = U[1:-1]; u += 1` changes `U` in NumPy; here the name `u` stands for a new array. Both are told apart from
`U[1:-1] += 1`, which works, by the instruction that follows in the user's code. So is `a[i] = lazy` for an array `a`
of NumPy, which computes now, and again in each turn of a loop.
"""

from __future__ import annotations

import dis
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import LostWrite
from ....graph.kinds.elementwise import Elementwise
from ....graph.kinds.move import Move
from ....graph.kinds.points import PutPoints
from ....graph.kinds.reshape import Reshape
from ....graph.kinds.source import Full
from ....workers.public_api import caller, warn
from ...base import Reshaped

if TYPE_CHECKING:
    from ....graph.expr.expr import Expr
    from ...base import ArrayBase
    from ...typing import KeyLike


class _Probe:
    """Counts references to itself when an element of it is set."""

    def __init__(self) -> None:
        self.seen = 0
        self.held: Any = None

    def __setitem__(self, key: KeyLike, value: object) -> None:
        _seen.append(sys.getrefcount(self))


_seen: list[int] = []
_named = _Probe()


def _calibrate() -> int:
    """Return the reference count that `__setitem__` sees of an object that nothing else refers to; 0 if it can't be
    known."""
    _Probe()[0] = 0
    local, several, enclosed, holder = _Probe(), [_Probe()], _Probe(), _Probe()
    holder.held = _Probe()
    local[0] = several[0][0] = holder.held[0] = _named[0] = 0

    def inner() -> None:
        enclosed[0] = 0

    inner()
    for each in several:
        each[0] = 0
    lost, *kept = _seen
    _seen.clear()
    return lost if lost < min(kept) else 0


LOST = _calibrate()


def warn_lost() -> None:
    """Warn at the user's line that sets elements."""
    warn(
        "elements are set in an array that nothing refers to, so they are lost: arrays of Windrow have no views; "
        "write x[0, 1] = 5 instead of x[0][1] = 5, and y = x[2:]; y[m] = 5; x[2:] = y instead of x[2:][m] = 5",
        LostWrite,
    )


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


IN_PLACE = range(13, 26)
"""Arguments of BINARY_OP that stand for +=, -= and so on."""

_turns: dict[tuple[str, int], int] = {}


def is_view_key(key: KeyLike) -> bool:
    """Whether NumPy gives a view for a key: integers, slices, new axes."""
    items = key if isinstance(key, tuple) else (key,)
    kinds = (slice, int, np.integer, type(None), type(Ellipsis))
    return all(isinstance(i, kinds) and not isinstance(i, bool) for i in items)


def warn_apart(x: ArrayBase, symbol: str) -> None:
    """Warn at `u += 1` where `u` was sliced from an array that is still there.

    What is reshaped or turned libraries change in place as a rule, and don't use what it came from again.
    """
    base = x._base() if x._base is not None and not isinstance(x._base, Reshaped) else None
    if base is None or not _renames():
        return
    x._base = None
    warn(
        f"u {symbol} changes what was sliced from an array, and leaves that array as it is: arrays of Windrow have no "
        f"views; write U[1:-1] {symbol} y to change that array, or u = u {symbol[:-1]} y for one of its own",
        LostWrite,
    )


def _renames() -> bool:
    """Whether the user's line is an operator such as += on a name."""
    frame = caller(3)
    if frame is None:
        return False
    code, at = frame.f_code.co_code, frame.f_lasti
    if dis.opname[code[at]] != "BINARY_OP" or code[at + 1] not in IN_PLACE:
        return False
    following = (dis.opname[op] for op in code[at + 2 :: 2])
    behind = next((name for name in following if name not in ("CACHE", "EXTENDED_ARG")), "")
    return behind.startswith(("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"))


def warn_turns(depth: int = 0) -> None:
    """Warn where a line sets elements of a NumPy array from lazy ones for the second time.

    The method that the user's line calls is so many frames below the one that calls this.
    """
    frame = caller(depth + 2)
    if frame is None:
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
