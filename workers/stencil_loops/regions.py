"""Where items are computed for a slab: regions of positions, cut to their boxes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.stencil.groups import find_groups

if TYPE_CHECKING:
    from ...graph.stencil.plan import Box, HaloPlan, StencilLeaf

Array = np.ndarray[Any, Any]
Region = tuple[tuple[int, int], ...]


def cut(region: Region, box: Box) -> Region:
    """Return what of a region lies in a box."""
    return tuple(
        (lo, hi) if span is None else (max(lo, span[0]), max(max(lo, span[0]), min(hi, span[1])))
        for (lo, hi), span in zip(region, box, strict=True)
    )


def is_empty(region: Region) -> bool:
    return any(hi <= lo for lo, hi in region)


@dataclass
class PlacedArray:
    """An array over positions: its first element is at `origin`; along axes that it hasn't got it has length one."""

    array: Array
    origin: tuple[int, ...]
    along: tuple[bool, ...]

    def view(self, region: Region, shift: tuple[int, ...] | None = None) -> Array:
        """Return the elements of a region, moved by a shift."""
        index = []
        for axis, ((lo, hi), at, here) in enumerate(zip(region, self.origin, self.along, strict=True)):
            by = 0 if shift is None else shift[axis]
            index.append(slice(lo + by - at, hi + by - at) if here else slice(0, 1))
        return self.array[tuple(index)]


@dataclass
class SlabLayout:
    """A plan with what follows from it: what is held, how deep each item is."""

    plan: HaloPlan
    held: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.held = find_groups(self.plan).held

    def depth(self, leaf: StencilLeaf) -> tuple[tuple[int, int], ...]:
        return tuple(
            pair if here else (0, 0)
            for pair, here in zip(self.plan.depths[self.plan.items.index(leaf)], leaf.along, strict=True)
        )

    def region(self, number: int, tile: Region) -> Region:
        """Return where an item is computed for a tile of the results."""
        wide = tuple(
            (lo - before, hi + after) for (lo, hi), (before, after) in zip(tile, self.plan.depths[number], strict=True)
        )
        return cut(wide, self.plan.items[number].box)
