"""Maps of positions along an axis: any that are taken, runs of them, and those that come again and again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .axismap import Segment, cut_run, gather_segments, run_rows
from .block_reads import Rows, concatenate_ranges

if TYPE_CHECKING:
    from .grid import Axis, Index

SHORT = 64
"""Positions, on average, below which runs are taken position by position."""

DENSE = 4
"""How many times as many positions as they have ranges may cover, to be found by marks."""


@dataclass(frozen=True)
class Take:
    """Result position p is source position `index[p]`."""

    index: Index

    @cached_property
    def _ascends(self) -> bool:
        return _ascends(self.index)

    def rows(self, out: Axis, source: Axis, chunks: Index) -> Rows:
        start, stop = out.start(chunks), out.stop(chunks)
        if self._ascends:
            row = np.flatnonzero(stop > start)
            first = source.find(self.index[start[row]])
            count = source.find(self.index[stop[row] - 1]) - first + 1
            if int(count.sum()) <= int((stop - start).sum()):  # else most chunks between have no position
                row, block = np.repeat(row, count), concatenate_ranges(first, count)
                begin = np.searchsorted(self.index, source.start(block))
                end = np.searchsorted(self.index, source.stop(block))
                some = np.minimum(stop[row], end) > np.maximum(start[row], begin)
                return Rows(np.searchsorted(row[some], np.arange(len(chunks) + 1)), block[some])
        row = np.repeat(np.arange(len(chunks)), stop - start)
        blocks = source.find(self.index[concatenate_ranges(start, stop - start)])
        return Rows.from_pairs(row, blocks, len(chunks), source.count)

    def segments(self, out: Axis, source: Axis, chunk: int) -> list[Segment]:
        index = self.index[out.start(chunk) : out.stop(chunk)]
        return _take_segments(index, 0, source, self._ascends)


@dataclass(frozen=True)
class Runs:
    """Runs of the source: run i is `length[i]` positions from `start[i]` on, and goes to `at[i]`.

    `at` ascends, and runs don't meet there; where it isn't given, they follow each other.
    """

    start: Index
    length: Index
    at: Index | None = None

    @cached_property
    def places(self) -> Index:
        """Where each run goes."""
        return np.cumsum(self.length) - self.length if self.at is None else self.at

    @cached_property
    def _ascends(self) -> bool:
        return bool((self.start[1:] >= self.start[:-1] + self.length[:-1]).all() and (self.length > 0).all())

    def _parts(self, out: Axis, chunks: Index) -> tuple[Index, Index, Index]:
        """Return (row, first, last) of the parts of runs that lie in each chunk."""
        lo, hi = out.start(chunks), out.stop(chunks)
        places = self.places
        begin = np.maximum(np.searchsorted(places, lo, side="right") - 1, 0)
        count = np.maximum(np.searchsorted(places, hi, side="left") - begin, 0)
        row, run = np.repeat(np.arange(len(chunks)), count), concatenate_ranges(begin, count)
        own = places[run]
        at, stop = np.maximum(own, lo[row]), np.minimum(own + self.length[run], hi[row])
        some = stop > at
        row, run, at, stop, own = row[some], run[some], at[some], stop[some], own[some]
        first = self.start[run] + at - own
        return row, first, first + stop - at

    def rows(self, out: Axis, source: Axis, chunks: Index) -> Rows:
        if self._ascends:
            return self._ascending_rows(out, source, chunks)
        row, first, last = self._parts(out, chunks)
        return run_rows(row, first, last, len(chunks), source)

    def _ascending_rows(self, out: Axis, source: Axis, chunks: Index) -> Rows:
        """Find rows by the borders of chunks alone, of which each but the outer ones is looked up among the runs."""
        lo, hi, places, ends = out.start(chunks), out.stop(chunks), self.places, self.start + self.length
        begin = np.searchsorted(places + self.length, lo, side="right")
        stop = np.searchsorted(places, hi, side="left")
        row = np.flatnonzero(stop > begin)
        run, end = begin[row], stop[row] - 1
        first = self.start[run] + np.maximum(lo[row] - places[run], 0)
        last = self.start[end] + np.minimum(self.length[end], hi[row] - places[end])
        block = source.find(first)
        count = source.find(last - 1) - block + 1
        if int(count.sum()) > int((stop - begin).sum()):  # most chunks between them have nothing of the runs
            return run_rows(*self._parts(out, chunks), len(chunks), source)
        each = np.repeat(np.arange(len(row)), count)
        block = concatenate_ranges(block, count)
        low, high = np.maximum(source.start(block), first[each]), np.minimum(source.stop(block), last[each])
        at = np.minimum(np.searchsorted(ends, low, side="right"), len(ends) - 1)
        some = (high > low) & (self.start[at] < high)
        return Rows(np.searchsorted(row[each[some]], np.arange(len(chunks) + 1)), block[some])

    def segments(self, out: Axis, source: Axis, chunk: int) -> list[Segment]:
        base, stop, places = out.start(chunk), out.stop(chunk), self.places
        mine = slice(max(0, int(np.searchsorted(places, base, side="right")) - 1), int(np.searchsorted(places, stop)))
        at, first, length = places[mine], self.start[mine], self.length[mine]
        if len(at):  # the outer runs are cut off
            by = np.zeros((2, len(at)), np.int64)
            by[0, 0], by[1, -1] = max(0, base - int(at[0])), max(0, int(at[-1] + length[-1]) - stop)
            at, first, length = at + by[0], first + by[0], length - by[0] - by[1]
            if (length <= 0).any():
                some = length > 0
                at, first, length = at[some], first[some], length[some]
        last = first + length
        if len(first) > SHORT and int(length.sum()) < SHORT * len(first):
            index = _expand(first, last)
            follow = bool((at[1:] == at[:-1] + length[:-1]).all())
            put = int(at[0]) - base if follow else _expand(at - base, at - base + length)
            return _take_segments(index, put, source, bool((first[1:] >= last[:-1]).all()))
        segments: list[Segment] = []
        for lo, hi, to in zip(first.tolist(), last.tolist(), at.tolist(), strict=True):
            for block, take, begin in cut_run(lo, hi, source):
                put = to - base + begin - lo
                segments.append(Segment(block, take, slice(put, put + take.stop - take.start)))
        return segments


@dataclass(frozen=True)
class Periodic:
    """Result position p is source position `(start + p) // copies`, counted on from the source's begin at its end."""

    copies: int = 1
    start: int = 0

    def runs(self, length: int, count: int, most: int) -> list[tuple[int, int, int]] | None:
        """Return the runs of `count` result positions, each with what is added to them; None where they are many."""
        if not count:
            return []
        if self.copies > 1 and length > 1:
            if count > most:
                return None
            source = ((self.start + np.arange(count)) // self.copies % length).tolist()
            return [(p, p + 1, q - p) for p, q in enumerate(source)]
        if length == 1 or count > most * length:
            return None
        ends = [0, *range(length - self.start % length, count, length), count]
        return [(lo, hi, (self.start + lo) % length - lo) for lo, hi in pairwise(ends) if hi > lo]

    def rows(self, out: Axis, source: Axis, chunks: Index) -> Rows:
        lo, hi, n = self.start + out.start(chunks), self.start + out.stop(chunks), max(1, source.length)
        count = np.where(hi > lo, -(-hi // self.copies) - lo // self.copies, 0)
        first = np.where(count < n, lo // self.copies % n, 0)
        last = first + np.minimum(count, n)
        row = np.tile(np.arange(len(chunks)), 2)
        first, last = np.concatenate([first, 0 * first]), np.concatenate([np.minimum(last, n), last - n])
        return run_rows(row, first, last, len(chunks), source)

    def segments(self, out: Axis, source: Axis, chunk: int) -> list[Segment]:
        lo, hi, turn = self.start + out.start(chunk), self.start + out.stop(chunk), source.length * self.copies
        if hi <= lo:
            return []
        first, last = -(-lo // turn) * turn, hi // turn * turn
        if last <= first:
            borders = [lo, first, hi] if lo < first < hi else [lo, hi]
            return [s for a, b in pairwise(borders) for s in self._within(a, b, lo, source)]
        put, seen = slice(first - lo, last - lo), ((last - first) // turn, source.length, self.copies)
        whole_turns = [
            Segment(block, take, put, seen, slice(begin, begin + take.stop - take.start))
            for block, take, begin in cut_run(0, source.length, source)
        ]
        return [*self._within(lo, first, lo, source), *whole_turns, *self._within(last, hi, lo, source)]

    def _within(self, lo: int, hi: int, base: int, source: Axis) -> list[Segment]:
        """Return the segments of a part of one turn: a position that is cut off on either side, and whole ones."""
        segments, n, size = list[Segment](), source.length, self.copies
        first, last = min(hi, -(-lo // size) * size), max(lo, hi // size * size)
        for a, b in ((lo, first), (last, hi)) if first <= last else ((lo, hi),):
            if b > a:
                ((block, take, _),) = cut_run(a // size % n, a // size % n + 1, source)
                segments.append(Segment(block, take, slice(a - base, b - base)))
        at = first // size % n
        for block, take, begin in cut_run(at, at + (last - first) // size, source):
            count, put = take.stop - take.start, first - base + (begin - at) * size
            whole = slice(put, put + count * size)
            segments.append(Segment(block, take, whole, (1, count, size) if size > 1 else None))
        return segments


def _expand(first: Index, last: Index) -> Index:
    """Return the positions of ranges, one after the other; of those that ascend, and lie near each other, by marks."""
    begin, span = int(first[0]), int(last[-1] - first[0])
    if span > DENSE * int((last - first).sum()) or (first[1:] < last[:-1]).any():
        return concatenate_ranges(first, last - first)
    marks = np.zeros(span + 1, np.int8)
    marks[first - begin] = 1
    marks[last - begin] -= 1  # ranges that meet go on
    positions: Index = np.flatnonzero(np.cumsum(marks, dtype=np.int8, out=marks).view(bool))
    positions += begin
    return positions


def _ascends(index: Index) -> bool:
    """Whether positions are in order: then chunks are told from each other without looking at each position."""
    return not bool((index[1:] < index[:-1]).any())


def _take_segments(index: Index, put: Index | int, source: Axis, ascend: bool) -> list[Segment]:
    """Return segments that take positions of a source; `put` is where they go, or where the first of them goes."""
    if not len(index):
        return []
    if not ascend:
        return gather_segments(index, put + np.arange(len(index)) if isinstance(put, int) else put, source)
    first, last = source.find(int(index[0])), source.find(int(index[-1]))
    if last - first < len(index):
        blocks = np.arange(first, last + 1)
        begins = np.searchsorted(index, source.start(blocks))
    else:  # most chunks between have no position
        code = source.find(index)
        begins = np.append(0, np.flatnonzero(np.diff(code)) + 1)
        blocks = code[begins]
    starts, borders = source.start(blocks), pairwise([*begins.tolist(), len(index)])
    segments: list[Segment] = []
    for block, start, (lo, hi) in zip(blocks.tolist(), starts.tolist(), borders, strict=True):
        if hi > lo:
            where = slice(put + lo, put + hi) if isinstance(put, int) else put[lo:hi]
            segments.append(Segment(block, index[lo:hi] - start, where))
    return segments
