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

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from .....graph.lowering.program import Load
from ....config import config
from ..fixed.gathering import count_pieces
from ..llvm.text import NotCompilable
from . import dispatch
from .boxes import FEW, BoxTable, Layouts, NotStrided, address_of, lay_out, layouts_of
from .dispatch import BoundKernel, bind
from .strided_text import compile_strided

if TYPE_CHECKING:
    from .....graph.lowering.program import Program, ProgramForm
    from .....graph.lowering.stage import Stage
    from ...interpreter.frame import Frame
    from ..courses.courses import Places
    from .fused import FusedKernel

Array = np.ndarray[Any, Any]
LEAST_BLOCK = 1 << 13
"""Elements of a block; to find where the inputs of smaller ones lie takes longer than to interpret."""
MANY = 8
"""Blocks that are looked up one by one, at most."""
TOGETHER = 1 << 14
"""Elements of rows that are gone over together, rims and interior, so that lines of memory come once."""

_fused: WeakKeyDictionary[Program, FusedKernel | None] = WeakKeyDictionary()
_layouts: WeakKeyDictionary[ProgramForm, Layouts] = WeakKeyDictionary()
_bound: WeakKeyDictionary[Stage, Strided | None] = WeakKeyDictionary()


@dataclass
class Strided(BoundKernel):
    """A stage's kernel, and where blocks that are read in this way have their inputs."""

    layouts: Layouts = field(default_factory=Layouts)


def store(frame: Frame, out: Places) -> bool:
    """Compute a program's result into `out` by a compiled kernel; tell whether there was one."""
    bound = _find(frame.stage)
    if bound is None or not bound.open:
        return dispatch.store(frame, out)
    if config.jit == "off" or math.prod(frame.shape) < LEAST_BLOCK or not out[0].flags.c_contiguous:
        return False
    function = bound.function
    if function is None:
        return False
    try:
        layouts = [find_layout(frame, bound, i, out[0].dtype) for i in range(len(frame.blocks))]
    except NotStrided:
        bound.open = False
        return dispatch.store(frame, out)
    rows = max(1, TOGETHER // frame.shape[-1])
    for i, (layout, addresses, _) in enumerate(layouts):
        addresses[0] = address_of(out[i])
        table = layout.table(addresses)
        function(address_of(table), address_of(bound.scalars), len(table), table.shape[1], layout.beside, rows)
    return True


def find_layout(
    frame: Frame, bound: Strided, i: int, dtype: np.dtype[Any]
) -> tuple[BoxTable, Array | list[int], list[Array]]:
    """Return the layout of block i of a frame, where its bases are, and arrays that hold their memory.

    The first address is the result's, which is left open.
    """
    block, reader = frame.blocks[i], frame.reader
    if not reader.fetched and not reader.ahead:
        layout = bound.layouts.find(block, lambda: lay_out(frame, bound.fused, i, dtype, real=False))
        if layout is not None:
            if len(layout.bases) > MANY and (at := _addresses(frame, layout)) is not None:
                return layout, at, []
            arrays = [b if isinstance(b, np.ndarray) else reader.block(*b) for b in layout.bases[1:]]
            if all(a.flags.c_contiguous and a.flags.aligned for a in arrays):
                return layout, [0, *map(address_of, arrays)], arrays
    layout = lay_out(frame, bound.fused, i, dtype, real=True)
    return layout, [0, *map(address_of, layout.bases[1:])], layout.bases[1:]


def _addresses(frame: Frame, layout: BoxTable) -> Array | None:
    """Return where many blocks begin, by arithmetic on columns; None where that doesn't tell."""
    if any(isinstance(base, np.ndarray) for base in layout.bases[1:]):
        return None
    addresses = np.zeros(len(layout.bases), np.int64)
    for number, mine, blocks in layout.blocks:
        at = frame.reader.addresses(number, blocks)
        if at is None:
            return None
        addresses[mine] = at
    return addresses


def _find(stage: Stage) -> Strided | None:
    try:
        return _bound[stage]
    except KeyError:
        pass
    program = stage.program
    if isinstance(program.result, Load) and count_pieces(stage, len(program.values) - 1) > FEW:
        _bound[stage] = None  # which are copied without an object for each
        return None
    if program not in _fused:
        try:
            _fused[program] = compile_strided(program)
        except NotCompilable:
            _fused[program] = None
    fused = _fused[program]
    strided = None
    if fused is not None:
        layouts = _layouts.get(program.form)
        if layouts is None:
            layouts = _layouts[program.form] = layouts_of(stage, fused)
        strided = Strided(**vars(bind(fused, 0, stage)), layouts=layouts)
    _bound[stage] = strided
    return strided
