"""Drawing graphs: boxes in layers from left to right, as SVG, and PNG through matplotlib."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ...graph.errors import ArgumentError, bad
from ...scheduler.session.html import escape
from .graph_layout import lay_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARGIN, TITLE = 16.0, 28.0
LETTER, LINE, PAD = 6.7, 15.0, 9.0
"""Points that a letter takes at most, a line, and around text."""
LEAST = 0.65
"""To which part of its width a picture may shrink where there is little room."""
ROOM = 34
"""Letters after which a line of a name is broken, at the next place between two operations."""

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Box:
    """A box of the drawing: its lines of text, and where it lies."""

    lines: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True)
class Picture:
    """Boxes with arrows between them; a notebook shows it."""

    boxes: tuple[Box, ...]
    arrows: tuple[Points, ...]
    titles: tuple[tuple[str, float], ...]
    width: float
    height: float

    def __repr__(self) -> str:
        return f"<picture of {len(self.boxes)} boxes; visualize('graph.svg') writes it to a file>"

    def _repr_svg_(self) -> str:
        return svg(self)

    def _repr_html_(self) -> str:
        """For notebooks: within the page, lines and titles have the colour of the theme's text."""
        return f'<div style="overflow-x:auto">{svg(self, None)}</div>'


def panel(
    title: str, texts: Mapping[str, tuple[str, ...]], inputs: Mapping[str, Sequence[str]], colours: Mapping[str, str]
) -> Picture:
    """Lay out one title with its boxes."""
    lines = {name: tuple(part for line in text for part in break_lines(line)) for name, text in texts.items()}
    sizes = {n: (max(map(len, t)) * LETTER + 2 * PAD, len(t) * LINE + 2 * PAD - 4) for n, t in lines.items()}
    laid = lay_out(sizes, inputs)
    boxes = []
    for name, (x, y) in laid.corners.items():
        boxes.append(Box(lines[name], MARGIN + x, TITLE + y, *sizes[name], colours[name]))
    arrows = tuple(tuple((MARGIN + x, TITLE + y) for x, y in points) for points in laid.arrows)
    return Picture(tuple(boxes), arrows, ((title, 0.0),), 2 * MARGIN + laid.width, TITLE + laid.height)


def break_lines(text: str) -> list[str]:
    """Break a long name between operations; nothing is left out.

    Examples
    --------
    >>> break_lines("ones+add+multiply+subtract+divide+maximum+sum")
    ['ones+add+multiply+subtract+divide+', 'maximum+sum']
    """
    parts = text.replace("+", "+\0").replace(", ", ", \0").split("\0")
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > ROOM:
            lines.append("")
        lines[-1] += part
    return lines


def stack(panels: Sequence[Picture]) -> Picture:
    """Put pictures below each other."""
    boxes: list[Box] = []
    arrows: list[Points] = []
    titles: list[tuple[str, float]] = []
    down = 0.0
    for one in panels:
        boxes += [replace(box, y=box.y + down) for box in one.boxes]
        arrows += [tuple((x, y + down) for x, y in points) for points in one.arrows]
        titles += [(title, y + down) for title, y in one.titles]
        down += one.height + MARGIN
    width = max(200.0, *(one.width for one in panels))
    return Picture(tuple(boxes), tuple(arrows), tuple(titles), width, down)


def svg(drawn: Picture, background: str | None = "white") -> str:
    """Return a picture as SVG: as wide as there is room, but not so narrow that it can't be read."""
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{drawn.width:g}" height="{drawn.height:g}" '
        f'viewBox="0 0 {drawn.width:g} {drawn.height:g}" font-family="sans-serif" font-size="11" '
        f'style="max-width:100%;min-width:{LEAST * drawn.width:g}px;height:auto">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="currentColor"/></marker></defs>',
    ]
    if background is not None:
        out.append(f'<rect width="100%" height="100%" fill="{background}"/>')
    for title, y in drawn.titles:
        out.append(f'<text x="{MARGIN:g}" y="{y + 17:g}" fill="currentColor" font-weight="bold">{escape(title)}</text>')
    line = 'fill="none" stroke="currentColor" stroke-opacity="0.7" marker-end="url(#tip)"'
    out += [f'<path d="{_path(points)}" {line}/>' for points in drawn.arrows]
    for box in drawn.boxes:
        out.append("<g>")
        out.append(
            f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="5" '
            f'fill="{box.colour}" stroke="#555"/>'
        )
        for k, line in enumerate(box.lines):
            x, y = box.x + box.width / 2, box.y + PAD + 8 + LINE * k
            weight = ' font-weight="bold"' if k == 0 else ""
            out.append(f'<text x="{x:g}" y="{y:g}" fill="#111" text-anchor="middle"{weight}>{escape(line)}</text>')
        out.append("</g>")
    out.append("</svg>")
    return "\n".join(out) + "\n"


def bends(points: Points) -> list[Points]:
    """Return the pieces of an arrow: two points for a straight one, four for a curve."""
    pieces: list[Points] = []
    for k, (a, b) in enumerate(pairwise(points)):
        middle = (a[0] + b[0]) / 2
        pieces.append((a, b) if k % 2 == 0 else (a, (middle, a[1]), (middle, b[1]), b))
    return pieces


def _path(points: Points) -> str:
    text = f"M{points[0][0]:g},{points[0][1]:g}"
    for piece in bends(points):
        text += " L" if len(piece) == 2 else " C"
        text += " ".join(f"{x:g},{y:g}" for x, y in piece[1:])
    return text


def png(drawn: Picture, path: str) -> None:
    try:
        figure_module: Any = importlib.import_module("matplotlib.figure")
        patches: Any = importlib.import_module("matplotlib.patches")
        paths: Any = importlib.import_module("matplotlib.path")
    except ImportError as error:
        raise ArgumentError(
            bad("visualize", "filename", path, "a name ending in .svg, since matplotlib is missing")
        ) from error
    figure = figure_module.Figure(figsize=(drawn.width / 72, drawn.height / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, drawn.width), ylim=(drawn.height, 0))
    axes.axis("off")
    for title, y in drawn.titles:
        axes.text(MARGIN, y + 17, title, fontsize=10, fontweight="bold")
    kind = paths.Path
    for points in drawn.arrows:
        places, codes = [points[0]], [kind.MOVETO]
        for piece in bends(points):
            places += piece[1:]
            codes += [kind.LINETO] if len(piece) == 2 else [kind.CURVE4] * 3
        style = {"arrowstyle": "-|>", "mutation_scale": 8, "color": "#555", "shrinkA": 0, "shrinkB": 0}
        axes.add_patch(patches.FancyArrowPatch(path=kind(places, codes), fill=False, **style))
    for box in drawn.boxes:
        shape = patches.FancyBboxPatch(
            (box.x, box.y), box.width, box.height, "round,pad=0,rounding_size=5", facecolor=box.colour, edgecolor="#555"
        )
        axes.add_patch(shape)
        for k, line in enumerate(box.lines):
            weight = "bold" if k == 0 else "normal"
            x, y = box.x + box.width / 2, box.y + PAD + 8 + LINE * k
            axes.text(x, y, line, fontsize=9, ha="center", fontweight=weight)
    figure.savefig(path, dpi=144)
