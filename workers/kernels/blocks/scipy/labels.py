"""Labels of connected elements: of each block by itself, then of all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .ndimage import scipy_function

Array = np.ndarray[Any, Any]
Where = tuple[slice, ...]


def label_whole(x: Array, structure: Array, dtype: str) -> Array:
    """Label an array that is one block."""
    if 0 in x.shape:
        return np.zeros(x.shape, dtype)
    try:
        return np.asarray(scipy_function("ndimage.label")(x, structure, np.dtype(dtype))[0])
    except RuntimeError as error:
        raise ValueError(f"label: argument 'output' is {np.dtype(dtype)}; expected more bits ({error})") from error


def label_apart(x: Array, structure: Array, shape: tuple[int, ...], dtype: np.dtype[Any], *, where: Where) -> Array:
    """Label a block: each connected part by a number that no other block has, in the order of their first places."""
    if 0 in x.shape:
        return np.zeros(x.shape, dtype)
    labels = np.asarray(scipy_function("ndimage.label")(x, structure, dtype)[0])
    labels += (labels > 0) * dtype.type(_count_before(where, shape))
    return labels


def mark_firsts(apart: Array) -> Array:
    """Mark the first place of each part of a block, in C order: labels ascend there."""
    flat = apart.reshape(-1)
    firsts = np.empty(flat.shape, bool)
    firsts[:1] = flat[:1] > 0
    most = np.maximum.accumulate(flat)
    np.greater(most[1:], most[:-1], out=firsts[1:])
    return firsts.reshape(apart.shape)


def rename(apart: Array, parts: Array, names: Array, shape: tuple[int, ...], dtype: str, *, where: Where) -> Array:
    """Give each part, of all in order, the label of what it belongs to."""
    before = _count_before(where, shape)
    own = slice(*np.searchsorted(parts, [before + 1, before + apart.size + 1]))
    table = np.append(0, names[own]).astype(dtype)
    return np.asarray(table.take(np.maximum(apart - apart.dtype.type(before), 0)))


def _count_before(where: Where, shape: tuple[int, ...]) -> int:
    """Return how many elements the blocks before one have."""
    return sum(
        math.prod(s.stop - s.start for s in where[:i]) * own.start * math.prod(shape[i + 1 :])
        for i, own in enumerate(where)
    )
