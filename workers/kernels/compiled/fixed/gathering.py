"""Bringing a moved block together by a compiled loop, as a whole or tile by tile, where its pieces are many.

Where the pieces are follows from grids by array arithmetic, and where blocks lie from the reader's columns: there is no
object for a piece. What isn't in place (it was fetched, or read from a file) is told piece by piece.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from .....graph.kinds.move import Move
from .....graph.kinds.reshape import Reshape
from .....graph.lowering.program import Load
from ....config import config
from ...interpreter.tile_regions import regions
from ..fused.boxes import address_of
from .copying import AXES, Copies, copy, find_loop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .....graph.chunks.boxes import Boxes
    from .....graph.lowering.program import ProgramForm
    from .....graph.lowering.stage import Stage
    from ...interpreter.frame import Frame
    from ...interpreter.piece_assembly import AssembledPieces
    from ...interpreter.tile_regions import Region
    from ..llvm.machine_code import Native

Array = np.ndarray[Any, Any]
MANY = 8
"""Pieces of a block; fewer are brought together by the interpreter."""
SEVERAL = 4
"""Pieces for each tile of a block."""
LOOKED_AT = 3
"""Blocks that tell whether a stage's have many."""

_counts: WeakKeyDictionary[ProgramForm, dict[int, int]] = WeakKeyDictionary()


@dataclass(frozen=True)
class BlockPieces:
    """A block's pieces in order: in which box of it each goes, the address it begins at, and its strides in bytes.

    (pieces, axes of the block). `value` is what stands where none goes; `kept` holds the memory.
    """

    loop: Native
    lo: Array
    hi: Array
    at: Array
    strides: Array
    value: Any = None
    kept: Sequence[Array] = ()

    def fill(self, region: Region, out: Array) -> None:
        """Copy what lies in a region of the block to `out`, which has the region's shape."""
        corner, end = (np.array(ends, np.int64) for ends in zip(*((s.start, s.stop) for s in region), strict=True))
        lo, hi = np.maximum(self.lo, corner), np.minimum(self.hi, end)
        mine = np.flatnonzero((lo < hi).all(1))
        lo, hi, own = lo[mine], hi[mine], np.array(out.strides, np.int64)
        at = self.at[mine] + ((lo - self.lo[mine]) * self.strides[mine]).sum(1)
        if self.value is not None:
            out.fill(self.value)
        to = address_of(out) + (lo - corner) @ own
        copy(self.loop, Copies(at, to, hi - lo, self.strides[mine], own[None]), out.itemsize)


def find_pieces(frame: Frame, number: int) -> BlockPieces | None:
    """Return where the pieces of a moved value are, in a frame of one block; None where they are few, or elsewhere."""
    value = frame.program.values[number]
    assert isinstance(value, Load)
    total = _count(frame, number)
    if not isinstance(value.access, Move) or not total or not _has_many_in_tiles(frame, number):
        return None
    placed_boxes = _find_boxes(frame, number, 0)
    if placed_boxes is None:
        return None
    shape = frame.own_shape(number)
    lo, hi, at, strides = [], [], [], []
    for boxes, begin, apart in placed_boxes:
        axes = [a for a, _ in value.access.routes[boxes.operand].axes]
        first = np.stack(np.unravel_index(boxes.offset, shape), 1).astype(np.int64)
        extent, steps = np.ones_like(first), np.zeros_like(first)
        for own, a in enumerate(axes):
            if a is not None:
                extent[:, a], steps[:, a] = boxes.extent[:, own], apart[:, own]
        lo.append(first)
        hi.append(first + extent)
        at.append(begin)
        strides.append(steps)
    loop = find_loop(sum(map(len, at)), total)
    if loop is None:
        return None
    columns = [np.concatenate(column) for column in (lo, hi, at, strides)]
    return BlockPieces(loop, columns[0], columns[1], columns[2], columns[3], value.access.fill)


def told(frame: Frame, number: int, assembled: AssembledPieces) -> BlockPieces | AssembledPieces:
    """Return a block's pieces, which were told one by one, as those that the loop copies, where it can."""
    parts, total = assembled.parts, _count(frame, number)
    dtype = frame.program.values[number].dtype
    if not total or any(part.dtype != dtype for part in parts) or not _has_many_in_tiles(frame, number):
        return assembled
    loop = find_loop(len(parts), total)
    if loop is None:
        return assembled
    at = np.array([address_of(part) for part in parts], np.int64)
    strides = np.array([part.strides for part in parts], np.int64)
    bounds = assembled.bounds
    return BlockPieces(loop, bounds[:, :, 0], bounds[:, :, 1], at, strides, assembled.value, parts)


def assemble(frame: Frame, number: int, i: int, out: Array) -> bool:
    """Bring a moved value's block i of a frame together in `out`; False where its pieces are few, or elsewhere."""
    value = frame.program.values[number]
    assert isinstance(value, Load)
    total = _count(frame, number)
    if not total or not out.flags.c_contiguous:
        return False
    placed_boxes = _find_boxes(frame, number, i)
    if placed_boxes is None:
        return False
    loop = find_loop(sum(len(at) for _, at, _ in placed_boxes), total)
    if loop is None:
        return False
    fill = getattr(value.access, "fill", None)
    if fill is not None:
        out.fill(fill)
    to = address_of(out)
    for boxes, at, apart in placed_boxes:
        there = boxes.stride[None] * out.itemsize
        copy(loop, Copies(at, to + boxes.offset * out.itemsize, boxes.extent, apart, there), out.itemsize)
    return True


def count_pieces(stage: Stage, number: int) -> int:
    """Return about how many pieces a block of a moved value has at most; 0 where they are none that the loop takes."""
    if config.jit == "off":
        return 0
    known = _counts.setdefault(stage.program.form, {})
    if number not in known:
        known[number] = _most_pieces(stage, number)
    return known[number]


def _most_pieces(stage: Stage, number: int) -> int:
    value = stage.program.values[number]
    assert isinstance(value, Load)
    grids = tuple([stage.input_grids[k] for k in value.inputs])
    if not isinstance(value.access, Move | Reshape) or value.frame is None:
        return 0
    if max([value.frame.ndim, *(grid.ndim for grid in grids)]) >= AXES:
        return 0
    blocks = np.unique(np.linspace(0, value.frame.nblocks - 1, LOOKED_AT).astype(np.int64))
    counts = np.zeros(len(blocks), np.int64)
    for rows in value.access.rows(value.frame, grids, blocks):
        counts += rows.lengths
    return int(counts.max())


def _count(frame: Frame, number: int) -> int:
    """Return about how many pieces all blocks of a moved value have; 0 where each has few."""
    most, value = count_pieces(frame.stage, number), frame.program.values[number]
    return most * value.frame.nblocks if most > MANY and isinstance(value, Load) and value.frame is not None else 0


def has_many(frame: Frame, number: int, i: int) -> bool:
    """Tell, without a look at each, whether block i of a moved value has several pieces, as others have."""
    value = frame.program.values[number]
    if count_pieces(frame.stage, number) <= MANY or not isinstance(value, Load) or value.frame is None:
        return False
    grids = tuple([frame.stage.input_grids[k] for k in value.inputs])
    block = np.array([frame.block_within(number, i)])
    return sum([len(rows.items) for rows in value.access.rows(value.frame, grids, block)]) > 1


def _has_many_in_tiles(frame: Frame, number: int) -> bool:
    """Whether a tile has several pieces: of few NumPy copies each as soon as a table of them is made."""
    return count_pieces(frame.stage, number) >= SEVERAL * len(regions(frame.shape))


def _find_boxes(frame: Frame, number: int, i: int) -> list[tuple[Boxes, Array, Array]] | None:
    """Return the boxes of block i, the address of each and its strides in bytes; None where some aren't in place."""
    value = frame.program.values[number]
    assert isinstance(value, Load)
    assert isinstance(value.access, Move | Reshape)
    assert value.frame is not None
    grids = tuple([frame.stage.input_grids[k] for k in value.inputs])
    placed_boxes = []
    for boxes in value.access.boxes(value.frame, grids, frame.block_within(number, i)) or ():
        operand = value.inputs[boxes.operand]
        same_dtype = frame.reader.producers[operand].dtype == value.dtype
        strided = frame.reader.strided_addresses(operand, boxes.block) if same_dtype else None
        if strided is None:
            return None
        begin, strides = strided
        placed_boxes.append((boxes, begin + (boxes.start * strides).sum(1), strides * boxes.step))
    return placed_boxes or None
