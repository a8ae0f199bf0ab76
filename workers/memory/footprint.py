"""What a task takes beside its slab while it runs: what it reads, frames, tiles, kernels' temporaries.

It follows the executor: whatever that allocates has its term here, so that the sum is never less.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.axismap import Fixed, Slice
from ...graph.chunks.block_reads import ByBlock
from ...graph.kinds.gang import Gang
from ...graph.kinds.mapping import BlockFunction, MapBlocks
from ...graph.kinds.move import Move
from ...graph.kinds.source import Random
from ...graph.kinds.view import View
from ...graph.lowering.program import Apply, Call, Fused, Generate, Load, Product
from ..kernels.blocks import block_function, fills, room_of
from ..kernels.interpreter.tile_regions import TILE
from ..kernels.reductions import is_folded, kernel_of
from ..rank.inputs import list_read
from .scratch import passing_bytes, tile_scratch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...graph.chunks.grid import Grid
    from ...graph.kinds.reduction import Level
    from ...graph.kinds.source import HostData
    from ...graph.lowering.program import Value
    from ...graph.lowering.stage import Stage

LITTLE, LEAST, EACH = 1 << 20, 1 << 17, 1 << 10
"""Bytes for what isn't told apart: indices, lists of pieces, buffers of compiled loops; of few elements so many and so
many for each."""
USERS = 3.0
"""What a user's function takes where nobody says: so many times the bytes that it is given and returns."""


@dataclass(frozen=True)
class Work:
    """What one task takes beside its slab, at most, in bytes.

    What is `passing` is let go of when the task has ended; its thread keeps the rest for later tasks, by kinds of
    buffers.
    """

    passing: int
    kept: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.passing + self.kept.total()


def task_work(stage: Stage, sources: Mapping[str, HostData]) -> Work:
    """Return the most that one task of a stage takes beside its slab.

    `sources` has what the user handed in, by token, as far as the stage reads it.
    """
    if stage.data is not None:
        return Work(2 * _block(stage.grid, stage.dtype.itemsize))
    values, level = stage.program.values, stage.program.level
    elements = stage.domain.largest * _frame_blocks(stage)
    tile = min(elements, TILE)
    called = {a for v in values if isinstance(v, Call) for a in v.args}
    last = len(values) - 1
    direct = last if level is None else -1
    total, kept = min(LITTLE, LEAST + elements * EACH), Counter[str]()
    for number, value in enumerate(values):
        if isinstance(value, Load) and value.inputs:
            total += _load_bytes(stage, value, sources, number == direct, number in called)
        elif isinstance(value, Product):
            total += _product_bytes(stage, value)
            for fused in value.fused:
                work = task_work(stage.fused(fused), sources)
                total, kept = total + work.passing, kept + work.kept
        elif isinstance(value, Call):
            total += _call_bytes(stage, value, number == direct)
        elif isinstance(value, Generate):
            total += _drawing_bytes(stage, value, tile)
        if number in called and isinstance(value, Apply | Generate):
            total += elements * value.dtype.itemsize
    total += passing_bytes(stage, tile)
    if level is not None:
        total += _level_bytes(stage, level, tile)
    return Work(total, kept + tile_scratch(stage, sources, tile))


def least_bytes(stage: Stage) -> int:
    """Return what one task takes beside its slab for sure: whole blocks that functions are given, and return."""
    total = 0
    for number, value in enumerate(stage.program.values):
        if isinstance(value, Call) and not isinstance(value.op, Gang):
            total += sum(_argument(stage, a) for a in value.args if not _lies_there(stage, a))
            if stage.program.level is not None or number != len(stage.program.values) - 1:
                total += _block(stage.domain, value.dtype.itemsize)
    return total


def _lies_there(stage: Stage, number: int) -> bool:
    """Tell whether an argument may be read where it lies."""
    value = stage.program.values[number]
    if not isinstance(value, Load):
        return False
    return isinstance(value.access, ByBlock) or (isinstance(value.access, Move) and _is_plain(value.access))


def read_bytes(stage: Stage, sources: Mapping[str, HostData]) -> int:
    """Return the bytes of slow sources that are decoded for one task: whole stored chunks, however little it takes."""
    slow = {i: sources[token] for i, token in enumerate(stage.inputs) if token in sources and sources[token].slow}
    if not slow or not stage.ntasks:
        return 0
    spans = {
        (number, block, _span(stage.input_grids[number], block, take, slow[number].stored))
        for number, block, take in list_read(stage, np.array([stage.ntasks // 2]))
        if number in slow
    }
    itemsizes = _itemsizes(stage.program.values)
    return sum(itemsizes[number] * math.prod(map(len, span)) for number, _, span in spans)


def _itemsizes(values: Sequence[Value]) -> dict[int, int]:
    """Return the bytes of an element of each input that values are computed from."""
    sizes: dict[int, int] = {}
    for value in values:
        if isinstance(value, Load):
            sizes |= dict.fromkeys(value.inputs, value.dtype.itemsize)
        for operand in value.operands if isinstance(value, Product) else ():
            if isinstance(operand, Fused):
                sizes |= _itemsizes(operand.program.values)
            else:
                sizes[operand] = value.dtype.itemsize
    return sizes


def _span(grid: Grid, block: int, take: tuple[Any, ...], chunks: Sequence[int] | None) -> tuple[range, ...]:
    """Return what is decoded where something is taken of a block: along each axis, to the borders of stored chunks."""
    spans: list[range] = []
    begins = [s.start for s in grid.block_slices(block)]
    lengths = grid.block_shape(block)
    picks = (*(slice(None),) * (len(lengths) - len(take)), *take)
    for begin, n, length, pick, chunk in zip(
        begins, lengths, grid.shape, picks, chunks or (1,) * len(lengths), strict=True
    ):
        positions = range(*pick.indices(n)) if isinstance(pick, slice) else np.atleast_1d(pick)
        if not len(positions):
            return ()
        first, last = begin + int(min(positions)), begin + int(max(positions))
        spans.append(range(first // chunk * chunk, min(length, (last // chunk + 1) * chunk)))
    return tuple(spans)


def _block(grid: Grid, itemsize: int) -> int:
    return grid.largest * itemsize


def _frame_blocks(stage: Stage) -> int:
    """Return how many blocks a frame has: one, or several small ones of a task that fit a tile.

    Parts of one stored block, which is read once, count as one.
    """
    if stage.holds:
        return 1
    several = max(1, TILE // max(1, stage.domain.largest))
    return min(several, stage.domain.nblocks, stage.blocks_per_task * math.prod(stage.groups))


def _loaded(stage: Stage, value: Load) -> int:
    """Return the bytes of a value in one frame."""
    grid = value.frame
    if grid is None:
        grid = stage.input_grids[value.inputs[0]] if isinstance(value.access, ByBlock) else stage.domain
    return grid.largest * _frame_blocks(stage) * value.dtype.itemsize


def _read(stage: Stage, value: Load) -> int:
    """Return the bytes of a value in all blocks of a group, which are read before a task begins."""
    return _loaded(stage, value) // _frame_blocks(stage) * max(_frame_blocks(stage), math.prod(stage.groups))


def _load_bytes(stage: Stage, value: Load, sources: Mapping[str, HostData], direct: bool, called: bool) -> int:
    whole = _loaded(stage, value)
    files = [sources[stage.inputs[i]] for i in value.inputs if stage.inputs[i] in sources]
    read = 0
    if any(not data.in_memory for data in files):
        read = 2 * max(
            _read(stage, value), max(_block(stage.input_grids[i], value.dtype.itemsize) for i in value.inputs)
        )
    small = min(whole, TILE * value.dtype.itemsize)
    if isinstance(value.access, ByBlock):
        copied = any(not data.in_place for data in files)
        return read + (small if stage.domain.largest < TILE else 0) + (whole if copied else 0)
    if isinstance(value.access, Move) and _is_plain(value.access):
        # Rectangles of blocks: read where they lie, tile by tile, or straight into the slab; memory is lent in eighths.
        aside = called or (not direct and value.frame != stage.domain)
        return read + (whole + whole // 8 if aside else small)
    return read + (2 if direct else 3) * whole


def _is_plain(move: Move) -> bool:
    """Tell whether what is moved are rectangles of blocks, as they lie there."""
    maps = [axis_map for route in move.routes for _, axis_map in route.axes]
    return all(isinstance(m, Fixed) or (isinstance(m, Slice) and m.step == 1) for m in maps)


def _drawing_bytes(stage: Stage, value: Generate, tile: int) -> int:
    source, run = value.source, 0
    if value.axes and value.axes[-1] is not None:
        run = stage.domain.axes[value.axes[-1]].largest
    while isinstance(source, View):
        source, run = source.source, 0
    if not isinstance(source, Random):
        return 0
    from ..kernels.randoms import room_of_random

    return tile * room_of_random(source, run)


def _product_bytes(stage: Stage, product: Product) -> int:
    total = 2 * _block(stage.domain, product.dtype.itemsize)
    for operand in product.operands:
        grid = stage.operand_grid(operand)
        total += 2 * _block(grid, product.dtype.itemsize)
    return total


def _call_bytes(stage: Stage, value: Call, direct: bool) -> int:
    op = value.op
    result_bytes = _block(stage.domain, value.dtype.itemsize)
    if isinstance(op, Gang):
        return result_bytes
    argument_bytes = sum(_argument(stage, number) for number in value.args)
    if isinstance(op, MapBlocks):
        return math.ceil(_factor(op) * (argument_bytes + result_bytes)) + result_bytes
    assert isinstance(op, BlockFunction)
    function = block_function(op.function)
    return math.ceil(room_of(function) * (argument_bytes + result_bytes)) + (
        0 if direct and fills(function) else result_bytes
    )


def said_of(stage: Stage) -> tuple[float, int]:
    """Return what users' functions are said to take at most, in times the bytes that they are given and return."""
    claims = [(0.0, 0)]
    for value in stage.program.values:
        if isinstance(value, Call) and isinstance(value.op, MapBlocks):
            result_bytes = _block(stage.domain, value.dtype.itemsize)
            argument_bytes = sum(_argument(stage, number) for number in value.args)
            claims.append((_factor(value.op), argument_bytes + result_bytes))
    return max(claims)


def _factor(op: MapBlocks) -> float:
    return USERS if op.payload.memory is None else op.payload.memory


def _argument(stage: Stage, number: int) -> int:
    value = stage.program.values[number]
    return _loaded(stage, value) if isinstance(value, Load) else _block(stage.domain, value.dtype.itemsize)


def _level_bytes(stage: Stage, level: Level, tile: int) -> int:
    parts = level.parts or (level,)
    itemsize = sum(part.partial.itemsize for part in parts)
    kernel = kernel_of(level)
    group = math.prod(stage.groups)
    one = _block(stage.grid, max(itemsize, stage.dtype.itemsize))
    if level.leaf:
        states = min(tile, _frame_blocks(stage) * max(1024, stage.grid.largest)) * itemsize  # of one tile
        aside = max(
            (kernel_of(p).tiles + (p.source != p.target)) * tile * max(p.source.itemsize, p.target.itemsize)
            for p in parts
        )
        total = aside + kernel.room * states + 2 * one
        if level.tree:
            counts = (1,) * len(level.tree) if kernel.fold is not None else level.tree
            return total + (kernel.room + 1) * sum(counts) * one
        return total + (kernel.room + 1) * group * one if group > 1 and not is_folded(stage, level) else total
    if group > 1 and is_folded(stage, level):
        return 2 * one
    return (kernel.room + 1) * group * one
