"""Moves that only shift: boxes of the result, each of which is an operand's elements at an offset.

Slices without steps, padding, rolling, joining and setting are of this kind, and so is one after the other: `compose`
leads the boxes of the outer move through those of the inner one, so that both together read the inner's operands. A
stencil written with `pad` and slices, or with `roll` of `roll`, reads what lies below it, and nothing is padded.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..chunks.axismap import Slice, Spread, StridedPlace, Window
from ..chunks.positions import Periodic, Runs, Take
from ..expr.interned import BLOCKS, recall, recurs
from ..kinds.move import Move, Route

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..chunks.axismap import AxisMap
    from ..expr.expr import Expr, Op

MOST = 16
"""Boxes of one move, at most: each block looks at all of them."""
FACTOR = 4
"""Several stages read a move's operands themselves unless it has so many times fewer chunks along an axis."""

Span = tuple[int, int]
Box = tuple[Span, ...]


@dataclass(frozen=True)
class Patch:
    """A box of the result: along each axis its position p is position `p + shift` of an operand."""

    operand: int
    box: Box
    shift: tuple[int, ...]


def find_patches(op: Op, operands: tuple[Expr, ...], node: Expr) -> list[Patch] | None:
    """Return the boxes of a move's result, painted in this order; None where it does more than shift.

    `node` tells the result's shape and dtype.
    """
    if not isinstance(op, Move) or not node.grid.ndim or len(op.routes) > MOST:
        return None
    if not op.recurring or not _are_small(node, *operands):
        return _find_patches(op, operands, node)
    return recall("patches", (op, *_looks((node, *operands))), lambda: _find_patches(op, operands, node))


def _are_small(*nodes: Expr) -> bool:
    """Whether what follows from nodes' grids may be remembered with them."""
    return all(node.grid.nblocks <= BLOCKS for node in nodes)


def _looks(nodes: Iterable[Expr]) -> Iterator[object]:
    """Yield grids and dtypes of nodes."""
    for node in nodes:
        yield node.grid
        yield node.dtype


def _find_patches(op: Move, operands: tuple[Expr, ...], node: Expr) -> list[Patch] | None:
    ndim = node.grid.ndim
    patches: list[Patch] = []
    for number, (route, operand) in enumerate(zip(op.routes, operands, strict=True)):
        if route.targets != tuple(range(ndim)) or len(route.axes) != ndim or operand.dtype != node.dtype:
            return None
        along: list[list[tuple[int, int, int]]] = []
        for (_, axis_map), length, n in zip(route.axes, operand.shape, node.shape, strict=True):
            runs = _runs(axis_map, length, n)
            if runs is None:
                return None
            along.append(runs)
        for chosen in itertools.product(*along):
            patches.append(Patch(number, tuple([run[:2] for run in chosen]), tuple([run[2] for run in chosen])))
            if len(patches) > MOST:
                return None
    return patches


def _runs(axis_map: AxisMap, length: int, n: int) -> list[tuple[int, int, int]] | None:
    """Return the runs of result positions that come from an axis of an operand, each with what is added to them."""
    if isinstance(axis_map, Slice) and axis_map.step == 1:
        spans = [(max(0, -axis_map.start), min(n, length - axis_map.start), axis_map.start)]
    elif isinstance(axis_map, Window):
        spans = [(axis_map.first, axis_map.stop, axis_map.shift)]
    elif isinstance(axis_map, StridedPlace) and axis_map.step == 1:
        spans = [(max(0, axis_map.start), min(n, axis_map.start + length), -axis_map.start)]
    elif isinstance(axis_map, Spread) and axis_map.count <= MOST:
        spans = [(p, p + 1, -p) for p in (axis_map.start + axis_map.step * k for k in range(axis_map.count))]
    elif isinstance(axis_map, Take):
        index = axis_map.index
        if np.count_nonzero(np.diff(index[: 4 * MOST]) != 1) >= MOST:  # of many positions a few tell
            return None
        inner = np.flatnonzero(np.diff(index) != 1)
        if len(inner) >= MOST:
            return None
        borders = [0, *(inner + 1).tolist(), len(index)]
        spans = [(lo, hi, int(index[lo]) - lo) for lo, hi in itertools.pairwise(borders) if hi > lo]
    elif isinstance(axis_map, Runs):
        if len(axis_map.start) > MOST:
            return None
        spans = [
            (max(0, at), min(n, at + count), first - at)
            for first, count, at in zip(
                axis_map.start.tolist(), axis_map.length.tolist(), axis_map.places.tolist(), strict=True
            )
        ]
    elif isinstance(axis_map, Periodic):
        runs = axis_map.runs(length, n, MOST)
        if runs is None:
            return None
        spans = runs
    else:
        return None
    return [run for run in spans if run[1] > run[0]]


def compose(
    op: Move, operands: tuple[Expr, ...], node: Expr, stored: Callable[[str], bool]
) -> tuple[Move, tuple[Expr, ...]] | None:
    """Return the move that does those below it, too, and its operands; None where there are none that only shift."""
    below = [_below(operand, stored) for operand in operands]
    if not any(below):
        return None
    inner = [e for e, patches in zip(operands, below, strict=True) if patches]
    small = _are_small(node, *operands, *(o for e in inner for o in e.operands))
    if small and op.recurring and all(e.op.recurring for e in inner):
        parts = (op, *_looks((node, *operands)), *(p for e in inner for p in (e.op, *_looks(e.operands))))
        kind = ("compose", *[bool(patches) for patches in below])
        composed = recall(kind, parts, lambda: _compose(op, operands, node, below))
    else:
        composed = _compose(op, operands, node, below)
    if composed is None:
        return None
    move, picks = composed
    return move, tuple([operands[i] if k is None else operands[i].operands[k] for i, k in picks])


_Picks = list[tuple[int, int | None]]
"""Operands, by their numbers, or their own operands."""


def _compose(
    op: Move, operands: tuple[Expr, ...], node: Expr, below: list[list[Patch] | None]
) -> tuple[Move, _Picks] | None:
    mine = find_patches(op, operands, node)
    if mine is None:
        return None
    moves = [e.op for e, inner in zip(operands, below, strict=True) if inner and isinstance(e.op, Move)]
    fills = [f for f in (op.fill, *(m.fill for m in moves)) if f is not None]
    if len({np.asarray(f).astype(node.dtype).tobytes() for f in fills}) > 1:
        return None
    candidates: list[tuple[tuple[int, int | None], Expr, Patch]] = []
    for i, patch in enumerate(mine):
        operand, inner = operands[patch.operand], below[patch.operand]
        if not inner:
            candidates.append(((patch.operand, None), operand, patch))
            continue
        fill = operand.op.fill if isinstance(operand.op, Move) else None
        if fill is not None and any(meet(patch.box, other.box) for other in mine[:i]):
            return None
        candidates += [
            ((patch.operand, p.operand), operand.operands[p.operand], q)
            for p in inner
            if (q := _through(patch, p)) is not None
        ]
    kept = [
        each
        for i, each in enumerate(candidates)
        if not any(_within(each[2].box, later.box) for *_, later in candidates[i + 1 :])
    ]
    if not kept or len(kept) > MOST:
        return None
    name = "+".join(dict.fromkeys([*(m.name for m in moves), op.name]))
    move = Move(name, tuple([_route(p, e, node.shape) for _, e, p in kept]), fills[0] if fills else None)
    if op.recurring and all(m.recurring for m in moves):
        recurs(move)
    return move, [pick for pick, *_ in kept]


def _below(node: Expr, stored: Callable[[str], bool]) -> list[Patch] | None:
    return None if stored(node.token) else _own_patches(node)


def _own_patches(node: Expr) -> list[Patch] | None:
    """Return `find_patches` of a node, found once: several slices look at what lies below them."""
    known = node.__dict__
    if "_patches" not in known:
        known["_patches"] = find_patches(node.op, node.operands, node)
    patches: list[Patch] | None = known["_patches"]
    return patches


def _through(outer: Patch, inner: Patch) -> Patch | None:
    """Return what of a box comes from one of its operand's own boxes."""
    box: list[tuple[int, int]] = []
    for (lo, hi), by, (first, stop) in zip(outer.box, outer.shift, inner.box, strict=True):
        lo, hi = max(lo, first - by), min(hi, stop - by)
        if hi <= lo:
            return None
        box.append((lo, hi))
    return Patch(0, tuple(box), tuple([a + b for a, b in zip(outer.shift, inner.shift, strict=True)]))


def meet(a: Box, b: Box) -> bool:
    """Whether two boxes have a position in common."""
    return all(x[0] < y[1] and y[0] < x[1] for x, y in zip(a, b, strict=True))


def _within(a: Box, b: Box) -> bool:
    return all(y[0] <= x[0] and x[1] <= y[1] for x, y in zip(a, b, strict=True))


def _route(patch: Patch, operand: Expr, shape: Sequence[int]) -> Route:
    axes: list[tuple[int | None, AxisMap]] = []
    for axis, ((lo, hi), by, length, n) in enumerate(zip(patch.box, patch.shift, operand.shape, shape, strict=True)):
        whole = (lo, hi) == (max(0, -by), min(n, length - by))
        axes.append((axis, Slice(by) if whole else Window(lo, hi, by)))
    return Route(tuple(axes))


def is_shift(node: Expr) -> bool:
    """Whether a move is read as easily as what it would make: a few boxes, of chunks that aren't much smaller."""
    if _own_patches(node) is None:
        return False
    return all(
        theirs <= FACTOR * own
        for o in node.operands
        for theirs, own in zip(o.grid.counts, node.grid.counts, strict=True)
    )
