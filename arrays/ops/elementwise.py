"""Elementwise functions that are no ufuncs in NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from ...graph.kinds.elementwise import Elementwise, Scalar
from ..core import as_array, check_dtype, make
from .apply import apply
from .ufuncs import (
    absolute,
    add,
    equal,
    isfinite,
    isnan,
    less_equal,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiply,
    subtract,
)

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "angle",
    "around",
    "astype",
    "clip",
    "imag",
    "isclose",
    "nan_to_num",
    "real",
    "round",
    "where",
]


def astype(x: Any, dtype: Any) -> Array:
    """Cast the elements.

    Parameters
    ----------
    x : array
    dtype : dtype

    Returns
    -------
    Array
        The array itself where it has the dtype already.

    Examples
    --------
    >>> import windrow as wr
    >>> wr.astype(wr.arange(3), float).compute()
    array([0., 1., 2.])
    """
    array = as_array("astype", "x", x)
    wanted = np.empty(0, array.dtype).astype(check_dtype("astype", "dtype", dtype)).dtype
    if wanted == array.dtype:
        return array
    return make(Elementwise("cast", (0,)), (array,), array.expr.grid, wanted)


def where(condition: Any, x: Any, y: Any) -> Array:
    """Choose elements of `x` where the condition holds, else of `y`.

    Parameters
    ----------
    condition, x, y : array or scalar
        They broadcast.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> x = wr.arange(4)
    >>> wr.where(x > 1, x, 0).compute()
    array([0, 0, 2, 3])
    """
    return apply("where", "where", (condition, x, y), np.where)


def real(x: Any) -> Array:
    """Return the real parts.

    Parameters
    ----------
    x : array

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> float(wr.real(wr.full((), 1 + 2j)))
    1.0
    """
    array = as_array("real", "x", x)
    return apply("real", "real", (array,), np.real) if array.dtype.kind == "c" else array


def imag(x: Any) -> Array:
    """Return the imaginary parts.

    Parameters
    ----------
    x : array

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> float(wr.imag(wr.full((), 1 + 2j)))
    2.0
    """
    return apply("imag", "imag", (as_array("imag", "x", x),), np.imag)


def angle(x: Any) -> Array:
    """Return the angles of complex numbers, in radians.

    Parameters
    ----------
    x : array

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.angle(wr.full(1, 1j)).compute()
    array([1.57079633])
    """
    return apply("angle", "angle", (as_array("angle", "x", x),), np.angle)


def round(x: Any, decimals: int = 0) -> Array:
    """Round to a number of decimals, halves to even.

    Parameters
    ----------
    x : array
    decimals : int

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.round(wr.full(1, 1.26), 1).compute()
    array([1.3])
    """
    if isinstance(decimals, bool) or not isinstance(decimals, int | np.integer):
        raise ArgumentError(bad("round", "decimals", decimals, "an integer"))
    array = as_array("round", "x", x)
    dtype = np.round(np.empty(0, array.dtype), int(decimals)).dtype
    return make(Elementwise("round", (0, Scalar(int(decimals)))), (array,), array.expr.grid, dtype)


around = round


def clip(x: Any, min: Any = None, max: Any = None) -> Array:
    """Limit the elements to a range.

    Parameters
    ----------
    x : array
    min, max : array, scalar or None
        None: no limit on that side.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.clip(wr.arange(5), 1, 3).compute()
    array([1, 1, 2, 3, 3])
    """
    found = as_array("clip", "x", x)
    if min is not None:
        found = maximum(found, min)
    if max is not None:
        found = minimum(found, max)
    return found


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Array:
    """Tell where elements are equal within a tolerance: `|a - b| <= atol + rtol * |b|`.

    Parameters
    ----------
    a, b : array or scalar
    rtol, atol : float
    equal_nan : bool
        Whether NaN counts as equal to NaN.

    Returns
    -------
    Array of bool

    Examples
    --------
    >>> import windrow as wr
    >>> wr.isclose(wr.ones(2), 1 + 1e-9).compute()
    array([ True,  True])
    """
    left, right = as_array("isclose", "a", a), as_array("isclose", "b", b)
    near = less_equal(absolute(subtract(left, right)), add(atol, multiply(rtol, absolute(right))))
    found: Array = logical_or(logical_and(near, isfinite(right)), equal(left, right))
    return logical_or(found, logical_and(isnan(left), isnan(right))) if equal_nan else found


def nan_to_num(x: Any, nan: float = 0.0) -> Array:
    """Put a number where NaN is, and the largest numbers of the dtype where infinities are.

    Parameters
    ----------
    x : array of real numbers
    nan : float

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.nan_to_num(wr.full(2, float("nan"))).compute()
    array([0., 0.])
    """
    array = as_array("nan_to_num", "x", x)
    if array.dtype.kind != "f":
        return array
    limits = np.finfo(array.dtype)
    return clip(where(isnan(array), array.dtype.type(nan), array), limits.min, limits.max)
