"""Users' functions of blocks within slabs: called as the plain engine calls them, with the same bits of the blocks."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ShapeError
from ..kernels.interpreter.block_calls import read_only
from ..kernels.user_results import check_kept, plain, usual_warnings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...graph.stencil.plan import BlockCall, Margins
    from .regions import PlacedArray, Region

Array = np.ndarray[Any, Any]


class SlabCaller:
    """Calls one function for the blocks of slabs."""

    def __init__(self, item: BlockCall, shape: tuple[int, ...]) -> None:
        self.item, self.shape = item, shape
        self.function, self.extra, self.keywords = pickle.loads(item.op.payload.pickled)

    def run(self, rows: tuple[int, int], known: Mapping[int, PlacedArray], out: PlacedArray) -> None:
        """Compute the blocks that lie in some rows, which are whole blocks'."""
        grid = self.item.grid
        each = grid.nblocks // grid.counts[0]
        begin = int(grid.axes[0].find(rows[0])) * each
        end = (int(grid.axes[0].find(rows[1] - 1)) + 1) * each
        for block in range(begin, end):
            region = tuple((s.start, s.stop) for s in grid.block_slices(block))
            self._block(block, region, known, out.view(region))

    def _block(self, block: int, region: Region, known: Mapping[int, PlacedArray], out: Array) -> None:
        label, index = self.item.op.label, self.item.grid.index(block)
        views = [
            read_only(known[operand.read.item].view(self._reach(operand, region))) for operand in self.item.operands
        ]
        keywords = dict(self.keywords) | ({"block_id": index} if "block_id" in self.item.op.wants else {})
        with usual_warnings():
            values = plain(label, self.function(*views, *self.extra, **keywords))
        if values.shape != out.shape:
            raise ShapeError(
                f"{label}: the function returned shape {values.shape} for block {index}; expected {out.shape}, as the "
                "result's chunks have it"
            )
        if values.dtype != out.dtype:
            check_kept(label, values, out.dtype, f" for block {index}")
        np.copyto(out, values, casting="unsafe")

    def _reach(self, operand: Margins, region: Region) -> Region:
        """Return a block's positions with its margins."""
        return tuple(
            (max(0, lo - before), min(n, hi + after)) if is_open else (lo - before, hi + after)
            for (lo, hi), (before, after), is_open, n in zip(
                region, operand.depths, operand.open, self.shape, strict=True
            )
        )
