"""Compiled steps of slabs: the kernel of `llvm_step`, its table and its scratch memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..config import config
from ..kernels.compiled.llvm.kernel_cache import WAITED_WORK, compiled
from ..kernels.compiled.llvm.text import NotCompilable
from .llvm_step import BOUND, BUFFER, LENGTH, TILE, StepText

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .regions import PlacedArray, Region, SlabLayout

Array = np.ndarray[Any, Any]
SCRATCH = 1 << 20
"""Bytes of scratch memory that a tile may take, all items together."""
COLUMNS, NARROW = 4096, 500
"""Columns of a tile: at most, and those that aren't halved where deep margins ask for more rows."""
LINE = 64


class StepKernel:
    """A step's kernel, with what it is handed."""

    def __init__(self, layout: SlabLayout, text: StepText, function: Any) -> None:
        self.layout, self.plan, self.text, self.function = layout, layout.plan, text, function
        self.tile, self.memory, self.scratch = self._lay_out()
        self.scalars = np.frombuffer(b"".join(text.scalars).ljust(8, b"\0"), np.uint8).copy()
        self._tables: dict[tuple[int, ...], Array] = {}

    def _lay_out(self) -> tuple[tuple[int, ...], Array, dict[int, tuple[int, tuple[int, ...]]]]:
        """Return a tile's extents, scratch memory, and where each item lies there, with its shape."""
        plan, items = self.plan, self.text.scratch
        far = 1 << 40
        if not items:
            return (far,) * len(plan.shape), np.empty(0, np.uint8), {}
        each = sum(plan.items[n].dtype.itemsize for n in items)
        cells = max(1, SCRATCH // each)
        *rows, columns = plan.shape
        deepest = max(d for n in items for pair in plan.depths[n] for d in pair)
        width = min(columns, COLUMNS if rows else cells)
        while rows and width > NARROW and cells // width < 16 * deepest:
            width = -(-width // 2)
        tall = max(4, int((cells / width) ** (1 / len(rows)))) if rows else 0
        tile = (*(min(tall, n) for n in rows), width)
        at, places = 0, {}
        for n in items:
            shape = tuple(t + b + a for t, (b, a) in zip(tile, plan.depths[n], strict=True))
            places[n] = at, shape
            size = int(np.prod(shape, dtype=np.int64)) * plan.items[n].dtype.itemsize
            at += (size // LINE + 1) * LINE
        memory = np.empty(at + LINE, np.uint8)
        begin = -_address(memory) % LINE
        return tile, memory[begin:], places

    def run(
        self, region: Region, known: Mapping[int, PlacedArray], outs: Mapping[int, PlacedArray], singles: Any
    ) -> None:
        """Compute the results in a region: `outs` has, by item, where they go."""
        for number, place in self.text.singles.items():
            value = np.asarray(singles[number], self.plan.singles[number].dtype)
            self.scalars[8 * place : 8 * place + value.itemsize] = value.reshape(1).view(np.uint8)
        buffers = dict(known.items()) | dict(outs)
        key = tuple(_address(placed.array) for placed in buffers.values())
        if key not in self._tables:
            self._tables[key] = self._table(buffers)
        (first, last), *_ = region
        self.function(_address(self._tables[key]), _address(self.scalars), first, last, 0, 0)

    def _table(self, buffers: Mapping[int, PlacedArray]) -> Array:
        table = np.zeros(max(1, len(self.text.slots)), np.int64)
        for key, slot in self.text.slots.items():
            table[slot] = self._entry(buffers, *key)
        return table

    def _entry(self, buffers: Mapping[int, PlacedArray], what: str, *which: int) -> int:
        if what == BOUND:
            return which[1]
        if what == LENGTH:
            return self.plan.shape[which[0]]
        if what == TILE:
            return self.tile[which[0]]
        number = which[0]
        if number in self.scratch:
            at, shape = self.scratch[number]
            if what == BUFFER:
                return _address(self.memory) + at
            return int(np.prod(shape[which[1] + 1 :], dtype=np.int64))
        placed = buffers[number]
        size = placed.array.itemsize
        if what == BUFFER:
            back = sum(
                o * s for o, s, here in zip(placed.origin, placed.array.strides, placed.along, strict=True) if here
            )
            return _address(placed.array) - back
        return placed.array.strides[which[1]] // size


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def make_compiled(layout: SlabLayout, steps: int, rows: int) -> StepKernel | None:
    """Return the kernel of a layout's step; None where there is none, or compiling takes longer than it saves."""
    if not layout.held:
        return None
    text = StepText(layout)
    try:
        written = text.write()
    except NotCompilable:
        return None
    work = steps * rows * math.prod(layout.plan.shape[1:]) * len(layout.plan.items)
    function = compiled(written, 0, config.jit == "on" or (config.jit != "off" and work >= WAITED_WORK))
    return None if function is None else StepKernel(layout, text, function)
