"""What would run, and what has: the stages of a plan, and behind them those that stored chunks were made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...graph.chunks.block_reads import ByBlock, Rows
from ...graph.expr.expr import walk
from ...graph.lowering.lower import lower
from ...graph.lowering.program import Load, Product
from ...scheduler.ledger.lineage import Known, find_history
from ...scheduler.session.cluster import running
from ..execution.deferred import outline_plan, sketch_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...graph.chunks.grid import Grid
    from ...graph.expr.expr import Expr
    from ...graph.lowering.stage import Stage
    from ..base import ArrayBase


def plan_stages(arrays: Sequence[ArrayBase]) -> tuple[list[Stage], list[Expr]]:
    """Return the stages that are known before anything runs, and the operations that are planned when they run.

    A stage of an operation's token stands for what isn't known of it; no other operation is part of that.
    """
    roots, waiting = outline_plan([sketch_plan(a) for a in arrays])
    later = {node.token for node in waiting}
    wanted = [*roots, *(node for node in walk(roots) if node.token in later)]
    present = running()
    return lower(wanted, lambda token: False) if present is None else present.stages(wanted), waiting


@dataclass(frozen=True)
class PlannedStage:
    """A stage that would run, or one that the ledger knows: then its tasks are as the ledger had them a moment ago.

    `later` says that it stands for what is planned when it runs: it counts as one task, which reads all.
    """

    stage: Stage
    inputs: tuple[str, ...]
    known: Known | None = None
    later: bool = False

    @property
    def ntasks(self) -> int:
        """Number of tasks."""
        return 1 if self.later else self.stage.ntasks

    @property
    def blocks_per_task(self) -> int:
        """Blocks that a task covers; the last one may have fewer."""
        return self.stage.grid.nblocks if self.later else self.stage.blocks_per_task

    def blocks(self, task: int) -> range:
        """Return the blocks that a task covers."""
        return range(self.stage.grid.nblocks) if self.later else self.stage.blocks(task)

    def reads(self, others: Sequence[PlannedStage]) -> list[Rows]:
        """Return which tasks of each input, which are the others, each task reads."""
        if self.known is not None:
            return [rows for _, rows in self.known.reads]
        if self.later:
            return [Rows(np.array([0, other.ntasks]), np.arange(other.ntasks)) for other in others]
        return self.stage.all_reads([other.blocks_per_task for other in others])


def trace(arrays: Sequence[ArrayBase]) -> dict[str, PlannedStage]:
    """Return what arrays are made from, by token: what the ledger knows, and else what is planned. Nothing runs."""
    while (traced := _trace_now(arrays)) is None:  # chunks were released meanwhile: then they are planned
        pass
    return traced


def _trace_now(arrays: Sequence[ArrayBase]) -> dict[str, PlannedStage] | None:
    stages, waiting = plan_stages(arrays)
    planned, later = {stage.token: stage for stage in stages}, {node.token for node in waiting}
    tokens = [sketch_plan(a).token for a in arrays]
    present = running()
    named = {*tokens, *planned, *(token for stage in stages for token in stage.inputs)}
    known = present.ask(partial(find_history, tokens=named)) if present is not None else {}
    traced: dict[str, PlannedStage] = {}
    while tokens:
        token = tokens.pop()
        if token in traced:
            continue
        if token in known:
            inputs = tuple(each for each, _ in known[token].reads)
            traced[token] = PlannedStage(known[token].stage, inputs, known[token])
        elif token in planned:
            traced[token] = PlannedStage(planned[token], planned[token].inputs, None, token in later)
        else:
            return None
        tokens += traced[token].inputs
    return traced


def count_bytes_read(stage: Stage) -> list[tuple[int, int, bool]]:
    """Return (input, bytes, whether across the borders of chunks) for each value that a stage reads."""
    reads: list[tuple[int, int, bool]] = []
    for value in stage.program.values:
        if isinstance(value, Load):
            across = not isinstance(value.access, ByBlock)
            reads += [(number, count, across) for number, count in _bytes_by_input(stage, value)]
        elif isinstance(value, Product):
            reads += _bytes_of_operands(stage, value)
    return reads


def _bytes_of_operands(stage: Stage, value: Product) -> Iterable[tuple[int, int, bool]]:
    """Yield what a product reads: blocks of inputs, and what fused operands read, each of whose blocks is made once."""
    left, right = (stage.operand_grid(operand) for operand in value.operands)
    for operand, grid, rows in zip(
        value.operands,
        (left, right),
        value.op.rows(stage.domain, left, right, np.arange(stage.domain.nblocks)),
        strict=True,
    ):
        if isinstance(operand, int):
            often = np.bincount(rows.items, minlength=grid.nblocks)
            yield operand, int(often @ grid.block_sizes(np.arange(grid.nblocks))) * value.dtype.itemsize, True
    for fused in value.fused:
        yield from count_bytes_read(stage.fused(fused))


def _bytes_by_input(stage: Stage, value: Load) -> Iterable[tuple[int, int]]:
    """Return (input, bytes) for what a value reads of each input."""
    itemsize = value.dtype.itemsize
    grids = tuple(stage.input_grids[i] for i in value.inputs)
    if isinstance(value.access, ByBlock):
        return [(value.inputs[0], grids[0].size * itemsize)] if value.inputs else []
    frame: Grid = value.frame if value.frame is not None else stage.domain
    each = frame.size * itemsize
    total = sum(g.size for g in grids)
    return [
        (i, min(each, g.size * itemsize) if len(grids) == 1 else each * g.size // max(1, total))
        for i, g in zip(value.inputs, grids, strict=True)
    ]
