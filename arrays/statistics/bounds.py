"""Between which integers the elements of an array lie, as far as its expression tells without computing it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.kinds.elementwise import Elementwise, Scalar
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.move import Move
from ...graph.kinds.reduction import Reduce
from ...graph.kinds.reshape import Reshape
from ...graph.kinds.source import Full, Host, Ramp, Random

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...graph.expr.expr import Expr

    Bounds = tuple[int, int] | None

DEEP = 32
"""How many operations, one below the other, are searched."""
SMALL = 1 << 18
"""Arrays in the user's memory are searched up to this many elements."""


def find_bounds(expr: Expr) -> Bounds:
    """Return integers between which all elements of an array lie; None where the expression doesn't tell.

    Bounds are known of indices from `argmin`, `digitize` and `searchsorted`, of remainders, clipped values, random
    integers, small dtypes and small arrays in memory, and of what moves their elements.
    """
    return _find(expr, DEEP, {})


def _find(expr: Expr, deep: int, known: dict[str, Bounds]) -> Bounds:
    """Return the bounds of an array; each is looked at once, however many operations take it."""
    if expr.token not in known:
        known[expr.token] = _look(expr, deep, known)
    return known[expr.token]


def _look(expr: Expr, deep: int, known: dict[str, Bounds]) -> Bounds:
    kind, op = expr.dtype.kind, expr.op
    if kind not in "biu" or not expr.grid.size or deep == 0:
        return None
    if isinstance(op, Full):
        return int(op.value), int(op.value)
    if isinstance(op, Ramp) and op.last is None:
        return _around((int(op.start), int(op.start) + int(op.step) * (expr.grid.size - 1)))
    if isinstance(op, Random) and op.distribution == "integers" and len(op.params) == 2:
        low, count = map(int, op.params)
        return low, low + count - 1
    if isinstance(op, Reduce) and op.head in ("argmin", "argmax"):
        return 0, math.prod(expr.operands[0].shape[axis] for axis in op.axes) - 1
    if isinstance(op, BlockFunction) and op.function in ("order.searching:bins", "order.searching:positions"):
        return 0, expr.operands[0].grid.size
    if isinstance(op, Host) and op.data.in_memory and expr.grid.size <= SMALL:
        values = np.asarray(op.data.array)
        return int(values.min()), int(values.max())
    below = [_find(operand, deep - 1, known) for operand in expr.operands]
    if isinstance(op, Move):
        return _around([*_all(below), *(() if op.fill is None else (int(op.fill),))]) if None not in below else None
    if isinstance(op, Reshape):
        return below[0]
    within, computed = _of_dtype(expr.dtype), _of_elements(op, below) if isinstance(op, Elementwise) else None
    if computed is not None and within[0] <= computed[0] and computed[1] <= within[1]:
        return computed
    return within if expr.dtype.itemsize <= 2 else None


def _around(values: Iterable[int]) -> Bounds:
    known = list(values)
    return (min(known), max(known)) if known else None


def _all(bounds: Iterable[Bounds]) -> list[int]:
    return [each for pair in bounds if pair is not None for each in pair]


def _of_dtype(dtype: np.dtype[Any]) -> tuple[int, int]:
    return (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def _of_elements(op: Elementwise, below: list[Bounds]) -> Bounds:
    args = [_of_scalar(arg) if isinstance(arg, Scalar) else below[arg] for arg in op.args]
    if op.function in ("cast", "copy"):
        return args[0]
    if op.function == "where":
        return None if args[1] is None or args[2] is None else _around((*args[1], *args[2]))
    if len(args) != 2 or args[1] is None:
        return None
    least, most = args[1]
    if op.function == "remainder" and least > 0:
        return 0, most - 1
    if args[0] is None:
        return None
    if op.function == "minimum":
        return min(args[0][0], least), min(args[0][1], most)
    if op.function == "maximum":
        return max(args[0][0], least), max(args[0][1], most)
    return None


def _of_scalar(scalar: Scalar) -> Bounds:
    value = scalar.value
    return (int(value), int(value)) if isinstance(value, int | np.integer) else None
