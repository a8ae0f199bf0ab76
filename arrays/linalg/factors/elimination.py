"""Elimination with partial pivoting, and what follows from it: linear systems, inverses, determinants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import bad
from ...base import as_array
from ...creation.ranges import eye
from ...ops.elementwise.functions import astype, real
from ...ops.elementwise.ufuncs import exp, multiply
from ...ops.moves.axis_moves import expand_dims, squeeze
from ...ops.moves.joining import concatenate
from ...ops.reductions.sums import prod
from ...ops.reductions.sums import sum as summed
from ...refitting import refittable
from ..common import (
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
from ..docstrings import LINALG

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "det",
    "inv",
    "slogdet",
    "solve",
]


class SlogdetResult(NamedTuple):
    """Sign and logarithm of the absolute value of determinants."""

    sign: Array
    logabsdet: Array


def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Solve linear systems `a @ x = b`.

    Parameters
    ----------
    {square}
    b : array_like (M,) or (..., M, K)
        Right-hand sides: one, or one in each column. Stacks broadcast.

    Returns
    -------
    Array
        The solutions, in the shape of `b`, broadcast with the stack of `a`; in the dtype of both together, float64 for
        integers.

    Raises
    ------
    ArgumentError
        `a` or `b` can't be read as an array.
    ShapeError
        The matrices aren't square, or `b` has another number of rows.
    {DTypeError}
    numpy.linalg.LinAlgError
        When it is computed: a matrix is singular.

    Notes
    -----
    A large matrix is factored by panels, each in one chunk. The matrices of a stack have one chunk each.

    >>> import numpy as np
    >>> wr.linalg.solve(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0])).compute()
    array([1., 2.])
    """
    x = matrices("solve", "a", a, square=True)
    rhs = inexact("solve", "b", as_array("solve", "b", b))
    y = expand_dims(rhs, 1) if rhs.ndim == 1 else rhs
    if y.ndim < 2 or y.shape[-2] != x.shape[-1]:
        raise MatrixError(bad("solve", "b", rhs.shape, f"({x.shape[-1]},) or (..., {x.shape[-1]}, K)"))
    dtype = np.result_type(x.dtype, y.dtype)
    if by_blocks(x) and y.ndim == 2:
        both = np.result_type(dtype, np.float64)
        solution = astype(solve_blocks(astype(x, both), astype(y, both), panel_width(len(x))), dtype)
    else:
        solution = map_stacks("linalg.whole:solve", (x, y), (x.shape[-1], y.shape[-1]), dtype)
    return squeeze(solution, -1) if rhs.ndim == 1 else solution


def inv(a: ArrayLike) -> Array:
    """Invert matrices.

    Parameters
    ----------
    {square}

    Returns
    -------
    Array (..., M, M)
        The inverses. In the dtype of `a`, float64 for integers.

    Raises
    ------
    {ArgumentError, ShapeError, DTypeError}
    numpy.linalg.LinAlgError
        When it is computed: a matrix is singular.

    Notes
    -----
    As `windrow.linalg.solve` with the identity on the right: a large matrix is factored by panels, each in one chunk.
    The matrices of a stack have one chunk each.

    >>> import numpy as np
    >>> wr.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]])).compute()
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return inverse(matrices("inv", "a", a, square=True), quiet=False)


def inverse(x: Array, *, quiet: bool) -> Array:
    """Return inverses; `quiet`: NaN for singular matrices."""
    if not by_blocks(x):
        return map_stacks("linalg.whole:inv", (x,), x.shape[-2:], x.dtype, (quiet,))
    full = wide(x)
    width = panel_width(len(x))
    unit = eye(len(x), dtype=full.dtype, chunks=(-1, width))
    return astype(solve_blocks(full, unit, width, quiet=quiet, grid=x.expr.grid), x.dtype)


def det(a: ArrayLike) -> Array:
    """Return the determinants of matrices.

    Parameters
    ----------
    {square}

    Returns
    -------
    Array (...)
        The determinants. In the dtype of `a`, float64 for integers.

    Raises
    ------
    {ArgumentError, ShapeError, DTypeError}

    Notes
    -----
    A large matrix is factored by panels, each in one chunk; its determinant may overflow, see `windrow.linalg.slogdet`.

    >>> import numpy as np
    >>> wr.linalg.det(np.array([[2.0, 1.0], [0.0, 4.0]])).round(12).compute()
    np.float64(8.0)
    """
    x = matrices("det", "a", a, square=True)
    if not by_blocks(x):
        return map_stacks("linalg.whole:det", (x,), (), x.dtype)
    sign, logarithm = _signs(x)
    return astype(multiply(sign, exp(logarithm)), x.dtype)


def slogdet(a: ArrayLike) -> SlogdetResult:
    """Return the sign and the logarithm of the absolute value of determinants.

    Parameters
    ----------
    {square}

    Returns
    -------
    SlogdetResult
        A named tuple of arrays (...): `sign`, a number of absolute value 1 or 0 in the dtype of `a`, and `logabsdet`,
        real; -inf for singular matrices.

    Raises
    ------
    {ArgumentError, ShapeError, DTypeError}

    >>> import numpy as np
    >>> sign, logabsdet = wr.linalg.slogdet(-np.eye(3))
    >>> sign.compute(), logabsdet.compute()
    (np.float64(-1.0), np.float64(0.0))
    """
    x = matrices("slogdet", "a", a, square=True)
    if by_blocks(x):
        sign, logarithm = _signs(x)
    else:
        both = map_stacks("linalg.whole:slogdet", (x,), (2,), x.dtype)
        stack = (slice(None),) * (x.ndim - 2)  # an ellipsis would give arrays where NumPy has scalars
        sign, logarithm = both[(*stack, 0)], real(both[(*stack, 1)])
    return SlogdetResult(astype(sign, x.dtype), astype(logarithm, real_dtype(x.dtype)))


@dataclass(frozen=True)
class Panels:
    """A matrix factored by panels: the panels, and the rows of U to the right of each."""

    bounds: tuple[tuple[int, int], ...]
    panels: tuple[Array, ...]
    rows: tuple[Array, ...]
    right: tuple[Array, ...]


def factor_panels(x: Array, y: Array | None, width: int) -> Panels:
    """Eliminate panel by panel (right-looking), with right-hand sides.

    A panel has all remaining rows in one chunk; the columns to its right are updated independently of each other.
    """
    m, n = x.shape
    most = min(m, n)
    rest = part(x, (0, m), (0, n), (Axis.whole(m), Axis.regular(n, width)))
    bounds, panels, rows, right = [], [], [], []
    for lo in range(0, most, width):
        hi = min(lo + width, most)
        left, wide_by = m - lo, hi - lo
        bounds.append((lo, hi))
        panel = step(
            "linalg.factors:lu_panel",
            (part(rest, (0, left), (0, wide_by)),),
            Grid.single((left, wide_by + 1)),
            [(0, 1)],
        )
        panels.append(panel)
        if hi < n:
            beside = part(rest, (0, left), (wide_by, n - lo), (Axis.whole(left), Axis.regular(n - hi, width)))
            done = _update(panel, beside)
            rows.append(part(done, (0, wide_by), (0, n - hi)))
            if hi < most:
                rest = _below(done, wide_by)
        if y is not None:
            done = _update(panel, y)
            right.append(part(done, (0, wide_by), (0, y.shape[1]), (Axis.whole(wide_by), y.expr.grid.axes[1])))
            y = _below(done, wide_by)
    return Panels(tuple(bounds), tuple(panels), tuple(rows), tuple(right))


def _update(panel: Array, x: Array) -> Array:
    return step("linalg.factors:lu_update", (panel, x), x.expr.grid, [(None, None), (0, 1)])


def _below(x: Array, first: int) -> Array:
    """Return the rows from `first` on, each column of chunks in one chunk."""
    height = len(x) - first
    axes = (Axis.whole(height), x.expr.grid.axes[1])
    return part(x, (first, len(x)), (0, x.shape[1]), axes)


@refittable
def solve_blocks(x: Array, y: Array, width: int, *, quiet: bool = False, grid: Grid | None = None) -> Array:
    """Solve for a large matrix: eliminate, then substitute from the last panel to the first.

    The result has the chunks of `y`, or those given.
    """
    n, columns = y.shape
    step_of_columns = min(width, max(1, y.expr.grid.axes[1].largest))
    axis = Axis.regular(columns, step_of_columns)
    parts = factor_panels(x, part(y, (0, n), (0, columns), (Axis.whole(n), axis)), width)
    solutions: list[tuple[Array, int, int]] = []
    for number in reversed(range(len(parts.bounds))):
        lo, hi = parts.bounds[number]
        panel, own = parts.panels[number], parts.right[number]
        if solutions:
            below = place_parts([(p, row - hi, 0) for p, row, _ in solutions], Grid([Axis.whole(n - hi), axis]), None)
            row = parts.rows[number]
        else:
            below = part(own, (0, 0), (0, columns), (Axis.regular(0, 1), axis))
            row = part(panel, (0, hi - lo), (0, 0))
        operand_axes = [(None, None), (0, 1), (None, None), (None, 1)]
        solution = step("linalg.factors:lu_back", (panel, own, row, below), own.expr.grid, operand_axes, (quiet,))
        solutions.append((solution, lo, 0))
    return place_parts(solutions, y.expr.grid if grid is None else grid, None)


def _signs(x: Array) -> tuple[Array, Array]:
    """Return sign and logarithm for a large matrix, from the pivots of its panels."""
    parts = factor_panels(wide(x), None, panel_width(len(x)))
    each = [step("linalg.factors:lu_sign", (p,), Grid.single((1, 2)), [(None, None)]) for p in parts.panels]
    table = concatenate(each)
    return prod(table[:, 0]), summed(real(table[:, 1]))


LINALG.fill(__name__)
