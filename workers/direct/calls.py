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
from ..kernels.compiled.fused.dispatch import kernel_of
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
    extent: int = 0
    """The column of the extent along which it can be cut, if it is one box."""
    apart: tuple[int, ...] = ()
    """How many bytes neighbours along that are apart, of the result and of each input."""

    def shares(self, count: int) -> list[NativeCall]:
        """Return so many calls that together do the same, each for a run along an axis; itself if it can't be cut."""
        length = int(self.rows[0, self.extent])
        if len(self.rows) > 1 or not self.apart or length < count:
            return [self]
        calls: list[NativeCall] = []
        for k in range(count):
            begin, end = length * k // count, length * (k + 1) // count
            rows = self.rows.copy()
            rows[0, : len(self.apart)] += begin * np.array(self.apart)
            rows[0, self.extent] = end - begin
            calls.append(replace(self, rows=rows, work=self.work // count))
        return calls


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
            if not spaced and stage.domain.ndim > 1 and len(rows) == 1:
                _merge_axes(rows[0], compiled.fused, stage)
            scalars, holes = self._scalars(compiled, stage.program)
            together = _rows_together(stage.domain.shape)
            call = NativeCall(
                compiled.kernel, rows, slots, layout.beside, together, work_of(stage), scalars, holes, held
            )
            return replace(call, **_cut_of(rows[0], compiled.fused, stage, spaced)) if stage.domain.ndim else call
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
        for at, ((value, argument), scalar) in enumerate(zip(compiled.scalars, compiled.fused.constants, strict=True)):
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
    return _Compiled(fused, kernel_of(fused.text, 0), tuple(scalars))


def _based(rows: Array, which: Array, bases: Sequence[Place | Array]) -> tuple[Array, Array, tuple[Array, ...]]:
    """Return a table, in which addresses and offsets that are known are added, with the slots that are to be."""
    slots = np.array([base.slot if isinstance(base, Place) else CONSTANT for base in bases])
    begins = np.array([0 if isinstance(base, Place) else address_of(base) for base in bases], np.int64)
    rows = rows.copy()
    rows[:, : which.shape[1]] += begins[which]
    return rows, slots[which], tuple([base for base in bases if not isinstance(base, Place)])


def _merge_axes(row: Array, fused: FusedKernel, stage: Stage) -> None:
    """Make one axis of all of a box's where nothing lies between its rows."""
    ndim, count = stage.domain.ndim, len(fused.loads) + 1
    extents = row[count : count + ndim]
    wanted = [int(np.prod(extents[a + 1 :])) for a in range(ndim - 1)]
    for k in range(count):
        single = k > 0 and fused.single[k - 1]
        full = k == 0 or all(stage.program.values[fused.loads[k - 1]].full)
        begin = count + ndim + k * (ndim - 1)
        if not single and not (full and row[begin : begin + ndim - 1].tolist() == wanted):
            return
    extents[-1] = np.prod(extents)
    extents[:-1] = 1


def _cut_of(row: Array, fused: FusedKernel, stage: Stage, spaced: bool) -> dict[str, Any]:
    """Return along which axis a box can be cut, and how far neighbours are apart there."""
    ndim, count = stage.domain.ndim, len(fused.loads) + 1
    axis = next((a for a in range(ndim) if row[count + a] > 1), ndim - 1)
    values, width = stage.program.values, ndim if spaced else ndim - 1
    apart: list[int] = []
    for k in range(count):
        value = values[fused.loads[k - 1]] if k else values[-1]
        if k and fused.single[k - 1]:
            apart.append(0)
        elif axis < width:
            apart.append(int(row[count + ndim + k * width + axis]) * value.dtype.itemsize)
        else:
            apart.append(value.dtype.itemsize if value.full[-1] else 0)
    return {"extent": count + axis, "apart": tuple(apart)}
