"""Elementwise functions that are no ufuncs in NumPy."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import check_integer
from ....graph.errors import ArgumentError, DTypeError, bad
from ....graph.keyword_hints import refuse
from ....graph.kinds.elementwise import Elementwise, Scalar
from ...base import SCALARS, ArrayBase, as_array, check_device, check_dtype, make
from ...values import hold
from ...views import gives_view
from ..outputs import deliver
from .nodes import apply, cast
from .selections import elementwise
from .ufunc import is_ignored
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
    from ...array import Array
    from ...typing import ArrayLike, DTypeLike, OutLike

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
def astype(
    x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = True, device: str | None = None, casting: str = "unsafe"
) -> Array:
    """Return the array with its elements cast to a dtype.

    Parameters
    ----------
    x : array_like
        The array.
    dtype : dtype
        To cast to.
    copy : bool
        False: where there is nothing to cast, the array itself is returned.
    device : str, optional
        Accepted for the array API standard: None or "cpu", the only device.
    casting : str
        NumPy's rule for what may be cast: "no", "equiv", "safe", "same_kind" or "unsafe".

    Returns
    -------
    Array
        Lazy, of the shape of `x`.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `device` is neither None
        nor "cpu".
    DTypeError
        `x` holds Python objects. `dtype` is not a NumPy dtype, or one of Python objects. `casting` doesn't allow the
        cast.

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
    return x if not copy and isinstance(x, ArrayBase) and wanted == array.dtype else cast(array, wanted)  # type: ignore[return-value]


def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None) -> Any:
    """Return elements of `x` where a condition holds, and of `y` elsewhere.

    Parameters
    ----------
    condition : array_like
        Chooses `x` where it isn't zero. Alone, it gives `nonzero(condition)`.
    x, y : array_like, optional
        Both or neither; they broadcast with `condition`.

    Returns
    -------
    Array
        Lazy, of the broadcast shape and the dtype that `x` and `y` promote to; a tuple of positions for a condition
        alone.

    Raises
    ------
    ArgumentError
        `condition`, `x` or `y` can't be read as an array: an unknown object, a ragged sequence or a masked array. Only
        one of `x` and `y` is given.
    ShapeError
        The shapes don't broadcast, or a lone condition is 0-d.
    DTypeError
        `condition`, `x` or `y` holds Python objects. `x` and `y` have no common dtype.
    RangeError
        `x` or `y` is an integer of Python's that the other's dtype can't hold.

    >>> x = wr.arange(4)
    >>> wr.where(x > 1, x, 0).compute()
    array([0, 0, 2, 3])
    """
    if x is None and y is None:
        nonzero = importlib.import_module(str(__package__).partition(".")[0]).nonzero
        return nonzero(condition)
    if x is None or y is None:
        raise ArgumentError(bad("where", "y" if y is None else "x", None, "both x and y, or neither"))
    selected = apply("where", "where", (condition, x, y), np.where)
    for name, value in (("x", x), ("y", y)):
        if type(value) is int:  # as NumPy's `where` casts it: 300 becomes 44 in uint8
            hold("where", name, value, selected.dtype)
    return selected


@elementwise
@gives_view
def real(val: ArrayLike) -> Array:
    """Return the real part of each element.

    Parameters
    ----------
    val : array_like
        The numbers.

    Returns
    -------
    Array
        Lazy; real arrays come back as they are.

    Raises
    ------
    ArgumentError
        `val` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    DTypeError
        `val` holds Python objects.

    >>> float(wr.real(wr.full((), 1 + 2j)))
    1.0
    """
    if isinstance(val, ArrayBase) and val.dtype.kind != "c":
        return val  # type: ignore[return-value]  # as NumPy's
    array = as_array("real", "val", val)
    return apply("real", "real", (array,), np.real) if array.dtype.kind == "c" else array


@elementwise
@gives_view
def imag(val: ArrayLike) -> Array:
    """Return the imaginary part of each element.

    Parameters
    ----------
    val : array_like
        The numbers.

    Returns
    -------
    Array
        Lazy; zeros for real numbers.

    Raises
    ------
    ArgumentError
        `val` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    DTypeError
        `val` holds Python objects.

    >>> float(wr.imag(wr.full((), 1 + 2j)))
    2.0
    """
    return apply("imag", "imag", (as_array("imag", "val", val),), np.imag)


@elementwise
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Return the angle of each complex number.

    Parameters
    ----------
    z : array_like
        The numbers.
    deg : bool
        Whether to return degrees; else radians.

    Returns
    -------
    Array
        Lazy and real, from -pi to pi (-180 to 180).

    Raises
    ------
    ArgumentError
        `z` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    DTypeError
        `z` holds Python objects. The elements are no numbers.

    >>> wr.angle(wr.full(1, 1j)).compute()
    array([1.57079633])
    """
    angles = apply("angle", "angle", (as_array("angle", "z", z),), np.angle)
    return multiply(angles, 180 / np.pi) if deg else angles


@elementwise
def round(a: ArrayLike, decimals: int = 0, out: OutLike = None) -> Array:
    """Round to a number of decimals, halves to even.

    Parameters
    ----------
    a : array_like
        The array.
    decimals : int
        Digits after the decimal point; negative: before it.
    out : Array or numpy.ndarray, optional
        Takes the result: a lazy array stands for it from then on, a NumPy array is filled at the call.

    Returns
    -------
    Array
        Lazy, of the shape and dtype of `a`.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `decimals` is not an
        integer. `out` is not an array.
    ShapeError
        `out` doesn't have the result's shape.
    DTypeError
        `a` holds Python objects. The elements are no numbers. The result can't be cast to the dtype of `out` by the
        rule "same_kind".

    >>> wr.round(wr.full(1, 1.26), 1).compute()
    array([1.3])
    """
    decimals = check_integer("round", "decimals", decimals)
    array = as_array("round", "a", a)
    try:
        dtype = np.round(np.empty(0, array.dtype), int(decimals)).dtype
    except TypeError as error:
        raise DTypeError(bad("round", "a", array.dtype, "an array of numbers")) from error
    rounded = make(Elementwise("round", (0, Scalar(int(decimals)))), (array,), array.expr.grid, dtype)
    return deliver("round", rounded, out, broadcasts=True)  # type: ignore[no-any-return]


around = round


@elementwise
def clip(
    a: ArrayLike,
    min: Any = None,
    max: Any = None,
    out: OutLike = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
    **options: Any,
) -> Array:
    """Limit the elements to a range.

    Parameters
    ----------
    a : array_like
        The array.
    min, max : array_like or None
        Lower and upper limits, which broadcast with `a`; None: no limit on that side.
    out : Array or numpy.ndarray, optional
        Takes the result: a lazy array stands for it from then on, a NumPy array is filled at the call.
    a_min, a_max : array_like or None
        NumPy's other names of `min` and `max`.
    **options : any
        `where`, `dtype` and `casting`, as for ufuncs.

    Returns
    -------
    Array
        Lazy, of the broadcast shape.

    Raises
    ------
    ArgumentError
        `a`, `min` or `max` can't be read as an array: an unknown object, a ragged sequence or a masked array. `out` is
        not an array. There is a keyword that ufuncs don't have.
    ShapeError
        The shapes don't broadcast. `out` doesn't have the result's shape.
    DTypeError
        `a`, `min` or `max` holds Python objects. The elements can't be compared. The result can't be cast to the dtype
        of `out` by the rule "same_kind".

    >>> wr.clip(wr.arange(5), 1, 3).compute()
    array([1, 1, 2, 3, 3])
    """
    known = ("where", "dtype", "casting")
    refuse(
        "clip",
        {n: v for n, v in options.items() if n not in known and not is_ignored(n, v)},
        ["min", "max", "out", *known],
    )
    options = {name: options[name] for name in known if name in options}
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    array = as_array("clip", "a", a)
    if array.dtype.kind in "iu":  # a limit that the dtype can't hold limits nothing
        low = None if type(low) is int and low <= np.iinfo(array.dtype).min else low
        high = None if type(high) is int and high >= np.iinfo(array.dtype).max else high
    if low is not None and high is not None:
        array = _between(array, low, high, options)
    elif low is not None:
        array = maximum(array, low, **options)
    elif high is not None:
        array = minimum(array, high, **options)
    return deliver("clip", array, out, options.get("casting", "same_kind"), broadcasts=True)  # type: ignore[no-any-return]


def _between(x: Array, low: ArrayLike, high: ArrayLike, options: dict[str, Any]) -> Array:
    """Limit elements on both sides. If both limits are scalars, -0.0 keeps its sign, as in NumPy."""
    if not options:
        limits = [np.asarray(v) if isinstance(v, list | tuple) else v for v in (low, high)]
        x = cast(x, np.result_type(x.dtype, *(getattr(v, "dtype", v) for v in limits)))
    clipped: Array = minimum(maximum(x, low), high, **options)
    plain = isinstance(low, SCALARS) and isinstance(high, SCALARS)
    if clipped.dtype.kind not in "fc" or not plain or (low != 0 and high != 0):
        return clipped
    same = cast(x, clipped.dtype)
    return apply("clip", "where", (equal(clipped, same), same, clipped), np.where)


def isclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Array:
    """Return where two arrays are equal within a tolerance: `abs(a - b) <= atol + rtol * abs(b)`.

    Parameters
    ----------
    a, b : array_like
        The arrays; they broadcast.
    rtol : float
        Tolerance relative to `b`.
    atol : float
        Absolute tolerance.
    equal_nan : bool
        Whether NaN counts as equal to NaN.

    Returns
    -------
    Array
        Lazy, of bool.

    Raises
    ------
    ArgumentError
        `a` or `b` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        The shapes don't broadcast.
    DTypeError
        `a` or `b` holds Python objects. The elements can't be subtracted.

    >>> wr.isclose(wr.ones(2), 1 + 1e-9).compute()
    array([ True,  True])
    """
    left, right = as_array("isclose", "a", a), as_array("isclose", "b", b)
    if right.dtype.kind in "biu":
        right = cast(right, np.float64)
    near = less_equal(absolute(subtract(left, right)), add(atol, multiply(rtol, absolute(right))))
    close: Array = logical_or(logical_and(near, isfinite(right)), equal(left, right))
    return logical_or(close, logical_and(isnan(left), isnan(right))) if equal_nan else close


def join_parts(real_parts: Array, imaginary_parts: Array) -> Array:
    """Return complex numbers with these real and imaginary parts, which have one dtype."""
    return apply("complex", "complex", (real_parts, imaginary_parts), lambda x, y: x + 1j * y)


def nan_to_num(
    x: ArrayLike, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """Replace NaN by a number, and infinities by the largest numbers of the dtype.

    Parameters
    ----------
    x : array_like
        The array.
    copy : bool
        False: elements are replaced in `x`, if that is a Windrow array.
    nan : float
        What replaces NaN.
    posinf, neginf : float, optional
        What replaces positive and negative infinity; None: the largest and smallest number of the dtype.

    Returns
    -------
    Array
        Lazy, of the shape and dtype of `x`.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    DTypeError
        `x` holds Python objects.

    >>> wr.nan_to_num(wr.full(2, float("nan"))).compute()
    array([0., 0.])
    """
    filled = _nan_to_num(x, nan, posinf, neginf)
    if copy or not isinstance(x, ArrayBase):
        return filled
    deliver("nan_to_num", filled, x)
    return x  # type: ignore[return-value]


@elementwise
def _nan_to_num(x: ArrayLike, nan: float, posinf: float | None, neginf: float | None) -> Array:
    array = as_array("nan_to_num", "x", x)
    if array.dtype.kind == "c":
        parts = [_nan_to_num(part, nan, posinf, neginf) for part in (real(array), imag(array))]
        return cast(join_parts(*parts), array.dtype)
    if array.dtype.kind != "f":
        return array
    limits, exact = np.finfo(array.dtype), array.dtype.type
    top, bottom = exact(limits.max if posinf is None else posinf), exact(limits.min if neginf is None else neginf)
    filled = where(isnan(array), exact(nan), array)
    filled = where(equal(array, np.inf), top, where(equal(array, -np.inf), bottom, filled))
    return cast(filled, array.dtype)
