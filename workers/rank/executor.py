"""Running one task: cut it into frames, run the program over them, put the results where they belong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ...graph import few
from ...graph.few import ascending
from ...graph.kinds.source import Full
from ...graph.lowering.program import Apply, Call, Generate, Load, Product
from ...graph.passes.merge_reductions import field_name
from ..config import config
from ..kernels import compiled
from ..kernels.compiled import Places
from ..kernels.compiled.courses.course import address_of
from ..kernels.interpreter.block_calls import BlockError
from ..kernels.interpreter.frame import Frame
from ..kernels.interpreter.tile_regions import TILE
from ..kernels.reductions import is_folded, kernel_of

if TYPE_CHECKING:
    from ...graph.chunks.grid import Index
    from ...graph.kinds.reduction import Level
    from ...graph.lowering.program import Program
    from ...graph.lowering.stage import Stage
    from ..kernels.reduction import ReductionKernel
    from .chunk_reader import BatchReader

Array = np.ndarray[Any, Any]
SMALL, FEW = 1 << 18, 4
"""Bytes of partial results that are remembered, and of how many shapes."""
NEVER: dict[tuple[int, tuple[int, ...]], Array] = {}

_alike: WeakKeyDictionary[Stage, dict[tuple[int, tuple[int, ...]], Array]] = WeakKeyDictionary()

WIDE, LITTLE = 64, 1 << 20
"""Blocks that don't fit a tile which are handed over at once, at most, and bytes of what they are reduced to."""

Target = Callable[[int, int], Places]
"""`target(first, count)` returns where consecutive blocks of one shape go: (count, *shape), or the array of each."""


def run_task(stage: Stage, task: int, reader: BatchReader, target: Target) -> None:
    """Compute all blocks of a task; see `run_blocks`."""
    run_blocks(stage, ascending(stage.blocks(task).start, stage.blocks(task).stop), reader, target)


def run_blocks(stage: Stage, run: Index, reader: BatchReader, target: Target) -> None:
    """Compute consecutive blocks of a stage's result; what a kernel or a user's function raises is a BlockError."""
    level = stage.program.level
    grouped = level is not None and math.prod(stage.groups) > 1
    for frame in ([b] for b in run) if grouped else _frames(stage, run, reader):
        first, count = int(frame[0]), len(frame)
        try:
            with np.errstate(all="ignore"):
                if level is None:
                    _store(_frame(stage, reader, np.asarray(frame)), target(first, count))
                elif grouped:
                    place = target(first, 1)
                    assert not isinstance(place, list)
                    _group(stage, level, reader, stage.domain_blocks(first), place)
                elif level.leaf:
                    partials = _partials(_frame(stage, reader, np.asarray(frame)))
                    _finish(level, partials, target(first, count))
                else:
                    for block in range(first, first + count):
                        _finish(level, _partial(level, reader, block)[None], target(block, 1))
        except BlockError:
            raise
        except Exception as error:
            raise BlockError(first, error) from error


def _frames(stage: Stage, blocks: Index, reader: BatchReader) -> list[Index]:
    """Cut blocks into runs of one shape that fit a tile, or that a course takes at once."""
    if len(blocks) == 1:
        return [blocks]
    wide = _wide(stage, reader)
    frames: list[Index] = []
    for first, stop in itertools.pairwise([0, *_borders(stage, blocks), len(blocks)]):
        size = max(1, math.prod(stage.domain.block_shape(int(blocks[first]))))
        step = max(1, TILE // size)
        step = wide if step == 1 else step
        frames += [blocks[i : min(i + step, stop)] for i in range(first, stop, step)]
    return frames


def _borders(stage: Stage, blocks: Index) -> list[int]:
    """Return where blocks have another shape than those before."""
    if stage.domain.is_even:
        return []
    shapes = stage.domain.block_shapes(blocks)
    borders: list[int] = (np.flatnonzero((shapes[1:] != shapes[:-1]).any(1)) + 1).tolist()
    return borders


def _wide(stage: Stage, reader: BatchReader) -> int:
    """Return how many blocks that don't fit a tile are handed over at once: where no Python runs between them.

    Their inputs must lie in memory, and what they come to must be little beside a tile, or have its place.
    """
    program = stage.program
    level = program.level
    if config.jit == "off" or reader.spilled is not None or (level is None and isinstance(program.result, Load)):
        return 1
    if not is_plain(program):
        return 1
    if any(p.data is not None and not p.data.in_memory for p in reader.producers):
        return 1
    if level is None:
        return WIDE
    held = sum(part.partial.itemsize for part in level.parts or (level,))
    return max(1, min(WIDE, LITTLE // (held * max(1, stage.grid.largest))))


def is_plain(program: Program) -> bool:
    """Whether a program's values are read, drawn, or made element by element."""
    return all(isinstance(v, Apply | Generate | Load) for v in program.values)


def _frame(stage: Stage, reader: BatchReader, blocks: Index) -> Frame:
    return Frame(stage, reader, blocks.tolist(), stage.domain.block_shape(int(blocks[0])))


def _store(frame: Frame, out: Places) -> None:
    if isinstance(out, list) and not frame.is_wide and not isinstance(frame.program.result, Call | Product):
        blocks = np.empty((len(out), *out[0].shape), out[0].dtype)
        _store(frame, blocks)
        for place, each in zip(out, blocks, strict=True):
            place[...] = each
        return
    if compiled.store(frame, out):
        return
    if not frame.is_wide:
        frame.store(out)
    elif not compiled.store_wide(frame, out):
        _store_each(frame, out)


def _store_each(frame: Frame, out: Places) -> None:
    for i, block in enumerate(frame.blocks):
        try:
            _store(frame.alone(i), out[i][None])
        except Exception as error:
            raise error if isinstance(error, BlockError) else BlockError(block, error) from error


def _partials(frame: Frame) -> Array:
    """Return a partial result for each block; of blocks that hold one value everywhere, those of a shape once."""
    known = _alike.get(frame.stage)
    if known is None:
        known = _alike[frame.stage] = {} if _is_constant(frame.stage) else NEVER
    key = len(frame.blocks), frame.shape
    if known is not NEVER and key in known:
        copied = np.empty_like(known[key])
        few.put(copied, known[key])
        return copied
    partials = compiled.reduce(frame)
    partials = frame.reduce() if partials is None else partials
    if partials is None:
        partials = np.concatenate([_partials(frame.alone(i)) for i in range(len(frame.blocks))])
    if known is not NEVER and partials.nbytes <= SMALL and len(known) < FEW:
        known[key] = partials.copy()
    return partials


def _is_constant(stage: Stage) -> bool:
    """Whether what is reduced is one value everywhere, and where it lies doesn't matter."""
    level = stage.program.level
    assert level is not None
    if kernel_of(level).placed:
        return False
    return all(
        isinstance(v, Apply) or (isinstance(v, Generate) and isinstance(v.source, Full)) for v in stage.program.values
    )


def _group(stage: Stage, level: Level, reader: BatchReader, blocks: Index, out: Array) -> None:
    """Reduce the blocks of one group to one result."""
    if level.tree:
        parts = (_partials(_frame(stage, reader, np.array([block]))) for block in blocks.tolist())
        combined = _combine(kernel_of(level), parts, level.tree)
        assert combined is not None
        _finish(level, combined, out)
        return
    if is_folded(stage, level):
        _finish(level, _fold(stage, level, reader, blocks, out), out)
        return
    if level.leaf:
        partials = [_partials(_frame(stage, reader, frame)) for frame in _frames(stage, blocks, reader)]
        stack = np.concatenate(partials) if len(partials) > 1 else partials[0]
    else:
        stack = few.stack([reader.block(0, block) for block in blocks.tolist()])
        stack = stack if level.field is None else np.ascontiguousarray(stack[field_name(level.field)])
    _finish(level, kernel_of(level).combine(stack)[None] if len(stack) > 1 else stack, out)


def _combine(kernel: ReductionKernel, parts: Iterator[Array], tree: tuple[int, ...]) -> Array | None:
    """Combine so many partial results as they come, so many of what they come to, and so on; None: none came."""
    if not tree:
        return next(parts, None)
    several = (part for _ in range(tree[-1]) if (part := _combine(kernel, parts, tree[:-1])) is not None)
    if kernel.fold is None:
        stack = list(several)
        return kernel.combine(np.concatenate(stack))[None] if len(stack) > 1 else next(iter(stack), None)
    combined = next(several, None)
    for part in several:
        assert combined is not None
        kernel.fold(combined, part)
    return combined


def _fold(stage: Stage, level: Level, reader: BatchReader, blocks: Index, out: Array) -> Array:
    """Combine large partial results as they come, as `combine` does it, but with no copies of them."""
    fold = kernel_of(level).fold
    assert fold is not None
    folded: Array | None = None
    for block in blocks.tolist():
        first = folded is None
        for shape, place, part in _parts(stage, level, reader, block):
            if folded is None:
                there = out.reshape(shape)
                fits = there.dtype == part.dtype and np.shares_memory(there, out)
                folded = there if fits else np.empty(shape, part.dtype)
            if first:
                folded[place] = part
            else:
                fold(folded[place], part)
    assert folded is not None
    return folded


def _parts(stage: Stage, level: Level, reader: BatchReader, block: int) -> Iterator[tuple[tuple[int, ...], Any, Array]]:
    """Give the parts of a block's partial result: its shape, where the part belongs, and the part."""
    if not level.leaf:
        partial = _partial(level, reader, block)[None]
        yield partial.shape, ..., partial
        return
    frame = _frame(stage, reader, np.array([block]))
    partials = compiled.reduce(frame)
    if partials is None:
        partials = frame.reduce_by_course()
    if partials is not None:
        yield partials.shape, ..., partials
        return
    for kept, part in frame.reduce_parts():
        yield frame.partial_shape, (slice(None), *kept), part


def _partial(level: Level, reader: BatchReader, block: int) -> Array:
    """Return a block of partial results: of one of several reductions, where they were made together."""
    partials = reader.block(0, block)
    return partials if level.field is None else partials[field_name(level.field)]


def _finish(level: Level, partial: Array, out: Places) -> None:
    finished = kernel_of(level).finish(partial, level) if level.final else partial
    if isinstance(out, list):
        for place, each in zip(out, finished, strict=True):
            few.put(place, each.reshape(place.shape))
    elif address_of(finished) != address_of(out):  # where it was folded
        few.put(out, finished.reshape(out.shape))
