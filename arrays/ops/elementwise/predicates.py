"""Tests of elements (real, complex, infinite), rounding towards zero, and packing of bits into bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import check_integer
from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import DTypeError, ShapeError, bad
from ....graph.kinds.mapping import BlockFunction
from ....graph.kinds.source import Full
from ...base import as_array, check_axis, grid_for, make
from ...chunking.rechunk import regrid
from ...views import gives_view
from ..docstrings import OPS
from ..moves.joining import concatenate
from ..outputs import deliver
from ..reductions import extremes
from .functions import imag, real
from .ufuncs import absolute, equal, isinf, less, logical_and, not_equal, signbit, trunc

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, OutLike

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


def isreal(x: ArrayLike) -> Array:
    """Return where the imaginary part is zero.

    Parameters
    ----------
    x : array_like
        The array.

    Returns
    -------
    Array
        Lazy, of bool; all True for real numbers, all False for strings and dates.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    DTypeError
        `x` holds Python objects.

    >>> wr.isreal(wr.asarray([1 + 0j, 1j])).compute()
    array([ True, False])
    """
    array = as_array("isreal", "x", x)
    return equal(imag(array), 0) if array.dtype.kind == "c" else _everywhere(array, array.dtype.kind not in "SUM")


def iscomplex(x: ArrayLike) -> Array:
    """Return where the imaginary part is not zero.

    {Parameters of isreal}

    Returns
    -------
    Array
        Lazy, of bool; all False for a real dtype.

    {Raises of isreal}

    >>> wr.iscomplex(wr.asarray([1 + 0j, 1j])).compute()
    array([False,  True])
    """
    array = as_array("iscomplex", "x", x)
    return not_equal(imag(array), 0) if array.dtype.kind == "c" else _everywhere(array, False)


def iscomplexobj(x: ArrayLike) -> bool:
    """Return whether the dtype is complex.

    Parameters
    ----------
    x : array_like
        The array; it isn't computed.

    Returns
    -------
    bool
        True for a complex dtype, whatever the elements are.

    {Raises of isreal}

    >>> wr.iscomplexobj(wr.ones(2))
    False
    """
    return as_array("iscomplexobj", "x", x).dtype.kind == "c"


def isrealobj(x: ArrayLike) -> bool:
    """Return whether the dtype is not complex.

    {Parameters of iscomplexobj}

    Returns
    -------
    bool
        False for a complex dtype, whatever the elements are.

    {Raises of iscomplexobj}

    >>> wr.isrealobj(wr.ones(2))
    True
    """
    return not iscomplexobj(x)


@gives_view
def real_if_close(a: ArrayLike, tol: float = 100) -> Array:
    """Return the real parts if all imaginary parts are close to zero, else the array.

    Parameters
    ----------
    a : array_like
        The array.
    tol : float
        What counts as close to zero: in units of the dtype's epsilon where larger than 1, else absolute.

    Returns
    -------
    Array
        Lazy, of a real or the complex dtype.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    DTypeError
        `a` holds Python objects.

    Notes
    -----
    The dtype of the result depends on the elements, so the imaginary parts of a complex array are computed at the call.

    >>> wr.real_if_close(wr.asarray([1 + 1e-15j])).dtype
    dtype('float64')
    """
    array = as_array("real_if_close", "a", a)
    if array.dtype.kind != "c":
        return array
    least = np.finfo(array.dtype).eps * tol if tol > 1 else tol
    return real(array) if bool(extremes.all(less(absolute(imag(array)), least))) else array


def isposinf(x: ArrayLike, out: OutLike = None) -> Any:
    """Return where elements are positive infinity.

    Parameters
    ----------
    x : array_like of real numbers
        The array.
    {out}

    Returns
    -------
    Array
        Lazy, of bool.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `out` is not an array.
    {ShapeError}
    DTypeError
        `x` holds Python objects. The elements are no real numbers. The result can't be cast to the dtype of `out` by
        the rule "same_kind".

    >>> wr.isposinf(wr.asarray([1.0, wr.inf, -wr.inf])).compute()
    array([False,  True, False])
    """
    return deliver("isposinf", _infinite("isposinf", x, negative=False), out, broadcasts=True)


def isneginf(x: ArrayLike, out: OutLike = None) -> Any:
    """Return where elements are negative infinity.

    {sections of isposinf}

    >>> wr.isneginf(wr.asarray([1.0, wr.inf, -wr.inf])).compute()
    array([False, False,  True])
    """
    return deliver("isneginf", _infinite("isneginf", x, negative=True), out, broadcasts=True)


def _infinite(operation: str, x: ArrayLike, *, negative: bool) -> Array:
    array = as_array(operation, "x", x)
    if array.dtype.kind not in "biuf":
        raise DTypeError(bad(operation, "x", array.dtype, "an array of real numbers"))
    if array.dtype.kind != "f":
        return _everywhere(array, False)
    sign = signbit(array)
    infinite: Array = logical_and(isinf(array), sign if negative else equal(sign, False))
    return infinite


def fix(x: ArrayLike, out: OutLike = None) -> Any:
    """Round towards zero.

    {Parameters of isposinf}

    Returns
    -------
    Array
        Lazy, of the shape of `x`.

    {Raises of isposinf}

    >>> wr.fix(wr.asarray([2.7, -2.7])).compute()
    array([ 2., -2.])
    """
    return deliver("fix", trunc(as_array("fix", "x", x)), out, broadcasts=True)


def packbits(a: ArrayLike, /, axis: int | None = None, bitorder: str = "big") -> Array:
    """Pack booleans into the bits of bytes, eight to each.

    Parameters
    ----------
    a : array_like of bool or int
        The array; what isn't zero is a set bit.
    axis : int or None
        The axis; None: of the flattened array. Missing bits at its end are zero.
    bitorder : {"big", "little"}
        Whether the first element is the highest or the lowest bit.

    Returns
    -------
    Array
        Lazy, of uint8.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an integer.
    ShapeError
        `bitorder` is neither "big" nor "little".
    {AxisError}
    DTypeError
        `a` holds Python objects. The elements are neither booleans nor integers.

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
    op = BlockFunction("elements.bits:pack_bits", (at, bitorder))
    return make(op, (regrid(array, Grid(axes)),), Grid(result), np.uint8)


def unpackbits(a: ArrayLike, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Array:
    """Unpack bytes into their bits.

    Parameters
    ----------
    a : array_like of uint8
        The bytes.
    axis : int or None
        The axis; None: of the flattened array.
    count : int, optional
        Number of bits along the axis: more are zeros; a negative number leaves out as many at the end. None: all.
    bitorder : {"big", "little"}
        Whether the highest or the lowest bit comes first.

    Returns
    -------
    Array
        Lazy, of uint8: zeros and ones.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an integer.
    ShapeError
        `bitorder` is unknown, or `count` is no integer or leaves out more bits than there are.
    {AxisError}
    DTypeError
        `a` holds Python objects. The elements are not uint8.

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
    bits = make(BlockFunction("elements.bits:unpack_bits", (at, bitorder)), (array,), Grid(axes), np.uint8)
    if count is None:
        return bits
    count = check_integer("unpackbits", "count", count)
    if count < -bits.shape[at]:
        raise ShapeError(bad("unpackbits", "count", count, f"no more than the {bits.shape[at]} bits that there are"))
    if count <= bits.shape[at]:
        return bits[(*(slice(None),) * at, slice(0, count))]
    more = tuple(count - n if i == at else n for i, n in enumerate(bits.shape))
    grid = grid_for("unpackbits", "auto", more, bits.dtype)
    return concatenate([bits, make(Full(np.uint8(0)), (), grid, bits.dtype)], at)


def _lines(operation: str, array: Array, axis: int | None, bitorder: Any) -> tuple[Array, int]:
    if bitorder not in ("big", "little"):
        raise ShapeError(bad(operation, "bitorder", bitorder, "'big' or 'little'"))
    if array.ndim == 0:
        array = array.reshape(1)  # NumPy accepts it with an axis and without
    return (array.reshape(-1), 0) if axis is None else (array, check_axis(operation, axis, array.ndim))


OPS.fill(__name__)
