"""Blocks on diagonals, and powers."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def diagonal(x: Array) -> Array:
    return x.diagonal(0, -2, -1)


def vander(x: Array, count: int, increasing: bool) -> Array:
    """Return powers of elements, one row for each."""
    return np.vander(x, count, increasing)
