"""Steps as ranks run them: tile by tile, with NumPy's kernels, or with compiled ones that are there."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.few import ascending
from ...graph.lowering.plan_cache import NUMBERS, scalars_of, with_scalars
from ..kernels.interpreter.block_calls import BlockError
from ..rank.chunk_reader import BatchReader, arrange, take_part
from ..rank.executor import run_blocks
from .products import multiply, ready_product
from .splitting import product_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...graph.chunks.grid import Index
    from ...graph.kinds.elementwise import Scalar
    from ...graph.lowering.stage import Stage
    from .places import MemoryPlan, Step

Array = np.ndarray[Any, Any]
_ONLY = ascending(0, 1)


class _Blocks(BatchReader):
    """The only blocks of a stage's inputs, which are arrays in C order."""

    def __init__(self, stage: Stage, producers: tuple[Stage, ...], arrays: list[Array]) -> None:
        super().__init__(stage, producers, (), lambda place: None)
        self.arrays = arrays

    def block(self, number: int, block: int) -> Array:
        return self.arrays[number]

    def addresses(self, number: int, blocks: Index) -> Index:
        return np.full(len(blocks), self.arrays[number].__array_interface__["data"][0], np.int64)

    def strided_addresses(self, number: int, blocks: Index) -> tuple[Index, Index]:
        array = self.arrays[number]
        return self.addresses(number, blocks), np.broadcast_to(array.strides, (len(blocks), array.ndim))

    def run(self, number: int, blocks: list[int]) -> None:
        return None


class StepRunner:
    """Runs steps of a program, one by one.

    Parameters
    ----------
    plan : MemoryPlan
    stages : sequence of Stage
        What makes the program's values, those that stand for inputs too.
    holes : mapping of int to int
        Which number each scalar of the programs is, by its identity; others stay.
    """

    def __init__(self, plan: MemoryPlan, stages: Sequence[Stage], holes: Mapping[int, int]) -> None:
        self._plan, self._stages, self._holes = plan, stages, holes
        self._by_numbers: dict[tuple[str, ...], list[Step]] = {}
        self._with_holes = {k for k, step in enumerate(plan.steps) if _has_holes(step, holes)}
        self._products = [None if step.puts is not None else product_of(step.stage) for step in plan.steps]
        self._shapes = [[grid.shape for grid in step.stage.input_grids] for step in plan.steps]

    def run(self, steps: Sequence[Step], k: int, inputs: list[Array], memory: list[Array]) -> None:
        """Run step k of those that `with_numbers` gives.

        Raises
        ------
        Exception
            What a kernel raises.
        """
        step, product = steps[k], self._products[k]
        arrays, out = self._blocks(k, inputs, memory)
        if step.puts is not None:
            for put in step.puts:
                out[(..., *put.piece.put)] = arrange(take_part(arrays[put.source], put.piece.take), put.piece)
        elif product is not None:
            multiply(product, step.stage, arrays, out)
        else:
            reader = _Blocks(step.stage, tuple([self._stages[number] for number in step.reads]), arrays)
            try:
                run_blocks(step.stage, _ONLY, reader, partial(_only, out))
            except BlockError as error:
                raise error.error from None

    def prepare(self, k: int, inputs: list[Array], memory: list[Array]) -> Callable[[], object] | None:
        """Return a call that runs step k as long as its arrays lie where they do; None where there is none."""
        product = self._products[k]
        if product is None:
            return None
        return ready_product(product, self._plan.steps[k].stage, *self._blocks(k, inputs, memory))

    def _blocks(self, k: int, inputs: list[Array], memory: list[Array]) -> tuple[list[Array], Array]:
        """Return the arrays that a step reads, under the shapes that it wants, and the one that it fills."""
        step = self._plan.steps[k]
        read = [self._plan.value(number, inputs, memory) for number in step.reads]
        arrays = [a if a.shape == shape else a.reshape(shape) for a, shape in zip(read, self._shapes[k], strict=True)]
        return arrays, step.place.view(memory)

    def with_numbers(self, scalars: Mapping[int, Scalar]) -> list[Step]:
        """Return the steps with other numbers: the same for the same numbers, as far as these were used last."""
        if not self._with_holes:
            return self._plan.steps
        key = tuple([repr(scalar.value) for scalar in scalars.values()])
        steps = self._by_numbers.get(key)
        if steps is None:
            if len(self._by_numbers) >= NUMBERS:
                self._by_numbers = {}
            puts = {hole: scalars[number] for hole, number in self._holes.items()}
            steps = list(self._plan.steps)
            for k in self._with_holes:
                stage = steps[k].stage
                steps[k] = replace(steps[k], stage=stage.remake(program=with_scalars(stage.program, puts)))
            self._by_numbers[key] = steps
        return steps


def _has_holes(step: Step, holes: Mapping[int, int]) -> bool:
    return bool(holes) and any(id(scalar) in holes for scalar in scalars_of(step.stage.program))


def _only(out: Array, first: int, count: int) -> Array:
    return out[None]
