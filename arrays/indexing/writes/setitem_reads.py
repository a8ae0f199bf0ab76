"""Reading elements of an array in which some were set: from the value that was set there, or from what was before.

Otherwise `x[i + 1] = x[i] + 1` in a loop would assemble the whole array in each iteration to read one element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....graph.chunks.axismap import Spread, StridedPlace
from ....graph.kinds.move import Move
from ..keys import forward

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....graph.chunks.grid import Axis
    from ....graph.expr.expr import Expr
    from ....graph.kinds.move import Route

LEVELS = 8
"""Reads are followed through at most this many such arrays; each has some dozens of values set."""

Part = tuple[int, int, int]
"""Start, step and count of positions along an axis, in ascending order."""


def beneath(expr: Expr, entries: Sequence[Any]) -> tuple[Expr, list[Any]]:
    """Return the expression that holds all of some elements, and where they lie in it.

    `entries` has an integer or a slice (whose `stop` is the count) for each axis. A slice of a size-1 axis in
    what is returned stands for a repeated element. After some levels the array that lies there is taken as it is, so
    that a loop of very many assignments is built in linear time.
    """
    places = list(entries)
    for _ in range(LEVELS):
        if not isinstance(expr.op, Move) or not expr.op.sets_elements or expr.pin is not None:
            break
        parts = [forward(e) for e in places]
        for route, operand in zip(expr.op.routes[:0:-1], expr.operands[:0:-1], strict=True):
            inside = _inside(route, operand.grid.axes, parts)
            if inside is None:
                return expr, places
            if inside or not parts:
                return operand, [_entry(e, p) for e, p in zip(places, inside, strict=True)]
        expr = expr.operands[0]
    return expr, places


def _inside(route: Route, axes: Sequence[Axis], parts: Sequence[Part]) -> list[Part] | None:
    """Return where the elements lie in what a route brings: nowhere (an empty list), or None when it's only some."""
    inner_parts: list[Part] = []
    some = False
    for (_, axis_map), axis, part in zip(route.axes, axes, parts, strict=True):
        assert isinstance(axis_map, StridedPlace | Spread)
        count = axis_map.count if isinstance(axis_map, Spread) else axis.length
        where = _along(part, (axis_map.start, axis_map.step, count))
        if where is None:
            some = True
        elif not where:
            return []
        else:
            inner_parts.append((0, 1, 1) if isinstance(axis_map, Spread) else where)
    return None if some else inner_parts


def _along(part: Part, whole: Part) -> Part | tuple[()] | None:
    """Return which of a whole's positions a part's are: none (an empty tuple), all, or None for some."""
    (start, step, count), (first, each, length) = part, whole
    if count > 1 and step % each:
        apart = start + step * (count - 1) < first or start > first + each * (length - 1)
        return () if apart else None
    if (start - first) % each:
        return ()
    low, by = (start - first) // each, max(1, step // each)
    high = low + by * (count - 1)
    if high < 0 or low >= length:
        return ()
    return (low, by, count) if low >= 0 and high < length else None


def _entry(entry: Any, part: Part) -> Any:
    """Return an integer or a slice, in the direction of the old one, for a part."""
    start, step, count = part
    if isinstance(entry, int):
        return start
    return slice(start, count, step) if entry.step > 0 else slice(start + step * (count - 1), count, -step)
