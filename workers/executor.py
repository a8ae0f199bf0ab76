"""Running one task: cut it into frames, run the program over them, put the results where they belong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph.kinds.reduction import Level
from ..graph.stage import Stage
from .kernels.heads import HEADS
from .kernels.interpreter import Frame
from .kernels.plan import Plan
from .kernels.tiles import TILE
from .reader import Reader

Array = np.ndarray[Any, Any]
Target = Callable[[int, int], Array]
"""`target(first, count)` returns where consecutive blocks of one shape go: (count, *shape)."""


class BlockError(Exception):
    """Wraps an exception of a kernel with the block it came from; never leaves a rank."""

    def __init__(self, block: int, error: BaseException) -> None:
        super().__init__(str(error))
        self.block, self.error = block, error


def run_task(stage: Stage, task: int, reader: Reader, target: Target) -> None:
    """Compute all blocks of a task.

    Raises
    ------
    BlockError
        When a kernel or a user's function raises.
    """
    plans: dict[int, Plan] = {}
    run = stage.blocks(task)
    level = stage.program.level
    grouped = level is not None and math.prod(stage.groups) > 1
    for first, count in [(b, 1) for b in run] if grouped else _frames(stage, list(run)):
        try:
            with np.errstate(all="ignore"):
                if level is None:
                    _frame(stage, reader, list(range(first, first + count)), plans).store(target(first, count))
                elif level.leaf or grouped:
                    blocks = stage.domain_blocks(first) if grouped else list(range(first, first + count))
                    _reduce(stage, level, reader, blocks, plans, target(first, count))
                else:
                    _combine(level, [_partial(stage, reader, first)], target(first, 1))
        except Exception as error:
            raise BlockError(first, error) from error


def _frames(stage: Stage, blocks: list[int]) -> list[tuple[int, int]]:
    """Cut a run of blocks into runs of one shape that fit a tile."""
    if len(blocks) == 1:
        return [(blocks[0], 1)]
    frames: list[tuple[int, int]] = []
    shape: tuple[int, ...] = ()
    for block in blocks:
        mine = stage.domain.block_shape(block)
        if frames and mine == shape and (frames[-1][1] + 1) * math.prod(shape) <= TILE:
            frames[-1] = (frames[-1][0], frames[-1][1] + 1)
        else:
            frames.append((block, 1))
            shape = mine
    return frames


def _frame(stage: Stage, reader: Reader, blocks: list[int], plans: dict[int, Plan]) -> Frame:
    return Frame(stage, reader, blocks, stage.domain.block_shape(blocks[0]), plans)


def _reduce(stage: Stage, level: Level, reader: Reader, blocks: list[int], plans: dict[int, Plan], out: Array) -> None:
    """Reduce blocks: those of one group to one result, or else each to its own."""
    if not level.leaf:
        _combine(level, [_partial(stage, reader, b) for b in blocks], out)
        return
    partials = []
    for first, count in _frames(stage, blocks):
        at = blocks.index(first) if count > 1 else 0
        mine = blocks[at : at + count] if count > 1 else [first]
        partials.append(_frame(stage, reader, mine, plans).reduce())
    stack = np.concatenate(partials) if len(partials) > 1 else partials[0]
    if len(out) == len(stack) and len(blocks) == len(out) and len(blocks) > 1:
        _finish(level, stack, out)
    else:
        _combine(level, list(stack), out)


def _partial(stage: Stage, reader: Reader, block: int) -> Array:
    return reader.block(0, block)


def _combine(level: Level, partials: list[Array], out: Array) -> None:
    combined = HEADS[level.reduce.head].combine(np.stack(partials)) if len(partials) > 1 else np.asarray(partials[0])
    _finish(level, combined[None], out)


def _finish(level: Level, partial: Array, out: Array) -> None:
    made = HEADS[level.reduce.head].finish(partial, level) if level.final else partial
    np.copyto(out, made.reshape(out.shape), casting="unsafe")
