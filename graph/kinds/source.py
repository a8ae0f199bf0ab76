"""Sources: arrays that a formula in the element's position gives, and arrays that the user handed in."""

from __future__ import annotations

import itertools
import os
import threading
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..errors import ArgumentError, DTypeError, FileError, ShapeError, WindrowError, bad
from ..expr import Op

Picks = tuple[range | np.ndarray[Any, np.dtype[np.int64]], ...]
"""For each axis the positions to read, counted from the rectangle's first."""


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


class Opened(Protocol):
    """Files that are open."""

    def read(self, where: tuple[slice, ...], picks: Picks) -> np.ndarray[Any, Any]:
        """Return what is picked of a rectangle, along each axis; raise `SourceChanged` where a file isn't as it was."""
        ...


class Stored(Protocol):
    """Files that any rank can open; a value that is pickled."""

    def open(self) -> Opened:
        """Return what reads them."""
        ...


class HostData:
    """An array that the user handed in: in the driver's memory, or in files that any rank can read.

    Its identity names it, not its content. `array` is anything with shape, dtype and slicing, which `file` is read in
    place of, where there is one. `label` names what made it.
    """

    def __init__(self, array: Any, *, in_place: bool, file: Stored | None = None, label: str = "from_array") -> None:
        self.array = array
        self.name = (os.getpid(), next(_counter))
        self.in_place = in_place
        self.file = file
        self.label = label
        self._opened: Opened | None = None
        self._lock = threading.Lock()

    def token_key(self) -> tuple[Any, ...]:
        """Name by identity: two arrays with the same content are two sources."""
        return self.name

    def read(self, where: tuple[slice, ...]) -> np.ndarray[Any, Any]:
        """Return the elements in a rectangle: a view where the source is a NumPy array in memory, else a copy."""
        if self.file is not None:
            return self.pick(where, tuple(range(s.stop - s.start) for s in where))
        if self.in_place:
            inside: tuple[Any, ...] = (..., *where)  # an array comes of it, without axes as well
            view: np.ndarray[Any, Any] = np.asarray(self.array)[inside]
            return view
        with self._lock:
            source: Any = self.array
            try:
                found = source[where]
            except WindrowError:
                raise
            except Exception as error:
                at = ", ".join(f"{s.start}:{s.stop}" for s in where)
                raise FileError(
                    f"{self.label}: argument 'x' is a {type(source).__name__} that can't be read at [{at}]: "
                    f"{type(error).__name__}: {error}; expected one that is open, and whole"
                ) from error
        return self._fitting(source, found, where)

    def pick(self, where: tuple[slice, ...], picks: Picks) -> np.ndarray[Any, Any]:
        """Return what is picked of a rectangle of files, along each axis, and read no more."""
        assert self.file is not None
        self._opened = opened = self._opened or self.file.open()
        return opened.read(where, picks)

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
        self.array = self._opened = None
        self._lock = threading.Lock()


@dataclass(frozen=True)
class Host(Op):
    """An array handed in by the user; the root of every lineage that starts from data."""

    data: HostData

    @property
    def label(self) -> str:
        """Name for people."""
        return self.data.label
