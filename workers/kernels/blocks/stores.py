"""Writing blocks into chunked stores: each block covers whole objects of the store, so that no two tasks write one.

A task may run twice, when a rank is lost: it writes the same bytes to the same place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...stores import zarr

if TYPE_CHECKING:
    from ....graph.grid import Grid

Array = np.ndarray[Any, Any]


def store(
    block: Array,
    pickled: bytes,
    name: str,
    grid: Grid,
    first: tuple[int, ...],
    whole: bool,
    operation: str,
    attempt: str,
    *,
    where: tuple[slice, ...],
) -> Array:
    """Write a block of the grid to where it lies in the target, in which the grid begins at `first`.

    `attempt` tells one call from another that writes the same.
    """
    number = int(grid.number([s.start for s in where]))
    if block.size:
        slices = grid.block_slices(number)
        region = tuple(slice(f + s.start, f + s.stop) for f, s in zip(first, slices, strict=True))
        zarr.write(operation, pickled, name, region, block, whole)
    return np.full((1,) * len(where), block.nbytes)
