"""Data sets of HDF5 files, netCDF-4's among them, as every rank opens them: by path, through few handles.

HDF5 opens a file once a process, with one way of locking it. Where the user's script runs a file is closed as soon as
nobody reads it: the script may want to open it otherwise. Elsewhere files stay open, without a lock, which would keep
others from writing.
"""

from __future__ import annotations

import atexit
import threading
from collections import OrderedDict
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import BadValue, FileError
from ..formats.successors import current
from .libraries import library
from .picking import read_picked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....graph.expr.expr import DType
    from ..formats.places import FilePlace
    from ..source_reader import Picks

Array = np.ndarray[Any, Any]
Region = tuple[slice, ...]
KEPT = 32
"""So many files stay open."""


class _Handle:
    def __init__(self, place: FilePlace) -> None:
        self._stream = None if place.is_local else place.stream()
        self.file, self.readers = _open_file(place, self._stream), 0

    def close(self) -> None:
        """Close the file, and what h5py reads it from, which h5py doesn't."""
        self.file.close()
        if self._stream is not None:
            self._stream.close()


_handles: OrderedDict[tuple[str, int, Any], _Handle] = OrderedDict()
_scripts: set[str] = set()
_guard = threading.Lock()


def scripts(path: str) -> None:
    """Note that the script which runs in this process uses a file, and may open it."""
    with _guard:
        _scripts.add(path)


@contextmanager
def reading(place: FilePlace) -> Iterator[Any]:
    """Give an h5py.File."""
    key = (place.path, place.size, place.mark)
    with _guard:
        handle = _handles.get(key)
        if handle is None:
            handle = _handles[key] = _Handle(place)
        _handles.move_to_end(key)
        handle.readers += 1
        _close_idle()
    try:
        yield handle.file
    finally:
        with _guard:
            handle.readers -= 1
            if not handle.readers and place.path in _scripts and _handles.get(key) is handle:
                del _handles[key]
                handle.close()
            _close_idle()


def name_in_file(found: Any) -> Any:
    """Return a data set's name in its own file; None where it has none.

    It may have been found by a link of another file's, after whose name h5py calls it then.
    """
    if found.name is not None and found.file.get(found.name) == found:
        return found.name
    return found.file[found.ref].name


def _close_idle() -> None:
    idle = [key for key, handle in _handles.items() if not handle.readers][: max(0, len(_handles) - KEPT)]
    for key in idle:
        _handles.pop(key).close()


@atexit.register
def _close_all() -> None:
    with _guard:
        while _handles:
            _handles.popitem()[1].close()


def _open_file(place: FilePlace, stream: Any) -> Any:
    """Open a file for reading, whatever locks there are; raise an OSError of HDF5's where it can't be."""
    h5py = library(place.label, "h5py")
    with suppress(ImportError):
        library(place.label, "hdf5plugin")  # registers its filters
    if stream is not None:
        return h5py.File(stream, "r")
    place.check()
    ways: tuple[dict[str, Any], ...] = ({"locking": False}, {})
    failed: list[OSError] = []
    for way in reversed(ways) if place.path in _scripts else ways:
        try:
            return h5py.File(place.path, "r", **way)
        except OSError as error:
            failed.append(error)
    raise next((e for e in failed if "lock" not in str(e)), failed[0])


@dataclass(frozen=True)
class Decoding:
    """What netCDF's attributes make of stored numbers.

    `fills` and `valid` (the least and the largest one) tell which are missing; `missing` is what they become, and None
    an error. Others are multiplied and added to.
    """

    stored: DType
    dtype: DType
    fills: tuple[Any, ...] = ()
    valid: tuple[Any, Any] | None = None
    missing: Any = None
    scale: Any = None
    offset: Any = None

    def apply(self, label: str, name: str, raw: Array) -> Array:
        """Return what stored numbers mean."""
        raw = raw.view(self.stored) if raw.dtype != self.stored else raw
        gone = self._gone(raw)
        values = raw
        if self.scale is not None:
            values = values * self.scale
        if self.offset is not None:
            values = values + self.offset
        values = np.asarray(values, self.dtype)
        if gone is None or not gone.any():
            return values
        if self.missing is None:
            count = int(np.count_nonzero(gone))
            raise BadValue(
                f"{label}: {name} has {count} missing values in a part that is read, for which {self.dtype} has none; "
                "expected argument 'mask' of from_hdf5: 'nan', a number that takes their place, or False to read them "
                "as they are stored"
            )
        return np.where(gone, np.asarray(self.missing, self.dtype), values)

    def _gone(self, raw: Array) -> Array | None:
        mask = None
        tests = [raw == fill for fill in self.fills]
        if self.valid is not None:
            least, most = self.valid
            tests += [] if least is None else [raw < least]
            tests += [] if most is None else [raw > most]
        for test in tests:
            mask = test if mask is None else mask | test
        return None if mask is None else np.asarray(mask)


@dataclass(frozen=True)
class Hdf5Array:
    """A data set of a file, and how to read it."""

    place: FilePlace
    name: str
    dtype: DType
    chunks: tuple[int, ...]
    decoding: Decoding | None = None

    @property
    def shown(self) -> str:
        """How messages call it."""
        return f"{self.name!r} in {self.place.path}"

    @property
    def near(self) -> bool:
        """Whether the file is local: decoding takes longer than reading."""
        return self.place.is_local

    def open(self) -> OpenHdf5:
        return OpenHdf5(self)


class OpenHdf5:
    """Reads an `Hdf5Array`."""

    def __init__(self, source: Hdf5Array) -> None:
        self._source = source

    def read(self, where: Region, picks: Picks) -> Array:
        source = self._source
        place = source.place
        stored = source.dtype if source.decoding is None else source.decoding.stored
        chunks = source.chunks if max(source.chunks, default=1) > 1 else None
        values = read_picked(self._fetch, where, picks, chunks, stored)
        if source.decoding is not None:
            values = source.decoding.apply(place.label, source.shown, values)
        return values

    def _fetch(self, region: Region) -> Array:
        source = self._source
        place = current(source.place, source.name)
        try:
            with reading(place) as file:
                values = np.asarray(file[source.name][region])
        except Exception as error:
            current(place, source.name)
            at = ", ".join(f"{s.start}:{s.stop}" for s in region)
            raise FileError(
                f"{place.label}: the data set {source.shown} can't be read at [{at}]: {type(error).__name__}: {error}"
            ) from error
        current(place, source.name)
        return values
