"""Positions in arrays: as one number in C order, and as one for each axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, Any]


def coordinates(numbers: Array, shape: Sequence[int], order: Any = "C") -> tuple[Array, ...]:
    """Return positions along each axis of numbers in C order.

    NumPy's `unravel_index` (2.4.6) is wrong for more than 8,192 numbers whose last axis has length one.
    """
    axis_indices = np.unravel_index(np.ravel(numbers), tuple(shape), order)
    return tuple([each.reshape(np.shape(numbers)) for each in axis_indices])


def unravel(indices: Array, shape: tuple[int, ...], order: Any, axis: int) -> Array:
    """Return the positions along one axis; those that aren't in the shape are an error."""
    return coordinates(indices, shape, order)[axis]


def ravel(*args: Any) -> Array:
    """Return the numbers of positions, given for each axis."""
    *positions, shape, modes, order = args
    return np.asarray(np.ravel_multi_index(tuple(positions), shape, modes, order))
