"""Runs of a program's steps as one compiled loop each over a tile, with NumPy's own loops between them.

What the steps of a program don't allow as a whole (an `exp` among them, rows that are broadcast, reductions that
NumPy does) leaves segments: neighbouring steps over whole tiles. A segment reads values that lie in the tile's order,
and others that are broadcast: one element, a row for all rows, or one element for each row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from .....graph.lowering.program import Apply
from ..llvm.kernel_cache import ENTRY, ready
from ..llvm.steps import StepWriter
from ..llvm.text import DType, NotCompilable

if TYPE_CHECKING:
    from .....graph.lowering.program import Mask, Program
    from ...interpreter.buffer_plan import BufferPlan
    from ..llvm.machine_code import Native

Array = np.ndarray[Any, Any]
LEAST_ELEMENTS = 1 << 10
LEAST_ROW = 16
"""Shorter rows that share an element are left to NumPy."""
WIDTH = 512
"""Rows that are broadcast are repeated to about so many elements."""
MOST_WIDTH = 1 << 15

_known: WeakKeyDictionary[Program, dict[int, tuple[int | LoopSegment, ...]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class LoopSegment:
    """Steps that are one loop: their numbers, the values they read and how these lie, and those that are kept."""

    numbers: tuple[int, ...]
    inputs: tuple[int, ...]
    ways: tuple[str, ...]
    outputs: tuple[int, ...]
    text: str
    scalars: Array

    @property
    def work(self) -> int:
        """How many of NumPy's loops over an element it saves; those over rows that are broadcast count twice."""
        return len(self.numbers) * (2 if {"row", "column"} & set(self.ways) else 1)

    def function(self, elements: int) -> Native | None:
        """Return the loop, if it is there; else see to it that it will be, after so many elements more."""
        loop: Native | None = ready(self.text, len(self.inputs) + len(self.outputs) - 1, elements * self.work)
        return loop

    def run(self, function: Native, given: list[Array], made: list[Array]) -> None:
        """Run the loop over a tile: values in the order of `inputs` and `outputs`."""
        rows, width = _nest(self.ways, given, made[0].size)
        operands = [_widened(way, part, width) for way, part in zip(self.ways, given, strict=True)]
        moving = [way == "full" for way in self.ways]
        lot = [(part, moves) for part, moves in zip(operands, moving, strict=True)]
        lot += [(part, True) for part in made]
        rest = made[0].size - rows * width
        for begin, count, length in ((0, rows, width), (rows * width, 1, rest)):
            if count and length:
                at = [_address(part) + (begin * part.itemsize if moves else 0) for part, moves in lot]
                places = [*at[: len(operands)], *at[len(operands) : -1]]
                function(*places, _address(self.scalars), at[-1], count, length, 0, 0)


def fits(segment: LoopSegment, shape: tuple[int, ...], full: dict[int, Mask], blocks: int) -> bool:
    """Whether a segment's broadcast values lie in a way that its loop takes, in tiles of whole rows of a block."""
    if blocks > 1:
        return all(way == "full" for way in segment.ways)
    runs, periods = set(), set()
    for way, number in zip(segment.ways, segment.inputs, strict=True):
        if way == "column":
            runs.add(math.prod(n for n, f in zip(shape, full[number], strict=True) if not f))
        elif way == "row":
            periods.add(math.prod(n for n, f in zip(shape, full[number], strict=True) if f))
    if len(runs) > 1 or any(run < LEAST_ROW for run in runs):
        return False
    most = max(runs or periods, default=1)
    return most <= MOST_WIDTH and all(period and most % period == 0 for period in periods)


def _nest(ways: tuple[str, ...], given: list[Array], size: int) -> tuple[int, int]:
    """Return how many rows of which length a tile is: those that share an element, or repeat a row."""
    shared = [size // part.size for way, part in zip(ways, given, strict=True) if way == "column"]
    if shared:
        return size // shared[0], shared[0]
    rows = [part.size for way, part in zip(ways, given, strict=True) if way == "row"]
    if not rows:
        return 1, size
    width = max(rows) * max(1, WIDTH // max(rows))
    return size // width, width


def _widened(way: str, part: Array, width: int) -> Array:
    return np.tile(part.reshape(-1), width // part.size) if way == "row" and part.size < width else part


def _address(x: Array) -> int:
    address: int = x.__array_interface__["data"][0]
    return address


def segments(program: Program, plan: BufferPlan, last: int) -> tuple[int | LoopSegment, ...]:
    """Return a plan's steps in order: their numbers, and segments in place of some."""
    known = _known.setdefault(program, {})
    if last not in known:
        known[last] = tuple(_cut(program, plan, last))
    return known[last]


def _cut(program: Program, plan: BufferPlan, last: int) -> list[int | LoopSegment]:
    parts: list[int | LoopSegment] = []
    run: list[int] = []
    for number in plan.tiled:
        if not why_not(program, number):
            run.append(number)
        else:
            parts += [*_close(program, plan, last, run), number]
            run = []
    return parts + _close(program, plan, last, run)


def why_not(program: Program, number: int) -> str:
    """Return why a step can't be one of a segment; "" if it can: over whole tiles, by what gives NumPy's bits."""
    step = program.values[number]
    reads = [a for a in step.args if isinstance(a, int)] if isinstance(step, Apply) else []
    if not all(step.full):
        return "it is broadcast"
    if any(way(program.values[a].full) is None for a in reads):
        return "broadcast along axes that aren't neighbours"
    try:
        StepWriter(program).write_step(step, dict.fromkeys(reads, "%any"))
    except NotCompilable as error:
        return str(error)
    return ""


def alone(program: Program, plan: BufferPlan, last: int, number: int) -> LoopSegment | None:
    """Return a single step as a segment; None where it can't be one."""
    segment = None if why_not(program, number) else _close(program, plan, last, [number], least=1)[0]
    return segment if isinstance(segment, LoopSegment) else None


def _close(program: Program, plan: BufferPlan, last: int, run: list[int], least: int = 2) -> list[int | LoopSegment]:
    """Return a run of steps as a segment, where that is less work than NumPy's loops."""
    values, inside = program.values, set(run)
    steps = [step for step in (values[number] for number in run) if isinstance(step, Apply)]
    reads = [a for step in steps for a in step.args if isinstance(a, int)]
    inputs = tuple(dict.fromkeys(a for a in reads if a not in inside))
    ways = tuple([way(values[number].full) or "" for number in inputs])
    if len(run) < least and not {"row", "column"} & set(ways):
        return list(run)
    later = {a for i in plan.tiled if i not in inside for a in getattr(values[i], "args", ()) if isinstance(a, int)}
    outputs = tuple(number for number in run if number == last or number in later)
    writer = StepWriter(program)
    text = _loops(writer, run, list(zip(inputs, ways, strict=True)), outputs)
    scalars = np.frombuffer(b"".join(writer.scalars).ljust(8, b"\0"), np.uint8)
    return [LoopSegment(tuple(run), inputs, ways, outputs, text, scalars)]


def way(full: Mask) -> str | None:
    """Return how a value is broadcast."""
    if all(full):
        return "full"
    if not any(full):
        return "one"
    first = full[0]
    border = next(i for i, f in enumerate(full) if f != first)
    if any(f == first for f in full[border:]):
        return None
    return "column" if first else "row"


def _loops(writer: StepWriter, run: list[int], inputs: list[tuple[int, str]], outputs: tuple[int, ...]) -> str:
    """Write the loops over rows and their elements."""
    values, body = writer.program.values, writer.body
    text, registers = body.text, {}

    def load(ways: tuple[str, ...], place: str) -> None:
        for k, (number, way) in enumerate(inputs):
            if way in ways:
                source = body.entry if way == "one" else text
                registers[number] = source.load(dtype_of(number), f"%a{k}", place)

    def dtype_of(number: int) -> DType:
        return values[number].dtype

    load(("one",), "0")
    with body.loop("0", "%rows", "1") as row:
        load(("column",), row)
        begin = text.set(f"mul i64 {row}, %width")
        with body.loop("0", "%width", "1") as i:
            position = text.set(f"add nsw nuw i64 {begin}, {i}")
            load(("row",), i)
            load(("full",), position)
            for number in run:
                registers[number] = writer.write_step(values[number], registers)
            for k, number in enumerate(outputs):
                text.store(dtype_of(number), registers[number], f"%o{k}", position)
    reads = [f"ptr noalias readonly %a{k}" for k in range(len(inputs))]
    kept = [f"ptr noalias %o{k}" for k in range(len(outputs))]
    pointers = ", ".join([*reads, *kept[:-1], "ptr noalias readonly %scalars", kept[-1]])
    return body.whole(f"define void @{ENTRY}({pointers}, i64 %rows, i64 %width, i64 %none, i64 %other) {{")
