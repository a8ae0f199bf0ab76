"""Powers of a matrix, and products of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, bad
from ..base import ArrayBase, as_array
from ..creation.ranges import eye
from ..ops.moves.axis_moves import expand_dims
from ..ops.moves.broadcasting import broadcast_to
from ..ops.outputs import deliver
from ..ops.products.matrices import matmul
from .common import MatrixError
from .factors.elimination import inv

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array
    from ..typing import ArrayLike, OutLike

__all__ = [
    "matrix_power",
    "multi_dot",
]


def matrix_power(a: ArrayLike, n: int) -> Array:
    """Multiply square matrices with themselves; negative powers are those of the inverse.

    Parameters
    ----------
    a : array_like (..., M, M)
        Square matrices of numbers.
    n : int
        The power; 0 is the identity, negative powers are those of the inverse.

    Returns
    -------
    Array (..., M, M)
        In the dtype of `a`; negative powers of integers are float64.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; or `n` isn't an integer.
    ShapeError
        The matrices aren't square.
    DTypeError
        `a` isn't numbers.
    numpy.linalg.LinAlgError
        When it is computed: a matrix is singular, and `n` is negative.

    >>> import numpy as np
    >>> wr.linalg.matrix_power(np.array([[1, 1], [0, 1]]), 5).compute()
    array([[1, 5],
           [0, 1]])
    """
    x = as_array("matrix_power", "a", a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise MatrixError(bad("matrix_power", "a", x.shape, "square matrices"))
    power = check_integer("matrix_power", "n", n)
    if power == 0:
        return broadcast_to(eye(x.shape[-1], dtype=x.dtype, chunks=x.expr.grid.chunks()[-2:]), x.shape)
    if power < 0:
        x, power = inv(x), -power
    product: Array | None = None
    while power:
        if power & 1:
            product = x if product is None else matmul(product, x)
        power >>= 1
        if power:
            x = matmul(x, x)
    assert product is not None
    return product


def multi_dot(arrays: Sequence[Any], *, out: OutLike = None) -> Any:
    """Multiply several matrices, in the order that takes the fewest operations.

    Parameters
    ----------
    arrays : sequence of array
        At least two matrices; the first and the last one may be 1-D: a row and a column.
    out : Array or numpy.ndarray, optional
        Takes the result: a lazy array stands for it from then on, a NumPy array is filled at the call.

    Returns
    -------
    Array
        2-D, without the axes that 1-D operands stand for; in the dtype of all together.

    Raises
    ------
    ArgumentError
        There are fewer than two, or one can't be read as an array.
    ShapeError
        One of them isn't 2-D, neighbours don't fit, or the result doesn't broadcast to `out`.
    DTypeError
        They aren't numbers or bool, or the result isn't cast to the dtype of `out`.

    >>> wr.linalg.multi_dot([wr.ones((2, 9)), wr.ones((9, 9)), wr.ones(9)]).compute()
    array([81., 81.])
    """
    if isinstance(arrays, ArrayBase) and arrays.ndim < 2:
        raise ArgumentError(bad("multi_dot", "arrays", arrays, "a sequence of at least two arrays"))
    matrices = [as_array("multi_dot", f"arrays[{i}]", a) for i, a in enumerate(arrays)]
    if len(matrices) < 2:
        raise ArgumentError(bad("multi_dot", "arrays", f"{len(matrices)} arrays", "at least two"))
    first, last = matrices[0].ndim == 1, matrices[-1].ndim == 1
    if first:
        matrices[0] = expand_dims(matrices[0], 0)
    if last:
        matrices[-1] = expand_dims(matrices[-1], 1)
    for i, x in enumerate(matrices):
        if x.ndim != 2:
            raise MatrixError(bad("multi_dot", f"arrays[{i}]", x.shape, "a 2-D array"))
    product = _product(matrices, _order([*(len(x) for x in matrices), matrices[-1].shape[1]]), 0, len(matrices) - 1)
    if first:
        product = product[0]
    return deliver("multi_dot", product[..., 0] if last else product, out)


def _order(lengths: list[int]) -> list[list[int]]:
    """Return where to cut the product of matrices i to j, by dynamic programming."""
    n = len(lengths) - 1
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            costs = [cost[i][k] + cost[k + 1][j] + lengths[i] * lengths[k + 1] * lengths[j + 1] for k in range(i, j)]
            cost[i][j] = min(costs)
            cut[i][j] = i + costs.index(cost[i][j])
    return cut


def _product(arrays: list[Array], cut: list[list[int]], i: int, j: int) -> Array:
    if i == j:
        return arrays[i]
    product: Array = matmul(_product(arrays, cut, i, cut[i][j]), _product(arrays, cut, cut[i][j] + 1, j))
    return product
