"""Where the boxes of a graph lie, in layers from left to right, and the ways between them, which cross no box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .directed import find_depths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

GAP_X, GAP_Y, LANE = 56.0, 16.0, 10.0
"""Between layers, between boxes, and what an arrow takes that passes a layer."""
SWEEPS = 4

Place = tuple[str, int]
"""A box, or the way that leads on from it, in a layer."""


@dataclass(frozen=True)
class Laid:
    """Corners of boxes, ways of arrows, and the size of it all.

    Attributes
    ----------
    corners : mapping of str to (float, float)
    arrows : sequence of sequence of (float, float)
        Points that are passed, from a box to another. Between the second of a pair of them and the first of the
        next lies no box: there an arrow may bend; within a pair it is straight.
    """

    corners: Mapping[str, tuple[float, float]]
    arrows: Sequence[Sequence[tuple[float, float]]]
    width: float
    height: float


def lay_out(sizes: Mapping[str, tuple[float, float]], inputs: Mapping[str, Sequence[str]]) -> Laid:
    """Lay out boxes of these sizes, which come after their inputs.

    What leads to a later layer than the next takes a lane of its own through those in between; all that comes from
    one box shares it.
    """
    depth = find_depths(sizes, inputs)
    users: dict[str, list[str]] = {name: [] for name in sizes}
    for name in sizes:
        for each in dict.fromkeys(inputs.get(name, ())):
            if each in sizes:
                users[each].append(name)
    layers: list[list[Place]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in sizes:
        last = max((depth[u] for u in users[name]), default=0)
        for layer in range(depth[name], max(last, depth[name] + 1)):
            layers[layer].append((name, layer))
    _order(layers, depth, inputs, users)
    rows = _rows(layers, depth, sizes, inputs)
    widths = [max(sizes[n][0] for n, at in layer if depth[n] == at) for layer in layers]
    left = [sum(widths[:i]) + GAP_X * i for i in range(len(layers))]
    corners = {name: (left[depth[name]], rows[name, depth[name]] - sizes[name][1] / 2) for name in sizes}
    arrows = []
    for name, mine in users.items():
        for user in mine:
            points = [(left[depth[name]] + sizes[name][0], rows[name, depth[name]])]
            points.append((left[depth[name]] + widths[depth[name]], rows[name, depth[name]]))
            for layer in range(depth[name] + 1, depth[user]):
                points += [(left[layer], rows[name, layer]), (left[layer] + widths[layer], rows[name, layer])]
            points.append((left[depth[user]], rows[user, depth[user]]))
            arrows.append(points)
    height = max((y + sizes[name][1] for name, (_, y) in corners.items()), default=0.0)
    height = max([height, *(y + LANE / 2 for y in rows.values())])
    return Laid(corners, arrows, sum(widths) + GAP_X * max(0, len(layers) - 1), height)


def _before(place: Place, depth: Mapping[str, int], inputs: Mapping[str, Sequence[str]]) -> list[Place]:
    """Return where a place is led to from, in the layer before."""
    name, layer = place
    if depth[name] < layer:
        return [(name, layer - 1)]
    return [(i, layer - 1) for i in inputs.get(name, ()) if i in depth]


def _after(place: Place, depth: Mapping[str, int], users: Mapping[str, Sequence[str]]) -> list[Place]:
    name, layer = place
    further = [(name, layer + 1)] if any(depth[u] > layer + 1 for u in users[name]) else []
    return further + [(u, layer + 1) for u in users[name] if depth[u] == layer + 1]


def _order(
    layers: list[list[Place]],
    depth: Mapping[str, int],
    inputs: Mapping[str, Sequence[str]],
    users: Mapping[str, Sequence[str]],
) -> None:
    """Order each layer by the middle of what it is led to from, then of where it leads, a few times."""
    at = {place: float(k) for layer in layers for k, place in enumerate(layer)}
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        for layer in layers if forward else reversed(layers):
            beside = {p: _before(p, depth, inputs) if forward else _after(p, depth, users) for p in layer}
            middle = {p: _middle((at[q] for q in beside[p]), at[p]) for p in layer}
            layer.sort(key=lambda p: middle[p])
            at |= {p: float(k) for k, p in enumerate(layer)}


def _middle(values: Iterable[float], default: float) -> float:
    known = list(values)
    return sum(known) / len(known) if known else default


def _rows(
    layers: list[list[Place]],
    depth: Mapping[str, int],
    sizes: Mapping[str, tuple[float, float]],
    inputs: Mapping[str, Sequence[str]],
) -> dict[Place, float]:
    """Return the height of each place's middle: beside what leads there, where there is room."""
    rows: dict[Place, float] = {}
    for layer in layers:
        bottom = 0.0
        for place in layer:
            name, at = place
            high = sizes[name][1] if depth[name] == at else LANE
            wanted = _middle((rows[q] for q in _before(place, depth, inputs)), 0.0) - high / 2
            top = max(bottom, wanted)
            rows[place], bottom = top + high / 2, top + high + GAP_Y
    return rows
