"""LU factorisation, and systems whose matrix is a triangle."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ....graph.arguments import check_flag
from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import bad
from ...base import as_array
from ...chunking.rechunk import regrid
from ...creation.diagonals import tril, triu
from ...creation.ranges import arange, eye
from ...ops.elementwise.functions import astype, real
from ...ops.elementwise.ufuncs import add, equal
from ...ops.moves.axis_moves import expand_dims, squeeze
from ..common import (
    EMPTY,
    MatrixError,
    by_blocks,
    inexact,
    map_stacks,
    matrices,
    panel_width,
    part,
    place_parts,
    real_dtype,
    step,
    wide,
)
from .elimination import factor_panels

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "lu",
    "solve_triangular",
]


class LUResult(NamedTuple):
    """The permutation and the triangles."""

    P: Array
    L: Array
    U: Array


def lu(a: ArrayLike) -> LUResult:
    """Factor matrices, `a = P @ L @ U`, by elimination with partial pivoting.

    Parameters
    ----------
    a : array_like (..., M, N)
        Matrices of float32, float64, complex64 or complex128; integers and bool are computed as float64.

    Returns
    -------
    LUResult
        A named tuple: `P` (..., M, M), a permutation of rows; `L` (..., M, K) with ones on its diagonal and zeros
        above, and `U` (..., K, N) with zeros below, where K is the smaller length. A singular matrix has zeros on the
        diagonal of U.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array.
    ShapeError
        `a` has fewer than two axes.
    DTypeError
        The matrices have another dtype than float32, float64, complex64, complex128, integers and bool.

    Notes
    -----
    NumPy has no such function; it is `scipy.linalg.lu`. A large matrix is factored by panels, each in one chunk. The
    matrices of a stack have one chunk each.

    >>> import numpy as np
    >>> p, l, u = wr.linalg.lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> u.compute()
    array([[4., 4.],
           [0., 1.]])
    >>> (p @ l @ u).compute()
    array([[1., 2.],
           [4., 4.]])
    """
    x = matrices("lu", "a", a)
    m, n = x.shape[-2:]
    most = min(m, n)
    if by_blocks(x):
        order, lower, upper = factor_blocks(wide(x), panel_width(most))
    else:
        packed = map_stacks("linalg.factors:lu_packed", (wide(x),), (m, n + 1), wide(x).dtype)
        order = packed[..., n]
        lower = add(tril(packed[..., :most], -1), eye(m, most, dtype=packed.dtype))
        upper = triu(packed[..., :most, :n])
    places = astype(real(order), np.int64)
    rows = arange(m, chunks=(lower.chunks[-2],))
    permuted = equal(expand_dims(places, -2), expand_dims(rows, -1))
    return LUResult(astype(permuted, real_dtype(x.dtype)), astype(lower, x.dtype), astype(upper, x.dtype))


def factor_blocks(x: Array, width: int) -> tuple[Array, Array, Array]:
    """Factor a large matrix: return the order of its rows, and both triangles.

    A panel's elimination reorders the rows of the columns of L before it; so the orders are composed from the last
    panel to the first.
    """
    m, n = x.shape
    most = min(m, n)
    parts = factor_panels(x, None, width)
    low: list[tuple[Array, int, int]] = []
    high: list[tuple[Array, int, int]] = []
    below = part(parts.panels[-1], (0, 0), (0, 1))
    if m > most:
        below = astype(arange(m - most, chunks=-1), x.dtype).reshape(-1, 1)
    for number in reversed(range(len(parts.bounds))):
        lo, hi = parts.bounds[number]
        panel, size = parts.panels[number], hi - lo
        whole = [(None, None), (None, None)]
        low.append((step("linalg.factors:lu_lower", (panel, below), Grid.single((m - lo, size)), whole), lo, lo))
        square = part(panel, (0, size), (0, size))
        high.append((step("linalg.factors:triu", (square,), square.expr.grid, [(None, None)]), lo, lo))
        if hi < n:
            high.append((parts.rows[number], lo, hi))
        below = step("linalg.factors:lu_order", (panel, below), Grid.single((m - lo, 1)), whole)
    rows, columns = Axis.regular(m, width), Axis.regular(n, width)
    inner = Axis.regular(most, width)
    order = regrid(below[:, 0], Grid([rows]))
    return order, place_parts(low, Grid([rows, inner])), place_parts(high, Grid([inner, columns]))


def solve_triangular(a: ArrayLike, b: ArrayLike, lower: bool = False, *, unit_diagonal: bool = False) -> Array:
    """Solve linear systems `a @ x = b` whose matrix is a triangle, by substitution.

    A large matrix is processed by blocks of rows; the matrices of a stack have one chunk each. A zero on the diagonal
    raises `numpy.linalg.LinAlgError` when the solution is computed.

    Parameters
    ----------
    a : array_like (..., M, M)
        Only one triangle is read.
    b : array_like (M,) or (..., M, K)
        Right-hand sides: one, or one in each column. Stacks broadcast.
    lower : bool
        Whether it is the lower triangle; else the upper one.
    unit_diagonal : bool
        Whether ones stand for the diagonal, which isn't read then.

    Returns
    -------
    Array
        The solutions, in the shape of `b`, broadcast with the stack of `a`; in the dtype of both together, float64 for
        integers.

    Raises
    ------
    ArgumentError
        `a` or `b` can't be read as an array; `lower` or `unit_diagonal` isn't bool.
    ShapeError
        The matrices aren't square, or `b` has another number of rows.
    DTypeError
        The matrices have another dtype than float32, float64, complex64, complex128, integers and bool.
    numpy.linalg.LinAlgError
        When it is computed: a diagonal element is zero.

    >>> import numpy as np
    >>> wr.linalg.solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]), lower=True).compute()
    array([1., 2.])
    """
    for name, value in (("lower", lower), ("unit_diagonal", unit_diagonal)):
        check_flag("solve_triangular", name, value)
    x = matrices("solve_triangular", "a", a, square=True)
    rhs = inexact("solve_triangular", "b", as_array("solve_triangular", "b", b))
    y = expand_dims(rhs, 1) if rhs.ndim == 1 else rhs
    n = x.shape[-1]
    if y.ndim < 2 or y.shape[-2] != n:
        raise MatrixError(bad("solve_triangular", "b", rhs.shape, f"({n},) or (..., {n}, K)"))
    dtype = np.result_type(x.dtype, y.dtype)
    full = np.result_type(dtype, np.float64)
    left, right = astype(x, full), astype(y, full)
    options = (bool(lower), bool(unit_diagonal))
    if by_blocks(x) and y.ndim == 2:
        solution = substitute(left, right, panel_width(n), *options)
    else:
        solution = map_stacks("linalg.factors:triangle_solved", (left, right), (n, y.shape[-1]), full, options)
    return squeeze(astype(solution, dtype), -1) if rhs.ndim == 1 else astype(solution, dtype)


def substitute(x: Array, y: Array, width: int, lower: bool, unit: bool) -> Array:
    """Solve for a large triangle, block of rows by block of rows; the result has the chunks of `y`."""
    n, columns = y.shape
    axis = Axis.regular(columns, min(width, max(1, y.expr.grid.axes[1].largest)))
    starts = range(0, n, width)
    solutions: list[tuple[Array, int, int]] = []
    for lo in starts if lower else reversed(starts):
        hi = min(lo + width, n)
        own = part(y, (lo, hi), (0, columns), (Axis.whole(hi - lo), axis))
        first, last = (0, lo) if lower else (hi, n)
        height = last - first
        row = part(x, (lo, hi), (first, last))
        if solutions:
            known = place_parts([(p, at - first, 0) for p, at, _ in solutions], Grid([Axis.whole(height), axis]), None)
        else:
            known = part(own, (0, 0), (0, columns), (EMPTY, axis))
        operand_axes = [(None, None), (0, 1), (None, None), (None, 1)]
        square = part(x, (lo, hi), (lo, hi))
        solution = step(
            "linalg.factors:triangle_step", (square, own, row, known), own.expr.grid, operand_axes, (lower, unit)
        )
        solutions.append((solution, lo, 0))
    return place_parts(solutions, y.expr.grid, None)
