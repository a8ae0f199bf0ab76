"""Moved inputs made of several pieces, brought together tile by tile, so that the whole block is never copied."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ....graph.chunks.block_reads import Piece
    from ....graph.lowering.program import Load
    from ...rank.chunk_reader import BatchReader
    from .tile_regions import Region

Array = np.ndarray[Any, Any]


class AssembledPieces:
    """The pieces of one moved block; `fill` copies those parts that lie in a tile."""

    def __init__(self, value: Load, pieces: list[Piece], shape: tuple[int, ...], reader: BatchReader) -> None:
        puts: list[Any] = [put for p in pieces for put in zip(p.put, shape, strict=True)]
        bounds = [(s.start or 0, n if s.stop is None else s.stop) for s, n in puts]
        self.bounds = np.array(bounds, np.int64).reshape(len(pieces), len(shape), 2)
        extents = (self.bounds[:, :, 1] - self.bounds[:, :, 0]).tolist()
        parts = [reader.piece(value.inputs, p) for p in pieces]
        self.parts = [_broadcast_part(part, tuple(extent)) for part, extent in zip(parts, extents, strict=True)]
        self.value = getattr(value.access, "fill", None)

    @staticmethod
    def takes(pieces: list[Piece]) -> bool:
        """Whether all pieces go to plain rectangles."""
        return all(p.into is None and all(isinstance(s, slice) and s.step in (None, 1) for s in p.put) for p in pieces)

    def fill(self, region: Region, out: Array) -> None:
        """Copy what lies in a region of the block to `out`, which has the region's shape."""
        if self.value is not None:
            out.fill(self.value)
        corner = np.array([s.start for s in region])
        lo = np.maximum(self.bounds[:, :, 0], corner)
        hi = np.minimum(self.bounds[:, :, 1], [s.stop for s in region])
        mine = np.flatnonzero((lo < hi).all(1))
        begin, end = lo[mine] - self.bounds[mine, :, 0], hi[mine] - self.bounds[mine, :, 0]
        at, to = lo[mine] - corner, hi[mine] - corner
        for k, number in enumerate(mine.tolist()):
            part = self.parts[number][tuple(map(slice, begin[k].tolist(), end[k].tolist()))]
            np.copyto(out[tuple(map(slice, at[k].tolist(), to[k].tolist()))], part)


def fill_around(pieces: list[Piece], target: Array, value: Any) -> None:
    """Fill what lies around the largest of some pieces, which are put over it then."""
    if not pieces or not AssembledPieces.takes(pieces) or any(p.into is not None for p in pieces):
        target.fill(value)
        return
    boxes = [[s.indices(n)[:2] for s, n in zip(p.put, target.shape, strict=True)] for p in pieces]  # type: ignore[union-attr]
    largest = max(boxes, key=lambda box: math.prod([hi - lo for lo, hi in box]))
    rest = [slice(None)] * target.ndim
    for axis, (lo, hi) in enumerate(largest):
        for side in (slice(0, lo), slice(hi, None)):
            target[(*rest[:axis], side, *rest[axis + 1 :])] = value
        rest[axis] = slice(lo, hi)


def _broadcast_part(part: Array, extent: tuple[int, ...]) -> Array:
    return part if part.shape == extent else np.broadcast_to(part, extent)
