"""What a process holds of arrays that all ranks read and write: the parts it has mapped, and for whom they count.

A generation is an array's memory from one death to the next. When a rank is lost, all parts are made anew from what the
last `sync` has kept: what is written meanwhile goes to memory that nobody looks at any more, so nothing is half undone.
A task or a rank program belongs to the time at which it began; once a death has ended that, its next access raises
`Undone`, and it is refused. Threads of the driver belong to no time: they wait until the array is there again.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ClusterError
from ...rank.task_context import task_context
from ...wire.one_sided_messages import ReadPart, WritePart
from ...wire.rpc import LIMIT, Recalled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..segment import SharedSegment
    from .site import ArraySite

Array = np.ndarray[Any, Any]
PIECE = 1 << 22
"""Bytes that go in one message."""


class Undone(Recalled):
    """What computes has begun before a death that took the array back to what its last sync() has kept."""


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """What all ranks know of an array; `text` is for people. `copies`: every rank has all of it."""

    token: bytes
    copies: bool
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fill: Any
    text: str

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, once."""
        return self.size * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class PartLayout:
    """Who has what, from one death to the next: part k is `ranks[k]`'s, of `run` elements; the last may have fewer."""

    number: int
    ranks: tuple[int, ...]
    run: int

    @classmethod
    def deal(cls, spec: ArraySpec, number: int, ranks: Sequence[int]) -> PartLayout:
        """Deal an array out in equal runs."""
        return cls(number, tuple(ranks), max(1, spec.size if spec.copies else -(-spec.size // len(ranks))))

    def bounds(self, spec: ArraySpec, part: int) -> tuple[int, int]:
        """Return where a part's elements begin and end in the array."""
        begin = 0 if spec.copies else min(part * self.run, spec.size)
        return begin, min(begin + self.run, spec.size)


class Generation:
    """An array's memory as this process sees it: the parts that are mapped, by number; address 0 for others."""

    __slots__ = ("addresses", "bases", "layout", "live", "number", "parts", "run")

    def __init__(self, layout: PartLayout, parts: dict[int, Array]) -> None:
        self.layout, self.number, self.run, self.parts = layout, layout.number, layout.run, parts
        self.addresses = [int(parts[k].ctypes.data) if k in parts else 0 for k in range(len(layout.ranks))]
        self.bases = np.array(self.addresses or [0], np.uint64)
        self.live = True


_NOWHERE = Generation(PartLayout(-1, (), 1), {})
_NOWHERE.live = False


@dataclass(eq=False)
class LocalArray:
    """An array in this process.

    `pending` are own parts of memory to come, `own` is the present one's. `kept` are copies that `sync` has kept, by
    its number. `more` are the copies of further members, where those are threads of one rank. The driver notes whether
    anything can have been written since the last `sync`, and whether a rank program that runs began with that.
    """

    spec: ArraySpec
    site: ArraySite
    generation: Generation = _NOWHERE
    gone: str = ""
    pending: dict[int, SharedSegment] = field(default_factory=dict)
    own: SharedSegment | None = None
    kept: dict[int, Array] = field(default_factory=dict)
    more: list[Array] = field(default_factory=list)
    wrote: bool = False
    clean: bool = False

    def bound(self) -> Generation:
        """Return the memory that counts for this thread; wait for it where it is being made.

        Undone: this thread computes what began before a death. ClusterError: the array is gone, or isn't there in time.
        """
        site, began = self.site, task_context().epoch
        deadline = time.monotonic() + LIMIT
        with site.changed:
            while True:
                if self.gone:
                    raise ClusterError(f"{self.spec.text}: {self.gone}")
                if began < site.epoch:
                    raise Undone(f"{self.spec.text} is back at what its last sync() has kept: a rank was lost")
                if self.generation.live:
                    return self.generation
                if not site.changed.wait(max(0.0, deadline - time.monotonic())):
                    raise ClusterError(f"{self.spec.text} wasn't there again within {LIMIT:g} s of a rank's loss")

    def install(self, layout: PartLayout, parts: dict[int, Array]) -> None:
        """Have new memory count from now on."""
        with self.site.changed:
            self.own = self.pending.pop(layout.number, self.own)
            self.pending.clear()
            self.more.clear()
            self.generation = Generation(layout, parts)
            self.generation.live = layout.number >= self.site.epoch
            self.site.changed.notify_all()

    def end(self, why: str) -> None:
        """Let go of the memory; whoever still has a view of it keeps that."""
        with self.site.changed:
            self.gone = why
            self.generation = _NOWHERE
            self.own = None
            self.pending.clear()
            self.kept.clear()
            self.more.clear()
            self.site.changed.notify_all()

    # ---------------------------------------------------------------- parts, near and far

    def read(self, generation: Generation, part: int, begin: int, end: int) -> Array:
        """Return elements of a part: a view where it is mapped, else a copy."""
        if part in generation.parts:
            return generation.parts[part][begin:end]
        elements = np.empty(end - begin, self.spec.dtype)
        step = max(1, PIECE // elements.itemsize)
        rank = generation.layout.ranks[part]
        for at in range(begin, end, step):
            till = min(at + step, end)
            piece = self.site.ask(rank, ReadPart(self.spec.token, generation.number, part, at, till))
            elements[at - begin : till - begin] = piece
        return elements

    def write(self, generation: Generation, part: int, begin: int, values: Array) -> None:
        if part in generation.parts:
            generation.parts[part][begin : begin + len(values)] = values
            return
        step = max(1, PIECE // values.itemsize)
        rank = generation.layout.ranks[part]
        for at in range(0, len(values), step):
            piece = values[at : at + step]
            self.site.ask(rank, WritePart(self.spec.token, generation.number, part, begin + at, piece))

    def own_part(self, generation: Generation) -> int:
        """Return the number of this rank's part."""
        return generation.layout.ranks.index(self.site.rank)
