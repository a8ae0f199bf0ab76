"""Blocks on diagonals, and powers."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def diagonal(x: Array) -> Array:
    """Return the diagonals of square blocks."""
    return x.diagonal(0, -2, -1)


def diag(rows: Array, offset: int, where: tuple[slice, ...]) -> Array:
    """Return a block of a matrix: the element of each of its rows stands `offset` to the right of the diagonal."""
    out = np.zeros((len(rows), where[1].stop - where[1].start), rows.dtype)
    row = np.arange(len(rows))
    column = row + where[0].start + offset - where[1].start
    mine = (column >= 0) & (column < out.shape[1])
    out[row[mine], column[mine]] = rows[mine]
    return out


def vander(x: Array, count: int, increasing: bool) -> Array:
    """Return powers of elements, one row for each."""
    return np.vander(x, count, increasing)
