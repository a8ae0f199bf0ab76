"""Reductions of a course's tiles: the calls that NumPy makes for them, and those that merge tiles, in its order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..fused.loops import LANES, begin_of_sums
from ..llvm.kernel_cache import ready
from .course import COPY, EVERY, FIRST, FIRST_GROUP, FIRST_TILE, Spot
from .course_plan import NotCourse, Plot, ufunc_loop

if TYPE_CHECKING:
    from ...interpreter.frame import Frame
    from ..llvm.text import DType
    from .course_plan import Cut

Array = np.ndarray[Any, Any]
UFUNCS = {
    "sum": "add", "mean": "add", "prod": "multiply", "min": "minimum", "max": "maximum", "nanmin": "fmin",
    "nanmax": "fmax", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
}  # fmt: skip
"""Heads whose tiles are one ufunc's reduction, without any conversion."""


@dataclass(frozen=True)
class TileFold:
    """How tiles of a block are reduced along axes that are neighbours.

    A tile has (outer, rows, width) elements, of which rows are reduced; where `width` is 1, NumPy does it in one call.
    `lanes` says that it is a sum of a whole block on lanes. `group` and `tile` tell how many
    results further those of the next group, the next tile lie; `first` are the tiles that begin results.
    """

    cut: Cut
    axes: tuple[int, ...]
    rows: int
    width: int
    group: int
    tile: int
    first: int
    lanes: bool = False
    beside: int = 1

    @staticmethod
    def of(cut: Cut, axes: tuple[int, ...], on_lanes: bool) -> TileFold:
        """Return how a block is reduced.

        NotCourse: its results don't lie in one piece for each tile, one after the other.
        """
        shape, low, high = cut.shape, min(axes, default=0), max(axes, default=-1) + 1
        if not axes or axes != tuple(range(low, high)) or cut.size == 0:
            raise NotCourse("axes that aren't neighbours")
        if len(axes) == len(shape):
            return TileFold(cut, axes, cut.size, 1, 0, 0, FIRST, on_lanes)
        width = math.prod(shape[high:])
        rows = math.prod(shape[low:high])
        if cut.axis < low:
            return TileFold(cut, axes, rows, width, cut.group // rows, cut.tile // rows, 0)
        before = math.prod(shape[:low])
        if cut.axis < high:
            if cut.axis > low and before > 1:
                raise NotCourse("several axes that are cut")
            first, group = (FIRST, 0) if before == 1 else (FIRST_TILE, width)
            wide = LANES // max(1, width)
            beside = wide if axes == (0,) and len(shape) > 1 and wide > 1 else 1
            return TileFold(cut, axes, -1, width, group, 0, first, beside=beside)
        if before > 1 or math.prod(shape[high : cut.axis]) > 1:
            raise NotCourse("results that are cut")
        return TileFold(cut, axes, 1, cut.tile, 0, cut.tile, FIRST_GROUP)

    @property
    def results(self) -> int:
        """How many results the block has."""
        n = self.cut.size
        for axis in self.axes:
            n //= self.cut.shape[axis]
        return n

    def extents(self, elements: int) -> tuple[int, int, int]:
        """Return what a tile of so many elements is: outer, rows, width."""
        if self.first == FIRST_GROUP and not self.lanes and self.rows == 1:
            return 1, 1, elements
        rows = elements // self.width if self.rows < 0 else min(self.rows, elements)
        return elements // (rows * self.width), rows, self.width

    def rows_before(self) -> Array:
        """Return how many rows the tiles before each one had that have the same results: (groups, tiles)."""
        cut = self.cut
        row_counts, before = np.zeros((cut.groups, cut.tiles)), 0.0
        for group in range(cut.groups):
            for tile in range(cut.tiles):
                begins = (tile == 0 or not self.first & FIRST_TILE) and (group == 0 or not self.first & FIRST_GROUP)
                if begins:
                    before = 0.0
                elif self.first == FIRST_GROUP:
                    before = float(group)
                row_counts[group, tile] = before
                before += self.extents(min(cut.tile, cut.group - tile * cut.tile))[1]
        return row_counts


class Reducer:
    """The calls of one ufunc's reduction of the tiles of a block."""

    def __init__(self, plot: Plot, fold: TileFold, name: str, dtype: DType) -> None:
        self.plot, self.fold, self.name, self.dtype = plot, fold, name, dtype
        self.size = dtype.itemsize
        self._loop = ufunc_loop(name, dtype, dtype, dtype)
        self._identity: np.generic | None = None
        if name == "multiply" and dtype.kind == "c":
            raise NotCourse("products of complex numbers")
        if name in ("add", "multiply"):
            self._identity = dtype.type(1 if name == "multiply" else begin_of_sums() if dtype.kind in "fc" else 0)

    def reduce(self, source: Spot, elements: int, tiles: int, to: Spot) -> None:
        """Add the calls that reduce a tile to `to`, along axes."""
        outer, rows, width = self.fold.extents(elements)
        beside = self.fold.beside
        if self.name == "add" and self.dtype.kind in "fc" and beside > 1 and rows // beside > 1:
            self._short_rows(source, rows, width, tiles, to)
        else:
            self._rows(source, outer, rows, width, tiles, to)

    def _short_rows(self, source: Spot, rows: int, width: int, tiles: int, to: Spot) -> None:
        """Add several short rows at once, as one long row: see `sums.add_along`."""
        beside = self.fold.beside
        many = rows // beside
        long = self.plot.lend(("long", self.size), beside * width * self.size)
        self._rows(source, 1, many, beside * width, tiles, long)
        self._rows(long, 1, beside, width, tiles, to)
        left = rows - many * beside
        if left:
            rest = self.plot.lend(("rest", self.size), width * self.size)
            self._rows(source.at(many * beside * width * self.size), 1, left, width, tiles, rest)
            self.merge(to, rest, width, tiles, EVERY)

    def _rows(self, source: Spot, outer: int, rows: int, width: int, tiles: int, to: Spot) -> None:
        """Add up rows, as NumPy does: from the ufunc's identity on, or else from the first row on."""
        size, length = self.size, width * self.size
        if self._identity is None:
            copied = to.going(outer=length), source.going(outer=rows * length)
            self.plot.add((0, 0), copied, (outer, 1, length), tiles, kind=COPY)
            source, left = source.at(length), rows - 1
        else:
            self.copy(to, self.plot.constant(np.full(outer * width, self._identity)), outer * width, tiles, EVERY)
            left = rows
        if width == 1:  # in one call
            result, source = to.going(outer=size), source.going(rows * size, 0, size)
            self.plot.add(self._loop, (result, source, result), (outer, 1, left), tiles)
        else:
            result, source = to.going(length, 0, size), source.going(rows * length, length, size)
            self.plot.add(self._loop, (result, source, result), (outer, left, width), tiles)

    def lanes(self, source: Spot, elements: int, tiles: int, name: Any) -> tuple[Spot, int]:
        """Add the calls that add up a tile on lanes: see `sums.lanes_of`."""
        to = self.plot.lend(name, LANES * self.size)
        rows, rest = divmod(elements, LANES)
        if rows < 2:
            self.copy(to, source, min(elements, LANES), tiles, EVERY)
            if rows == 0:
                return to, elements
        else:
            self._rows(source, 1, rows, LANES, tiles, to)
        self.merge(to, source.at(rows * LANES * self.size), rest, tiles, EVERY)
        return to, LANES

    def halve(self, lanes: Spot, count: int, tiles: int) -> None:
        """Add the calls that fold lanes in halves: see `sums.reduce_lanes`."""
        while count > 1:
            half = (count + 1) // 2
            self.merge(lanes, lanes.at(half * self.size), count - half, tiles, EVERY)
            count = half

    def copy(self, to: Spot, source: Spot, count: int, tiles: int, when: int) -> None:
        """Add a copy of so many elements."""
        self.plot.add((0, 0), (to, source), (1, 1, count * self.size), tiles, when, COPY)

    def merge(self, to: Spot, source: Spot, count: int, tiles: int, when: int) -> None:
        """Add the call that merges so many elements into others."""
        to = to.going(step=self.size)
        self.plot.add(self._loop, (to, source.going(step=self.size), to), (1, 1, count), tiles, when)


class Total:
    """The calls of a reduction that is one ufunc's, with its state; `zeroed` is the loop that leaves out NaN before.

    `number` tells it from others, among which its results are copied when they are read; it is None where it is alone.
    """

    def __init__(
        self, plot: Plot, fold: TileFold, name: str, dtype: DType, number: int | None, zeroed: str = ""
    ) -> None:
        self._reducer, self.fold, self._number = Reducer(plot, fold, name, dtype), fold, number
        self._zeroed = zeroed
        self._count = LANES if fold.lanes else fold.results
        self._state = plot.keep(self._count * dtype.itemsize)

    def functions(self, elements: int) -> dict[str, Any]:
        """Return the compiled loop that it needs; None in place of one that isn't there, but will be."""
        return {self._zeroed: ready(self._zeroed, 1, elements)} if self._zeroed else {}

    def write(self, source: Spot, elements: int, tiles: int, functions: dict[str, int]) -> None:
        """Add the calls that reduce a tile of so many elements, and merge it into the state."""
        fold, reducer = self.fold, self._reducer
        size = reducer.size
        if self._zeroed:
            known = reducer.plot.lend("zeroed", reducer.plot.cut.tile * size).going(step=size)
            spots = source, source, known
            reducer.plot.add((functions[self._zeroed], 0), spots, (1, 0, elements), tiles, kind=len(spots))
            source = known
        if not fold.first:
            state = Spot(self._state.operand, self._state.base, fold.group * size, fold.tile * size)
            reducer.reduce(source, elements, tiles, state)
            return
        if fold.lanes:
            partial, count = reducer.lanes(source, elements, tiles, ("lanes", self._number))
        else:
            outer, _, width = fold.extents(elements)
            count = outer * width
            partial = reducer.plot.lend(("tile", self._number), count * size)
            reducer.reduce(source, elements, tiles, partial)
        self.merge(partial, count, tiles)

    def merge(self, made: Spot, count: int, tiles: int) -> None:
        """Add the calls that merge what a tile came to into the state."""
        fold, size = self.fold, self._reducer.size
        state = Spot(self._state.operand, self._state.base, fold.group * size, fold.tile * size)
        self._reducer.copy(state, made, count, tiles, fold.first)
        self._reducer.merge(state, made, count, tiles, -fold.first)

    def read(self, memory: Array, frame: Frame) -> Array:
        """Return the state, as the head closes it."""
        fold = self.fold
        state = held(memory, self._state, self._count, self._reducer.dtype)
        state = state.copy() if self._number is None else state
        if fold.lanes:
            return state
        return state.reshape(len(state), *[1 if i in fold.axes else n for i, n in enumerate(fold.cut.shape)])


def held(memory: Array, spot: Spot, count: int, dtype: DType) -> Array:
    """Return what each block has kept at a spot: (blocks, count); it is valid until another course runs."""
    part: Array = memory[:, spot.base : spot.base + count * dtype.itemsize]
    return part.view(dtype)
