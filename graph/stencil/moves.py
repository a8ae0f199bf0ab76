"""Moves in a loop's body: slices and padding are views, what goes round makes an axis periodic, others are painted."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..chunks.axismap import Fixed, Slice
from ..kinds.elementwise import Scalar
from .plan import Arg, Box, Paint, Read, Single, StencilLeaf
from .views import MOST_PIECES, Bounds, Found, IsPeriodic, ItemView, NotLocal, Where, meets, runs_of, size, without

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..expr.expr import Expr
    from ..kinds.move import Move, Route


@dataclass
class Moves(Found):
    """The part of an analysis that looks at moves."""

    def move(self, node: Expr, op: Move) -> Where:
        if not node.shape:
            place = self.places[node.operands[0].token]
            if len(node.operands) == 1 and isinstance(place, Single | Scalar):
                return place
            raise NotLocal("an element is taken out")
        if len(node.shape) != len(self.shape):
            return self._line(node, op)
        whole = tuple((0, n) for n in node.shape)
        pieces: list[tuple[Bounds, Where]] = []
        if op.fill is not None:
            pieces.append((whole, Scalar(np.asarray(op.fill).astype(node.dtype)[()])))
        for route, operand in zip(op.routes, node.operands, strict=True):
            if 0 not in operand.shape:
                pieces += self._pieces(route, operand, node.shape)
        if len(pieces) > MOST_PIECES:
            raise NotLocal(f"{node.label} has many parts")
        while len(pieces) > 1 and any(later[0] == whole for later in pieces[1:]):
            pieces.pop(0)
        if len(pieces) == 1 and pieces[0][0] == whole:
            return pieces[0][1]
        return self._round_view(node, pieces) or self._paint(node, pieces)

    def _line(self, node: Expr, op: Move) -> ItemView:
        """Return the view of what integers pick, which has fewer axes."""
        place = self.places[node.operands[0].token]
        if len(op.routes) != 1 or op.fill is not None or not isinstance(place, ItemView):
            raise NotLocal(f"an array of {len(node.shape)} axes is made")
        offset, axes = list(place.offset), [-1] * len(node.shape)
        own = place.own(len(node.operands[0].shape))
        for axis, length, (target, axis_map) in zip(own, node.operands[0].shape, op.routes[0].axes, strict=True):
            by = axis_map.index if isinstance(axis_map, Fixed) else getattr(axis_map, "start", -1)
            if target is not None:
                fits = isinstance(axis_map, Slice) and axis_map.step == 1 and 0 <= by <= length - node.shape[target]
                if not fits:
                    raise NotLocal("elements are taken by steps, or in another order")
                axes[target] = axis
            elif not isinstance(axis_map, Fixed):
                raise NotLocal("an axis is taken out")
            at = offset[axis]
            offset[axis] = None if at is None else self.round(axis, at + by)
        if axes != sorted(axes) or -1 in axes:
            raise NotLocal("axes change places")
        return ItemView(place.item, tuple(offset), tuple(axes))

    def _pieces(self, route: Route, operand: Expr, shape: tuple[int, ...]) -> list[tuple[Bounds, Where]]:
        """Return the boxes that an operand fills, and where from."""
        place = self.places[operand.token]
        spans: list[list[tuple[int, int, int | None]]] = [[(0, n, None)] for n in shape]
        axes = tuple(range(len(shape) - len(operand.shape), len(shape)))
        if isinstance(place, ItemView):
            axes = place.own(len(operand.shape))
            for axis in set(range(len(shape))) - set(axes):  # one position of an axis that was taken out before
                if place.offset[axis] is not None and shape[axis] == 1:
                    spans[axis] = [(0, 1, 0)]
        for axis, length, (target, axis_map) in zip(axes, operand.shape, route.axes, strict=True):
            if target is None or target != axis:
                if length > 1:
                    raise NotLocal("an axis is taken out, or changes its place")
            else:
                spans[target] = runs_of(axis_map, length, shape[target])
        pieces: list[tuple[Bounds, Where]] = []
        chosen: list[tuple[list[tuple[int, int]], list[int | None]]] = [([], [])]
        for runs in spans:
            chosen = [([*box, (lo, hi)], [*starts, start]) for box, starts in chosen for lo, hi, start in runs]
        for box, starts in chosen:
            if all(hi > lo for lo, hi in box):
                pieces.append((tuple(box), self._moved(place, starts)))
        return pieces

    def _moved(self, place: Where, starts: Sequence[int | None]) -> Where:
        if not isinstance(place, ItemView):
            return place
        offset = [
            None if mine is None or by is None else self.round(axis, mine + by)
            for axis, (mine, by) in enumerate(zip(place.offset, starts, strict=True))
        ]
        if any(o is not None and by is None for o, by in zip(place.offset, starts, strict=True)):
            raise NotLocal("one row or column is spread")
        return ItemView(place.item, tuple(offset))

    def _round_view(self, node: Expr, pieces: list[tuple[Bounds, Where]]) -> ItemView | None:
        """Return the view of what joins an array's end to its beginning along one axis, or None."""
        views = [p for _, p in pieces if isinstance(p, ItemView)]
        if len(views) < len(pieces) or any(v.item != views[0].item for v in views):
            return None
        first = views[0]
        differing = [a for a in range(len(self.shape)) if len({box[a] for box, _ in pieces}) > 1]
        if len(differing) != 1:
            return None
        (axis,) = differing
        n, offset = self.shape[axis], first.offset[axis]
        if offset is None:
            return None
        same = all(
            (by := v.offset[axis]) is not None
            and (by - offset) % n == 0
            and all(v.offset[a] == first.offset[a] for a in range(len(self.shape)) if a != axis)
            for v in views
        )
        ends = sorted(box[axis] for box, _ in pieces)
        tiled = (
            ends[0][0] == 0
            and ends[-1][1] == node.shape[axis]
            and all(a[1] == b[0] for a, b in itertools.pairwise(ends))
        )
        if not same or not tiled:
            return None
        if not self.periodic[axis]:
            if self.items[first.item].box[axis] != (0, n):
                return None
            raise IsPeriodic(axis)
        return first

    def _paint(self, node: Expr, pieces: list[tuple[Bounds, Where]]) -> Where:
        for axis, (n, round_) in enumerate(zip(node.shape, self.periodic, strict=True)):
            if round_ and any(box[axis] != (0, n) for box, _ in pieces):
                raise NotLocal("an axis is both periodic and padded, or set in parts")
        views = [(size(box), k) for k, (box, p) in enumerate(pieces) if isinstance(p, ItemView)]
        if not views:
            raise NotLocal(f"{node.label} is made of constants")
        main = max(views)[1]
        place = pieces[main][1]
        assert isinstance(place, ItemView)
        at = tuple(0 if o is None else o for o in place.offset)
        moved: list[tuple[Box, Arg]] = [
            (
                tuple(
                    None if round_ else (lo + o, hi + o)
                    for (lo, hi), o, round_ in zip(box, at, self.periodic, strict=True)
                ),
                self.arg(p, at),
            )
            for box, p in pieces
        ]
        box = tuple(None if r else (o, o + n) for o, n, r in zip(at, node.shape, self.periodic, strict=True))
        if self._fill_margins(place.item, main, moved, box, node):
            return ItemView(place.item, at)
        below = [(rest, arg) for own, arg in moved[:main] for rest in without(own, moved[main][0])]
        self.items.append(Paint((*below, *moved[main:]), node.dtype, box))
        return ItemView(len(self.items) - 1, at)

    def _fill_margins(self, number: int, main: int, parts: list[tuple[Box, Arg]], box: Box, node: Expr) -> bool:
        """Have an array's margins hold what is painted around it; tell whether it is painted nowhere else."""
        item = self.items[number]
        if not isinstance(item, StencilLeaf) or not all(item.along) or parts[main][0] != item.box:
            return False
        if parts[main][1] != Read(number, (0,) * len(self.shape)) or item.dtype != node.dtype:
            return False
        for k, (own, arg) in enumerate(parts):
            if k == main:
                continue
            if isinstance(arg, Read) and (arg.item != number or (k < main and meets(own, item.box))):
                return False
            if k > main and meets(own, item.box):
                return False
        around = [(cut, arg) for k, (own, arg) in enumerate(parts) if k != main for cut in without(own, item.box)]
        self.items[number] = replace(item, box=box, fills=(*item.fills, *around))
        return True
