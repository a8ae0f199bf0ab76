"""NumPy's `.npy` files: mapped by every rank, and written by all of them at once."""

from __future__ import annotations

import errno
import io
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, FileError, FileFormatError, MissingFile, bad
from ...graph.expr import origin
from ...graph.expr.expr import Expr
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.source import Host, HostData
from ...workers.sources.formats.places import is_url
from ...workers.sources.formats.stacks import NpyStack, read_header
from ..base import as_array_nocopy, grid_for, make, wrap
from ..chunking.rechunk import regrid
from ..creation.from_data import from_array
from ..execution.deferred import evaluate
from ..ops.elementwise.functions import astype
from .docstrings import FILES
from .glob import find_one, location, read_options, refuse_special
from .writing.atomic_write import aside, path_of, write_once
from .writing.into_arrays import write_in_order
from .writing.uploading import upload_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.expr.expr import DType
    from ...workers.sources.formats.places import FilePlace
    from ..array import Array
    from ..typing import ArrayLike, ChunksLike, PathLike
    from .glob import Options

__all__ = [
    "from_npy",
    "to_npy",
]

SHORT_RUN = 1 << 10
"""Chunks whose rows are shorter in the file, in bytes, are first rechunked to whole rows."""


def from_npy(path: PathLike, chunks: ChunksLike = "auto", *, storage_options: dict[str, Any] | None = None) -> Array:
    """Return an array of a `.npy` file; a chunk is read by the rank that needs it.

    Parameters
    ----------
    path : str or os.PathLike
        The file, or a URL that fsspec opens. It must not change while the array is used: SourceChanged is raised then.
    {chunks, storage_options}

    Returns
    -------
    Array
        Lazy, with the shape and dtype that the file has.

    Raises
    ------
    {MissingFile}
    ArgumentError
        `path` is not a path.
    {ChunksError}
    FileFormatError
        The file is no `.npy` file, or holds Python objects.
    FileError
        The file can't be read.

    >>> import tempfile
    >>> import numpy as np
    >>> import windrow as wr
    >>> with tempfile.NamedTemporaryFile(suffix=".npy") as file:
    ...     np.save(file.name, np.arange(10))
    ...     wr.from_npy(file.name, chunks=4).sum().compute()
    np.int64(45)
    """
    options = read_options("from_npy", storage_options)
    address = location("from_npy", path, options)
    return (
        _read_url(find_one("from_npy", address, storage_options), chunks)
        if is_url(address)
        else map_file("from_npy", address, chunks)
    )


def _read_url(place: FilePlace, chunks: ChunksLike) -> Array:
    """Return an array of a `.npy` file at a URL: a stack of one file."""
    shape, _, dtype, _ = read_header(place)
    if not shape:
        return from_array(np.load(io.BytesIO(place.read_bytes())), chunks)
    grid = grid_for("from_npy", chunks, shape, dtype)
    stack = NpyStack((place,), 0, np.array([0, shape[0]], np.int64), shape, dtype)
    data = HostData(None, in_place=False, file=stack, label="from_npy")
    return wrap(Expr(Host(data), (), grid, dtype, origin.find_origin()))


def map_file(operation: str, path: PathLike, chunks: ChunksLike) -> Array:
    """Return an array of a `.npy` file's elements."""
    full_path = path_of(operation, path)
    if not os.path.exists(full_path):
        raise MissingFile(f"{operation}: argument 'path' is {full_path!r}; there is nothing")
    refuse_special(operation, full_path)
    try:
        with open(full_path, "rb") as file:
            if file.read(6) != b"\x93NUMPY":
                raise ValueError("it doesn't begin as one")
        data = np.load(full_path, mmap_mode="r", allow_pickle=False) if _has_elements(full_path) else np.load(full_path)
    except ValueError as error:
        raise FileFormatError(f"{operation}: {full_path!r} is no .npy file that can be mapped: {error}") from error
    except OSError as error:
        raise FileError(f"{operation}: {full_path!r} could not be read: {error}") from error
    return from_array(data, chunks)


def _has_elements(path: str) -> bool:
    """Whether a file has more than its header: an array without elements can't be mapped."""
    with open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, _ = read(file)
    return 0 not in shape


def to_npy(
    x: ArrayLike, path: PathLike, *, overwrite: bool = False, storage_options: dict[str, Any] | None = None
) -> None:
    """Compute an array and write it to one `.npy` file, which all ranks write their chunks into.

    The file lies in a hidden folder beside `path` until it is complete. Where ranks run on several hosts, `path` must
    be in a file system that they share. The driver writes to URLs, chunk by chunk.

    Parameters
    ----------
    x : array_like
        The array.
    path : str or os.PathLike
        The file to write; where it is a link, the file that it points to. Or a URL that fsspec opens.
    overwrite : bool
        Whether to replace a file that is there.
    {storage_options}

    Raises
    ------
    MissingFile
        The folder to write in doesn't exist.
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    DTypeError
        `x` holds Python objects.
    FileExists
        There is something at `path`, and `overwrite` is False.
    FileError
        The file can't be written.

    >>> import tempfile
    >>> import numpy as np
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.to_npy(wr.ones((3, 2), chunks=1), folder + "/x.npy")
    ...     np.load(folder + "/x.npy").shape
    (3, 2)
    """
    options = read_options("to_npy", storage_options)
    named = location("to_npy", path, options)
    target = os.path.realpath(named) if os.path.islink(named) else named
    array = in_rows("to_npy", pack_fields(as_array_nocopy("to_npy", "x", x)))
    work = partial(_send, target, options, overwrite) if is_url(target) else partial(_write, target, overwrite)
    write_once("to_npy", target, overwrite, [array], work)


def _send(target: str, options: Options, overwrite: bool, array: Array) -> None:
    head = io.BytesIO()
    _write_header(head, array)
    whole_rows: tuple[str | int, ...] = (*["auto"] * min(1, array.ndim), *[-1] * (array.ndim - 1))
    grid = grid_for("to_npy", whole_rows, array.shape, array.dtype)
    with upload_file("to_npy", target, options, overwrite) as write:
        write(head.getvalue())
        write_in_order([(regrid(array, grid), _Rows(array.dtype, write), [range(n) for n in array.shape])])


class _Rows:
    """Takes the rows of an array in order, and passes their bytes on."""

    def __init__(self, dtype: DType, write: Callable[[memoryview], None]) -> None:
        self._dtype, self._write = dtype, write

    def __setitem__(self, where: tuple[slice, ...], values: ArrayLike) -> None:
        self._write(np.ascontiguousarray(values, self._dtype).reshape(-1).view(np.uint8).data)


def _write_header(file: Any, array: Array) -> None:
    head = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
    short = len(repr(head)) < 60_000  # a header of version 1.0 has less than 64 KiB
    write = np.lib.format.write_array_header_1_0 if short else np.lib.format.write_array_header_2_0
    write(file, head)


def _write(target: str, overwrite: bool, array: Array) -> None:
    grid = array.expr.grid
    with aside("to_npy", target, overwrite, os.path.isfile) as folder:
        whole = os.path.join(folder, "data")
        with open(whole, "xb") as file:
            _write_header(file, array)
            offset = file.tell()
            _reserve(file.fileno(), offset, array.nbytes)
        written = make(
            BlockFunction("files.files:to_npy", (whole, offset, grid), where=True),
            (array,),
            Grid([Axis.regular(n, 1) for n in grid.counts]),
            np.int64,
        )
        (counts,) = evaluate([written.expr])
        size = os.stat(whole).st_size
        if int(counts.sum()) != array.nbytes or size != offset + array.nbytes:
            raise FileError(
                f"to_npy: {int(counts.sum())} bytes were written and the file has {size}; expected {array.nbytes} "
                f"after a header of {offset}, in a file system that all hosts share"
            )


def _reserve(descriptor: int, offset: int, count: int) -> None:
    """Make a file of its final size: a full disk is noticed now if the file system can tell."""
    try:
        if count:
            os.posix_fallocate(descriptor, offset, count)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
        os.truncate(descriptor, offset + count)


def pack_fields(x: Array) -> Array:
    """Return an array of a dtype that files can describe: records with fields in another order are packed."""
    try:
        np.lib.format.dtype_to_descr(x.dtype)
    except ValueError:
        from numpy.lib.recfunctions import repack_fields

        return astype(x, repack_fields(x.dtype))
    return x


def in_rows(operation: str, x: Array) -> Array:
    """Rechunk an array to whole rows if its chunks have rows of a few bytes."""
    if x.ndim < 2 or x.numblocks[-1] == 1 or x.chunksize[-1] * x.dtype.itemsize >= SHORT_RUN:
        return x
    chunks: tuple[str | int, ...] = (*["auto"] * (x.ndim - 1), -1)
    return regrid(x, grid_for(operation, chunks, x.shape, x.dtype))


def save_as_numpy(file: PathLike, arr: ArrayLike, allow_pickle: bool = True) -> None:
    """Write an array as `numpy.save` does: ".npy" is added if it is missing, and a file there is replaced."""
    if not isinstance(allow_pickle, bool):
        raise ArgumentError(bad("save", "allow_pickle", allow_pickle, "a bool"))
    path = path_of("save", file)
    to_npy(arr, path if path.endswith(".npy") else f"{path}.npy", overwrite=True)


FILES.fill(__name__)
