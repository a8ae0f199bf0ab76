"""Looking for chunks: an expression is fitted to others for its sources, on paper, and what each costs is compared.

What is tried follows from shapes: chunks near a cube, and chunks that are whole along some axes, of several sizes. For
each the expression is fitted to them (`fitting`) and lowered, as `explain` does it; what the stages
read, move and hold gives seconds, roughly. Graphs have no chunks in them, so that a try costs a millisecond or few.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...graph.expr.expr import walk
from ...graph.kinds.move import Move
from ...graph.kinds.source import Host, Source
from ...scheduler.session.cluster import session
from ...workers.config import config
from ..base import wrap
from ..chunking.stored import grid_over
from ..display.explain import Explanation, explain
from .fitting import fit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...graph.chunks.grid import Grid
    from ...graph.expr.expr import Expr
    from ..display.explain import StageCost

SCALES = (1.0, 4.0, 0.25, 1 / 16, 1 / 64)
"""Sizes of chunks that are tried, in turns of the setting `chunk_bytes`; the last one only where others don't fit."""
NODES = 1 << 14
"""Nodes of all expressions that are tried, about: of large graphs fewer chunks are tried."""
MOST_BLOCKS = 1 << 12
"""Sources aren't cut into more chunks."""
RATE, SPILLED = 2e9, 0.5e9
"""Bytes a second that a thread works through, and that go to disk and come back."""
BLOCK, TASK = 5e-6, 60e-6
"""Seconds for a block, and for a task."""
RUN = 10e-9
"""Seconds for a run of a source's elements."""


@dataclass(frozen=True)
class ChoicePoint:
    """Nodes of one shape whose chunks may be chosen along some axes, in multiples of those stored."""

    nodes: list[Expr]
    axes: tuple[int, ...]
    stored: tuple[int, ...] | None

    @property
    def largest(self) -> Expr:
        """The node with most bytes."""
        return max(self.nodes, key=lambda e: e.nbytes)

    @property
    def weight(self) -> tuple[int, int]:
        """Bytes of the largest chunk, and of all nodes."""
        return max(e.grid.largest * e.dtype.itemsize for e in self.nodes), sum(e.nbytes for e in self.nodes)

    def grids(self, scale: float) -> list[Grid]:
        """Return the grids of one size to try: near a cube but for some axes that are whole."""
        largest, candidates = self.largest, []
        for whole in itertools.chain(*(itertools.combinations(self.axes, n) for n in range(len(self.axes)))):
            spec: dict[int, Any] = dict(enumerate(axis.sizes() for axis in largest.grid.axes))
            spec |= dict.fromkeys(self.axes, f"{max(1, int(config.chunk_bytes * scale))} B")
            spec |= dict.fromkeys(whole, -1)
            candidates.append(grid_over("plan", spec, largest.shape, largest.dtype, self.stored))
        return [grid for grid in dict.fromkeys(candidates) if grid.nblocks <= MOST_BLOCKS]


@dataclass(frozen=True)
class PlanLimits:
    """What a computation is to run in: bytes of each rank, None for as many as there are, and how many ranks."""

    memory: int | None
    ranks: int


@dataclass(frozen=True)
class Choice:
    """An expression over chosen chunks, with what computing it takes: bytes beyond what there is, and seconds."""

    roots: list[Expr]
    grids: dict[str, Grid]
    explained: Explanation
    over: int
    seconds: float

    @classmethod
    def of(cls, roots: Sequence[Expr], grids: dict[str, Grid], need: PlanLimits) -> Choice:
        """Return what the roots cost over sources on other grids."""
        fitted = fit(roots, grids)
        explained = explain(*map(wrap, fitted))
        workers = need.ranks * session().threads
        seconds = sum(_seconds(stage, workers) for stage in explained.stages) + _count_runs(fitted) * RUN / workers
        over = 0 if explained.fits else 1
        if need.memory is not None:
            held = max((stage.bytes_held for stage in explained.stages), default=0)
            seconds += max(0, held - need.memory * need.ranks) / SPILLED
            over = max(over, explained.peak_bytes - need.memory)
        return cls(fitted, grids, explained, over, seconds)

    def better(self, other: Choice) -> bool:
        """Tell whether it is clearly less: what is about as good isn't worth other chunks."""
        return self.over < other.over or (self.over == other.over and self.seconds < 0.9 * other.seconds)


def find_places(nodes: list[Expr], axes_of: Callable[[Expr], tuple[int, ...]]) -> list[ChoicePoint]:
    """Return sources, and what is rechunked, of which some axes may have other chunks: those of large chunks first."""
    groups: dict[tuple[Any, ...], list[Expr]] = {}
    for node in nodes:
        if node.pin is not None or not node.grid.size or not _has_chunks(node) or not (axes := axes_of(node)):
            continue
        stored = node.op.data.chunks or None if isinstance(node.op, Host) else None
        kept = tuple([axis for i, axis in enumerate(node.grid.axes) if i not in axes])
        groups.setdefault((isinstance(node.op, Move), node.shape, kept, axes, stored), []).append(node)
    places = [ChoicePoint(same, axes, stored) for (*_, axes, stored), same in groups.items()]
    return sorted(places, key=lambda place: place.weight, reverse=True)


def _has_chunks(node: Expr) -> bool:
    return isinstance(node.op, Source | Host) or (isinstance(node.op, Move) and node.origin.call == "rechunk")


def choose(first: Choice, places: Sequence[ChoicePoint], need: PlanLimits) -> Choice:
    """Return the choice that costs least, place after place."""
    best = first
    for place in places:
        before = best.grids
        left = max(4, NODES // max(1, sum(1 for _ in walk(first.roots))))
        for scale in SCALES:
            if scale == SCALES[-1] and not best.over:
                break
            for grid in place.grids(scale)[:left]:
                grids = before | dict.fromkeys([node.token for node in place.nodes], grid)
                candidate = Choice.of(first.roots, grids, need)
                best, left = (candidate if candidate.better(best) else best), left - 1
    return best


def _count_runs(roots: list[Expr]) -> int:
    """Return in how many runs of elements the chunks of all sources lie."""
    grids = [node.grid for node in walk(roots) if isinstance(node.op, Source | Host) and node.grid.ndim]
    return sum(grid.size // max(1, grid.axes[-1].largest) for grid in grids)


def _seconds(stage: StageCost, workers: int) -> float:
    """Return how long tasks of a stage take that workers share: the last one may begin when all others end."""
    through = stage.bytes_read + stage.bytes_moved + stage.bytes_held + stage.bytes_made
    work = through / RATE + stage.blocks * BLOCK + stage.tasks * TASK
    return work / workers + (1 - 1 / workers) * work / max(1, stage.tasks)
