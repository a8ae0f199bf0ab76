"""Sources: arrays that a formula in the element's position gives, and arrays that the user handed in."""

from __future__ import annotations

import itertools
import os
import threading
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..errors import ArgumentError, DTypeError, ShapeError, SourceChanged, bad
from ..expr import Op


@dataclass(frozen=True)
class Source(Op):
    """Base of the sources whose elements follow from their position."""


@dataclass(frozen=True)
class Full(Source):
    """Every element has one value."""

    value: Any


@dataclass(frozen=True)
class Constant(Full):
    """A result that is known before anything is computed; without axes it is handed out as any result is."""

    @property
    def label(self) -> str:
        """Name for people."""
        return "full"


@dataclass(frozen=True)
class Ramp(Source):
    """The element at position p is `start + p * step`; the last one may be given exactly (linspace)."""

    start: Any
    step: Any
    last: Any = None

    @property
    def label(self) -> str:
        """Name for people."""
        return "arange"


@dataclass(frozen=True)
class Eye(Source):
    """One on the k-th diagonal, zero elsewhere."""

    k: int


@dataclass(frozen=True)
class Random(Source):
    """The element at flat C-order position p follows from (key, jump, offset + p): see `workers.kernels.randoms`."""

    distribution: str
    key: tuple[int, int]
    offset: int
    params: tuple[Any, ...] = ()
    jump: int = 0

    @property
    def label(self) -> str:
        """Name for people."""
        return self.distribution


_counter = itertools.count()


class Stored(Protocol):
    """Files that any rank can open; a value that is pickled."""

    def check(self) -> None:
        """Raise `SourceChanged` when a file isn't what it was."""
        ...

    def open(self) -> Any:
        """Return something that takes slices."""
        ...


class HostData:
    """An array that the user handed in: in the driver's memory, or in a file that any rank can map.

    Its identity names it, not its content. `array` is anything with shape, dtype and slicing; None where `file` opens
    it. For a file that NumPy has mapped, other ranks open the file again; its size and time of change are compared
    each time it is read. `label` names what made it.
    """

    def __init__(self, array: Any, *, in_place: bool, file: Stored | None = None, label: str = "from_array") -> None:
        self.array = array
        self.name = (os.getpid(), next(_counter))
        self.in_place = in_place
        self.file = file if file is not None else _FileView.of(array)
        self.label = label
        self._lock = threading.Lock()

    def token_key(self) -> tuple[Any, ...]:
        """Name by identity: two arrays with the same content are two sources."""
        return self.name

    def read(self, where: tuple[slice, ...]) -> np.ndarray[Any, Any]:
        """Return the elements in a rectangle: a view where the source is a NumPy array, else a copy."""
        if self.file is not None:
            self.file.check()
        if self.array is None and self.file is not None:
            self.array = self.file.open()
        if self.in_place:
            inside: tuple[Any, ...] = (..., *where)  # an array comes of it, without axes as well
            view: np.ndarray[Any, Any] = np.asarray(self.array)[inside]
            return view
        with self._lock:
            source: Any = self.array
            found = source[where]
        return np.asarray(found) if self.file is not None else self._fitting(source, found, where)

    def _fitting(self, source: Any, found: Any, where: tuple[slice, ...]) -> np.ndarray[Any, Any]:
        """Return what a source that isn't NumPy's gave for a rectangle; raise where it isn't what it said of itself."""
        if isinstance(found, np.ndarray) and hasattr(found, "mask"):
            raise ArgumentError(bad(self.label, "x", type(found).__name__, "slices without a mask"))
        part, wanted = np.asarray(found), np.dtype(source.dtype)
        shape = tuple(s.stop - s.start for s in where)
        if part.shape != shape:
            raise ShapeError(bad(self.label, "x", part.shape, f"a slice of shape {shape}"))
        if not np.can_cast(part.dtype, wanted, "equiv"):
            raise DTypeError(bad(self.label, "x", part.dtype, f"slices of the dtype that it has, {wanted}"))
        return part.astype(wanted, copy=False)

    def __getstate__(self) -> dict[str, Any]:
        if self.file is None:
            raise TypeError("an array in the driver's memory doesn't travel with the graph")
        return {"name": self.name, "file": self.file, "in_place": self.in_place, "label": self.label}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.name, self.file, self.in_place, self.label = (state[k] for k in ("name", "file", "in_place", "label"))
        self.array = None
        self._lock = threading.Lock()


@dataclass(frozen=True)
class _FileView:
    """Where a memory map lies in its file, and what the file looked like when the array was made."""

    path: str
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int
    mtime: int

    @classmethod
    def of(cls, array: Any) -> _FileView | None:
        if not isinstance(array, np.memmap) or array.filename is None or array.mode not in ("r", "c", "r+"):
            return None
        base: Any = array
        while isinstance(base.base, np.memmap):
            base = base.base
        path = os.path.abspath(str(array.filename))
        try:
            status = os.stat(path)
        except OSError:
            return None
        shift = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        if any(s < 0 for s in array.strides):
            return None
        return cls(
            path,
            base.offset + shift,
            array.dtype,
            array.shape,
            array.strides,
            status.st_size,
            status.st_mtime_ns,
        )

    def check(self) -> None:
        try:
            status = os.stat(self.path)
        except OSError as error:
            raise SourceChanged(f"from_array: the file {self.path} behind the array is gone: {error}") from error
        if (status.st_size, status.st_mtime_ns) != (self.size, self.mtime):
            raise SourceChanged(
                f"from_array: the file {self.path} changed underneath the array: it was written to since, and has "
                f"{status.st_size} bytes; it had {self.size}"
            )

    def open(self) -> np.ndarray[Any, Any]:
        extent = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) + self.dtype.itemsize
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        flat = np.memmap(self.path, np.uint8, "r", self.offset, (extent,))
        return np.ndarray(self.shape, self.dtype, flat, 0, self.strides)


@dataclass(frozen=True)
class Host(Op):
    """An array handed in by the user; the root of every lineage that starts from data."""

    data: HostData

    @property
    def label(self) -> str:
        """Name for people."""
        return self.data.label
