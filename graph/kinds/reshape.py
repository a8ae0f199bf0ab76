"""Reshapes: the same elements in C order under another shape.

A block of the result is a range of flat positions, and a range of flat positions of several axes is a few boxes: at
most two for each axis but the last, and one. What one block of the source has of a box is one rectangle.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..chunks.block_reads import Into, Piece, Rows, concatenate_ranges, product_rows
from ..chunks.boxes import Boxes, cross, cut_range, strides_of
from ..chunks.grid import Axis, Grid, Index
from ..expr.expr import Op

if TYPE_CHECKING:
    from collections.abc import Iterator

Group = tuple[tuple[int, int], tuple[int, int]]
Groups = tuple[Group, ...]
Segments = list[tuple[int, slice, slice]]
Box = tuple[slice, list[tuple[int, int]]]
"""A box of some axes: where it goes in a flat range, and its range along each axis."""


@dataclass(frozen=True)
class Reshape(Op):
    """The same elements in C order under another shape.

    `groups` pairs runs of source axes with runs of result axes that hold the same elements. Within a group the
    result's blocks are runs in C order (see `reshape_grid`), so a block is a range of flat positions in each group.
    """

    groups: Groups

    def target_shape(self, domain: Grid, block: int) -> tuple[int, ...]:
        """The block with each group flattened."""
        shape = domain.block_shape(block)
        return tuple(math.prod(shape[lo:hi]) for _, (lo, hi) in self.groups)

    def rows(self, domain: Grid, sources: tuple[Grid, ...], blocks: Index) -> tuple[Rows, ...]:
        (source,) = sources
        index, counts, group_rows = domain.indices(blocks), list[int](), list[Rows]()
        for (slo, shi), (tlo, thi) in self.groups:
            axes = domain.axes[tlo:thi]
            run, back = np.unique(Grid(axes).number(index[tlo:thi]) if axes else blocks * 0, return_inverse=True)
            lo, size = np.zeros(len(run), np.int64), np.ones(len(run), np.int64)
            for axis, k in zip(axes, Grid(axes).indices(run), strict=True):
                lo, size = lo * axis.length + axis.start(k), size * axis.size(k)
            rows = _run_rows(source.axes[slo:shi], lo, lo + size)
            lengths = rows.lengths[back]
            group_rows.append(Rows(np.concatenate([[0], np.cumsum(lengths)]), rows.of(back)))
            counts.append(math.prod(source.counts[slo:shi]))
        return (product_rows(tuple(counts), group_rows),)

    def pieces(self, domain: Grid, sources: tuple[Grid, ...], block: int) -> list[Piece]:
        (source,) = sources
        pieces: list[Piece] = []
        for chosen in self._boxes_in_groups(domain, source, block):
            ranges = [ends for _, mine in chosen for ends in mine]
            into = Into(tuple(at for at, _ in chosen), tuple(stop - start for start, stop in ranges))
            segments = [_segments(axis, *ends) for axis, ends in zip(source.axes, ranges, strict=True)]
            for parts in itertools.product(*segments):
                number = 0
                for count, (k, _, _) in zip(source.counts, parts, strict=True):
                    number = number * count + k
                take, put = tuple([t for _, t, _ in parts]), tuple([p for _, _, p in parts])
                pieces.append(Piece(0, number, take, None, None, put, into=into))
        return pieces

    def boxes(self, domain: Grid, sources: tuple[Grid, ...], block: int) -> list[Boxes]:
        """Return the same pieces as arrays."""
        (source,) = sources
        strides, boxes = strides_of(self.target_shape(domain, block)), list[Boxes]()
        for chosen in self._boxes_in_groups(domain, source, block):
            ranges = [ends for _, mine in chosen for ends in mine]
            cuts = [cut_range(axis, *ends, ends[0]) for axis, ends in zip(source.axes, ranges, strict=True)]
            apart: list[int] = []
            for stride, (_, mine) in zip(strides, chosen, strict=True):
                apart += [stride * n for n in strides_of([stop - start for start, stop in mine])]
            first = sum([at.start * stride for stride, (at, _) in zip(strides, chosen, strict=True)])
            boxes.append(cross(0, cuts, source.counts, apart, first))
        return boxes

    def _boxes_in_groups(self, domain: Grid, source: Grid, block: int) -> Iterator[tuple[Box, ...]]:
        """Yield a box for each group of axes, in all combinations, that make up a block."""
        index, per_group = domain.index(block), list[list[Box]]()
        for (slo, shi), (tlo, thi) in self.groups:
            lo, size = 0, 1
            for axis, k in zip(domain.axes[tlo:thi], index[tlo:thi], strict=True):
                lo = lo * axis.length + axis.start(k)
                size *= axis.size(k)
            per_group.append(_boxes(source.axes[slo:shi], lo, lo + size))
        yield from itertools.product(*per_group)


@dataclass(frozen=True)
class ReshapeBlocks(Op):
    """Each block under a shape of its own: block k, counted in C order, is the source's block k."""

    @property
    def label(self) -> str:
        return "reshape"

    def target_shape(self, domain: Grid, block: int) -> tuple[int, ...]:
        return domain.block_shape(block)

    def rows(self, domain: Grid, sources: tuple[Grid, ...], blocks: Index) -> tuple[Rows, ...]:
        return (Rows(np.arange(len(blocks) + 1), blocks),)

    def pieces(self, domain: Grid, sources: tuple[Grid, ...], block: int) -> list[Piece]:
        shape = domain.block_shape(block)
        take = tuple(slice(0, n) for n in sources[0].block_shape(block))
        return [Piece(0, block, take, None, shape, tuple(slice(0, n) for n in shape))]


def _inner(axes: tuple[Axis, ...]) -> list[int]:
    """Return for each axis how many flat positions one position along it covers."""
    return [math.prod(a.length for a in axes[i + 1 :]) for i in range(len(axes))]


def _run_rows(axes: tuple[Axis, ...], lo: Index, hi: Index) -> Rows:
    """Return the blocks of a group of axes that flat ranges [lo, hi) lie in, a row for each range."""
    row, nrows = np.flatnonzero(hi > lo), len(lo)
    if not axes:
        return Rows(np.concatenate([[0], np.cumsum(hi > lo)]), row * 0)
    lo, hi, inner = lo[row], hi[row], _inner(axes)
    rows, numbers = list[Index](), list[Index]()
    for depth, size in enumerate(inner):
        first, last = -(-lo // size), hi // size
        whole = first < last
        box_number, number = _box_blocks(axes, inner, depth, first[whole] * size, last[whole] * size)
        rows.append(row[whole][box_number])
        numbers.append(number)
        # What is left lies within one position of this axis: all there is, or what is before and behind the box.
        inside = first > last
        begin, end = np.where(inside, hi, first * size), np.where(inside, hi, last * size)
        row, lo, hi = np.tile(row, 2), np.concatenate([lo, end]), np.concatenate([begin, hi])
        row, lo, hi = row[hi > lo], lo[hi > lo], hi[hi > lo]
    return Rows.from_pairs(np.concatenate(rows), np.concatenate(numbers), nrows, math.prod(a.count for a in axes))


def _box_blocks(axes: tuple[Axis, ...], inner: list[int], depth: int, lo: Index, hi: Index) -> tuple[Index, Index]:
    """Return the pairs (box, block) for flat ranges that are boxes: single positions along the axes before `depth`."""
    box, number = np.arange(len(lo)), np.zeros(len(lo), np.int64)
    for i, axis in enumerate(axes):
        begin = lo[box] // inner[i] % axis.length if i <= depth else number * 0
        end = begin + ((hi - lo)[box] // inner[i] if i == depth else 1 if i < depth else axis.length)
        first = axis.find(begin)
        lengths = axis.find(end - 1) - first + 1
        chunk = concatenate_ranges(first, lengths)
        box, number = box.repeat(lengths), number.repeat(lengths) * axis.count + chunk
        if not axis.is_regular:
            full = axis.size(chunk) > 0
            box, number = box[full], number[full]
    return box, number


def _boxes(axes: tuple[Axis, ...], lo: int, hi: int) -> list[Box]:
    """Cut the flat range [lo, hi) of a group of axes into boxes."""
    if hi <= lo:
        return []
    if not axes:
        return [(slice(0, 1), [])]
    inner, boxes = _inner(axes), list[Box]()
    stack = [(0, lo, hi)]
    while stack:
        depth, begin, end = stack.pop()
        size = inner[depth]
        first, last = -(-begin // size), end // size
        if first > last:
            stack.append((depth + 1, begin, end))
            continue
        if begin < first * size:
            stack.append((depth + 1, begin, first * size))
        if last * size < end:
            stack.append((depth + 1, last * size, end))
        if first < last:
            at = [first * size // n % axis.length for n, axis in zip(inner[: depth + 1], axes, strict=False)]
            ranges = [(k, k + 1) for k in at[:depth]] + [(at[depth], at[depth] + last - first)]
            ranges += [(0, axis.length) for axis in axes[depth + 1 :]]
            boxes.append((slice(first * size - lo, last * size - lo), ranges))
    return boxes


def _segments(axis: Axis, start: int, stop: int) -> Segments:
    """Return what a range has of each chunk: (chunk, positions within it, positions within the range)."""
    segments: Segments = []
    at = start
    while at < stop:
        k = axis.find(at)
        shift, end = axis.start(k), min(stop, axis.stop(k))
        segments.append((k, slice(at - shift, end - shift), slice(at - start, end - start)))
        at = end
    return segments


def reshape_groups(source: tuple[int, ...], target: tuple[int, ...]) -> Groups:
    """Return the shortest runs of axes of two shapes of one size that hold the same elements."""
    groups, i, j = list[Group](), 0, 0
    while i < len(source) or j < len(target):
        i0, j0 = i, j
        a = source[i] if i < len(source) else 1
        b = target[j] if j < len(target) else 1
        i, j = min(i + 1, len(source)), min(j + 1, len(target))
        while a != b:
            if a < b:
                a, i = a * source[i], i + 1
            else:
                b, j = b * target[j], j + 1
        groups.append(((i0, i), (j0, j)))
    return tuple(groups)


def reshape_grid(groups: Groups, source: Grid, target: tuple[int, ...]) -> Grid:
    """Return a grid for a reshape's result: in each group blocks are runs in C order, about as large as the source's.

    Where the source's blocks are runs too and their borders fit, each block of the result comes from one block.
    """
    axes: list[Axis] = [Axis.whole(n) for n in target]
    for (slo, shi), (tlo, thi) in groups:
        axes[tlo:thi] = _split_run(_run_axis(source.axes[slo:shi]), target[tlo:thi])
    return Grid(axes)


def _run_axis(axes: tuple[Axis, ...]) -> Axis:
    """Return a group of axes seen as one in C order, with chunks that are whole blocks if these are runs."""
    lengths = [a.length for a in axes]
    if not axes:
        return Axis.whole(1)
    lead = 0
    while lead < len(axes) - 1 and axes[lead].largest <= 1:
        lead += 1
    inner, size = math.prod(lengths[lead + 1 :]), math.prod(lengths)
    if all(a.count == 1 for a in axes[lead + 1 :]):
        if math.prod(lengths[:lead]) == 1 and not axes[lead].is_regular:
            return Axis.of_sizes(n * inner for n in axes[lead].sizes())
        return Axis.regular(size, axes[lead].largest * inner)
    block = math.prod(a.largest for a in axes)
    return Axis.regular(size, block // inner * inner if block >= inner else block)


def _split_run(run: Axis, lengths: tuple[int, ...]) -> list[Axis]:
    """Cut axes into blocks that are runs in C order, with the borders of `run` where they fit."""
    axes = [Axis.whole(n) for n in lengths]
    for i, n in enumerate(lengths):
        inner = math.prod(lengths[i + 1 :])
        if not run.is_regular and i == 0 and all(size % inner == 0 for size in run.sizes()):
            axes[0] = Axis.of_sizes(size // inner for size in run.sizes())
            break
        step = run.largest
        axes[i] = Axis.regular(n, max(1, step // inner))
        if step >= inner:
            break
        run = Axis.regular(inner, step)
    return axes
