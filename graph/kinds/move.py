"""Moves: results whose elements are elements of operands at other places.

Slicing, transposing, rechunking, broadcasting, joining, taking and halos are all of one kind: along each axis a map
says where positions come from. Reshape maps runs in C order instead. No arithmetic happens here.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..chunks.axismap import AxisMap, Fixed, Segment, Slice
from ..chunks.block_reads import Into, Piece, Rows, concatenate_ranges, product_rows
from ..chunks.boxes import Boxes, cross, cut_axis, strides_of
from ..chunks.grid import Axis, Grid, Index
from ..expr.expr import Op
from ..expr.interned import recurs
from ..expr.token import token_of
from ..few import ascending, distinct, positions_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..chunks.boxes import Cuts

ONE = Axis.whole(1)
"""Stands for the result's axis where a map fixes one position of the source."""

MOST_JOINED = 64
"""Chunks of an operand along the axis of a join that are looked at one by one."""


@dataclass(frozen=True)
class Route:
    """How one operand feeds the result: for each of its axes the result's axis that it runs along, and the map."""

    axes: tuple[tuple[int | None, AxisMap], ...]

    @cached_property
    def _name(self) -> str:
        return token_of(self.axes)

    def token_key(self) -> str:
        """Name by content, found once: elements set one after the other share routes."""
        return self._name

    @cached_property
    def targets(self) -> tuple[int, ...]:
        """The result's axes that come from this operand, in the operand's order."""
        return tuple(a for a, _ in self.axes if a is not None)

    @cached_property
    def order(self) -> tuple[int, ...] | None:
        """How what is taken from this operand is transposed; None: not at all."""
        order = tuple(sorted(range(len(self.targets)), key=self.targets.__getitem__))
        return None if order == tuple(range(len(order))) else order


@dataclass(frozen=True)
class WholePart:
    """Blocks of an operand that are parts of blocks of the result: `numbers[i]` of the one that was asked `mine[i]`th.

    `put` is where they lie along the axis of a join; None: they are all of it.
    """

    operand: int
    numbers: Index
    mine: Index
    put: slice | None = None


@dataclass(frozen=True)
class Move(Op):
    """A result assembled from its operands along `routes`; `fill` is what stands where none leads.

    `joins` is the axis along which operands follow each other, where all that is done is joining them (see
    `join_operands`).
    """

    name: str
    routes: tuple[Route, ...]
    fill: Any = None
    joins: int | None = None

    @property
    def label(self) -> str:
        return self.name

    @property
    def is_rechunk(self) -> bool:
        """Whether only the chunk grid changes; see `rechunk`."""
        return self.name == "rechunk"

    @property
    def sets_elements(self) -> bool:
        """Whether operands after the first replace elements of that one, in order."""
        return self.name == "setitem"

    def rows(self, domain: Grid, sources: tuple[Grid, ...], blocks: Index) -> tuple[Rows, ...]:
        index = domain.indices(blocks)
        first = self.first_block(domain, sources[0]) if len(sources) == 1 else None
        if first is not None:
            items = sources[0].number([at + k for at, k in zip(first, index, strict=True)])
            return (Rows(np.arange(len(blocks) + 1), np.broadcast_to(np.asarray(items, np.int64), blocks.shape)),)
        out: list[Rows] = []
        for route, source in zip(self.routes, sources, strict=True):
            per_axis: list[Rows] = []
            for (target, axis_map), axis in zip(route.axes, source.axes, strict=True):
                if target is None:
                    per_axis.append(axis_map.rows(ONE, axis, np.zeros(len(blocks), np.int64)))
                else:
                    per_axis.append(spread_rows(axis_map, domain.axes[target], axis, index[target]))
            if not per_axis:
                out.append(Rows(np.arange(len(blocks) + 1), np.zeros(len(blocks), np.int64)))
            else:
                out.append(product_rows(source.counts, per_axis))
        return tuple(out)

    def pieces(self, domain: Grid, sources: tuple[Grid, ...], block: int) -> list[Piece]:
        index = domain.index(block)
        pieces: list[Piece] = []
        for number in self._leading(domain, index):
            route, source = self.routes[number], sources[number]
            order, shape = route.order, self._expand_shape(domain, route.targets)
            segments = _segments(route, domain, source, index)
            if segments is None:
                continue
            whole: list[Any] = [slice(None)] * domain.ndim
            for chosen in itertools.product(*segments):
                put = whole.copy()
                at, seen = 0, False
                for (a, _), segment, count in zip(route.axes, chosen, source.counts, strict=True):
                    at = at * count + segment.block
                    if a is not None:
                        put[a] = segment.put
                        seen |= segment.seen is not None
                take = tuple([s.take for s in chosen])
                if seen:
                    along = {a: s for (a, _), s in zip(route.axes, chosen, strict=True) if a is not None}
                    pieces.append(_repeated(Piece(number, at, take, order, None, tuple(put)), along, domain, block))
                else:
                    pieces.append(Piece(number, at, take, order, shape, tuple(put)))
        return pieces

    def boxes(self, domain: Grid, sources: tuple[Grid, ...], block: int) -> list[Boxes] | None:
        """Return the same pieces as arrays; None where some are no boxes that go to boxes."""
        index, shape = domain.index(block), domain.block_shape(block)
        strides, boxes = strides_of(shape), list[Boxes]()
        for number in self._leading(domain, index):
            route, source = self.routes[number], sources[number]
            if any(n != 1 for a, n in enumerate(shape) if a not in route.targets):
                return None
            cuts: list[Cuts] = []
            for (a, axis_map), axis in zip(route.axes, source.axes, strict=True):
                out, k = (ONE, 0) if a is None else (domain.axes[a], index[a])
                if (cut := cut_axis(axis_map, out, axis, k)) is None:
                    return None
                cuts.append(cut)
            apart = [0 if a is None else strides[a] for a, _ in route.axes]
            boxes.append(cross(number, cuts, source.counts, apart))
        return boxes

    @cached_property
    def _starts(self) -> Index:
        """Where each of the operands that are joined begins."""
        assert self.joins is not None
        maps = [route.axes[self.joins][1] for route in self.routes]
        return np.array([-axis_map.start for axis_map in maps if isinstance(axis_map, Slice)], np.int64)

    def _leading(self, domain: Grid, index: tuple[int, ...]) -> range:
        """Return the numbers of the operands that may have part in a block."""
        if self.joins is None:
            return range(len(self.routes))
        axis, k = domain.axes[self.joins], index[self.joins]
        first = int(np.searchsorted(self._starts, axis.start(k), side="right")) - 1
        return range(first, int(np.searchsorted(self._starts, axis.stop(k), side="left")))

    def _expand_shape(self, domain: Grid, targets: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return where axes of length one are to be put in (the shape with -1 for the others), if anywhere."""
        if len(targets) == domain.ndim:
            return None
        return tuple(-1 if a in targets else 1 for a in range(domain.ndim))

    def whole_parts(self, domain: Grid, sources: tuple[Grid, ...], blocks: Index) -> list[WholePart] | None:
        """Return the whole blocks of operands that blocks are made of, found for all of them at once.

        None where some are put together otherwise, or where telling would take as long as that.
        """
        if self.fill is not None or (self.joins is None and len(self.routes) > 1):
            return None
        index = domain.indices(blocks)
        routes: list[Route] = list(self.routes)
        if self.joins is None:
            at = _whole_blocks(routes[0], domain, sources[0], index)
            return None if at is None else [WholePart(0, at, np.arange(len(blocks)))]
        first = domain.axes[self.joins].start(index[self.joins])
        operand = np.searchsorted(self._starts, first, side="right") - 1
        parts: list[WholePart] = []
        numbers: list[int] = distinct(operand).tolist()
        for k in numbers:
            mine = np.flatnonzero(operand == k)
            at = _whole_blocks(routes[k], domain, sources[k], [i[mine] for i in index])
            if at is None:
                return self._joined_parts(domain, sources, index)
            parts.append(WholePart(k, at, mine))
        return parts

    def _joined_parts(self, domain: Grid, sources: tuple[Grid, ...], index: list[Index]) -> list[WholePart] | None:
        """Return the same where blocks are several of the operands' that follow each other."""
        assert self.joins is not None
        out, parts = domain.axes[self.joins], list[WholePart]()
        for j in distinct(index[self.joins]).tolist():
            mine = np.flatnonzero(index[self.joins] == j)
            inside = [i[mine] for i in index]
            for k in self._leading(domain, (j,) * domain.ndim):
                axis, begin = sources[k].axes[self.joins], int(self._starts[k])
                if axis.count > MOST_JOINED or begin < out.start(j) or begin + axis.length > out.stop(j):
                    return None
                for c in np.flatnonzero(axis.size(np.arange(axis.count))).tolist():
                    at = _whole_blocks(self.routes[k], domain, sources[k], inside, (self.joins, c))
                    if at is None:
                        return None
                    lo = begin + axis.start(c) - out.start(j)
                    parts.append(WholePart(k, at, mine, slice(lo, lo + axis.size(c))))
        return parts

    def target_shape(self, domain: Grid, block: int) -> tuple[int, ...]:
        return domain.block_shape(block)

    def first_block(self, domain: Grid, source: Grid) -> list[int] | None:
        """Return the index of the operand's block that the result's first one is, where only blocks are chosen.

        Then each block is a whole block of the one operand, as it lies there. None otherwise.
        """
        if len(self.routes) != 1 or len(self.routes[0].axes) != domain.ndim:
            return None
        index: list[int] = []
        for i, (a, axis_map) in enumerate(self.routes[0].axes):
            at = (
                _first_chunk(axis_map, domain.axes[i], source.axes[i])
                if a == i and isinstance(axis_map, Slice)
                else None
            )
            if at is None:
                return None
            index.append(at)
        return index

    def takes_parts(self, domain: Grid, source: Grid) -> bool:
        """Whether each block is a rectangle of one block of the one operand: it can be seen as it lies there."""
        if len(self.routes) != 1 or self.fill is not None:
            return False
        targets = self.routes[0].targets
        added = [axis.length for a, axis in enumerate(domain.axes) if a not in targets]
        if targets != tuple(sorted(targets)) or any(length != 1 for length in added):
            return False
        for (target, axis_map), axis in zip(self.routes[0].axes, source.axes, strict=True):
            if target is None and isinstance(axis_map, Fixed):
                continue
            if target is None or not isinstance(axis_map, Slice) or axis_map.step != 1 or axis_map.start < 0:
                return False
            out = domain.axes[target]
            if axis_map.start + out.length > axis.length:
                return False
            chunks = np.arange(out.count)
            first, last = axis_map.start + out.start(chunks), axis_map.start + out.stop(chunks) - 1
            if (axis.find(first) != axis.find(last)).any():
                return False
        return True

    def compose(self, outer: Move) -> Move | None:
        """Return the one move that does this one and then `outer`, where slices and fixed indices allow it."""
        if self.fill is not None or outer.fill is not None or len(self.routes) != 1 or len(outer.routes) != 1:
            return None
        then = outer.routes[0].axes
        axes: list[tuple[int | None, AxisMap]] = []
        for target, axis_map in self.routes[0].axes:
            if target is None:
                axes.append((None, axis_map))
                continue
            target2, inner = then[target]
            if not isinstance(axis_map, Slice):
                return None
            if isinstance(inner, Slice):
                axes.append((target2, Slice(axis_map.start + axis_map.step * inner.start, axis_map.step * inner.step)))
            elif isinstance(inner, Fixed):
                axes.append((None, Fixed(axis_map.start + axis_map.step * inner.index)))
            else:
                return None
        return Move(f"{self.name}+{outer.name}", (Route(tuple(axes)),))


def _repeated(piece: Piece, along: dict[int, Segment], domain: Grid, block: int) -> Piece:
    """Return a piece that is put several times: each axis of the target is seen as turns, positions and copies."""
    shape: list[int] = []
    seen: list[int] = []
    put: list[slice] = []
    target = [where for where in piece.put if isinstance(where, slice)]
    for a, (where, n) in enumerate(zip(target, domain.block_shape(block), strict=True)):
        segment = along.get(a)
        if segment is None or segment.seen is None:
            shape.append(1 if segment is None else -1)
            seen.append(len(range(*where.indices(n))))
            put.append(slice(None))
        else:
            shape += (1, -1, 1)
            seen += segment.seen
            put += (slice(None), segment.within or slice(None), slice(None))
    return piece._replace(shape=tuple(shape), put=tuple(put), into=Into(tuple(target), tuple(seen)))


def _whole_blocks(
    route: Route, domain: Grid, source: Grid, index: list[Index], at: tuple[int, int] | None = None
) -> Index | None:
    """Return the blocks of an operand that blocks of the result are as a whole; None where some are not.

    `at` is an axis, and the operand's chunk along it, of which the result's block has more than that one.
    """
    targets = route.targets
    if len(targets) != len(route.axes) or route.order is not None:
        return None
    if any((domain.axes[i].size(index[i]) != 1).any() for i in range(domain.ndim) if i not in targets):
        return None
    chunks: list[Any] = []
    for (i, (_, axis_map)), axis in zip(zip(targets, route.axes, strict=True), source.axes, strict=True):
        if not isinstance(axis_map, Slice) or axis_map.step != 1:
            return None
        if at is not None and at[0] == i:
            chunks.append(at[1])
            continue
        first = domain.axes[i].start(index[i]) + axis_map.start
        stop = domain.axes[i].stop(index[i]) + axis_map.start
        if len(first) and (first.min() < 0 or stop.max() > axis.length or (first == stop).any()):
            return None
        chunk = axis.find(first)
        if (axis.start(chunk) != first).any() or (axis.stop(chunk) != stop).any():
            return None
        chunks.append(chunk)
    return np.broadcast_to(np.asarray(source.number(chunks), np.int64), index[0].shape if index else (1,))


def _first_chunk(axis_map: Slice, out: Axis, source: Axis) -> int | None:
    """Return the first of the source's chunks that are a slice's; None where it has others, or telling takes long."""
    stop = axis_map.start + out.length
    if axis_map.step != 1 or axis_map.start < 0 or stop > source.length or not out.length:
        return None
    chunk = source.find(axis_map.start)
    if out.count == 1:
        return chunk if (source.start(chunk), source.stop(chunk)) == (axis_map.start, stop) else None
    same = out.is_regular and source.is_regular and out.step == source.step
    whole = same and axis_map.start % out.step == 0 and (stop % out.step == 0 or stop == source.length)
    return chunk if whole else None


def _segments(route: Route, domain: Grid, source: Grid, index: tuple[int, ...]) -> list[list[Segment]] | None:
    """Return the segments along each axis of an operand, or None where it has no part in a block."""
    segments: list[list[Segment]] = []
    for (a, axis_map), axis in zip(route.axes, source.axes, strict=True):
        mine = axis_map.segments(domain.axes[a], axis, index[a]) if a is not None else axis_map.segments(ONE, axis, 0)
        if not mine:
            return None
        segments.append(mine)
    return segments


def spread_rows(axis_map: AxisMap, out: Axis, source: Axis, chunks: Index) -> Rows:
    """Ask an axis map once for each distinct chunk, and spread the answer over all result blocks."""
    if out.count <= len(chunks):  # mostly all are asked for
        asked, back = ascending(0, out.count), chunks
    else:
        asked = distinct(chunks)
        back = positions_in(asked, chunks)
    rows = axis_map.rows(out, source, asked)
    lengths = rows.lengths[back]
    return Rows(np.concatenate([[0], np.cumsum(lengths)]), rows.items[concatenate_ranges(rows.start[back], lengths)])


def join_operands(name: str, lengths: Sequence[int], ndim: int, at: int) -> Move:
    """Return the move that joins operands of these lengths along an axis."""
    routes, begin = list[Route](), 0
    for length in lengths:
        routes.append(Route(tuple([(i, Slice(-begin if i == at else 0)) for i in range(ndim)])))
        begin += length
    return Move(name, tuple(routes), None, at)


@lru_cache
def rechunk(ndim: int) -> Move:
    """Return the move that only changes the chunk grid."""
    return recurs(Move("rechunk", (Route(tuple((i, Slice()) for i in range(ndim))),)))
