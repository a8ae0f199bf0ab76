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
