"""Arrays and explanations as notebooks show them: a picture of the chunks and what is known. Nothing is computed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from ...graph.errors import ArgumentError, ClusterError
from ...graph.expr.expr import walk
from ...graph.lowering.lower import lower
from ...scheduler.session.cluster import running
from ...scheduler.session.html import escape, size_text, table
from ...scheduler.session.pin import Pin
from ..execution.compute import owners
from ..execution.deferred import outline_plan
from .grid_picture import grid_svg, legend

if TYPE_CHECKING:
    import numpy as np

    from ..array import Array
    from ..base import ArrayBase
    from .explain import Explanation

NODES = 1000
"""The stages of larger graphs aren't counted."""


def array_html(x: Array) -> str:
    """Return a table of what is known of an array, and a picture of its chunks."""
    waiting = x._unsized
    shape = x.shape if waiting is None else waiting.shape  # `x.shape` may go and find it
    rows: list[tuple[str, str]] = [("shape", _tuple(shape)), ("dtype", str(x.dtype))]
    if None in shape:
        rows += [("size", "found when something needs it")]
        return _beside(table((), rows, left=(0, 1)), "")
    grid = x.expr.grid
    largest = grid.largest * x.dtype.itemsize
    chunk = _tuple(tuple(a.largest for a in grid.axes))
    rows.insert(0, ("bytes", size_text(x.nbytes)))
    rows += [("chunks", f"{grid.nblocks:,} of {chunk}, {size_text(largest)}"), ("made by", _describe_origin(x))]
    places = _find_places(x)
    return _beside(table((), rows, left=(0, 1)), grid_svg(grid, places) + ("" if places is None else legend(places)))


def _find_places(x: Array) -> np.ndarray[Any, Any] | None:
    """Return which rank has each chunk of an array that is persisted; None of one that isn't."""
    try:
        return owners(x)
    except (ArgumentError, ClusterError):
        return None


def explanation_html(plan: Explanation) -> str:
    """Return the stages of a computation as a table."""
    head, *rows = plan.rows()
    notes = "".join(f"<p>{escape(note)}</p>" for note in plan.remarks)
    return table(head, rows, left=(0, len(head) - 1)) + notes


def _tuple(shape: tuple[int | None, ...]) -> str:
    inner = ", ".join("?" if n is None else f"{n}" for n in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def _beside(left: str, right: str) -> str:
    style = "display:flex;gap:2em;align-items:flex-start"
    return f'<div style="{style}"><div>{left}</div><div>{right}</div></div>'


def _describe_origin(x: ArrayBase) -> str:
    """Tell the last operation, and what computing the array would take."""
    expr = x.expr
    if expr.pin is not None:
        if not isinstance(expr.pin, Pin) or expr.pin.complete:
            return f"{expr.label}, persisted"
        if expr.pin.held:
            return f"{expr.label}, persisting"
    count = sum(1 for _ in islice(walk([expr]), NODES + 1))
    if count > NODES:
        return f"{expr.label}, more than {NODES:,} operations"
    session = running()
    roots, waiting = outline_plan([expr])
    stored = session.is_stored if session is not None else lambda token: False
    stages = [s for s in lower(roots, stored) if s.data is None]
    tasks = sum(s.ntasks for s in stages)
    more = ", more when it runs" if waiting else ""
    return f"{expr.label}: {_count(len(stages), 'stage')}, {_count(tasks, 'task')}{more}"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
