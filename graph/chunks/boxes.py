"""Pieces as arrays: which boxes of an operand's blocks go where in a block of a result, without an object for each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .axismap import Slice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .axismap import AxisMap
    from .grid import Axis, Index


class Boxes(NamedTuple):
    """Boxes of one operand's blocks, (boxes, axes of the operand) where an axis matters.

    A box begins at position `start` of block `block` and has `extent` positions, each `step` of them apart. In the
    target, in C order, its first element is number `offset`, and neighbours along an axis are `stride` elements apart.
    """

    operand: int
    block: Index
    start: Index
    step: Index
    extent: Index
    offset: Index
    stride: Index


class Cuts(NamedTuple):
    """Where positions along one axis of a result's block come from: runs of one chunk of the source each."""

    chunk: Index
    start: Index
    length: Index
    put: Index
    step: int = 1


def cut_axis(axis_map: AxisMap, out: Axis, source: Axis, chunk: int) -> Cuts | None:
    """Return the runs that one chunk of a result's axis is made of; None where they aren't plain runs."""
    if isinstance(axis_map, Slice) and axis_map.step == 1:
        base = out.start(chunk) + axis_map.start
        return cut_range(source, max(base, 0), min(out.stop(chunk) + axis_map.start, source.length), base)
    rows: list[tuple[int, int, int, int]] = []
    steps: set[int] = set()
    for segment in axis_map.segments(out, source, chunk):
        take, put = segment.take, segment.put
        take = slice(take, take + 1, 1) if isinstance(take, int) else take
        put = slice(put, put + 1) if isinstance(put, int) else put
        if segment.seen is not None or not isinstance(take, slice) or not isinstance(put, slice):
            return None
        step = 1 if take.step is None else take.step
        count = len(range(take.start, -1 if take.stop is None else take.stop, step))
        if put.step not in (None, 1) or put.stop - put.start != count:
            return None
        steps.add(step)
        rows.append((segment.block, take.start, count, put.start))
    if len(steps) > 1:
        return None
    chunks, starts, lengths, puts = np.array(rows, np.int64).reshape(-1, 4).T
    return Cuts(chunks, starts, lengths, puts, steps.pop() if steps else 1)


def cut_range(source: Axis, lo: int, hi: int, base: int) -> Cuts:
    """Return the runs of positions from `lo` to `hi` of an axis; position `base` goes to 0."""
    first, stop = (source.find(lo), source.find(hi - 1) + 1) if lo < hi else (0, 0)
    chunk = np.arange(first, stop)
    begin = source.start(chunk)
    inside = np.maximum(begin, lo)
    length = np.minimum(source.stop(chunk), hi) - inside
    if not source.is_regular and not (full := length > 0).all():
        chunk, begin, inside, length = chunk[full], begin[full], inside[full], length[full]
    return Cuts(chunk, inside - begin, length, inside - base)


def cross(operand: int, cuts: Sequence[Cuts], counts: Sequence[int], strides: Sequence[int], first: int = 0) -> Boxes:
    """Return the boxes that runs along each axis of an operand of `counts` blocks make together.

    `strides` are how far apart in the target neighbours along each axis are, and `first` where position 0 goes.
    """
    lengths = [len(cut.chunk) for cut in cuts]
    total = math.prod(lengths)
    block, offset = np.zeros(total, np.int64), np.full(total, first, np.int64)
    start, extent = np.empty((2, total, len(cuts)), np.int64)
    for axis, (cut, count, stride) in enumerate(zip(cuts, counts, strides, strict=True)):
        inner, outer = math.prod(lengths[axis + 1 :]), math.prod(lengths[:axis])

        def spread(column: Index, inner: int = inner, outer: int = outer) -> Index:
            return np.tile(np.repeat(column, inner), outer)

        block = block * count + spread(cut.chunk)
        offset += spread(cut.put) * stride
        start[:, axis], extent[:, axis] = spread(cut.start), spread(cut.length)
    steps = np.array([cut.step for cut in cuts], np.int64)
    return Boxes(operand, block, start, steps, extent, offset, np.array(strides, np.int64))


def strides_of(shape: Sequence[int]) -> list[int]:
    """Return how many elements apart neighbours along each axis are, in C order."""
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
