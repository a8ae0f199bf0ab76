"""Values that are handed on when they pass."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def no_zero(weights: Array) -> Array:
    """Return sums of weights, or raise where one is zero."""
    if (weights == 0).any():
        raise ZeroDivisionError("average: weights add up to zero, they can't be normalised")
    return weights


def check_found(position: Array, operation: str) -> Array:
    """Return positions, or raise where all elements were NaN."""
    if (position < 0).any():
        raise ValueError(f"{operation}: all-NaN slice encountered")
    return position
