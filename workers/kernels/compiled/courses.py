"""Which blocks are made by a course, and how: found once for a program's blocks of one shape that lie alike."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ....graph.kinds.reduction import partial_dtype
from ....graph.program import Generate
from ...config import config
from ..buffers import Buffers
from .course import Course, address_of, conductor
from .course_draws import Draw, Drawn, is_drawn
from .course_folds import UFUNCS, Fold, Total
from .course_moments import Moments
from .course_plan import INPUTS, OUT, Cut, Inputs, NotCourse, Plot, Steps
from .course_search import SEARCHES, Searched, zeroed_text
from .loops import LANES

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....graph.kinds.reduction import Level
    from ....graph.program import Program
    from ..interpreter.frame import Frame
    from .dispatch import Bound
    from .llvm_compile import Native
    from .llvm_text import DType

Array = np.ndarray[Any, Any]
LEAST_ELEMENTS = 1 << 14
"""Smaller blocks take no longer than the course's table."""

_scratch = Buffers(1 << 26, begin=1 << 22)


@dataclass(frozen=True)
class Ready:
    """A course with the memory that it needs, and what reads a reduction's state there."""

    course: Course
    scratch: int
    read: tuple[Callable[[Array, Frame], Any], ...] = ()


_known: WeakKeyDictionary[Program, dict[Any, Ready | None]] = WeakKeyDictionary()


def store(frame: Frame, last: int, out: Array) -> bool:
    """Make a value of a frame in `out` by a course; tell whether there was one."""
    if not out.flags.c_contiguous:
        return False
    found = _find(frame, last, None)
    if found is None:
        return False
    ready_course, function, operands = found
    _run(ready_course, function, operands, address_of(out))
    return True


def reduce(frame: Frame) -> list[Any] | None:
    """Reduce a program's result tile by tile; return the states of its reductions, as their heads close them."""
    level = frame.program.level
    assert level is not None
    found = _find(frame, len(frame.program.values) - 1, level)
    if found is None:
        return None
    ready_course, function, operands = found
    memory = _run(ready_course, function, operands, 0)
    return [read(memory, frame) for read in ready_course.read]


def turn(frame: Frame, kernel: Bound, function: Native, inputs: list[Array], out: Array | None) -> list[Array] | None:
    """Run a program's one compiled loop over tiles of inputs that lie in another order; None where no course does.

    What is stored goes to `out`; of sums the lanes are returned.
    """
    fused, cut = kernel.fused, Cut.of(frame.shape)
    conduct = conductor(cut.size) if cut.size >= LEAST_ELEMENTS and len(frame.blocks) == 1 else None
    if conduct is None or (out is None and not fused.lanes):
        return None
    known = _known.setdefault(frame.program, {})
    wholes = dict(zip(fused.loads, inputs, strict=True))
    key = "turned", frame.shape, _layout(wholes)
    found = _look_up(known, key, lambda: _make_turned(frame, kernel, function, wholes, cut))
    if found is None:
        return None
    memory = _run(found, conduct, inputs, 0 if out is None else address_of(out))
    return [read(memory, frame) for read in found.read]


def _look_up(known: dict[Any, Ready | None], key: Any, make: Callable[[], Ready | None]) -> Ready | None:
    """Return what is known by a key, or is made now; what isn't ready is asked for again, what is no course is not."""
    if key not in known:
        try:
            made = make()
        except NotCourse:
            known[key] = None
        else:
            if made is None:
                return None
            known[key] = made
    return known[key]


def _make_turned(frame: Frame, kernel: Bound, function: Native, wholes: dict[int, Array], cut: Cut) -> Ready | None:
    plot, fused = Plot(cut), kernel.fused
    inputs = Inputs(frame.program.values, wholes, plot)
    functions: dict[str, Native | None] = inputs.functions(cut.size)
    addresses = {text: _place_of(each) for text, each in functions.items() if each is not None}
    if len(addresses) < len(functions):
        return None
    level = frame.program.level
    total = None if level is None else Total(plot, Fold.of(cut, tuple(level.reduce.axes), True), "add", fused.dtype, 0)
    scalars = plot.constant(kernel.scalars)
    out = plot.lying(OUT, fused.dtype.itemsize) if total is None else plot.lend("lanes", LANES * fused.dtype.itemsize)
    for elements, tiles in cut.kinds():
        written = inputs.write(elements, tiles, addresses)
        spots = [*(written[number] for number in wholes), scalars, out]
        call = (_place_of(function), elements), tuple(spots), (1, int(total is None), elements)
        plot.add(*call, tiles, kind=len(spots))
        if total is not None:
            total.merge(out, min(elements, LANES), tiles)
    course = Course(plot.calls, cut.groups, cut.tiles, [plot.kept, functions, kernel])
    return Ready(course, plot.scratch, () if total is None else (total.read,))


def _layout(wholes: dict[int, Array]) -> tuple[tuple[int, tuple[int, ...], bool], ...]:
    return tuple([(part.size, part.strides, part.flags.aligned) for part in wholes.values()])


def _run(made: Ready, function: Native, operands: list[Array], out: int) -> Array:
    memory = _scratch.lend("course", (made.scratch + 64,), np.dtype(np.uint8))
    begin = -address_of(memory) % 64
    memory = memory[begin : begin + made.scratch]
    made.course.run(function, [address_of(memory), out, 0, *map(address_of, operands)])
    return memory


def _find(frame: Frame, last: int, level: Level | None) -> tuple[Ready, Native, list[Array]] | None:
    """Return a frame's course if all that it calls is there, what goes over it, and its inputs."""
    size = math.prod(frame.shape)
    if config.jit == "off" or len(frame.blocks) != 1 or size < LEAST_ELEMENTS:
        return None
    known = _known.setdefault(frame.program, {})
    if last in known:
        return None
    cut = Cut.of(frame.shape)
    function = conductor(size)
    if function is None:
        return None
    plan = frame.plan(last)
    wholes: dict[int, Array] = {}
    for number in plan.wholes:
        part = frame.in_place(number)
        if part is None:  # nor will those of other blocks
            known[last] = None
            return None
        wholes[number] = part
    values = frame.program.values
    try:
        drawn = {i: Drawn.of(frame, v, cut) for i in plan.tiled if isinstance(v := values[i], Generate) and is_drawn(v)}
    except NotCourse:
        return None
    key = last, level is None, frame.shape, _layout(wholes), tuple([each.key for each in drawn.values()])
    found = _look_up(known, key, lambda: _make(frame, last, level, wholes, drawn, cut))
    return None if found is None else (found, function, [*wholes.values(), *[each.starts for each in drawn.values()]])


def _make(
    frame: Frame, last: int, level: Level | None, wholes: dict[int, Array], drawn: dict[int, Drawn], cut: Cut
) -> Ready | None:
    """Return a frame's course; None as long as loops that it calls aren't compiled."""
    program = frame.program
    value = program.values[last]
    if not all(value.full):
        raise NotCourse("a result that is broadcast")
    plot = Plot(cut)
    first = INPUTS + len(wholes)
    draws = {i: Draw(cut, each, program.values[i].dtype, first + k) for k, (i, each) in enumerate(drawn.items())}
    inputs, steps = Inputs(program.values, wholes, plot), Steps(program, frame.plan(last), last, plot, draws)
    parts = () if level is None else level.parts or (level,)
    folds = [_fold(plot, part, value.dtype, k) for k, part in enumerate(parts)]
    functions: dict[str, Native | None] = {each.text: each.function(cut.size) for each in steps.compiled}
    for each in (inputs, *draws.values(), *folds):
        functions |= each.functions(cut.size)
    addresses = {text: _place_of(function) for text, function in functions.items() if function is not None}
    if len(addresses) < len(functions):
        return None
    out = plot.lying(OUT, value.dtype.itemsize) if level is None else None
    for elements, tiles in cut.kinds():
        result = steps.write(inputs.write(elements, tiles, addresses), elements, tiles, out, addresses)
        if not result.step or (out is not None and result != out):
            raise NotCourse("one element for all, or what is there already")
        for fold in folds:
            fold.write(result, elements, tiles, addresses)
    course = Course(plot.calls, cut.groups, cut.tiles, [plot.kept, functions])
    return Ready(course, plot.scratch, tuple([fold.read for fold in folds]))


def _fold(plot: Plot, level: Level, dtype: DType, number: int) -> Total | Moments | Searched:
    """Return what writes a reduction's calls for a tile, and reads its state at the end."""
    head, target = level.reduce.head, level.target
    if head in SEARCHES:
        return Searched(plot, Fold.of(plot.cut, tuple(level.reduce.axes), False), level, dtype, number)
    if dtype != target or head not in (*UFUNCS, "var", "std", "sum_some"):
        raise NotCourse(head)
    on_lanes = target.kind in "fc" and UFUNCS.get(head, "add") == "add"
    fold = Fold.of(plot.cut, tuple(level.reduce.axes), on_lanes)
    if head in ("var", "std"):
        return Moments(plot, fold, partial_dtype(level.reduce, level.source, target), number)
    if head == "sum_some":
        if target.kind != "f" or target.itemsize not in (4, 8):
            raise NotCourse(head)
        return Total(plot, fold, "add", target, number, zeroed_text(target))
    return Total(plot, fold, UFUNCS[head], target, number)


def _place_of(function: Any) -> int:
    """Return where a compiled function lies."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0
