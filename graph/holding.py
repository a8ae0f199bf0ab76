"""Sources that are read once and held: those of which blocks would else decode the same stored chunks again and again.

A compressed chunk is decoded whole, however little of it is wanted. So a stage that reads parts of it for many of its
blocks (a change of chunks, a halo, a transposition) reads a copy of the source instead, whose blocks are whole stored
chunks. So do stages one of which waits for what another makes of the same source, as `x - x.mean()` does, where the
copy fits into memory well. What reads each stored chunk once goes on reading the source, and only what it needs of it;
stages that begin together share what they read (`workers.reading`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .access import distinct
from .expr import Expr, rewrite, with_operands
from .grid import Axis, Grid
from .kinds.mapping import BlockFunction
from .kinds.move import Move, rechunk
from .kinds.points import TakePoints
from .program import Load

if TYPE_CHECKING:
    from collections.abc import Callable

    from .access import Rows
    from .grid import Index
    from .stage import Stage

HELD = BlockFunction("anchors:held")
OFTEN, MUCH = 1.1, 4
"""A source is held where its stored chunks would be decoded more than so many times as often as for the copy; and where
that has no room, and goes to disk."""
FEW = 64
"""Of so many blocks it is looked at piece by piece what they read: at the ends of a halo a block may read one twice."""
MOST = 1 << 22
"""Stored chunks of a source that are counted one by one."""


def hold(source: Expr) -> Expr:
    """Return a copy of a source, in its chunks."""
    return Expr(HELD, (source,), source.grid, source.dtype, source.origin)


def hold_sources(roots: list[Expr], grids: dict[str, Grid], stored: Callable[[str], bool]) -> list[Expr]:
    """Return expressions that read copies of some sources, held on these grids, in place of the sources."""

    def build(node: Expr, operands: tuple[Expr, ...]) -> Expr:
        grid = grids.get(node.token)
        if grid is None:
            return with_operands(node, operands)
        copy = hold(Expr(node.op, (), grid, node.dtype, node.origin))
        return copy if grid == node.grid else Expr(rechunk(grid.ndim), (copy,), node.grid, node.dtype, node.origin)

    made = rewrite(roots, lambda node: node if stored(node.token) else None, build)
    return [root if root.token in grids else new for root, new in zip(roots, made, strict=True)]


def find_read_often(stages: list[Stage], room: int) -> dict[str, Grid]:
    """Return the sources that stages would decode again and again, by token, and the grids on which to hold them.

    `room` is how many bytes all ranks have.
    """
    sources = {s.token: _Stored(s) for s in stages if s.data is not None and s.data.stored is not None and s.grid.size}
    found: dict[str, Grid] = {}
    past: dict[str, frozenset[str]] = {}  # the sources that were read for what each stage makes
    for stage in stages if sources else ():
        before = frozenset().union(*(past.get(token, ()) for token in stage.inputs))
        past[stage.token] = before | {token for token in stage.inputs if token in sources}
        for token in dict.fromkeys(stage.inputs):
            source = sources.get(token)
            if source is None or token in found or source.chunks.nblocks > MOST:
                continue
            read = source.chunks_read(stage)
            wanted = source.count_in_blocks(distinct(read))
            source.total += len(read)
            again = token in before and source.nbytes <= room // 2 and source.total > OFTEN * wanted
            if again or len(read) > (OFTEN if source.nbytes <= room else MUCH) * wanted:
                found[token] = source.grid
    return found


class _Stored:
    """A source's stored chunks, and the grid on which it would be held: its own where no chunk lies across borders."""

    def __init__(self, stage: Stage) -> None:
        assert stage.data is not None
        sizes = stage.data.stored or [axis.largest for axis in stage.grid.axes]
        self.token, self.nbytes, self._blocks = stage.token, stage.grid.size * stage.dtype.itemsize, stage.grid
        self.total = 0
        if stage.data.stored:
            self.chunks = Grid([Axis.regular(n, size) for n, size in zip(stage.grid.shape, sizes, strict=True)])
        else:
            self.chunks = stage.grid
        self.grid = Grid([_aligned(axis, chunk) for axis, chunk in zip(stage.grid.axes, self.chunks.axes, strict=True)])

    def chunks_read(self, stage: Stage) -> Index:
        """Return the stored chunks that the blocks of a stage decode, as often as they do."""
        blocks = np.arange(stage.domain.nblocks)
        mine = {number for number, token in enumerate(stage.inputs) if token == self.token}
        grids = [self.chunks if k in mine else grid for k, grid in enumerate(stage.input_grids)]
        finer = stage.remake(input_grids=tuple(grids))
        read, whole = [], []
        for value in stage.program.values:
            if not isinstance(value, Load) or not isinstance(value.access, Move | TakePoints):
                whole += [rows.items for k, rows in stage.rows(value, blocks) if k in mine]
            elif len(blocks) <= FEW:
                frame, within = value.frame_blocks(stage.domain, blocks)
                own = tuple([grids[k] for k in value.inputs])
                pieces = [piece for block in within.tolist() for piece in value.access.pieces(frame, own, block)]
                read += [np.array([p.block for p in pieces if value.inputs[p.operand] in mine], np.int64)]
            else:
                read += [rows.items for k, rows in finer.rows(value, blocks) if k in mine]
        read += [self._chunks_of(np.arange(self._blocks.nblocks)).of(each) for each in whole if len(each)]
        return np.concatenate([np.zeros(0, np.int64), *read])

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
    if axis is chunks or not (starts % chunks.step).any():
        return axis
    return Axis.regular(axis.length, chunks.step * max(1, round(axis.largest / chunks.step)))
