"""Fitting polynomials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ..base import as_array
from ..creation.diagonals import vander
from ..linalg import inv, lstsq
from ..ops.elementwise.functions import astype
from ..ops.elementwise.ufuncs import divide, multiply, sqrt, square, subtract
from ..ops.moves.axis_moves import expand_dims, transpose
from ..ops.products.matrices import matmul, outer
from ..ops.reductions.sums import sum as summed

if TYPE_CHECKING:
    from ..typing import ArrayLike

__all__ = [
    "polyfit",
]


def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """Fit a polynomial to points, by least squares.

    Where there are many points their powers are brought to a triangle by blocks; see `windrow.linalg.lstsq`.

    Parameters
    ----------
    x : 1-D array (M,)
        Where the points lie; not empty.
    y : array_like (M,) or (M, K)
        The values there, real or complex; each column of a 2-D array is fitted by itself.
    deg : int
        The degree of the polynomial, from 0 on.
    rcond : float, optional
        Singular values of at most so much of the largest count as zero; None: the dtype's precision times M.
    full : bool
        Whether to return residuals, rank, singular values and `rcond` too.
    w : 1-D array (M,), optional
        Weights of the points' distances; None: all alike.
    cov : bool or "unscaled"
        Whether to return the coefficients' covariances too; "unscaled": as if the weights were inverse standard
        deviations.

    Returns
    -------
    Array (deg + 1,) or (deg + 1, K)
        The coefficients, the highest power first. With `full` a tuple of them, residuals, rank, singular values and
        `rcond`; with `cov` a tuple of them and their covariances, (deg + 1, deg + 1) or (deg + 1, deg + 1, K).

    Raises
    ------
    ArgumentError
        `x`, `y` or `w` can't be read as an array; `deg` isn't an integer from 0 on; `x` isn't 1-D or is empty; or `y`
        or `w` has another length.
    ShapeError
        `cov` is wanted of no more points than there are coefficients.
    DTypeError
        `x` or `y` isn't numbers.

    Notes
    -----
    NumPy's warning about powers that depend on each other isn't given: look at the rank. The residuals' size is found
    when it is needed; see `windrow.linalg.lstsq`.

    >>> x = wr.arange(1000, chunks=100) / 1000
    >>> wr.polyfit(x, 3 * x**2 - 1, 2).round(9).compute() + 0.0
    array([ 3.,  0., -1.])
    """
    order = check_integer("polyfit", "deg", deg, 0) + 1
    points, values = as_array("polyfit", "x", x), as_array("polyfit", "y", y)
    if points.ndim != 1 or points.size == 0:
        raise ArgumentError(bad("polyfit", "x", points.shape, "a 1-D array, not empty"))
    if values.ndim not in (1, 2) or len(values) != len(points):
        raise ArgumentError(bad("polyfit", "y", values.shape, f"({len(points)},) or ({len(points)}, K)"))
    for name, operand in (("x", points), ("y", values)):
        if operand.dtype.kind not in "biufc":
            raise DTypeError(bad("polyfit", name, operand.dtype, "numbers"))
    points, values = (astype(v, np.result_type(v.dtype, 0.0)) for v in (points, values))
    limit = len(points) * float(np.finfo(points.dtype).eps) if rcond is None else rcond
    powers: Any = vander(points, order)
    if w is not None:
        weights = as_array("polyfit", "w", w)
        if weights.shape != points.shape:
            raise ArgumentError(bad("polyfit", "w", weights.shape, f"the shape of x, {points.shape}"))
        powers = multiply(powers, expand_dims(weights, 1))
        values = multiply(values, weights if values.ndim == 1 else expand_dims(weights, 1))
    scale = sqrt(summed(square(powers), 0))
    powers = divide(powers, scale)
    solution, rest, rank, s = lstsq(powers, values, limit)
    fitted = divide(solution, scale if solution.ndim == 1 else expand_dims(scale, 1))
    if full:
        return fitted, rest, rank, s, limit
    if not cov:
        return fitted
    spread = divide(inv(matmul(transpose(powers), powers)), outer(scale, scale))
    if cov == "unscaled":
        return fitted, spread if values.ndim == 1 else expand_dims(spread, 2)
    if len(points) <= order:
        raise ShapeError(
            bad("polyfit", "x", points.shape, f"more than {order} points, to scale covariances by residuals")
        )
    away = summed(square(subtract(values, matmul(powers, solution))), 0) / (len(points) - order)
    return fitted, multiply(spread if values.ndim == 1 else expand_dims(spread, 2), away)
