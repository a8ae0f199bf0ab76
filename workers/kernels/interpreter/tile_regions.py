"""Tiles: rectangles of a block small enough that temporaries stay in cache. They follow from the block's shape."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

TILE = 1 << 17

Region = tuple[slice, ...]


@lru_cache(maxsize=256)
def regions(shape: tuple[int, ...]) -> tuple[Region, ...]:
    """Cut a block into tiles of at most about 131,072 elements, in C order."""
    if math.prod(shape) <= TILE:
        return (tuple(slice(0, n) for n in shape),)
    axis = 0
    while math.prod(shape[axis + 1 :]) > TILE:
        axis += 1
    step = max(1, TILE // math.prod(shape[axis + 1 :]))
    leading = [[slice(i, i + 1) for i in range(n)] for n in shape[:axis]]
    cut = [slice(i, min(i + step, shape[axis])) for i in range(0, shape[axis], step)]
    return tuple(itertools.product(*leading, cut, *([slice(0, n)] for n in shape[axis + 1 :])))
