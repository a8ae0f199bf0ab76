"""Sources that are read once and held: those of which blocks would else decode the same stored chunks again and again.

A compressed chunk is decoded whole, however little of it is wanted. So a stage that reads parts of it for many of its
blocks (a change of chunks, a halo, a transposition) reads a copy of the source instead, whose blocks are whole stored
chunks. So do stages one of which waits for what another makes of the same source, as `x - x.mean()` does, and those
that read very many small pieces of a plain file's chunks, where the copy fits into memory well. What reads each
stored chunk once goes on reading the source, and only what it needs of it; stages that begin together share what they
read (`workers.sources.io_pool`).

A copy that memory doesn't hold goes to disk. Where whole stored chunks are then read in parts along an axis, as when
rows become columns, each block of the copy is cut into the parts that are read: read in rows, a part would have the
disk read all of the block.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..chunks.axismap import Fixed, Slice, Window
from ..chunks.counted_positions import Counted, Marked
from ..chunks.grid import Axis, Grid
from ..chunks.positions import Periodic, Runs, Take
from ..expr.expr import Expr, rewrite, walk, with_operands
from ..few import distinct
from ..kinds.anchor import HOLD
from ..kinds.mapping import BlockFunction
from ..kinds.move import Move, Route, rechunk
from ..kinds.points import TakePoints
from ..lowering.program import Load

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..chunks.axismap import AxisMap
    from ..chunks.block_reads import Rows
    from ..chunks.grid import Index
    from ..lowering.stage import Stage

HELD = BlockFunction(HOLD, (1,), where=True)
_OF_POSITIONS = (Slice, Window, Fixed, Take, Runs, Periodic, Counted, Marked)
OFTEN, MUCH = 1.1, 4
"""A source is held where its stored chunks would be decoded more than so many times as often as for the copy; and where
that has no room, and goes to disk."""
SCRAPS, SCRAP = 8, 1 << 16
"""Pieces of a plain file's chunk that are many, and bytes of one that is small."""
FEW = 64
"""Of so many blocks it is looked at piece by piece what they read: at the ends of a halo a block may read one twice."""
MOST = 1 << 22
"""Stored chunks of a source that are counted one by one."""
PART = 1 << 16
"""Bytes of a part of a block on disk, at least: below it disks read no faster."""


class Copy(NamedTuple):
    """The grid of a source on which its chunks are decoded for a copy, and that of the parts into which it is cut."""

    grid: Grid
    parts: Grid


def hold(source: Expr, parts: Grid | None = None) -> Expr:
    """Return a copy of a source, or of what is cut out of one: in its chunks, or in parts of them, all by one task."""
    grid = source.grid if parts is None else parts
    op = replace(HELD, params=(grid.nblocks // max(1, source.grid.nblocks),)) if grid != source.grid else HELD
    return Expr(op, (source,), grid, source.dtype, source.origin)


def is_held(op: object) -> bool:
    """Return whether an operation makes a copy of a source."""
    return isinstance(op, BlockFunction) and op.function == HOLD


def hold_sources(roots: list[Expr], copies: dict[str, Copy], stored: Callable[[str], bool]) -> list[Expr]:
    """Return simplified expressions that read copies of some sources, on these grids, in place of the sources.

    Where moves alone read a source, and all the same slices of its axes, no more than these is held.
    """
    cuts: dict[str, set[tuple[tuple[Slice, int], ...]]] = {token: set() for token in copies}
    nodes = [node for node in walk(roots, lambda node: stored(node.token)) if not stored(node.token)]
    for node in nodes:
        for k, child in enumerate(node.operands):
            if child.token in cuts:
                cuts[child.token].add(tuple([cut[:2] for cut in _cut_route(node, k)]))

    def build(node: Expr, operands: tuple[Expr, ...]) -> Expr:
        if not any(child.token in copies for child in node.operands):
            return with_operands(node, operands)
        routes, over = list(node.op.routes) if isinstance(node.op, Move) else [], list(operands)
        for k, source in enumerate(node.operands):
            if (copy := copies.get(source.token)) is None:
                continue
            whole = Expr(source.op, (), copy.grid, source.dtype, source.origin)
            cut = _cut_route(node, k)
            if copy.parts != source.grid and not reads_by_positions(node.op):
                held = hold(whole, copy.parts)
                over[k] = Expr(rechunk(held.grid.ndim), (held,), source.grid, source.dtype, source.origin)
            elif routes and len(cuts[source.token]) == 1 and tuple(each.length for each in cut) != source.shape:
                over[k], routes[k] = _hold_part(whole, cut, routes[k])
            else:
                over[k] = hold(whole, copy.parts)
        if not isinstance(node.op, Move):
            return node.over(tuple(over), node.pin)
        op = replace(node.op, routes=tuple(routes))
        return Expr(op, tuple(over), node.grid, node.dtype, node.origin, node.pin, node.token)

    return rewrite(roots, lambda node: node if stored(node.token) else None, build)


def reads_by_positions(access: object) -> bool:
    """Return whether what is read doesn't depend on the chunks in which it lies, as a halo does."""
    if not isinstance(access, Move):
        return isinstance(access, TakePoints)
    return all(isinstance(axis_map, _OF_POSITIONS) for route in access.routes for _, axis_map in route.axes)


class _Cut(NamedTuple):
    """A slice of an axis of a source, its length, and where in it is read."""

    slice: Slice
    length: int
    rest: AxisMap


def _cut_route(node: Expr, number: int) -> list[_Cut]:
    """Return, for each axis of an operand, the slice of it that a node reads."""
    source = node.operands[number]
    if not isinstance(node.op, Move):
        return [_Cut(Slice(), n, Slice()) for n in source.shape]
    cuts: list[_Cut] = []
    for (target, axis_map), length in zip(node.op.routes[number].axes, source.shape, strict=True):
        cut = _Cut(Slice(), length, axis_map)
        if isinstance(axis_map, Fixed):
            cut = _Cut(Slice(axis_map.index), 1, Fixed(0))
        elif isinstance(axis_map, Slice) and target is not None and axis_map.step > 0:
            count = node.shape[target]
            if count and axis_map.start >= 0 and axis_map.start + axis_map.step * (count - 1) < length:
                cut = _Cut(axis_map, count, Slice())
        cuts.append(cut)
    return cuts


def _hold_part(source: Expr, cuts: list[_Cut], route: Route) -> tuple[Expr, Route]:
    """Return a copy of the slices of a source, cut where its chunks end, and the route that reads it."""
    axes: list[Axis] = []
    for cut, axis in zip(cuts, source.grid.axes, strict=True):
        borders = np.append(axis.start(np.arange(axis.count)), axis.length)
        inside = np.clip(-((cut.slice.start - borders) // cut.slice.step), 0, cut.length)
        axes.append(Axis.of_sizes(np.diff(distinct(inside))))
    # Not "getitem": the slice that the user asked for may be the same, and is made from what is held.
    own = Move("slice", (Route(tuple((k, cut.slice) for k, cut in enumerate(cuts))),))
    part = Expr(own, (source,), Grid(axes), source.dtype, source.origin)
    return hold(part), Route(tuple((target, cut.rest) for (target, _), cut in zip(route.axes, cuts, strict=True)))


def find_read_often(stages: list[Stage], room: int) -> dict[str, Copy]:
    """Return the sources that stages would decode again and again, by token, and how to hold them.

    `room` is how many bytes all ranks have.
    """
    sources = {s.token: _Stored(s) for s in stages if s.data is not None and s.data.stored is not None and s.grid.size}
    copies = _find_read_in_scraps(stages, room)
    past: dict[str, frozenset[str]] = {}  # the sources that were read for what each stage makes
    for stage in stages if sources else ():
        before = frozenset[str]().union(*(past.get(token, ()) for token in stage.inputs))
        past[stage.token] = before | {token for token in stage.inputs if token in sources}
        for token in dict.fromkeys(stage.inputs):
            source = sources.get(token)
            if source is None or token in copies or source.chunks.nblocks > MOST:
                continue
            read = source.chunks_read(stage)
            wanted = source.count_in_blocks(distinct(read))
            source.total += len(read)
            nbytes = source.nbytes * wanted // source.chunks.nblocks
            again = token in before and nbytes <= room // 2 and source.total > OFTEN * wanted
            if again or len(read) > (OFTEN if nbytes <= room else MUCH) * wanted:
                copies[token] = Copy(source.grid, source.cut_for(stage) if nbytes > room else source.grid)
    return copies


def _find_read_in_scraps(stages: list[Stage], room: int) -> dict[str, Copy]:
    """Return the plain files whose chunks stages read in many small pieces, each of which is asked for by itself."""
    files = {s.token: s for s in stages if s.data is not None and s.data.file is not None and not s.data.slow}
    copies: dict[str, Copy] = {}
    for stage in stages if files else ():
        for number, token in enumerate(stage.inputs):
            source = files.get(token)
            if source is None or token in copies or not source.grid.size or source.grid.nblocks > MOST:
                continue
            blocks = np.arange(stage.domain.nblocks)
            rows = [each for value in stage.program.values for k, each in stage.rows(value, blocks) if k == number]
            items = np.concatenate([np.zeros(0, np.int64), *(each.items for each in rows)])
            nbytes = int(source.grid.block_sizes(distinct(items)).sum()) * source.dtype.itemsize
            if len(items) > SCRAPS * len(distinct(items)) and nbytes < SCRAP * len(items) and nbytes <= room // 2:
                copies[token] = Copy(source.grid, source.grid)
    return copies


class _Stored:
    """A source's stored chunks, and the grid on which it would be held: its own where no chunk lies across borders."""

    def __init__(self, stage: Stage) -> None:
        assert stage.data is not None
        sizes = stage.data.stored or ()
        self.token, self.nbytes, self._blocks = stage.token, stage.grid.size * stage.dtype.itemsize, stage.grid
        self.total = 0
        self.chunks = Grid([Axis.regular(n, size) for n, size in zip(stage.grid.shape, sizes, strict=True)])
        self.grid = Grid([_aligned(axis, chunk) for axis, chunk in zip(stage.grid.axes, self.chunks.axes, strict=True)])

    def chunks_read(self, stage: Stage) -> Index:
        """Return the stored chunks that the blocks of a stage decode, as often as they do."""
        blocks = np.arange(stage.domain.nblocks)
        mine = {number for number, token in enumerate(stage.inputs) if token == self.token}
        read: list[Index] = []
        whole: list[Index] = []
        for value in stage.program.values:
            by_positions = isinstance(value, Load) and reads_by_positions(value.access)
            grids = [self.chunks if k in mine and by_positions else g for k, g in enumerate(stage.input_grids)]
            items = read if by_positions else whole
            if isinstance(value, Load) and isinstance(value.access, Move | TakePoints) and len(blocks) <= FEW:
                frame, within = value.frame_blocks(stage.domain, blocks)
                own = tuple([grids[k] for k in value.inputs])
                pieces = [piece for block in within.tolist() for piece in value.access.pieces(frame, own, block)]
                items += [np.array([p.block for p in pieces if value.inputs[p.operand] in mine], np.int64)]
            else:
                rows = stage.remake(input_grids=tuple(grids)).rows(value, blocks)
                items += [input_rows.items for k, input_rows in rows if k in mine]
        read += [self._chunks_of(np.arange(self._blocks.nblocks)).of(each) for each in whole if len(each)]
        return np.concatenate([np.zeros(0, np.int64), *read])

    def cut_for(self, stage: Stage) -> Grid:
        """Return the grid of blocks cut along axes of one block each, where blocks of a stage that reads them end."""
        counts = self.grid.counts
        first = max((axis + 1 for axis, count in enumerate(counts) if count > 1), default=0)
        axes, most = list(self.grid.axes), self.grid.largest * self.nbytes // max(1, self.grid.size) // PART
        for axis in range(first, len(axes)):
            borders = self._borders(stage, axis)
            if (every := -(-(len(borders) + 1) // most) if most > 1 else 0) and len(borders[every - 1 :: every]):
                ends = [0, *borders[every - 1 :: every].tolist(), axes[axis].length]
                axes[axis] = Axis.of_sizes(np.diff(ends))
                most //= axes[axis].count
        return Grid(axes)

    def _borders(self, stage: Stage, axis: int) -> Index:
        """Return where, within one axis of the source, blocks of a stage end that take it as it is."""
        for value in stage.program.values:
            if not isinstance(value, Load) or not isinstance(value.access, Move):
                continue
            for number, route in zip(value.inputs, value.access.routes, strict=True):
                if stage.inputs[number] != self.token:  # others may have fewer axes
                    continue
                target, positions = route.axes[axis]
                if isinstance(positions, Slice) and positions.step == 1:
                    read = (value.frame or stage.domain).axes[target] if target is not None else None
                    starts = positions.start + read.start(np.arange(1, read.count)) if read else np.zeros(0, np.int64)
                    return starts[(starts > 0) & (starts < self.grid.shape[axis])]
        return np.zeros(0, np.int64)

    def _chunks_of(self, blocks: Index) -> Rows:
        (rows,) = rechunk(self._blocks.ndim).rows(self._blocks, (self.chunks,), blocks)
        return rows

    def count_in_blocks(self, chunks: Index) -> int:
        """Return how many stored chunks the held blocks have in which these are."""
        index = self.chunks.indices(chunks)
        axes = list(zip(self.grid.axes, self.chunks.axes, strict=True))
        places = [own.find(chunk.start(i)) for (own, chunk), i in zip(axes, index, strict=True)]
        held = distinct(np.asarray(self.grid.number(places)))
        counts = np.ones(len(held), np.int64)
        for (own, chunk), i in zip(axes, self.grid.indices(held), strict=True):
            counts *= chunk.find(own.stop(i) - 1) - chunk.find(own.start(i)) + 1
        return int(counts.sum())


def _aligned(axis: Axis, chunks: Axis) -> Axis:
    """Return an axis's chunks where each has whole stored chunks; else some as large that have."""
    starts = axis.start(np.arange(axis.count))
    if not (starts % chunks.step).any():
        return axis
    return Axis.regular(axis.length, chunks.step * max(1, round(axis.largest / chunks.step)))
