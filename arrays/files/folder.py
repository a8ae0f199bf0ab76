"""Windrow's own format: a folder of Arrow files and `windrow.json`, which describes the array."""

from __future__ import annotations

import json
import math
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, FileFormatError, MissingFile, bad
from ...graph.expr import origin
from ...graph.expr.expr import Expr
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.source import Host, HostData
from ...workers.sources.arrow_folder import ArrowFolder, ChunkRuns, file_name
from ..base import as_array_nocopy, check_grid, make, wrap
from ..chunking.rechunk import rechunk, regrid
from ..execution.deferred import evaluate
from .docstrings import FILES
from .npy import map_file, pack_fields, to_npy
from .writing.atomic_write import aside, check_sizes, path_of, runs_of, write_once

if TYPE_CHECKING:
    from ...graph.expr.expr import DType
    from ..array import Array
    from ..typing import ArrayLike, ChunksLike, PathLike

__all__ = [
    "load",
    "save",
]

FORMAT, VERSION, HEAD = "windrow array", 1, "windrow.json"


def save(path: PathLike, x: ArrayLike, *, overwrite: bool | None = None) -> None:
    """Compute an array and write it to a folder of Arrow files, which `load` reads with the same chunks.

    Each chunk is written by the rank that computes it; nothing is gathered, and nothing is pickled. The files lie in a
    hidden folder beside `path` until all are complete: an interrupted `save` leaves nothing at `path`. Where ranks run
    on several hosts, `path` must be in a file system that they share.

    Parameters
    ----------
    path : str or os.PathLike
        A folder to make; a path that ends with ".npy" is left to `to_npy`.
    x : array_like
        The array, of any dtype without Python objects.
    overwrite : bool, optional
        Whether an array that was saved there before is replaced. None: a ".npy" file is, as by NumPy's `save`; a
        folder is not.

    Raises
    ------
    MissingFile
        The folder to write in doesn't exist.
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `path` is not a path.
    DTypeError
        `x` holds Python objects.
    {FileExists, unwritten}

    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.save(folder + "/x", wr.arange(6, chunks=4) ** 2)
    ...     loaded = wr.load(folder + "/x")
    ...     print(loaded.chunks, loaded.compute())
    ((4, 2),) [ 0  1  4  9 16 25]
    """
    target = path_of("save", path)
    if target.endswith(".npy"):
        to_npy(x, target, overwrite=True if overwrite is None else overwrite)
        return
    array = pack_fields(as_array_nocopy("save", "x", x))
    overwrite = False if overwrite is None else overwrite
    write_once("save", target, overwrite, [array], partial(_write, target, overwrite))


def _write(target: str, overwrite: bool, array: Array) -> None:
    grid, dtype = array.expr.grid, array.dtype
    runs = runs_of(grid, dtype.itemsize)
    with aside("save", target, overwrite, _ours) as folder:
        os.mkdir(os.path.join(folder, "data"))
        written = make(
            BlockFunction("files.files:save", (folder, runs), where=True),
            (regrid(array, runs.merged),),
            Grid([Axis.regular(n, 1) for n in runs.counts]),
            np.int64,
        )
        (sizes,) = evaluate([written.expr])
        check_sizes("save", folder, [file_name(i, "arrow") for i in range(sizes.size)], sizes)
        with open(os.path.join(folder, "data", HEAD), "x", encoding="utf-8") as file:
            json.dump(_head(runs, dtype, sizes), file)


def _ours(path: str) -> bool:
    """Whether a path is an array's folder, and holds nothing else."""
    if os.path.islink(path) or not os.path.isfile(os.path.join(path, HEAD)):
        return False
    return all(n == HEAD or (n.startswith("part-") and n.endswith(".arrow")) for n in os.listdir(path))


def _head(runs: ChunkRuns, dtype: DType, sizes: np.ndarray[Any, Any]) -> dict[str, Any]:
    axes = [a.step if a.is_regular else list(a.sizes()) for a in runs.grid.axes]
    return {
        "format": FORMAT,
        "version": VERSION,
        "shape": list(runs.grid.shape),
        "dtype": np.lib.format.dtype_to_descr(dtype),
        "chunks": axes,
        "files": {"chunks": list(runs.groups), "bytes": sizes.reshape(-1).tolist()},
    }


def load(path: PathLike, mmap_mode: str | None = None, *, chunks: ChunksLike = None) -> Array:
    """Return an array that `save` has written.

    Files must not change while the array is used: SourceChanged is raised then.

    Parameters
    ----------
    path : str or os.PathLike
        A folder that `save` made, or a `.npy` file.
    mmap_mode : {None, "r", "c"}
        Accepted for NumPy and ignored: files are read in parts, and never written to.
    chunks : int, str, tuple, dict or None
        Chunks of the result; None: those that were saved, or "auto" for a `.npy` file.

    Returns
    -------
    Array
        Lazy; the rank that needs a chunk reads it, not before.

    Raises
    ------
    {MissingFile}
    ArgumentError
        `path` is not a path, or `mmap_mode` is unknown.
    {ChunksError}
    FileFormatError
        `path` is neither an array's folder nor a `.npy` file, files are missing or cut short, or a later version wrote
        them.

    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.save(folder + "/x", wr.ones((4, 6), chunks=(2, 3)))
    ...     x = wr.load(folder + "/x", chunks=(4, 3))
    ...     print(x.chunks, x.sum().compute())
    ((4,), (3, 3)) 24.0
    """
    if mmap_mode not in (None, "r", "c"):
        raise ArgumentError(bad("load", "mmap_mode", mmap_mode, "None, 'r' or 'c': files aren't written to"))
    full_path = path_of("load", path)
    if not os.path.exists(full_path):
        raise MissingFile(f"load: argument 'path' is {full_path!r}; there is nothing")
    if os.path.isfile(full_path):
        return map_file("load", full_path, "auto" if chunks is None else chunks)
    runs, dtype, sizes = _read_head(os.path.join(full_path, HEAD))
    times = _check_files(full_path, sizes)
    data = HostData(None, in_place=False, file=ArrowFolder(full_path, runs, dtype, sizes, times), label="load")
    array = wrap(Expr(Host(data), (), runs.grid, dtype, origin.find_origin()))
    return array if chunks is None else rechunk(array, chunks)


def _read_head(path: str) -> tuple[ChunkRuns, DType, np.ndarray[Any, Any]]:
    if not os.path.isfile(path):
        raise FileFormatError(f"load: there is no {path!r}; expected a folder that save() has made")
    try:
        with open(path, encoding="utf-8") as file:
            head = json.load(file)
        if head["format"] != FORMAT:
            raise ValueError(f"its format is {head['format']!r}")
        if head["version"] != VERSION:
            raise FileFormatError(
                f"load: {path!r} is of version {head['version']}; this Windrow reads version {VERSION}"
            )
        dtype = np.lib.format.descr_to_dtype(_as_descr(head["dtype"]))
        grid = Grid([_axis(n, c) for n, c in zip(head["shape"], head["chunks"], strict=True)])
        if any(n < 0 for n in grid.shape):
            raise ValueError(f"its shape is {head['shape']}")
        runs = ChunkRuns(grid, tuple(int(g) for g in head["files"]["chunks"]))
        sizes = np.array(head["files"]["bytes"], np.int64)
        if len(runs.groups) != grid.ndim or sizes.shape != (math.prod(runs.counts),) or dtype.hasobject:
            raise ValueError("files, chunks and shape don't fit together")
    except (ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"load: {path!r} doesn't describe an array: {error!r}") from error
    check_grid("load", grid)
    return runs, dtype, sizes


def _as_descr(value: object) -> Any:
    """Return a dtype's description for NumPy: JSON has lists in place of tuples."""
    if not isinstance(value, list):
        return value
    return [
        tuple(_as_descr(v) if i == 1 else tuple(v) if isinstance(v, list) else v for i, v in enumerate(f))
        for f in value
    ]


def _axis(length: int, chunks: int | list[int]) -> Axis:
    axis = Axis.regular(length, chunks) if isinstance(chunks, int) else Axis.of_sizes(chunks)
    if axis.length != length or (isinstance(chunks, list) and min(chunks, default=0) < 0):
        raise ValueError(f"chunks {chunks} for an axis of length {length}")
    return axis


def _check_files(folder: str, sizes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the files' modification times; raise if one is missing or has another size."""
    times = np.empty(len(sizes), np.int64)
    for number, size in enumerate(sizes.tolist()):
        path = os.path.join(folder, file_name(number, "arrow"))
        try:
            status = os.stat(path)
        except OSError as error:
            raise FileFormatError(f"load: the array in {folder!r} is incomplete: {error}") from error
        if status.st_size != size:
            raise FileFormatError(
                f"load: the array in {folder!r} is incomplete: {path!r} has {status.st_size} bytes; expected {size}"
            )
        times[number] = status.st_mtime_ns
    return times


FILES.fill(__name__)
