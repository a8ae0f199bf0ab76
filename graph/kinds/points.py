"""Points: elements that several arrays of positions tell together, one position of each for a point.

A `Move` has a map for each axis, which gives all combinations of positions. Points are read (`TakePoints`) and written
(`PutPoints`) by block: a result block reads only the blocks that its points lie in, or that its points come from.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..chunks.axismap import group_positions
from ..chunks.block_reads import Piece, Rows, product_rows
from ..expr.expr import Op
from .move import spread_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..chunks.axismap import AxisMap
    from ..chunks.grid import Axis, Grid, Index


TABLE_FACTOR = 16
"""Points that share a place are found in a table of all places, where these are at most so many times as many."""


def block_codes(axes: Sequence[Axis], index: Sequence[Index]) -> Index:
    """Return for each point the number of its block in the grid of the indexed axes."""
    code: Index = np.zeros(len(index[0]), np.int64)
    for axis, positions in zip(axes, index, strict=True):
        code = code * axis.count + axis.find(positions)
    return code


def last_by_block(axes: Sequence[Axis], index: Sequence[Index]) -> tuple[Index, Index]:
    """Return the last point for each place, ordered by block, and where each block's points begin."""
    lengths = tuple(a.length for a in axes)
    flat, each = np.ravel_multi_index(tuple(index), lengths), np.arange(len(index[0]))
    if math.prod(lengths) <= TABLE_FACTOR * len(flat):
        last = np.empty(math.prod(lengths), np.int64)
        last[flat] = each
        kept = np.flatnonzero(last[flat] == each)
    else:
        kept = len(flat) - 1 - np.unique(flat[::-1], return_index=True)[1]
    code = block_codes(axes, [i[kept] for i in index])
    blocks = math.prod(a.count for a in axes)
    order = np.argsort(code.astype(np.uint16) if blocks <= 1 << 16 else code, kind="stable")
    return kept[order], np.searchsorted(code[order], np.arange(blocks + 1))


def _strides(grid: Grid) -> list[int]:
    """Return what one chunk further along each axis adds to a block's number."""
    return [math.prod(grid.counts[a + 1 :]) for a in range(grid.ndim)]


def _others(axes: tuple[int, ...], ndim: int) -> list[int]:
    return [a for a in range(ndim) if a not in axes]


def _chunks_of(code: Index, axes: Sequence[Axis]) -> list[Index]:
    """Return the chunk along each indexed axis for blocks of their grid."""
    chunks: list[Index] = []
    for axis in reversed(axes):
        chunks.append(code % axis.count)
        code = code // axis.count
    return chunks[::-1]


def _add_shares(parts: list[Rows]) -> Rows:
    """Combine relations whose items are shares of a block's number."""
    return product_rows((1,) * len(parts), parts)


@dataclass(frozen=True)
class TakePoints(Op):
    """Points of an operand: the result's axis `at` runs along them, the others along the operand's other axes.

    `index` has the positions along each of the operand's `axes`; `rest` a map for each other axis.
    """

    axes: tuple[int, ...]
    index: tuple[Index, ...]
    rest: tuple[AxisMap, ...]
    at: int = 0

    @property
    def label(self) -> str:
        return "getitem"

    def rows(self, domain: Grid, sources: tuple[Grid, ...], blocks: Index) -> tuple[Rows, ...]:
        (source,) = sources
        strides, indexed = _strides(source), [source.axes[a] for a in self.axes]
        along = domain.indices(blocks)
        chunks, back = np.unique(along.pop(self.at), return_inverse=True)
        lo, hi = domain.axes[self.at].start(chunks), domain.axes[self.at].stop(chunks)
        run = slice(int(lo[0]), int(hi[-1])) if len(chunks) else slice(0)
        code = block_codes(indexed, [i[run] for i in self.index])
        point = np.arange(run.start or 0, run.stop)
        row = np.searchsorted(lo, point, side="right") - 1
        inside = point < hi[row] if len(row) else np.zeros(0, bool)
        each = Rows.from_pairs(row[inside], code[inside], len(chunks), math.prod(a.count for a in indexed))
        number = sum((k * strides[a] for k, a in zip(_chunks_of(each.items, indexed), self.axes, strict=True)), 0)
        parts = [_repeat_rows(Rows(each.start, np.asarray(number, np.int64)), back)]
        targets = [a for i, a in enumerate(domain.axes) if i != self.at]
        for axis_map, target, a, chunk in zip(self.rest, targets, _others(self.axes, source.ndim), along, strict=True):
            rows = spread_rows(axis_map, target, source.axes[a], chunk)
            parts.append(Rows(rows.start, rows.items * strides[a]))
        return (_add_shares(parts),)

    def pieces(self, domain: Grid, sources: tuple[Grid, ...], block: int) -> list[Piece]:
        (source,) = sources
        strides, chunks = _strides(source), list(domain.index(block))
        k = chunks.pop(self.at)
        lo, hi = domain.axes[self.at].start(k), domain.axes[self.at].stop(k)
        targets = [a for i, a in enumerate(domain.axes) if i != self.at]
        others = _others(self.axes, source.ndim)
        axis_maps = zip(self.rest, targets, others, chunks, strict=True)
        segments = [axis_map.segments(target, source.axes[a], chunk) for axis_map, target, a, chunk in axis_maps]
        mine = [i[lo:hi] for i in self.index]
        order = (*range(1, self.at + 1), 0, *range(self.at + 1, domain.ndim)) if self.at else None
        pieces: list[Piece] = []
        for _, where in group_positions(block_codes([source.axes[a] for a in self.axes], mine)):
            take: list[Any] = [None] * source.ndim
            number = 0
            for a, positions in zip(self.axes, mine, strict=True):
                chunk = int(source.axes[a].find(int(positions[where[0]])))
                take[a] = positions[where] - source.axes[a].start(chunk)
                number += chunk * strides[a]
            whole = len(where) == hi - lo
            for chosen in itertools.product(*segments):
                put: list[Any] = [s.put for s in chosen]
                put.insert(self.at, slice(0, hi - lo) if whole else where)
                at = number
                for a, segment in zip(others, chosen, strict=True):
                    take[a] = segment.take
                    at += segment.block * strides[a]
                pieces.append(Piece(0, at, tuple(take), order, None, tuple(put), True))
        return pieces

    def target_shape(self, domain: Grid, block: int) -> tuple[int, ...]:
        return domain.block_shape(block)


@dataclass(frozen=True)
class PutPoints(Op):
    """The first operand with points of it replaced by the second's, whose first axis runs along them.

    Point k lies at `index[i][k]` along the result's axis `axes[i]` and comes from position `source[k]`; no two are at
    one place, and they are sorted by block: block c of the indexed axes' grid has points `bounds[c]:bounds[c + 1]`.
    `rest` has a map for each other axis. A second operand of length one along the points serves all of them.
    """

    axes: tuple[int, ...]
    index: tuple[Index, ...]
    source: Index
    bounds: Index
    rest: tuple[AxisMap, ...]

    @property
    def label(self) -> str:
        return "setitem"

    def rows(self, domain: Grid, sources: tuple[Grid, ...], blocks: Index) -> tuple[Rows, ...]:
        _, values = sources
        strides, along = _strides(values), domain.indices(blocks)
        code: Index = np.zeros(len(blocks), np.int64)
        for a in self.axes:
            code = code * domain.counts[a] + along[a]
        row = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))
        each = Rows.from_pairs(row, values.axes[0].find(self.source), len(self.bounds) - 1, values.counts[0])
        parts = [_repeat_rows(Rows(each.start, each.items * strides[0]), code)]
        for i, (axis_map, a) in enumerate(zip(self.rest, _others(self.axes, domain.ndim), strict=True), 1):
            rows = spread_rows(axis_map, domain.axes[a], values.axes[i], along[a])
            parts.append(Rows(rows.start, rows.items * strides[i]))
        return Rows(np.arange(len(blocks) + 1), blocks), _add_shares(parts)

    def pieces(self, domain: Grid, sources: tuple[Grid, ...], block: int) -> list[Piece]:
        _, values = sources
        strides, chunks = _strides(values), domain.index(block)
        whole = tuple(slice(0, n) for n in domain.block_shape(block))
        pieces = [Piece(0, block, whole, None, None, whole)]
        code = 0
        for a in self.axes:
            code = code * domain.counts[a] + chunks[a]
        mine = slice(int(self.bounds[code]), int(self.bounds[code + 1]))
        others = _others(self.axes, domain.ndim)
        axis_maps = zip(self.rest, others, values.axes[1:], strict=True)
        segments = [axis_map.segments(domain.axes[a], axis, chunks[a]) for axis_map, a, axis in axis_maps]
        local = [i[mine] - domain.axes[a].start(chunks[a]) for i, a in zip(self.index, self.axes, strict=True)]
        source = self.source[mine]
        place = self.axes[0]  # a single axis of positions is put to where it stands; else points are first
        order = (*range(1, place + 1), 0, *range(place + 1, domain.ndim)) if len(self.axes) == 1 and place else None
        for chunk, where in group_positions(values.axes[0].find(source)):
            one = values.axes[0].length == 1
            first: Any = slice(0, 1) if one else source[where] - values.axes[0].start(chunk)
            for chosen in itertools.product(*segments):
                put: list[Any] = [None] * domain.ndim
                for a, positions in zip(self.axes, local, strict=True):
                    put[a] = positions[where]
                at = chunk * strides[0]
                for i, (a, segment) in enumerate(zip(others, chosen, strict=True), 1):
                    put[a] = segment.put
                    at += segment.block * strides[i]
                take = (first, *(s.take for s in chosen))
                pieces.append(Piece(1, at, take, order, None, tuple(put), True))
        return pieces

    def target_shape(self, domain: Grid, block: int) -> tuple[int, ...]:
        return domain.block_shape(block)


def _repeat_rows(rows: Rows, back: Index) -> Rows:
    """Return a relation whose row i is row `back[i]`."""
    lengths = rows.lengths[back]
    return Rows(np.concatenate([[0], np.cumsum(lengths)]), rows.of(back))
