"""How a block reads its inputs: rows of input blocks for the ledger, pieces of them for the kernel.

`Rows` is the sparse relation (result block -> input blocks) in CSR form, made for many blocks at once. A `Piece` is
one rectangle of one input block and the place where it goes in the result's block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..few import ascending, distinct

if TYPE_CHECKING:
    from .grid import Grid, Index

Pick = slice | int | NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Row i holds `items[start[i]:start[i + 1]]`."""

    start: Index
    items: Index

    @property
    def lengths(self) -> Index:
        return self.start[1:] - self.start[:-1]

    def of(self, rows: Index) -> Index:
        """Return the items of some rows, one after the other."""
        if len(rows) == 1:
            row = int(rows[0])
            return self.items[self.start[row] : self.start[row + 1]]
        first = self.start[rows]
        return self.items[concatenate_ranges(first, self.start[rows + 1] - first)]

    def row_numbers(self) -> Index:
        """Return the number of its row for each item."""
        return ascending(0, len(self.start) - 1).repeat(self.lengths)

    @classmethod
    def from_pairs(cls, row: Index, item: Index, nrows: int, nitems: int) -> Rows:
        """Return the relation that holds each of the pairs once."""
        code = row * nitems + item
        steps = code[1:] - code[:-1]
        if (steps < 0).any():
            if nrows * nitems <= 4 * len(code):  # a table of all pairs is smaller than what would be sorted
                table = np.zeros(nrows * nitems, bool)
                table[code] = True
                code = np.flatnonzero(table)
            else:
                code = distinct(code)
        elif not steps.all():
            code = code[np.concatenate([[True], steps > 0])]
        row, item = code // nitems, code % nitems
        return cls(np.searchsorted(row, np.arange(nrows + 1)), item)

    def inverse(self, nitems: int) -> Rows:
        """Return the relation read backwards; it is remembered, as a form's relations serve many times."""
        known: tuple[int, Rows] | None = self.__dict__.get("_inverse")
        if known is None or known[0] != nitems:
            known = self.__dict__["_inverse"] = nitems, self._invert(nitems)
        return known[1]

    def _invert(self, nitems: int) -> Rows:
        order = np.argsort(self.items, kind="stable")
        return Rows(np.searchsorted(self.items[order], np.arange(nitems + 1)), self.row_numbers()[order])


def concatenate_ranges(start: Index, length: Index) -> Index:
    """Return `start[0], …, start[0]+length[0]-1, start[1], …`."""
    if len(start) < 2:
        return ascending(int(start[0]), int(start[0] + length[0])) if len(start) else start
    ends: Index = length.cumsum()
    positions: Index = (start - ends + length).repeat(length) + ascending(0, int(ends[-1]))
    return positions


class Into(NamedTuple):
    """A part of a piece's target under another shape: `target[where].reshape(shape)`, which is a view."""

    where: tuple[slice, ...]
    shape: tuple[int, ...]


class Piece(NamedTuple):
    """`target[put] = transform(block[take])`.

    `order` transposes what was taken, `shape` reshapes it (None: as it is); `put` has an entry for each axis of the
    target, or of what `into` makes of it.

    Arrays of positions in `take`, or in `put`, are read crosswise; with `points` together, one position of each for a
    point, and the points are the first axis of what is taken or put.
    """

    operand: int
    block: int
    take: tuple[Pick, ...]
    order: tuple[int, ...] | None
    shape: tuple[int, ...] | None
    put: tuple[Pick, ...]
    points: bool = False
    into: Into | None = None


class Access(Protocol):
    """The index arithmetic of one way of reading."""

    def rows(self, domain: Grid, sources: tuple[Grid, ...], blocks: Index) -> tuple[Rows, ...]:
        """Return, for each operand, which of its blocks each of the domain's blocks reads."""
        ...

    def pieces(self, domain: Grid, sources: tuple[Grid, ...], block: int) -> list[Piece]:
        """Return the pieces that make up one block of the domain."""
        ...

    def target_shape(self, domain: Grid, block: int) -> tuple[int, ...]:
        """Return the shape of the target that the pieces' `put` speaks of."""
        ...


@dataclass(frozen=True)
class ByBlock:
    """The block with the same index. `axes[i]` is the domain's axis that the operand's axis i runs along.

    None, or an operand with one block along an axis where the domain has several: that block serves all.
    """

    axes: tuple[int | None, ...]

    def source_block(self, domain: Grid, source: Grid, block: int) -> int:
        """Return the block that one block of the domain reads."""
        index = domain.index(block)
        picked = [0 if a is None or n == 1 else index[a] for a, n in zip(self.axes, source.counts, strict=True)]
        return int(source.number(picked))

    def rows(self, domain: Grid, sources: tuple[Grid, ...], blocks: Index) -> tuple[Rows, ...]:
        (source,) = sources
        start = ascending(0, len(blocks) + 1)
        if source.counts == domain.counts and self.axes == tuple(range(domain.ndim)):
            return (Rows(start, blocks),)
        index = domain.indices(blocks)
        picked = [0 if a is None or n == 1 else index[a] for a, n in zip(self.axes, source.counts, strict=True)]
        return (Rows(start, np.broadcast_to(np.asarray(source.number(picked), np.int64), blocks.shape)),)


def product_rows(counts: tuple[int, ...], per_axis: list[Rows]) -> Rows:
    """Return the outer product of relations along the axes of a source with `counts` blocks on each.

    Each relation has a row for each result block; the items become block numbers of the source.
    """
    rows = per_axis[0] if per_axis else None
    assert rows is not None
    start, number = rows.start, rows.items
    for count, axis in zip(counts[1:], per_axis[1:], strict=True):
        row = ascending(0, len(start) - 1).repeat(np.diff(start))
        lengths = axis.lengths[row]
        items = axis.items[concatenate_ranges(axis.start[row], lengths)]
        number = np.repeat(number, lengths) * count + items
        ends = np.concatenate([[0], np.cumsum(lengths)])
        start = ends[start]
    return Rows(start, number)
