"""Which bodies are local: a result's element follows from elements at most some rows and columns away.

Each node of the traced body becomes a view of an item: its position p is the item's position `p + offset`. Slicing and
padding change offsets, and nothing else; `roll`, and whatever joins an array's end to its beginning, makes an axis
periodic, along which offsets are counted round. An elementwise operation aligns its operands by their middle; what
remains are shifts. What is set or joined at other places is painted. All else (reductions, transpositions, steps,
operations that change the shape) isn't local, and neither is an axis that is both periodic and padded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..chunks.axismap import Halo
from ..expr.expr import Expr, walk
from ..kinds.elementwise import Elementwise, Scalar
from ..kinds.mapping import MapBlocks
from ..kinds.move import Move
from ..kinds.source import Full
from .checks import check_plan
from .margins import Functions
from .moves import Moves
from .plan import BlockCall, HaloPlan, Point, Read, Single, Span, StencilLeaf, StencilValue, reads
from .views import IsPeriodic, ItemView, NotLocal, Where

if TYPE_CHECKING:
    from collections.abc import Sequence


FARTHEST = 64
"""Rows or columns that a step may reach."""


def find_plan(roots: Sequence[Expr], carried: Sequence[Expr], captured: Sequence[Expr]) -> HaloPlan:
    """Return the plan of a body with these results, over placeholders for what is carried and taken from outside.

    NotLocal says that the body isn't local.
    """
    shapes = {e.shape for e in carried if e.shape}
    if len(shapes) != 1:
        raise NotLocal("what is carried has several shapes, or no axes")
    (shape,) = shapes
    if 0 in shape:
        raise NotLocal("there are no elements")
    periodic = [False] * len(shape)
    while True:
        try:
            return _Analysis(shape, tuple(periodic)).plan(roots, carried, captured)
        except IsPeriodic as found:
            periodic[found.axis] = True


@dataclass
class _Analysis(Moves, Functions):
    def plan(self, roots: Sequence[Expr], carried: Sequence[Expr], captured: Sequence[Expr]) -> HaloPlan:
        for e in [*carried, *captured]:
            self.places[e.token] = self._given(e)
        leaves = len(self.items)
        for node in walk(list(roots), lambda node: node.token in self.places):
            if node.token not in self.places:
                self.places[node.token] = self._node(node)
        outs, single_outs = list[int](), list[int]()
        for root, e in zip(roots, carried, strict=True):
            place = self.places[root.token]
            if e.shape:
                outs.append(self._out(place, root, leaves))
            else:
                single_outs.append(self._single(place, root))
        outs = self._apart(outs)
        plan = HaloPlan(
            self.shape, self.periodic, tuple(self.items), tuple(outs), tuple(self.singles), tuple(single_outs)
        )
        farthest = max(d for depth in plan.depths for pair in depth for d in pair)
        if farthest > FARTHEST:
            raise NotLocal(f"a step reaches {farthest} elements far")
        if any(d for number in plan.calls for pair in plan.depths[number] for d in pair):
            raise NotLocal("what a function of blocks returns is read at other places")
        for n, round_, pairs in zip(self.shape, self.periodic, zip(*plan.depths, strict=True), strict=True):
            if round_ and max(d for pair in pairs for d in pair) > n:
                raise NotLocal("a step reaches round an axis")
        check_plan(plan)
        return plan

    def _given(self, e: Expr) -> Where:
        if not e.shape:
            self.singles.append(StencilValue("", (), e.dtype))
            return Single(len(self.singles) - 1)
        missing = len(self.shape) - len(e.shape)
        if missing < 0:
            raise NotLocal(f"an array of shape {e.shape} is used")
        own = (1,) * missing + e.shape
        along = tuple(k >= missing and m == n for k, (m, n) in enumerate(zip(own, self.shape, strict=True)))
        if any(not here and m != 1 for here, m in zip(along, own, strict=True)):
            raise NotLocal(f"an array of shape {e.shape} is used")
        box = tuple(
            None if p or not here else (0, n) for p, here, n in zip(self.periodic, along, self.shape, strict=True)
        )
        self.items.append(StencilLeaf(len(self.items), e.dtype, box, along))
        offset = tuple(0 if here else None for here in along)[missing:]
        return ItemView(len(self.items) - 1, (None,) * missing + offset)

    def _out(self, place: Where, root: Expr, leaves: int) -> int:
        """Return the item that is a result: at offset zero, and its own."""
        zero = (0,) * len(self.shape)
        box = tuple(None if p else (0, n) for p, n in zip(self.periodic, self.shape, strict=True))
        if isinstance(place, ItemView) and place.item >= leaves and place.offset == zero:
            item = self.items[place.item]
            if isinstance(item, Point | BlockCall) and item.box == box:
                return place.item
        arg = self.arg(place, zero)
        self.items.append(Point("copy", (arg,), root.dtype, box))
        return len(self.items) - 1

    def _apart(self, outs: list[int]) -> list[int]:
        """Return results that nothing reads, each its own."""
        read = {arg.item for item in self.items for arg in reads(item)}
        numbers: list[int] = []
        for number in outs:
            if number in read or number in numbers:
                item = self.items[number]
                copied = Read(number, (0,) * len(self.shape))
                self.items.append(Point("copy", (copied,), item.dtype, item.box))
                number = len(self.items) - 1
            numbers.append(number)
        return numbers

    def _single(self, place: Where, root: Expr) -> int:
        if isinstance(place, Single):
            return place.number
        if not isinstance(place, Scalar):
            raise NotLocal("a number follows from elements")
        self.singles.append(StencilValue("copy", (place,), root.dtype))
        return len(self.singles) - 1

    def _node(self, node: Expr) -> Where:
        op = node.op
        if 0 in node.shape:  # nobody reads it: joins leave it out, and what follows from it has no elements either
            return Scalar(np.zeros((), node.dtype)[()])
        if isinstance(op, Full):
            return Scalar(np.asarray(op.value, node.dtype)[()])
        if isinstance(op, Elementwise):
            return self._elementwise(node, op)
        if isinstance(op, Move):
            if any(isinstance(axis_map, Halo) for route in op.routes for _, axis_map in route.axes):
                return self.with_margins(node, op)
            return self.move(node, op)
        if isinstance(op, MapBlocks):
            return self.call(node, op)
        raise NotLocal(f"{node.label} isn't local")

    # ---------------------------------------------------------------- elementwise operations

    def _elementwise(self, node: Expr, op: Elementwise) -> Where:
        places = [a if isinstance(a, Scalar) else self.places[node.operands[a].token] for a in op.args]
        views = [p for p in places if isinstance(p, ItemView)]
        if not views:
            if node.shape:
                raise NotLocal("constants are computed")
            args = tuple(p for p in places if isinstance(p, Single | Scalar))
            self.singles.append(StencilValue(op.function, args, node.dtype))
            return Single(len(self.singles) - 1)
        axes, shape = self._check_lengths(node, op)
        offset: list[int | None] = []
        box: list[Span] = []
        for axis, n in enumerate(shape):
            own = [by for v in views if (by := v.offset[axis]) is not None]
            if not own:
                if n != 1:  # constants, or what doesn't change along it, over more positions than one
                    offset.append(0)
                else:
                    offset.append(None)
                box.append(None)
                continue
            middle = max(min(own), min(0, max(own)))
            offset.append(middle)
            box.append(None if self.periodic[axis] else (middle, middle + n))
        at = tuple(offset)
        args_ = tuple(self.arg(p, at) for p in places)
        self.items.append(Point(op.function, args_, node.dtype, tuple(box)))
        return ItemView(len(self.items) - 1, at, axes)

    def _check_lengths(self, node: Expr, op: Elementwise) -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
        """Return the axes of an operation's result, and its shape with axes of length one for the others."""
        views = [(o, p) for o in node.operands if isinstance(p := self.places[o.token], ItemView)]
        count = len(node.shape)
        axes = next((p.own(count) for o, p in views if len(o.shape) == count), None)
        if axes is None or count > len(self.shape):
            raise NotLocal(f"an array of {count} axes is made")
        lengths = dict(zip(axes, node.shape, strict=True))
        for operand, place in views:
            own = place.own(len(operand.shape))
            if own != axes[count - len(own) :]:
                raise NotLocal("axes change places")
            here = dict(zip(own, operand.shape, strict=True))
            for axis, by in enumerate(place.offset):  # an axis that a row hasn't got has one position of the item's
                if by is not None and here.get(axis, 1) != lengths.get(axis, 1):
                    raise NotLocal("one row or column is spread")
        shape = tuple(lengths.get(axis, 1) for axis in range(len(self.shape)))
        return None if count == len(self.shape) else axes, shape
