"""Stages cut up for the calling thread: products by themselves, and reshaped inputs under the shape that they get.

A stage fuses what one task does. Where all is at hand there are no tasks, and what is compiled shouldn't wait for what
isn't: arithmetic goes to kernels, and products to BLAS, over the same blocks as on ranks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...graph.chunks.block_reads import ByBlock
from ...graph.kinds.move import Move
from ...graph.kinds.reshape import Reshape, ReshapeBlocks
from ...graph.lowering.program import Fused, Load, Product, Program
from ...graph.lowering.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...graph.chunks.grid import Grid
    from ...graph.lowering.program import Operand, Value


def split(stage: Stage) -> Iterator[Stage]:
    """Yield the stages that together make what a stage of one block makes, the last one under its token."""
    yield from map(_in_one_block, _without_products(stage))


def is_renamed(stage: Stage) -> bool:
    """Whether a stage of one block is an input as it lies, perhaps under another shape."""
    value = stage.program.only
    return (
        isinstance(value, Load)
        and value.access == ByBlock(tuple(range(stage.grid.ndim)))
        and stage.input_grids[0].shape == stage.grid.shape
    )


def product_of(stage: Stage) -> Product | None:
    """Return the product that is all that a stage does, of blocks or of parts of blocks."""
    product = stage.program.only
    if not isinstance(product, Product) or product.op.split > 1:
        return None
    return product if all(map(_is_part, product.fused)) else None


def _is_part(operand: Fused) -> bool:
    """Whether an operand is moved and nothing else."""
    load = operand.program.values[0]
    moved = len(operand.program.values) == 1 and isinstance(load, Load) and isinstance(load.access, Move)
    return moved and load.access.fill is None and len(load.access.routes) == 1  # type: ignore[union-attr]


def _without_products(stage: Stage) -> Iterator[Stage]:
    """Yield products, operands that are computed, and what is computed of products."""
    values: list[Value] = []
    names: list[str] = []
    grids: list[Grid] = []
    last = len(stage.program.values) - 1
    for number, value in enumerate(stage.program.values):
        if isinstance(value, Product) and value.op.split == 1:
            operands: dict[Operand, Operand] = {}
            for k, operand in enumerate(value.fused):
                if not _is_part(operand):
                    token = f"{stage.token}:{number}:{k}"
                    yield _part(stage, token, operand.program, operand.grid, operand.grid)
                    operands[operand] = len(stage.inputs) + len(names)
                    names.append(token)
                    grids.append(operand.grid)
            left, right = (operands.get(operand, operand) for operand in value.operands)
            value = replace(value, operands=(left, right))
            if last or stage.program.level is not None:
                token = f"{stage.token}:{number}"
                yield _part(stage, token, Program((value,)), stage.domain, stage.domain, names, grids)
                value = Load(
                    ByBlock(tuple(range(stage.domain.ndim))), (len(stage.inputs) + len(names),), value.dtype, value.full
                )
                names.append(token)
                grids.append(stage.domain)
        values.append(value)
    if not names:
        yield stage
        return
    program = Program(tuple(values), stage.program.level)
    yield _part(stage, stage.token, program, stage.domain, stage.grid, names, grids)


def _part(
    stage: Stage,
    token: str,
    program: Program,
    domain: Grid,
    grid: Grid,
    names: Sequence[str] = (),
    grids: Sequence[Grid] = (),
) -> Stage:
    """Return a part of a stage, which has those inputs alone that it reads; more inputs than the stage's are named."""
    every, every_grid = (*stage.inputs, *names), (*stage.input_grids, *grids)
    used: dict[int, int] = {}
    program = _renumbered(program, used)
    dtype = stage.dtype if token == stage.token else program.result.dtype
    inputs, input_grids = tuple([every[k] for k in used]), tuple([every_grid[k] for k in used])
    return Stage(token, stage.name, stage.origin, domain, grid, dtype, inputs, input_grids, program)


def _renumbered(program: Program, used: dict[int, int]) -> Program:
    """Return a program with its inputs numbered as they are used; `used` is added to."""

    def number(k: int) -> int:
        return used.setdefault(k, len(used))

    values: list[Value] = []
    for value in program.values:
        if isinstance(value, Load):
            value = replace(value, inputs=tuple(map(number, value.inputs)))
        elif isinstance(value, Product):
            operands = {
                o: number(o) if isinstance(o, int) else replace(o, program=_renumbered(o.program, used))
                for o in value.operands
            }
            left, right = (operands[operand] for operand in value.operands)
            value = replace(value, operands=(left, right))
        values.append(value)
    return Program(tuple(values), program.level)


def _in_one_block(stage: Stage) -> Stage:
    """Return a stage that reads what is reshaped as it lies, under the shape that it gets: C order is all there is."""
    values: list[Value] = []
    inputs, grids = list(stage.inputs), list(stage.input_grids)
    for value in stage.program.values:
        if isinstance(value, Load) and isinstance(value.access, Reshape | ReshapeBlocks) and value.frame is not None:
            inputs.append(stage.inputs[value.inputs[0]])
            grids.append(value.frame)
            value = Load(ByBlock(value.axes), (len(inputs) - 1,), value.dtype, value.full)
        values.append(value)
    if len(inputs) == len(stage.inputs):
        return stage
    whole = replace(stage, inputs=tuple(inputs), input_grids=tuple(grids))
    return _part(whole, stage.token, Program(tuple(values), stage.program.level), stage.domain, stage.grid)
