"""A chunking that fits: which array to cut finer, and into what, so that a computation has room."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from ...graph.expr import walk
from ...graph.grid import Axis, Grid
from ...graph.kinds.move import Move
from ...graph.kinds.source import Host, Source
from ...scheduler.html import size_text
from ..base import wrap
from ..display.explain import Suggestion, explain
from .fitting import fit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...graph.expr import Expr

CUTS = (2, 4, 8, 16, 32, 64, 256, 1024, 4096)
"""Into how many times as many chunks an axis is cut."""
MOST_TRIES, MOST_BLOCKS = 48, 1 << 14
NODES = 2000
"""For larger graphs nothing is suggested: each try plans it anew."""


def suggest(roots: Sequence[Expr], limit: int) -> Suggestion | None:
    """Return other chunks for an array below, with which a rank takes no more than a limit; None: none were found.

    Each is tried: the expression is fitted to it and lowered. Chunks are cut along one axis, or two alike.
    """
    nodes = list(walk(list(roots)))
    if len(nodes) > NODES:
        return None
    leaves = [n for n in nodes if n.pin is None and _may_be_cut(n) and n.grid.size and n.grid.ndim]
    for leaf in sorted(leaves, key=lambda n: -n.grid.largest * n.dtype.itemsize)[:3]:
        alike = [n.token for n in leaves if n.grid == leaf.grid]
        for grid in itertools.islice(_finer(leaf.grid), MOST_TRIES):
            plan = explain(*map(wrap, fit(roots, dict.fromkeys(alike, grid))))
            if plan.peak_bytes <= limit and plan.fits:
                return _describe(leaf, grid, plan.peak_bytes, len(alike))
    return None


def _may_be_cut(node: Expr) -> bool:
    return isinstance(node.op, Source | Host) or (isinstance(node.op, Move) and node.op.name == "rechunk")


def _finer(grid: Grid) -> Iterator[Grid]:
    """Yield finer grids, those with the fewest chunks first; a long axis is cut before a short one."""
    order = sorted(range(grid.ndim), key=lambda i: -grid.axes[i].largest)
    some = [(i,) for i in order] + list(itertools.combinations(order, 2))
    for times, axes in itertools.product(CUTS, some):
        cut = [min(grid.axes[i].largest, max(2, round(times ** (1 / len(axes))))) for i in axes]
        if all(n > 1 for n in cut):
            pieces = dict(zip(axes, cut, strict=True))
            found = Grid([_cut(axis, pieces.get(i, 1)) for i, axis in enumerate(grid.axes)])
            if found.nblocks <= MOST_BLOCKS:
                yield found


def _cut(axis: Axis, pieces: int) -> Axis:
    return axis if pieces == 1 else Axis.regular(axis.length, -(-axis.largest // pieces))


def _describe(leaf: Expr, grid: Grid, peak: int, count: int) -> Suggestion:
    chunks: tuple[Any, ...] = tuple([-1 if a.count == 1 else a.largest for a in grid.axes])
    chunks = tuple([(axis.sizes() if not axis.is_regular else c) for c, axis in zip(chunks, grid.axes, strict=True)])
    where = f" at {leaf.origin.short}" if leaf.origin.file else ""
    others = f", and as many for the {count - 1} others like it" if count > 1 else ""
    change = f"rechunk({chunks})" if isinstance(leaf.op, Move) else f"chunks={chunks} for {leaf.label}"
    text = f"{change}{where}{others}: then a rank takes at most {size_text(peak)}"
    return Suggestion(text, chunks)
