"""Fitting polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, ShapeError, bad
from ..base import as_array
from ..creation.diagonals import vander
from ..linalg import inv, lstsq
from ..ops.elementwise import astype
from ..ops.moving import expand_dims, transpose
from ..ops.products import matmul, outer
from ..ops.reductions import sum as summed
from ..ops.ufuncs import divide, multiply, sqrt, square, subtract

__all__ = [
    "polyfit",
]


def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: bool | str = False
) -> Any:
    """Fit a polynomial to points, by least squares.

    Where there are many points their powers are brought to a triangle by blocks; see `linalg.lstsq`. NumPy's warning
    about powers that depend on each other isn't given: look at the rank.

    Parameters
    ----------
    x : array (M,)
    y : array (M,) or (M, K)
    deg : int
        The degree.
    rcond : float, optional
        See `linalg.lstsq`; left out: the dtype's precision times M.
    full : bool
        Return residuals, rank, singular values and `rcond` too.
    w : array (M,), optional
        Weights of the points' distances.
    cov : bool or "unscaled"
        Return the coefficients' covariances too; "unscaled": as if the weights were inverse standard deviations.

    Returns
    -------
    Array (deg + 1,) or (deg + 1, K)
        The highest power first; with `full` or `cov` a tuple that begins with it, as in NumPy.

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.arange(1000, chunks=100) / 1000
    >>> wr.polyfit(x, 3 * x**2 - 1, 2).round(9).compute() + 0.0
    array([ 3.,  0., -1.])
    """
    order = check_integer("polyfit", "deg", deg, 0) + 1
    points, values = as_array("polyfit", "x", x), as_array("polyfit", "y", y)
    if points.ndim != 1 or points.size == 0:
        raise ArgumentError(bad("polyfit", "x", points.shape, "one axis, not empty"))
    if values.ndim not in (1, 2) or len(values) != len(points):
        raise ArgumentError(bad("polyfit", "y", values.shape, f"({len(points)},) or ({len(points)}, K)"))
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
    found, rest, rank, s = lstsq(powers, values, limit)
    fitted = divide(found, scale if found.ndim == 1 else expand_dims(scale, 1))
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
    away = summed(square(subtract(values, matmul(powers, found))), 0) / (len(points) - order)
    return fitted, multiply(spread if values.ndim == 1 else expand_dims(spread, 2), away)
