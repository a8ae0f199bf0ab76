"""What a step does to a slab: items over the positions of what is carried, each with what it reads nearby.

Positions are those of the carried arrays, all of one shape. An item is defined in its box: along each axis from a
position to another, or everywhere (None) along an axis that is periodic, or along which it doesn't change. It may reach
beyond the arrays' ends: that is what padding makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..kinds.elementwise import Scalar

if TYPE_CHECKING:
    from ..chunks.grid import Grid
    from ..expr.expr import DType
    from ..kinds.mapping import MapBlocks

Span = tuple[int, int] | None
Box = tuple[Span, ...]
Shift = tuple[int, ...]


@dataclass(frozen=True)
class Read:
    """The value of an item `shift` further along."""

    item: int
    shift: Shift


@dataclass(frozen=True)
class Single:
    """A value without axes, by its number in the plan's `singles`."""

    number: int


Arg = Read | Single | Scalar
Fills = tuple[tuple[Box, Arg], ...]


@dataclass(frozen=True)
class StencilLeaf:
    """An array that a step begins with; `fills` are what its margins beyond the ends hold, painted in order.

    `along` tells the axes that it has; it is the same along the others.
    """

    number: int
    dtype: DType
    box: Box
    along: tuple[bool, ...]
    fills: Fills = ()


@dataclass(frozen=True)
class Point:
    """`function(*args)` at each position."""

    function: str
    args: tuple[Arg, ...]
    dtype: DType
    box: Box


@dataclass(frozen=True)
class Paint:
    """Parts put over each other in order, each in a box of its own; together they cover the item's box."""

    parts: tuple[tuple[Box, Arg], ...]
    dtype: DType
    box: Box


@dataclass(frozen=True)
class Margins:
    """An array that a function of blocks takes: a leaf, and how far blocks reach beyond their own positions.

    Where an axis's ends are `open` there is no margin beyond them.
    """

    read: Read
    depths: tuple[tuple[int, int], ...]
    open: tuple[bool, ...]


@dataclass(frozen=True)
class BlockCall:
    """A user's function of the blocks of `grid`, with margins; what it returns is a block of the item."""

    op: MapBlocks
    operands: tuple[Margins, ...]
    grid: Grid
    dtype: DType
    box: Box


Item = StencilLeaf | Point | Paint | BlockCall


@dataclass(frozen=True)
class StencilValue:
    """A value without axes: carried or taken from outside (`function` is empty), or computed from others."""

    function: str
    args: tuple[Single | Scalar, ...]
    dtype: DType


@dataclass(frozen=True)
class HaloPlan:
    """A step over arrays of one shape.

    `items` come in order; `outs` are the items that the carried arrays become, whose leaves are the first ones.
    `singles` are values without axes, `single_outs` what the carried ones become; those come first, then those taken
    from outside, then computed ones.
    """

    shape: tuple[int, ...]
    periodic: tuple[bool, ...]
    items: tuple[Item, ...]
    outs: tuple[int, ...]
    singles: tuple[StencilValue, ...]
    single_outs: tuple[int, ...]

    @cached_property
    def leaves(self) -> tuple[StencilLeaf, ...]:
        """What a step begins with; the carried arrays first."""
        return tuple(item for item in self.items if isinstance(item, StencilLeaf))

    @cached_property
    def calls(self) -> tuple[int, ...]:
        """The items that are functions of blocks."""
        return tuple(number for number, item in enumerate(self.items) if isinstance(item, BlockCall))

    @cached_property
    def depths(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """How far before and after a region each item must be known, along each axis, for the results in the region."""
        depths = [[[0, 0] for _ in self.shape] for _ in self.items]
        for number in reversed(range(len(self.items))):
            item, mine = self.items[number], depths[number]
            if isinstance(item, BlockCall):
                for operand in item.operands:
                    for axis, pair in enumerate(operand.depths):
                        other = depths[operand.read.item][axis]
                        other[:] = max(other[0], pair[0]), max(other[1], pair[1])
                continue
            for read in reads(item):
                for axis, shift in enumerate(read.shift):
                    other = depths[read.item][axis]
                    other[0] = max(other[0], mine[axis][0] - shift)
                    other[1] = max(other[1], mine[axis][1] + shift)
        return tuple(tuple((before, after) for before, after in each) for each in depths)


def reads(item: Item) -> list[Read]:
    """Return what an item reads of others."""
    args: tuple[Any, ...] = ()
    if isinstance(item, Point):
        args = item.args
    elif isinstance(item, Paint):
        args = tuple(arg for _, arg in item.parts)
    elif isinstance(item, BlockCall):
        args = tuple(operand.read for operand in item.operands)
    return [arg for arg in args if isinstance(arg, Read)]
