"""Which blocks are made by a course, and how: found once for a program's blocks of one shape that lie alike.

Several such blocks go in one call: what Python does for each call takes longer than the part of a block that a core of
many does meanwhile.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from .....graph.chunks.axismap import Slice
from .....graph.chunks.block_reads import ByBlock
from .....graph.few import ascending
from .....graph.kinds.move import Move
from .....graph.lowering.program import Apply, Generate, Load
from ....config import config
from ...buffers import Buffers
from ..fused.loops import LANES
from .course import FULL, LAST, MOST_ARGUMENTS, Course, Spot, address_of, conductor
from .course_draws import Draw, Drawn, is_drawn
from .course_folds import UFUNCS, TileFold, Total
from .course_moments import Moments
from .course_plan import INPUTS, LINE, OUT, SCRATCH, STATE, Cut, NotCourse, Plot, SpacedRows, Steps, TileInputs
from .course_search import SEARCHES, Searched, zeroed_text
from .course_some_moments import SomeMoments

if TYPE_CHECKING:
    from collections.abc import Callable

    from .....graph.chunks.grid import Index
    from .....graph.kinds.reduction import Level
    from .....graph.lowering.program import Program
    from ...interpreter.frame import Frame
    from ..fused.dispatch import BoundKernel
    from ..llvm.machine_code import Native
    from ..llvm.text import DType

Array = np.ndarray[Any, Any]
Places = Array | list[Array]
"""Where blocks go: (blocks, *shape), or an array for each."""
LEAST_ELEMENTS = 1 << 14
"""Smaller blocks take no longer than the course's table."""

MOMENTS = {"var": Moments, "std": Moments, "nanvar": SomeMoments, "nanstd": SomeMoments}
BEGIN = 1 << 20
"""Bytes of the least memory that courses share."""
_scratch, _states = Buffers(1 << 26, begin=BEGIN), Buffers(1 << 26)


@dataclass(frozen=True)
class ReadyCourse:
    """A course with the memory that it needs, for all blocks and for each, and what reads a reduction's state there."""

    course: Course
    scratch: int
    state: int = 0
    read: tuple[Callable[[Array, Frame], Any], ...] = ()

    @staticmethod
    def of(
        plot: Plot, kept: list[object], read: tuple[Callable[[Array, Frame], Any], ...] = (), cut: bool = True
    ) -> ReadyCourse:
        """Return the course that was plotted, over the tiles of blocks or over blocks that aren't `cut`."""
        groups, tiles = (plot.cut.groups, plot.cut.tiles) if cut else (1, 1)
        return ReadyCourse(Course(plot.calls, groups, tiles, [plot.kept, *kept]), plot.scratch, plot.state, read)

    def run(self, function: Native, inputs: list[Operand], out: Places | None, blocks: int) -> Array:
        """Run it over blocks; return what each has kept."""
        places = np.zeros((blocks, INPUTS + len(inputs)), np.int64)
        memory = _lend(_scratch, 1, self.scratch)
        state = _lend(_states, blocks, self.state)
        places[:, SCRATCH] = address_of(memory)
        places[:, STATE] = _each(state)
        if out is not None:
            places[:, OUT] = _each(out)
        for k, operand in enumerate(inputs, INPUTS):
            places[:, k] = operand.at
        self.course.run(function, places)
        return state


@dataclass(frozen=True)
class Operand:
    """What several blocks have as one input: where each of them has it, and the first one's, as which all others lie.

    `held` are arrays that must live as long as the addresses are used.
    """

    first: Array
    at: Index | int
    held: tuple[Array, ...] = ()


_known: WeakKeyDictionary[Program, dict[Any, ReadyCourse | None]] = WeakKeyDictionary()


def store(frame: Frame, last: int, out: Places) -> bool:
    """Make a value of a frame in `out` by a course; tell whether there was one."""
    rows = None
    if not is_in_order(frame, out):
        if isinstance(out, list) or len(out) > 1:
            return False
        rows = SpacedRows.of(out[0], Cut.of(frame.shape))
        if rows is None:
            return False
    prepared = _find(frame, last, None, rows)
    if prepared is None:
        return False
    course, function, operands = prepared
    course.run(function, operands, out, len(frame.blocks))
    return True


def store_wide(frame: Frame, out: Places) -> bool:
    """Make the results of several blocks in `out` by a course; tell whether there was one."""
    last = len(frame.program.values) - 1
    return isinstance(frame.program.values[last], Apply | Generate) and store(frame, last, out)


def reduce(frame: Frame) -> list[Any] | None:
    """Reduce a program's result tile by tile; return the states of its reductions, as their heads close them."""
    level = frame.program.level
    assert level is not None
    prepared = _find(frame, len(frame.program.values) - 1, level)
    if prepared is None:
        return None
    course, function, operands = prepared
    memory = course.run(function, operands, None, len(frame.blocks))
    return [read(memory, frame) for read in course.read]


def turn(
    frame: Frame, kernel: BoundKernel, function: Native, inputs: list[Operand], out: Places | None
) -> list[Array] | None:
    """Run a program's one compiled loop over tiles of inputs that lie in another order; None where no course does.

    What is stored goes to `out`; of sums the lanes are returned.
    """
    fused, cut = kernel.fused, Cut.of(frame.shape)
    conduct = conductor(cut.size) if cut.size >= LEAST_ELEMENTS and _is_large(frame) else None
    if conduct is None or (out is None and not fused.lanes):
        return None
    known = _known.setdefault(frame.program, {})
    wholes = {number: operand.first for number, operand in zip(fused.loads, inputs, strict=True)}
    key = "turned", frame.shape, _layout(wholes)
    course = _look_up(known, key, lambda: _make_turned(frame, kernel, function, wholes, cut))
    if course is None:
        return None
    memory = course.run(conduct, inputs, out, len(frame.blocks))
    return [read(memory, frame) for read in course.read]


def abreast(frame: Frame, kernel: BoundKernel, function: Native, inputs: list[Operand], out: Places) -> bool:
    """Run a program's one compiled loop over several blocks, whose inputs lie in order; tell whether a course did."""
    cut = Cut.of(frame.shape)
    conduct = conductor(cut.size)
    if conduct is None:
        return False

    def make() -> ReadyCourse:
        plot = Plot(cut)
        spots = [*(Spot(INPUTS + k) for k in range(len(inputs))), plot.constant(kernel.scalars), Spot(OUT)]
        if len(spots) > MOST_ARGUMENTS:
            raise NotCourse("many inputs")
        lengths = (1, 1, cut.size), cut.group, cut.tile
        plot.add(
            (_place_of(function), lengths[1]), tuple(spots), lengths[0], FULL | LAST, kind=len(spots), more=lengths[2]
        )
        return ReadyCourse.of(plot, [function, kernel], cut=False)

    course = _look_up(_known.setdefault(frame.program, {}), ("abreast", frame.shape), make)
    if course is None:
        return False
    course.run(conduct, inputs, out, len(frame.blocks))
    return True


def find_operands(frame: Frame, numbers: tuple[int, ...]) -> list[Operand] | None:
    """Return where a frame's blocks have their inputs, if these aren't put together, and lie alike in all blocks."""
    first = frame.alone(0) if frame.is_wide else frame
    operands = []
    for number in numbers:
        part = first.in_place(number)
        operand = None if part is None else _find_operand(frame, number, part)
        if operand is None:
            return None
        operands.append(operand)
    return operands


def _find_operand(frame: Frame, number: int, part: Array) -> Operand | None:
    begin, value = address_of(part), frame.program.values[number]
    if not frame.is_wide:
        return Operand(part, begin, (part,))
    if not isinstance(value, Load):
        return None
    whole = _whole_blocks(frame, value)
    if whole is not None:
        k, blocks = whole
        shapes = frame.stage.input_grids[k].block_shapes(blocks)
        alike = (shapes == shapes[0]).all() and math.prod(shapes[0].tolist()) == part.size
        strided = frame.reader.strided_addresses(k, blocks) if alike else None
        if strided is not None and strided[0][0] == begin and not np.ptp(strided[1], axis=0).any():
            return Operand(part, strided[0], (part,))
    alone = [frame.alone(i) for i in range(len(frame.blocks))]
    parts = [each.in_place(number) for each in alone if not _is_copied(each, number, value)]
    if len(parts) < len(alone) or any(p is None or (p.shape, p.strides) != (part.shape, part.strides) for p in parts):
        return None
    held = tuple([each for each in parts if each is not None])
    return Operand(part, np.array([address_of(each) for each in held], np.int64), held)


def _whole_blocks(frame: Frame, value: Load) -> tuple[int, Index] | None:
    """Return the input of which each block of a frame reads one block alone, by slices without steps, and which one."""
    access, blocks = value.access, np.asarray(frame.blocks, np.int64)
    if isinstance(access, ByBlock):
        (k,) = value.inputs
        return k, access.rows(frame.stage.domain, (frame.stage.input_grids[k],), blocks)[0].items
    if not isinstance(access, Move) or value.frame is None or len(access.routes) != 1 or access.fill is not None:
        return None
    (k,), (route,) = value.inputs, access.routes
    if any(a is None or not isinstance(m, Slice) or m.step != 1 for a, m in route.axes):
        return None
    mine = value.frame_blocks(frame.stage.domain, blocks)[1]
    rows = access.rows(value.frame, (frame.stage.input_grids[k],), mine)[0]
    return (k, rows.items) if (rows.lengths == 1).all() else None


def _is_copied(frame: Frame, number: int, value: Load) -> bool:
    """Whether a moved block is no view of what it is a part of: several such would take memory."""
    if isinstance(value.access, ByBlock):
        return False
    pieces, _ = frame.pieces(number, value, 0)
    return any(p.shape is not None or p.points or any(isinstance(t, np.ndarray) for t in p.take) for p in pieces)


def _look_up(
    known: dict[Any, ReadyCourse | None], key: Any, make: Callable[[], ReadyCourse | None]
) -> ReadyCourse | None:
    """Return what is known by a key, or is made now; what isn't ready is asked for again, what is no course is not."""
    if key not in known:
        try:
            course = make()
        except NotCourse:
            known[key] = None
        else:
            if course is None:
                return None
            known[key] = course
    return known[key]


def _make_turned(
    frame: Frame, kernel: BoundKernel, function: Native, wholes: dict[int, Array], cut: Cut
) -> ReadyCourse | None:
    plot, fused = Plot(cut), kernel.fused
    inputs = TileInputs(frame.program.values, wholes, plot)
    if any(inputs.width.values()):
        raise NotCourse("an input that is broadcast")
    functions: dict[str, Native | None] = inputs.functions(cut.size)
    addresses = {text: _place_of(each) for text, each in functions.items() if each is not None}
    if len(addresses) < len(functions):
        return None
    level = frame.program.level
    total = (
        None
        if level is None
        else Total(plot, TileFold.of(cut, tuple(level.reduce.axes), True), "add", fused.dtype, None)
    )
    scalars = plot.constant(kernel.scalars)
    out = plot.lying(OUT, fused.dtype.itemsize) if total is None else plot.lend("lanes", LANES * fused.dtype.itemsize)
    for elements, tiles in cut.kinds():
        written = inputs.write(elements, tiles, addresses)
        spots = [*(written[number] for number in wholes), scalars, out]
        call = (_place_of(function), elements), tuple(spots), (1, int(total is None), elements)
        plot.add(*call, tiles, kind=len(spots))
        if total is not None:
            total.merge(out, min(elements, LANES), tiles)
    return ReadyCourse.of(plot, [functions, kernel], () if total is None else (total.read,))


def _layout(wholes: dict[int, Array]) -> tuple[tuple[int, tuple[int, ...], bool], ...]:
    return tuple([(part.size, part.strides, part.flags.aligned) for part in wholes.values()])


def _is_large(frame: Frame) -> bool:
    """Whether a frame is one block, or several that aren't small."""
    return len(frame.blocks) == 1 or frame.is_wide


def _lend(buffers: Buffers, blocks: int, nbytes: int) -> Array:
    """Return memory for blocks, each of which begins at a line of the processor's cache."""
    memory = buffers.lend("course", (blocks * nbytes + LINE,), np.dtype(np.uint8))
    begin = -address_of(memory) % LINE
    return memory[begin : begin + blocks * nbytes].reshape(blocks, nbytes)


def _each(x: Places) -> Index | int:
    """Return where blocks begin."""
    if isinstance(x, list):
        return np.array([address_of(each) for each in x], np.int64)
    begin = address_of(x)
    return begin if len(x) == 1 else begin + ascending(0, len(x)) * x.strides[0]


def is_in_order(frame: Frame, out: Places) -> bool:
    """Whether blocks go to memory in C order: each of them, where the frame is wide, else all."""
    first = out[0] if isinstance(out, list) or frame.is_wide else out
    return bool(first.flags.c_contiguous)


def _find(
    frame: Frame, last: int, level: Level | None, rows: SpacedRows | None = None
) -> tuple[ReadyCourse, Native, list[Operand]] | None:
    """Return a frame's course if all that it calls is there, what goes over it, and its inputs.

    `rows` are those of a result that doesn't lie in C order.
    """
    size = math.prod(frame.shape)
    if config.jit == "off" or size < LEAST_ELEMENTS or not _is_large(frame):
        return None
    known = _known.setdefault(frame.program, {})
    if last in known:
        return None
    cut = Cut.of(frame.shape)
    function = conductor(size)
    if function is None:
        return None
    plan = frame.plan(last)
    operands = find_operands(frame, plan.wholes)
    if operands is None:
        if not frame.is_wide:  # nor will those of other blocks
            known[last] = None
        return None
    wholes = {number: operand.first for number, operand in zip(plan.wholes, operands, strict=True)}
    values = frame.program.values
    try:
        drawn = {i: Drawn.of(frame, v, cut) for i in plan.tiled if isinstance(v := values[i], Generate) and is_drawn(v)}
    except NotCourse:
        return None
    key = last, level is None, frame.shape, rows, _layout(wholes), tuple([each.key for each in drawn.values()])
    course = _look_up(known, key, lambda: _make(frame, last, level, wholes, drawn, cut, rows))
    if course is None:
        return None
    starts = [Operand(each.starts, _each(each.starts), (each.starts,)) for each in drawn.values()]
    return course, function, operands + starts


def _make(
    frame: Frame,
    last: int,
    level: Level | None,
    wholes: dict[int, Array],
    drawn: dict[int, Drawn],
    cut: Cut,
    rows: SpacedRows | None,
) -> ReadyCourse | None:
    """Return a frame's course; None as long as loops that it calls aren't compiled."""
    program = frame.program
    value = program.values[last]
    if not all(value.full):
        raise NotCourse("a result that is broadcast")
    plot = Plot(cut)
    first = INPUTS + len(wholes)
    draws = {i: Draw(cut, each, program.values[i].dtype, first + k) for k, (i, each) in enumerate(drawn.items())}
    inputs = TileInputs(program.values, wholes, plot)
    steps = Steps(program, frame.plan(last), last, plot, draws, inputs.width)
    parts = () if level is None else level.parts or (level,)
    folds = [_fold(plot, part, value.dtype, k if len(parts) > 1 else None) for k, part in enumerate(parts)]
    functions: dict[str, Native | None] = {each.text: each.function(cut.size) for each in steps.compiled}
    for each in (inputs, *draws.values(), *folds):
        functions |= each.functions(cut.size)
    addresses = {text: _place_of(function) for text, function in functions.items() if function is not None}
    if len(addresses) < len(functions):
        return None
    size = value.dtype.itemsize
    out = plot.lying(OUT, size) if level is None else None
    if rows is not None:
        out = plot.lend("result", cut.tile * size).going(step=size)
    for elements, tiles in cut.kinds():
        result = steps.write(inputs.write(elements, tiles, addresses), elements, tiles, out, addresses)
        if not result.step or (out is not None and result != out):
            raise NotCourse("one element for all, or what is there already")
        if rows is not None and out is not None:
            rows.scatter(plot, out, rows.lying(OUT, cut), elements, size, tiles)
        for fold in folds:
            fold.write(result, elements, tiles, addresses)
    return ReadyCourse.of(plot, [functions], tuple([fold.read for fold in folds]))


def _fold(plot: Plot, level: Level, dtype: DType, number: int | None) -> Total | Moments | Searched:
    """Return what writes a reduction's calls for a tile, and reads its state at the end."""
    head, target = level.reduce.head, level.target
    if head in SEARCHES:
        return Searched(plot, TileFold.of(plot.cut, tuple(level.reduce.axes), False), level, dtype)
    if dtype != target or head not in (*UFUNCS, "sum_some", *MOMENTS):
        raise NotCourse(head)
    on_lanes = target.kind in "fc" and UFUNCS.get(head, "add") == "add"
    fold = TileFold.of(plot.cut, tuple(level.reduce.axes), on_lanes)
    if head in MOMENTS:
        return MOMENTS[head](plot, fold, level.partial)
    if head == "sum_some":
        if target.kind != "f" or target.itemsize not in (4, 8):
            raise NotCourse(head)
        return Total(plot, fold, "add", target, number, zeroed_text(target))
    return Total(plot, fold, UFUNCS[head], target, number)


def _place_of(function: Any) -> int:
    """Return where a compiled function lies."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0
