"""Objects that look like arrays or lead to them: errors that say what to do instead."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...graph.errors import ArgumentError, FileError, bad

if TYPE_CHECKING:
    from ..typing import ArrayLike

_OPENED = {
    ".npy": "from_npy() reads it",
    ".npz": "numpy.load() opens it, and has arrays by name",
    ".parquet": "read_parquet() reads it",
    ".zarr": "zarr.open() opens it",
    ".h5": "h5py.File() opens it, and has data sets by name",
    ".hdf5": "h5py.File() opens it, and has data sets by name",
    ".nc": "netCDF4 or h5py open it, and have variables by name",
    ".tif": "from_tiff() reads it",
    ".tiff": "from_tiff() reads it",
    ".png": "imread() reads it, and stacks of such",
    ".csv": "read_csv() reads its columns",
    ".arrow": "read_ipc() reads its columns",
    ".feather": "read_feather() reads its columns",
}


def refuse_source(operation: str, x: ArrayLike) -> None:
    """Raise for paths, sparse matrices and closed files."""
    if isinstance(x, os.PathLike) or (isinstance(x, str) and os.path.splitext(x)[1].lower() in _OPENED):
        name = os.fspath(x)
        end = os.path.splitext(os.fsdecode(name).rstrip("/"))[1].lower()
        how = _OPENED.get(end, "load() reads what save() wrote, from_npy() one .npy file")
        raise ArgumentError(bad(operation, "x", name, f"an array, not the path of a file: {how}"))
    kind = type(x)
    if hasattr(kind, "nnz") and (hasattr(kind, "toarray") or hasattr(kind, "todense")):
        dense = "x.toarray()" if hasattr(kind, "toarray") else "x.todense()"
        raise ArgumentError(bad(operation, "x", f"a sparse {kind.__name__}", f"a dense array, as chunks are: {dense}"))
    try:
        shape = getattr(x, "shape", None)
        _ = getattr(x, "dtype", None)
    except Exception as error:
        raise FileError(
            f"{operation}: argument 'x' is a {kind.__name__} that can't be read: {type(error).__name__}: {error}; "
            "expected one whose file is open"
        ) from error
    if shape is not None and callable(shape):
        raise ArgumentError(bad(operation, "x", kind.__name__, "something whose shape is a tuple"))
