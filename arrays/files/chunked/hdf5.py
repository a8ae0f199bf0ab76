"""HDF5 files, netCDF-4 among them: read by every rank, by path; written as `hdf5_new` says."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import (
    ArgumentError,
    DTypeError,
    FileError,
    FileExists,
    FileFormatError,
    MissingFile,
    bad,
)
from ....graph.expr import origin
from ....graph.expr.expr import Expr
from ....graph.kinds.source import Host, HostData
from ....workers.config import config
from ....workers.sources.formats import successors
from ....workers.sources.formats.places import describe, is_url
from ....workers.sources.stores import hdf5, netcdf
from ....workers.sources.stores.libraries import is_of, library
from ....workers.sources.stores.sources import is_written
from ...base import as_array_nocopy, check_dtype, wrap
from ...chunking.stored import grid_over, stored_chunks
from ..glob import find_one, location, read_options
from ..writing.atomic_write import aside, write_once
from ..writing.into_arrays import write_here
from ..writing.store import Stored
from ..writing.uploading import BLOCK, local_copy, upload_file
from .hdf5_new import write_data_sets

if TYPE_CHECKING:
    from ....workers.sources.formats.places import FilePlace
    from ...array import Array
    from ...typing import ChunksLike, PathLike
    from ..glob import Options
    from ..writing.into_arrays import Job

__all__ = [
    "from_hdf5",
    "to_hdf5",
]


def from_hdf5(
    filename: PathLike,
    datapath: str,
    chunks: ChunksLike = None,
    *,
    mask: Any = None,
    scale: bool = True,
    storage_options: dict[str, Any] | None = None,
) -> Array:
    """Return an array of a data set in an HDF5 or netCDF-4 file; a chunk is read by the rank that needs it.

    Each rank opens the file by itself, without a lock. netCDF's attributes of a variable are applied.

    Parameters
    ----------
    filename : str or os.PathLike
        The file, or a URL that fsspec opens. It must not change while the array is used: SourceChanged is raised then,
        but where `to_hdf5` has written other data sets.
    datapath : str
        Name of the data set: "group/name". A link to another file's data set is followed where the file is a path.
    chunks : int, str, tuple, dict or None
        Chunks of the result: a size for each axis, -1 for a whole axis; None, or "auto": about `config.chunk_bytes`
        each, whole ones of the file's.
    mask : {None, "nan"}, number or False
        What missing values become, those that the attributes `_FillValue`, `missing_value` and `valid_range`,
        `valid_min`, `valid_max` tell: None: NaN in floating-point numbers; an argument is needed for others. "nan":
        NaN, and integers become floating-point numbers. A number: itself. False: they stay what they are.
    scale : bool
        Whether to unpack what the attributes `scale_factor`, `add_offset` and `_Unsigned` tell.
    storage_options : dict, optional
        For fsspec, beside a URL.

    Returns
    -------
    Array
        Lazy, with the data set's shape.

    Raises
    ------
    MissingFile
        There is no file, or no such data set in it.
    ArgumentError
        `filename` is no path, `datapath` is a group or a data set without a shape, or `mask` is needed.
    FileFormatError
        It is no HDF5 file, or needs a filter that isn't installed.
    DTypeError
        The elements are Python objects, such as texts of any length.
    ChunksError
        `chunks` can't be read or doesn't fit the shape.
    FileError
        The file can't be read, or is neither a file nor a folder.

    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.to_hdf5(folder + "/x.h5", "group/x", wr.arange(6, chunks=2))
    ...     wr.from_hdf5(folder + "/x.h5", "group/x", chunks=4).sum().compute()
    np.int64(15)
    """
    name = "from_hdf5"
    if not isinstance(datapath, str) or not datapath.strip("/"):
        raise ArgumentError(bad(name, "datapath", datapath, "the name of a data set, such as 'group/name'"))
    place = find_one(name, filename, storage_options)
    if place.is_local:
        hdf5.scripts(place.path)
    h5py = library(name, "h5py")
    try:
        with hdf5.reading(place) as file:
            dataset = _data_set(file, place, datapath)
            place = _place_of(dataset, file, place, datapath)
            _check_filters(h5py, dataset, place)
            _check_parts(dataset, place)
            shape, dtype, stored = tuple(dataset.shape), dataset.dtype, stored_chunks(dataset, config.chunk_bytes)
            attributes = {key: _attribute(dataset, key) for key in dataset.attrs}
            native = dataset.chunks or (1,) * len(shape)
            full = hdf5.name_in_file(dataset)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        if place.is_local and not h5py.is_hdf5(place.path):
            raise FileFormatError(f"{name}: {place.path!r} is no HDF5 file: {error}") from error
        raise FileError(f"{name}: {place.path!r} could not be read: {error}") from error
    check_dtype(name, "datapath", dtype)
    decoding = _decoding(datapath, dtype, attributes, mask, scale)
    result = dtype if decoding is None else decoding.dtype
    source = hdf5.Hdf5Array(place, full, result, native, decoding)
    grid = grid_over(name, "auto" if chunks is None else chunks, shape, result, stored)
    data = HostData(None, in_place=False, file=source, label=name)
    return wrap(Expr(Host(data), (), grid, result, origin.find_origin()))


def _data_set(file: Any, place: FilePlace, datapath: str) -> Any:
    try:
        node = file[datapath]
    except KeyError as error:
        names = sorted(file)[:20]
        raise MissingFile(f"from_hdf5: there is no {datapath!r} in {place.path}, which has {names}") from error
    if is_of(node, "h5py", "Dataset") and node.shape is not None:
        return node
    what = "h5py.Empty, which has no shape" if is_of(node, "h5py", "Dataset") else "a type"
    if is_of(node, "h5py", "Group"):
        what = f"a group that has {sorted(node)[:20]}"
    raise ArgumentError(bad("from_hdf5", "datapath", datapath, f"a data set; it is {what}"))


def _place_of(found: Any, file: Any, place: FilePlace, datapath: str) -> FilePlace:
    """Return the location of a data set, which an external link may put into another file."""
    if found.file == file:
        return place
    if not place.is_local:  # HDF5 would search the same file again
        raise ArgumentError(
            bad(
                "from_hdf5",
                "datapath",
                datapath,
                "a data set of this file; it is a link to another one, which takes paths",
            )
        )
    path = os.path.abspath(os.fsdecode(found.file.filename))
    hdf5.scripts(path)
    return describe("from_hdf5", path)


def _attribute(found: Any, key: str) -> Any:
    try:
        return found.attrs[key]
    except (OSError, TypeError):  # its type is one that h5py doesn't read
        return None


def _check_filters(h5py: Any, found: Any, place: FilePlace) -> None:
    description = found.id.get_create_plist()
    for number in range(description.get_nfilters()):
        code, _, _, name = description.get_filter(number)
        if not h5py.h5z.filter_avail(code):
            shown = os.fsdecode(name) or "without a name"
            raise FileFormatError(
                f"from_hdf5: {found.name!r} in {place.path} needs the filter {code} ({shown}), which isn't installed; "
                "pip install hdf5plugin brings many"
            )


def _check_parts(found: Any, place: FilePlace) -> None:
    """Raise for a data set whose source files are missing: HDF5 would read fill values."""
    parts = [p.file_name for p in found.virtual_sources()] if found.is_virtual else []
    parts += [os.fsdecode(part[0]) for part in (found.external or ())]
    for part in parts:
        path = os.path.join(os.path.dirname(place.path), part)
        if part != "." and "%" not in part and place.is_local and not os.path.exists(path):
            raise MissingFile(f"from_hdf5: {found.name!r} in {place.path} has a part in {path!r}, which isn't there")


def _decoding(datapath: str, dtype: Any, attributes: dict[str, Any], mask: Any, scale: bool) -> Any:
    number = isinstance(mask, int | float | np.number) and not isinstance(mask, bool)
    if not (mask is None or mask is False or number or (isinstance(mask, str) and mask == "nan")):
        raise ArgumentError(bad("from_hdf5", "mask", mask, "None, 'nan', a number, or False"))
    known = {key: value for key, value in attributes.items() if value is not None}
    missing = None if mask is False else mask
    decoding = netcdf.decoding(dtype, known, missing=missing, mask=mask is not False, scale=bool(scale))
    if decoding is not None and mask is None and decoding.missing is None and (decoding.fills or decoding.valid):
        fill_attributes = {
            key: known[key] for key in known if key in (*netcdf.FILLS, "valid_range", "valid_min", "valid_max")
        }
        raise ArgumentError(
            f"from_hdf5: {datapath!r} is of {decoding.dtype}, which has no NaN, and its attributes tell missing "
            f"values: {fill_attributes}; expected argument 'mask': 'nan', a number that takes their place, or False to "
            "read them as they are stored"
        )
    if decoding is not None and number and np.asarray(mask).astype(decoding.dtype) != mask:
        raise ArgumentError(bad("from_hdf5", "mask", mask, f"a number that {decoding.dtype} has"))
    return decoding


def to_hdf5(
    filename: PathLike,
    *args: Any,
    chunks: ChunksLike = True,
    overwrite: bool = False,
    compute: bool = True,
    storage_options: dict[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Compute arrays and write them to data sets of an HDF5 file: ranks write and compress, the driver describes.

    The new file lies in a hidden folder beside its path until it is complete. It begins as a copy of an existing file,
    whose other data sets it keeps. Ranks write elements in place; chunks that pass through filters they write to files
    of their own, and the driver copies them as they are. Where ranks run on several hosts, the folder must be in a file
    system that they share. The driver writes to URLs: it makes the file, or a copy of the existing one, in its
    temporary folder, and uploads it beside its path.

    Parameters
    ----------
    filename : str or os.PathLike
        The file, or a URL that fsspec opens.
    *args : str and array_like, or dict of str to array_like
        A data set's name and its array, or several: `to_hdf5(path, "group/x", x)`, `to_hdf5(path, {"x": x, "y": y})`.
    chunks : bool, tuple or None
        Chunks in the file: True: those of the array; None: none; or their shape.
    overwrite : bool
        Whether to replace data sets that are there.
    compute : bool
        Whether to write now; False: return an object whose `compute()` writes.
    storage_options : dict, optional
        For fsspec, beside a URL.
    **kwargs
        For h5py's `create_dataset`: compression, shuffle, fletcher32, fillvalue and so on.

    Returns
    -------
    None or Stored
        None; with `compute=False` what writes when asked.

    Raises
    ------
    ArgumentError
        `filename` is no path, there is no name or no array, or h5py doesn't take an argument.
    DTypeError
        HDF5 has no type for the elements: dates, texts of NumPy's.
    FileExists
        There is a data set of this name, one in the place of a group that it needs, or a file that isn't HDF5's. Or
        another writer has made the file meanwhile.
    MissingFile
        The folder to write in doesn't exist.
    FileError
        The file can't be written: it is open for writing, or has changed since the copy was made.

    >>> import tempfile
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wr.ones((4, 6), chunks=(3, 2)).to_hdf5(folder + "/x.h5", "ones", compression="gzip")
    ...     wr.from_hdf5(folder + "/x.h5", "ones").sum().compute()
    np.float64(24.0)
    """
    options = read_options("to_hdf5", storage_options)
    named = location("to_hdf5", filename, options)
    target = named if is_url(named) else os.path.realpath(named)
    arrays = _named(args)
    h5py = library("to_hdf5", "h5py")
    for name, array in arrays.items():
        try:
            h5py.h5t.py_create(array.dtype, logical=True)
        except TypeError as error:
            raise DTypeError(f"to_hdf5: HDF5 has no type for elements of {array.dtype}, those of {name!r}") from error
        _check_description(h5py, name, array, chunks, kwargs)
    work = partial(_write, target, tuple(arrays), overwrite, chunks, kwargs)
    if is_url(target):
        work = partial(_send, target, options, tuple(arrays), overwrite, chunks, kwargs)

    def act() -> None:
        write_once("to_hdf5", target, overwrite, list(arrays.values()), work)

    return act() if compute else Stored(act)


def _named(args: tuple[Any, ...]) -> dict[str, Array]:
    if len(args) == 1 and isinstance(args[0], Mapping):
        mapping = dict(args[0])
    elif len(args) == 2 and isinstance(args[0], str):
        mapping = {args[0]: args[1]}
    else:
        raise ArgumentError(bad("to_hdf5", "args", args, "a name and an array, or a dict of arrays by their names"))
    for name in mapping:
        if not isinstance(name, str) or not name.strip("/"):
            raise ArgumentError(bad("to_hdf5", "args", name, "the name of a data set, such as 'group/x'"))
    if not mapping:
        raise ArgumentError(bad("to_hdf5", "args", mapping, "at least one array"))
    arrays = {name.strip("/"): as_array_nocopy("to_hdf5", name, value) for name, value in mapping.items()}
    for name in arrays:
        within = next((other for other in arrays if other.startswith(f"{name}/")), None)
        if within is not None:
            raise ArgumentError(
                bad("to_hdf5", "args", within, f"another name: {name!r} is to be a data set, and no group")
            )
    if len(arrays) < len(mapping):
        raise ArgumentError(bad("to_hdf5", "args", list(mapping), "a name of its own for each array"))
    return arrays


def _described(array: Array, chunks: ChunksLike, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return how h5py describes a data set."""
    keywords: dict[str, Any] = {"shape": array.shape, "dtype": array.dtype}
    if chunks is True:
        chunks = tuple(array.chunksize) if array.ndim and 0 not in array.shape else None
    if chunks is not None and chunks is not False:
        keywords["chunks"] = chunks
    return keywords | kwargs


def _check_description(h5py: Any, name: str, array: Array, chunks: ChunksLike, kwargs: dict[str, Any]) -> None:
    """Raise for arguments that h5py doesn't take, before anything runs."""
    own = f"unwritten {os.urandom(8).hex()}"  # HDF5 opens no two files of one name, and other threads may write
    with h5py.File(own, "w", driver="core", backing_store=False) as file:
        try:
            file.create_dataset(name, **_described(array, chunks, kwargs))
        except (TypeError, ValueError, OSError) as error:
            raise ArgumentError(f"to_hdf5: h5py doesn't take these arguments for {name!r}: {error}") from error


def _write(
    target: str, names: tuple[str, ...], overwrite: bool, chunks: ChunksLike, kwargs: dict[str, Any], *arrays: Array
) -> None:
    h5py = library("to_hdf5", "h5py")
    before = _version(target)
    there = before is not None
    if there and not (os.path.isfile(target) and h5py.is_hdf5(target)):
        raise FileExists(f"to_hdf5: argument 'filename' is {target!r}, which is no HDF5 file; it stays as it is")
    replaced, linked = _refuse(h5py, target, names, overwrite) if there else ([], False)

    def check() -> None:
        if there and _version(target) != before:
            raise FileError(
                f"to_hdf5: {target!r} changed while {', '.join(map(repr, names))} came into a copy of it; it stays as "
                "it is now; expected one writer at a time"
            )
        if before is not None and not linked:  # arrays that read the file read the new one from now on
            status = os.stat(os.path.join(folder, "data"))
            successors.note(target, (before[2], before[3]), (status.st_size, status.st_mtime_ns), replaced)

    with aside("to_hdf5", target, there, os.path.isfile, check) as folder:
        data = os.path.join(folder, "data")
        if there:
            shutil.copy(target, data)
        by_name = dict(zip(names, arrays, strict=True))
        write_data_sets(data, by_name, {name: _described(array, chunks, kwargs) for name, array in by_name.items()})
        if not there:
            os.chmod(data, os.stat(os.path.join(folder, "mode")).st_mode & 0o777)


def _version(path: str) -> tuple[int, ...] | None:
    """Return an identification of a file that changes when it is written to or replaced."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _send(
    target: str,
    options: Options,
    names: tuple[str, ...],
    overwrite: bool,
    chunks: ChunksLike,
    kwargs: dict[str, Any],
    *arrays: Array,
) -> None:
    h5py = library("to_hdf5", "h5py")
    with (
        local_copy("to_hdf5", target, options) as (local, there),
        upload_file("to_hdf5", target, options, there) as write,
    ):
        try:
            file = h5py.File(local, "r+" if there else "w")
        except OSError as error:
            raise FileExists(
                f"to_hdf5: argument 'filename' is {target!r}, which is no HDF5 file; it stays as it is"
            ) from error
        with file:
            _refuse_names(file, target, names, overwrite)
            jobs: list[Job] = []
            for name, array in zip(names, arrays, strict=True):
                if name in file:
                    del file[name]
                dataset = file.create_dataset(name, **_described(array, chunks, kwargs))
                jobs.append((array, dataset, [range(n) for n in array.shape]))
            write_here(jobs)
        local.seek(0)
        while raw := local.read(BLOCK):
            write(raw)


def _refuse_names(file: Any, target: str, names: tuple[str, ...], overwrite: bool) -> None:
    for name in names:
        for parent in accumulate(name.split("/")[:-1], "{}/{}".format):
            if parent in file and not (is_of(file[parent], "h5py", "Group") and file[parent].file == file):
                what = "a link to another file" if is_of(file[parent], "h5py", "Group") else "no group"
                raise FileExists(f"to_hdf5: {parent!r} in {target} is {what}; expected another name than {name!r}")
        if name in file and not (overwrite and is_of(file[name], "h5py", "Dataset")):
            kind = "a data set" if is_of(file[name], "h5py", "Dataset") else "a group, which isn't replaced,"
            raise FileExists(f"to_hdf5: there is {kind} {name!r} in {target}; expected another name or overwrite=True")


def _refuse(h5py: Any, target: str, names: tuple[str, ...], overwrite: bool) -> tuple[list[str], bool]:
    """Return which data sets are replaced, and whether others may be the same ones by another name."""
    if is_written(target):  # later writes through the other handle would go to the replaced file
        raise FileError(f"to_hdf5: {target!r} is open for writing in this process; expected a file that is closed")
    try:
        with h5py.File(target, "r") as file:
            _refuse_names(file, target, names, overwrite)
            replaced = [name for name in names if name in file]
            hard = h5py.HardLink
            linked = bool(replaced) and file.visititems_links(lambda _, link: not isinstance(link, hard) or None)
            return replaced, bool(linked)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        if "unable to lock" in str(error):
            raise FileError(
                f"to_hdf5: {target!r} is open for writing elsewhere; expected a file that is closed: {error}"
            ) from error
        raise FileError(f"to_hdf5: {target!r} could not be read: {error}") from error
