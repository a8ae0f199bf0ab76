"""Kernels that read each input at a place of its own: a program's text for LLVM, over boxes of a block.

The function `cell` takes a pointer for each input and one for the result, which begin where the box does; a row of the
table has the box's extents and the strides along all axes but the last, along which everything is contiguous, or one
element for all positions. The entry goes over the table. Equal text is an equal kernel.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np

from .....graph.chunks.block_reads import ByBlock
from .....graph.kinds.move import Move
from .....graph.kinds.source import Inside
from .....graph.lowering.program import Apply, Generate, Load, Program
from ...interpreter.buffer_plan import plan_for
from ..llvm.kernel_cache import ENTRY
from ..llvm.text import NotCompilable, memory
from .fused import FusedKernel, KernelWriter

_NUMBER = np.dtype(np.int64)
RESULT = -1
"""The result's number among pointers; where it is only moved, the value that is stored has one of its own."""


def compile_strided(program: Program, spaced: bool = False, plain: bool = False) -> FusedKernel:
    """Return the kernel of an elementwise program that reads at offsets, or rows and columns that are broadcast.

    Parameters
    ----------
    program : Program
    spaced : bool, optional
        Neighbours along the last axis needn't be neighbours in memory: the table tells strides along that, too.
    plain : bool, optional
        Programs that read nothing elsewhere are taken, too, and those of arrays without axes, as of one element.

    Raises
    ------
    NotCompilable
        When the program reads otherwise, or has a part that compiled kernels don't take.
    """
    return _Strided(program, spaced=spaced, plain=plain).write()


def find_boxes(program: Program) -> list[Generate]:
    """Return the values that tell whether a position lies in a box: the same in all of a table's row."""
    return [v for v in program.values if isinstance(v, Generate) and isinstance(v.source, Inside)]


@dataclass
class _Strided(KernelWriter):
    spaced: bool = False
    plain: bool = False
    rows: dict[int, str] = field(default_factory=dict)
    apart: dict[int, str] = field(default_factory=dict)
    """Of spaced inputs, and of the result: how many elements neighbours along the last axis are apart."""
    ndim: int = 0

    def write(self) -> FusedKernel:
        """Return the kernel."""
        values, last = self.program.values, len(self.program.values) - 1
        self._check()
        plan = plan_for(self.program, last)
        for i in plan.wholes:
            self._input(i)
        if not self.plain and not any(_needs_strides(values[i]) for i in plan.wholes):
            raise NotCompilable("nothing is read elsewhere")
        self.steps = plan.tiled
        dtype, moved = values[last].dtype, sum(isinstance(values[i].access, Move) for i in plan.wholes)  # type: ignore[union-attr]
        count, ndim = len(self.single), max(1, len(values[last].full))
        self.ndim = ndim
        self._nest(ndim)
        pointers = ["%t", "%scalars", *(f"%a{k}" for k in range(count))]
        parameters = ", ".join(
            [*(f"ptr noalias readonly {p}" for p in pointers), "ptr noalias %out, i64 %from, i64 %to"]
        )
        head = f"define internal void @cell({parameters}) noinline {{"
        text = self.body.whole(head) + _entry(count, count + ndim - 1 if ndim > 1 else None)
        scalars, single = b"".join(self.scalars), tuple(self.single.values())
        steps = len(plan.tiled) + 2 * moved
        conversions = tuple(self.conversions)
        return FusedKernel(text, plan.wholes, single, scalars, dtype, lanes=False, steps=steps, conversions=conversions)

    def _check(self) -> None:
        result = self.program.result
        is_moved = isinstance(result, Load) and (self.plain or _keeps_order(result.access))
        is_elementwise = isinstance(result, Apply) or is_moved
        has_axes = self.plain or bool(result.full)
        if self.program.level is not None or not is_elementwise or not all(result.full) or not has_axes:
            raise NotCompilable("nothing that is made of all positions")

    def _input(self, number: int) -> None:
        value = self.program.values[number]
        is_read = isinstance(value, Load) and isinstance(value.access, ByBlock | Move)
        if not is_read or not (value.full or not self.program.result.full):
            raise NotCompilable("whole blocks")
        memory(value.dtype)
        self.single[number] = not any(value.full)
        self.pointers[number] = f"%a{len(self.pointers)}"

    def _nest(self, ndim: int) -> None:
        """Write the loops over a box."""
        text, count, values = self.body.text, len(self.single), self.program.values
        extents, dtype = count + 1, values[-1].dtype
        with ExitStack() as stack:
            ends = [("0", self._number(extents + axis)) for axis in range(ndim - 2)] + [("%from", "%to")]
            at = [stack.enter_context(self.body.loop(*pair, "1")) for pair in ends[: ndim - 1]]
            strides, width = extents + ndim, ndim if self.spaced else ndim - 1
            begins = {}
            for k, number in enumerate([RESULT, *self.single]):
                begins[number] = "%out" if number == RESULT else self.pointers[number]
                if self.spaced and not self.single.get(number):
                    self.apart[number] = self._number(strides + k * width + ndim - 1)
                if not at or self.single.get(number):
                    continue
                total = ""
                for axis, index in enumerate(at):
                    by = text.set(f"mul i64 {index}, {self._number(strides + k * width + axis)}")
                    total = text.set(f"add i64 {total}, {by}") if total else by
                begins[number] = text.set(
                    f"getelementptr inbounds {memory(values[number].dtype)}, ptr {begins[number]}, i64 {total}"
                )
            for number, single in self.single.items():
                self.pointers[number] = begins[number]
                if not single and not values[number].full[-1]:
                    self.rows[number] = text.load(values[number].dtype, begins[number], "0")
            with self.body.loop("0", self._number(extents + ndim - 1), "1") as i:
                element = self._element(i)
                text.store(dtype, element, begins[RESULT], self._position(RESULT, i))

    def _number(self, slot: int) -> str:
        return self.body.entry.load(_NUMBER, "%t", str(slot))

    def _generated(self, step: Generate) -> str:
        if not isinstance(step.source, Inside) or step.axes != tuple(range(self.ndim)):
            return super()._generated(step)
        inputs = len(self.single) + 1
        width = self.ndim if self.spaced else self.ndim - 1
        slot = inputs + self.ndim + inputs * width + find_boxes(self.program).index(step)
        return self.body.entry.set(f"icmp ne i64 {self._number(slot)}, 0")

    def _read(self, number: int, position: str) -> str:
        if number in self.rows:
            return self.rows[number]
        return super()._read(number, self._position(number, position))

    def _position(self, number: int, position: str) -> str:
        """Write where a pointer's element at a position along the last axis lies."""
        apart = self.apart.get(number)
        return position if apart is None else self.body.text.set(f"mul i64 {position}, {apart}")


def _keeps_order(access: object) -> bool:
    """Whether what is moved keeps the order of its axes, so that rows stay rows: copying is all that is to be done."""
    return isinstance(access, Move) and all(route.order is None for route in access.routes)


def _needs_strides(value: object) -> bool:
    """Whether a value isn't read as a whole block in C order, or one element."""
    assert isinstance(value, Load)
    return isinstance(value.access, Move) or (any(value.full) and not all(value.full))


def _entry(count: int, rows: int | None) -> str:
    """Write the loops over the table: `kernel(table, scalars, boxes, width, beside, rows)`.

    Boxes come in groups of so many that lie `beside` each other; of those of a group so many rows are gone over at a
    time, so that a line of memory that two of them read comes once. A box's rows are in its entry `rows`.
    """
    lines = [f"define void @{ENTRY}(ptr %table, ptr %scalars, i64 %boxes, i64 %width, i64 %beside, i64 %rows) {{"]
    lines += ["entry:", "  br label %group", "group:", "  %g = phi i64 [ 0, %entry ], [ %g.next, %group.next ]"]
    lines += ["  %g.more = icmp slt i64 %g, %boxes", "  br i1 %g.more, label %band.first, label %done", "band.first:"]
    lines += ["  %g.at = mul i64 %g, %width", "  %g.t = getelementptr i64, ptr %table, i64 %g.at"]
    if rows is None:
        lines += ["  %extent = add i64 0, 1"]
    else:
        lines += [f"  %g.rows = getelementptr i64, ptr %g.t, i64 {rows}", "  %extent = load i64, ptr %g.rows, align 8"]
    lines += ["  br label %band", "band:", "  %from = phi i64 [ 0, %band.first ], [ %next, %band.next ]"]
    lines += ["  %more = icmp slt i64 %from, %extent", "  br i1 %more, label %box.first, label %group.next"]
    lines += ["box.first:", "  %next = add i64 %from, %rows", "  %over = icmp slt i64 %next, %extent"]
    lines += ["  %to = select i1 %over, i64 %next, i64 %extent", "  br label %box", "box:"]
    lines += ["  %k = phi i64 [ 0, %box.first ], [ %k.next, %box.body ]", "  %k.more = icmp slt i64 %k, %beside"]
    lines += ["  br i1 %k.more, label %box.body, label %band.next", "box.body:", "  %at = mul i64 %k, %width"]
    lines += ["  %t = getelementptr i64, ptr %g.t, i64 %at"]
    for k in range(count + 1):
        lines += [f"  %s{k} = getelementptr i64, ptr %t, i64 {k}", f"  %p{k} = load ptr, ptr %s{k}, align 8"]
    arguments = ", ".join(["ptr %t", "ptr %scalars", *(f"ptr %p{k}" for k in range(1, count + 1)), "ptr %p0"])
    lines += [f"  call void @cell({arguments}, i64 %from, i64 %to)", "  %k.next = add i64 %k, 1", "  br label %box"]
    lines += ["band.next:", "  br label %band", "group.next:", "  %g.next = add i64 %g, %beside", "  br label %group"]
    return "\n".join([*lines, "done:", "  ret void", "}", ""])
