"""When a frame is run by a compiled kernel, and by which.

With the setting `jit` "auto" a kernel is made in the background once its programs have had work enough to
make up for it; until it is there the interpreter goes on. With "on" it is made before the first frame runs.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ....config import config
from ....forks import hold_while_forking
from ...buffers import Buffers
from ...interpreter.tile_regions import Region, regions
from ..courses.courses import Operand, Places, abreast, find_operands, is_in_order, turn
from ..fixed.transposing import copy_tile
from ..llvm.kernel_cache import Kernel
from ..llvm.text import NotCompilable
from .fused import FusedKernel, compile_fused, cuts
from .loops import LANES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .....graph.lowering.program import Program
    from .....graph.lowering.stage import Stage
    from ...interpreter.frame import Frame
    from ..llvm.machine_code import Native

Array = np.ndarray[Any, Any]
LEAST_ELEMENTS = 1 << 10

_ordered = Buffers(1 << 26)
_lock = threading.Lock()
hold_while_forking(_lock)


@dataclass
class BoundKernel:
    """A stage's kernel and what the stage hands it; `open` is false once inputs didn't lie as they must."""

    fused: FusedKernel
    kernel: Kernel
    scalars: Array
    work: int
    counted: bool = False
    open: bool = True

    @property
    def function(self) -> Native | None:
        """The kernel's function if it is there; or else see to it that it will be."""
        if self.kernel.function is not None:
            return self.kernel.function
        first, self.counted = not self.counted, True
        return self.kernel.after(self.work if first else 0)


def bind(fused: FusedKernel, inputs: int, stage: Stage) -> BoundKernel:
    """Return a stage's kernel, which takes so many inputs: the one that there is of its text."""
    kernel = kernel_of_text(fused.text, inputs)
    scalars = np.frombuffer(fused.scalars.ljust(8, b"\0"), np.uint8)
    return BoundKernel(fused, kernel, scalars, math.prod(stage.domain.shape) * fused.steps)


def kernel_of_text(text: str, inputs: int) -> Kernel:
    """Return the kernel that there is of a text."""
    with _lock:
        return _kernels.setdefault(text, Kernel(text, inputs))


_kernels: dict[str, Kernel] = {}
_fused: WeakKeyDictionary[Program, FusedKernel] = WeakKeyDictionary()
_bound: WeakKeyDictionary[Stage, BoundKernel | None] = WeakKeyDictionary()


def store(frame: Frame, out: Places) -> bool:
    """Compute a program's result into `out` by a compiled kernel; tell whether there was one."""
    bound_function = _function(frame)
    if bound_function is None or not is_in_order(frame, out):
        return False
    bound, function = bound_function
    if isinstance(out, list) or frame.is_wide:
        return _run_wide(frame, bound, function, out)
    inputs = _inputs(frame, bound)
    if inputs is None:
        return False
    if _lie_in_order(inputs):
        _run(function, bound, inputs, out, len(frame.blocks), cuts(frame.shape))
        return True
    if turn(frame, bound, function, _operands(inputs), out) is not None:
        return True
    for region, tile in _tiles(frame, inputs):
        part = out[(slice(None), *region)]
        _run(function, bound, tile, part, 1, (part.size, part.size, part.size))
    return True


def reduce(frame: Frame) -> Array | None:
    """Reduce a program's result by a compiled kernel, where there is one: a partial result for each block."""
    bound_function = _function(frame)
    if bound_function is None:
        return None
    bound, function = bound_function
    if frame.is_wide:
        return _reduce_wide(frame, bound, function)
    inputs = _inputs(frame, bound)
    if inputs is None:
        return None
    if not _lie_in_order(inputs):
        lanes = turn(frame, bound, function, _operands(inputs), None)
        return _reduce_tiles(frame, bound, function, inputs) if lanes is None else _close(frame, lanes[0])
    out = np.empty((len(frame.blocks), *(1,) * len(frame.shape)), bound.fused.dtype)
    _run(function, bound, inputs, out, len(frame.blocks), cuts(frame.shape))
    return out


def _run_wide(frame: Frame, bound: BoundKernel, function: Native, out: Places) -> bool:
    """Run a kernel over several blocks that aren't small, where their inputs lie; tell whether it was done so."""
    inputs = _find_wide(frame, bound)
    if inputs is None:
        return False
    if _lie_in_order([operand.first for operand in inputs]):
        return abreast(frame, bound, function, inputs, out)
    return turn(frame, bound, function, inputs, out) is not None


def _reduce_wide(frame: Frame, bound: BoundKernel, function: Native) -> Array | None:
    inputs = _find_wide(frame, bound)
    if inputs is None:
        return None
    if not _lie_in_order([operand.first for operand in inputs]):
        lanes = turn(frame, bound, function, inputs, None)
        return None if lanes is None else _close(frame, lanes[0])
    out = np.empty((len(frame.blocks), *(1,) * len(frame.shape)), bound.fused.dtype)
    return out if abreast(frame, bound, function, inputs, out) else None


def _find_wide(frame: Frame, bound: BoundKernel) -> list[Operand] | None:
    inputs = find_operands(frame, bound.fused.loads)
    if inputs is None or not _are_whole(frame, bound, [each.first for each in inputs], math.prod(frame.shape)):
        return None
    return inputs


def _reduce_tiles(frame: Frame, bound: BoundKernel, function: Native, inputs: list[Array]) -> Array:
    """Reduce a block tile by tile, as the interpreter does, since some inputs must be brought to order first."""
    head, lanes = frame.head, bound.fused.lanes
    state: Array | None = None
    for region, tile in _tiles(frame, inputs):
        size = math.prod(s.stop - s.start for s in region)
        partial = np.empty((1, LANES) if lanes else (1,) * (1 + len(frame.shape)), bound.fused.dtype)
        _run(function, bound, tile, partial, 0 if lanes else 1, (size, size, size))
        partial = partial[:, :size] if lanes else partial
        state = partial if state is None else head.merge(state, partial)
    assert state is not None
    return _close(frame, state)


def _close(frame: Frame, state: Array) -> Array:
    return frame.head.close(state, (1,) * len(frame.shape))


def _lie_in_order(inputs: list[Array]) -> bool:
    return all(part.flags.c_contiguous for part in inputs)


def _tiles(frame: Frame, inputs: list[Array]) -> Iterator[tuple[Region, list[Array]]]:
    """Yield the tiles of a block, and of its inputs: as they lie, or brought to C order."""
    for region in regions(frame.shape):
        index = (slice(None), *region)
        yield region, [part if part.size == 1 else _order(number, part[index]) for number, part in enumerate(inputs)]


def _order(number: int, part: Array) -> Array:
    if part.flags.c_contiguous:
        return part
    ordered = _ordered.lend(number, part.shape, part.dtype)
    copy_tile(ordered, part)
    return ordered


def _run(
    function: Native, bound: BoundKernel, inputs: list[Array], out: Array, blocks: int, lengths: tuple[int, int, int]
) -> None:
    function(*[_address(x) for x in inputs], _address(bound.scalars), _address(out), blocks, *lengths)


def _address(x: Array) -> int:
    address: int = x.__array_interface__["data"][0]
    return address


def _function(frame: Frame) -> tuple[BoundKernel, Native] | None:
    """Return the kernel for a frame if it is there, or else see to it that it will be."""
    stage = frame.stage
    count = math.prod(frame.shape)
    if (
        config.jit == "off"
        or (count if stage.program.level is not None else count * len(frame.blocks)) < LEAST_ELEMENTS
    ):
        return None
    try:
        bound = _bound[stage]
    except KeyError:
        bound = _bind(stage)
    if bound is None or not bound.open:
        return None
    function = bound.function
    return None if function is None else (bound, function)


def _bind(stage: Stage) -> BoundKernel | None:
    bound = None
    try:
        fused = _fused.get(stage.program) or _fused.setdefault(stage.program, compile_fused(stage.program))
        bound = bind(fused, len(fused.loads), stage)
    except NotCompilable:
        pass
    _bound[stage] = bound
    return bound


def _inputs(frame: Frame, bound: BoundKernel) -> list[Array] | None:
    """Return the frame's inputs as they lie, if all are whole; several blocks at once are brought to C order."""
    parts = []
    for number in bound.fused.loads:
        part = frame.in_place(number)
        if part is None:
            bound.open = False
            return None
        parts.append(part)
    if not _are_whole(frame, bound, parts, len(frame.blocks) * math.prod(frame.shape)):
        bound.open = False
        return None
    return [_order(k, part) for k, part in enumerate(parts)] if len(frame.blocks) > 1 else parts


def _are_whole(frame: Frame, bound: BoundKernel, parts: list[Array], count: int) -> bool:
    """Whether inputs have so many elements, or one for all, of the dtypes that the kernel reads."""
    values, fused = frame.program.values, bound.fused
    return all(
        part.size == (1 if single else count) and part.dtype == values[number].dtype and part.flags.aligned
        for number, single, part in zip(fused.loads, fused.single, parts, strict=True)
    )


def _operands(inputs: list[Array]) -> list[Operand]:
    return [Operand(part, _address(part), (part,)) for part in inputs]
