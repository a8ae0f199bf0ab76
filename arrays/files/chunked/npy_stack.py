"""Stacks of `.npy` files in dask's form: a folder with a file for each chunk along one axis."""

from __future__ import annotations

import io
import pickle
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import check_integer
from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, AxisError, FileFormatError, MissingFile, bad
from ....graph.expr import origin
from ....graph.expr.expr import Expr
from ....graph.kinds.mapping import BlockFunction
from ....graph.kinds.source import Host, HostData
from ....workers.sources.formats.stacks import NpyStack
from ...base import as_array_nocopy, check_grid, make, wrap
from ...chunking.rechunk import regrid
from ...execution.deferred import evaluate
from ..glob import find_one, location, read_options, refuse_moving
from ..npy import pack_fields
from ..writing.atomic_write import write_once
from ..writing.new_folder import check_files, new_folder, put_file

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, DTypeLike, PathLike
    from ..glob import Options

__all__ = [
    "from_npy_stack",
    "to_npy_stack",
]

INFO = "info"


def from_npy_stack(
    dirname: PathLike, mmap_mode: str | None = "r", *, storage_options: dict[str, Any] | None = None
) -> Array:
    """Return an array of a folder of `.npy` files, which `to_npy_stack` or dask has written.

    Parameters
    ----------
    dirname : str or os.PathLike
        The folder, or a URL that fsspec opens.
    mmap_mode : {None, "r", "c"}
        Accepted for dask and ignored: files are read in parts, and never written to.
    storage_options : dict, optional
        For fsspec, beside a URL.

    Returns
    -------
    Array
        Lazy, with a chunk for each file; the rank that needs a chunk reads it, or the part that it needs.

    Raises
    ------
    MissingFile
        There is no such folder, or a file of it is missing.
    ArgumentError
        `dirname` is not a path, or `mmap_mode` is unknown.
    FileFormatError
        The folder's `info` doesn't describe a stack. When a file is read: it is no `.npy` file, is truncated, or isn't
        what `info` tells.
    FileError
        A file can't be read.

    Notes
    -----
    `info` is a pickle of dask's, from which only numbers, texts and dtypes are loaded.

    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.to_npy_stack(folder + "/stack", wr.ones((5, 4), chunks=(2, 3)))
    ...     print(wr.from_npy_stack(folder + "/stack").chunks)
    ((2, 2, 1), (4,))
    """
    if mmap_mode not in (None, "r", "c"):
        raise ArgumentError(bad("from_npy_stack", "mmap_mode", mmap_mode, "None, 'r' or 'c': files aren't written to"))
    options = read_options("from_npy_stack", storage_options)
    folder = location("from_npy_stack", dirname, options).rstrip("/")
    refuse_moving("from_npy_stack", folder, options)
    info = find_one("from_npy_stack", f"{folder}/{INFO}", storage_options)
    chunks, dtype, axis = _read_info(info.path, info.read_bytes())
    grid = Grid([Axis.of_sizes(sizes) for sizes in chunks])
    check_grid("from_npy_stack", grid)
    places = []
    for i in range(len(chunks[axis])):
        try:
            places.append(find_one("from_npy_stack", f"{folder}/{i}.npy", storage_options))
        except MissingFile as error:
            raise MissingFile(
                f"from_npy_stack: the stack in {folder!r} is incomplete: there is no {i}.npy of {len(chunks[axis])}"
            ) from error
    bounds = np.concatenate([[0], np.cumsum(chunks[axis])]).astype(np.int64)
    stack = NpyStack(tuple(places), axis, bounds, grid.shape, dtype)
    data = HostData(None, in_place=False, file=stack, label="from_npy_stack")
    return wrap(Expr(Host(data), (), grid, dtype, origin.find_origin()))


class _Plain(pickle.Unpickler):
    """Loads what `info` may have, and refuses all else that a pickle could load."""

    def find_class(self, module: str, name: str) -> Any:
        """Return NumPy's dtypes and numbers."""
        if (module, name) == ("numpy", "dtype"):
            return np.dtype
        if module in ("numpy._core.multiarray", "numpy.core.multiarray") and name == "scalar":
            return _scalar
        if module in ("numpy.dtypes", "numpy") and isinstance(dtype_class := getattr(np.dtypes, name, None), type):
            return dtype_class
        raise pickle.UnpicklingError(f"it names {module}.{name}")


def _scalar(dtype: DTypeLike, raw: bytes) -> Any:
    return np.frombuffer(raw, dtype)[0]


def _read_info(path: str, raw: bytes) -> tuple[tuple[tuple[int, ...], ...], np.dtype[Any], int]:
    try:
        info = _Plain(io.BytesIO(raw)).load()
        chunks = tuple(tuple(check_integer("from_npy_stack", "info", n) for n in sizes) for sizes in info["chunks"])
        dtype, axis = np.dtype(info["dtype"]), check_integer("from_npy_stack", "info", info["axis"])
        fits = 0 <= axis < len(chunks) and all(len(sizes) == 1 for i, sizes in enumerate(chunks) if i != axis)
        if dtype.hasobject or not fits or any(n < 0 for sizes in chunks for n in sizes):
            raise ValueError(f"chunks {chunks} of {dtype} along axis {axis}")
    except Exception as error:
        raise FileFormatError(f"from_npy_stack: {path!r} doesn't describe a stack: {error!r}") from error
    return chunks, dtype, axis


def to_npy_stack(
    dirname: PathLike,
    x: ArrayLike,
    axis: int = 0,
    *,
    overwrite: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> None:
    """Compute an array and write it to a folder of `.npy` files, one for each chunk along an axis, in dask's form.

    Each file is written by a rank that makes it. The files lie in a hidden folder beside `dirname` until all are
    complete. `dask.array.from_npy_stack` reads it.

    Parameters
    ----------
    dirname : str or os.PathLike
        A folder to make, or a URL that fsspec opens.
    x : array_like
        The array, with at least one axis; chunks along the other axes are joined.
    axis : int
        The axis along which the files follow each other.
    overwrite : bool
        Whether to replace a stack that is there.
    storage_options : dict, optional
        For fsspec, beside a URL.

    Raises
    ------
    MissingFile
        The folder to write in doesn't exist.
    ArgumentError
        `dirname` is not a path, or `x` can't be read as an array.
    AxisError
        `x` has no such axis.
    DTypeError
        `x` holds Python objects.
    FileExists
        There is something at `dirname` that mustn't be replaced.
    FileError
        The files can't be written.

    >>> import os, tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.to_npy_stack(folder + "/stack", wr.ones((5, 4), chunks=2), axis=1)
    ...     sorted(os.listdir(folder + "/stack"))
    ['0.npy', '1.npy', 'info']
    """
    options = read_options("to_npy_stack", storage_options)
    target = location("to_npy_stack", dirname, options).rstrip("/")
    array = pack_fields(as_array_nocopy("to_npy_stack", "x", x))
    at = check_integer("to_npy_stack", "axis", axis)
    if not -array.ndim <= at < array.ndim:
        raise AxisError(bad("to_npy_stack", "axis", axis, f"an axis of an array of shape {array.shape}"))
    at %= array.ndim
    write_once("to_npy_stack", target, overwrite, [array], partial(_write, target, options, overwrite, at))


def _write(target: str, options: Options, overwrite: bool, axis: int, array: Array) -> None:
    along = array.expr.grid.axes[axis]
    grid = Grid([a if i == axis else Axis.whole(a.length) for i, a in enumerate(array.expr.grid.axes)])
    with new_folder("to_npy_stack", target, options, overwrite, _ours) as folder:
        op = BlockFunction("files.stacks:to_npy_stack", (folder, axis, array.nbytes), where=True)
        counts = Grid([Axis.regular(n, 1) for n in grid.counts])
        (sizes,) = evaluate([make(op, (regrid(array, grid),), counts, np.int64).expr])
        check_files("to_npy_stack", folder, [f"{i}.npy" for i in range(along.count)], sizes)
        put_file(folder, INFO, pickle.dumps({"chunks": grid.chunks(), "dtype": array.dtype, "axis": axis}))


def _ours(names: list[str]) -> bool:
    """Whether a folder with these files is a stack, and holds nothing else."""
    return INFO in names and all(n == INFO or (n.endswith(".npy") and n[:-4].isdigit()) for n in names)
