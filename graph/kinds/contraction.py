"""Contractions: products summed over shared axes (matmul, tensordot), block by block.

Axes are labelled; a label that the result lacks is summed over. The blocks along the summed axes are added in order
within a task; when there are few result blocks, `split` cuts the sum into that many parts, each a block of a new
first axis, which a reduction adds up. The split follows from the grids alone. Each part is as large as the result:
where the operands are no larger than all of them, the result is cut into smaller blocks instead (`cut_blocks`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..chunks.block_reads import Rows
from ..chunks.grid import Grid
from ..expr.expr import Op

if TYPE_CHECKING:
    from ..chunks.grid import Index

WANTED_TASKS = 16
LEAST = 64


@dataclass(frozen=True)
class Contract(Op):
    """`out[...] = sum left[...] * right[...]` with integer labels for the axes."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    out: tuple[int, ...]
    split: int = 1
    order: tuple[int, ...] | None = None
    """The summed labels in order; None: as they are in the left operand. The bits follow from it."""

    @property
    def label(self) -> str:
        return "matmul"

    @property
    def summed(self) -> tuple[int, ...]:
        """Labels that are summed over, in order."""
        if self.order is not None:
            return self.order
        return tuple(label for label in self.left if label in self.right and label not in self.out)

    def inner_counts(self, left: Grid) -> tuple[int, ...]:
        """Number of blocks along each summed axis."""
        return tuple(left.counts[self.left.index(label)] for label in self.summed)

    def span(self, left: Grid) -> int:
        """Number of summed blocks that one part of the split covers."""
        return -(-math.prod(self.inner_counts(left)) // self.split)

    def reads(self, domain: Grid, left: Grid, right: Grid, block: int) -> list[tuple[int, int]]:
        """Return the pairs of input blocks that a block of the result multiplies, in order."""
        index = domain.index(block)
        part, index = (index[0], index[1:]) if self.split > 1 else (0, index)
        where = dict(zip(self.out, index, strict=True))
        summed, counts = self.summed, self.inner_counts(left)
        total = math.prod(counts)
        span = -(-total // self.split)
        pairs: list[tuple[int, int]] = []
        for k in range(part * span, min(total, (part + 1) * span)):
            rest = k
            for label, count in zip(reversed(summed), reversed(counts), strict=True):
                rest, where[label] = divmod(rest, count)
            pairs.append((left.number([where[a] for a in self.left]), right.number([where[a] for a in self.right])))
        return pairs

    def rows(self, domain: Grid, left: Grid, right: Grid, blocks: Index) -> tuple[Rows, Rows]:
        """Return which blocks of the two operands each block of the result reads."""
        index = domain.indices(blocks)
        counts = self.inner_counts(left)
        total, span = math.prod(counts), self.span(left)
        part = index.pop(0) if self.split > 1 else np.zeros(len(blocks), np.int64)
        k = part[:, None] * span + np.arange(span)
        valid = k < total
        inner = np.unravel_index(np.minimum(k, total - 1), counts) if counts else ()
        where = {label: i[:, None] for label, i in zip(self.out, index, strict=True)}
        where |= dict(zip(self.summed, inner, strict=True))
        both: list[Rows] = []
        for labels, grid in ((self.left, left), (self.right, right)):
            number = np.broadcast_to(grid.number([where[a] for a in labels]), k.shape)
            both.append(Rows(np.concatenate([[0], np.cumsum(valid.sum(1))]), number[valid]))
        return both[0], both[1]


def split_for(counts_out: int, counts_inner: int) -> int:
    """Return into how many parts a sum over `counts_inner` blocks is cut."""
    if counts_out >= WANTED_TASKS or counts_inner < 2:
        return 1
    return min(counts_inner, -(-WANTED_TASKS // counts_out))


def cut_blocks(grid: Grid) -> Grid:
    """Return the grid with blocks halved along their longest axis, until there are as many as tasks are wanted.

    Blocks keep at least `LEAST` positions along each axis that is cut.
    """
    pieces = [1] * grid.ndim
    while grid.nblocks * math.prod(pieces) < WANTED_TASKS:
        lengths = [axis.largest // n for axis, n in zip(grid.axes, pieces, strict=True)]
        longest = max(range(grid.ndim), key=lengths.__getitem__, default=0)
        if not lengths or lengths[longest] < 2 * LEAST:
            break
        pieces[longest] *= 2
    return Grid([axis.cut(n) for axis, n in zip(grid.axes, pieces, strict=True)])
