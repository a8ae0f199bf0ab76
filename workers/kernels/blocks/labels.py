"""Labels of connected elements: of each block by itself, then of all."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ndimage import find

Array = np.ndarray[Any, Any]
Where = tuple[slice, ...]


def label_whole(x: Array, structure: Array, dtype: str) -> Array:
    """Label an array that is one block."""
    if 0 in x.shape:
        return np.zeros(x.shape, dtype)
    try:
        return np.asarray(find("ndimage.label")(x, structure, np.dtype(dtype))[0])
    except RuntimeError as error:
        raise ValueError(f"label: argument 'output' is {np.dtype(dtype)}; expected more bits ({error})") from error


def label_apart(x: Array, structure: Array, shape: tuple[int, ...], dtype: np.dtype[Any], *, where: Where) -> Array:
    """Label a block: each connected part by one more than the first of its places in the whole array, in C order."""
    if 0 in x.shape:
        return np.zeros(x.shape, dtype)
    labels, count = find("ndimage.label")(x, structure, dtype)
    flat = labels.reshape(-1)
    first = np.zeros(count + 1, np.int64)
    first[flat[::-1]] = np.arange(flat.size - 1, -1, -1)
    inside = np.unravel_index(first, x.shape)
    names: Any = np.ravel_multi_index([c + s.start for c, s in zip(inside, where, strict=True)], shape) + 1
    names[0] = 0
    return np.asarray(names.astype(dtype)[labels])


def rename(apart: Array, firsts: Array, names: Array, shape: tuple[int, ...], dtype: str, *, where: Where) -> Array:
    """Give each part the label of what it belongs to: looked up by its first place, which lies in the block."""
    if 0 in apart.shape:
        return np.zeros(apart.shape, dtype)
    steps = np.cumprod((1, *shape[:0:-1]), dtype=np.int64)[::-1].tolist()
    lines = np.ix_(*(np.arange(s.start, s.stop, dtype=apart.dtype) * n for s, n in zip(where, steps, strict=True)))
    place: Any = sum(lines) + apart.dtype.type(1)
    at = np.flatnonzero(apart == place)
    table = np.zeros(apart.size + 1, dtype)
    table[at + 1] = names[np.searchsorted(firsts, apart.reshape(-1)[at])]
    return np.asarray(table.take(_places_inside(apart, shape, where)))


def _places_inside(apart: Array, shape: tuple[int, ...], where: Where) -> Array:
    """Return one more than the place in the block, in C order, that a name stands for; 0 for 0."""
    first, last = (
        int(np.ravel_multi_index(k, shape)) for k in zip(*((s.start, s.stop - 1) for s in where), strict=True)
    )
    if last - first + 1 == apart.size:  # whole rows
        return np.asarray(np.maximum(apart - apart.dtype.type(first), 0))
    left, inside, size = apart - apart.dtype.type(1), np.ones_like(apart), 1
    for n, s in zip(shape[::-1], where[::-1], strict=True):
        outer = left // apart.dtype.type(n)
        left -= outer * apart.dtype.type(n)
        inside += (left - apart.dtype.type(s.start)) * apart.dtype.type(size)
        left, size = outer, size * (s.stop - s.start)
    return np.where(apart > 0, inside, 0)
