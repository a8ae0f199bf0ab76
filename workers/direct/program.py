"""Stages that the calling thread runs itself, over arrays in its memory.

What is made of a few small blocks takes less time than a word to the engine. The kernels are those that ranks run, on
the same blocks, so the bits are the same. `places` tells where results lie, so that elements are set in place; a
program that runs often, or has many steps, is compiled as a whole (`compiling`).
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.lowering.program import Call, Product, Program
from ...graph.lowering.stage import Stage
from ..kernels.compiled.llvm.text import NotCompilable
from ..rank.blas import limit_blas
from .compiling import Compiling
from .places import plan_memory
from .splitting import split
from .step_runner import StepRunner
from .writes import find_writes, in_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...graph.chunks.grid import Grid
    from ...graph.expr.expr import DType
    from ...graph.kinds.elementwise import Scalar

Array = np.ndarray[Any, Any]

MOST_BYTES = 1 << 20
"""Bytes of the largest block that a short program reads or makes: with more, computing takes longer than a word."""
MANY_STAGES = 8
LARGE_BYTES = 1 << 26
"""The same of a program of many stages, for each of which the engine would be told."""
MOST_STAGES = 1 << 16
FEW_PRODUCTS = 1 << 13
"""Products of numbers that OpenBLAS leaves to the calling thread: less than 9216, of a matrix and a vector."""


def stand_for(token: str, grid: Grid, dtype: DType) -> Stage:
    """Return a stage that stands for an array at hand, of one block."""
    return Stage(token, "", "", grid, grid, dtype, (), (), Program(()))


class DirectProgram:
    """Stages in order, over arrays at hand.

    Parameters
    ----------
    stages : sequence of Stage
        For which `is_direct` holds.
    inputs : sequence of Stage
        What stands for the arrays that `run` takes, and for those that are captured; see `stand_for`.
    results : sequence of str
        The tokens of what `run` returns.
    captured : sequence of ndarray
        Arrays that are the same in each run.
    holes : mapping of int to int
        Which number each scalar of the programs is, by its identity; others stay.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        inputs: Sequence[Stage],
        results: Sequence[str],
        captured: Sequence[Array],
        holes: Mapping[int, int],
    ) -> None:
        stages = [part for stage in stages for part in split(stage)]
        writes = find_writes(stages)
        stages = in_order(stages, writes)
        every = (*inputs, *stages)
        numbers = {stage.token: number for number, stage in enumerate(every)}
        self._results = [numbers[token] for token in results]
        self._captured = tuple([np.asarray(array, order="C") for array in captured])
        self._limit = limit_blas if any(map(_may_use_threads, stages)) else contextlib.nullcontext
        self._plan = plan_memory(inputs, stages, results, writes)
        self._runner = StepRunner(self._plan, every, holes)
        self._compiling = Compiling(self._plan, {self._plan.places[n].slot for n in self._results}, holes)
        for stage in stages:
            stage.learn()

    @property
    def nbytes(self) -> int:
        """Bytes of memory that a run takes, with its results."""
        return sum(self._plan.sizes[self._plan.inputs :])

    def run(self, arrays: Sequence[Array], scalars: Mapping[int, Scalar], threads: int) -> list[Array]:
        """Return the results for other arrays and numbers; nobody may write to them.

        So many threads share what is large.

        Raises
        ------
        Exception
            What a kernel raises.
        """
        inputs = [*[np.asarray(array, order="C") for array in arrays], *self._captured]
        with self._limit(), np.errstate(all="ignore"):
            memory = self._compute(inputs, scalars, threads)
        results: list[Array] = []
        for number in self._results:
            result = self._plan.value(number, inputs, memory)
            if number >= len(inputs):
                result.flags.writeable = False
            results.append(result)
        return results

    def _compute(self, inputs: list[Array], scalars: Mapping[int, Scalar], threads: int) -> list[Array]:
        """Return slots of memory, in which the results are."""
        native = self._compiling.get(threads)
        if native is not None:
            with contextlib.suppress(NotCompilable):
                return native.run(inputs, scalars, self._runner)
        memory = [*inputs, *[np.empty(nbytes, np.uint8) for nbytes in self._plan.sizes[len(inputs) :]]]
        steps = self._runner.with_numbers(scalars)
        for k in range(len(steps)):
            self._runner.run(steps, k, inputs, memory)
        return memory


def _may_use_threads(stage: Stage) -> bool:
    """Whether a library may use threads for a stage, on whose number the bits depend: BLAS has one for few products."""
    if any(isinstance(value, Call) for value in stage.program.values):
        return True
    return any(_count_products(stage, v) > FEW_PRODUCTS for v in stage.program.values if isinstance(v, Product))


def _count_products(stage: Stage, value: Product) -> float:
    """Return how many products of numbers a contraction takes, about."""
    left, right = (stage.operand_grid(operand).size for operand in value.operands)
    return math.sqrt(left * right * stage.domain.size)


def is_direct(stages: Sequence[Stage], inputs: Sequence[Stage]) -> bool:
    """Whether stages are of one block each, and small; and call nothing of the user's."""
    most = MOST_BYTES if len(stages) < MANY_STAGES else LARGE_BYTES
    if len(stages) > MOST_STAGES or any(each.grid.size * each.dtype.itemsize > most for each in inputs):
        return False
    return all(_is_single(stage, most) for stage in stages)


def _is_single(stage: Stage, most: int) -> bool:
    grids = (stage.grid, stage.domain, *stage.input_grids)
    elsewhere = stage.foreign or stage.gang or stage.at_driver or stage.spread or stage.holds or stage.data is not None
    return not elsewhere and all(grid.nblocks == 1 and grid.size for grid in grids) and stage.heft <= most
