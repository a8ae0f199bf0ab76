"""A chunking that fits: which array to cut otherwise, and into what, so that a computation has room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.expr.expr import walk
from ...graph.kinds.move import Move
from ...scheduler.session.cluster import session
from ...scheduler.session.html import size_text
from ..display.explain import Suggestion
from .search import Choice, ChoicePoint, PlanLimits, choose, find_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph.expr.expr import Expr

NODES = 2000
"""For larger graphs nothing is suggested: each try plans it anew."""
PLACES = 3
"""Of so many arrays, the largest, other chunks are tried."""


def suggest(roots: Sequence[Expr], limit: int) -> Suggestion | None:
    """Return other chunks for an array below, with which a rank takes no more than a limit; None: none were found.

    They are chosen as `plan` chooses them, whoever gave those that there are.
    """
    nodes = list(walk(list(roots)))
    if len(nodes) > NODES:
        return None
    need = PlanLimits(limit, session().ranks)
    first = Choice.of(roots, {}, need)
    for place in find_places(nodes, lambda node: tuple(range(node.grid.ndim)))[:PLACES]:
        choice = choose(first, [place], need)
        if not choice.over and choice.grids:
            return _describe(place, choice)
    return None


def _describe(place: ChoicePoint, found: Choice) -> Suggestion:
    change, chunks = describe_cut(place, found)
    return Suggestion(f"{change}: then a rank takes at most {size_text(found.explained.peak_bytes)}", chunks)


def describe_cut(place: ChoicePoint, found: Choice) -> tuple[str, tuple[Any, ...]]:
    """Return how a user writes the chunks that were chosen for some arrays, and these chunks."""
    leaf = place.largest
    axes = found.grids[leaf.token].axes
    chunks: tuple[Any, ...] = tuple([-1 if a.count == 1 else a.largest if a.is_regular else a.sizes() for a in axes])
    where = f" at {leaf.origin.short}" if leaf.origin.file else ""
    others = f", and as many for the {len(place.nodes) - 1} others like it" if len(place.nodes) > 1 else ""
    change = f"rechunk({chunks})" if isinstance(leaf.op, Move) else f"chunks={chunks} for {leaf.label}"
    return f"{change}{where}{others}", chunks
