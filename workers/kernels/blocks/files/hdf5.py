"""Writing blocks of a data set of HDF5: each covers whole chunks of the file's, so that no two tasks write one.

Chunks that lie in the file as they lie in memory go to their places in it. Where filters make others of them, a task
writes its chunks to a file of its own, from which the driver takes them over as they are: filters run here.

A task may run twice, when a rank is lost: it writes the same bytes to the same place.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ....sources.stores.libraries import library
from .files import write_at

if TYPE_CHECKING:
    from .....graph.chunks.grid import Grid

Array = np.ndarray[Any, Any]
Where = tuple[slice, ...]
PART = "x"
"""The data set of a part's file."""


def in_place(
    block: Array, path: str, grid: Grid, chunk: tuple[int, ...], places: Array, fill: Any, *, where: Where
) -> Array:
    """Write a block to where its chunks lie in the file, `places` by the chunks' index; return how many bytes."""
    origin = grid.block_origin(int(grid.number([s.start for s in where])))
    descriptor = os.open(path, os.O_WRONLY)
    try:
        for index in np.ndindex(*(-(-n // size) for n, size in zip(block.shape, chunk, strict=True))):
            inside = tuple(slice(i * size, (i + 1) * size) for i, size in zip(index, chunk, strict=True))
            part = block[inside]
            if part.shape != chunk:
                whole = np.full(chunk, fill, block.dtype)
                whole[tuple(map(slice, part.shape))] = part
                part = whole
            at = tuple(o // size + i for o, size, i in zip(origin, chunk, index, strict=True))
            write_at(descriptor, np.ascontiguousarray(part), int(places[at]))
    finally:
        os.close(descriptor)
    return np.full((1,) * len(where), block.nbytes)


def apart(
    block: Array,
    folder: str,
    name: str,
    grid: Grid,
    chunk: tuple[int, ...],
    filters: tuple[tuple[str, Any], ...],
    *,
    where: Where,
) -> Array:
    """Write a block to a file of its own, in chunks that filters have made small; return the bytes of the elements."""
    h5py = library("to_hdf5", "h5py")
    with suppress(ImportError):
        library("to_hdf5", "hdf5plugin")  # registers its filters
    number = int(grid.number([s.start for s in where]))
    descriptor, path = tempfile.mkstemp(prefix="part.", dir=folder)
    os.close(descriptor)
    try:
        with h5py.File(path, "w", locking=False) as file:
            dataset = file.create_dataset(
                PART, block.shape, block.dtype, chunks=chunk, maxshape=(None,) * block.ndim, **dict(filters)
            )
            dataset[...] = block
        os.replace(path, part_path(folder, name, number))
    except BaseException:
        os.unlink(path)
        raise
    return np.full((1,) * len(where), block.nbytes)


def part_path(folder: str, name: str, number: int) -> str:
    """Return the path of the file in which a task writes."""
    return os.path.join(folder, f"{name}-{number}.part")
