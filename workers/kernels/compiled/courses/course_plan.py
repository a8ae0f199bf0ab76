"""What a course is made of: how a block is cut into tiles, where values lie, and the calls for a program's steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .....graph.kinds.elementwise import Scalar
from .....graph.kinds.source import Full
from .....graph.lowering.program import Apply, Generate
from ...interpreter.tile_regions import TILE
from ..fixed.transposing import WORK as TURNING
from ..fixed.transposing import turning_text
from ..fused.fused import cuts
from ..fused.segments import WIDTH, LoopSegment, alone, segments, way
from ..llvm.kernel_cache import ready
from ..llvm.numpy_loops import loop_of
from ..llvm.promotion import loop_dtypes
from .course import COPY, EVERY, FIRST, FULL, LAST, LOOP, LoopCall, Spot, address_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .....graph.lowering.program import Mask, Program, Value
    from ...interpreter.buffer_plan import BufferPlan
    from ..llvm.text import DType
    from .course_draws import Draw

Array = np.ndarray[Any, Any]
SCRATCH, OUT, FIXED, STATE, INPUTS = 0, 1, 2, 3, 4
"""Operands of a course: memory that all blocks use, the result, addresses as they are, memory that each block has for
itself, and from there on the inputs."""
LINE = 64
LEAST_ROW = 16
"""Shorter rows aren't copied one by one."""
ROWS = ("row", "column")
"""How inputs are broadcast: a row is repeated, or rows share an element each."""


class NotCourse(Exception):
    """A block that is left to the interpreter."""


@dataclass(frozen=True)
class Cut:
    """How a block is cut: along `axis` into groups of tiles, of which the last one may be shorter; all in elements."""

    shape: tuple[int, ...]
    axis: int
    size: int
    group: int
    tile: int

    @staticmethod
    @lru_cache(maxsize=256)
    def of(shape: tuple[int, ...]) -> Cut:
        """Return the cuts of `tile_regions.regions`."""
        size, group, tile = cuts(shape)
        axis = 0
        while size > TILE and math.prod(shape[axis + 1 :]) > TILE:
            axis += 1
        return Cut(shape, axis, size, group, tile)

    @property
    def groups(self) -> int:
        return self.size // self.group

    @property
    def tiles(self) -> int:
        return -(-self.group // self.tile)

    def kinds(self) -> Iterator[tuple[int, int]]:
        """Yield the elements of tiles, and which ones have so many."""
        last = self.group - (self.tiles - 1) * self.tile
        if last == self.tile:
            yield last, FULL | LAST
            return
        if self.tiles > 1:
            yield self.tile, FULL
        yield last, LAST


@dataclass
class Plot:
    """A course in the making: its calls, its memory, where values lie."""

    cut: Cut
    calls: list[LoopCall] = field(default_factory=list)
    kept: list[object] = field(default_factory=list)
    scratch: int = 0
    state: int = 0
    _places: dict[Any, Spot] = field(default_factory=dict)

    def add(
        self,
        loop: tuple[int, int],
        spots: tuple[Spot, ...],
        counts: tuple[int, int, int],
        tiles: int,
        when: int = EVERY,
        kind: int = LOOP,
        more: int | None = None,
    ) -> None:
        """Add a call, unless there is nothing to do."""
        if min(counts) > 0 or kind > 1:
            self.calls.append(LoopCall(loop[0], spots, counts, kind, loop[1], when, tiles, more))

    def lend(self, name: Any, nbytes: int) -> Spot:
        """Return memory of a tile, by a name."""
        if name not in self._places:
            self._places[name] = Spot(SCRATCH, self.scratch)
            self.scratch += -(-nbytes // LINE) * LINE
        return self._places[name]

    def keep(self, nbytes: int) -> Spot:
        """Return memory of a block, which is read when the course is over."""
        spot = Spot(STATE, self.state)
        self.state += -(-nbytes // LINE) * LINE
        return spot

    def constant(self, value: Array) -> Spot:
        """Return where an array lies that stays as it is."""
        self.kept.append(value)
        return Spot(FIXED, address_of(value))

    def lying(self, operand: int, itemsize: int) -> Spot:
        """Return where the present tile of an operand begins that lies in the block's order."""
        return Spot(operand, 0, self.cut.group * itemsize, self.cut.tile * itemsize, 0, 0, itemsize)


def ufunc_loop(name: str, *dtypes: DType) -> tuple[int, int]:
    """Return a ufunc's loop, or raise NotCourse."""
    loop = loop_of(name, dtypes)
    if loop is None:
        raise NotCourse(f"{name} of {dtypes[0]}")
    return loop


class TileInputs:
    """Where the inputs' present tiles lie: in the block's order, brought to it, or one element for all.

    `width` are of inputs that are broadcast the elements of the row that is repeated, or that share an element; 0 where
    in this block it is one row, or one element.
    """

    def __init__(self, values: tuple[Value, ...], wholes: dict[int, Array], plot: Plot) -> None:
        self._plot = plot
        self.width: dict[int, int] = {}
        self._lying: dict[int, Spot] = {}
        self._turned: dict[int, Turned] = {}
        for k, (number, part) in enumerate(wholes.items()):
            if part.dtype != values[number].dtype or not part.flags.aligned or part.dtype.kind not in "biufc":
                raise NotCourse("an input of another kind")
            kind = way(values[number].full)
            if part.size == (1 if kind == "row" else plot.cut.size) and kind in ROWS:
                raise NotCourse("a row of one element, or a column as large as the block")
            if kind in ROWS:
                self.width[number] = 0
            if part.size == 1:
                self._lying[number] = Spot(INPUTS + k)
            elif part.size != plot.cut.size:
                self._lying[number] = self._broadcast(INPUTS + k, number, kind, values[number].full, part)
            elif part.flags.c_contiguous:
                self._lying[number] = plot.lying(INPUTS + k, part.itemsize)
            else:
                self._turned[number] = Turned.of(INPUTS + k, part, plot.cut)

    def _broadcast(self, operand: int, number: int, kind: str | None, full: Mask, part: Array) -> Spot:
        """Return where a row lies that is repeated, or elements that rows share."""
        cut = self._plot.cut
        extent = math.prod(n for n, f in zip(cut.shape, full, strict=True) if f)
        if kind not in ROWS or part.size != extent or not part.flags.c_contiguous:
            raise NotCourse("an input that is broadcast along axes that aren't neighbours")
        width = self.width[number] = part.size if kind == "row" else cut.size // part.size
        if cut.tile % width or cut.group % width or (kind == "column" and width < LEAST_ROW):
            raise NotCourse("an input that is broadcast, and cut")
        if kind == "row":
            return Spot(operand)
        return Spot(operand, 0, cut.group // width * part.itemsize, cut.tile // width * part.itemsize)

    def functions(self, elements: int) -> dict[str, Any]:
        """Return the loops that bring inputs to order; None in place of one that isn't there, but will be."""
        texts = {turned.text for turned in self._turned.values() if turned.text}
        return {text: ready(text, 1, TURNING * elements) for text in texts}

    def write(self, elements: int, tiles: int, functions: dict[str, int]) -> dict[int, Spot]:
        """Add the calls that bring tiles of so many elements to order; return where all inputs lie."""
        spots = dict(self._lying)
        for number, turned in self._turned.items():
            to = self._plot.lend(("input", number), self._plot.cut.tile * turned.itemsize).going(step=turned.itemsize)
            turned.write(self._plot, to, elements, tiles, functions)
            spots[number] = to
        return spots


@dataclass(frozen=True)
class SpacedRows:
    """How a block lies that isn't in C order: in rows of so many elements, which are `stride` bytes apart."""

    columns: int
    stride: int

    @staticmethod
    def of(part: Array, cut: Cut) -> SpacedRows | None:
        """Return a block's rows; None where it lies otherwise, they are short, or a tile isn't made of whole ones."""
        axes = [(n, stride) for n, stride in zip(part.shape, part.strides, strict=True) if n > 1]
        columns = rows = 1
        while axes and axes[-1][1] == columns * part.itemsize:
            columns *= axes.pop()[0]
        stride = axes[-1][1] if axes else part.itemsize
        while axes and axes[-1][1] == rows * stride:
            rows *= axes.pop()[0]
        if axes or stride < 0 or columns < LEAST_ROW or cut.tile % columns or cut.group % columns:
            return None
        return SpacedRows(columns, stride)

    def lying(self, operand: int, cut: Cut) -> Spot:
        """Return where the present tile of an operand begins that lies so."""
        steps = cut.group // self.columns * self.stride, cut.tile // self.columns * self.stride
        return Spot(operand, 0, *steps)

    def gather(self, plot: Plot, source: Spot, to: Spot, elements: int, itemsize: int, tiles: int) -> None:
        """Add the copy of tiles of so many elements that lie so into one piece."""
        length = self.columns * itemsize
        spots = to.going(row=length), source.going(row=self.stride)
        plot.add((0, 0), spots, (1, elements // self.columns, length), tiles, kind=COPY)

    def scatter(self, plot: Plot, source: Spot, to: Spot, elements: int, itemsize: int, tiles: int) -> None:
        """Add the copy of tiles of so many elements that lie in one piece to where they lie so."""
        length = self.columns * itemsize
        spots = to.going(row=self.stride), source.going(row=length)
        plot.add((0, 0), spots, (1, elements // self.columns, length), tiles, kind=COPY)


@dataclass(frozen=True)
class Turned:
    """An input whose rows lie apart, or whose columns do: then `text` is the loop that turns it."""

    source: Spot
    rows: SpacedRows
    itemsize: int
    text: str

    @staticmethod
    def of(operand: int, part: Array, cut: Cut) -> Turned:
        """Return how an input is brought to order; NotCourse where it lies otherwise, or tiles aren't whole rows."""
        size = part.itemsize
        axes = [(n, stride) for n, stride in zip(part.shape, part.strides, strict=True) if n > 1]
        if len(axes) == 2 and axes[0][1] == size and axes[1][1] > size and size in (4, 8) and cut.groups == 1:
            columns, stride = axes[1]
            if cut.tile % columns == 0:
                source = Spot(operand, 0, 0, cut.tile // columns * size)
                return Turned(source, SpacedRows(columns, stride), size, turning_text(size))
        rows = SpacedRows.of(part, cut)
        if rows is None:
            raise NotCourse("an input in another order")
        return Turned(rows.lying(operand, cut), rows, size, "")

    def write(self, plot: Plot, to: Spot, elements: int, tiles: int, functions: dict[str, int]) -> None:
        """Add the calls that bring tiles of so many elements to order."""
        if not self.text:
            self.rows.gather(plot, self.source, to, elements, self.itemsize, tiles)
            return
        spots, columns = (self.source, self.source, to), self.rows.columns
        counts = 1, elements // columns, columns
        plot.add((functions[self.text], self.rows.stride), spots, counts, tiles, kind=len(spots))


class Steps:
    """The calls for a program's steps, over tiles of one kind."""

    def __init__(
        self,
        program: Program,
        plan: BufferPlan,
        last: int,
        plot: Plot,
        draws: dict[int, Draw],
        widths: dict[int, int],
    ) -> None:
        self._program, self._plan, self._last, self._plot, self._draws = program, plan, last, plot, draws
        self._widths = widths
        self._bytes = plot.cut.tile * max(value.dtype.itemsize for value in program.values)
        self._parts = [part for each in segments(program, plan, last) for part in self._choose(each)]
        self.compiled = [part for part in self._parts if isinstance(part, LoopSegment)]

    def _choose(self, each: int | LoopSegment) -> list[int | LoopSegment]:
        if not isinstance(each, int):
            return [each]
        step = self._program.values[each]
        if isinstance(step, Apply) and _is_loops(self._program, step):
            return [each]
        if each in self._draws or (isinstance(step, Generate) and isinstance(step.source, Full)):
            return [each]
        segment = alone(self._program, self._plan, self._last, each)
        if segment is None:
            raise NotCourse("a step that isn't one loop")
        return [segment]

    def write(
        self, inputs: dict[int, Spot], elements: int, tiles: int, out: Spot | None, functions: dict[str, int]
    ) -> Spot:
        """Add the calls for tiles of so many elements over their inputs; return where the last value lies."""
        spots = dict(inputs)
        for part in self._parts:
            if isinstance(part, LoopSegment):
                self._segment(part, elements, tiles, out, spots, functions[part.text])
            elif part in self._draws:
                spots[part] = self._target(part, self._plan.slot[part], out)
                self._draws[part].write(self._plot, spots[part], elements, tiles, functions)
            else:
                self._step(part, elements, tiles, out, spots)
        return spots[self._last]

    def _target(self, number: int, slot: Any, out: Spot | None) -> Spot:
        if number == self._last and out is not None:
            return out
        return self._plot.lend(slot, self._bytes).going(step=self._program.values[number].dtype.itemsize)

    def _segment(
        self, segment: LoopSegment, elements: int, tiles: int, out: Spot | None, made: dict[int, Spot], function: int
    ) -> None:
        values, width, repeats = self._program.values, *self._nest(segment)
        targets = [self._target(i, ("kept", i), out) for i in segment.outputs]
        inputs = [
            self._read(i, made[i], each, repeats, tiles) for i, each in zip(segment.inputs, segment.ways, strict=True)
        ]
        scalars = self._plot.constant(segment.scalars)
        width = width * repeats or elements
        done = elements // width * width
        for begin, counts in ((0, (1, done // width, width)), (done, (1, 1, elements - done))):
            if min(counts) == 0:
                continue
            read = [
                spot.at(begin * values[i].dtype.itemsize) if each == "full" else spot
                for spot, i, each in zip(inputs, segment.inputs, segment.ways, strict=True)
            ]
            kept = [spot.at(begin * values[i].dtype.itemsize) for spot, i in zip(targets, segment.outputs, strict=True)]
            spots = (*read, *kept[:-1], scalars, kept[-1])
            self._plot.add((function, 0), spots, counts, tiles, kind=len(spots))
        made.update(zip(segment.outputs, targets, strict=True))

    def _nest(self, segment: LoopSegment) -> tuple[int, int]:
        """Return the length of the rows that a segment's loop goes over, and how often a short one is repeated.

        0 where none of its inputs is broadcast.
        """
        if not set(segment.ways) <= {"full", "one", "row", "column"}:
            raise NotCourse("inputs that are broadcast along axes that aren't neighbours")
        numbers = [i for i, each in zip(segment.inputs, segment.ways, strict=True) if each in ROWS]
        if not all(i in self._widths for i in numbers):
            raise NotCourse("what is generated and broadcast")
        widths = {self._widths[i] for i in numbers}
        if len(widths) > 1:
            raise NotCourse("rows of several lengths")
        width = next(iter(widths), 0)
        return width, 1 if "column" in segment.ways or not width else max(1, WIDTH // width)

    def _read(self, number: int, spot: Spot, kind: str, repeats: int, tiles: int) -> Spot:
        """Return where a segment's loop reads an input."""
        value = self._program.values[number]
        if kind == "row" and repeats > 1:
            return self._repeated(number, spot, repeats, tiles)
        if kind == "full" and isinstance(value, Generate) and isinstance(value.source, Full):  # one element lies there
            return self._plot.constant(np.full(self._plot.cut.tile, value.source.value, value.dtype))
        return spot

    def _repeated(self, number: int, row: Spot, repeats: int, tiles: int) -> Spot:
        """Return where a short row is repeated, which is done at a block's first tile."""
        nbytes = self._widths[number] * self._program.values[number].dtype.itemsize
        to = self._plot.lend(("repeated", number), repeats * nbytes)
        self._plot.add((0, 0), (to.going(row=nbytes), row), (1, repeats, nbytes), tiles, FIRST, COPY)
        return to

    def _step(self, number: int, elements: int, tiles: int, out: Spot | None, made: dict[int, Spot]) -> None:
        step = self._program.values[number]
        if isinstance(step, Generate):
            assert isinstance(step.source, Full)
            made[number] = self._plot.constant(np.full(1, step.source.value, step.dtype))
            return
        assert isinstance(step, Apply)
        if step.function in ("real", "imag"):
            self._part(number, step, elements, tiles, out, made)
            return
        dtypes = loop_dtypes(step.function, [_given(self._program, a) for a in step.args])
        assert dtypes is not None
        spots = [
            self._plot.constant(_number(a.value, d)) if isinstance(a, Scalar) else self._as(a, d, elements, tiles, made)
            for a, d in zip(step.args, dtypes, strict=False)
        ]
        target = self._target(number, self._plan.slot[number], out)
        self._plot.add(ufunc_loop(step.function, *dtypes), (*spots, target), (1, 1, elements), tiles)
        made[number] = target

    def _as(self, number: int, dtype: DType, elements: int, tiles: int, made: dict[int, Spot]) -> Spot:
        """Return where a value lies as a dtype: floats become complex by a zero beside each."""
        source_dtype = self._program.values[number].dtype
        if source_dtype == dtype:
            return made[number]
        to = self._plot.lend(("complex", number), 2 * self._bytes).going(step=dtype.itemsize)
        loop = ufunc_loop("positive", source_dtype, source_dtype)
        zero = self._plot.constant(np.zeros(1, source_dtype))
        self._plot.add(loop, (made[number], to), (1, 1, elements), tiles)
        self._plot.add(loop, (zero, to.at(source_dtype.itemsize)), (1, 1, elements), tiles)
        return to

    def _part(
        self, number: int, step: Apply, elements: int, tiles: int, out: Spot | None, made: dict[int, Spot]
    ) -> None:
        (operand,) = step.args
        assert isinstance(operand, int)
        target = self._target(number, ("kept", number), out)
        source = made[operand].at(step.dtype.itemsize if step.function == "imag" else 0)
        self._plot.add(ufunc_loop("positive", step.dtype, step.dtype), (source, target), (1, 1, elements), tiles)
        made[number] = target


def _number(value: Any, dtype: DType) -> Array:
    """Return a scalar as an array of one element; NumPy compares with integers that a dtype doesn't hold otherwise."""
    try:
        return np.full(1, value, dtype)
    except OverflowError as error:
        raise NotCourse("a number beyond the dtype") from error


def _given(program: Program, a: Any) -> Any:
    return a if isinstance(a, Scalar) else program.values[a].dtype


def _is_loops(program: Program, step: Apply) -> bool:
    """Whether a step is one of NumPy's loops, over what needs no conversion, or a part of complex numbers."""
    reads = [a for a in step.args if isinstance(a, int)]
    if not all(step.full) or any(way(program.values[a].full) not in ("full", "one") for a in reads):
        return False
    if step.function in ("real", "imag"):
        return len(reads) == 1 and program.values[reads[0]].dtype.kind == "c"
    dtypes = loop_dtypes(step.function, [_given(program, a) for a in step.args])
    if dtypes is None or dtypes[-1] != step.dtype:
        return False
    dtype_pairs = [(program.values[a].dtype, d) for a, d in zip(step.args, dtypes, strict=False) if isinstance(a, int)]
    return all(a == d or _is_part(a, d) for a, d in dtype_pairs) and loop_of(step.function, dtypes) is not None


def _is_part(real: DType, whole: DType) -> bool:
    """Whether a dtype is that of a complex one's parts."""
    return real.kind == "f" and whole.kind == "c" and whole.itemsize == 2 * real.itemsize
