"""Drawing what arrays are made from: operations, stages, or chunk tasks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...graph.errors import ArgumentError, MissingFile, bad
from ...scheduler.session.html import rank_colour, size_text
from ..execution.holders import held_arrays
from .chunk_graphs import LEVELS, make_task_graph
from .operation_graph import operations
from .picture import Picture, panel, png, stack, svg
from .planned import plan_stages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...graph.expr.expr import Expr
    from ...graph.lowering.stage import Stage
    from ..array import Array
    from ..base import ArrayBase
    from ..typing import PathLike

__all__ = [
    "visualize",
]

BLUE, ORANGE, GREY = "#dce9f5", "#f5e6cf", "#ececec"
"""Of operations, of what is to run, and of what is yours or planned when it runs; what is there has its rank's."""


def draw_operations(*arrays: ArrayBase) -> Picture:
    """Draw the operations behind arrays."""
    nodes = operations(*arrays)
    texts = {n.token: _operation(n) for n in nodes}
    inputs = {n.token: [c.token for c in n.operands] for n in nodes}
    return panel("operations", texts, inputs, dict.fromkeys(texts, BLUE))


def draw_stages(*arrays: ArrayBase) -> Picture:
    """Draw the stages that would run."""
    stages, later = plan_stages(arrays)
    planned_later = {n.token for n in later}
    texts = {s.token: _stage(s, s.token in planned_later) for s in stages}
    inputs = {s.token: list(s.inputs) for s in stages}
    grey = planned_later | {s.token for s in stages if s.data is not None}
    return panel("stages", texts, inputs, {name: GREY if name in grey else ORANGE for name in texts})


def draw_tasks(*arrays: ArrayBase, limit: int) -> Picture:
    """Draw the chunk tasks: where their chunks are, or what they wait for."""
    tasks: Any = make_task_graph("visualize", arrays, limit)
    names = {task: f"{token} {number}" for task in tasks for token, number in [task]}
    texts = {names[task]: _task(about) for task, about in tasks.nodes(data=True)}
    inputs = {names[task]: [names[each] for each in tasks.predecessors(task)] for task in tasks}
    return panel("tasks", texts, inputs, {names[t]: _colour(about) for t, about in tasks.nodes(data=True)})


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


def _task(about: Mapping[str, Any]) -> tuple[str, ...]:
    state = "the user's array" if about["place"] == "user" else about["state"]
    rank = "" if about["owner"] is None or about["place"] == "user" else f" on rank {about['owner']}"
    return about["label"], f"{state}{rank}, {size_text(about['bytes'])}"


def _colour(about: Mapping[str, Any]) -> str:
    return {"user": GREY, None: ORANGE}.get(about["place"]) or rank_colour(about["owner"])


def _short(shape: tuple[int, ...]) -> str:
    return "×".join(f"{n}" for n in shape) or "scalar"


def visualize(*arrays: Any, filename: PathLike | None = None, level: str | None = None, limit: int = 500) -> Any:
    """Draw what arrays are made from: operations and the stages that would run, or chunk tasks; nothing runs.

    Parameters
    ----------
    *arrays : Array, or what holds some
        The arrays; the last argument may be the path instead of `filename`.
    filename : str or os.PathLike, optional
        A path ending in .svg, or .png, for which matplotlib is needed. None: nothing is written.
    level : {"operations", "stages", "tasks"}, optional
        What is drawn; None: the operations, and the stages below.
    limit : int
        How many tasks may be drawn.

    Returns
    -------
    str or Picture
        The path; without one a picture that a notebook shows.

    Raises
    ------
    ArgumentError
        An argument neither is nor holds a Windrow array, there is none, there is no such level, there are more tasks
        than `limit`, the path has another ending, or matplotlib is missing for .png.
    MissingFile
        There is no folder to write the file in.
    OSError
        The file can't be written.

    See Also
    --------
    operation_graph, stage_graph, task_graph : The same as graphs of networkx.

    >>> import tempfile, os
    >>> import windrow as wr
    >>> wr.visualize(wr.ones(3) + 1)
    <picture of 3 boxes; visualize('graph.svg') writes it to a file>
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = wr.visualize(wr.ones(3) + 1, os.path.join(folder, "graph.svg"))
    ...     os.path.getsize(path) > 500
    True
    """
    if filename is None and arrays and isinstance(arrays[-1], str | os.PathLike):
        arrays, filename = arrays[:-1], arrays[-1]
    lazy = held_arrays("visualize", arrays)
    path = None if filename is None else os.fspath(filename)
    if path is not None and not path.lower().endswith((".svg", ".png")):
        raise ArgumentError(bad("visualize", "filename", path, "a name ending in .svg or .png"))
    folder = "" if path is None else os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise MissingFile(f"visualize: argument 'filename' is {path!r}; there is no folder {folder!r} to write it in")
    drawn = _draw(lazy, level, limit)
    if path is None:
        return drawn
    if path.lower().endswith(".png"):
        png(drawn, path)
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(svg(drawn))
    return path


def _draw(arrays: list[Array], level: str | None, limit: int) -> Picture:
    if level is not None and (not isinstance(level, str) or level not in LEVELS):
        raise ArgumentError(bad("visualize", "level", level, f"None, {', '.join(map(repr, LEVELS))}"))
    if level == "tasks":
        return stack([draw_tasks(*arrays, limit=limit)])
    panels = {"operations": draw_operations, "stages": draw_stages}
    return stack([draw(*arrays) for name, draw in panels.items() if level in (None, name)])
