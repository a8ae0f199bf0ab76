"""Choosing chunks for a whole computation: sources that nobody chose chunks for are tried in others, on paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.errors import OutOfMemory
from ...graph.expr.expr import walk
from ...scheduler.session.cluster import session
from ...scheduler.session.html import size_text
from ...scheduler.session.resources import read_bytes, read_ranks
from ..base import wrap
from ..display.explain import explain
from ..execution.holders import held_arrays, map_held
from .search import Choice, PlanLimits, choose, find_places
from .suggesting import describe_cut, suggest

if TYPE_CHECKING:
    from ...graph.expr.expr import Expr
    from ..display.explain import Explanation

__all__ = [
    "plan",
]


def plan(*arrays: Any, memory: int | str | None = None, ranks: int | str | None = None) -> Any:
    """Return the same arrays over sources in chunks that suit what is done with them; nothing runs.

    Chunks are chosen for all sources together whose chunks are those of "auto"; of what is stored in chunks, in
    multiples of these. Sources with chunks of your own, and `rechunk`, stay as they are. The chunks of results follow.
    So do those that `map_overlap` gives to a function, where it trims margins, along axes of several chunks; those of
    `map_blocks` stay.

    Parameters
    ----------
    *arrays : Array, or what holds some
        What is to be computed together, as `compute` takes it; datasets of xarray's too.
    memory : int or str, optional
        Bytes that each rank may take for it, such as "2 GiB"; None: no more than usual is looked for.
    ranks : int or "auto", optional
        How many ranks it is planned for, as `Cluster` takes them; None: those of the present cluster.

    Returns
    -------
    Array or object
        What was given, over other chunks; a tuple for several.

    Raises
    ------
    ArgumentError
        An argument neither is a Windrow array nor holds one; `memory` or `ranks` can't be read.
    OutOfMemory
        No chunks that were tried let it run in `memory`; it says which were best, and how much they need. Arrays of
        unknown length stay as they are, and take more.

    Notes
    -----
    "auto" alone depends on shape and dtype, so that a value doesn't depend on ranks or memory. Here it does, as far as
    chunks decide about the order of floating-point sums: another cluster's plan may have other digits.

    >>> x = wr.random.default_rng(1).random((4000, 4000))
    >>> planned = wr.plan(wr.fft.fft(x, axis=1).real.sum(), memory="1 GiB", ranks=2)
    >>> planned.shape
    ()
    """
    lazy = held_arrays("plan", arrays)
    most = None if memory is None else read_bytes("plan", "memory", memory)
    need = PlanLimits(most, session().ranks if ranks is None else read_ranks("plan", ranks)[0])
    sized = [a for a in lazy if a._unsized is None]
    chosen = iter(map(wrap, _solve([a.expr for a in sized], need) if sized else ()))
    planned = map_held(arrays, lambda a: a if a._unsized is not None else next(chosen))
    if most is not None and len(sized) < len(lazy):
        _check_whole(explain(*held_arrays("plan", planned)), most)
    return planned[0] if len(arrays) == 1 else planned


def _solve(roots: list[Expr], need: PlanLimits) -> list[Expr]:
    """Return expressions over the sources' chunks that cost least."""
    first = Choice.of(roots, {}, need)
    if need.memory is not None and first.explained.held_bytes > need.memory:
        raise OutOfMemory(_refusal(roots, first, need.memory))
    best = choose(first, find_places(list(walk(roots)), _free_axes), need)
    if best.over and need.memory is not None:
        raise OutOfMemory(_refusal(roots, best, need.memory))
    return best.roots


def _check_whole(explained: Explanation, memory: int) -> None:
    """Refuse arrays of unknown length, whose chunks stay as they are, that take more than a limit."""
    if explained.fits and explained.peak_bytes <= memory:
        return
    takes = f"takes {size_text(explained.peak_bytes)} a rank" if explained.fits else "has no room in this cluster"
    raise OutOfMemory(
        f"plan: argument 'memory' is {size_text(memory)}, and what has an unknown length, whose chunks stay "
        f"as they are, {takes}; {_blame(explained, False)}{_enough(explained)}"
    )


def _enough(explained: Explanation) -> str:
    return f"; memory='{-(-explained.peak_bytes >> 20)} MiB' suffices" if explained.fits else ""


def _refusal(roots: list[Expr], best: Choice, memory: int) -> str:
    """Say what was tried, what takes most of it, and what would do: a limit, or other chunks."""
    explained, limit = best.explained, f"plan: argument 'memory' is {size_text(memory)}"
    peak, held, largest = explained.peak_bytes, explained.held_bytes, max(roots, key=lambda root: root.nbytes)
    enough = _enough(explained)
    if held > memory:
        where = f" at {largest.origin.short}" if largest.origin.file else ""
        alone = f"{largest.label}{where}: the results alone take {size_text(held)}"
        return f"{limit}, and {alone}: write them to a file (to_zarr, save), or reduce them{enough}"
    takes = f"takes {size_text(peak)} a rank" if explained.fits else "has no room in this cluster"
    other = suggest(roots, memory)
    fits = f"; what fits: {other.text}" if other else ""
    blame = _blame(explained, bool(best.grids))
    return f"{limit}, and the best that was tried, {_describe_chunks(roots, best)}, {takes}; {blame}{enough}{fits}"


def _describe_chunks(roots: list[Expr], best: Choice) -> str:
    """Name the chunks of the choice: those of the largest array that may be cut otherwise."""
    places = [p for p in find_places(list(walk(roots)), _free_axes) if p.largest.token in best.grids]
    return describe_cut(places[0], best)[0] if places else "the chunks that there are (others for chunks='auto' alone)"


def _free_axes(node: Expr) -> tuple[int, ...]:
    """Return the axes of a node along which nobody gave its chunks."""
    return tuple([i for i, axis in enumerate(node.grid.axes) if axis.is_free and axis.length > 1])


def _blame(explained: Explanation, chosen: bool) -> str:
    """Say which operation takes most, why, and what helps; `chosen`: that its chunks are those that are best."""
    stage, left = explained.peak_stage, explained.peak_bytes - explained.held_bytes
    if stage is None:
        return f"the results take {size_text(explained.held_bytes)} of it"
    name = stage.name + (f" at {stage.origin.rpartition('/')[2]}" if stage.origin else "")
    if stage.planned:
        return f"{name}: it is planned when it runs, and counts as twice what it reads and makes"
    tasks = stage.work_bytes * min(session().threads, stage.tasks)
    if tasks > left // 2:
        helps = "" if chosen else ": smaller chunks of its input take less"
        return f"{name}: its tasks take {size_text(tasks)} at once{helps}"
    return f"{name}: chunks that wait to be read take {size_text(left - tasks)}"
