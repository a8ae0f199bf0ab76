"""Products of blocks at hand, where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.lowering.program import Load
from ..kernels.contraction import Lying, contract, find_product
from ..rank.chunk_reader import arrange, take_part

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...graph.lowering.program import Operand, Product
    from ...graph.lowering.stage import Stage

Array = np.ndarray[Any, Any]


def multiply(product: Product, stage: Stage, arrays: Sequence[Array], out: Array) -> None:
    """Compute a product that is all that a stage does, over its inputs' blocks."""
    left, right = _operands(product, stage, arrays)
    first = Lying(left)
    contract(product.op, [(first, first if left is right else Lying(right))], out)


def ready_product(product: Product, stage: Stage, arrays: Sequence[Array], out: Array) -> Callable[[], object] | None:
    """Return a call that computes the same, as long as the blocks lie where they do; None where it would copy."""
    return find_product(product.op, *_operands(product, stage, arrays), out)


def _operands(product: Product, stage: Stage, arrays: Sequence[Array]) -> tuple[Array, Array]:
    first, second = product.operands
    left = _block(first, stage, arrays)
    return left, left if first == second else _block(second, stage, arrays)


def _block(operand: Operand, stage: Stage, arrays: Sequence[Array]) -> Array:
    """Return an operand's only block: an input's, or the part of it that a move takes."""
    if isinstance(operand, int):
        return arrays[operand]
    (load,) = operand.program.values
    assert isinstance(load, Load)
    grids = tuple([stage.input_grids[k] for k in load.inputs])
    (piece,) = load.access.pieces(operand.grid, grids, 0)  # type: ignore[union-attr]
    part = arrange(take_part(arrays[load.inputs[0]], piece.take), piece)
    return np.broadcast_to(part, operand.grid.shape)
