"""Functions of blocks in a loop's body, with margins of their neighbours or without."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..chunks.axismap import Halo, Slice
from ..kinds.elementwise import Scalar
from .plan import Arg, BlockCall, Box, Margins, Read, StencilLeaf
from .views import Found, IsPeriodic, ItemView, NotLocal, Where, Wide

if TYPE_CHECKING:
    from ..expr.expr import Expr
    from ..kinds.mapping import MapBlocks
    from ..kinds.move import Move


@dataclass
class Functions(Found):
    """The part of an analysis that looks at functions of blocks."""

    def with_margins(self, node: Expr, op: Move) -> Where:
        """Note the margins of blocks for the function that takes them, which nothing else can read."""
        (operand,) = node.operands
        before = self.margins.get(operand.token)
        place = self.places[operand.token] if before is None else ItemView(before.read.item, before.read.shift)
        item = self._whole_leaf(place)
        depths = list(before.depths) if before else [(0, 0)] * len(self.shape)
        ends = list(before.open) if before else [False] * len(self.shape)
        fills: list[tuple[Box, Arg]] = []
        box = list(self.items[item].box)
        for axis, (target, halo) in enumerate(op.routes[0].axes):
            if target != axis or not isinstance(halo, Halo | Slice):
                raise NotLocal("margins of an axis that changes its place")
            if isinstance(halo, Slice):
                continue
            n = self.shape[axis]
            depths[axis] = halo.before, halo.after
            if halo.boundary == "periodic":
                if not self.periodic[axis]:
                    raise IsPeriodic(axis)
                continue
            if self.periodic[axis]:
                raise NotLocal("an axis is both periodic and padded")
            ends[axis] = halo.boundary == "none"
            if ends[axis]:
                continue
            if max(depths[axis]) > n:
                raise NotLocal("margins longer than an axis")
            for at in (*range(-1, -halo.before - 1, -1), *range(n, n + halo.after)):
                own = tuple((at, at + 1) if a == axis else span for a, span in enumerate(box))
                inside = {"nearest": 0 if at < 0 else n - 1, "reflect": -1 - at if at < 0 else 2 * n - 1 - at}
                shift = tuple(inside.get(halo.boundary, at) - at if a == axis else 0 for a in range(len(self.shape)))
                constant = halo.boundary == "constant"
                fills.append(
                    (own, Scalar(np.asarray(op.fill).astype(node.dtype)[()]) if constant else Read(item, shift))
                )
            box[axis] = -halo.before, n + halo.after
        leaf = self.items[item]
        assert isinstance(leaf, StencilLeaf)
        already = self.filled.get(item, ())
        if before is None and already:
            if already[: len(fills)] != tuple(fills):
                raise NotLocal("an array is padded in two ways")
        elif not fills or already[-len(fills) :] != tuple(fills):
            if before is None and leaf.fills and fills:
                raise NotLocal("an array is padded in two ways")
            self.items[item] = replace(leaf, box=tuple(box), fills=(*leaf.fills, *fills))
            self.filled[item] = (*already, *fills)
        self.margins[node.token] = Margins(Read(item, (0,) * len(self.shape)), tuple(depths), tuple(ends))
        return Wide()

    def _whole_leaf(self, place: Where) -> int:
        """Return the leaf that a function of blocks takes as it is."""
        whole = isinstance(place, ItemView) and place.offset == (0,) * len(self.shape)
        if not isinstance(place, ItemView) or not whole:
            raise NotLocal("a function of blocks takes something else than what is carried")
        item = self.items[place.item]
        if not isinstance(item, StencilLeaf) or not all(item.along):
            raise NotLocal("a function of blocks takes something else than what is carried")
        return place.item

    def call(self, node: Expr, op: MapBlocks) -> Where:
        every = tuple(range(len(self.shape)))
        if node.shape != self.shape or op.adds or any(axes != every for axes in op.axes):
            raise NotLocal("a function of blocks changes axes")
        operands: list[Margins] = []
        for operand in node.operands:
            margins = self.margins.get(operand.token)
            if margins is None:
                if operand.grid != node.grid:
                    raise NotLocal("a function of blocks changes chunks")
                item = self._whole_leaf(self.places[operand.token])
                margins = Margins(Read(item, (0,) * len(every)), ((0, 0),) * len(every), (False,) * len(every))
            operands.append(margins)
        if self.blocks is not None and self.blocks != node.grid:
            raise NotLocal("functions of blocks have different chunks")
        self.blocks = node.grid
        box = tuple(None if p else (0, n) for p, n in zip(self.periodic, self.shape, strict=True))
        self.items.append(BlockCall(op, tuple(operands), node.grid, node.dtype, box))
        return ItemView(len(self.items) - 1, (0,) * len(every))
