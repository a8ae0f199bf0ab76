"""Steps of a program as calls of compiled kernels, each with a table.

A kernel reads at offsets, over boxes that a table tells (`kernels.compiled.fused.strided`). All is known beforehand but
where memory begins, so a table is made once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...graph.chunks.block_reads import ByBlock
from ...graph.kinds.elementwise import Scalar, kind_of
from ...graph.kinds.source import Full, Inside
from ...graph.lowering.program import Apply, Generate, Load, Program
from ..kernels.compiled.fused.boxes import NotStrided, address_of, lay_out, way_of_reading
from ..kernels.compiled.fused.dispatch import kernel_of_text
from ..kernels.compiled.fused.strided import TOGETHER
from ..kernels.compiled.fused.strided_text import compile_strided
from ..kernels.compiled.llvm.text import NotCompilable
from ..kernels.interpreter.buffer_plan import plan_for
from ..kernels.interpreter.frame import Frame
from ..rank.chunk_reader import arrange, take_part
from .places import Place

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from ...graph.lowering.program import Value
    from ...graph.lowering.stage import Stage
    from ..kernels.compiled.fused.boxes import BoxTable
    from ..kernels.compiled.fused.fused import FusedKernel
    from ..kernels.compiled.llvm.kernel_cache import Kernel
    from ..kernels.compiled.llvm.steps import KernelScalar
    from .places import Step
    from .writes import Put

Array = np.ndarray[Any, Any]
LARGE_BOX = 1 << 16
"""Elements of boxes that threads share."""
LITTLE_WORK = 100_000
"""Elements times loops that take as long as the interpreter's way to them."""
NOTHING: Any = None
"""Reads nothing: where inputs lie is told by grids alone."""
CONSTANT = -1
"""Stands for a slot where an address is known."""


class Hole(NamedTuple):
    """A scalar of a call that differs from run to run: which one, of which number, and what it is converted to."""

    at: int
    number: int
    scalar: KernelScalar


class TableForm(NamedTuple):
    """What the columns of a table are: pointers, extents of boxes, and strides of each pointer along some axes.

    `sizes` are the bytes of an element, of the result and of each input; `moves` tells which pointers move along the
    last axis; along that strides are in the table if it is `spaced`.
    """

    ndim: int
    spaced: bool
    sizes: tuple[int, ...]
    moves: tuple[bool, ...]

    def cut(self, rows: Array, count: int) -> list[Array]:
        """Cut boxes that lie side by side into so many runs along an axis; themselves if they are small."""
        pointers, extents = len(self.sizes), rows[:, len(self.sizes) : len(self.sizes) + self.ndim]
        axis = next((a for a in range(self.ndim) if extents[0, a] > 1), self.ndim - 1)
        length, last = int(extents[0, axis]), axis == self.ndim - 1
        if extents.prod(1).sum() < LARGE_BOX or length < count or (last and len(rows) > 1):
            return [rows]
        apart = np.empty((len(rows), pointers), np.int64)
        for k, (size, moves) in enumerate(zip(self.sizes, self.moves, strict=True)):
            apart[:, k] = size * (moves if last and not self.spaced else rows[:, self.stride(k, axis)])
        runs: list[Array] = []
        for k in range(count):
            begin, end = length * k // count, length * (k + 1) // count
            run = rows.copy()
            run[:, :pointers] += begin * apart
            run[:, pointers + axis] = end - begin
            runs.append(run)
        return runs

    def stride(self, pointer: int, axis: int) -> int:
        """Return the column of a pointer's stride along an axis, in elements."""
        return len(self.sizes) + self.ndim + pointer * (self.ndim if self.spaced else self.ndim - 1) + axis

    def merge_axes(self, row: Array, whole: tuple[bool, ...]) -> None:
        """Make one axis of all of a box's where nothing lies between its rows; `whole` pointers have all elements."""
        pointers = len(self.sizes)
        extents = row[pointers : pointers + self.ndim]
        wanted = [int(np.prod(extents[a + 1 :])) for a in range(self.ndim - 1)]
        for k, (is_whole, moves) in enumerate(zip(whole, self.moves, strict=True)):
            strides = row[self.stride(k, 0) : self.stride(k, self.ndim - 1)].tolist()
            if (is_whole or moves or any(strides)) and not (is_whole and strides == wanted):
                return
        extents[-1] = np.prod(extents)
        extents[:-1] = 1


@dataclass(frozen=True, eq=False)
class NativeCall:
    """A call of a kernel, with its table: column k of `rows` is to be added to where slot `slots[:, k]` begins."""

    kernel: Kernel
    rows: Array
    slots: Array
    beside: int
    together: int
    work: int
    scalars: bytes = b""
    holes: tuple[Hole, ...] = ()
    held: tuple[Array, ...] = ()
    form: TableForm | None = None
    """What is known of the table's columns, so that it can be cut."""

    def shares(self, count: int) -> list[NativeCall]:
        """Return so many calls that together do the same, each a run of each large box; itself if there is none."""
        if self.form is None:
            return [self]
        parts: list[list[tuple[Array, Array]]] = [[] for _ in range(count)]
        for first in range(0, len(self.rows), self.beside):
            group = slice(first, first + self.beside)
            for part, rows in zip(parts, self.form.cut(self.rows[group], count), strict=False):
                part.append((rows, self.slots[group]))
        if not all(parts):
            return [self]
        tables = [
            (np.concatenate(rows), np.concatenate(slots)) for rows, slots in (zip(*part, strict=True) for part in parts)
        ]
        return [replace(self, rows=rows, slots=slots, work=self.work // count) for rows, slots in tables]


class _Compiled(NamedTuple):
    """The kernel of programs of one structure; its scalars by their value's number and place among arguments."""

    fused: FusedKernel
    kernel: Kernel
    scalars: tuple[tuple[int, int], ...]


class CallMaker:
    """Makes the calls of one program's steps, whose kernels and layouts are often alike.

    Parameters
    ----------
    places : sequence of Place
        Where the program's values lie.
    holes : mapping of int to int
        Which number each scalar of the programs is, by its identity; others stay.
    """

    def __init__(self, places: Sequence[Place], holes: Mapping[int, int]) -> None:
        self._places, self._holes = places, holes
        self._kernels: dict[Hashable, _Compiled | None] = {}
        self._layouts: dict[Hashable, BoxTable | None] = {}

    def calls(self, step: Step) -> list[NativeCall] | None:
        """Return the calls that do a step; None where no kernel does."""
        try:
            if step.puts is None:
                return [self._run(step)]
            return [self._put(step, put) for put in step.puts]
        except (NotCompilable, NotStrided):
            return None

    def _run(self, step: Step) -> NativeCall:
        stage, reads = step.stage, [self._places[number] for number in step.reads]
        for spaced in (False, True):
            compiled = self._compile(stage.program, spaced)
            layout = self._lay_out(step, compiled.fused, spaced)
            if layout is None:
                continue
            bases = [step.place, *(reads[b[0]] if isinstance(b, tuple) else b for b in layout.bases[1:])]
            rows, slots, held = _based(layout.rows, layout.which, bases)
            form, whole = _form_of(compiled.fused, stage, spaced)
            if not spaced and stage.domain.ndim > 1 and len(rows) == 1:
                form.merge_axes(rows[0], whole)
            scalars, holes = self._scalars(compiled, stage.program)
            together = _rows_together(stage.domain.shape)
            return NativeCall(
                compiled.kernel, rows, slots, layout.beside, together, work_of(stage), scalars, holes, held,
                form if stage.domain.ndim else None,
            )  # fmt: skip
        raise NotStrided

    def _put(self, step: Step, put: Put) -> NativeCall:
        """Return the call that copies a part of a value to where it is set."""
        source, base = self._places[step.reads[put.source]], step.place
        if source.dtype != base.dtype:
            raise NotStrided
        whole, target = source.nowhere(), base.nowhere()
        region = target[(..., *put.piece.put)]
        part = np.broadcast_to(arrange(take_part(whole, put.piece.take), put.piece), region.shape)
        ndim, size = len(region.shape), source.dtype.itemsize
        strides = np.array([region.strides, part.strides], np.int64).reshape(2, ndim)
        if (strides % size).any():
            raise NotStrided
        spaced = bool(ndim) and region.shape[-1] > 1 and bool((strides[:, -1] != size).any())
        load = Load(ByBlock(tuple(range(ndim))), (0,), region.dtype, (True,) * ndim)
        compiled = self._compile(Program((load,)), spaced)
        begins = address_of(region) - address_of(target), address_of(part) - address_of(whole)
        numbers = [*begins, *(region.shape or (1,)), *(strides[:, : ndim if spaced else -1] // size).flat]
        slots, work = np.array([[base.slot, source.slot]]), max(LITTLE_WORK, part.size)
        rows = np.array([numbers], np.int64)
        return NativeCall(compiled.kernel, rows, slots, 1, _rows_together(region.shape), work)

    def _compile(self, program: Program, spaced: bool) -> _Compiled:
        """Return the kernel of a program: one for all that differ in scalars, grids and what they read."""
        key = spaced, *map(_structure, program.values), program.level is None
        if key not in self._kernels:
            try:
                self._kernels[key] = _compile(program, spaced)
            except NotCompilable:
                self._kernels[key] = None
        compiled = self._kernels[key]
        if compiled is None:
            raise NotCompilable("a program that no kernel takes")
        return compiled

    def _lay_out(self, step: Step, fused: FusedKernel, spaced: bool) -> BoxTable | None:
        """Return where a step reads; None where that isn't in boxes, or not contiguous unless `spaced`."""
        stage = step.stage
        frame = Frame(stage, NOTHING, [0], stage.domain.shape)

        def make() -> BoxTable | None:
            try:
                return lay_out(frame, fused, 0, stage.dtype, real=False, spaced=spaced)
            except NotStrided:
                return None

        key = spaced, way_of_reading(stage, fused)
        try:
            if key not in self._layouts:
                self._layouts[key] = make()
            return self._layouts[key]
        except TypeError:  # arrays of positions have no hash
            return make()

    def _scalars(self, compiled: _Compiled, program: Program) -> tuple[bytes, tuple[Hole, ...]]:
        """Return the scalars that a program hands to its kernel, and which of them are holes."""
        parts: list[bytes] = []
        holes: list[Hole] = []
        for at, ((value, argument), scalar) in enumerate(
            zip(compiled.scalars, compiled.fused.conversions, strict=True)
        ):
            source: Any = program.values[value]
            source = source.source if argument < 0 else source.args[argument]
            if (number := self._holes.get(id(source))) is not None:
                holes.append(Hole(at, number, scalar))
            parts.append(scalar.bytes_of(source.value))
        return b"".join(parts), tuple(holes)


def work_of(stage: Stage) -> int:
    """Return how many of NumPy's loops over an element a stage comes to, or takes as long as."""
    return max(LITTLE_WORK, stage.domain.size * len(stage.program.values))


def _rows_together(shape: tuple[int, ...]) -> int:
    return max(1, TOGETHER // max(1, shape[-1] if shape else 1))


def _structure(value: Value) -> Hashable:
    """Return what of a value decides a kernel's text."""
    if isinstance(value, Apply):
        args = tuple([kind_of(arg.value) if isinstance(arg, Scalar) else arg for arg in value.args])
        return value.function, args, value.dtype, value.full
    if isinstance(value, Load):
        return type(value.access), value.dtype, value.full
    if isinstance(value, Generate) and isinstance(value.source, Full):
        return kind_of(value.source.value), value.dtype, value.full
    if isinstance(value, Generate) and isinstance(value.source, Inside):
        return value.axes, value.full
    return type(value).__name__


def _compile(program: Program, spaced: bool) -> _Compiled:
    fused = compile_strided(program, spaced=spaced, plain=True)
    scalars: list[tuple[int, int]] = []
    for number in plan_for(program, len(program.values) - 1).tiled:  # the order in which steps are written
        value = program.values[number]
        if isinstance(value, Apply):
            scalars += [(number, k) for k, arg in enumerate(value.args) if isinstance(arg, Scalar)]
        elif isinstance(value, Generate) and isinstance(value.source, Full):
            scalars.append((number, -1))
    return _Compiled(fused, kernel_of_text(fused.text, 0), tuple(scalars))


def _based(rows: Array, which: Array, bases: Sequence[Place | Array]) -> tuple[Array, Array, tuple[Array, ...]]:
    """Return a table, in which addresses and offsets that are known are added, with the slots that are to be."""
    slots = np.array([base.slot if isinstance(base, Place) else CONSTANT for base in bases])
    begins = np.array([0 if isinstance(base, Place) else address_of(base) for base in bases], np.int64)
    rows = rows.copy()
    rows[:, : which.shape[1]] += begins[which]
    return rows, slots[which], tuple([base for base in bases if not isinstance(base, Place)])


def _form_of(fused: FusedKernel, stage: Stage, spaced: bool) -> tuple[TableForm, tuple[bool, ...]]:
    """Return what a table's columns are, and which of the result and the inputs have all elements."""
    values = stage.program.values
    pointers = [values[-1], *(values[number] for number in fused.loads)]
    single = (False, *fused.single)
    moves = tuple(
        [not one and bool(value.full) and value.full[-1] for one, value in zip(single, pointers, strict=True)]
    )
    whole = (True, *(not one and all(value.full) for one, value in zip(fused.single, pointers[1:], strict=True)))
    return TableForm(stage.domain.ndim, spaced, tuple([value.dtype.itemsize for value in pointers]), moves), whole
