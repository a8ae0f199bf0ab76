"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...graph.errors import ArgumentError, AxisError, ShapeError, bad
from ..base import as_array, check_axis
from ..ops.elementwise.functions import astype, imag, real
from ..ops.elementwise.ufuncs import abs, multiply, not_equal, power, sqrt
from ..ops.moves.axis_moves import expand_dims, moveaxis
from ..ops.reductions.extremes import amax, amin
from ..ops.reductions.sums import sum as summed
from .common import real_dtype
from .factors.singular import svdvals

if TYPE_CHECKING:
    from ..array import Array
    from ..typing import ArrayLike, AxisLike

__all__ = [
    "matrix_norm",
    "norm",
    "vector_norm",
]


def _floating(operation: str, x: ArrayLike) -> Array:
    """Return an operand as an array of floating-point numbers."""
    array = as_array(operation, "x", x)
    if array.dtype.kind in "biu":
        return astype(array, np.float64)
    if array.dtype.kind not in "fc":
        raise ArgumentError(bad(operation, "x", array.dtype, "numbers"))
    return array


def _squares(x: Array) -> Array:
    if x.dtype.kind != "c":
        return multiply(x, x)  # type: ignore[no-any-return]
    a, b = real(x), imag(x)
    return multiply(a, a) + multiply(b, b)  # type: ignore[no-any-return]


def _vector(operation: str, x: Array, axis: int | tuple[int, ...] | None, keepdims: bool, ord: float | str) -> Array:
    """Return a norm over all elements along some axes, as NumPy computes it."""
    if isinstance(ord, str) or not np.isreal(ord):
        raise ArgumentError(bad(operation, "ord", ord, "a number, inf or -inf for vectors"))
    if ord == np.inf:
        return _largest(abs(x), axis, keepdims)
    if ord == -np.inf:
        return amin(abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return summed(astype(not_equal(x, 0), real_dtype(x.dtype)), axis=axis, keepdims=keepdims)
    if ord == 1:
        return summed(abs(x), axis=axis, keepdims=keepdims)
    if ord == 2:
        return sqrt(summed(_squares(x), axis=axis, keepdims=keepdims))  # type: ignore[no-any-return]
    total = summed(power(abs(x), ord), axis=axis, keepdims=keepdims)
    return astype(power(total, 1 / ord if ord else 1.0), real_dtype(x.dtype))


def _largest(x: Array, axis: int | tuple[int, ...] | None, keepdims: bool) -> Array:
    """Return the maximum of elements that aren't negative: 0 if there are none."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    if any(x.shape[a] == 0 for a in axes):
        return summed(x, axis=axis, keepdims=keepdims)
    return amax(x, axis=axis, keepdims=keepdims)


def _matrix(operation: str, x: Array, axes: tuple[int, int], keepdims: bool, ord: float | str | None) -> Array:
    """Return a norm of the matrices along two axes."""
    row, column = axes
    if ord in (None, "fro", "f"):
        return _vector(operation, x, axes, keepdims, 2)
    if ord not in (("nuc",) if isinstance(ord, str) else (1, -1, 2, -2, np.inf, -np.inf)):
        raise ArgumentError(bad(operation, "ord", ord, "None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf for matrices"))
    if ord in ("nuc", 2, -2):
        norms = _spectral(moveaxis(x, axes, (-2, -1)), ord)
        return expand_dims(norms, sorted(axes)) if keepdims else norms
    sums = summed(abs(x), axis=row if ord in (1, -1) else column, keepdims=True)
    if ord in (1, np.inf):
        return _largest(sums, axes, keepdims)
    return amin(sums, axis=axes, keepdims=keepdims)


def _spectral(x: Array, ord: float | str | None) -> Array:
    values = svdvals(x)
    if ord == "nuc":
        return summed(values, axis=-1)
    return _largest(values, -1, False) if ord == 2 else amin(values, axis=-1)


def norm(x: ArrayLike, ord: float | str | None = None, axis: AxisLike = None, keepdims: bool = False) -> Array:
    """Return norms of vectors or matrices.

    Parameters
    ----------
    x : array_like
        Numbers; integers are computed as float64.
    ord : number, inf, -inf, "fro", "nuc" or None
        Which norm; None: the square root of the sum of squares. Of vectors: the sum of powers `ord`, to the power of `1
        / ord`; 0 counts what isn't zero. Of matrices: "fro", "nuc", 1, -1, 2, -2, inf, -inf.
    axis : int, pair of int or None
        One axis: of vectors; two: of matrices. None: all of them, flattened where `ord` is None.
    keepdims : bool, optional
        Whether the reduced axes stay, as size-1 axes.

    Returns
    -------
    Array
        In the shape of `x` without `axis`; real.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array; `x` isn't numbers; or `ord` is unknown for vectors or matrices.
    AxisError
        The array has no such axis.
    ShapeError
        There are neither one nor two axes, an axis is named twice, or there are no elements for a least one.

    Notes
    -----
    The norms 2, -2 and "nuc" of matrices need their singular values: see `windrow.linalg.svdvals`.

    >>> wr.linalg.norm(wr.full(4, 2.0)).compute()
    np.float64(4.0)
    """
    array = _floating("norm", x)
    if axis is None:
        if ord is None or (ord == 2 and array.ndim == 1) or (ord in ("f", "fro") and array.ndim == 2):
            return _vector("norm", array, None, keepdims, 2)
        axes = tuple(range(array.ndim))
    else:
        axis_numbers = axis if isinstance(axis, tuple | list) else (axis,)
        axes = tuple(check_axis("norm", a, array.ndim) for a in axis_numbers)
    if len(axes) == 1:
        return _vector("norm", array, axes[0], keepdims, 2 if ord is None else ord)
    if len(axes) != 2:
        raise ShapeError(bad("norm", "axis", axis, f"one or two axes of shape {array.shape}"))
    if axes[0] == axes[1]:
        raise ShapeError(bad("norm", "axis", axis, "two different axes"))
    return _matrix("norm", array, (axes[0], axes[1]), keepdims, ord)


def vector_norm(x: ArrayLike, /, *, axis: AxisLike = None, keepdims: bool = False, ord: float | str = 2) -> Array:
    """Return norms of vectors.

    Parameters
    ----------
    x : array_like
        Numbers; integers are computed as float64.
    axis : int, tuple of int or None
        The vectors' elements lie along these axes. None: along all.
    keepdims : bool, optional
        Whether the reduced axes stay, as size-1 axes.
    ord : number, inf or -inf
        The sum of powers `ord`, to the power of `1 / ord`; inf: the greatest, -inf: the least absolute value; 0 counts
        what isn't zero.

    Returns
    -------
    Array
        In the shape of `x` without `axis`; real.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array; `x` isn't numbers; or `ord` isn't a number.
    AxisError
        The array has no such axis.
    ShapeError
        There are no elements for a least one.

    >>> wr.linalg.vector_norm(wr.ones((2, 4)), axis=1).compute()
    array([2., 2.])
    """
    array = _floating("vector_norm", x)
    if axis is not None:
        axis_numbers = axis if isinstance(axis, tuple | list) else (axis,)
        axis = tuple(check_axis("vector_norm", a, array.ndim) for a in axis_numbers)
    return _vector("vector_norm", array, axis, keepdims, ord)


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: float | str = "fro") -> Array:
    """Return norms of the matrices along the last two axes.

    Parameters
    ----------
    x : array_like (..., M, N)
        Numbers; integers are computed as float64.
    keepdims : bool
        Whether the last two axes stay, as size-1 axes.
    ord : {"fro", "nuc", 1, -1, 2, -2, inf, -inf}
        "fro": the square root of the sum of squares; "nuc": the sum of singular values, 2 and -2: the greatest and the
        least; 1, -1: the greatest and the least sum of a column, inf, -inf: of a row.

    Returns
    -------
    Array (...)
        Real.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array; `x` isn't numbers; or `ord` is unknown.
    AxisError
        `x` has fewer than two axes.
    ShapeError
        There are no elements for a least one.

    Notes
    -----
    "nuc", 2 and -2 need the singular values: see `windrow.linalg.svdvals`.

    >>> wr.linalg.matrix_norm(wr.ones((2, 3)), ord=1).compute()
    np.float64(2.0)
    """
    array = _floating("matrix_norm", x)
    if array.ndim < 2:
        raise AxisError(bad("matrix_norm", "x", array.shape, "an array of at least two axes"))
    return _matrix("matrix_norm", array, (array.ndim - 2, array.ndim - 1), keepdims, ord)
