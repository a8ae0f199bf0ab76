"""Reading arrays that the user handed in: from the driver's memory, or from files that each rank opens for itself."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol, cast
from weakref import WeakKeyDictionary

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, FileError, ShapeError, WindrowError, bad
from .source_objects import lock_for
from .stores.picking import read_picked
from .stores.zarr_loop import reading

if TYPE_CHECKING:
    from ...graph.kinds.source import HostData

Array = np.ndarray[Any, Any]
Picks = tuple[range | np.ndarray[Any, np.dtype[np.int64]], ...]
"""For each axis the positions to read, counted from the rectangle's first."""


class Opened(Protocol):
    """Files that are open."""

    def read(self, where: tuple[slice, ...], picks: Picks) -> Array:
        """Return what is picked of a rectangle, along each axis; raise `SourceChanged` where a file isn't as it was."""
        ...


class Files(Protocol):
    """What `HostData.file` is: files that any rank can open; a value that is pickled."""

    def open(self) -> Opened:
        """Return what reads them."""
        ...


class _Access:
    """How this process reads a source: files are opened once, and what needs it is read by one thread at a time."""

    def __init__(self) -> None:
        self.opening = threading.Lock()
        self.opened: Opened | None = None
        self._guard: Any = None

    def guard(self, data: HostData) -> Any:
        """Return what is held while it is read."""
        with self.opening:
            if self._guard is None:
                self._guard = lock_for(data.array, data.lock)
            return self._guard


_accesses: WeakKeyDictionary[HostData, _Access] = WeakKeyDictionary()
_lock = threading.Lock()


def _access(data: HostData) -> _Access:
    with _lock:
        return _accesses.setdefault(data, _Access())


def read(data: HostData, where: tuple[slice, ...]) -> Array:
    """Return the elements in a rectangle: a view where the source is a NumPy array in memory, else a copy."""
    if data.file is not None:
        return pick(data, where, tuple(range(s.stop - s.start) for s in where))
    if data.in_place:
        inside: tuple[Any, ...] = (..., *where)  # an array comes of it, without axes as well
        view: Array = np.asarray(data.array)[inside]
        return view
    return read_slices(data.array, _access(data).guard(data), data.label, where)


def read_slices(source: Any, lock: Any, label: str, where: tuple[slice, ...]) -> Array:
    """Return what an object gives for slices, checked against what it says of itself."""
    with lock, reading():
        try:
            values = source[where]
        except WindrowError:
            raise
        except Exception as error:
            at = ", ".join(f"{s.start}:{s.stop}" for s in where)
            raise FileError(
                f"{label}: argument 'x' is a {type(source).__name__} that can't be read at [{at}]: "
                f"{type(error).__name__}: {error}; expected one that is open, and whole"
            ) from error
    return _check(label, source, values, where)


def pick(data: HostData, where: tuple[slice, ...], picks: Picks) -> Array:
    """Return what is picked of a rectangle of a source, along each axis, and read no more.

    Of an object whose chunks nobody tells all is read that lies between the first and the last: it may decode it as a
    whole.
    """
    access = _access(data)
    if data.file is None:
        chunks = data.chunks or [max(1, s.stop - s.start) for s in where]
        lock, dtype = access.guard(data), np.dtype(data.array.dtype)
        return read_picked(lambda part: read_slices(data.array, lock, data.label, part), where, picks, chunks, dtype)
    opened = access.opened
    if opened is None:
        with access.opening:
            if access.opened is None:
                access.opened = cast("Files", data.file).open()
            opened = access.opened
    with reading():
        return opened.read(where, picks)


def _check(label: str, source: Any, found: Any, where: tuple[slice, ...]) -> Array:
    """Return what a source that isn't NumPy's gave for a rectangle; raise where it isn't what it said of itself."""
    if isinstance(found, np.ndarray) and hasattr(found, "mask"):
        raise ArgumentError(bad(label, "x", type(found).__name__, "slices without a mask"))
    part, wanted = np.asarray(found), np.dtype(source.dtype)
    shape = tuple(s.stop - s.start for s in where)
    if part.shape != shape:
        key = ", ".join(f"{s.start}:{s.stop}" for s in where)
        gave = "None" if found is None else f"an array of shape {part.shape}"
        raise ShapeError(f"{label}: argument 'x' gave {gave} for x[{key}]; expected an array of shape {shape}")
    if not np.can_cast(part.dtype, wanted, "equiv"):
        raise DTypeError(bad(label, "x", part.dtype, f"slices of the dtype that it has, {wanted}"))
    return part.astype(wanted, copy=False)
