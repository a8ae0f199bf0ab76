"""Memory that threads keep between tasks: what a stage's tiles, courses and random numbers take of it, at most.

Each way in which a block may be made has buffers of its own, and a thread may go one way now and another one later.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ...graph.chunks.block_reads import ByBlock
from ...graph.kinds.source import Full, Random
from ...graph.kinds.view import View
from ...graph.lowering.program import Apply, Call, Generate, Load, Product
from ..kernels.compiled.courses import courses
from ..kernels.compiled.courses.course_draws import NORMALS
from ..kernels.compiled.draws.drawing import LEAST
from ..kernels.compiled.draws.recorded import FRAME
from ..kernels.compiled.fused.segments import LoopSegment, segments
from ..kernels.functions import room_of_function
from ..kernels.interpreter import tile_loop
from ..kernels.interpreter.buffer_plan import plan_of
from ..kernels.interpreter.tile_regions import TILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...graph.chunks.grid import Grid
    from ...graph.kinds.reduction import Level
    from ...graph.kinds.source import HostData
    from ...graph.lowering.program import Value
    from ...graph.lowering.stage import Stage

DRAWN = 3 << 19
"""Bytes of each buffer for random numbers, at most."""
UNIFORM = ("random", "uniform", "integers", "permutation")
"""Distributions whose numbers are drawn straight into the result, or by one buffer."""


def tile_scratch(stage: Stage, sources: Mapping[str, HostData], tile: int) -> Counter[str]:
    """Return the bytes that a thread keeps of what a stage's tasks take, by the kind of buffer.

    `sources` has what the user handed in, by token; tiles have so many elements.
    """
    scratch: Counter[str] = Counter()
    for last in _roots(stage):
        scratch += _of_value(stage, last, sources, tile)
    return scratch


def passing_bytes(stage: Stage, tile: int) -> int:
    """Return what kernels of functions make beside their buffers."""
    applied = [value for value in stage.program.values if isinstance(value, Apply)]
    return max((tile * room_of_function(value.function) * _widest(stage, value) for value in applied), default=0)


def _widest(stage: Stage, value: Apply) -> int:
    read = [stage.program.values[a].dtype.itemsize for a in value.args if isinstance(a, int)]
    return max(value.dtype.itemsize, *read, 8)


def _roots(stage: Stage) -> list[int]:
    """Return the values that are made tile by tile: the result, and what whole blocks are needed of."""
    values = stage.program.values
    whole = {a for v in values if isinstance(v, Call) for a in v.args if isinstance(values[a], Apply | Generate)}
    return sorted(whole | {len(values) - 1})


def _of_value(stage: Stage, last: int, sources: Mapping[str, HostData], tile: int) -> Counter[str]:
    program, plan, level = stage.program, plan_of(stage, last), stage.program.level
    values = program.values
    if not plan.tiled and level is None:
        return Counter()
    turned = [i for i in plan.wholes if _may_be_turned(stage, values[i], sources)]
    kept = [i for each in segments(program, plan, last) if isinstance(each, LoopSegment) for i in each.outputs]
    short = [i for i in (*plan.tiled, *plan.wholes) if any(values[i].full) and not all(values[i].full)]
    widest = max(values[i].dtype.itemsize for i in (*plan.tiled, *plan.wholes))
    one = tile * widest
    each = max(one + one // 8, tile_loop.BEGIN)
    count = plan.nslots + len(kept) + len(turned)
    scratch = Counter({"tiles": (count + len(short)) * each, "ordered": len(turned) * one})
    scratch["drawn"] = sum(_drawing_bytes(values[i], tile) for i in plan.tiled)
    if (tile := min(stage.domain.largest, TILE)) >= courses.LEAST_ELEMENTS:  # these take one block at a time
        one = tile * widest
        whole = count * one + sum(_widened_bytes(stage, values[i], tile) for i in plan.tiled)
        whole += sum(_drawn_bytes(stage, values[i], tile) for i in plan.tiled)
        whole += 0 if level is None else _state_bytes(stage, level, tile)
        scratch["course"] = max(whole + whole // 8, courses.BEGIN)
    return scratch


def _may_be_turned(stage: Stage, value: Value, sources: Mapping[str, HostData]) -> bool:
    """Tell whether an input may lie in another order than its block's, so that tiles of it are copied."""
    if isinstance(value, Product) or not isinstance(value, Load):
        return False
    return not isinstance(value.access, ByBlock) or any(
        stage.inputs[i] in sources and not _has_whole_rows(sources[stage.inputs[i]], stage.input_grids[i])
        for i in value.inputs
    )


def _has_whole_rows(data: HostData, grid: Grid) -> bool:
    """Tell whether blocks of the user's memory lie in C order."""
    if not data.in_place or not isinstance(data.array, np.ndarray):
        return False
    return data.array.flags.c_contiguous and all(axis.count == 1 for axis in grid.axes[1:])


def _source(value: Value) -> Random | None:
    if not isinstance(value, Generate) or isinstance(value.source, Full):
        return None
    source = value.source
    while isinstance(source, View):
        source = source.source
    return source if isinstance(source, Random) else None


def _drawing_bytes(value: Value, tile: int) -> int:
    """Return the bytes of random numbers' buffers: one for uniform numbers, three for others, values of a piece."""
    source = _source(value)
    if source is None:
        return 0
    frame = FRAME if tile >= LEAST and source.distribution not in (*UNIFORM, *NORMALS) else 0
    return (1 if source.distribution in UNIFORM else 3) * min(DRAWN, 40 * tile) + frame


def _drawn_bytes(stage: Stage, value: Value, tile: int) -> int:
    """Return what a course draws aside, for tiles of one or two lengths: whole blocks of four numbers, of each run."""
    source = _source(value)
    if source is None:
        return 0
    assert isinstance(value, Generate)
    last = value.axes[-1] if value.axes else None
    run = 1 if last is None else max(1, min(tile, stage.domain.axes[last].largest))
    count = 4 * -(-(3 + run) // 4) * -(-tile // run)
    lengths = 1 if stage.domain.largest <= TILE else 2
    if source.distribution == "integers":  # of words, which they are made of
        return (lengths + 1) * count * 8
    return lengths * count * (value.dtype.itemsize + (0 if source.distribution in UNIFORM else 8))


def _widened_bytes(stage: Stage, value: Value, tile: int) -> int:
    """Return what parts of complex numbers take that are made of floats."""
    if not isinstance(value, Apply) or value.dtype.kind != "c":
        return 0
    read = [a for a in value.args if isinstance(a, int) and stage.program.values[a].dtype.kind != "c"]
    return 2 * len(read) * tile * value.dtype.itemsize


def _state_bytes(stage: Stage, level: Level, tile: int) -> int:
    """Return what a course's reductions keep: a tile of what they add up, states of a tile, and of all tiles."""
    parts = level.parts or (level,)
    results = min(stage.grid.largest, stage.domain.largest) + 1024
    return sum(16 * max(part.source.itemsize, part.target.itemsize, 8) * results for part in parts) + tile * max(
        8, *[max(part.source.itemsize, part.target.itemsize) for part in parts]
    )
