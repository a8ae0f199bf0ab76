"""Arrays and explanations as notebooks show them: a picture of the chunks and what is known. Nothing is computed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ...graph.expr import walk
from ...graph.lower import lower
from ...scheduler.cluster import running
from ...scheduler.html import escape, size_text, table
from ...scheduler.kept import Kept
from ..execution.deferred import outline_plan

if TYPE_CHECKING:
    from ...graph.grid import Axis, Grid
    from ..base import ArrayBase
    from .explain import Explanation

SIDE, THIN = 120.0, 16.0
"""Points that the longest axis takes, and the shortest one at least."""

LINES = 20
"""Borders of chunks that are drawn along an axis, at most."""

NODES = 1000
"""The stages of larger graphs aren't counted."""

FRONT, TOP, RIGHT, LINE = "#8fbcd4", "#b9d7e6", "#6ea3bf", "#34495e"


def array_html(x: ArrayBase) -> str:
    """Return a table of what is known of an array, and a picture of its chunks."""
    waiting = x._unsized
    shape = x.shape if waiting is None else waiting.shape  # `x.shape` may go and find it
    rows: list[tuple[str, str]] = [("shape", _tuple(shape)), ("dtype", str(x.dtype))]
    if None in shape:
        rows += [("size", "found when something needs it")]
        return _beside(table((), rows, left=(0, 1)), "")
    grid = x.expr.grid
    largest = grid.largest * x.dtype.itemsize
    chunk = _tuple(tuple(a.largest for a in grid.axes))
    rows.insert(0, ("bytes", size_text(x.nbytes)))
    rows += [("chunks", f"{grid.nblocks:,} of {chunk}, {size_text(largest)}"), ("made by", _describe_origin(x))]
    return _beside(table((), rows, left=(0, 1)), grid_svg(grid))


def explanation_html(plan: Explanation) -> str:
    """Return the stages of a computation as a table."""
    head, *rows = plan.rows()
    notes = "".join(f"<p>{escape(note)}</p>" for note in plan.remarks)
    return table(head, rows, left=(0, len(head) - 1)) + notes


def _tuple(shape: tuple[int | None, ...]) -> str:
    inner = ", ".join("?" if n is None else f"{n}" for n in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def _beside(left: str, right: str) -> str:
    style = "display:flex;gap:2em;align-items:flex-start"
    return f'<div style="{style}"><div>{left}</div><div>{right}</div></div>'


def _describe_origin(x: ArrayBase) -> str:
    """Tell the last operation, and what computing the array would take."""
    expr = x.expr
    if expr.pin is not None:
        if not isinstance(expr.pin, Kept) or expr.pin.complete:
            return f"{expr.label}, persisted"
        if expr.pin.held:
            return f"{expr.label}, persisting"
    count = sum(1 for _ in islice(walk([expr]), NODES + 1))
    if count > NODES:
        return f"{expr.label}, more than {NODES:,} operations"
    session = running()
    roots, waiting = outline_plan([expr])
    stored = session.is_stored if session is not None else lambda token: False
    stages = [s for s in lower(roots, stored) if s.data is None]
    tasks = sum(s.ntasks for s in stages)
    more = ", more when it runs" if waiting else ""
    return f"{expr.label}: {_count(len(stages), 'stage')}, {_count(tasks, 'task')}{more}"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def grid_svg(grid: Grid) -> str:
    """Return a picture of a chunk grid: its last three axes as a box, with the borders of chunks."""
    axes = grid.axes[-3:]
    sides = _sides([a.length for a in axes])
    cuts = [_cuts(axis, side) for axis, side in zip(axes, sides, strict=True)]
    if not axes:
        shape, width, height = [_face([(0, 0), (THIN, 0), (THIN, THIN), (0, THIN)], FRONT)], THIN, THIN
    elif len(axes) == 1:
        (width,), height = sides, THIN
        shape = _sheet((0, 0), (width, 0), (0, height), cuts[0], [0.0, 1.0], FRONT)
    elif len(axes) == 2:
        height, width = sides
        shape = _sheet((0, 0), (width, 0), (0, height), cuts[1], cuts[0], FRONT)
    else:
        shape, width, height = _box(sides, cuts)
    labels = _labels([a.length for a in axes], sides, width, height)
    before = "".join(f"{n} × " for n in grid.shape[:-3])
    if before:
        labels += _text(0, height + 34, f"{before}this", "start")
    return (
        f'<svg width="{width + 90:.0f}" height="{height + 44:.0f}" style="stroke:{LINE};stroke-width:1">'
        f'<g transform="translate(4,4)">{"".join(shape)}{labels}</g></svg>'
    )


def _sides(lengths: list[int]) -> list[float]:
    """Return the sides to draw: in proportion while that can be seen."""
    longest = max([1, *lengths])
    return [max(THIN, SIDE * (n / longest) ** 0.5) for n in lengths]


def _cuts(axis: Axis, side: float) -> list[float]:
    """Return where to draw borders, from 0 to 1: all of them where they are few, else some of them."""
    count = min(axis.count, LINES, int(side // 4))
    chunks = np.unique(np.linspace(0, axis.count, count + 1).round().astype(np.int64))
    starts = np.where(chunks < axis.count, axis.start(np.minimum(chunks, axis.count - 1)), axis.length)
    found: list[float] = (starts / max(1, axis.length)).tolist()
    return found if axis.length else [0.0, 1.0]


Point = tuple[float, float]


def _face(corners: list[Point], colour: str) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return f'<polygon points="{points}" style="fill:{colour}"/>'


def _line(a: Point, b: Point) -> str:
    return f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}"/>'


def _sheet(at: Point, u: Point, v: Point, along_u: list[float], along_v: list[float], colour: str) -> list[str]:
    """Return a parallelogram with sides u and v, and lines across both."""

    def point(a: float, b: float) -> Point:
        return at[0] + a * u[0] + b * v[0], at[1] + a * u[1] + b * v[1]

    made = [_face([point(0, 0), point(1, 0), point(1, 1), point(0, 1)], colour)]
    made += [_line(point(a, 0), point(a, 1)) for a in along_u]
    return made + [_line(point(0, b), point(1, b)) for b in along_v]


def _box(sides: list[float], cuts: list[list[float]]) -> tuple[list[str], float, float]:
    """Return three faces of a box; the first axis goes backwards."""
    depth, height, width = sides
    back = depth * 0.5
    front = _sheet((0, back), (width, 0), (0, height), cuts[2], cuts[1], FRONT)
    top = _sheet((0, back), (width, 0), (back, -back), cuts[2], cuts[0], TOP)
    right = _sheet((width, back), (back, -back), (0, height), cuts[0], cuts[1], RIGHT)
    return [*front, *top, *right], width + back, height + back


def _text(x: float, y: float, text: str, anchor: str) -> str:
    style = f"text-anchor:{anchor};font-size:11px;stroke:none;fill:currentColor"
    return f'<text x="{x:.1f}" y="{y:.1f}" style="{style}">{escape(text)}</text>'


def _labels(lengths: list[int], sides: list[float], width: float, height: float) -> str:
    """Return the axes' lengths: the last one below, the one before it at the right, the third at the corner."""
    if not lengths:
        return ""
    made = _text(sides[-1] / 2, height + 16, str(lengths[-1]), "middle")
    if len(lengths) > 1:
        made += _text(width + 6, height - sides[-2] / 2, str(lengths[-2]), "start")
    if len(lengths) > 2:
        made += _text(width + 6, 10, str(lengths[-3]), "start")
    return made
