"""Which bodies are local: a result's element follows from elements at most some rows and columns away.

Each node of the traced body becomes a view of an item: its position p is the item's position `p + offset`. Slicing and
padding change offsets, and nothing else; `roll`, and whatever joins an array's end to its beginning, makes an axis
periodic, along which offsets are counted round. An elementwise operation aligns its operands by their middle; what
remains are shifts. What is set or joined at other places is painted. All else (reductions, transpositions, steps,
operations that change the shape) isn't local, and neither is an axis that is both periodic and padded.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..axismap import Place, Slice, Spread, Take
from ..expr import Expr, walk
from ..kinds.elementwise import Elementwise, Scalar
from ..kinds.move import Move, Route
from ..kinds.source import Full
from .plan import Arg, Box, HaloPlan, Item, Leaf, Paint, Point, Read, Single, Value, reads

if TYPE_CHECKING:
    from collections.abc import Sequence

FARTHEST = 64
"""Rows or columns that a step may reach."""
MOST_PIECES = 64
Offset = tuple[int | None, ...]


class NotLocal(Exception):
    """A body that isn't local; the message says why."""


class _IsPeriodic(Exception):
    def __init__(self, axis: int) -> None:
        super().__init__(axis)
        self.axis = axis


@dataclass(frozen=True)
class View:
    """Where a node's elements are: position p at an item's `p + offset`; None: it is the same along that axis."""

    item: int
    offset: Offset


Where = View | Single | Scalar


def find_plan(roots: Sequence[Expr], carried: Sequence[Expr], captured: Sequence[Expr]) -> HaloPlan:
    """Return the plan of a body with these results, over placeholders for what is carried and taken from outside.

    Raises
    ------
    NotLocal
        When the body isn't local.
    """
    shapes = {e.shape for e in carried if e.shape}
    if len(shapes) != 1:
        raise NotLocal("what is carried has several shapes, or no axes")
    (shape,) = shapes
    periodic = [False] * len(shape)
    while True:
        try:
            return _Analysis(shape, tuple(periodic)).plan(roots, carried, captured)
        except _IsPeriodic as found:
            periodic[found.axis] = True


@dataclass
class _Analysis:
    shape: tuple[int, ...]
    periodic: tuple[bool, ...]
    items: list[Item] = field(default_factory=list)
    singles: list[Value] = field(default_factory=list)
    places: dict[str, Where] = field(default_factory=dict)

    def plan(self, roots: Sequence[Expr], carried: Sequence[Expr], captured: Sequence[Expr]) -> HaloPlan:
        for e in [*carried, *captured]:
            self.places[e.token] = self._given(e)
        leaves = len(self.items)
        for node in walk(list(roots), lambda node: node.token in self.places):
            if node.token not in self.places:
                self.places[node.token] = self._node(node)
        outs, single_outs = [], []
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
        for n, round_, pairs in zip(self.shape, self.periodic, zip(*plan.depths, strict=True), strict=True):
            if round_ and max(d for pair in pairs for d in pair) > n:
                raise NotLocal("a step reaches round an axis")
        return plan

    def _given(self, e: Expr) -> Where:
        if not e.shape:
            self.singles.append(Value("", (), e.dtype))
            return Single(len(self.singles) - 1)
        missing = len(self.shape) - len(e.shape)
        if missing < 0:
            raise NotLocal(f"an array of shape {e.shape} is used")
        own = (1,) * missing + e.shape
        along = tuple(m == n for m, n in zip(own, self.shape, strict=True))
        if any(not here and m != 1 for here, m in zip(along, own, strict=True)):
            raise NotLocal(f"an array of shape {e.shape} is used")
        box = tuple(
            None if p or not here else (0, n) for p, here, n in zip(self.periodic, along, self.shape, strict=True)
        )
        self.items.append(Leaf(len(self.items), e.dtype, box, along))
        offset = tuple(0 if here else None for here in along)[missing:]
        return View(len(self.items) - 1, (None,) * missing + offset)

    def _out(self, place: Where, root: Expr, leaves: int) -> int:
        """Return the item that is a result: at offset zero, and its own."""
        zero = (0,) * len(self.shape)
        box = tuple(None if p else (0, n) for p, n in zip(self.periodic, self.shape, strict=True))
        if isinstance(place, View) and place.item >= leaves and place.offset == zero:
            item = self.items[place.item]
            if isinstance(item, Point) and item.box == box:
                return place.item
        arg = self._arg(place, zero)
        self.items.append(Point("copy", (arg,), root.dtype, box))
        return len(self.items) - 1

    def _apart(self, outs: list[int]) -> list[int]:
        """Return results that nothing reads, each its own."""
        read = {arg.item for item in self.items for arg in reads(item)}
        found: list[int] = []
        for number in outs:
            if number in read or number in found:
                item = self.items[number]
                copied = Read(number, (0,) * len(self.shape))
                self.items.append(Point("copy", (copied,), item.dtype, item.box))
                number = len(self.items) - 1
            found.append(number)
        return found

    def _single(self, place: Where, root: Expr) -> int:
        if isinstance(place, Single):
            return place.number
        if not isinstance(place, Scalar):
            raise NotLocal("a number follows from elements")
        self.singles.append(Value("copy", (place,), root.dtype))
        return len(self.singles) - 1

    def _node(self, node: Expr) -> Where:
        op = node.op
        if isinstance(op, Full):
            return Scalar(np.asarray(op.value, node.dtype)[()])
        if isinstance(op, Elementwise):
            return self._elementwise(node, op)
        if isinstance(op, Move):
            return self._move(node, op)
        raise NotLocal(f"{node.label} isn't local")

    # ---------------------------------------------------------------- elementwise operations

    def _elementwise(self, node: Expr, op: Elementwise) -> Where:
        places = [a if isinstance(a, Scalar) else self.places[node.operands[a].token] for a in op.args]
        views = [p for p in places if isinstance(p, View)]
        if not views:
            if node.shape:
                raise NotLocal("constants are computed")
            args = tuple(p for p in places if isinstance(p, Single | Scalar))
            self.singles.append(Value(op.function, args, node.dtype))
            return Single(len(self.singles) - 1)
        if len(node.shape) != len(self.shape):
            raise NotLocal(f"an array of {len(node.shape)} axes is made")
        self._check_lengths(node, op)
        offset: list[int | None] = []
        box: list[Any] = []
        for axis, n in enumerate(node.shape):
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
        args_ = tuple(self._arg(p, at) for p in places)
        self.items.append(Point(op.function, args_, node.dtype, tuple(box)))
        return View(len(self.items) - 1, at)

    def _check_lengths(self, node: Expr, op: Elementwise) -> None:
        for operand in node.operands:
            place = self.places[operand.token]
            if isinstance(place, View):
                missing = len(node.shape) - len(operand.shape)
                for offset, own, n in zip(place.offset[missing:], operand.shape, node.shape[missing:], strict=True):
                    if offset is not None and own != n:
                        raise NotLocal("one row or column is spread")

    def _arg(self, place: Where, at: Offset) -> Arg:
        """Return what an item at an offset reads."""
        if not isinstance(place, View):
            return place
        return Read(place.item, self._shift(place.offset, at))

    def _shift(self, offset: Offset, at: Offset) -> tuple[int, ...]:
        found = []
        for axis, (theirs, mine) in enumerate(zip(offset, at, strict=True)):
            by = 0 if theirs is None or mine is None else theirs - mine
            found.append(self._round(axis, by))
        return tuple(found)

    def _round(self, axis: int, by: int) -> int:
        """Return a distance as the shorter way round."""
        if not self.periodic[axis]:
            return by
        n = self.shape[axis]
        return (by + n // 2) % n - n // 2

    # ---------------------------------------------------------------- moves

    def _move(self, node: Expr, op: Move) -> Where:
        if not node.shape:
            place = self.places[node.operands[0].token]
            if len(node.operands) == 1 and isinstance(place, Single | Scalar):
                return place
            raise NotLocal("an element is taken out")
        if len(node.shape) != len(self.shape):
            raise NotLocal(f"an array of {len(node.shape)} axes is made")
        whole = tuple((0, n) for n in node.shape)
        pieces: list[tuple[Any, Where]] = []
        if op.fill is not None:
            pieces.append((whole, Scalar(np.asarray(op.fill).astype(node.dtype)[()])))
        for route, operand in zip(op.routes, node.operands, strict=True):
            pieces += self._pieces(route, operand, node.shape)
        if len(pieces) > MOST_PIECES:
            raise NotLocal(f"{node.label} has many parts")
        while len(pieces) > 1 and any(later[0] == whole for later in pieces[1:]):
            pieces.pop(0)
        if len(pieces) == 1 and pieces[0][0] == whole:
            return pieces[0][1]
        return self._round_view(node, pieces) or self._paint(node, pieces)

    def _pieces(self, route: Route, operand: Expr, shape: tuple[int, ...]) -> list[tuple[Any, Where]]:
        """Return the boxes that an operand fills, and where from."""
        place = self.places[operand.token]
        spans: list[list[tuple[int, int, int | None]]] = [[(0, n, None)] for n in shape]
        missing = len(shape) - len(operand.shape)
        for own, (target, axis_map) in enumerate(route.axes):
            length = operand.shape[own]
            if target is None or target != own + missing:
                if length > 1:
                    raise NotLocal("an axis is taken out, or changes its place")
            else:
                spans[target] = _runs(axis_map, length, shape[target])
        found: list[tuple[Any, Where]] = []
        chosen: list[tuple[list[tuple[int, int]], list[int | None]]] = [([], [])]
        for runs in spans:
            chosen = [([*box, (lo, hi)], [*starts, start]) for box, starts in chosen for lo, hi, start in runs]
        for box, starts in chosen:
            if all(hi > lo for lo, hi in box):
                found.append((tuple(box), self._moved(place, starts)))
        return found

    def _moved(self, place: Where, starts: Sequence[int | None]) -> Where:
        if not isinstance(place, View):
            return place
        offset = [
            None if mine is None or by is None else self._round(axis, mine + by)
            for axis, (mine, by) in enumerate(zip(place.offset, starts, strict=True))
        ]
        if any(o is not None and by is None for o, by in zip(place.offset, starts, strict=True)):
            raise NotLocal("one row or column is spread")
        return View(place.item, tuple(offset))

    def _round_view(self, node: Expr, pieces: list[tuple[Any, Where]]) -> View | None:
        """Return the view of what joins an array's end to its beginning along one axis, or None."""
        if not all(isinstance(p, View) for _, p in pieces):
            return None
        views: list[View] = [p for _, p in pieces]  # type: ignore[misc]
        first = views[0]
        if any(v.item != first.item for v in views):
            return None
        differing = [a for a in range(len(self.shape)) if len({box[a] for box, _ in pieces}) > 1]
        if len(differing) != 1:
            return None
        (axis,) = differing
        n = self.shape[axis]
        if first.offset[axis] is None:
            return None
        same = all(
            (v.offset[axis] - first.offset[axis]) % n == 0  # type: ignore[operator]
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
            raise _IsPeriodic(axis)
        return first

    def _paint(self, node: Expr, pieces: list[tuple[Any, Where]]) -> Where:
        for axis, (n, round_) in enumerate(zip(node.shape, self.periodic, strict=True)):
            if round_ and any(box[axis] != (0, n) for box, _ in pieces):
                raise NotLocal("an axis is both periodic and padded, or set in parts")
        views = [(_size(box), k) for k, (box, p) in enumerate(pieces) if isinstance(p, View)]
        if not views:
            raise NotLocal(f"{node.label} is made of constants")
        main = max(views)[1]
        place = pieces[main][1]
        assert isinstance(place, View)
        at = tuple(0 if o is None else o for o in place.offset)
        moved: list[tuple[Box, Arg]] = [
            (
                tuple(
                    None if round_ else (lo + o, hi + o)
                    for (lo, hi), o, round_ in zip(box, at, self.periodic, strict=True)
                ),
                self._arg(p, at),
            )
            for box, p in pieces
        ]
        box = tuple(None if r else (o, o + n) for o, n, r in zip(at, node.shape, self.periodic, strict=True))
        if self._fill_margins(place.item, main, moved, box, node):
            return View(place.item, at)
        self.items.append(Paint(tuple(moved), node.dtype, box))
        return View(len(self.items) - 1, at)

    def _fill_margins(self, number: int, main: int, parts: list[tuple[Box, Arg]], box: Box, node: Expr) -> bool:
        """Have an array's margins hold what is painted around it; tell whether it is painted nowhere else."""
        item = self.items[number]
        if not isinstance(item, Leaf) or not all(item.along) or parts[main][0] != item.box:
            return False
        if parts[main][1] != Read(number, (0,) * len(self.shape)) or item.dtype != node.dtype:
            return False
        for k, (own, arg) in enumerate(parts):
            if k == main:
                continue
            if isinstance(arg, Read) and (arg.item != number or (k < main and _meets(own, item.box))):
                return False
            if k > main and _meets(own, item.box):
                return False
        around = [(cut, arg) for k, (own, arg) in enumerate(parts) if k != main for cut in _without(own, item.box)]
        self.items[number] = replace(item, box=box, fills=(*item.fills, *around))
        return True


def _runs(axis_map: Any, length: int, n: int) -> list[tuple[int, int, int | None]]:
    """Return the runs of result positions that an axis of an operand fills, each with what is added to a position."""
    if isinstance(axis_map, Slice) and axis_map.step == 1:
        return [(max(0, -axis_map.start), min(n, length - axis_map.start), axis_map.start)]
    if isinstance(axis_map, Place) and axis_map.step == 1:
        return [(max(0, axis_map.start), min(n, axis_map.start + length), -axis_map.start)]
    if isinstance(axis_map, Spread) and axis_map.step == 1:
        start = None if axis_map.count > 1 else -axis_map.start
        return [(axis_map.start, axis_map.start + axis_map.count, start)]
    if isinstance(axis_map, Slice) and length == 1 and axis_map.step == 0:
        return [(0, n, None)]
    if isinstance(axis_map, Take) and len(axis_map.index) <= MOST_PIECES:
        index = axis_map.index.tolist()
        if not any(index) and length == 1:
            return [(0, n, 0 if n == 1 else None)]
        runs: list[tuple[int, int, int | None]] = []
        for p, source in enumerate(index):
            if runs and runs[-1][2] == source - p:
                runs[-1] = (runs[-1][0], p + 1, source - p)
            else:
                runs.append((p, p + 1, source - p))
        return runs
    raise NotLocal("elements are taken by steps, or in another order")


def _size(box: Any) -> int:
    return int(np.prod([hi - lo for lo, hi in box], dtype=np.int64))


def _meets(a: Box, b: Box) -> bool:
    return all(x is None or y is None or (x[0] < y[1] and y[0] < x[1]) for x, y in zip(a, b, strict=True))


def _without(box: Box, core: Box) -> list[Box]:
    """Return boxes that together are what of a box lies outside of another one."""
    found, rest = [], list(box)
    for axis, (span, inner) in enumerate(zip(box, core, strict=True)):
        if span is None or inner is None:
            continue
        for lo, hi in ((span[0], min(span[1], inner[0])), (max(span[0], inner[1]), span[1])):
            if hi > lo:
                found.append((*rest[:axis], (lo, hi), *rest[axis + 1 :]))
        both = max(span[0], inner[0]), min(span[1], inner[1])
        if both[1] <= both[0]:
            break
        rest[axis] = both
    return found
