"""Counting small whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....graph.errors import SourceChanged
from ...compiled.fixed.counting import count_below

Array = np.ndarray[Any, Any]

STEP = 1 << 15
"""So many elements at once."""


def count_within(x: Array, *rest: Any) -> Array:
    """Return, as one row, counts or sums of weights of the numbers below a length, and how many lie beyond.

    `rest` is perhaps the weights, then the length.
    """
    *weights, length = rest
    heavy = weights[0] if weights else None
    counts = count_below(x, length) if heavy is None else None
    if counts is not None:
        return counts[None]
    total = np.zeros(length + 1, np.int64 if heavy is None else np.float64)
    step = max(STEP, 8 * length)
    for begin in range(0, len(x), step):
        part = x[begin : begin + step]
        mine = None if heavy is None else heavy[begin : begin + step]
        if part.min() < 0 or part.max() >= length:
            keep = (part >= 0) & (part < length)
            total[-1] += len(part) - np.count_nonzero(keep)
            part, mine = part[keep], None if mine is None else mine[keep]
        total[:-1] += np.bincount(part, mine, length)
    return total[None]


def counted(sums: Array) -> Array:
    """Return such a row's counts or sums, without how many lie beyond: none, as was known when the array was made."""
    if sums[-1]:
        raise SourceChanged(
            "bincount: argument 'x' is an array in memory that was below minlength, and has been changed since; "
            "expected one that stays as it is until it is computed"
        )
    return sums[:-1]
