"""Positions in arrays: as one number in C order, and as one for each axis."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def unravel(indices: Array, shape: tuple[int, ...], order: Any, axis: int) -> Array:
    """Return the positions along one axis; those that aren't in the shape are an error."""
    return np.asarray(np.unravel_index(indices, shape, order)[axis])


def ravel(*args: Any) -> Array:
    """Return the numbers of positions, given for each axis."""
    *positions, shape, modes, order = args
    return np.asarray(np.ravel_multi_index(tuple(positions), shape, modes, order))
