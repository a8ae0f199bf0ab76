"""What an analysis of a loop's body has found of a node, and how it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..chunks.axismap import Slice, Spread, StridedPlace
from ..chunks.positions import Periodic, Take
from ..kinds.elementwise import Scalar
from .plan import Arg, Box, Fills, Item, Margins, Read, Single, StencilValue

if TYPE_CHECKING:
    from ..chunks.axismap import AxisMap
    from ..chunks.grid import Grid

MOST_PIECES = 64
Offset = tuple[int | None, ...]
Bounds = tuple[tuple[int, int], ...]
"""A box with ends along all axes."""


class NotLocal(Exception):
    """A body that isn't local; the message says why."""


class IsPeriodic(Exception):
    def __init__(self, axis: int) -> None:
        super().__init__(axis)
        self.axis = axis


@dataclass(frozen=True)
class ItemView:
    """Where a node's elements are: position p at an item's `p + offset`; None: it is the same along that axis.

    Offsets are along all axes; `axes` are those that the node has (None: the last ones). Along the others it has one
    position.
    """

    item: int
    offset: Offset
    axes: tuple[int, ...] | None = None

    def own(self, count: int) -> tuple[int, ...]:
        """Return which axes those of a node are that has so many."""
        return tuple(range(len(self.offset) - count, len(self.offset))) if self.axes is None else self.axes


@dataclass(frozen=True)
class Wide:
    """Blocks with margins, which only a function of blocks reads."""


Where = ItemView | Single | Scalar | Wide


@dataclass
class Found:
    """What is known so far: items, values without axes, and where each node's elements are, by token."""

    shape: tuple[int, ...]
    periodic: tuple[bool, ...]
    items: list[Item] = field(default_factory=lambda: [])
    singles: list[StencilValue] = field(default_factory=lambda: [])
    places: dict[str, Where] = field(default_factory=lambda: {})
    margins: dict[str, Margins] = field(default_factory=lambda: {})
    filled: dict[int, Fills] = field(default_factory=lambda: {})
    blocks: Grid | None = None

    def arg(self, place: Where, at: Offset) -> Arg:
        """Return what an item at an offset reads."""
        if isinstance(place, Wide):
            raise NotLocal("margins are read by something else than a function of blocks")
        if not isinstance(place, ItemView):
            return place
        return Read(place.item, self.shift(place.offset, at))

    def shift(self, offset: Offset, at: Offset) -> tuple[int, ...]:
        shifts: list[int] = []
        for axis, (theirs, mine) in enumerate(zip(offset, at, strict=True)):
            by = 0 if theirs is None or mine is None else theirs - mine
            shifts.append(self.round(axis, by))
        return tuple(shifts)

    def round(self, axis: int, by: int) -> int:
        """Return a distance as the shorter way round."""
        if not self.periodic[axis]:
            return by
        n = self.shape[axis]
        return (by + n // 2) % n - n // 2


def runs_of(axis_map: AxisMap, length: int, n: int) -> list[tuple[int, int, int | None]]:
    """Return the runs of result positions that an axis of an operand fills, each with what is added to a position."""
    if isinstance(axis_map, Slice) and axis_map.step == 1:
        return [(max(0, -axis_map.start), min(n, length - axis_map.start), axis_map.start)]
    if isinstance(axis_map, StridedPlace) and axis_map.step == 1:
        return [(max(0, axis_map.start), min(n, axis_map.start + length), -axis_map.start)]
    if isinstance(axis_map, Spread) and axis_map.step == 1:
        start = None if axis_map.count > 1 else -axis_map.start
        return [(axis_map.start, axis_map.start + axis_map.count, start)]
    if isinstance(axis_map, Slice) and length == 1 and axis_map.step == 0:
        return [(0, n, None)]
    if isinstance(axis_map, Take) and len(axis_map.index) <= MOST_PIECES:
        index = axis_map.index.tolist()
        if not any(index) and length == 1:
            return [(0, n, 0 if n == 1 else None)]
        runs: list[tuple[int, int, int | None]] = []
        for p, source in enumerate(index):
            if runs and runs[-1][2] == source - p:
                runs[-1] = (runs[-1][0], p + 1, source - p)
            else:
                runs.append((p, p + 1, source - p))
        return runs
    if isinstance(axis_map, Periodic):
        if length == 1:
            return [(0, n, 0 if n == 1 else None)]
        if (few := axis_map.runs(length, n, MOST_PIECES)) is not None:
            return list(few)
    raise NotLocal("elements are taken by steps, or in another order")


def size(box: Bounds) -> int:
    return int(np.prod([hi - lo for lo, hi in box], dtype=np.int64))


def meets(a: Box, b: Box) -> bool:
    return all(x is None or y is None or (x[0] < y[1] and y[0] < x[1]) for x, y in zip(a, b, strict=True))


def without(box: Box, core: Box) -> list[Box]:
    """Return boxes that together are what of a box lies outside of another one."""
    boxes, rest = list[Box](), list(box)
    for axis, (span, inner) in enumerate(zip(box, core, strict=True)):
        if span is None or inner is None:
            continue
        for lo, hi in ((span[0], min(span[1], inner[0])), (max(span[0], inner[1]), span[1])):
            if hi > lo:
                boxes.append((*rest[:axis], (lo, hi), *rest[axis + 1 :]))
        both = max(span[0], inner[0]), min(span[1], inner[1])
        if both[1] <= both[0]:
            break
        rest[axis] = both
    return boxes
