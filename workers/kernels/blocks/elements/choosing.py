"""Putting values where a mask holds, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def before(counts: Array) -> Array:
    """Return the sum of what stands before each element."""
    return np.cumsum(counts) - counts


def place_values(x: Array, mask: Array, before: Array, values: Array) -> Array:
    """Put values where the mask holds; `before` counts the places of earlier blocks."""
    block = x.copy()
    many = np.count_nonzero(mask)
    block[mask] = values[(before[0] + np.arange(many)) % len(values)]
    return block
