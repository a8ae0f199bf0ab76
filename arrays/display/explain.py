"""What a computation would do, before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.access import ByBlock
from ...graph.errors import ArgumentError, bad
from ...graph.expr import walk
from ...graph.program import Load, Product
from ...scheduler.cluster import session
from ...scheduler.html import size_text
from ..base import ArrayBase
from ..execution.deferred import outline_plan, sketch_plan
from .html import explanation_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph.expr import Expr
    from ...graph.grid import Grid, Index
    from ...graph.stage import Stage

__all__ = [
    "explain",
]


@dataclass(frozen=True)
class StageCost:
    """One stage: what it does, in how many tasks, and the bytes that it reads, moves and holds.

    Attributes
    ----------
    name, origin : str
        Its operations, and the user's line of the last one.
    tasks, blocks : int
    bytes_read : int
        Read from the user's arrays and files.
    bytes_moved : int
        Read from chunks across their borders: moves, contractions, upper levels of reductions.
    bytes_held : int
        Of the stage's result.
    planned : bool
        Whether it is planned when it runs, from values found then: its tasks and what it reads aren't known.
    """

    name: str
    origin: str
    tasks: int
    blocks: int
    bytes_read: int
    bytes_moved: int
    bytes_held: int
    planned: bool = False


@dataclass(frozen=True)
class Explanation:
    """The stages of a computation; print it for a table. Totals are attributes.

    Attributes
    ----------
    stages : tuple of StageCost
        In order; what is stored already has none.
    notes : tuple of str
        Operations that are planned when they run, those that make chunks much larger than they are given, and those
        whose chunks have no room in the ranks' memory.
    """

    stages: tuple[StageCost, ...]
    notes: tuple[str, ...] = ()

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return sum(s.tasks for s in self.stages)

    @property
    def bytes_read(self) -> int:
        """Bytes read from the user's arrays and files."""
        return sum(s.bytes_read for s in self.stages)

    @property
    def bytes_moved(self) -> int:
        """Bytes read across the borders of chunks."""
        return sum(s.bytes_moved for s in self.stages)

    @property
    def bytes_held(self) -> int:
        """Bytes of all results; intermediate ones are freed as soon as they have been read."""
        return sum(s.bytes_held for s in self.stages)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table: its head, a row for each stage, the totals."""
        head = ("stage", "tasks", "blocks", "read", "moved", "held", "from")
        rows: list[tuple[str, ...]] = [head]
        for s in self.stages:
            sizes = (size_text(n) for n in (s.bytes_read, s.bytes_moved, s.bytes_held))
            name = s.name if len(s.name) <= 48 else s.name[:45] + "..."
            tasks, read, moved, held = (f"{s.tasks:,}", *sizes) if not s.planned else ("?", "?", "?", list(sizes)[2])
            rows.append((name, tasks, f"{s.blocks:,}", read, moved, held, s.origin.rpartition("/")[2]))
        totals = (size_text(n) for n in (self.bytes_read, self.bytes_moved, self.bytes_held))
        more = "+" if any(s.planned for s in self.stages) else ""
        rows.append(("total", f"{self.tasks:,}{more}", "", *totals, ""))
        return rows

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            cells = [
                c.ljust(w) if i in (0, 6) else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return explanation_html(self)


def explain(*arrays: Any) -> Explanation:
    """Return what computing arrays would do: stages, tasks and bytes; nothing runs.

    Parameters
    ----------
    *arrays : Array
        The arrays that would be computed together.

    Returns
    -------
    Explanation
        Its stages and notes; printed, a table. A notebook shows it as HTML.

    Raises
    ------
    ArgumentError
        An argument is not a Windrow array.

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.ones((1000, 1000), chunks=500)
    >>> plan = wr.explain((x + 1).sum())
    >>> [stage.name for stage in plan.stages]
    ['ones+add+sum (partial)', 'sum']
    """
    for array in arrays:
        if not isinstance(array, ArrayBase):
            raise ArgumentError(bad("explain", "arrays", array, "Windrow arrays"))
    stages, waiting = plan_stages(arrays)
    notes = [f"{node.label}: planned when it runs, from values found then" for node in waiting]
    notes += [note for node in walk([sketch_plan(a) for a in arrays]) if (note := _describe_widening(node))]
    arenas = [arena.size for arena in session().engine.ledger.arenas]
    handed = {sketch_plan(a).token for a in arrays} if len(arenas) == 1 else set()
    hosts = {s.token for s in stages if s.data is not None}
    notes += [note for s in stages if s.token not in hosts | handed and (note := _describe_crowding(s, arenas))]
    later = {node.token for node in waiting}
    made = [_cost(s, hosts, s.token in later) for s in stages if s.data is None]
    return Explanation(tuple(made), tuple(dict.fromkeys(notes)))


def plan_stages(arrays: Sequence[ArrayBase]) -> tuple[list[Stage], list[Expr]]:
    """Return the stages that are known before anything runs, and the operations that are planned when they run.

    A stage of an operation's token stands for what isn't known of it; no other operation is part of that.
    """
    roots, waiting = outline_plan([sketch_plan(a) for a in arrays])
    later = {node.token for node in waiting}
    return session().stages([*roots, *(node for node in walk(roots) if node.token in later)]), waiting


def _describe_crowding(stage: Stage, arenas: list[int]) -> str:
    """Say where what a stage makes has no room; what a lone rank hands to the user lies in no arena."""
    where = f" at {stage.origin.rpartition('/')[2]}" if stage.origin else ""
    slab, held = int(stage.slab_bytes(np.arange(stage.ntasks)).max(initial=0)), stage.grid.size * stage.dtype.itemsize
    if slab > min(arenas):
        return (
            f"{stage.name}{where}: a block takes {size_text(slab)}, and a rank's arena has {size_text(min(arenas))}: "
            "use smaller chunks, or give the cluster more memory"
        )
    if held > sum(arenas):
        return (
            f"{stage.name}{where}: makes {size_text(held)}, and all arenas have {size_text(sum(arenas))}: "
            "what isn't read soon goes to disk"
        )
    return ""


WIDE = 4
"""An operation whose chunks are more than so many times the largest it is given gets a note."""


def _describe_widening(node: Expr) -> str:
    given = max((e.grid.largest * e.dtype.itemsize for e in node.operands), default=0)
    made = node.grid.largest * node.dtype.itemsize
    if not node.operands or made <= WIDE * given:
        return ""
    where = f" at {node.origin.short}" if node.origin.file else ""
    return f"{node.label}{where}: makes chunks of {size_text(made)} from chunks of {size_text(given)}"


def _cost(stage: Stage, hosts: set[str], planned: bool) -> StageCost:
    read = moved = 0
    blocks = np.arange(stage.domain.nblocks)
    for value in stage.program.values:
        if isinstance(value, Load | Product):
            for number, count in _bytes_by_input(stage, value, blocks):
                if stage.inputs[number] in hosts:
                    read += count
                elif not isinstance(value, Load) or not isinstance(value.access, ByBlock):
                    moved += count
    level = stage.program.level
    if level is not None and not level.leaf:
        moved += stage.domain.size * stage.program.result.dtype.itemsize
    held = stage.grid.size * stage.dtype.itemsize
    if planned:
        return StageCost(stage.name, stage.origin, 0, stage.grid.nblocks, 0, 0, held, True)
    return StageCost(stage.name, stage.origin, stage.ntasks, stage.grid.nblocks, read, moved, held)


def _bytes_by_input(stage: Stage, value: Load | Product, blocks: Index) -> list[tuple[int, int]]:
    """Return (input, bytes) for what a value reads of each input."""
    itemsize = value.dtype.itemsize
    grids = tuple(stage.input_grids[i] for i in value.inputs)
    if isinstance(value, Product):
        rows = value.op.rows(stage.domain, grids[0], grids[1], blocks)
        pairs = zip(value.inputs, grids, rows, strict=True)
        return [(i, int(grid.block_sizes(r.items).sum()) * itemsize) for i, grid, r in pairs]
    if isinstance(value.access, ByBlock):
        return [(value.inputs[0], grids[0].size * itemsize)] if value.inputs else []
    frame: Grid = value.frame if value.frame is not None else stage.domain
    each = frame.size * itemsize
    total = sum(g.size for g in grids)
    return [
        (i, min(each, g.size * itemsize) if len(grids) == 1 else each * g.size // max(1, total))
        for i, g in zip(value.inputs, grids, strict=True)
    ]
