"""Sources: arrays that a formula in the element's position gives, and arrays that the user handed in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..expr import names
from ..expr.expr import Op
from ..expr.serialize import is_travelling
from .elementwise import kind_of


@dataclass(frozen=True)
class Source(Op):
    """Base of the sources whose elements follow from their position."""


@dataclass(frozen=True)
class Full(Source):
    """Every element has one value."""

    value: Any

    @property
    def form(self) -> object:
        return (kind_of(self.value),)

    @property
    def given(self) -> tuple[object, ...]:
        return (self.value,)


@dataclass(frozen=True)
class Constant(Full):
    """A result that is known before anything is computed; without axes it is handed out as any result is."""

    @property
    def label(self) -> str:
        return "full"


@dataclass(frozen=True)
class Ramp(Source):
    """The element at position p is `start + p * step`; the last one may be given exactly (linspace)."""

    start: Any
    step: Any
    last: Any = None

    @property
    def label(self) -> str:
        return "arange"


@dataclass(frozen=True)
class Eye(Source):
    """One on the k-th diagonal, zero elsewhere."""

    k: int


@dataclass(frozen=True)
class Inside(Source):
    """Whether a position lies in a box: from one position to another along each axis."""

    box: tuple[tuple[int, int], ...]


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
        return self.distribution


class HostData:
    """An array that the user handed in: in the driver's memory, or in files that any rank can read.

    Its identity names it, not its content, where one process runs the program: see `graph.expr.names`. `array` is
    anything with shape, dtype and slicing; `file` describes the files that are read in place of it, where there are
    some. `label` names what made it, `lock` is what the user wants held while it is read, `chunks` the shape of what is
    decoded as a whole, where that is known. `workers.sources.source_reader` reads it.
    """

    def __init__(
        self,
        array: Any,
        *,
        in_place: bool,
        file: object = None,
        label: str = "from_array",
        lock: object = None,
        chunks: tuple[int, ...] = (),
    ) -> None:
        self.array = array
        self.name = names.name_array(array, file if getattr(file, "agreed", True) else None)
        self.in_place = in_place
        self.file = file
        self.label = label
        self.lock = lock
        self.chunks = chunks or getattr(file, "chunks", ())

    @property
    def stored(self) -> tuple[int, ...] | None:
        """Shape of the chunks that are decoded as a whole; None where any part is read alone, as far as we know."""
        return self.chunks if self.slow and self.chunks and max(self.chunks) > 1 else None

    @property
    def in_memory(self) -> bool:
        """Whether it lies in memory, not in files: reading parts of it again costs nothing."""
        return self.in_place and self.file is None

    @property
    def at_hand(self) -> bool:
        """Whether this process may read it at any time: it lies in memory, and nobody wants a lock held."""
        return self.in_memory and self.lock is None

    @property
    def slow(self) -> bool:
        """Whether reading it may take long: what isn't in memory, nor a plain file; I/O threads read it."""
        return not self.in_place and not getattr(self.array if self.file is None else self.file, "quick", False)

    @property
    def near(self) -> bool:
        """Whether reading it keeps a processor busy, and waits for nothing."""
        return bool(getattr(self.file, "near", False))

    def token_key(self) -> tuple[object, ...]:
        """Name by identity: two arrays with the same content are two sources."""
        return self.name

    def __getstate__(self) -> dict[str, object]:
        array = None
        if self.file is None:
            if not is_travelling() or type(self.array) is not np.ndarray:
                raise TypeError("an array in the driver's memory doesn't travel with the graph")
            array = self.array
        return {"name": self.name, "file": self.file, "in_place": self.in_place, "label": self.label, "array": array}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.name, self.file, self.in_place, self.label = (state[k] for k in ("name", "file", "in_place", "label"))
        self.array, self.lock, self.chunks = state["array"], None, ()


@dataclass(frozen=True)
class Host(Op):
    """An array handed in by the user; the root of every lineage that starts from data."""

    data: HostData

    @property
    def form(self) -> object:
        """See `Op`: no tuple, which would be remembered with the user's data."""
        return f"{self.label} {self.data.stored or ''}"

    @property
    def given(self) -> tuple[object, ...]:
        return (self.data,)

    @property
    def label(self) -> str:
        return self.data.label
