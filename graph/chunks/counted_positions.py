"""Maps of positions along an axis by a number for each: how often it comes, or whether something is put there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .axismap import AxisMap, Fixed, Segment, Slice, cut_run, run_rows
from .block_reads import Rows, concatenate_ranges
from .positions import Periodic, Runs, Take

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .grid import Axis, Index

NEAR = 64
"""Counts that are added up anew each time: of so many only the sum is remembered."""


@dataclass(frozen=True)
class Counted:
    """Source position i comes `counts[i]` times, one after the other; the first `begin` results are left out.

    Counts are unsigned integers, as small as will do.
    """

    counts: NDArray[np.unsignedinteger]
    begin: int = 0

    @classmethod
    def of(cls, counts: NDArray[np.integer | np.bool_]) -> Counted:
        """Return the map of counts of any integer type."""
        return cls(counts.astype(np.min_scalar_type(int(counts.max(initial=0)))))

    @cached_property
    def _sums(self) -> Index:
        """The results before each `NEAR` counts, and before the end."""
        sums = np.add.reduceat(self.counts, np.arange(0, len(self.counts), NEAR), dtype=np.int64)
        return np.append(0, np.cumsum(sums))

    def _near(self, part: Index) -> tuple[Index, Index]:
        """Return the counts of parts, and the positions that they belong to."""
        at = part[:, None] * NEAR + np.arange(NEAR)
        counts = self.counts[np.minimum(at, len(self.counts) - 1)].astype(np.int64)
        return np.where(at < len(self.counts), counts, 0), at

    def before(self, positions: Index) -> Index:
        """Return how many results come before source positions."""
        part = np.minimum(positions // NEAR, len(self._sums) - 1)
        counts, at = self._near(part)
        preceding: Index = self._sums[part] + np.where(at < positions[:, None], counts, 0).sum(axis=1)
        return preceding

    def find(self, results: Index) -> Index:
        """Return the source positions of results, all of them counted."""
        part = np.searchsorted(self._sums, results, side="right") - 1
        ends = self._sums[part][:, None] + self._near(part)[0].cumsum(axis=1)
        positions: Index = part * NEAR + (ends <= results[:, None]).sum(axis=1)
        return positions

    def rows(self, out: Axis, source: Axis, chunks: Index) -> Rows:
        lo, hi = out.start(chunks) + self.begin, out.stop(chunks) + self.begin
        row = np.flatnonzero(hi > lo)
        first = source.find(self.find(lo[row]))
        count = source.find(self.find(hi[row] - 1)) - first + 1
        row, block = np.repeat(row, count), concatenate_ranges(first, count)
        low, high = self.before(source.start(block)), self.before(source.stop(block))
        some = np.minimum(high, hi[row]) > np.maximum(low, lo[row])
        return Rows(np.searchsorted(row[some], np.arange(len(chunks) + 1)), block[some])

    def segments(self, out: Axis, source: Axis, chunk: int) -> list[Segment]:
        lo, hi = out.start(chunk) + self.begin, out.stop(chunk) + self.begin
        if hi <= lo:
            return []
        ends = self.find(np.array([lo, hi - 1])) + np.array([0, 1])
        (first, last), (low, high) = ends.tolist(), self.before(ends).tolist()
        segments, put = list[Segment](), 0
        for block, take, begin in cut_run(first, last, source):
            counts = self.counts[begin : begin + take.stop - take.start].astype(np.int64)
            counts[0] -= lo - low if begin == first else 0
            counts[-1] -= high - hi if begin + len(counts) == last else 0
            where = np.flatnonzero(counts) if int(counts.max()) < 2 else np.repeat(np.arange(len(counts)), counts)
            if len(where):
                put += len(where)
                picked = take if len(where) == len(counts) and counts.all() else where + take.start
                segments.append(Segment(block, picked, slice(put - len(where), put)))
        return segments


@dataclass(frozen=True)
class Marked:
    """Result positions that `marks` counts, once each, come from the source's positions, one after the other."""

    marks: Counted

    def _span(self, lo: Index, hi: Index) -> tuple[Index, Index]:
        begin = self.marks.begin
        return self.marks.before(lo + begin), self.marks.before(hi + begin)

    def rows(self, out: Axis, source: Axis, chunks: Index) -> Rows:
        first, last = self._span(out.start(chunks), out.stop(chunks))
        return run_rows(np.arange(len(chunks)), first, last, len(chunks), source)

    def segments(self, out: Axis, source: Axis, chunk: int) -> list[Segment]:
        lo, hi = out.start(chunk), out.stop(chunk)
        (first,), (last,) = self._span(np.array([lo]), np.array([hi]))
        put = np.flatnonzero(self.marks.counts[lo + self.marks.begin : hi + self.marks.begin])
        segments: list[Segment] = []
        for block, take, begin in cut_run(int(first), int(last), source):
            at = begin - int(first)
            segments.append(Segment(block, take, put[at : at + take.stop - take.start]))
        return segments


FEW = 1 << 12
"""Positions that may be written down one by one."""


def lead(axis_map: AxisMap, positions: Index, length: int) -> Index | None:
    """Lead positions back to an axis of a length; None where a map doesn't tell."""
    if isinstance(axis_map, Take):
        return axis_map.index[positions]
    if isinstance(axis_map, Slice):
        return positions if axis_map == Slice() else axis_map.start + axis_map.step * positions
    if isinstance(axis_map, Periodic):
        source_positions: Index = (axis_map.start + positions) // axis_map.copies % length
        return source_positions
    if isinstance(axis_map, Fixed):
        return np.full_like(positions[(slice(0, 1),) * positions.ndim], axis_map.index)
    if isinstance(axis_map, Runs):
        run = np.searchsorted(axis_map.places, positions, side="right") - 1
        return axis_map.start[run] + positions - axis_map.places[run]
    if isinstance(axis_map, Counted):
        return axis_map.find(positions.reshape(-1) + axis_map.begin).reshape(positions.shape)
    return None


def cut(axis_map: AxisMap, by: Slice, count: int, length: int, whole: bool) -> AxisMap | None:
    """Return the map of `count` positions that a slice takes of those of a map, where that can be said.

    `whole` tells that each position of the result comes from this source.
    """
    if isinstance(axis_map, Slice):
        return Slice(axis_map.start + axis_map.step * by.start, axis_map.step * by.step)
    if whole and count <= FEW:
        positions = by.start + by.step * np.arange(count)
        return None if (index := lead(axis_map, positions, length)) is None else Take(index)
    if by.step != 1:
        return None
    if isinstance(axis_map, Take):
        return Take(axis_map.index[by.start : by.start + count])
    if isinstance(axis_map, Periodic):
        return Periodic(axis_map.copies, axis_map.start + by.start)
    if isinstance(axis_map, Counted):
        return Counted(axis_map.counts, axis_map.begin + by.start)
    if isinstance(axis_map, Marked):
        return Marked(Counted(axis_map.marks.counts, axis_map.marks.begin + by.start))
    if isinstance(axis_map, Runs):
        ends = np.searchsorted(axis_map.places, [by.start, by.start + count])
        some = slice(max(0, int(ends[0]) - 1), int(ends[1]))
        return Runs(axis_map.start[some], axis_map.length[some], axis_map.places[some] - by.start)
    return None
