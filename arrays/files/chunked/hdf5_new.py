"""Writing data sets of an HDF5 file that nobody else has open; ranks write chunks as far as HDF5 allows.

An HDF5 file has one writer, the driver. Ranks do what can be done without HDF5:

- Elements stored as in memory, contiguous or in chunks without filters: the driver lets HDF5 allocate the space and
  closes the file, and ranks write to these places.
- Chunks with filters: a task filters its chunks and writes them to a file of its own, and the driver copies them as
  they are, which is little work.
- All else (no elements, no axes, arguments that can't be sent to ranks) the driver writes, chunk by chunk.
"""

from __future__ import annotations

import math
import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import FileError
from ....graph.kinds.mapping import BlockFunction
from ....workers.kernels.blocks.files.hdf5 import PART, part_path
from ....workers.sources.stores.libraries import library
from ...base import make
from ...chunking.rechunk import regrid
from ...chunking.stored import grid_of_objects
from ...execution.deferred import evaluate
from ..npy import in_rows
from ..writing.into_arrays import write_here

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...array import Array

FILTERS = ("compression", "compression_opts", "shuffle", "fletcher32", "scaleoffset")
PLAIN = ("shape", "dtype", "chunks", "fillvalue", "maxshape", "track_times", "track_order")
"""Arguments of h5py's that don't affect a chunk's bytes."""


@dataclass(frozen=True)
class DatasetPart:
    """A data set, and the array of the numbers of bytes that tasks write of it; None if the driver writes."""

    name: str
    array: Array
    written: Array | None
    grid: Grid | None = None
    """Of the tasks' own files."""


def write_data_sets(path: str, arrays: Mapping[str, Array], described: Mapping[str, dict[str, Any]]) -> None:
    """Make data sets in a file, in place of those of the same names, and write them.

    Parameters
    ----------
    path
        The file, in a folder that nobody else uses.
    arrays
        By the data sets' names.
    described
        What h5py's `create_dataset` is given for each.
    """
    h5py = library("to_hdf5", "h5py")
    with h5py.File(path, "a", locking=False) as file:
        parts = [
            _make(file, path, f"{i}", name, array, described[name]) for i, (name, array) in enumerate(arrays.items())
        ]
    by_ranks = [p.written.expr for p in parts if p.written is not None]
    counts = iter(evaluate(by_ranks) if by_ranks else ())
    with h5py.File(path, "a", locking=False) as file:
        for number, part in enumerate(parts):
            if part.written is not None:
                _check(part, int(next(counts).sum()))
            if part.grid is not None:
                _take_over(os.path.dirname(path), f"{number}", file[part.name], part.grid)
        write_here([(p.array, file[p.name], [range(n) for n in p.array.shape]) for p in parts if p.written is None])


def _make(file: Any, path: str, number: str, name: str, array: Array, described: dict[str, Any]) -> DatasetPart:
    if name in file:
        del file[name]
    filters = _filters(described)
    if not array.size or not array.ndim or filters is None:
        file.create_dataset(name, **described)
        return DatasetPart(name, array, None)
    if not filters and described.get("maxshape") is None and not file.userblock_size:
        dataset = file.create_dataset(name, dcpl=_reserving(), **described)
        if dataset.dtype == array.dtype and dataset.id.get_type().get_size() == array.dtype.itemsize:
            return DatasetPart(name, array, _in_place(path, array, dataset))
        return DatasetPart(name, array, None)
    dataset = file.create_dataset(name, **described)
    if dataset.chunks is None:
        return DatasetPart(name, array, None)
    grid = grid_of_objects(array.expr.grid, dataset.chunks, (0,) * array.ndim, array.dtype.itemsize)
    if described.get("fillvalue") is not None:
        filters["fillvalue"] = described["fillvalue"]
    params = (os.path.dirname(path), number, grid, dataset.chunks, tuple(sorted(filters.items())))
    return DatasetPart(name, array, _tasks("files.hdf5:apart", params, array, grid), grid)


def _filters(described: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments that affect a chunk's bytes; None if one is unknown or can't be sent to ranks."""
    filters = {key: value for key, value in described.items() if key not in PLAIN}
    compression = filters.get("compression")
    if isinstance(compression, Mapping):  # of hdf5plugin's
        filters |= dict(compression)
    filters = {key: value for key, value in filters.items() if value is not None and value is not False}
    if not filters.keys() <= set(FILTERS):
        return None
    try:
        pickle.dumps(filters)
    except Exception:
        return None
    return filters


def _reserving() -> Any:
    """Return the property list by which HDF5 allocates all elements at once, and writes nothing there."""
    h5p, h5d = library("to_hdf5", "h5py.h5p"), library("to_hdf5", "h5py.h5d")
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5d.FILL_TIME_NEVER)
    return properties


def _in_place(path: str, array: Array, made: Any) -> Array | None:
    """Return the array of the numbers of bytes that tasks write in place; None if HDF5 reports no places."""
    chunk = made.chunks
    if chunk is None:
        offset = made.id.get_offset()
        array = in_rows("to_hdf5", array)
        return (
            None
            if offset is None
            else _tasks("files.files:to_npy", (path, offset, array.expr.grid), array, array.expr.grid)
        )
    counts = tuple(-(-n // size) for n, size in zip(array.shape, chunk, strict=True))
    places = np.full(counts, -1, np.int64)

    def note(info: Any) -> None:
        places[tuple(at // size for at, size in zip(info.chunk_offset, chunk, strict=True))] = info.byte_offset

    made.id.chunk_iter(note)
    if (places < 0).any():
        return None
    grid = grid_of_objects(array.expr.grid, chunk, (0,) * array.ndim, array.dtype.itemsize)
    return _tasks("files.hdf5:in_place", (path, grid, chunk, places, made.fillvalue), array, grid)


def _tasks(name: str, params: tuple[Any, ...], array: Array, grid: Grid) -> Array:
    counts = Grid([Axis.regular(n, 1) for n in grid.counts])
    return make(BlockFunction(name, params, where=True), (regrid(array, grid),), counts, np.int64)


def _check(part: DatasetPart, count: int) -> None:
    if count != part.array.nbytes:
        raise FileError(f"to_hdf5: {count} bytes were written of {part.name!r}; expected {part.array.nbytes}")


def _take_over(folder: str, number: str, made: Any, grid: Grid) -> None:
    """Copy the chunks of all tasks' files into a data set as they are, and remove the files."""
    h5py = library("to_hdf5", "h5py")
    for block in range(math.prod(grid.counts)):
        path, origin = part_path(folder, number, block), grid.block_origin(block)
        try:
            with h5py.File(path, "r", locking=False) as file:
                _copy_chunks(file[PART], made, origin)
        except FileNotFoundError as error:
            raise FileError(
                f"to_hdf5: a part of {made.name!r} isn't in {folder!r}; expected a file system that all hosts share"
            ) from error
        os.unlink(path)


def _copy_chunks(part: Any, made: Any, origin: Sequence[int]) -> None:
    infos: list[tuple[int, ...]] = []
    part.id.chunk_iter(lambda info: infos.append(info.chunk_offset))
    for at in infos:
        mask, raw = part.id.read_direct_chunk(at)
        made.id.write_direct_chunk(tuple(o + a for o, a in zip(origin, at, strict=True)), raw, mask)
