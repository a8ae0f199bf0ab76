"""Choosing chunks for a whole computation: sources that nobody chose chunks for are tried in others, on paper.

What is tried follows from shapes: chunks near a cube, and chunks that are whole along some axes, of several sizes. For
each the expression is fitted to them (`fitting`) and lowered, as `explain` does it; what the stages
read, move and hold gives seconds, roughly. Graphs have no chunks in them, so that a try costs a millisecond or few.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks import parse_bytes
from ...graph.errors import ArgumentError, OutOfMemory, bad
from ...graph.expr import walk
from ...graph.kinds.source import Host, Source
from ...scheduler.cluster import session
from ...scheduler.html import size_text
from ...workers.config import config
from ..base import wrap
from ..chunking.stored import grid_over
from ..display.explain import explain
from ..execution.holders import held_arrays, map_held
from .fitting import fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph.expr import Expr
    from ...graph.grid import Axis, Grid
    from ..display.explain import StageCost

__all__ = [
    "plan",
]

SCALES = (1.0, 4.0, 0.25, 1 / 16)
"""Sizes of chunks that are tried, in turns of the setting `chunk_bytes`."""
NODES = 1 << 14
"""Nodes of all expressions that are tried, about: of large graphs fewer chunks are tried."""
MOST_CUT = 64
"""Parts into which a chunk may have been cut."""
RATE, SPILLED = 2e9, 0.5e9
"""Bytes a second that a thread works through, and that go to disk and come back."""
BLOCK, TASK = 5e-6, 60e-6
"""Seconds for a block, and for a task."""
RUN = 10e-9
"""Seconds for a run of a source's elements."""


@dataclass(frozen=True)
class _Free:
    """Sources of one shape whose chunks may be chosen, along some axes, in multiples of those stored."""

    sources: list[Expr]
    axes: tuple[int, ...]
    stored: tuple[int, ...] | None

    def grids(self, scales: Sequence[float]) -> list[Grid]:
        """Return the grids to try: of each size, near a cube but for some axes that are whole."""
        largest = max(self.sources, key=lambda e: e.dtype.itemsize)
        found = []
        for scale, count in itertools.product(scales, range(len(self.axes))):
            for whole in itertools.combinations(self.axes, count):
                spec: dict[int, Any] = dict(enumerate(axis.sizes() for axis in largest.grid.axes))
                spec |= dict.fromkeys(self.axes, f"{max(1, int(config.chunk_bytes * scale))} B")
                spec |= dict.fromkeys(whole, -1)
                found.append(grid_over("plan", spec, largest.shape, largest.dtype, self.stored))
        return list(dict.fromkeys(found))


def plan(*arrays: Any, memory: int | str | None = None, ranks: int | None = None) -> Any:
    """Return the same arrays over sources in chunks that suit what is done with them; nothing runs.

    Chunks are chosen for all sources together whose chunks are those of "auto"; of what is stored in chunks, in
    multiples of these. Sources with chunks of your own, and `rechunk`, stay as they are. The chunks of results follow.

    Parameters
    ----------
    *arrays : Array, or what holds some
        What is to be computed together, as `compute` takes it; datasets of xarray's too.
    memory : int or str, optional
        Bytes that each rank may take for it, such as "2 GiB"; None: no more than usual is looked for.
    ranks : int, optional
        How many ranks it is planned for; None: those of the present cluster.

    Returns
    -------
    Array or object
        What was given, over other chunks; a tuple for several.

    Raises
    ------
    ArgumentError
        An argument neither is a Windrow array nor holds one; `memory` or `ranks` can't be read.
    OutOfMemory
        No chunks that were tried let it run in `memory`.

    Notes
    -----
    "auto" alone depends on shape and dtype, so that a value doesn't depend on ranks or memory. Here it does, as far as
    chunks decide about the order of floating-point sums: give `memory` and `ranks` for the same bits elsewhere.

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.random.default_rng(1).random((4000, 4000))
    >>> planned = wr.plan(wr.fft.fft(x, axis=1).real.sum(), memory="1 GiB", ranks=2)
    >>> planned.shape
    ()
    """
    lazy = held_arrays("plan", arrays)
    most = _read_bytes(memory)
    count = _read_ranks(ranks)
    sized = [a for a in lazy if a._unsized is None]
    chosen = iter(map(wrap, _solve([a.expr for a in sized], most, count) if sized else ()))
    planned = map_held(arrays, lambda a: a if a._unsized is not None else next(chosen))
    return planned[0] if len(arrays) == 1 else planned


def _read_bytes(memory: int | str | None) -> int | None:
    try:
        return None if memory is None else parse_bytes(memory)
    except (TypeError, ValueError) as error:
        raise ArgumentError(bad("plan", "memory", memory, "bytes, such as '2 GiB'")) from error


def _read_ranks(ranks: int | None) -> int:
    if ranks is None:
        return int(session().ranks)
    if isinstance(ranks, bool) or not isinstance(ranks, int | np.integer) or ranks < 1:
        raise ArgumentError(bad("plan", "ranks", ranks, "a positive integer"))
    return int(ranks)


def _solve(roots: list[Expr], memory: int | None, ranks: int) -> list[Expr]:
    """Return expressions over the sources' chunks that cost least."""
    nodes = list(walk(roots))
    free = _find_free(nodes)
    best, least = roots, _Cost.of(roots, memory, ranks)
    chosen: dict[str, Grid] = {}
    tries = max(4, NODES // max(1, len(nodes)))
    for each in sorted(free, key=lambda f: -sum(e.nbytes for e in f.sources)):
        for grid in each.grids(SCALES)[:tries]:
            grids = chosen | dict.fromkeys([e.token for e in each.sources], grid)
            fitted = fit(roots, grids)
            cost = _Cost.of(fitted, memory, ranks)
            if cost.better(least):
                best, least, chosen = fitted, cost, grids
    if least.over > 0 and memory is not None:
        raise OutOfMemory(
            f"plan: argument 'memory' is {size_text(memory)}; with the best chunks that were tried a rank takes "
            f"{size_text(memory + least.over)}, in {least.blame}: give more memory, or cut that operation's input by "
            "rechunk"
        )
    return best


def _find_free(nodes: list[Expr]) -> list[_Free]:
    """Return the sources whose chunks nobody chose: along as many axes as may be they are those of "auto"."""
    found: dict[tuple[Any, ...], list[Expr]] = {}
    for node in nodes:
        if node.pin is None and isinstance(node.op, Source | Host) and node.grid.size:
            stored = node.op.data.chunks or None if isinstance(node.op, Host) else None
            axes = _auto_axes(node.grid, node.dtype, stored)
            if axes:
                kept = tuple([axis for i, axis in enumerate(node.grid.axes) if i not in axes])
                found.setdefault((node.shape, kept, axes, stored), []).append(node)
    return [_Free(same, axes, stored) for (_, _, axes, stored), same in found.items()]


def _auto_axes(grid: Grid, dtype: np.dtype[Any], stored: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the axes whose chunks are those of "auto", or these cut, as where others were made whole for lines."""
    for count in range(grid.ndim, 0, -1):
        for axes in itertools.combinations(range(grid.ndim), count):
            spec = dict(enumerate(axis.sizes() for axis in grid.axes)) | dict.fromkeys(axes, "auto")
            auto = grid_over("plan", spec, grid.shape, dtype, stored)
            cut = tuple([i for i in axes if _is_cut(grid.axes[i], auto.axes[i])])
            if cut and all(i in cut or grid.axes[i].count == 1 for i in axes):
                return cut
    return ()


def _is_cut(axis: Axis, of: Axis) -> bool:
    return axis == of or (of.count < axis.count <= MOST_CUT * of.count and axis == of.cut(-(-axis.count // of.count)))


@dataclass(frozen=True)
class _Cost:
    """What a computation costs: bytes beyond what a rank may take, and seconds."""

    over: int
    seconds: float
    blame: str = ""

    @classmethod
    def of(cls, roots: list[Expr], memory: int | None, ranks: int) -> _Cost:
        """Return what computing expressions would cost."""
        explained = explain(*map(wrap, roots))
        workers = ranks * session().threads
        seconds = sum(_seconds(stage, workers) for stage in explained.stages) + _count_runs(roots) * RUN / workers
        if memory is None:
            return cls(0, seconds)
        spilled = max(0, max((s.bytes_held for s in explained.stages), default=0) - memory * ranks)
        blame = "" if explained.peak_stage is None else explained.peak_stage.name
        return cls(max(0, explained.peak_bytes - memory), seconds + spilled / SPILLED, blame)

    def better(self, other: _Cost) -> bool:
        """Tell whether it is clearly less: what is about as good isn't worth other chunks."""
        return self.over < other.over or (self.over == other.over and self.seconds < 0.9 * other.seconds)


def _count_runs(roots: list[Expr]) -> int:
    """Return in how many runs of elements the chunks of all sources lie."""
    grids = [node.grid for node in walk(roots) if isinstance(node.op, Source | Host) and node.grid.ndim]
    return sum(grid.size // max(1, grid.axes[-1].largest) for grid in grids)


def _seconds(stage: StageCost, workers: int) -> float:
    through = stage.bytes_read + stage.bytes_moved + stage.bytes_held
    work = through / RATE + stage.blocks * BLOCK + stage.tasks * TASK
    turns = -(-max(1, stage.tasks) // workers)
    return work * turns / max(1, stage.tasks)
