"""A step of a slab as a text for LLVM: tile by tile, one item that is held after the other.

The kernel takes a table of integers: for each buffer the address at which its position 0 would be, and its strides but
for the last axis's; then the ends of boxes, the arrays' lengths, the extents of a tile. Items that are held lie in
scratch memory of a tile's size, with margins. Each item is a function of its own, so that its buffers are known not to
overlap; what isn't held is computed where it is read.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.kinds.elementwise import Scalar
from ...graph.stencil.plan import Arg, BlockCall, Box, Paint, Point, Read, Shift, Single, StencilLeaf
from ..kernels.compiled.llvm.instructions import UFUNCS
from ..kernels.compiled.llvm.kernel_cache import ENTRY
from ..kernels.compiled.llvm.promotion import Given, constant, loop
from ..kernels.compiled.llvm.text import Body, DType, NotCompilable, Text, cast, kind, register

if TYPE_CHECKING:
    from .regions import SlabLayout

BUFFER, BOUND, LENGTH, TILE = "buffer", "bound", "length", "tile"


class _Functions(Body):
    """Functions one after the other, whose loops are numbered through."""

    def end(self, head: str) -> str:
        """Return a function's text, and begin the next."""
        lines = [head, "entry:", *self.entry.lines, "  br label %start", "start:", *self.text.lines, "  ret void", "}"]
        self.entry, self.text = Text("e"), Text()
        return "\n".join(lines)


@dataclass
class StepText:
    """Writes the kernel of a layout; afterwards `slots` tells what the table holds, `scalars` what the scalars are.

    Buffers are leaves and held items, by number; a result's lies in the state that a step makes.
    """

    layout: SlabLayout
    slots: dict[tuple[Any, ...], int] = field(default_factory=dict)
    scalars: list[bytes] = field(default_factory=list)
    singles: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.plan = self.layout.plan
        self.ndim = len(self.plan.shape)
        self.scratch = [n for n in self.layout.held if n not in self.plan.outs]

    def write(self) -> str:
        """Return the text, or raise NotCompilable."""
        self.body = _Functions()
        functions, calls = [], []
        for number in self.layout.held:
            self.used: dict[int, str] = {}
            self._item(number)
            pointers = [f"ptr noalias {'' if n == number else 'readonly '}{name}" for n, name in self.used.items()]
            ends = [f"i64 %{end}{axis}" for axis in range(self.ndim) for end in ("lo", "hi")]
            parameters = ", ".join(["ptr noalias readonly %table", "ptr noalias readonly %scalars", *pointers, *ends])
            functions.append(self.body.end(f"define internal void @item{number}({parameters}) alwaysinline {{"))
            calls.append((number, list(self.used)))
        functions.append(self._outer(calls))
        return "\n".join([*functions, self.body.metadata()])

    # ---------------------------------------------------------------- the table

    def _slot(self, *key: Any) -> int:
        return self.slots.setdefault(key, len(self.slots))

    def _number(self, text: Text, *key: Any) -> str:
        return text.load(np.dtype(np.int64), "%table", str(self._slot(*key)))

    def _outer(self, calls: list[tuple[int, list[int]]]) -> str:
        """Write the loops over tiles."""
        body, text = self.body, self.body.text
        with ExitStack() as stack:
            ends: list[tuple[str, str]] = []
            for axis in range(self.ndim):
                first, last = ("%first", "%last") if axis == 0 else ("0", self._number(body.entry, LENGTH, axis))
                step = self._number(body.entry, TILE, axis)
                lo = stack.enter_context(body.loop(first, last, step))
                ends.append((lo, body.least(text.set(f"add i64 {lo}, {step}"), last)))
            for number, buffers in calls:
                pointers = [f"ptr {self._pointer(text, n, ends)}" for n in buffers]
                arguments = ", ".join(
                    ["ptr %table", "ptr %scalars", *pointers, *(f"i64 {e}" for pair in ends for e in pair)]
                )
                text.lines.append(f"  call void @item{number}({arguments})")
        return body.end(f"define void @{ENTRY}(ptr %table, ptr %scalars, i64 %first, i64 %last, i64 %c, i64 %d) {{")

    def _pointer(self, text: Text, number: int, ends: list[tuple[str, str]]) -> str:
        """Write where position 0 of a buffer would be."""
        address = text.set(f"inttoptr i64 {self._number(self.body.entry, BUFFER, number)} to ptr")
        if number not in self.scratch:
            return address
        total = "0"
        for axis, (lo, _) in enumerate(ends):
            at = text.set(f"sub i64 {lo}, {self.plan.depths[number][axis][0]}")
            if axis < self.ndim - 1:
                at = text.set(f"mul i64 {at}, {self._number(self.body.entry, 'stride', number, axis)}")
            total = text.set(f"add i64 {total}, {at}")
        back = text.set(f"sub i64 0, {total}")
        size = self.plan.items[number].dtype.itemsize
        return text.set(f"getelementptr i8, ptr {address}, i64 {text.set(f'mul i64 {back}, {size}')}")

    # ---------------------------------------------------------------- items

    def _item(self, number: int) -> None:
        item = self.plan.items[number]
        self.root = number
        self._use(number)
        if isinstance(item, Paint):
            for box, arg in item.parts:
                self._nest(number, [item.box, box], item.dtype, arg)
        else:
            self._nest(number, [item.box], item.dtype, Read(number, (0,) * self.ndim))

    def _nest(self, number: int, boxes: list[Box], dtype: DType, arg: Arg) -> None:
        """Write the loops that store an item, or a part of it."""
        entry = self.body.entry
        self.made: dict[tuple[int, Shift], str] = {}
        with ExitStack() as stack:
            self.at = []
            for axis, (before, after) in enumerate(self.plan.depths[number]):
                lo = entry.set(f"sub i64 %lo{axis}, {before}")
                hi = entry.set(f"add i64 %hi{axis}, {after}")
                for box in boxes:
                    if (span := box[axis]) is not None:
                        lo = _choose(entry, "sgt", lo, self._number(entry, BOUND, axis, span[0]))
                        hi = _choose(entry, "slt", hi, self._number(entry, BOUND, axis, span[1]))
                self.at.append(stack.enter_context(self.body.loop(lo, hi, "1")))
            value, source = self._value(arg, top=arg == Read(number, (0,) * self.ndim))
            value = cast(self.body.text, value, source, dtype)
            self.body.text.store(dtype, value, self._use(number), self._index(number, (0,) * self.ndim))

    def _use(self, number: int) -> str:
        return self.used.setdefault(number, f"%b{number}")

    def _index(self, number: int, shift: Shift) -> str:
        """Write where an element lies in a buffer."""
        text, item = self.body.text, self.plan.items[number]
        along = item.along if isinstance(item, StencilLeaf) else (True,) * self.ndim
        total = "0"
        for axis, (at, by, here) in enumerate(zip(self.at, shift, along, strict=True)):
            if not here:
                continue
            place = text.set(f"add i64 {at}, {by}") if by else at
            if axis < self.ndim - 1:
                place = text.set(f"mul i64 {place}, {self._number(self.body.entry, 'stride', number, axis)}")
            total = place if total == "0" else text.set(f"add i64 {total}, {place}")
        return total

    def _value(self, arg: Arg, top: bool = False) -> tuple[str, DType]:
        """Write a value at the position where the loops are; return it with its dtype."""
        if isinstance(arg, Single):
            return self._single(arg.number), self.plan.singles[arg.number].dtype
        if isinstance(arg, Scalar):
            dtype = np.asarray(arg.value).dtype
            return self._scalar(arg.value, dtype, "full"), dtype
        item = self.plan.items[arg.item]
        key = (arg.item, arg.shift)
        if not top and (isinstance(item, StencilLeaf | BlockCall) or arg.item in self.layout.held):
            if key not in self.made:
                self.made[key] = self.body.text.load(item.dtype, self._use(arg.item), self._index(arg.item, arg.shift))
        elif key not in self.made:
            assert isinstance(item, Point)
            self.made[key] = self._point(item, arg.shift)
        return self.made[key], item.dtype

    def _point(self, item: Point, shift: Shift) -> str:
        name, text = item.function, self.body.text
        wanted, dtype = self._loop(item)
        if dtype != item.dtype:
            raise NotCompilable(f"{name} to {item.dtype}")
        operands = []
        for arg, want in zip(item.args, wanted, strict=True):
            if isinstance(arg, Scalar):
                operands.append(self._scalar(arg.value, want, name))
                continue
            if isinstance(arg, Read):
                arg = Read(arg.item, tuple(a + b for a, b in zip(arg.shift, shift, strict=True)))
            value, have = self._value(arg)
            operands.append(cast(text, value, have, want))
        if name == "where":
            t = register(dtype)
            return text.set(f"select i1 {operands[0]}, {t} {operands[1]}, {t} {operands[2]}")
        if name not in UFUNCS:
            return operands[0]
        return UFUNCS[name][kind(wanted[0])](text, register(wanted[0]), operands)

    def _loop(self, item: Point) -> tuple[list[DType], DType]:
        if item.function in ("cast", "copy"):
            return [item.dtype], item.dtype
        if item.function == "where":
            return [np.dtype(bool), item.dtype, item.dtype], item.dtype
        operands: list[Given] = []
        for arg in item.args:
            if isinstance(arg, Read):
                operands.append(self.plan.items[arg.item].dtype)
            else:
                operands.append(self.plan.singles[arg.number].dtype if isinstance(arg, Single) else arg)
        return loop(item.function, operands)

    def _scalar(self, value: Any, dtype: DType, name: str) -> str:
        self.scalars.append(constant(value, dtype, name))
        at = self.body.entry.set(f"getelementptr inbounds i8, ptr %scalars, i64 {8 * (len(self.scalars) - 1)}")
        return self.body.entry.load(dtype, at, "0")

    def _single(self, number: int) -> str:
        if number not in self.singles:
            self.singles[number] = len(self.scalars)
            self.scalars.append(b"\0" * 8)
        at = self.body.entry.set(f"getelementptr inbounds i8, ptr %scalars, i64 {8 * self.singles[number]}")
        return self.body.entry.load(self.plan.singles[number].dtype, at, "0")


def _choose(text: Text, test: str, a: str, b: str) -> str:
    return text.set(f"select i1 {text.set(f'icmp {test} i64 {a}, {b}')}, i64 {a}, i64 {b}")
