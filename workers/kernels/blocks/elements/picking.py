"""Elements at positions that are an array's values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....graph.errors import IndexingError

Array = np.ndarray[Any, Any]


def look_up(table: Array, index: Array, name: str, axis: int) -> Array:
    """Return the elements at positions along an axis of which the block has all."""
    _check(name, index, axis, table.shape[axis])
    elements: Array = np.take(table, index.astype(np.int64, copy=False), axis)
    return elements


def along(x: Array, index: Array, name: str, axis: int) -> Array:
    """Return, for each line along an axis of which the block has all, its elements at the line of positions."""
    _check(name, index, axis, x.shape[axis])
    elements: Array = np.take_along_axis(x, index.astype(np.int64, copy=False), axis)
    return elements


def _check(name: str, index: Array, axis: int, n: int) -> None:
    if not index.size:
        return
    low, high = int(index.min()), int(index.max())
    if low < -n or high >= n:
        wrong = low if low < -n else high
        raise IndexingError(f"{name}: index {wrong} is out of bounds for axis {axis} with length {n}")


def set_field(x: Array, value: Array, names: str | list[str]) -> Array:
    """Return a structured block with other values in a field, or in some of them."""
    records = x.copy()
    records[names] = value
    return records


def field(x: Array, names: str | list[str]) -> Array:
    """Return a field of a structured block, or some of them where they lie, with the room of the others between."""
    field_values: Array = x[names]
    return field_values
