"""Functions that NumPy doesn't have: the logarithm of a factorial, Stirling's rest of it, changes of some elements."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .recording import is_value

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]
_REST = np.array(
    [math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi)) for k in range(10)]
)


@cache
def _table() -> Array:
    """Logarithms of the first factorials, as many as stay in a core's nearest cache."""
    return np.array([math.lgamma(k + 1) for k in range(4096)])


def log_factorial(k: Array) -> Array:
    """Return log(k!) of whole numbers from 0 on: a table, then Stirling's series."""

    def series(k: Array) -> Array:
        x = k + 1.0
        square = 1.0 / (x * x)
        rest = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x
        logarithm: Array = (x - 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + rest
        return logarithm

    table = _table()
    return change_where(k >= len(table), look_up(table, k), series, k)


def stirling_rest(k: Array) -> Array:
    """Return log(k!) less Stirling's formula of k + 1, with which it is (k + 1/2) log(k + 1) - (k + 1) + ..."""

    def series(k: Array) -> Array:
        x = k + 1.0
        square = 1.0 / (x * x)
        remainder: Array = (1 / 12 - square * (1 / 360 - square / 1260)) / x
        return remainder

    return change_where(k >= len(_REST), look_up(_REST, k), series, k)


def look_up(table: Array, k: Array) -> Array:
    """Return a table's entries at whole numbers, or its first or last one."""
    if is_value(k):
        entries: Array = k.look_up(table)
        return entries
    return np.take(table, k.astype(np.int64), mode="clip")


def change_where(mask: Array, value: Array, method: Callable[..., Array], *given: Array) -> Array:
    """Return `value`, but where a mask holds what a method makes of what it is given of these elements."""
    if is_value(mask):
        changed: Array = mask.change(value, method, given)
        return changed
    at = np.flatnonzero(mask)
    if at.size:
        value[at] = method(*(x[at] for x in given))
    return value
