"""Drawing operations and stages: boxes in layers from left to right, as SVG, and PNG through matplotlib."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ...graph.errors import ArgumentError, bad
from ...scheduler.html import escape, size_text
from ..base import ArrayBase
from .graph_layout import lay_out
from .operation_graph import operations
from .planned import plan_stages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...graph.expr import Expr
    from ...graph.stage import Stage

__all__ = [
    "visualize",
]

MARGIN, TITLE = 16.0, 28.0
LETTER, LINE, PAD = 6.7, 15.0, 9.0
"""Points that a letter takes at most, a line, and around text."""
ROOM = 34
"""Letters after which a line of a name is broken, at the next place between two operations."""
BLUE, ORANGE, GREY = "#dce9f5", "#f5e6cf", "#ececec"

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
    """Operations and stages as boxes with arrows between them; a notebook shows it."""

    boxes: tuple[Box, ...]
    arrows: tuple[Points, ...]
    titles: tuple[tuple[str, float], ...]
    width: float
    height: float

    def __repr__(self) -> str:
        return f"<picture of {len(self.boxes)} boxes; visualize('graph.svg') writes it to a file>"

    def _repr_svg_(self) -> str:
        return svg(self)


def _panel(
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


def picture(*arrays: ArrayBase) -> Picture:
    """Lay out operations above and stages below."""
    nodes = operations(*arrays)
    texts = {n.token: _operation(n) for n in nodes}
    inputs: dict[str, list[str]] = {n.token: [c.token for c in n.operands] for n in nodes}
    above = _panel("operations", texts, inputs, dict.fromkeys(texts, BLUE))
    stages, later = plan_stages(arrays)
    planned_later = {n.token for n in later}
    texts = {s.token: _stage(s, s.token in planned_later) for s in stages}
    inputs = {s.token: list(s.inputs) for s in stages}
    grey = planned_later | {s.token for s in stages if s.data is not None}
    below = _panel("stages", texts, inputs, {name: GREY if name in grey else ORANGE for name in texts})
    down = MARGIN + above.height
    boxes = tuple(Box(b.lines, b.x, b.y + down, b.width, b.height, b.colour) for b in below.boxes)
    arrows = tuple(tuple((x, y + down) for x, y in points) for points in below.arrows)
    return Picture(
        above.boxes + boxes,
        above.arrows + arrows,
        (("operations", 0.0), ("stages", down)),
        max(above.width, below.width, 200.0),
        down + below.height + MARGIN,
    )


def _operation(node: Expr) -> tuple[str, ...]:
    name = f"{node.label}: {node.step}" if node.step else node.label
    chunks = f"{node.grid.nblocks:,} chunk{'' if node.grid.nblocks == 1 else 's'}"
    return name, f"{node.dtype} {_short(node.shape)}", f"{chunks}, {size_text(node.nbytes)}"


def _stage(stage: Stage, planned: bool) -> tuple[str, ...]:
    size = size_text(stage.grid.size * stage.dtype.itemsize)
    if stage.data is not None:
        return stage.name, f"the user's array, {size}"
    if planned:
        return stage.name, f"planned when it runs, {size}"
    count = f"{stage.ntasks:,} task{'' if stage.ntasks == 1 else 's'}, {size}"
    where = stage.origin.rpartition("/")[2]
    return (stage.name, count, where) if where else (stage.name, count)


def _short(shape: tuple[int, ...]) -> str:
    return "×".join(f"{n}" for n in shape) or "scalar"


def svg(drawn: Picture) -> str:
    """Return a picture as SVG."""
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{drawn.width:g}" height="{drawn.height:g}" '
        f'viewBox="0 0 {drawn.width:g} {drawn.height:g}" font-family="sans-serif" font-size="11">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for title, y in drawn.titles:
        out.append(f'<text x="{MARGIN:g}" y="{y + 17:g}" font-weight="bold">{escape(title)}</text>')
    line = 'fill="none" stroke="#555" marker-end="url(#tip)"'
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
            out.append(f'<text x="{x:g}" y="{y:g}" text-anchor="middle"{weight}>{escape(line)}</text>')
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


def _png(drawn: Picture, path: str) -> None:
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


def visualize(*arrays: Any, filename: Any = None) -> Any:
    """Draw the operations behind arrays and the stages that would run; nothing runs.

    Parameters
    ----------
    *arrays : Array
        The arrays; the last argument may be the path instead of `filename`.
    filename : str or os.PathLike, optional
        A path ending in .svg, or .png, for which matplotlib is needed. None: nothing is written.

    Returns
    -------
    str or Picture
        The path; without one a picture that a notebook shows.

    Raises
    ------
    ArgumentError
        An argument is not a Windrow array, there is none, the path has another ending, or matplotlib is missing for
        .png.
    OSError
        The file can't be written.

    Examples
    --------
    >>> import tempfile, os
    >>> import windrow as wr
    >>> wr.visualize(wr.ones(3) + 1)
    <picture of 3 boxes; visualize('graph.svg') writes it to a file>
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = wr.visualize(wr.ones(3) + 1, os.path.join(folder, "graph.svg"))
    ...     os.path.getsize(path) > 500
    True
    """
    found = list(arrays)
    if filename is None and found and isinstance(found[-1], str | os.PathLike):
        filename = found.pop()
    for array in found:
        if not isinstance(array, ArrayBase):
            raise ArgumentError(bad("visualize", "arrays", array, "Windrow arrays"))
    if not found:
        raise ArgumentError(bad("visualize", "arrays", tuple(found), "at least one array"))
    path = None if filename is None else os.fspath(filename)
    if path is not None and not path.lower().endswith((".svg", ".png")):
        raise ArgumentError(bad("visualize", "filename", path, "a name ending in .svg or .png"))
    drawn = picture(*found)
    if path is None:
        return drawn
    if path.lower().endswith(".png"):
        _png(drawn, path)
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(svg(drawn))
    return path
