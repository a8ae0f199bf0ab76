"""Fused kernels: a program's text for LLVM, where it is one loop over elements in C order.

The function takes a pointer for each input, one to the scalars (eight bytes each), one to the result, then
how many blocks there are, how many elements a block has, and how `tile_regions.regions` cuts it: groups of so many
elements, in each tiles of so many. Sums of floats go on 512 lanes as in `reductions`. Equal text is an equal
kernel: scalars and lengths are arguments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .....graph.lowering.program import Apply, Load, Program
from ...interpreter.buffer_plan import plan_for
from ...interpreter.tile_regions import TILE
from ..llvm.kernel_cache import ENTRY
from ..llvm.steps import KernelScalar, StepWriter
from ..llvm.text import DType, NotCompilable
from .loops import Loops, sums_on_lanes


@dataclass(frozen=True)
class FusedKernel:
    """A kernel's text and what one program hands it.

    `loads` are the numbers of the values that are its inputs, `single` tells which are one element for all
    positions; `steps` is how many loops NumPy would make of it; `scalars` are the bytes of its scalars. `dtype` is
    what it writes: an element for each of the program's, or of a reduction one for each block. `lanes` says that it
    sums on lanes, which it gives as they are when it is told of no blocks, but of one tile. `conversions` tell
    what each of the scalars of a strided kernel is converted to.
    """

    text: str
    loads: tuple[int, ...]
    single: tuple[bool, ...]
    scalars: bytes
    dtype: DType
    lanes: bool
    steps: int
    conversions: tuple[KernelScalar, ...] = ()


def compile_fused(program: Program) -> FusedKernel:
    """Return the fused kernel of a program.

    Raises
    ------
    NotCompilable
        When the program isn't one loop over elements, or has a part that compiled kernels don't take.
    """
    return KernelWriter(program).write()


def cuts(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return the elements of a block, of its groups and of their tiles: the cuts of `tile_regions.regions`."""
    size = math.prod(shape)
    if size <= TILE:
        return size, size, size
    group = inner = size
    for n in shape:
        group, inner = inner, inner // n
        if inner <= TILE:
            break
    return size, group, min(group, max(1, TILE // inner) * inner)


@dataclass
class KernelWriter(StepWriter):
    """Writes a program's text; other kernels say how they read."""

    pointers: dict[int, str] = field(default_factory=dict)
    single: dict[int, bool] = field(default_factory=dict)

    def write(self) -> FusedKernel:
        values, level = self.program.values, self.program.level
        last = len(values) - 1
        self._check()
        plan = plan_for(self.program, last)
        for i in plan.wholes:
            self._input(i)
        if all(self.single.values()):
            raise NotCompilable("nothing is read")
        self.steps = plan.tiled
        loops, dtype = Loops(self.body, self._element), values[last].dtype
        result_dtype = loops.store(dtype) if level is None else loops.reduce(level.reduce.head, dtype, level.target)
        inputs = "".join(f"ptr noalias readonly {p}, " for p in self.pointers.values())
        lengths = "i64 %blocks, i64 %size, i64 %group, i64 %tile"
        text = self.body.whole(
            f"define void @{ENTRY}({inputs}ptr noalias readonly %scalars, ptr noalias %out, {lengths}) {{"
        )
        single, scalars = tuple(self.single.values()), b"".join(self.scalars)
        steps = len(plan.tiled) + (level is not None)
        lanes = level is not None and sums_on_lanes(level.reduce.head, level.target)
        return FusedKernel(text, plan.wholes, single, scalars, result_dtype, lanes, steps)

    def _check(self) -> None:
        """Refuse what isn't arithmetic on whole blocks."""
        level, result = self.program.level, self.program.result
        if level is not None and set(level.reduce.axes) != set(range(len(result.full))):
            raise NotCompilable("a reduction along some axes")
        # NumPy looks no further than the first truth.
        plain = level is not None and isinstance(result, Load) and level.reduce.head not in ("any", "all")
        if not isinstance(result, Apply) and not plain:
            raise NotCompilable("no arithmetic")
        if not all(result.full):
            raise NotCompilable("a result that is broadcast")

    def _input(self, number: int) -> None:
        value = self.program.values[number]
        if not isinstance(value, Load):
            raise NotCompilable("whole blocks")
        if any(value.full) and not all(value.full):
            raise NotCompilable("rows that are broadcast")
        self.single[number] = not all(value.full)
        self.pointers[number] = f"%a{len(self.pointers)}"

    def _element(self, position: str) -> str:
        """Write the program's last value at a position of the inputs."""
        registers: dict[int, str] = {}
        values = self.program.values
        for number in self.single:
            registers[number] = self._read(number, position)
        for number in self.steps:
            registers[number] = self.write_step(values[number], registers)
        return registers[len(values) - 1]

    def _read(self, number: int, position: str) -> str:
        """Write the load of an input's element: one for all positions is loaded once."""
        text, at = (self.body.entry, "0") if self.single[number] else (self.body.text, position)
        return text.load(self.program.values[number].dtype, self.pointers[number], at)
