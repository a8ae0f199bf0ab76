"""Programs: what a stage does to one block, as a short list of values in SSA form.

A value is read from an input, generated from positions, applied elementwise, or computed from whole blocks. All
values are seen in the frame of the stage's domain: `full` says along which of its axes a value really extends.
Programs name their kernels; only users' functions are pickled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..chunks.block_reads import ByBlock, Rows
    from ..chunks.grid import Grid, Index
    from ..expr.expr import DType
    from ..kinds.contraction import Contract
    from ..kinds.elementwise import Arg
    from ..kinds.gang import Filled, Gang, Shares
    from ..kinds.mapping import BlockFunction, MapBlocks
    from ..kinds.move import Move
    from ..kinds.points import PutPoints, TakePoints
    from ..kinds.reduction import Level
    from ..kinds.reshape import Reshape, ReshapeBlocks
    from ..kinds.source import Source

Mask = tuple[bool, ...]


@dataclass(frozen=True)
class Load:
    """A block read from the stage's inputs (their numbers) by an access.

    A move has a grid of its own, `frame`, whose axes run along `axes` of the domain. `full` is empty for what only a
    function of whole blocks takes, and what has no place in the domain's frame.
    """

    access: ByBlock | Move | Reshape | ReshapeBlocks | TakePoints | PutPoints | Shares | Filled
    inputs: tuple[int, ...]
    dtype: DType
    full: Mask
    frame: Grid | None = None
    axes: tuple[int | None, ...] = ()

    def frame_blocks(self, domain: Grid, blocks: Index) -> tuple[Grid, Index]:
        """Return the grid that the access speaks of, and the blocks in it for blocks of the domain."""
        if self.frame is None:
            return domain, blocks
        index = domain.indices(blocks)
        picked = [0 if a is None or n == 1 else index[a] for a, n in zip(self.axes, self.frame.counts, strict=True)]
        number = np.broadcast_to(np.asarray(self.frame.number(picked), np.int64), blocks.shape)
        return self.frame, number


@dataclass(frozen=True)
class Generate:
    """A source's elements; `axes` gives the domain's axis for each of its own, `shape` its own shape."""

    source: Source
    axes: tuple[int | None, ...]
    shape: tuple[int, ...]
    dtype: DType
    full: Mask


@dataclass(frozen=True)
class Apply:
    """`function(*args)`; an integer argument is the number of an earlier value."""

    function: str
    args: tuple[Arg, ...]
    dtype: DType
    full: Mask


@dataclass(frozen=True)
class Call:
    """A function of whole blocks."""

    op: MapBlocks | BlockFunction | Gang
    args: tuple[int, ...]
    dtype: DType
    full: Mask


@dataclass(frozen=True)
class Fused:
    """An operand that is computed where it is read: a program over its own blocks, which loads the stage's inputs."""

    program: Program
    grid: Grid


Operand = int | Fused
"""Of a product: the number of an input, or what is computed from inputs."""


@dataclass(frozen=True)
class Product:
    """A block of a contraction of two operands."""

    op: Contract
    operands: tuple[Operand, Operand]
    dtype: DType
    full: Mask

    @property
    def fused(self) -> tuple[Fused, ...]:
        """The operands that are computed, each once."""
        return tuple(dict.fromkeys(operand for operand in self.operands if isinstance(operand, Fused)))


Value = Load | Generate | Apply | Call | Product


class ProgramForm:
    """What programs share that differ in scalars alone, over the same grids: what follows from it is found once.

    `reads` of inputs, by the blocks of a task and of each input's; `offsets` of blocks in slabs, by task and the blocks
    of one. Of small grids alone, unless it `recurs`: stages are kept for lineage long after what they read is done.
    Ranks keep pieces, layouts and buffers by it. What is sent begins anew, empty.
    """

    def __init__(self) -> None:
        self.recurs = False
        self.reads: dict[tuple[int, ...], list[Rows]] = {}
        self.offsets: dict[tuple[int, int], Index] = {}

    def __reduce__(self) -> tuple[type[ProgramForm], tuple[()]]:
        return ProgramForm, ()


@dataclass(frozen=True, eq=False)
class Program:
    """Values in order; the last one is the result, or what `level` reduces."""

    values: tuple[Value, ...]
    level: Level | None = None
    form: ProgramForm = field(default_factory=ProgramForm, repr=False)

    @property
    def result(self) -> Value:
        """The last value."""
        return self.values[-1]

    @property
    def only(self) -> Value | None:
        """The value, if the program is that alone, and reduces nothing."""
        return self.values[0] if len(self.values) == 1 and self.level is None else None

    @property
    def operations(self) -> tuple[str, ...]:
        """Names of what it does, in order; reading whole blocks is none."""
        names = [_name(value) for value in self.values]
        return tuple(name for name in [*names, "" if self.level is None else self.level.label] if name)


def _name(value: Value) -> str:
    if isinstance(value, Apply):
        return value.function
    if isinstance(value, Generate):
        return value.source.label
    if isinstance(value, Load):
        return getattr(value.access, "label", "")
    return value.op.label
