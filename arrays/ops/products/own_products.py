"""Products of a matrix with its own transpose. They are symmetric, so half of the blocks are computed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ....graph.chunks.axismap import Slice
from ....graph.chunks.grid import Axis, Grid
from ....graph.kinds.contraction import WANTED_TASKS, Contract
from ....graph.kinds.move import Move, Route
from ...base import make
from ..moves.axis_moves import move, slice_axis, transpose

if TYPE_CHECKING:
    from ...array import Array

Labels = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]

STRIPS = 16
"""Strips of rows, at most; each is multiplied with the rows after it."""
LEAST = 512
"""Rows of a strip, and length of the summed axis, from which on multiplying takes longer than mirroring."""


def find_own(left: Array, right: Array, labels: Labels) -> tuple[Array, Labels] | None:
    """Return `x`, and labels by which the product is `x` times its transpose; None where it is no such product."""
    mine, theirs, out = labels
    if left.ndim != 2 or right.ndim != 2 or len(set(mine) & set(theirs)) != 1 or len(out) != 2:
        return None
    turned = mine.index(*set(mine) & set(theirs)) != theirs.index(*set(mine) & set(theirs))
    if not turned:
        return (left, labels) if left.expr.token == right.expr.token else None
    if left.shape != right.shape[::-1]:
        return None
    if transpose(left).expr.token == right.expr.token:
        return left, (mine, theirs[::-1], out)
    if transpose(right).expr.token == left.expr.token:
        return right, (mine[::-1], theirs, out)
    return None


def cut_rows(axis: Axis, summed: int) -> Axis | None:
    """Return chunks of rows that suit computing half of the product; None where that saves little."""
    pieces, most = 1, axis.length // LEAST
    while axis.count * pieces * (axis.count * pieces + 1) < 2 * WANTED_TASKS and axis.count * (pieces + 1) <= most:
        pieces += 1
    cut = axis.cut(pieces)
    return cut if summed >= LEAST and 1 < cut.count <= most else None


def multiply_own(x: Array, labels: Labels, rows: Axis) -> Array:
    """Return the product of a matrix with its transpose, with the rows in these chunks."""
    mine, _, out = labels
    at = mine.index(out[0]) if out[0] in mine else mine.index(out[1])
    step = -(-rows.count // STRIPS)
    borders = [rows.start(i) for i in range(0, rows.count, step)] + [rows.length]
    parts, routes = [], []
    for begin, end in pairwise(borders):
        own = _rows(x, at, rows, begin, end)
        parts.append(_multiply(own, own, labels))
        routes.append(Route(((0, Slice(-begin)), (1, Slice(-begin)))))
        if end < rows.length:
            beside = _multiply(own, _rows(x, at, rows, end, rows.length), labels)
            parts += [beside, beside]
            routes.append(Route(((0, Slice(-begin)), (1, Slice(-end)))))
            routes.append(Route(((1, Slice(-begin)), (0, Slice(-end)))))
    return make(Move("matmul", tuple(routes)), parts, Grid([rows, rows]), x.dtype)


def _rows(x: Array, at: int, rows: Axis, begin: int, end: int) -> Array:
    axes = list(x.expr.grid.axes)
    axes[at] = slice_axis(rows, begin, 1, end - begin)
    return move("matmul", x, [(i, Slice(begin if i == at else 0)) for i in range(2)], axes)


def _multiply(left: Array, right: Array, labels: Labels) -> Array:
    mine, theirs, out = labels
    axes = dict(zip(mine, left.expr.grid.axes, strict=True)) | dict(zip(theirs, right.expr.grid.axes, strict=True))
    return make(Contract(*labels), (left, right), Grid([axes[label] for label in out]), left.dtype)
