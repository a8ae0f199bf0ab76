"""A step of a slab by NumPy, tile by tile: what a plan says, with the interpreter's kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.kinds.elementwise import Scalar
from ...graph.stencil.plan import Arg, Paint, Point, Single
from ..kernels.functions import function
from .regions import PlacedArray, Region, SlabLayout, cut, is_empty

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Array = np.ndarray[Any, Any]
CELLS = 1 << 15
"""Positions of a tile."""


def tiles(region: Region) -> list[Region]:
    """Cut a region into tiles: some rows each."""
    (lo, hi), *others = region
    width = int(np.prod([max(1, b - a) for a, b in others], dtype=np.int64))
    rows = max(1, CELLS // width)
    return [((row, min(row + rows, hi)), *others) for row in range(lo, hi, rows)]


def run_step(
    layout: SlabLayout,
    region: Region,
    leaves: Mapping[int, PlacedArray],
    outs: Mapping[int, PlacedArray],
    singles: Sequence[Any],
) -> None:
    """Compute the results in a region: `outs` has, by item, where they go."""
    for tile in tiles(region):
        _Tile(layout, dict(leaves), singles).run(tile, outs)


class _Tile:
    def __init__(self, layout: SlabLayout, known: dict[int, PlacedArray], singles: Sequence[Any]) -> None:
        self.plan, self.layout, self.known, self.singles = layout.plan, layout, known, singles

    def run(self, tile: Region, outs: Mapping[int, PlacedArray]) -> None:
        every = (True,) * len(tile)
        for number in self.layout.held:
            item = self.plan.items[number]
            region = self.layout.region(number, tile)
            if is_empty(region):
                self.known[number] = PlacedArray(np.empty((0,) * len(tile), item.dtype), (0,) * len(tile), every)
                continue
            computed: dict[tuple[int, Region], Array] = {}
            if isinstance(item, Paint):
                out = np.empty([hi - lo for lo, hi in region], item.dtype)
                placed = PlacedArray(out, tuple(lo for lo, _ in region), every)
                for box, arg in item.parts:
                    part = cut(region, box)
                    if not is_empty(part):
                        placed.view(part)[...] = self._arg(arg, part, computed)
            else:
                placed = PlacedArray(self._point(number, region, computed), tuple(lo for lo, _ in region), every)
            self.known[number] = placed
            if number in outs:
                np.copyto(outs[number].view(tile), placed.view(tile))

    def _arg(self, arg: Arg, region: Region, made: dict[tuple[int, Region], Array]) -> Any:
        if isinstance(arg, Scalar):
            return arg.value
        if isinstance(arg, Single):
            return self.singles[arg.number]
        moved = tuple((lo + by, hi + by) for (lo, hi), by in zip(region, arg.shift, strict=True))
        if arg.item in self.known:
            return self.known[arg.item].view(moved)
        return self._point(arg.item, moved, made)

    def _point(self, number: int, region: Region, made: dict[tuple[int, Region], Array]) -> Array:
        key = (number, region)
        if key not in made:
            item = self.plan.items[number]
            assert isinstance(item, Point)
            args = [self._arg(arg, region, made) for arg in item.args]
            out = np.empty([hi - lo for lo, hi in region], item.dtype)
            function(item.function)(*args, out=out)
            made[key] = out
        return made[key]


def step_singles(layout: SlabLayout, values: list[Any]) -> None:
    """Compute the values without axes that follow from others, in place."""
    for number, value in enumerate(layout.plan.singles):
        if value.function:
            args = [values[a.number] if isinstance(a, Single) else a.value for a in value.args]
            out = np.empty((), value.dtype)
            function(value.function)(*args, out=out)
            values[number] = out
