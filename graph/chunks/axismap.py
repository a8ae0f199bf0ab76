"""How positions along one axis of a result follow from positions along one axis of an operand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .block_reads import Pick, Rows, concatenate_ranges
from .grid import Axis, Index


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of one result block along an axis: `take` within block `block` of the source goes to `put`.

    With `seen`, what lies at `put`, a slice, is seen as so many (turns, positions, copies): what is taken goes to the
    positions `within`, in all turns and copies.
    """

    block: int
    take: Pick
    put: Pick
    seen: tuple[int, int, int] | None = None
    within: slice | None = None


class AxisMap(Protocol):
    """Where the positions of a result's axis come from."""

    def rows(self, out: Axis, source: Axis, chunks: Index) -> Rows:
        """Return which chunks of the source's axis each of the result's chunks needs."""
        ...

    def segments(self, out: Axis, source: Axis, chunk: int) -> list[Segment]:
        """Return the segments that one chunk of the result is made of."""
        ...


@dataclass(frozen=True)
class Slice:
    """Result position p is source position `start + step * p`, where the source has it."""

    start: int = 0
    step: int = 1

    def _valid(self, lo: Index, hi: Index, length: int) -> tuple[Index, Index]:
        """Cut result ranges [lo, hi) to those that come from within the source."""
        if self.step > 0:
            first, last = -(self.start // self.step), (length - 1 - self.start) // self.step
        else:
            first, last = -((length - 1 - self.start) // -self.step), self.start // -self.step
        return np.maximum(lo, first), np.minimum(hi, last + 1)

    def rows(self, out: Axis, source: Axis, chunks: Index) -> Rows:
        lo, hi = self._valid(out.start(chunks), out.stop(chunks), source.length)
        some = hi > lo
        ends = np.stack([self.start + self.step * lo, self.start + self.step * (hi - 1)])
        first = np.where(some, source.find(np.where(some, ends.min(0), 0)), 0)
        last = np.where(some, source.find(np.where(some, ends.max(0), 0)), -1)
        lengths = last - first + 1
        items = concatenate_ranges(first, lengths)
        start = np.concatenate([[0], np.cumsum(lengths)])
        rows = Rows(start, items)
        if self.step == 1 and source.is_regular:  # no chunk between the first and the last is left out, or empty
            return rows
        begin, end = source.start(items), source.stop(items)
        row = rows.row_numbers()
        if self.step > 0:
            p = np.maximum(-((self.start - begin) // self.step), lo[row])
            keep = (self.start + self.step * p < end) & (p < hi[row])
        else:
            p = np.maximum(-((end - 1 - self.start) // -self.step), lo[row])
            keep = (self.start + self.step * p >= begin) & (p < hi[row])
        if keep.all():
            return rows
        return Rows(np.concatenate([[0], np.cumsum(np.bincount(row[keep], minlength=len(chunks)))]), items[keep])

    def segments(self, out: Axis, source: Axis, chunk: int) -> list[Segment]:
        if self.step == 1:
            return self._plain_segments(out, source, chunk)
        base = out.start(chunk)
        segments: list[Segment] = []
        for block in self.rows(out, source, np.array([chunk])).items.tolist():
            begin, end = source.start(block), source.stop(block)
            edge = (begin, end - 1) if self.step > 0 else (end - 1, begin)
            size = abs(self.step)
            sign = 1 if self.step > 0 else -1
            lo = max(base, -((self.start - edge[0]) * sign // size))
            hi = min(out.stop(chunk), (edge[1] - self.start) * sign // size + 1)
            at = self.start + self.step * lo - begin
            stop: int | None = at + self.step * (hi - lo - 1) + sign
            stop = None if stop is not None and stop < 0 else stop
            segments.append(Segment(block, slice(at, stop, self.step), slice(lo - base, hi - base)))
        return segments

    def _plain_segments(self, out: Axis, source: Axis, chunk: int) -> list[Segment]:
        base = out.start(chunk) + self.start
        lo, hi = max(base, 0), min(out.stop(chunk) + self.start, source.length)
        segments: list[Segment] = []
        block = source.find(lo) if lo < hi else 0
        while lo < hi:
            begin, end = source.start(block), min(source.stop(block), hi)
            if end > lo:
                segments.append(Segment(block, slice(lo - begin, end - begin, 1), slice(lo - base, end - base)))
                lo = end
            block += 1
        return segments


@dataclass(frozen=True)
class Window:
    """Result positions from `first` to `stop` are source positions `p + shift`; others come from elsewhere."""

    first: int
    stop: int
    shift: int

    def rows(self, out: Axis, source: Axis, chunks: Index) -> Rows:
        lo, hi = np.maximum(out.start(chunks), self.first), np.minimum(out.stop(chunks), self.stop)
        return run_rows(np.arange(len(chunks)), lo + self.shift, hi + self.shift, len(chunks), source)

    def segments(self, out: Axis, source: Axis, chunk: int) -> list[Segment]:
        base = out.start(chunk)
        lo, hi = max(base, self.first) + self.shift, min(out.stop(chunk), self.stop) + self.shift
        segments: list[Segment] = []
        for block, take, begin in cut_run(lo, hi, source):
            put = begin - self.shift - base
            segments.append(Segment(block, take, slice(put, put + take.stop - take.start)))
        return segments


@dataclass(frozen=True)
class Fixed:
    """One position of the source; no axis of the result runs along it."""

    index: int

    def rows(self, out: Axis, source: Axis, chunks: Index) -> Rows:
        block = source.find(self.index)
        return Rows(np.arange(len(chunks) + 1), np.full(len(chunks), block))

    def segments(self, out: Axis, source: Axis, chunk: int) -> list[Segment]:
        block = source.find(self.index)
        return [Segment(block, self.index - source.start(block), 0)]


@dataclass(frozen=True)
class StridedPlace:
    """Source position k goes to result position `start + step * k`, with a step of one or more."""

    start: int
    step: int = 1

    def ranges(self, lo: Index, hi: Index, length: int) -> tuple[Index, Index]:
        """Return the source positions that go into result ranges [lo, hi)."""
        first = np.clip(-((self.start - lo) // self.step), 0, length)
        return first, np.clip(-((self.start - hi) // self.step), first, length)

    def span(self, lo: int, hi: int, length: int) -> tuple[int, int]:
        """Return the source positions that go into one result range."""
        first = max(0, min(length, -((self.start - lo) // self.step)))
        return first, max(first, min(length, -((self.start - hi) // self.step)))

    def rows(self, out: Axis, source: Axis, chunks: Index) -> Rows:
        first, last = self.ranges(out.start(chunks), out.stop(chunks), source.length)
        return run_rows(np.arange(len(chunks)), first, last, len(chunks), source)

    def segments(self, out: Axis, source: Axis, chunk: int) -> list[Segment]:
        base = out.start(chunk)
        segments: list[Segment] = []
        for block, take, begin in cut_run(*self.span(base, out.stop(chunk), source.length), source):
            at = self.start + self.step * begin - base
            stop = at + self.step * (take.stop - take.start - 1) + 1
            segments.append(Segment(block, take, slice(at, stop, self.step)))
        return segments


@dataclass(frozen=True)
class Spread:
    """The source's only position goes to result positions `start + step * k` for k below `count`."""

    start: int
    step: int
    count: int

    def rows(self, out: Axis, source: Axis, chunks: Index) -> Rows:
        first, last = StridedPlace(self.start, self.step).ranges(out.start(chunks), out.stop(chunks), self.count)
        start = np.concatenate([[0], np.cumsum(last > first)])
        return Rows(start, np.zeros(int(start[-1]), np.int64))

    def segments(self, out: Axis, source: Axis, chunk: int) -> list[Segment]:
        base = out.start(chunk)
        first, last = StridedPlace(self.start, self.step).span(base, out.stop(chunk), self.count)
        if last <= first:
            return []
        at = self.start + self.step * first - base
        return [Segment(0, slice(0, 1), slice(at, at + self.step * (last - first - 1) + 1, self.step))]


@dataclass(frozen=True)
class Halo:
    """Each chunk of the result is the source's chunk with `before` and `after` positions of its neighbours.

    Beyond the ends: boundary "periodic", "reflect" (the edge repeated, as in dask), "nearest", "none" (no halo
    there) or "constant" (the move's fill value stays).
    """

    before: int
    after: int
    boundary: str

    def reach(self, source: Axis, chunk: int) -> tuple[int, int]:
        """Return the range of (virtual) source positions that one chunk covers."""
        lo, hi = source.start(chunk) - self.before, source.stop(chunk) + self.after
        if self.boundary == "none":
            return max(lo, 0), min(hi, source.length)
        return lo, hi

    def axis(self, source: Axis) -> Axis:
        """Return the axis of the result."""
        chunks = np.arange(source.count)
        lo, hi = source.start(chunks) - self.before, source.stop(chunks) + self.after
        if self.boundary == "none":
            lo, hi = np.maximum(lo, 0), np.minimum(hi, source.length)
        return Axis.of_sizes(hi - lo)

    def rows(self, out: Axis, source: Axis, chunks: Index) -> Rows:
        lo, hi = source.start(chunks) - self.before, source.stop(chunks) + self.after
        first = source.find(np.clip(lo, 0, max(0, source.length - 1)))
        lengths = np.maximum(source.find(np.minimum(hi, source.length) - 1) - first + 1, 0)
        inner = Rows(np.concatenate([[0], np.cumsum(lengths)]), concatenate_ranges(first, lengths))
        edges = np.flatnonzero((lo < 0) | (hi > source.length))
        if self.boundary in ("none", "constant") or not len(edges):
            return inner
        edge_pairs = [(row, s.block) for row in edges.tolist() for s in self.segments(out, source, int(chunks[row]))]
        pairs = np.array(edge_pairs, np.int64).reshape(-1, 2)
        row = np.concatenate([inner.row_numbers(), pairs[:, 0]])
        return Rows.from_pairs(row, np.concatenate([inner.items, pairs[:, 1]]), len(chunks), source.count)

    def segments(self, out: Axis, source: Axis, chunk: int) -> list[Segment]:
        lo, hi = self.reach(source, chunk)
        n = source.length
        segments: list[Segment] = []
        for block in range(source.find(max(lo, 0)), source.find(min(hi, n) - 1) + 1):
            begin, end = max(lo, source.start(block)), min(hi, source.stop(block))
            shift = source.start(block)
            segments.append(Segment(block, slice(begin - shift, end - shift, 1), slice(begin - lo, end - lo)))
        if self.boundary not in ("none", "constant"):
            outside = np.concatenate([np.arange(lo, min(0, hi)), np.arange(max(n, lo), hi)])
            if outside.size:
                segments += gather_segments(self._inside(outside, n), outside - lo, source)
        return segments

    def _inside(self, position: Index, n: int) -> Index:
        if self.boundary == "periodic":
            return position % n
        if self.boundary == "nearest":
            return np.clip(position, 0, n - 1)
        folded = position % (2 * n)
        return np.where(folded < n, folded, 2 * n - 1 - folded)


def run_rows(row: Index, first: Index, last: Index, nrows: int, source: Axis) -> Rows:
    """Return the source's chunks under ranges [first, last), each of which belongs to a row."""
    some = last > first
    row, first, last = row[some], first[some], last[some]
    begin = source.find(first)
    count = source.find(last - 1) - begin + 1
    several = bool((count > 1).any())
    row, chunk = (np.repeat(row, count), concatenate_ranges(begin, count)) if several else (row, begin)
    full = source.size(chunk) > 0
    return Rows.from_pairs(row[full], chunk[full], nrows, source.count)


def cut_run(first: int, last: int, source: Axis) -> list[tuple[int, slice, int]]:
    """Cut a range of source positions by chunks: (chunk, slice within it, first position)."""
    cuts: list[tuple[int, slice, int]] = []
    while first < last:
        block = int(source.find(first))
        begin, stop = int(source.start(block)), min(last, int(source.stop(block)))
        cuts.append((block, slice(first - begin, stop - begin, 1), first))
        first = stop
    return cuts


def gather_segments(index: Index, put: Index, source: Axis) -> list[Segment]:
    """Return segments that take any positions of a source, one for each block that has some of them."""
    runs = group_positions(source.find(index))
    return [Segment(block, index[mine] - source.start(block), put[mine]) for block, mine in runs]


def group_positions(code: Index) -> list[tuple[int, Index]]:
    """Return (code, where it stands) for each distinct code, in ascending order."""
    if not len(code):
        return []
    # Small integers are sorted by their digits, in linear time.
    keys = code.astype(np.uint16) if int(code.max()) < 1 << 16 else code
    order = np.argsort(keys, kind="stable") if (keys[1:] < keys[:-1]).any() else np.arange(len(keys))
    ordered = keys[order]
    borders = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return [(int(code[where[0]]), where) for where in np.split(order, borders)]
