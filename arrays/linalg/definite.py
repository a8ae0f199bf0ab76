"""Cholesky's factorisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.grid import Axis, Grid
from ..ops.elementwise import astype
from ..ops.moving import matrix_transpose
from ..ops.ufuncs import conjugate
from .common import by_blocks, matrices, panel_width, part, placed, stacked, step, wide

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "cholesky",
]


def cholesky(a: Any, /, *, upper: bool = False) -> Array:
    """Factor Hermitian positive definite matrices, `a = L @ L^H`.

    A large matrix is factored by blocks (left-looking); the matrices of a stack have one chunk each. A matrix that
    isn't positive definite raises `numpy.linalg.LinAlgError` when the factor is computed. Only the lower triangle is
    read (with `upper` the upper one).

    Parameters
    ----------
    a : array (..., N, N)
    upper : bool
        Return the upper factor U of `a = U^H @ U`.

    Returns
    -------
    Array (..., N, N)

    Examples
    --------
    >>> import windrow as wr
    >>> import numpy as np
    >>> wr.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).compute()
    array([[2., 0.],
           [1., 2.]])
    """
    x = matrices("cholesky", "a", a, square=True)
    if not by_blocks(x):
        return stacked("linalg:cholesky", (x,), x.shape[-2:], x.dtype, (bool(upper),))
    lower = matrix_transpose(conjugate(x)) if upper else x
    found = astype(blocked(wide(lower), panel_width(len(x))), x.dtype)
    return matrix_transpose(conjugate(found)) if upper else found


def blocked(x: Array, width: int) -> Array:
    """Return the lower factor of a matrix, found column of blocks by column of blocks."""
    n = len(x)
    parts: list[tuple[Array, int, int]] = []
    below: list[tuple[Array, int]] = []  # what lies below the diagonal blocks, and its first row
    for lo in range(0, n, width):
        hi = min(lo + width, n)
        rows, columns = Axis.regular(n - lo, width), Axis.regular(hi - lo, width)
        grid = Grid([rows, columns])
        column = part(x, (lo, n), (lo, hi), (rows, columns))
        if below:
            left = [part(f, (lo - at, n - at), (0, width), (rows, f.expr.grid.axes[1])) for f, at in below]
            right = [part(f, (lo - at, hi - at), (0, width)) for f, at in below]
            ways = [(0, 1), *[(0, None)] * len(left), *[(None, None)] * len(right)]
            column = step("factors:cholesky_update", (column, *left, *right), grid, ways, where=True)
        whole = Grid([columns, columns])
        top = step("linalg:cholesky", (part(column, (0, hi - lo), (0, hi - lo)),), whole, [(0, 1)])
        parts.append((top, lo, lo))
        if hi < n:
            rest = Grid([Axis.regular(n - hi, width), columns])
            column = part(column, (hi - lo, n - lo), (0, hi - lo), (rest.axes[0], rest.axes[1]))
            found = step("factors:cholesky_below", (column, top), rest, [(0, 1), (None, None)])
            below.append((found, hi))
            parts.append((found, hi, lo))
    axis = Axis.regular(n, width)
    return placed(parts, Grid([axis, axis]) if x.expr.grid.nblocks == 1 else x.expr.grid)
