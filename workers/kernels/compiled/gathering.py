"""Bringing a moved block together tile by tile by a compiled loop, where its pieces are many.

Where the pieces are is a `Layout`, as of kernels that read at offsets: found once for all stages that read alike. A
tile takes the parts of its boxes that lie in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ....graph.program import Load, Program
from ...config import config
from .boxes import NotStrided, address_of, layouts_of
from .dispatch import bind
from .llvm_text import NotCompilable
from .strided import MANY, Strided, find_layout
from .strided_text import compile_strided

if TYPE_CHECKING:
    from ....graph.stage import Stage
    from ..interpreter.frame import Frame
    from ..interpreter.tile_regions import Region
    from .boxes import Layout
    from .fused import Fused
    from .llvm_compile import Native

Array = np.ndarray[Any, Any]

_fused: WeakKeyDictionary[Program, dict[int, Fused | None]] = WeakKeyDictionary()
_bound: WeakKeyDictionary[Stage, dict[int, Strided | None]] = WeakKeyDictionary()


@dataclass
class GatheredPieces:
    """A block's boxes: where each begins and ends, the address it is read from, and its strides there in bytes."""

    kernel: Native
    scalars: Array
    lo: Array
    hi: Array
    at: Array
    strides: Array
    kept: list[Array]

    def fill(self, region: Region, out: Array) -> None:
        """Copy what lies in a region of the block to `out`, which has the region's shape."""
        corner, end = (np.array(ends, np.int64) for ends in zip(*((s.start, s.stop) for s in region), strict=True))
        lo, hi = np.maximum(self.lo, corner), np.minimum(self.hi, end)
        mine = np.flatnonzero((lo < hi).all(1))
        lo, hi, own = lo[mine], hi[mine], np.array(out.strides, np.int64)
        count, ndim = lo.shape
        table = np.empty((count, 2 + ndim + 2 * (ndim - 1)), np.int64)
        table[:, 0] = address_of(out) + ((lo - corner) * own).sum(1)
        table[:, 1] = self.at[mine] + ((lo - self.lo[mine]) * self.strides[mine]).sum(1)
        table[:, 2 : 2 + ndim] = hi - lo
        table[:, 2 + ndim : 1 + 2 * ndim] = own[:-1] // out.itemsize
        table[:, 1 + 2 * ndim :] = self.strides[mine, :-1] // out.itemsize
        self.kernel(address_of(table), address_of(self.scalars), count, table.shape[1], 1, 1 << 40)


def find_gathered(frame: Frame, number: int) -> GatheredPieces | None:
    """Return what brings a moved value of a frame of one block together in tiles; None where no loop is there."""
    bound = None if config.jit == "off" else _find(frame.stage, number)
    if bound is None or not bound.open:
        return None
    kernel = bound.function
    if kernel is None:
        return None
    try:
        layout, addresses, kept = find_layout(frame, bound, 0, frame.program.values[number].dtype)
    except NotStrided:
        bound.open = False
        return None
    return _told(kernel, bound.scalars, layout, addresses, kept, frame) if len(layout.rows) > MANY else None


def _told(
    kernel: Native, scalars: Array, layout: Layout, addresses: Array | list[int], kept: list[Array], frame: Frame
) -> GatheredPieces:
    """Return a layout's boxes by what its table says: the result's offset there tells where a box begins."""
    rows, shape = layout.rows, frame.shape
    ndim, itemsize = len(shape), layout.itemsize
    extents = rows[:, 2 : 2 + ndim]
    lo = np.stack(np.unravel_index(rows[:, 0] // itemsize, shape), 1).astype(np.int64)
    last = np.full((len(rows), 1), itemsize, np.int64)
    strides = np.concatenate([rows[:, 1 + 2 * ndim : 3 * ndim] * itemsize, last], 1)
    at = rows[:, 1] + np.asarray(addresses, np.int64)[layout.which[:, 1]]
    return GatheredPieces(kernel, scalars, lo, lo + extents, at, strides, kept)


def _find(stage: Stage, number: int) -> Strided | None:
    known = _bound.setdefault(stage, {})
    if number not in known:
        fused = _compiled(stage.program, number)
        known[number] = None
        if fused is not None:
            known[number] = Strided(**vars(bind(fused, 0, stage)), layouts=layouts_of(stage, fused))
    return known[number]


def _compiled(program: Program, number: int) -> Fused | None:
    """Return the loop that copies one of a program's values."""
    known = _fused.setdefault(program, {})
    if number not in known:
        value = program.values[number]
        try:
            made = compile_strided(Program((value,))) if isinstance(value, Load) else None
        except NotCompilable:
            made = None
        known[number] = None if made is None else replace(made, loads=(number,))
    return known[number]
