"""Rank programs: one function that runs on several ranks at once, which talk to each other, and what it fills.

A `Gang` has a block for each of its members, of bytes: what the member fills, one chunk after the other. `Filled` reads
the chunks of one of the arrays out of these. Which chunks a member has follows from grids and the number of members
alone: equal runs of blocks, in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..chunks.block_reads import Piece, Rows, concatenate_ranges
from ..chunks.grid import Axis, Grid, Index
from ..expr.expr import DType, Op

if TYPE_CHECKING:
    from .mapping import Payload

LINE = 64
"""Bytes at whose multiples chunks begin that a member fills."""


def share(nblocks: int, members: int) -> Index:
    """Return where each member's run of blocks begins, and the end.

    Examples
    --------
    >>> share(5, 2).tolist()
    [0, 2, 5]
    """
    borders: Index = np.arange(members + 1, dtype=np.int64) * nblocks // members
    return borders


@dataclass(frozen=True)
class GangOutput:
    """An array that members fill."""

    grid: Grid
    dtype: DType


@dataclass(frozen=True)
class Shares:
    """How a member reads an operand: its run of blocks, whole. See `graph.chunks.block_reads.Access`."""

    members: int

    def rows(self, domain: Grid, sources: tuple[Grid, ...], blocks: Index) -> tuple[Rows, ...]:
        (source,) = sources
        borders = share(source.nblocks, self.members)
        lengths = borders[blocks + 1] - borders[blocks]
        items = concatenate_ranges(borders[blocks], lengths) if len(blocks) else blocks
        return (Rows(np.concatenate([[0], np.cumsum(lengths)]), items),)

    def pieces(self, domain: Grid, sources: tuple[Grid, ...], block: int) -> list[Piece]:
        """See `Access`; they are handed out as they are, and put together nowhere."""
        (source,) = sources
        begin, end = share(source.nblocks, self.members)[block : block + 2].tolist()
        return [Piece(0, number, (), None, None, ()) for number in range(begin, end)]

    def target_shape(self, domain: Grid, block: int) -> tuple[int, ...]:
        return ()


@dataclass(frozen=True)
class Gang(Op):
    """`function(comm, *locals, *outs)` by so many members at once, in a communicator of their own.

    `number` tells calls apart whose results nobody names: they aren't lazy. `timeout` is in seconds. `adds` is as in
    `MapBlocks`. One of Windrow's `own` functions fills all that it is handed, so that this doesn't begin as zeros, and
    answers for no rank's death. `ranks` are where members are to run, none: the scheduler chooses.
    """

    payload: Payload
    members: int
    outs: tuple[GangOutput, ...] = ()
    number: int = 0
    timeout: float | None = None
    adds: str = ""
    own: bool = False
    ranks: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        return self.payload.name or "function"

    @property
    def taken(self) -> str:
        return self.payload.name

    @property
    def foreign(self) -> bool:
        return True

    def grid(self) -> Grid:
        """Return the grid of what members fill, in bytes."""
        sizes = [max(LINE, sum(int(_ends(out, self.members, k)[-1]) for out in self.outs)) for k in range(self.members)]
        return Grid([Axis.of_sizes(sizes)])

    def offsets(self, number: int, member: int) -> Index:
        """Return where the chunks of an array begin in what a member fills, and where the last one ends."""
        before = sum(int(_ends(out, self.members, member)[-1]) for out in self.outs[:number])
        return before + _ends(self.outs[number], self.members, member)


def _ends(out: GangOutput, members: int, member: int) -> Index:
    begin, end = share(out.grid.nblocks, members)[member : member + 2]
    sizes = out.grid.block_sizes(np.arange(int(begin), int(end))) * out.dtype.itemsize
    ends: Index = np.concatenate([[0], np.cumsum(-(-sizes // LINE) * LINE)]).astype(np.int64)
    return ends


@dataclass(frozen=True)
class Filled(Op):
    """One of the arrays that a gang fills, as bytes along its last axis."""

    gang: Gang
    number: int

    @property
    def label(self) -> str:
        return self.gang.label

    @cached_property
    def _borders(self) -> Index:
        return share(self.gang.outs[self.number].grid.nblocks, self.gang.members)

    def _owners(self, blocks: Index) -> Index:
        owners: Index = np.searchsorted(self._borders, blocks, "right") - 1
        return owners

    def rows(self, domain: Grid, sources: tuple[Grid, ...], blocks: Index) -> tuple[Rows, ...]:
        return (Rows(np.arange(len(blocks) + 1), self._owners(blocks)),)

    def pieces(self, domain: Grid, sources: tuple[Grid, ...], block: int) -> list[Piece]:
        member = int(self._owners(np.array([block]))[0])
        at = int(self.gang.offsets(self.number, member)[block - int(self._borders[member])])
        shape = domain.block_shape(block)
        count = int(np.prod(shape))
        return [Piece(0, member, (slice(at, at + count),), None, shape, (slice(None),) * len(shape))]

    def target_shape(self, domain: Grid, block: int) -> tuple[int, ...]:
        return domain.block_shape(block)
