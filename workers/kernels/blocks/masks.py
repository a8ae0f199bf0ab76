"""Counting and selecting by a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def select(x: Array, mask: Array) -> Array:
    """Return the elements, or rows, where the mask holds."""
    return x[mask]


def count(mask: Array) -> Array:
    """Return the number of true elements, as an array of one."""
    return np.array([np.count_nonzero(mask)])


def dealt(x: Array, mask: Array, values: Array) -> Array:
    """Return a copy in which the elements, or rows, where the mask holds are the values, in order."""
    out = x.copy()
    out[mask] = values
    return out


def positions(mask: Array, first: Array) -> Array:
    """Return where the mask holds; `first` is the position of its first element."""
    return np.flatnonzero(mask) + first[0]
