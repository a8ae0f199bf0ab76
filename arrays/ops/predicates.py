"""Telling kinds of numbers apart, and bits of integers packed into bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.grid import Axis, Grid
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.source import Full
from ..base import as_array, check_axis, grid_for, make
from ..chunking.rechunk import regrid
from . import extremes
from .elementwise import imag, real
from .joining import concatenate
from .outputs import deliver
from .ufuncs import absolute, equal, isinf, less, logical_and, not_equal, signbit, trunc

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "fix",
    "iscomplex",
    "iscomplexobj",
    "isneginf",
    "isposinf",
    "isreal",
    "isrealobj",
    "packbits",
    "real_if_close",
    "unpackbits",
]


def _everywhere(array: Array, value: bool) -> Array:
    """Return one truth value for each element, in an array's chunks."""
    return make(Full(np.bool(value)), (), array.expr.grid, np.bool)


def isreal(x: Any) -> Array:
    """Tell where the imaginary part is zero; texts and dates have none that is.

    Parameters
    ----------
    x : array

    Returns
    -------
    Array of bool

    Examples
    --------
    >>> import windrow as wr
    >>> wr.isreal(wr.asarray([1 + 0j, 1j])).compute()
    array([ True, False])
    """
    array = as_array("isreal", "x", x)
    return equal(imag(array), 0) if array.dtype.kind == "c" else _everywhere(array, array.dtype.kind not in "SUM")


def iscomplex(x: Any) -> Array:
    """Tell where the imaginary part is not zero.

    Parameters
    ----------
    x : array

    Returns
    -------
    Array of bool

    Examples
    --------
    >>> import windrow as wr
    >>> wr.iscomplex(wr.asarray([1 + 0j, 1j])).compute()
    array([False,  True])
    """
    array = as_array("iscomplex", "x", x)
    return not_equal(imag(array), 0) if array.dtype.kind == "c" else _everywhere(array, False)


def iscomplexobj(x: Any) -> bool:
    """Tell whether an array's dtype is one of complex numbers.

    Parameters
    ----------
    x : array

    Returns
    -------
    bool

    Examples
    --------
    >>> import windrow as wr
    >>> wr.iscomplexobj(wr.ones(2))
    False
    """
    return as_array("iscomplexobj", "x", x).dtype.kind == "c"


def isrealobj(x: Any) -> bool:
    """Tell whether an array's dtype is not one of complex numbers.

    Parameters
    ----------
    x : array

    Returns
    -------
    bool

    Examples
    --------
    >>> import windrow as wr
    >>> wr.isrealobj(wr.ones(2))
    True
    """
    return not iscomplexobj(x)


def real_if_close(a: Any, tol: float = 100) -> Array:
    """Return the real parts where no imaginary part is far from zero, else the array.

    The result's dtype depends on the data: of complex arrays the imaginary parts are computed at the call.

    Parameters
    ----------
    a : array
    tol : float
        What counts as zero, in units of the dtype's precision where more than 1.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.real_if_close(wr.asarray([1 + 1e-15j])).dtype
    dtype('float64')
    """
    array = as_array("real_if_close", "a", a)
    if array.dtype.kind != "c":
        return array
    least = np.finfo(array.dtype).eps * tol if tol > 1 else tol
    return real(array) if bool(extremes.all(less(absolute(imag(array)), least))) else array


def isposinf(x: Any, out: Any = None) -> Any:
    """Tell where an element is positive infinity.

    Parameters
    ----------
    x : array of real numbers
    out : array, optional
        Takes the result, and is returned.

    Returns
    -------
    Array of bool

    Examples
    --------
    >>> import windrow as wr
    >>> wr.isposinf(wr.asarray([1.0, wr.inf, -wr.inf])).compute()
    array([False,  True, False])
    """
    return deliver("isposinf", _infinite("isposinf", x, negative=False), out)


def isneginf(x: Any, out: Any = None) -> Any:
    """Tell where an element is negative infinity.

    Parameters
    ----------
    x : array of real numbers
    out : array, optional
        Takes the result, and is returned.

    Returns
    -------
    Array of bool

    Examples
    --------
    >>> import windrow as wr
    >>> wr.isneginf(wr.asarray([1.0, wr.inf, -wr.inf])).compute()
    array([False, False,  True])
    """
    return deliver("isneginf", _infinite("isneginf", x, negative=True), out)


def _infinite(operation: str, x: Any, *, negative: bool) -> Array:
    array = as_array(operation, "x", x)
    if array.dtype.kind not in "biuf":
        raise DTypeError(bad(operation, "x", array.dtype, "an array of real numbers"))
    if array.dtype.kind != "f":
        return _everywhere(array, False)
    sign = signbit(array)
    found: Array = logical_and(isinf(array), sign if negative else equal(sign, False))
    return found


def fix(x: Any, out: Any = None) -> Any:
    """Round towards zero.

    Parameters
    ----------
    x : array of real numbers
    out : array, optional
        Takes the result, and is returned.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.fix(wr.asarray([2.7, -2.7])).compute()
    array([ 2., -2.])
    """
    return deliver("fix", trunc(as_array("fix", "x", x)), out)


def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> Array:
    """Pack booleans, or what isn't zero, into bits of bytes.

    Parameters
    ----------
    a : array of bool or integers
    axis : int or None
        None: of the flattened array. Eight elements make a byte; what is missing at the end is zero.
    bitorder : "big" or "little"
        Whether the first element is the highest bit.

    Returns
    -------
    Array of uint8

    Examples
    --------
    >>> import windrow as wr
    >>> wr.packbits(wr.asarray([True, False, True])).compute()
    array([160], dtype=uint8)
    """
    array = as_array("packbits", "a", a)
    if array.dtype.kind not in "biu":
        raise DTypeError(bad("packbits", "a", array.dtype, "an array of bool or integers"))
    array, at = _lines("packbits", array, axis, bitorder)
    own = array.expr.grid.axes[at]
    step = -(-own.largest // 8) * 8
    axes = list(array.expr.grid.axes)
    axes[at] = Axis.regular(own.length, max(8, step))
    result = list(axes)
    result[at] = Axis.regular(-(-own.length // 8), max(1, step // 8))
    op = BlockFunction("bits:packed", (at, bitorder))
    return make(op, (regrid(array, Grid(axes)),), Grid(result), np.uint8)


def unpackbits(a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Array:
    """Take bytes apart into bits.

    Parameters
    ----------
    a : array of uint8
    axis : int or None
        None: of the flattened array.
    count : int, optional
        How many bits there are along the axis: more are zeros, less than none are left away at the end.
    bitorder : "big" or "little"
        Whether the highest bit comes first.

    Returns
    -------
    Array of uint8

    Examples
    --------
    >>> import windrow as wr
    >>> wr.unpackbits(wr.asarray([160]).astype("u1"), count=3).compute()
    array([1, 0, 1], dtype=uint8)
    """
    array = as_array("unpackbits", "a", a)
    if array.dtype != np.uint8:
        raise DTypeError(bad("unpackbits", "a", array.dtype, "an array of uint8"))
    array, at = _lines("unpackbits", array, axis, bitorder)
    axes = list(array.expr.grid.axes)
    own = axes[at]
    axes[at] = (
        Axis.regular(own.length * 8, own.step * 8) if own.is_regular else Axis.of_sizes(8 * n for n in own.sizes())
    )
    found = make(BlockFunction("bits:unpacked", (at, bitorder)), (array,), Grid(axes), np.uint8)
    if count is None:
        return found
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < -found.shape[at]:
        raise ShapeError(bad("unpackbits", "count", count, f"an integer from {-found.shape[at]} on"))
    if count <= found.shape[at]:
        return found[(*(slice(None),) * at, slice(0, count))]
    more = tuple(count - n if i == at else n for i, n in enumerate(found.shape))
    grid = grid_for("unpackbits", "auto", more, found.dtype)
    return concatenate([found, make(Full(np.uint8(0)), (), grid, found.dtype)], at)


def _lines(operation: str, array: Array, axis: int | None, bitorder: Any) -> tuple[Array, int]:
    if bitorder not in ("big", "little"):
        raise ShapeError(bad(operation, "bitorder", bitorder, "'big' or 'little'"))
    if array.ndim == 0 and axis is not None:
        raise ArgumentError(bad(operation, "axis", axis, "None for an array without axes"))
    return (array.reshape(-1), 0) if axis is None else (array, check_axis(operation, axis, array.ndim))
