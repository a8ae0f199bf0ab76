"""What a computation would do, before it runs."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from ...graph.errors import OutOfMemory
from ...graph.expr.expr import walk
from ...graph.lowering.program import Load, Product
from ...scheduler.admission.bound import Room, find_bound
from ...scheduler.admission.refusal import check_room, rank_limit
from ...scheduler.ledger.lineage import find_seconds
from ...scheduler.session.cluster import session
from ...scheduler.session.html import size_text
from ...workers.kernels.compiled.fused.explanations import tell_interpreted
from ...workers.lock_hint import MANY
from ..execution.deferred import sketch_plan
from ..execution.holders import held_arrays
from .directed import find_longest_path
from .html import explanation_html
from .planned import count_bytes_read, plan_stages

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.expr.expr import Expr
    from ...graph.lowering.stage import Stage

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
    task_bytes : int
        What one task reads and makes.
    bytes_made : int
        Of what its functions make on the way, block by block or in tiles; a product counts a 64th of its terms.
    work_bytes : int
        The most that one task takes while it runs: the chunks it makes, what it reads into memory of its own, and what
        its kernels need besides.
    task_seconds : float, optional
        What one task took when the stage last ran on this cluster; None: it didn't.
    token : str
        The stage's name in `windrow.stage_graph`.
    inputs : tuple of str
        Tokens of the stages that it reads.
    interpreted : str
        The functions and reductions that NumPy's own loops compute, tile by tile, and why; "" where none does.
    """

    name: str
    origin: str
    tasks: int
    blocks: int
    bytes_read: int
    bytes_moved: int
    bytes_held: int
    planned: bool = False
    task_bytes: int = 0
    task_seconds: float | None = None
    token: str = ""
    inputs: tuple[str, ...] = ()
    work_bytes: int = 0
    bytes_made: int = 0
    _stage: Stage | None = field(default=None, repr=False, compare=False)

    @cached_property
    def interpreted(self) -> str:
        """What NumPy's loops compute: looked up when it is asked for, as programs are written out for it."""
        return "" if self.planned or self._stage is None else tell_interpreted(self._stage)

    @property
    def short(self) -> str:
        """Its name, cut where it is long."""
        return self.name if len(self.name) <= 48 else self.name[:45] + "..."


class CriticalPath(NamedTuple):
    """A chain of stages, each of which reads what the one before made.

    Attributes
    ----------
    stages : tuple of StageCost
    bytes : int
        What one task of each reads and makes.
    seconds : float or None
        What one task of each took when they last ran; None where one of them didn't.
    """

    stages: tuple[StageCost, ...]
    bytes: int
    seconds: float | None


class Suggestion(NamedTuple):
    """Other chunks, with which a computation has room.

    Attributes
    ----------
    text : str
        What to change, and where.
    chunks : tuple of int or tuple
        The chunks along each axis; -1: one.
    """

    text: str
    chunks: tuple[Any, ...]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Explanation:
    """The stages of a computation; print it for a table. Totals are attributes.

    Attributes
    ----------
    stages : tuple of StageCost
        In order; what is stored already has none.
    notes : tuple of str
        Operations that are planned when they run, those that make chunks much larger than they are given, those whose
        chunks have no room in the ranks' memory, and why computing is refused, where it is.
    peak_bytes : int
        The most memory that one rank's process and arena take above what they have before, if the arrays are computed.
        Code that is loaded or compiled on the way isn't counted. An operation that is planned when it runs counts as
        if all it reads and makes were held twice.
    held_bytes : int
        What stays of that: the results.
    peak_stage : StageCost or None
        The stage that causes most of it; None where nothing is computed.
    fits : bool
        Whether each task has room: its chunks in the arena, what it takes at work in the memory that there is. Else
        computing it is refused, or spills and may end.
    """

    stages: tuple[StageCost, ...]
    notes: tuple[str, ...] = ()
    peak_bytes: int = 0
    held_bytes: int = 0
    peak_stage: StageCost | None = None
    fits: bool = True
    _arrays: tuple[Any, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def suggestion(self) -> Suggestion | None:
        """Chunks with which it has room, where it has none: a task doesn't fit, or more is taken than there is.

        None are known for an array of unknown length, of which a note says so.
        """
        plans = [sketch_plan(array) for array in self._arrays]
        limit = rank_limit(len(session().arenas))
        if not plans or (self.fits and self.peak_bytes <= limit):
            return None
        suggestion: Suggestion | None = import_module("..planning.suggesting", __package__).suggest(plans, limit)
        return suggestion

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

    @cached_property
    def critical_path(self) -> CriticalPath:
        """The chain whose tasks, one of each stage, read and make most bytes: it isn't shorter on more ranks."""
        return self._longest(lambda s: s.task_bytes)

    @cached_property
    def measured_path(self) -> CriticalPath | None:
        """The chain whose tasks took longest when all of these stages last ran on this cluster; None: they didn't."""
        known = self.stages and all(s.task_seconds is not None for s in self.stages)
        return self._longest(lambda s: s.task_seconds or 0.0) if known else None

    def _longest(self, weigh: Callable[[StageCost], float]) -> CriticalPath:
        by_token = {s.token: s for s in self.stages}
        names = find_longest_path(
            {t: weigh(s) for t, s in by_token.items()}, {t: s.inputs for t, s in by_token.items()}
        )
        path = tuple(by_token[name] for name in names)
        seconds = [s.task_seconds for s in path if s.task_seconds is not None]
        return CriticalPath(path, sum(s.task_bytes for s in path), sum(seconds) if len(seconds) == len(path) else None)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What stands below the table: the memory it takes, critical paths, what isn't compiled, and the notes."""
        most, slowest = self.critical_path, self.measured_path
        apart = slowest is not None and slowest.stages != most.stages
        paths = (
            {"critical path by bytes": most, "critical path by seconds": slowest} if apart else {"critical path": most}
        )
        lines = []
        for name, path in paths.items():
            if path is not None and len(path.stages) > 1:
                names = " → ".join(s.short for s in path.stages)
                took = "" if path.seconds is None else f", {path.seconds:.3g} s when they last ran"
                lines.append(f"{name}: {names}; one task of each: {size_text(path.bytes)}{took}")
        uncompiled = Counter(f"{s.short}: NumPy's loops for {s.interpreted}" for s in self.stages if s.interpreted)
        lines += [line if n == 1 else f"{line} (in {n} stages)" for line, n in uncompiled.items()]
        return (self._peak, *lines, *self.notes)

    @property
    def _peak(self) -> str:
        by = "" if self.peak_stage is None else f", most by {self.peak_stage.short}"
        task = "" if self.peak_stage is None else f", {size_text(self.peak_stage.work_bytes)} a task"
        return f"memory: at most {size_text(self.peak_bytes)} a rank{by}{task}; {size_text(self.held_bytes)} stay"

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table: its head, a row for each stage, the totals."""
        head = ("stage", "tasks", "blocks", "read", "moved", "held", "from")
        rows: list[tuple[str, ...]] = [head]
        for s in self.stages:
            sizes = (size_text(n) for n in (s.bytes_read, s.bytes_moved, s.bytes_held))
            tasks, read, moved, held = (f"{s.tasks:,}", *sizes) if not s.planned else ("?", "?", "?", list(sizes)[2])
            rows.append((s.short, tasks, f"{s.blocks:,}", read, moved, held, s.origin.rpartition("/")[2]))
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
        return "\n".join([*lines, *self.remarks])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return explanation_html(self)


def explain(*arrays: Any) -> Explanation:
    """Return what computing arrays would do: stages, tasks, bytes and the critical path; nothing runs.

    Parameters
    ----------
    *arrays : Array, or what holds some
        The arrays that would be computed together, as `compute` takes them.

    Returns
    -------
    Explanation
        Its stages, critical path and notes; printed, a table. A notebook shows it as HTML.

    Raises
    ------
    ArgumentError
        An argument neither is a Windrow array nor holds one.

    >>> x = wr.ones((1000, 1000), chunks=500)
    >>> plan = wr.explain((x + 1).sum())
    >>> [stage.name for stage in plan.stages]
    ['ones+add+sum (partial)', 'sum']
    >>> [stage.name for stage in plan.critical_path.stages]
    ['ones+add+sum (partial)', 'sum']
    """
    lazy = held_arrays("explain", arrays)
    stages, waiting = plan_stages(lazy)
    notes = [f"{node.label}: planned when it runs, from values found then" for node in waiting]
    notes += [note for node in walk([sketch_plan(a) for a in lazy]) if (note := _describe_widening(node))]
    arenas = list(session().arenas)
    handed = {sketch_plan(a).token for a in lazy} if len(arenas) == 1 else set()
    hosts = {s.token for s in stages if s.data is not None}
    crowded = [note for s in stages if s.token not in hosts | handed and (note := _describe_crowding(s, arenas))]
    notes += crowded
    notes += [note for s in stages if (note := _describe_source(s))] if len(arenas) > 1 else []
    notes += [_describe_lock(s) for s in stages if s.foreign] if len(arenas) == 1 and session().threads > MANY else []
    later = {node.token for node in waiting}
    mine = [s for s in stages if s.data is None]
    took = session().ask(partial(find_seconds, tokens=[s.token for s in mine]))
    plans = [sketch_plan(a) for a in lazy]
    refused = _find_refusal(stages, plans, arenas)
    if refused and not crowded:
        notes.append(refused)
    results = {plan.token: plan.nbytes for plan in plans}
    bound = find_bound(stages, results, Room(tuple(arenas), (session().threads,) * len(arenas)), later)
    busiest = max(mine, key=lambda s: bound.work.get(s.token, 0), default=None)
    one, limit = max(bound.work.values(), default=0), rank_limit(len(arenas))
    if busiest is not None and one > limit and not refused:
        notes.append(f"{busiest.name}: a task takes up to {size_text(one)}, and there are {size_text(limit)} of memory")
    costs = [_cost(s, hosts, s.token in later, took.get(s.token), bound.work.get(s.token, 0)) for s in mine]
    cause = next((cost for cost in costs if cost.token == bound.stage), None)
    fits = not refused and one <= limit
    if not fits or bound.peak > limit:
        notes += [_describe_unsized(plan) for a, plan in zip(lazy, plans, strict=True) if a._unsized is not None]
    unique_notes = tuple(dict.fromkeys(notes))
    return Explanation(tuple(costs), unique_notes, bound.peak, bound.held, cause, fits, tuple(lazy))


def _find_refusal(stages: list[Stage], plans: list[Expr], arenas: list[int]) -> str:
    """Return why computing would be refused; "" where it isn't."""
    handed = {plan.token for plan in plans} if len(arenas) == 1 else set()
    try:
        check_room(stages, handed, sum(plan.nbytes for plan in plans), arenas)
    except OutOfMemory as error:
        return str(error)
    return ""


def _describe_unsized(plan: Expr) -> str:
    """Say why no other chunks are suggested for what has an unknown length."""
    where = f" at {plan.origin.short}" if plan.origin.file else ""
    return (
        f"{plan.label}{where}: no other chunks are suggested, since its length is found when it runs; give what it is "
        "made of smaller chunks"
    )


def _describe_crowding(stage: Stage, arenas: list[int]) -> str:
    """Say where what a stage makes has no room; what a lone rank hands to the user lies in no arena."""
    where = f" at {stage.origin.rpartition('/')[2]}" if stage.origin else ""
    slab, held = int(stage.all_slab_bytes.max(initial=0)), stage.grid.size * stage.dtype.itemsize
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


def _describe_lock(stage: Stage) -> str:
    """Say what keeps Python's lock from the other threads of a process."""
    where = f" at {stage.origin.rpartition('/')[2]}" if stage.origin else ""
    return (
        f"{stage.name}{where}: calls a function of yours, which holds Python's lock unless it is in compiled code; "
        "ranks have a lock each (python -m windrow -n auto)"
    )


def _describe_source(stage: Stage) -> str:
    """Say what the driver alone can read, so that all of it goes through one process."""
    data = stage.data
    if data is None or not data.slow or data.file is not None:
        return ""
    where = f" at {stage.origin.rpartition('/')[2]}" if stage.origin else ""
    kind = type(data.array).__name__
    return f"{stage.name}{where}: the driver reads it and sends it to the ranks, as a {kind} doesn't pickle"


PRODUCT = 64
"""So many terms of a product take as much work as an element of a function."""
WIDE = 4
"""An operation whose chunks are more than so many times the largest it is given gets a note."""


def _describe_widening(node: Expr) -> str:
    input_bytes = max((e.grid.largest * e.dtype.itemsize for e in node.operands), default=0)
    output_bytes = node.grid.largest * node.dtype.itemsize
    if not node.operands or output_bytes <= WIDE * input_bytes:
        return ""
    where = f" at {node.origin.short}" if node.origin.file else ""
    return f"{node.label}{where}: makes chunks of {size_text(output_bytes)} from chunks of {size_text(input_bytes)}"


def _cost(stage: Stage, hosts: set[str], planned: bool, seconds: float | None, work: int) -> StageCost:
    read = moved = total = 0
    for number, count, across in count_bytes_read(stage):
        total += count
        if stage.inputs[number] in hosts:
            read += count
        elif across:
            moved += count
    level = stage.program.level
    if level is not None and not level.leaf:
        moved += stage.domain.size * stage.program.result.dtype.itemsize
    held = stage.grid.size * stage.dtype.itemsize
    each = (total + held) // (stage.grid.nblocks if planned else stage.ntasks)
    counts = (0, stage.grid.nblocks, 0, 0, held) if planned else (stage.ntasks, stage.grid.nblocks, read, moved, held)
    names, bytes_made = (stage.token, stage.inputs), _count_bytes_made(stage)
    return StageCost(stage.name, stage.origin, *counts, planned, each, seconds, *names, work, bytes_made, stage)


def _count_bytes_made(stage: Stage) -> int:
    """Return the bytes of what functions make, a 64th of those of a product's terms: each of these takes less work."""
    total = 0
    for value in stage.program.values:
        times = 0 if isinstance(value, Load) else 1
        if isinstance(value, Product):
            left = stage.operand_grid(value.operands[0])
            times = math.prod(left.shape[value.op.left.index(label)] for label in value.op.summed) // PRODUCT
        total += times * stage.domain.size * value.dtype.itemsize
    return total
