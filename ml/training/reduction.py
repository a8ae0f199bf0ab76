"""The weighted mean of what shards give, and what becomes of it, as stages of the graph.

A task of the reduction makes some bytes of the mean: it reads these of all shards' rows where they lie in the arenas,
and adds them up in the order of shards in float64. So all ranks take part, whatever the number of shards, and the bits
depend neither on them nor on how the bytes are cut. That is a tree of one level: cutting along the bytes spreads the
work further than a tree over shards would, and needs no partial sums to be stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.base import make
from ...arrays.chunking.rechunk import regrid
from ...arrays.user_functions.travel.pickling import payload
from ...graph.chunks.grid import Axis, Grid
from ...graph.kinds.mapping import BlockFunction, MapBlocks
from .tasks import NEW, only_reads

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...arrays.array import Array
    from .state import StateLayout
    from .tasks import Task

__all__ = ["UpdateStep", "reduce_rows", "update_state", "whole"]

Values = np.ndarray[Any, Any]
PART, LEAST_PART, READ = 1 << 22, 1 << 16, 1 << 26
"""Bytes of the mean that a task makes, at most and at least, and how many it reads for them, of all shards."""
PARTS = 2
"""Tasks for each shard, of which there are about as many as ranks: a slow one can leave some to others."""
WEIGHT = 8
KEPT = "what the update keeps"


def reduce_rows(task: Task, made: Array) -> Array:
    """Return the mean of what shards give, (1, bytes), of the rows that their tasks make."""
    part = _part(task.mean.size, made.shape[0])
    shards, parts = Axis.whole(made.shape[0]), Axis.regular(task.mean.size, part)
    states = regrid(task.read_given(made), Grid([shards, parts]))
    rows = regrid(made[:, :WEIGHT], Grid([shards, Axis.whole(WEIGHT)]))
    op = BlockFunction("statistics.averages:average", (task.mean.table,), ((None, 1), (None, None)), where=True)
    return make(op, (states, rows), Grid([Axis.whole(1), parts]), np.uint8)


def _part(size: int, shards: int) -> int:
    """Return how many bytes of the mean a task makes, by the number of shards and their bytes alone."""
    wanted = min(-(-size // (PARTS * shards)), PART, READ // shards)
    return max(LEAST_PART, -(-wanted // LEAST_PART) * LEAST_PART)


def update_state(step: UpdateStep, before: Array, mean: Array) -> Array:
    """Return the state and what the update keeps, (1, bytes), by one task."""
    op = MapBlocks(step.payload, ((None, None), (None, None)), ("out",))
    return make(op, (whole(before), whole(mean)), Grid([Axis.whole(n) for n in before.shape]), np.uint8)


def whole(array: Array) -> Array:
    """Return an array in one chunk, which is put together where it is read."""
    return regrid(array, Grid([Axis.whole(n) for n in array.shape]))


@dataclass(frozen=True)
class UpdateStep:
    """The function of an `Update`, from bytes to bytes, which may go where they are to be."""

    function: Callable[..., Any]
    layout: StateLayout
    kept: StateLayout
    mean: StateLayout

    @cached_property
    def payload(self) -> Any:
        """The function, pickled once for all rounds."""
        return payload("train", self, (), {})

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "payload"}

    def __call__(self, before: Values, mean: Values, out: Values | None = None) -> Values:
        size, packed, copy = self.layout.size, before[0], not only_reads(self.function)
        state, kept = self.layout.unpack(packed[:size], copy=copy), self.kept.unpack(packed[size:], copy=copy)
        state, kept = self.function(state, kept, self.mean.unpack(mean[0], copy=copy))
        out = np.empty(before.shape, np.uint8) if out is None else out
        self.layout.pack(state, out[0, :size], NEW)
        self.kept.pack(kept, out[0, size:], KEPT)
        return out
