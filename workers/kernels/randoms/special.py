"""Functions that NumPy doesn't have: the logarithm of a factorial, and Stirling's remainder of it."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

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
    table = _table()
    found = np.take(table, k.astype(np.int64), mode="clip")
    large = np.flatnonzero(k >= len(table))
    if large.size:
        x = k[large] + 1.0
        square = 1.0 / (x * x)
        series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x
        found[large] = (x - 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + series
    return found


def stirling_rest(k: Array) -> Array:
    """Return log(k!) less Stirling's formula of k + 1, with which it is (k + 1/2) log(k + 1) - (k + 1) + ..."""
    found = np.take(_REST, k.astype(np.int64), mode="clip")
    large = np.flatnonzero(k >= len(_REST))
    if large.size:
        x = k[large] + 1.0
        square = 1.0 / (x * x)
        found[large] = (1 / 12 - square * (1 / 360 - square / 1260)) / x
    return found
