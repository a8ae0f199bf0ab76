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


def label_apart(x: Array, structure: Array, shape: tuple[int, ...], *, where: Where) -> Array:
    """Label a block: each connected part by one more than the first of its places in the whole array, in C order."""
    if 0 in x.shape:
        return np.zeros(x.shape, np.int64)
    found, count = find("ndimage.label")(x, structure, np.int64)
    flat = found.reshape(-1)
    first = np.zeros(count + 1, np.int64)
    first[flat[::-1]] = np.arange(flat.size - 1, -1, -1)
    inside = np.unravel_index(first, x.shape)
    names: Any = np.ravel_multi_index([c + s.start for c, s in zip(inside, where, strict=True)], shape) + 1
    names[0] = 0
    return np.asarray(names[found])


def rename(apart: Array, firsts: Array, names: Array, dtype: str) -> Array:
    """Give each part the label of what it belongs to."""
    found = np.zeros(apart.shape, dtype)
    some = apart > 0
    found[some] = names[np.searchsorted(firsts, apart[some])]
    return found
