"""Running kernels that read at offsets: a block is cut into boxes in each of which every input lies in one place.

A stencil's shifted neighbours, padding, rolls and joins are `Move`s: their pieces say which part of a block comes from
which rectangle of which chunk. No block is put together. All pieces' borders cut the block into boxes, mostly one for
the interior, where all neighbours are in the chunk itself, and thin ones for the rims; a box of an input begins at an
address in a chunk, with the chunk's strides. So the interior is one nest of loops over chunks where they lie, and each
input is read once from memory. What stands where no piece leads is read from a row of the fill value, again and again.

What isn't contiguous along the last axis is copied first where it is little (a column that is broadcast); else the
interpreter does it, as it does all this, with the same bits, without LLVM.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ....graph.access import ByBlock
from ....graph.program import Load
from ...config import config
from ..interpreter.piece_assembly import AssembledPieces
from . import dispatch
from .dispatch import LEAST_ELEMENTS, Bound, bind
from .llvm_text import NotCompilable
from .strided_text import compile_strided, table_width

if TYPE_CHECKING:
    from ....graph.program import Program
    from ....graph.stage import Stage
    from ..interpreter.frame import Frame
    from .fused import Fused

Array = np.ndarray[Any, Any]
LITTLE = 1 << 14
"""Elements of an input that are copied, at most, since they aren't contiguous."""
TOGETHER = 1 << 14
"""Elements of rows that are gone over together, rims and interior, so that lines of memory come once."""
FEW, LEAST_BOX = 64, 256
"""Boxes of a block: few, or so many elements each on average; else interpreting is no slower."""

_fused: WeakKeyDictionary[Program, Fused | None] = WeakKeyDictionary()
_bound: WeakKeyDictionary[Stage, Bound | None] = WeakKeyDictionary()


class NotStrided(Exception):
    """A block's inputs don't lie as a strided kernel needs them."""


def store(frame: Frame, out: Array) -> bool:
    """Compute a program's result into `out` by a compiled kernel; tell whether there was one."""
    bound = _find(frame.stage)
    if bound is None or not bound.open:
        return dispatch.store(frame, out)
    if config.jit == "off" or math.prod(frame.shape) * len(frame.blocks) < LEAST_ELEMENTS or not out.flags.c_contiguous:
        return False
    function = bound.function
    if function is None:
        return False
    held: list[Array] = []
    try:
        tables = [_tabulate(frame, bound, i, out[i], held) for i in range(len(frame.blocks))]
    except NotStrided:
        bound.open = False
        return dispatch.store(frame, out)
    table = tables[0] if len(tables) == 1 else np.concatenate(tables)
    function(_address(table), _address(bound.scalars), len(table), table.shape[1], 0, 0)
    return True


def _find(stage: Stage) -> Bound | None:
    try:
        return _bound[stage]
    except KeyError:
        pass
    program = stage.program
    if program not in _fused:
        try:
            _fused[program] = compile_strided(program)
        except NotCompilable:
            _fused[program] = None
    fused = _fused[program]
    found = _bound[stage] = None if fused is None else bind(fused, 0, stage)
    return found


class Parts(NamedTuple):
    """The pieces of an input in one block: their boxes there, where each begins, and its strides in bytes."""

    lo: Array
    hi: Array
    address: Array
    strides: Array
    fill: Any


def _tabulate(frame: Frame, bound: Bound, i: int, out: Array, held: list[Array]) -> Array:
    """Return the table of one block of a frame; what it points to is `held`."""
    shape, fused = frame.shape, bound.fused
    ndim = len(shape)
    inputs = [_parts(frame, number, i, held) for number in fused.loads]
    lo, hi = _cut(shape, inputs)
    table = np.zeros((len(lo), table_width(ndim, len(inputs))), np.int64)
    extents = len(inputs) + 1
    table[:, extents : extents + ndim] = hi - lo
    strides = extents + ndim
    values = frame.program.values
    for k, parts in enumerate([_whole(out, shape), *inputs]):
        dtype = values[fused.loads[k - 1]].dtype if k else out.dtype
        address, steps = _place(parts, lo, hi, dtype, held)
        table[:, k] = address
        if ((address | np.bitwise_or.reduce(steps, 1)) % dtype.itemsize).any():
            raise NotStrided
        table[:, strides + k * (ndim - 1) : strides + (k + 1) * (ndim - 1)] = steps[:, :-1] // dtype.itemsize
    return table


def _cut(shape: tuple[int, ...], inputs: list[Parts]) -> tuple[Array, Array]:
    """Return where boxes begin and end, so that each lies in one piece of each input.

    Boxes beside each other are cut into bands of a few rows, so that a line of memory that two of them read comes once.
    """
    along = []
    for axis, n in enumerate(shape):
        ends = (end[:, axis].tolist() for parts in inputs for end in (parts.lo, parts.hi))
        along.append({0, n}.union(*ends))
    boxes = math.prod([len(borders) - 1 for borders in along])
    if boxes > FEW and boxes * LEAST_BOX > math.prod(shape):
        raise NotStrided
    if len(shape) > 1 and len(along[-1]) > 2:
        along[-2] |= {*range(0, shape[-2], max(1, TOGETHER // shape[-1]))}
    ordered = [sorted(borders) for borders in along]
    lo, hi = (
        np.array([*itertools.product(*ends)], np.int64)
        for ends in ([b[:-1] for b in ordered], [b[1:] for b in ordered])
    )
    return lo, hi


def _place(parts: Parts, lo: Array, hi: Array, dtype: np.dtype[Any], held: list[Array]) -> tuple[Array, Array]:
    """Return the address of an input in each box, and its strides there; of pieces over each other the last counts."""
    if len(parts.lo) == 1 and parts.fill is None:
        return parts.address[0] + ((lo - parts.lo[0]) * parts.strides[0]).sum(1), parts.strides[:1].repeat(len(lo), 0)
    inside = ((parts.lo <= lo[:, None]) & (parts.hi >= hi[:, None])).all(2)
    chosen = len(parts.lo) - 1 - inside[:, ::-1].argmax(1) if len(parts.lo) else np.zeros(len(lo), np.int64)
    found = inside.any(1)
    address, strides = np.zeros(len(lo), np.int64), np.zeros(lo.shape, np.int64)
    mine = chosen[found]
    strides[found] = parts.strides[mine]
    address[found] = parts.address[mine] + ((lo[found] - parts.lo[mine]) * strides[found]).sum(1)
    if not found.all():
        row = _fill_row(np.asarray(parts.fill or 0).astype(dtype).tobytes(), dtype, int((hi - lo)[~found, -1].max()))
        held.append(row)
        address[~found] = _address(row)
    return address, strides


@lru_cache(maxsize=64)
def _fill_row(value: bytes, dtype: np.dtype[Any], count: int) -> Array:
    return np.full(count, np.frombuffer(value, dtype)[0], dtype)


def _whole(array: Array, shape: tuple[int, ...]) -> Parts:
    """Return an array that is there for all positions as one piece."""
    ends = np.array([shape], np.int64)
    steps = [0 if n == 1 else s for n, s in zip(array.shape, array.strides, strict=True)]
    return Parts(np.zeros_like(ends), ends, np.array([_address(array)]), np.array([steps], np.int64), None)


def _parts(frame: Frame, number: int, i: int, held: list[Array]) -> Parts:
    """Return the pieces of an input in block i of the frame."""
    value = frame.program.values[number]
    assert isinstance(value, Load)
    if isinstance(value.access, ByBlock):
        array = _contiguous(frame.whole(number)[i], value.dtype)
        held.append(array)
        return _whole(array, frame.shape)
    pieces, shape = frame._pieces(number, value, i)
    if not AssembledPieces.takes(pieces) or any(p.into is not None or p.points for p in pieces):
        raise NotStrided
    count, ndim = len(pieces), len(frame.shape)
    lo, hi = np.zeros((count, ndim), np.int64), np.array(frame.shape, np.int64)[None].repeat(count, 0)
    address, strides = np.zeros(count, np.int64), np.zeros((count, ndim), np.int64)
    along = [(k, a) for k, a in enumerate(value.axes) if a is not None]
    for p, piece in enumerate(pieces):
        ends = [s.indices(n)[:2] for s, n in zip(piece.put, shape, strict=True)]
        part = frame.reader.piece(value.inputs, piece)
        part = _contiguous(np.broadcast_to(part, [b - a for a, b in ends]), value.dtype)
        held.append(part)
        address[p] = _address(part)
        for own, a in along:
            lo[p, a], hi[p, a] = ends[own]
            strides[p, a] = part.strides[own]
    return Parts(lo, hi, address, strides, getattr(value.access, "fill", None))


def _contiguous(part: Array, dtype: np.dtype[Any]) -> Array:
    """Return an array whose last axis is contiguous; a little is copied for that."""
    if part.dtype != dtype or not part.flags.aligned:
        raise NotStrided
    if not part.ndim or part.shape[-1] == 1 or part.strides[-1] == part.itemsize:
        return part
    once = part[tuple([slice(0, 1) if s == 0 else slice(None) for s in part.strides[:-1]])]
    if once.size > LITTLE:
        raise NotStrided
    return np.broadcast_to(np.ascontiguousarray(once), part.shape)


def _address(x: Array) -> int:
    address: int = x.__array_interface__["data"][0]
    return address
