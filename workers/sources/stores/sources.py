"""Arrays of zarr, h5py and netCDF4 that users hand in, opened again by each rank where that can be."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, BadValue, bad
from ..formats.places import describe
from . import hdf5, netcdf, zarr
from .libraries import is_of
from .stand_in import StandIn

if TYPE_CHECKING:
    from ....graph.expr.expr import DType


_one_at_a_time = threading.Lock()  # netCDF's library ends a process in which two threads read


def stand_in_for(label: str, array: Any) -> Any:
    """Return what stands for an array; what needs no such thing is returned as it is."""
    try:
        if is_of(array, "zarr", "Array"):
            return _of_zarr(label, array)
        if is_of(array, "h5py", "Dataset"):
            return _of_h5py(label, array)
        if is_of(array, "netCDF4", "Variable"):
            return _of_netcdf(label, array)
    except ArgumentError:
        raise
    except (OSError, RuntimeError, ValueError):
        return array  # closed, or broken: whoever reads it says so
    return array


def _of_zarr(label: str, array: Any) -> Any:
    file = zarr.travelling(array, label)
    return StandIn(array, file, tuple(array.shape), array.dtype, tuple(array.chunks), array.shards)


def _of_h5py(label: str, array: Any) -> Any:
    file = array.file
    if array.shape is None:
        raise ArgumentError(bad(label, "x", "h5py.Empty", "a data set that has a shape"))
    if not array or file.mode != "r" or file.driver != "sec2" or array.dtype.hasobject:
        return array
    name, path = hdf5.name_in_file(array), os.path.abspath(os.fsdecode(file.filename))
    place = describe(label, path)
    if name is None or not os.path.samestat(os.fstat(file.id.get_vfd_handle()), os.stat(path)):
        return array  # the path leads to another file by now: h5py reads the one that it has open
    hdf5.scripts(path)
    chunks = array.chunks
    source = hdf5.Hdf5Array(place, name, array.dtype, chunks or (1,) * array.ndim)
    return StandIn(array, source, tuple(array.shape), array.dtype, chunks)


def _of_netcdf(label: str, variable: Any) -> Any:
    dtype = np.dtype(variable.dtype)
    if dtype.hasobject:
        return variable
    group = variable.group()
    attributes = {name: variable.getncattr(name) for name in variable.ncattrs()}
    fill = variable.get_fill_value() if variable.mask else None
    decoding = netcdf.decoding(
        dtype, attributes, missing=None, mask=bool(variable.mask), scale=bool(variable.scale), fill=fill
    )
    decoded_dtype = dtype if decoding is None else decoding.dtype
    chunking = variable.chunking()
    chunks = tuple(chunking) if isinstance(chunking, list | tuple) else None
    path = os.path.abspath(group.filepath())
    shape = tuple(variable.shape)
    place = describe(label, path) if os.path.exists(path) else None
    if place is None or not group.data_model.startswith("NETCDF4") or not _is_read(path):
        return StandIn(_Variable(label, variable, decoded_dtype), None, shape, decoded_dtype, chunks)
    hdf5.scripts(path)
    name = f"{group.path.rstrip('/')}/{variable.name}"
    with hdf5.reading(place) as opened:
        if opened[name].shape != shape:  # less was written than an unlimited dimension has: netCDF4 fills the rest
            return StandIn(_Variable(label, variable, decoded_dtype), None, shape, decoded_dtype, chunks)
    file = hdf5.Hdf5Array(place, name, decoded_dtype, chunks or (1,) * len(shape), decoding)
    return StandIn(variable, file, shape, decoded_dtype, chunks)


def _is_read(path: str) -> bool:
    """Tell whether this process has the file at a path open, for reading alone, and none that the path led to before.

    netCDF's library doesn't tell its descriptors.
    """
    gone = f"{os.path.realpath(path)} (deleted)"
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if os.readlink(f"/proc/self/fd/{number}") == gone:
                return False
    modes = _modes(path)
    return bool(modes) and not any(modes)


def is_written(path: str) -> bool:
    """Tell whether this process has a file open for writing: not all of it need be there yet."""
    return any(_modes(path))


def _modes(path: str) -> list[bool]:
    """Return of each descriptor that this process has of a file whether it is for writing."""
    modes = []
    for number in os.listdir("/proc/self/fd"):
        try:
            if not os.path.samefile(f"/proc/self/fd/{number}", path):
                continue
            with open(f"/proc/self/fdinfo/{number}", encoding="ascii") as fdinfo:
                flags = next(int(line.split()[1], 8) for line in fdinfo if line.startswith("flags:"))
        except (OSError, StopIteration):
            continue
        modes.append(bool(flags & (os.O_WRONLY | os.O_RDWR)))
    return modes


class _Variable:
    """A variable that netCDF4 reads on the driver: missing values are NaN, or an error."""

    def __init__(self, label: str, variable: Any, dtype: DType) -> None:
        self._label, self._variable = label, variable
        self.shape, self.dtype = tuple(variable.shape), dtype

    def __getitem__(self, where: Any) -> Any:
        with _one_at_a_time:
            values = self._variable[where]
        if not isinstance(values, np.ma.MaskedArray):
            return np.asarray(values, self.dtype)
        if self.dtype.kind == "f":
            return np.ma.filled(values.astype(self.dtype), np.nan)
        if np.ma.is_masked(values):
            raise BadValue(
                f"{self._label}: the variable {self._variable.name!r} has missing values in a part that is read, for "
                f"which {self.dtype} has none; expected floating-point numbers, or from_hdf5(path, name, mask=) of a "
                "file that is closed"
            )
        return np.asarray(values.data, self.dtype)
