"""Drawing operations and stages: layers from left to right, SVG by hand, PNG through matplotlib."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..graph.errors import ArgumentError, bad
from ..scheduler.cluster import current
from .core import Node
from .deferred import outlined, sketched
from .graphs import operations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "visualize",
]

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN, TITLE = 168, 44, 48, 18, 16, 28


@dataclass(frozen=True)
class Box:
    """A box of the drawing: its lines of text, and where it lies."""

    lines: tuple[str, ...]
    x: float
    y: float
    colour: str


@dataclass(frozen=True)
class Picture:
    """Boxes by name, arrows between them, and titles."""

    boxes: Mapping[str, Box]
    arrows: Sequence[tuple[str, str]]
    titles: Sequence[tuple[str, float]]
    width: float
    height: float


def layers(names: Sequence[str], inputs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Put each node one layer behind the last of its inputs; order a layer by where its inputs lie.

    Examples
    --------
    >>> layers(["a", "b", "c"], {"c": ["a", "b"]})
    [['a', 'b'], ['c']]
    """
    depth: dict[str, int] = {}
    for name in names:
        depth[name] = 1 + max((depth[i] for i in inputs.get(name, ()) if i in depth), default=-1)
    found: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in names:
        found[depth[name]].append(name)
    place: dict[str, float] = {}
    for layer in found:
        centre = {n: _middle([place[i] for i in inputs.get(n, ()) if i in place]) for n in layer}
        layer.sort(key=lambda n: centre[n])
        place |= {n: float(k) for k, n in enumerate(layer)}
    return found


def _middle(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else 0.0


def _panel(
    title: str,
    texts: Mapping[str, tuple[str, ...]],
    inputs: Mapping[str, Sequence[str]],
    top: float,
    colour: str,
) -> tuple[dict[str, Box], list[tuple[str, str]], float, float]:
    rows = layers(list(texts), inputs)
    boxes = {}
    for i, layer in enumerate(rows):
        for k, name in enumerate(layer):
            x, y = MARGIN + i * (WIDTH + GAP_X), top + TITLE + k * (HEIGHT + GAP_Y)
            boxes[title + name] = Box(texts[name], x, y, colour)
    arrows = [(title + i, title + n) for n in texts for i in inputs.get(n, ()) if i in texts]
    tallest = max((len(layer) for layer in rows), default=0)
    width = 2 * MARGIN + len(rows) * (WIDTH + GAP_X) - GAP_X
    return boxes, arrows, width, top + TITLE + tallest * (HEIGHT + GAP_Y)


def picture(*arrays: Node) -> Picture:
    """Lay out operations above and stages below."""
    nodes = operations(*arrays)
    texts = {n.token: (n.label, f"{n.dtype} {_short(n.shape)} in {n.grid.nblocks:,}") for n in nodes}
    inputs: dict[str, list[str]] = {n.token: [c.token for c in n.operands] for n in nodes}
    ops, lines, width, height = _panel("operations", texts, inputs, MARGIN, "#dce9f5")
    stages = current().stages(outlined([sketched(a) for a in arrays])[0])
    texts = {s.token: (s.name, f"{s.ntasks:,} tasks" if s.data is None else "the user's array") for s in stages}
    inputs = {s.token: list(s.inputs) for s in stages}
    below = height + MARGIN
    more, others, width2, height = _panel("stages", texts, inputs, below, "#f5e6cf")
    titles = (("operations", MARGIN), ("stages", below))
    return Picture(ops | more, lines + others, titles, max(width, width2, 200), height + MARGIN)


def _short(shape: tuple[int, ...]) -> str:
    return "×".join(f"{n}" for n in shape) or "scalar"


def _fit(text: str, room: int = 26) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def escape(text: str) -> str:
    """Return text as it stands in XML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


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
        out.append(f'<text x="{MARGIN}" y="{y + 14:g}" font-weight="bold">{escape(title)}</text>')
    for start, end in drawn.arrows:
        a, b = drawn.boxes[start], drawn.boxes[end]
        x1, y1, x2, y2 = a.x + WIDTH, a.y + HEIGHT / 2, b.x, b.y + HEIGHT / 2
        bend = (x2 - x1) / 2
        path = f"M{x1:g},{y1:g} C{x1 + bend:g},{y1:g} {x2 - bend:g},{y2:g} {x2:g},{y2:g}"
        out.append(f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#tip)"/>')
    for box in drawn.boxes.values():
        out.append(f"<g><title>{escape(' | '.join(box.lines))}</title>")
        out.append(
            f'<rect x="{box.x:g}" y="{box.y:g}" width="{WIDTH}" height="{HEIGHT}" rx="5" '
            f'fill="{box.colour}" stroke="#555"/>'
        )
        for k, line in enumerate(box.lines):
            x, y = box.x + WIDTH / 2, box.y + 18 + 16 * k
            out.append(f'<text x="{x:g}" y="{y:g}" text-anchor="middle">{escape(_fit(line))}</text>')
        out.append("</g>")
    out.append("</svg>")
    return "\n".join(out) + "\n"


def _png(drawn: Picture, path: str) -> None:
    try:
        figure_module: Any = importlib.import_module("matplotlib.figure")
        patches: Any = importlib.import_module("matplotlib.patches")
    except ImportError as error:
        raise ArgumentError(
            bad("visualize", "path", path, "a name ending in .svg, since matplotlib is missing")
        ) from error
    figure = figure_module.Figure(figsize=(drawn.width / 72, drawn.height / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, drawn.width), ylim=(drawn.height, 0))
    axes.axis("off")
    for title, y in drawn.titles:
        axes.text(MARGIN, y + 14, title, fontsize=9, fontweight="bold")
    for start, end in drawn.arrows:
        a, b = drawn.boxes[start], drawn.boxes[end]
        axes.annotate(
            "",
            (b.x, b.y + HEIGHT / 2),
            (a.x + WIDTH, a.y + HEIGHT / 2),
            arrowprops={"arrowstyle": "->", "color": "#555"},
        )
    for box in drawn.boxes.values():
        axes.add_patch(patches.Rectangle((box.x, box.y), WIDTH, HEIGHT, facecolor=box.colour, edgecolor="#555"))
        for k, line in enumerate(box.lines):
            axes.text(box.x + WIDTH / 2, box.y + 18 + 16 * k, _fit(line), fontsize=7, ha="center")
    figure.savefig(path, dpi=144)


def visualize(*arrays: Any) -> str:
    """Draw the operations behind arrays and the stages that would run, to a file.

    Parameters
    ----------
    *arrays : Array, and at last the path
        A path that ends in .svg or .png (which takes matplotlib).

    Returns
    -------
    str
        The path.

    Examples
    --------
    >>> import tempfile, os
    >>> import windrow as wr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = wr.visualize(wr.ones(3) + 1, os.path.join(folder, "graph.svg"))
    ...     os.path.getsize(path) > 500
    True
    """
    *found, path = arrays
    path = os.fspath(path)
    for array in found:
        if not isinstance(array, Node):
            raise ArgumentError(bad("visualize", "arrays", array, "Windrow arrays"))
    if path.lower().endswith(".svg"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(svg(picture(*found)))
    elif path.lower().endswith(".png"):
        _png(picture(*found), path)
    else:
        raise ArgumentError(bad("visualize", "path", path, "a name that ends in .svg or .png"))
    return str(path)
