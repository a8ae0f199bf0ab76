"""Blocks of a product's operand that is computed where it is read: in tiles that stay in cache."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..buffers import Buffers
from .tile_loop import Tiles
from .tile_regions import TILE

if TYPE_CHECKING:
    from .frame import Frame

Array = np.ndarray[Any, Any]
_operands = Buffers(1 << 26)


class ComputedBlock:
    """A block of a fused operand, as `contraction.Block` has it.

    Parts along the first axis come from a tile of several; those along another are cut from the whole block.
    """

    def __init__(self, frame: Frame, side: int) -> None:
        self._frame, self._side = frame, side
        self._last = len(frame.program.values) - 1
        self._tiles: Tiles | None = None
        self._whole: Array | None = None
        self._begin = self._end = 0
        self._tile = np.empty(0)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._frame.shape

    def whole(self) -> Array:
        if self._whole is None:
            self._whole = self._lend(self.shape)
            self._frame.store(self._whole[None])
        return self._whole

    def part(self, axis: int, begin: int, end: int) -> Array:
        if axis or self._whole is not None:
            return self.whole()[(slice(None),) * axis + (slice(begin, end),)]
        end = min(end, self.shape[0])
        if not self._begin <= begin < end <= self._end:
            self._make(begin, end - begin)
        return self._tile[begin - self._begin : end - self._begin]

    def _make(self, begin: int, step: int) -> None:
        """Make the tile that begins at a part: as many of its length as fit."""
        if self._tiles is None:
            self._tiles = Tiles(self._frame, self._last)
        row = math.prod(self.shape[1:])
        length = min(self.shape[0] - begin, step * max(1, TILE // max(1, step * row)))
        self._begin, self._end = begin, begin + length
        self._tile = self._lend((length, *self.shape[1:]))
        region = slice(begin, begin + length), *(slice(0, n) for n in self.shape[1:])
        self._tiles(region, self._tile[None])

    def _lend(self, shape: tuple[int, ...]) -> Array:
        return _operands.lend(self._side, shape, self._frame.program.result.dtype)
