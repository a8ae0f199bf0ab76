"""Elementwise functions that are no ufuncs in NumPy."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, bad
from ...graph.kinds.elementwise import Elementwise, Scalar
from ..base import as_array, check_device, check_dtype, make
from .elementwise_nodes import apply, cast
from .outputs import deliver
from .selections import elementwise
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


@elementwise
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None, casting: str = "unsafe") -> Array:
    """Cast the elements.

    Parameters
    ----------
    x : array
    dtype : dtype
    copy : bool
        Says nothing here: setting elements of the result never changes `x`.
    device : str, optional
        The only one, "cpu".
    casting : str
        NumPy's rule for what may be cast to what.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.astype(wr.arange(3), float).compute()
    array([0., 1., 2.])
    """
    check_device("astype", device)
    array = as_array("astype", "x", x)
    wanted = check_dtype("astype", "dtype", dtype, array.dtype)
    if casting != "unsafe" and not np.can_cast(array.dtype, wanted, casting=casting):  # type: ignore[arg-type]
        raise DTypeError(
            bad("astype", "dtype", wanted, f"a dtype to which {array.dtype} is cast by the rule {casting!r}")
        )
    return cast(array, wanted)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Choose elements of `x` where the condition holds, else of `y`.

    Parameters
    ----------
    condition, x, y : array or scalar
        They broadcast. With a condition alone: the positions where it holds, as `nonzero` has them.

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
    if x is None and y is None:
        nonzero = importlib.import_module(str(__package__).partition(".")[0]).nonzero
        return nonzero(condition)
    if x is None or y is None:
        raise ArgumentError(bad("where", "y" if y is None else "x", None, "both x and y, or neither"))
    return apply("where", "where", (condition, x, y), np.where)


@elementwise
def real(val: Any) -> Array:
    """Return the real parts.

    Parameters
    ----------
    val : array

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> float(wr.real(wr.full((), 1 + 2j)))
    1.0
    """
    array = as_array("real", "val", val)
    return apply("real", "real", (array,), np.real) if array.dtype.kind == "c" else array


@elementwise
def imag(val: Any) -> Array:
    """Return the imaginary parts.

    Parameters
    ----------
    val : array

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> float(wr.imag(wr.full((), 1 + 2j)))
    2.0
    """
    return apply("imag", "imag", (as_array("imag", "val", val),), np.imag)


@elementwise
def angle(z: Any, deg: bool = False) -> Array:
    """Return the angles of complex numbers, in radians unless `deg`.

    Parameters
    ----------
    z : array
    deg : bool
        Whether to return degrees.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.angle(wr.full(1, 1j)).compute()
    array([1.57079633])
    """
    found = apply("angle", "angle", (as_array("angle", "z", z),), np.angle)
    return multiply(found, 180 / np.pi) if deg else found


@elementwise
def round(a: Any, decimals: int = 0, out: Any = None) -> Array:
    """Round to a number of decimals, halves to even.

    Parameters
    ----------
    a : array
    decimals : int
    out : Array or numpy.ndarray, optional

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
    array = as_array("round", "a", a)
    dtype = np.round(np.empty(0, array.dtype), int(decimals)).dtype
    found = make(Elementwise("round", (0, Scalar(int(decimals)))), (array,), array.expr.grid, dtype)
    return deliver("round", found, out)  # type: ignore[no-any-return]


around = round


@elementwise
def clip(
    a: Any, min: Any = None, max: Any = None, out: Any = None, *, a_min: Any = None, a_max: Any = None, **options: Any
) -> Array:
    """Limit the elements to a range.

    Parameters
    ----------
    a : array
    min, max : array, scalar or None
        None: no limit on that side. `a_min` and `a_max` are NumPy's other names for them.
    out : Array or numpy.ndarray, optional
    **options
        `where`, `dtype` and `casting`, as ufuncs take them.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.clip(wr.arange(5), 1, 3).compute()
    array([1, 1, 2, 3, 3])
    """
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    found = as_array("clip", "a", a)
    if found.dtype.kind in "iu":  # limits beyond what the dtype can hold are none
        low = None if type(low) is int and low <= np.iinfo(found.dtype).min else low
        high = None if type(high) is int and high >= np.iinfo(found.dtype).max else high
    if low is not None:
        found = maximum(found, low, **(options if high is None else {}))
    if high is not None:
        found = minimum(found, high, **options)
    return deliver("clip", found, out, options.get("casting", "same_kind"))  # type: ignore[no-any-return]


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
    if right.dtype.kind in "biu":
        right = cast(right, np.float64)
    near = less_equal(absolute(subtract(left, right)), add(atol, multiply(rtol, absolute(right))))
    found: Array = logical_or(logical_and(near, isfinite(right)), equal(left, right))
    return logical_or(found, logical_and(isnan(left), isnan(right))) if equal_nan else found


def joined(real_parts: Array, imaginary_parts: Array) -> Array:
    """Return the complex numbers of real and imaginary parts of one dtype."""
    return apply("complex", "complex", (real_parts, imaginary_parts), lambda x, y: x + 1j * y)


@elementwise
def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """Put a number where NaN is, and the largest numbers of the dtype where infinities are.

    Parameters
    ----------
    x : array
    copy : bool
        Says nothing here: `x` stays as it is.
    nan : float
    posinf, neginf : float, optional
        Other numbers than the largest and the least.

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
    if array.dtype.kind == "c":
        parts = [nan_to_num(part, copy, nan, posinf, neginf) for part in (real(array), imag(array))]
        return cast(joined(*parts), array.dtype)
    if array.dtype.kind != "f":
        return array
    limits, exact = np.finfo(array.dtype), array.dtype.type
    top, bottom = exact(limits.max if posinf is None else posinf), exact(limits.min if neginf is None else neginf)
    found = where(isnan(array), exact(nan), array)
    found = where(equal(array, np.inf), top, where(equal(array, -np.inf), bottom, found))
    return cast(found, array.dtype)
