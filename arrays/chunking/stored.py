"""Chunks that follow those in which something is stored, so that each of these is read, or written, once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import is_integer
from ...graph.chunks.grid import Axis, Grid
from ...graph.chunks.normalize import auto_steps, parse_bytes
from ...workers.config import config
from ..base import check_grid, grid_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...graph.expr.expr import DType
    from ..typing import ArrayLike, ChunksLike

WRAPPED = 8
"""Objects of xarray's within each other, at most, down to what has chunks."""
MERGED = 1 << 20
"""Small chunks are written together up to so many bytes."""


def stored_chunks(x: Any, limit: int) -> tuple[int, ...] | None:
    """Return the shape of the chunks that something says it is stored in; None where it says none.

    Where chunks lie in shards, shards count as long as they have at most `limit` bytes.
    """
    try:
        shape, dtype = tuple(x.shape), np.dtype(x.dtype)
    except (AttributeError, TypeError):  # what is only written to may have none
        return None
    for name in ("shards", "chunks"):
        try:
            chunks = getattr(x, name, None)
        except Exception:
            continue
        if not isinstance(chunks, tuple) or len(chunks) != len(shape):
            continue
        sizes = tuple(_regular(n) for n in chunks)
        if any(n < 1 for n in sizes) or (name == "shards" and math.prod(sizes) * dtype.itemsize > limit):
            continue
        return sizes
    return None


def layers(x: Any) -> Iterator[Any]:
    """Yield what is read, what that reads, and so on: within xarray's objects, which decode and index, a store's."""
    for _ in range(WRAPPED):
        yield x
        get = getattr(x, "get_array", None)
        x = get() if callable(get) else getattr(x, "array", getattr(x, "_array", None))
        if x is None:
            return


def decoded_chunks(x: ArrayLike) -> tuple[int, ...]:
    """Return the shape of the chunks that are decoded whole, of what is read or what it reads itself; () if none is."""
    shape = getattr(x, "shape", None)
    for each in layers(x):
        if getattr(each, "shape", None) != shape:
            return ()
        chunks = getattr(each, "chunks", None)
        if isinstance(chunks, tuple) and len(chunks) == len(each.shape):
            sizes = tuple(_regular(n) for n in chunks)
            return sizes if all(n > 0 for n in sizes) else ()
    return ()


def _regular(size: Any) -> int:
    """Return the size of an axis's chunks, but for the last; 0 where they differ."""
    if isinstance(size, tuple | list):
        sizes = [int(n) for n in size] or [0]
        return sizes[0] if all(n == sizes[0] for n in sizes[:-1]) and sizes[-1] <= sizes[0] else 0
    return int(size) if is_integer(size) else 0


def grid_over(
    operation: str, chunks: ChunksLike, shape: Sequence[int], dtype: DType, stored: Sequence[int] | None
) -> Grid:
    """Return the grid that `chunks` means, in which "auto" takes multiples of the stored chunks."""
    grid = grid_for(operation, chunks, shape, dtype)
    auto = [i for i, spec in enumerate(_specs(chunks, len(shape))) if isinstance(spec, str)]
    if stored is None or not auto or 0 in shape:
        return grid
    limit = config.chunk_bytes
    for spec in _specs(chunks, len(shape)):
        limit = parse_bytes(spec) if isinstance(spec, str) and spec != "auto" else limit
    sizes = [min(stored[i], shape[i]) for i in auto]
    fixed = math.prod(axis.largest for i, axis in enumerate(grid.axes) if i not in auto) * math.prod(sizes)
    steps = auto_steps([-(-shape[i] // n) for i, n in zip(auto, sizes, strict=True)], fixed, dtype, limit)
    axes = list(grid.axes)
    for i, n, step in zip(auto, sizes, steps, strict=True):
        axes[i] = Axis.regular(shape[i], n * step).freed()
    aligned_grid = Grid(axes)
    check_grid(operation, aligned_grid)
    return aligned_grid


def _specs(chunks: ChunksLike, ndim: int) -> list[Any]:
    if isinstance(chunks, Mapping):
        specs: list[Any] = [None] * ndim
        for axis, spec in chunks.items():
            specs[axis] = spec
        return specs
    return list(chunks) if isinstance(chunks, tuple | list) and len(chunks) == ndim else [chunks] * ndim


def grid_of_objects(grid: Grid, objects: Sequence[int], first: Sequence[int], itemsize: int) -> Grid:
    """Return a grid near another one, each of whose blocks covers whole objects of a store.

    Parameters
    ----------
    grid
        Of what is to be written.
    objects
        The shape of what the store writes at once.
    first
        Where in the store's array the grid begins; objects that reach beyond the grid belong to its outer blocks.
    itemsize
        Bytes of an element: blocks of small objects are merged up to some bytes.
    """
    bounds = [_near(axis, size, at) for axis, size, at in zip(grid.axes, objects, first, strict=True)]
    largest = [int(np.diff(b).max(initial=0)) for b in bounds]
    for i in reversed(range(len(bounds))):
        each = max(1, math.prod(largest) * itemsize)
        group = min(MERGED // each, len(bounds[i]) - 1)
        if group > 1:
            bounds[i] = np.append(bounds[i][:-1:group], bounds[i][-1])
            largest[i] = int(np.diff(bounds[i]).max())
    return Grid([Axis.of_sizes(np.diff(b)) if len(b) > 1 else Axis.whole(0) for b in bounds])


def _near(axis: Axis, size: int, at: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the bounds of an axis's chunks, each moved to the nearest one of an object."""
    stops = np.asarray(axis.stop(np.arange(axis.count)), np.int64)
    moved = (stops + at + size // 2) // size * size - at
    inside = moved[(moved > 0) & (moved < axis.length)]
    return np.unique(np.concatenate([[0], inside, [axis.length]])).astype(np.int64)
