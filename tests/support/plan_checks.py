"""Checks of plans: what each pass must keep, and what lowering promises to the ledger.

The tests call them after each pass and for each plan. An error here is an error in a pass.
"""

from __future__ import annotations

import math
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from windrow.graph.chunks.block_reads import ByBlock
from windrow.graph.expr.expr import walk
from windrow.graph.kinds.gang import Filled
from windrow.graph.kinds.mapping import BlockFunction
from windrow.graph.kinds.move import Move
from windrow.graph.lowering.program import Apply, Call, Fused, Load, Product
from windrow.graph.passes.merge_reductions import field_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from windrow.graph.chunks.grid import Grid
    from windrow.graph.expr.expr import DType, Expr
    from windrow.graph.kinds.reduction import Level
    from windrow.graph.lowering.program import Program, Value
    from windrow.graph.lowering.stage import Stage


class PlanError(AssertionError):
    """Base of what a plan may have wrong."""


class RepeatedStage(PlanError):
    """What one stage makes is made by another, or is stored already."""


class UnwrittenRead(PlanError):
    """A stage reads what no stage makes and nobody stores, or a value of its program that isn't there by then."""


class UnreadInput(PlanError):
    """A stage waits for an input of which its program reads nothing."""


class UnorderedPlan(PlanError):
    """A stage comes before one that it reads."""


class CyclicPlan(PlanError):
    """A stage, or an expression, waits for itself."""


class GridMismatch(PlanError):
    """A reader has another grid in mind than the one that is written."""


class DTypeMismatch(PlanError):
    """A reader takes elements of another dtype than the one that is written."""


class UnmadeRoot(PlanError):
    """What was asked for is made by no stage, and isn't stored."""


class ChangedMeaning(PlanError):
    """A token names two expressions, or a pass returned something else than it was given."""


def verify(stages: Sequence[Stage], stored: Callable[[str], bool], roots: Iterable[Expr]) -> None:
    """Check the stages of a plan for some roots; `stored` tells by its token whether something has chunks already.

    A PlanError says what is wrong: two stages make the same; nobody makes what is read or asked for, or makes it later;
    grids or dtypes don't agree.
    """
    writers: dict[str, Stage] = {}
    for stage in stages:
        if stage.token in writers or stored(stage.token):
            raise RepeatedStage(
                f"{_named(stage)} makes what is {'made' if stage.token in writers else 'stored'} already"
            )
        writers[stage.token] = stage
    _verify_order(stages, writers)
    for stage in stages:
        for token, grid in zip(stage.inputs, stage.input_grids, strict=True):
            writer = writers.get(token)
            if writer is None and not stored(token):
                raise UnwrittenRead(f"{_named(stage)} reads {token}, which no stage makes")
            if writer is not None and writer.grid != grid:
                raise GridMismatch(f"{_named(stage)} reads {grid}, {_named(writer)} makes {writer.grid}")
        if _is_outline(stage):
            continue
        _verify_result(stage)
        dtypes = [writers[token].dtype if token in writers else None for token in stage.inputs]
        read = _verify_program(stage, stage.program, stage.domain, dtypes)
        unread = set(range(len(stage.inputs))).difference(read)
        if unread:
            raise UnreadInput(f"{_named(stage)} reads nothing of its inputs {sorted(unread)}")
    for root in roots:
        _verify_root(root, writers.get(root.token), stored)


def verify_pass(before: Sequence[Expr], after: Sequence[Expr], stored: Callable[[str], bool]) -> None:
    """Check what a pass made of some roots: the same results, of a graph without cycles in which tokens name one thing.

    What is `stored` isn't looked into. What is wrong is a PlanError.
    """
    if [_meaning(root) for root in before] != [_meaning(root) for root in after]:
        raise ChangedMeaning(
            f"of {[_meaning(root) for root in before]} a pass made {[_meaning(root) for root in after]}"
        )
    nodes: dict[str, Expr] = {}
    reads: dict[str, list[str]] = {}
    for node in walk(list(after), lambda node: stored(node.token)):
        nodes[node.token] = node
        reads[node.token] = [] if stored(node.token) else [child.token for child in node.operands]
    for node in nodes.values():
        for child in () if stored(node.token) else node.operands:
            if _meaning(child) != _meaning(nodes[child.token]):
                raise ChangedMeaning(f"{child.token} is {_meaning(child)} and {_meaning(nodes[child.token])}")
    _verify_acyclic(reads, {token: node.label for token, node in nodes.items()})


def _meaning(node: Expr) -> tuple[str, Grid, object]:
    return node.token, node.grid, node.dtype


def _named(stage: Stage) -> str:
    return f"stage {stage.name!r} ({stage.token})"


def _verify_order(stages: Sequence[Stage], writers: dict[str, Stage]) -> None:
    seen: set[str] = set()
    for stage in stages:
        late = [token for token in stage.inputs if token in writers and token not in seen]
        if late:
            _verify_acyclic({s.token: s.inputs for s in stages}, {s.token: s.name for s in stages})
            raise UnorderedPlan(f"{_named(stage)} comes before {_named(writers[late[0]])}, which it reads")
        seen.add(stage.token)


def _verify_acyclic(reads: Mapping[str, Iterable[str]], names: Mapping[str, str]) -> None:
    try:
        TopologicalSorter(reads).prepare()
    except CycleError as error:
        cycle = " -> ".join(names.get(token, token) for token in error.args[1])
        raise CyclicPlan(f"each is read by the next: {cycle}") from None


def _verify_root(root: Expr, writer: Stage | None, stored: Callable[[str], bool]) -> None:
    """Check that what was asked for is made as such, or stored."""
    if writer is None:
        if not stored(root.token):
            raise UnmadeRoot(f"{root.label!r} ({root.token}) was asked for, which no stage makes")
        return
    if writer.grid != root.grid:
        raise GridMismatch(f"{root.label!r} has {root.grid}, {_named(writer)} makes {writer.grid}")
    if writer.dtype != root.dtype:
        raise DTypeMismatch(f"{root.label!r} has dtype {root.dtype}, {_named(writer)} makes {writer.dtype}")


def _is_outline(stage: Stage) -> bool:
    """Tell whether a stage stands for an operation whose plan depends on values: it never runs, and reads anything."""
    calls = (value.op for value in stage.program.values if isinstance(value, Call))
    return any(isinstance(op, BlockFunction) and op.function.startswith("planned:") for op in calls)


def _verify_result(stage: Stage) -> None:
    """Check that a stage makes as many blocks as its grid has, each a group of the domain's or one, of its dtype."""
    if stage.program.level is None and stage.domain != stage.grid:
        raise GridMismatch(f"{_named(stage)} runs over {stage.domain}, and makes {stage.grid}")
    if math.prod(stage.group_counts) != stage.grid.nblocks:
        raise GridMismatch(f"{_named(stage)} makes {stage.group_counts} groups, and {stage.grid.nblocks} blocks")

    dtype = stage.program.result.dtype
    if stage.program.level is not None:
        dtype = _verify_level(stage, stage.program.level, dtype)
    if dtype != stage.dtype:
        raise DTypeMismatch(f"{_named(stage)} has dtype {stage.dtype}, its program makes {dtype}")


def _verify_level(stage: Stage, level: Level, reduced: DType) -> DType:
    """Check what a level reduces; return the dtype that it makes."""
    if level.field is not None:
        reduced = reduced[field_name(level.field)]
    expected = level.source if level.leaf else level.partial
    if reduced != expected:
        raise DTypeMismatch(f"{_named(stage)} reduces {reduced}; expected {expected}")
    return level.target if level.final else level.partial


def _verify_program(stage: Stage, program: Program, domain: Grid, dtypes: Sequence[DType | None]) -> Iterator[int]:
    """Check the values of a program; yield the inputs that it reads."""
    for number, value in enumerate(program.values):
        late = [at for at in _operands(value) if not 0 <= at < number]
        if late:
            raise UnwrittenRead(f"{_named(stage)}: value {number} reads value {late[0]}, which isn't there by then")
        if isinstance(value, Load):
            _verify_load(stage, value, domain)
        for at in _inputs(value):
            if not 0 <= at < len(stage.inputs):
                raise UnwrittenRead(f"{_named(stage)}: value {number} reads input {at} of {len(stage.inputs)}")
            if isinstance(value, Load):
                _verify_dtype(stage, value, at, dtypes[at])
            yield at
        for operand in value.fused if isinstance(value, Product) else ():
            yield from _verify_program(stage, operand.program, operand.grid, dtypes)


def _operands(value: Value) -> list[int]:
    """Return the values of its program that a value is made from."""
    if isinstance(value, Apply | Call):
        return [at for at in value.args if isinstance(at, int)]
    return []


def _inputs(value: Value) -> list[int]:
    """Return the stage's inputs that a value reads by itself."""
    if isinstance(value, Load):
        return list(value.inputs)
    if isinstance(value, Product):
        return [operand for operand in value.operands if not isinstance(operand, Fused)]
    return []


def _verify_load(stage: Stage, load: Load, domain: Grid) -> None:
    """Check that blocks are where an access looks for them: along each axis one for each of the domain's, or one."""
    grids = [stage.input_grids[at] for at in load.inputs if 0 <= at < len(stage.inputs)]
    if isinstance(load.access, ByBlock):
        _verify_axes(stage, grids, load.access.axes, domain)
    elif load.frame is not None:
        _verify_axes(stage, [load.frame], load.axes, domain)
    if isinstance(load.access, Move):
        routes = [len(route.axes) for route in load.access.routes]
        if routes != [grid.ndim for grid in grids]:
            raise GridMismatch(f"{_named(stage)} moves arrays of {routes} axes, and reads {grids}")


def _verify_dtype(stage: Stage, load: Load, at: int, written: DType | None) -> None:
    """Check that an input, if it is known which dtype it has, is read as such; what a gang fills is made of bytes."""
    if written is not None and written != load.dtype and not isinstance(load.access, Filled):
        raise DTypeMismatch(f"{_named(stage)} reads input {at} as {load.dtype}; {written} is written")


def _verify_axes(stage: Stage, grids: Iterable[Grid], axes: tuple[int | None, ...], domain: Grid) -> None:
    for grid in grids:
        wanted = [1 if axis is None else domain.counts[axis] for axis in axes]
        if len(axes) != grid.ndim or any(n not in (1, m) for n, m in zip(grid.counts, wanted, strict=True)):
            raise GridMismatch(f"{_named(stage)} runs over {domain}, and reads {grid} along its axes {axes}")
