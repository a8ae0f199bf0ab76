"""Chunks of what is stored in pieces: whole pieces, as many as fit `config.chunk_bytes`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ....workers.config import config
from ...base import grid_for

if TYPE_CHECKING:
    from ....graph.chunks.grid import Grid
    from ....graph.expr.expr import DType
    from ...typing import ChunksLike


def grid_of_stored(
    operation: str, chunks: ChunksLike, shape: tuple[int, ...], stored: tuple[int, ...], dtype: DType
) -> Grid:
    """Return the grid that the user asks for; with "auto", chunks of whole pieces, longest along the last axes."""
    if not (chunks is None or (isinstance(chunks, str) and chunks == "auto")):
        return grid_for(operation, chunks, shape, dtype)
    sizes = [max(1, min(n, s)) for n, s in zip(shape, stored, strict=True)]
    for axis in reversed(range(len(shape))):
        each = math.prod(sizes) * dtype.itemsize
        times = max(1, config.chunk_bytes // max(1, each))
        sizes[axis] = max(1, min(shape[axis], sizes[axis] * times))
        if sizes[axis] < shape[axis]:
            break
    return grid_for(operation, tuple(sizes), shape, dtype)
