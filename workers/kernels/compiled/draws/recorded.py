"""Compiled loops for recorded kernels of random numbers: they draw, compute, and draw again where a number is rejected.

A piece of numbers goes through all operations before the next one does, so what is between them stays in a core's
nearest caches, and Python's lock isn't taken. Arithmetic of one level, which waits for no other loop, is one loop;
NumPy's own loops are called for the rest, by their addresses. What only some elements need is gathered, made, and put
back. The operations are those of the array arithmetic that was recorded, element by element, and so are the bits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..courses.course import address_of
from ..llvm.instructions import UFUNCS
from ..llvm.numpy_loops import loop_of
from ..llvm.text import Body, Text
from .drawing import WIDE, exact
from .recorded_parts import (
    DOUBLE,
    PIECE,
    choose_text,
    climb_text,
    draw_name,
    draw_text,
    drop_text,
    moving_text,
    whole_text,
)

if TYPE_CHECKING:
    from ...randoms.recording import Node, RecordedRegion, Recording

Array = np.ndarray[Any, Any]
FRAME = 1 << 19
"""Bytes of a piece's values, at most."""
BOOL = np.dtype(np.bool_)
OUTPUTS = (DOUBLE, np.dtype(np.float32), np.dtype(np.int64))
_KEYS = 3
_CONSTANT = ("literal", "number", "flag")
_LYING = (*_CONSTANT, "draw", "captured")
_WRITTEN = ("where", "same", "look_up", "floor", "ceil", "copysign")
_BARRIERS = ("accept", "some", "climb")


@dataclass(frozen=True)
class Recorded:
    """A kernel's loop: its text, the bytes of a piece's values, its table but for the stream's name, and its work."""

    text: str
    frame: int
    table: Array
    work: int
    kept: tuple[Array, ...]

    def table_of(self, key: tuple[int, int], jump: int) -> Array:
        """Return the table of a stream's numbers."""
        table = self.table.copy()
        table[:_KEYS] = *key, jump
        return table


def write(recording: Recording, dtype: np.dtype[Any]) -> Recorded | None:
    """Return the loop of a recorded kernel that makes numbers of a dtype; None where it can't be one."""
    if dtype not in OUTPUTS:
        return None
    writer = _Writer(recording)
    if not writer.write(dtype) or writer.size > FRAME:
        return None
    table = np.zeros(writer.slots, np.uint64)
    table[_KEYS : _KEYS + len(recording.numbers)] = np.array(recording.numbers, np.float64).view(np.uint64)
    begin = _KEYS + len(recording.numbers)
    for k, each in enumerate(recording.tables):
        table[begin + 2 * k : begin + 2 * k + 2] = address_of(each), len(each)
    for slot, place in writer.loops.values():
        table[slot : slot + 2] = place
    return Recorded(writer.text, writer.size, table, writer.work, tuple(recording.tables))


def _is_arithmetic(node: Node) -> bool:
    return node.op in _WRITTEN or node.op in UFUNCS


class _Writer:
    """Writes functions: one for each region, one for each of its loops, and those that all kernels have."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._functions: dict[str, str] = {}
        self.size = self.work = 0
        self.text = ""
        self.slots = _KEYS + len(recording.numbers) + 2 * len(recording.tables)
        self.loops: dict[tuple[str, int], tuple[int, tuple[int, int]]] = {}

    def write(self, dtype: np.dtype[Any]) -> bool:
        """Write all; tell whether NumPy's loops that are needed are there."""
        positions, region_text = self.lend(8 * PIECE), _RegionText(self, self._recording.region, "0")
        if not region_text.write():
            return False
        self.add("kernel", whole_text(dtype, region_text.places[region_text.outputs[0]], positions))
        self.text = "\n".join(self._functions.values())
        return True

    def lend(self, nbytes: int) -> int:
        """Return where memory of a piece begins in the frame."""
        offset = self.size
        self.size += -(-nbytes // 64) * 64
        return offset

    def add(self, name: str, text: str) -> None:
        """Add a function, unless it is there; numbers of its loops' notes are made its own."""
        base = 1000 * len(self._functions)
        self._functions.setdefault(name, re.sub(r"!(\d+)", lambda m: f"!{int(m[1]) + base}", text))

    def loop(self, name: str, arity: int) -> int | None:
        """Return the slot of one of NumPy's loops."""
        if (name, arity) not in self.loops:
            place = loop_of(name, (DOUBLE,) * (arity + 1))
            if place is None:
                return None
            self.loops[name, arity] = self.slots, place
            self.slots += 2
        return self.loops[name, arity][0]

    def table_slot(self, number: int) -> int:
        return _KEYS + len(self._recording.numbers) + 2 * number

    def table_length(self, number: int) -> int:
        return len(self._recording.tables[number])


class _RegionText:
    """The function of a region: `places` are where its values lie in the frame."""

    def __init__(self, writer: _Writer, region: RecordedRegion, name: str) -> None:
        self.writer, self.region, self.name = writer, region, name
        self.outputs = tuple([self._kept(number) for number in region.outputs])
        self.nodes = region.nodes
        live = set(self.outputs)
        for number in range(len(self.nodes) - 1, -1, -1):
            if number in live:
                live |= set(self.nodes[number].args)
        self.live = sorted(live)
        self.level: dict[int, int] = {}
        for number in self.live:
            node = self.nodes[number]
            below = max((self.level[a] + (not self._is_inline(a)) for a in node.args), default=0)
            self.level[number] = below
        self.stored = set(self.outputs)
        for number in self.live:
            for a in self.nodes[number].args:
                if not _is_arithmetic(self.nodes[number]) or self.level[a] < self.level[number]:
                    self.stored.add(a)
        self.text = Text("r")
        self.places: dict[int, int] = {}
        self.pointers: dict[int, str] = {}
        self._slots = 0
        self._entry: list[str] = []

    def _kept(self, number: int) -> int:
        """Return a value that has memory of its own."""
        from ...randoms.recording import Node

        node = self.region.nodes[number]
        return self.region.add(Node("same", (number,), None, node.is_bool)) if node.op in _LYING else number

    def _is_inline(self, number: int) -> bool:
        """Whether a value is there for the arithmetic of its own level."""
        return _is_arithmetic(self.nodes[number]) or self.nodes[number].op in _LYING

    def write(self) -> bool:
        """Write the function; tell whether NumPy's loops are there."""
        for number in (n for n in self.live if self.nodes[n].op == "captured"):
            self.pointers[number] = f"%c{self.nodes[number].more}"
        self._draw()
        for level in range(max(self.level.values(), default=0) + 1):
            self._segment(level)
            for number in self.live:
                node = self.nodes[number]
                if self.level[number] == level and not self._is_inline(number) and not self._barrier(number, node):
                    return False
        captured = "".join(f", ptr %c{k}" for k in range(len(self.region.captured)))
        head = (
            f"define private void @region{self.name}(ptr %frame, ptr %table, ptr %pos, i64 %n, i64 %attempt, "
            f"i1 %run{captured}) noinline {{"
        )
        allocated = [
            "%args = alloca [4 x ptr]", "%strides = alloca [4 x i64]", "%count = alloca i64", "%name = alloca [5 x i64]"
        ]  # fmt: skip
        strides = [
            line
            for k in range(4)
            for line in (
                f"%stride{k} = getelementptr i64, ptr %strides, i64 {k}", f"store i64 8, ptr %stride{k}",
                f"%arg{k} = getelementptr ptr, ptr %args, i64 {k}",
            )
        ]  # fmt: skip
        entry = [f"  {line}" for line in (*allocated, *self._entry, *strides, "store i64 %n, ptr %count")]
        self.writer.add(
            f"region{self.name}", "\n".join([head, "entry:", *entry, *self.text.lines, "  ret void", "}", ""])
        )
        return True

    def _lend(self, number: int) -> str:
        """Return a pointer to memory for a value."""
        if number not in self.pointers:
            is_bool = self.nodes[number].is_bool
            self.places[number] = self.writer.lend(PIECE * (1 if is_bool else 8))
            self.pointers[number] = self._at(self.places[number])
        return self.pointers[number]

    def _at(self, place: int) -> str:
        """Return a pointer into the frame."""
        name = f"%at{self._slots}"
        self._slots += 1
        self._entry.append(f"{name} = getelementptr i8, ptr %frame, i64 {place}")
        return name

    def _variable(self) -> str:
        name = f"%var{self._slots}"
        self._slots += 1
        self._entry.append(f"{name} = alloca i64")
        return name

    def _line(self, line: str) -> None:
        self.text.lines.append(f"  {line}")

    def _draw(self) -> None:
        """Draw what the region's elements need."""
        groups: dict[tuple[int, int], list[int]] = {}
        for number in self.live:
            if self.nodes[number].op == "draw":
                words, lane, _ = self.nodes[number].more
                groups.setdefault((words, lane), []).append(number)
        text = self.text
        for (words, lane), numbers in groups.items():
            self.writer.work += 4 * len(numbers)
            wanted = [self.nodes[number].more[2] for number in numbers]
            places = [self.writer.lend(8 * (PIECE + 8)) for _ in numbers]
            bases = [self._at(place) for place in places]
            values = [text.set(f"load i64, ptr {self._slot(k)}") for k in range(_KEYS)]
            shift = {1: 0, 2: 1, 4: 2}[words]
            for k, value in enumerate((*values, "%attempt", str(lane * 4 + shift))):
                at = text.set(f"getelementptr i64, ptr %name, i64 {k}")
                self._line(f"store i64 {value}, ptr {at}")
            arguments = f"(ptr %pos, ptr %name, {', '.join(f'ptr {base}' for base in bases)}, i64 %n)"
            for is_run in (False, True)[: 1 if words == 4 else 2]:
                self.writer.add(draw_name(words, wanted, is_run), draw_text(words, tuple(wanted), is_run))
            if words == 4:
                self._line(f"call void @{draw_name(words, wanted, False)}{arguments}")
                self.pointers |= dict(zip(numbers, bases, strict=True))
                continue
            label = text.name("draw")
            self._line(f"br i1 %run, label %{label}.run, label %{label}.at")
            for is_run in (True, False):
                text.lines.append(f"{label}.{'run' if is_run else 'at'}:")
                self._line(f"call void @{draw_name(words, wanted, is_run)}{arguments}")
                self._line(f"br label %{label}.end")
            text.lines.append(f"{label}.end:")
            cut = text.set(f"and i64 {text.set('load i64, ptr %pos')}, {4 // words - 1}")
            cut = text.set(f"select i1 %run, i64 {cut}, i64 0")
            for number, base in zip(numbers, bases, strict=True):
                self.pointers[number] = text.set(f"getelementptr double, ptr {base}, i64 {cut}")

    def _slot(self, slot: int) -> str:
        return self.text.set(f"getelementptr i64, ptr %table, i64 {slot}")

    def _segment(self, level: int) -> None:
        """Call the loop of a level's arithmetic."""
        done = [n for n in self.live if self.level[n] == level and _is_arithmetic(self.nodes[n])]
        constant = [n for n in self.live if not level and self.nodes[n].op in _CONSTANT and n in self.stored]
        outputs = [n for n in (*constant, *done) if n in self.stored]
        if not outputs:
            return
        self.writer.work += len(done)
        inputs = list(
            dict.fromkeys(
                a for n in done for a in self.nodes[n].args if a not in done and self.nodes[a].op not in _CONSTANT
            )
        )
        name = f"segment{self.name}_{level}"
        self.writer.add(name, self._segment_text(name, inputs, done, outputs))
        pointers = [self.pointers[n] for n in inputs] + [self._lend(n) for n in outputs]
        self._line(f"call void @{name}({', '.join(f'ptr {p}' for p in pointers)}, ptr %table, i64 %n)")

    def _segment_text(self, name: str, inputs: list[int], done: list[int], outputs: list[int]) -> str:
        body = Body()
        constants = {a for n in done for a in self.nodes[n].args} | set(outputs)
        registers = {
            n: self._constant(body.entry, self.nodes[n]) for n in sorted(constants) if self.nodes[n].op in _CONSTANT
        }
        with body.loop("0", "%n", "1") as i:
            text = body.text
            for n in inputs:
                registers[n] = text.load(self._dtype(n), f"%b{n}", i)
            for n in done:
                registers[n] = self._instruction(body, self.nodes[n], [registers[a] for a in self.nodes[n].args])
            for n in outputs:
                text.store(self._dtype(n), registers[n], f"%b{n}", i)
        pointers = ", ".join(f"ptr noalias {'readonly ' if n in inputs else ''}%b{n}" for n in (*inputs, *outputs))
        return body.whole(
            f"define private void @{name}({pointers}, ptr noalias readonly %table, i64 %n) noinline {WIDE} {{"
        )

    def _dtype(self, number: int) -> np.dtype[Any]:
        return BOOL if self.nodes[number].is_bool else DOUBLE

    def _constant(self, entry: Text, node: Node) -> str:
        if node.op == "number":
            return entry.load(DOUBLE, "%table", str(_KEYS + node.more))
        return str(node.more).lower() if node.op == "flag" else exact(node.more)

    def _instruction(self, body: Body, node: Node, given: list[str]) -> str:
        text = body.text
        if node.op == "same":
            return given[0]
        if node.op == "where":
            kind = "i1" if node.is_bool else "double"
            return text.set(f"select i1 {given[0]}, {kind} {given[1]}, {kind} {given[2]}")
        if node.op == "look_up":
            at = text.set(f"call i64 @llvm.fptosi.sat.i64.f64(double {given[0]})")
            at = text.set(f"call i64 @llvm.smax.i64(i64 {at}, i64 0)")
            at = text.set(f"call i64 @llvm.smin.i64(i64 {at}, i64 {self.writer.table_length(node.more) - 1})")
            slot = self.writer.table_slot(node.more)
            where = body.entry.set(f"getelementptr i64, ptr %table, i64 {slot}")
            return text.load(DOUBLE, body.entry.set(f"load ptr, ptr {where}"), at)
        if node.op in ("floor", "ceil", "copysign"):
            return text.set(f"call double @llvm.{node.op}.f64({', '.join(f'double {x}' for x in given)})")
        is_bool = bool(node.args) and self.nodes[node.args[0]].is_bool
        return UFUNCS[node.op]["b" if is_bool else "f"](text, "i1" if is_bool else "double", given)

    def _barrier(self, number: int, node: Node) -> bool:
        if node.op in _BARRIERS:
            written: bool = getattr(self, f"_{node.op}")(number, node)
            return written
        slot = self.writer.loop(node.op, len(node.args))
        if slot is None:
            return False
        self.writer.work += 4
        for k, pointer in enumerate([*(self.pointers[a] for a in node.args), self._lend(number)]):
            self._line(f"store ptr {pointer}, ptr %arg{k}")
        loop, data = (self.text.set(f"load ptr, ptr {self._slot(slot + k)}") for k in range(2))
        self._line(f"call void {loop}(ptr %args, ptr %count, ptr %strides, ptr {data})")
        return True

    def _climb(self, number: int, node: Node) -> bool:
        self.writer.add("climb", climb_text())
        self.writer.work += 8
        (operand,) = node.args
        slot = self.writer.table_slot(node.more)
        heights = self.text.set(f"load ptr, ptr {self._slot(slot)}")
        count = self.text.set(f"load i64, ptr {self._slot(slot + 1)}")
        left, out = self._at(self.writer.lend(8 * PIECE)), self._lend(number)
        pointers = f"ptr {self.pointers[operand]}, ptr {left}, ptr {out}, ptr {heights}"
        self._line(f"call void @climb({pointers}, i64 {count}, i64 %n)")
        return True

    def _accept(self, number: int, node: Node) -> bool:
        """Have an attempt made for all, and others for those that are left."""
        text, inner = self.text, self._inner(number, node.more)
        if inner is None:
            return False
        value, holds = (self._at(inner.places[n]) for n in inner.outputs)
        out, left, attempt = self._lend(number), self._variable(), self._variable()
        self._call(inner, "%pos", "%n", "0", "%run", [self.pointers[a] for a in node.args])
        self._copy(out, value, "%n", 8)
        index, positions = (self._at(self.writer.lend(8 * PIECE)) for _ in range(2))
        self._line(f"store i64 {self._choose(holds, index, 'false')}, ptr {left}")
        self._line(f"store i64 0, ptr {attempt}")
        gathered = [self._at(self.writer.lend(8 * PIECE)) for _ in node.args]
        with _While(text, left) as count:
            turn = text.set(f"add i64 {text.set(f'load i64, ptr {attempt}')}, 1")
            self._line(f"store i64 {turn}, ptr {attempt}")
            self._gather("%pos", index, positions, count, 8)
            for a, to in zip(node.args, gathered, strict=True):
                self._gather(self.pointers[a], index, to, count, 1 if self.nodes[a].is_bool else 8)
            self._call(inner, positions, count, turn, "false", gathered)
            self._scatter(value, index, out, count, 8)
            self.writer.add("drop", drop_text())
            self._line(f"store i64 {text.set(f'call i64 @drop(ptr {holds}, ptr {index}, i64 {count})')}, ptr {left}")
        return True

    def _some(self, number: int, node: Node) -> bool:
        """Have what some elements need made for these."""
        text, inner = self.text, self._inner(number, node.more)
        if inner is None:
            return False
        mask, before, *captured = node.args
        size = 1 if node.is_bool else 8
        out, left = self._lend(number), self._variable()
        index = self._at(self.writer.lend(8 * PIECE))
        self._copy(out, self.pointers[before], "%n", size)
        self._line(f"store i64 {self._choose(self.pointers[mask], index, 'true')}, ptr {left}")
        gathered = [self._at(self.writer.lend(8 * PIECE)) for _ in captured]
        with _While(text, left) as count:
            for a, to in zip(captured, gathered, strict=True):
                self._gather(self.pointers[a], index, to, count, 1 if self.nodes[a].is_bool else 8)
            self._call(inner, "%pos", count, "0", "false", gathered)
            self._scatter(self._at(inner.places[inner.outputs[0]]), index, out, count, size)
            self._line(f"store i64 0, ptr {left}")
        return True

    def _inner(self, number: int, region: RecordedRegion) -> _RegionText | None:
        inner = _RegionText(self.writer, region, f"{self.name}_{number}")
        return inner if inner.write() else None

    def _call(self, inner: _RegionText, pos: str, count: str, attempt: str, run: str, captured: list[str]) -> None:
        pointers = "".join(f", ptr {each}" for each in captured)
        self._line(
            f"call void @region{inner.name}(ptr %frame, ptr %table, ptr {pos}, i64 {count}, i64 {attempt}, "
            f"i1 {run}{pointers})"
        )

    def _copy(self, to: str, source: str, count: str, size: int) -> None:
        nbytes = self.text.set(f"mul i64 {count}, {size}")
        self._line(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {nbytes}, i1 false)")

    def _choose(self, mask: str, index: str, wanted: str) -> str:
        self.writer.add("choose", choose_text())
        return self.text.set(f"call i64 @choose(ptr {mask}, ptr {index}, i1 {wanted}, i64 %n)")

    def _gather(self, source: str, index: str, to: str, count: str, size: int) -> None:
        self.writer.add(f"gather{size}", moving_text("gather", size))
        self._line(f"call void @gather{size}(ptr {source}, ptr {index}, ptr {to}, i64 {count})")

    def _scatter(self, source: str, index: str, to: str, count: str, size: int) -> None:
        self.writer.add(f"scatter{size}", moving_text("scatter", size))
        self._line(f"call void @scatter{size}(ptr {source}, ptr {index}, ptr {to}, i64 {count})")


class _While:
    """Lines that are done as long as a variable isn't zero, whose value they get."""

    def __init__(self, text: Text, variable: str) -> None:
        self._text, self._variable, self._label = text, variable, text.name("while")

    def __enter__(self) -> str:
        text, label = self._text, self._label
        text.lines += [f"  br label %{label}.head", f"{label}.head:"]
        count = text.set(f"load i64, ptr {self._variable}")
        more = text.set(f"icmp sgt i64 {count}, 0")
        text.lines += [f"  br i1 {more}, label %{label}.body, label %{label}.end", f"{label}.body:"]
        return count

    def __exit__(self, *error: object) -> None:
        self._text.lines += [f"  br label %{self._label}.head", f"{self._label}.end:"]
