"""Writing blocks into chunked stores: each block covers whole objects of the store, so that no two tasks write one.

A task may run twice, when a rank is lost: it writes the same bytes to the same place.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from .....graph.errors import FileError
from ....sources.stores import zarr

if TYPE_CHECKING:
    from .....graph.chunks.grid import Grid

Array = np.ndarray[Any, Any]
Where = tuple[slice, ...]


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
    where: Where,
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


def store_forked(
    block: Array, pickled: bytes, name: str, grid: Grid, size: int, operation: str, attempt: str, *, where: Where
) -> Array:
    """Write a block through a session of icechunk's that is the task's own; return it, in `size` bytes.

    Whoever merges it has what was written; else nobody does.
    """
    array = pickle.loads(pickled)
    number = int(grid.number([s.start for s in where[:-1]]))
    if block.size:
        zarr.write_into(operation, array, name, grid.block_slices(number), block)
    session_bytes = pickle.dumps(array.async_array.store.session, 5)
    if len(session_bytes) > size - 8:
        raise FileError(
            f"{operation}: what icechunk tells of a part of {name} takes {len(session_bytes)} bytes; expected {size}"
        )
    buffer = np.zeros(size, np.uint8)
    buffer[:8] = np.array([len(session_bytes)], np.int64).view(np.uint8)
    buffer[8 : 8 + len(session_bytes)] = np.frombuffer(session_bytes, np.uint8)
    return buffer.reshape((1,) * len(where[:-1]) + (size,))
