"""Pictures of chunk grids: the last three axes as a box, and on which rank each chunk of a persisted array lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...scheduler.session.html import escape, rank_colour

if TYPE_CHECKING:
    from ...graph.chunks.grid import Axis, Grid

SIDE, THIN = 120.0, 16.0
"""Points that the longest axis takes, and the shortest one at least."""

LINES = 20
"""Borders of chunks that are drawn along an axis, at most."""

ENTRIES = 16
"""Ranks that a legend names, at most."""

FRONT, TOP, RIGHT, LINE = "#8fbcd4", "#b9d7e6", "#6ea3bf", "#34495e"
NOWHERE = "#ffffff"
"""Of chunks that aren't there."""

Point = tuple[float, float]
Places = np.ndarray[Any, Any]
Cuts = tuple[np.ndarray[Any, Any], list[float]]
"""The chunks that cells along an axis begin with, and where their borders are drawn, from 0 to 1."""


def grid_svg(grid: Grid, places: Places | None = None) -> str:
    """Return a picture of a chunk grid; `places` has the rank of each chunk, or -1, by which it is coloured."""
    axes = grid.axes[-3:]
    sides = _sides([a.length for a in axes])
    cuts = [_cuts(axis, side) for axis, side in zip(axes, sides, strict=True)]
    one: Cuts = (np.zeros(1, int), [0.0, 1.0])
    seen = None if places is None else places.reshape(-1, *places.shape[-3:])
    if len(axes) < 3:
        height, width = [THIN, THIN, *sides][-2:]
        rows, columns = [one, one, *cuts][-2:]
        if seen is not None:
            seen = seen.reshape(1, *[1, 1, *seen.shape[1:]][-2:])
        shape = _sheet((0, 0), (width, 0), (0, height), columns, rows, FRONT, seen)
    else:
        shape, width, height = _box(sides, cuts, seen)
    labels = _labels([a.length for a in axes], sides, width, height)
    before = "".join(f"{n} × " for n in grid.shape[:-3])
    if before:
        labels += _text(0, height + 34, f"{before}this", "start")
    right, below = round(width + 90), round(height + 44)
    return (
        f'<svg width="{right}" height="{below}" viewBox="0 0 {right} {below}" style="stroke:{LINE};stroke-width:1">'
        f'<g transform="translate(4,4)">{"".join(shape)}{labels}</g></svg>'
    )


def legend(places: Places) -> str:
    """Return the colours of ranks, and how many chunks each has."""
    ranks, counts = np.unique(places, return_counts=True)
    entries = []
    for rank, count in zip(ranks[: ENTRIES + 1].tolist(), counts.tolist(), strict=False):
        name, colour = (f"rank {rank}", rank_colour(rank)) if rank >= 0 else ("not there", NOWHERE)
        chip = f'<span style="background:{colour};color:#111;border:1px solid {LINE};padding:0 .4em">{name}</span>'
        entries.append(f"{chip} {count:,} chunk{'' if count == 1 else 's'}")
    more = len(ranks) - len(entries)
    return f"<div>{'<br/>'.join(entries)}{f'<br/>and {more:,} other ranks' if more else ''}</div>"


def _sides(lengths: list[int]) -> list[float]:
    """Return the sides to draw: in proportion while that can be seen."""
    longest = max([1, *lengths])
    return [max(THIN, SIDE * (n / longest) ** 0.5) for n in lengths]


def _cuts(axis: Axis, side: float) -> Cuts:
    """Return which borders to draw: all of them where they are few, else some of them."""
    count = min(axis.count, LINES, int(side // 4))
    chunks = np.unique(np.linspace(0, axis.count, count + 1).round().astype(np.int64))
    starts = np.where(chunks < axis.count, axis.start(np.minimum(chunks, axis.count - 1)), axis.length)
    positions: list[float] = (starts / max(1, axis.length)).tolist()
    return (chunks[:-1], positions) if axis.length else (np.zeros(1, int), [0.0, 1.0])


def _face(corners: list[Point], colour: str) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return f'<polygon points="{points}" style="fill:{colour}"/>'


def _line(a: Point, b: Point) -> str:
    return f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}"/>'


def _sheet(
    at: Point, u: Point, v: Point, along_u: Cuts, along_v: Cuts, colour: str, places: Places | None = None
) -> list[str]:
    """Return a parallelogram with sides u and v, and lines across both.

    `places` has axes for chunks behind each other, and for those along v and u.
    """

    def point(a: float, b: float) -> Point:
        return at[0] + a * u[0] + b * v[0], at[1] + a * u[1] + b * v[1]

    def face(a: float, b: float, c: float, d: float, colour: str) -> str:
        return _face([point(a, c), point(b, c), point(b, d), point(a, d)], colour)

    (columns, across), (rows, down) = along_u, along_v
    shapes = [face(0, 1, 0, 1, colour)]
    if places is not None and places.size:
        low, high = (
            f.reduceat(f.reduceat(f.reduce(places, axis=0), rows, axis=0), columns, axis=1)
            for f in (np.minimum, np.maximum)
        )
        for j, i in np.argwhere(low == high).tolist():  # others lie on several ranks
            rank = int(low[j, i])
            fill = rank_colour(rank) if rank >= 0 else NOWHERE
            shapes.append(face(across[i], across[i + 1], down[j], down[j + 1], fill))
    shapes += [_line(point(a, 0), point(a, 1)) for a in across]
    return shapes + [_line(point(0, b), point(1, b)) for b in down]


def _box(sides: list[float], cuts: list[Cuts], places: Places | None) -> tuple[list[str], float, float]:
    """Return three faces of a box; the first axis goes backwards."""
    depth, height, width = sides
    back = depth * 0.5
    seen: list[Places | None] = [None] * 3
    if places is not None and places.size:
        seen = [places[:, 0], places[:, :, 0], places[..., -1].swapaxes(1, 2)]
    front = _sheet((0, back), (width, 0), (0, height), cuts[2], cuts[1], FRONT, seen[0])
    top = _sheet((0, back), (width, 0), (back, -back), cuts[2], cuts[0], TOP, seen[1])
    right = _sheet((width, back), (back, -back), (0, height), cuts[0], cuts[1], RIGHT, seen[2])
    return [*front, *top, *right], width + back, height + back


def _text(x: float, y: float, text: str, anchor: str) -> str:
    style = f"text-anchor:{anchor};font-size:11px;stroke:none;fill:currentColor"
    return f'<text x="{x:.1f}" y="{y:.1f}" style="{style}">{escape(text)}</text>'


def _labels(lengths: list[int], sides: list[float], width: float, height: float) -> str:
    """Return the axes' lengths: the last one below, the one before it at the right, the third at the corner."""
    if not lengths:
        return ""
    labels = _text(sides[-1] / 2, height + 16, str(lengths[-1]), "middle")
    if len(lengths) > 1:
        labels += _text(width + 6, height - sides[-2] / 2, str(lengths[-2]), "start")
    if len(lengths) > 2:
        labels += _text(width + 6, 10, str(lengths[-3]), "start")
    return labels
