"""Cholesky's factorisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....graph.chunks.grid import Axis, Grid
from ....workers.kernels.blocks.linalg.factors import BASE
from ...ops.elementwise.functions import astype
from ...ops.elementwise.ufuncs import conjugate
from ...ops.moves.axis_moves import matrix_transpose
from ...refitting import refittable
from ..common import by_blocks, map_stacks, matrices, panel_width, part, place_parts, step, wide
from ..docstrings import LINALG

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "cholesky",
]

TOGETHER = 3
"""A column is updated by this many columns before it at once, so that updates by the first ones start early."""


def cholesky(a: ArrayLike, /, *, upper: bool = False) -> Array:
    """Factor Hermitian positive definite matrices, `a = L @ L^H`.

    Parameters
    ----------
    a : array_like (..., N, N)
        Matrices of float32, float64, complex64 or complex128; integers and bool are computed as float64. Only the lower
        triangle is read, with `upper` the upper one.
    upper : bool
        Whether to return the upper factor U of `a = U^H @ U`.

    Returns
    -------
    Array (..., N, N)
        The lower factor L, zeros above its diagonal. In the dtype of `a`, float64 for integers.

    Raises
    ------
    {ArgumentError, ShapeError, DTypeError}
    numpy.linalg.LinAlgError
        When it is computed: a matrix isn't positive definite.

    Notes
    -----
    A large matrix is factored by blocks (left-looking). The matrices of a stack have one chunk each.

    >>> import numpy as np
    >>> wr.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).compute()
    array([[2., 0.],
           [1., 2.]])
    """
    x = matrices("cholesky", "a", a, square=True)
    if not by_blocks(x):
        return map_stacks("linalg.whole:cholesky", (x,), x.shape[-2:], x.dtype, (bool(upper),))
    lower = matrix_transpose(conjugate(x)) if upper else x
    factor = astype(factor_blocks(wide(lower), panel_width(len(x), 7)), x.dtype)
    return matrix_transpose(conjugate(factor)) if upper else factor


@refittable
def factor_blocks(x: Array, width: int) -> Array:
    """Return the lower factor of a matrix, computed column of blocks by column of blocks.

    A column is first updated by all columns before it but the last, and by the last one when that is factored, so that
    most of the work waits for nothing.
    """
    n = len(x)
    parts: list[tuple[Array, int, int]] = []
    below: list[tuple[Array, int]] = []  # the rows below the diagonal blocks, and the first of them
    for lo in range(0, n, width):
        hi = min(lo + width, n)
        rows, columns = Axis.regular(n - lo, width), Axis.regular(hi - lo, width)
        column = part(x, (lo, n), (lo, hi), (rows, columns))
        for k in range(0, len(below) - 1, TOGETHER):
            group = below[k : min(k + TOGETHER, len(below) - 1)]
            left = [part(f, (lo - at, n - at), (0, width), (rows, f.expr.grid.axes[1])) for f, at in group]
            right = [part(f, (lo - at, hi - at), (0, width)) for f, at in group]
            operand_axes = [(0, 1), *[(0, None)] * len(left), *[(None, None)] * len(right)]
            column = step(
                "linalg.factors:cholesky_update",
                (column, *left, *right),
                Grid([rows, columns]),
                operand_axes,
                where=True,
            )
        first = [part(f, (0, hi - lo), (0, width)) for f, _ in below[-1:]]
        top = step(
            "linalg.factors:cholesky_top",
            (part(column, (0, hi - lo), (0, hi - lo)), *first),
            Grid.single((hi - lo + BASE, hi - lo)),
            [(None, None)] * (1 + len(first)),
        )
        parts.append((top, lo, lo))  # the part below its square is covered by the next part, or lies outside
        if hi < n:
            rest = Axis.regular(n - hi, width)
            last = [part(f, (hi - lo, n - lo), (0, width), (rest, f.expr.grid.axes[1])) for f, _ in below[-1:]]
            lower = step(
                "linalg.factors:cholesky_below",
                (part(column, (hi - lo, n - lo), (0, hi - lo), (rest, columns)), top, *last, *first),
                Grid([rest, columns]),
                [(0, 1), (None, None), *[(0, None)] * len(last), *[(None, None)] * len(first)],
            )
            below.append((lower, hi))
            parts.append((lower, hi, lo))
    axis = Axis.regular(n, width)
    return place_parts(parts, Grid([axis, axis]) if x.expr.grid.nblocks == 1 else x.expr.grid)


LINALG.fill(__name__)
