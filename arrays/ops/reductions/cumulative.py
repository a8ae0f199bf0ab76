"""Running sums, products and extremes: each chunk's total, a scan of the totals, then the chunks in one pass.

Totals are combined in the order of the chunks, so that results don't depend on who computes them. Nothing waits for
the driver: the graph is known from the chunks alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.arguments import check_flag
from ....graph.chunks.axismap import Slice
from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, AxisError, DTypeError, bad
from ....graph.kinds.mapping import BlockFunction
from ....graph.kinds.move import Move, Route
from ....workers.kernels.reduction import native
from ...base import as_array, check_axis, check_dtype, make
from ...chunking.coalesce import whole
from ...chunking.rechunk import drop_empty_chunks
from ..docstrings import OPS
from ..elementwise.functions import where
from ..elementwise.ufuncs import isnan
from ..moves.reshaping import ravel
from ..outputs import deliver_reduced, dtype_by_out
from .nodes import check_no_text

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, DTypeLike, OutLike

__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "nancumprod",
    "nancumsum",
]

SCANNED = {
    *("add", "multiply", "maximum", "minimum", "fmax", "fmin"),
    *("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"),
}
"""Ufuncs that may be applied to parts first."""


def accumulate(
    ufunc: np.ufunc,
    x: ArrayLike,
    axis: int = 0,
    dtype: DTypeLike = None,
    operation: str = "",
    argument: str = "array",
) -> Array:
    """Return the running results of a ufunc along an axis, as `ufunc.accumulate` gives them.

    Ufuncs other than sums, products, extremes, logical and bitwise ones bring the axis into one chunk; other axes are
    cut then.

    Parameters
    ----------
    ufunc : numpy.ufunc
        Of two operands and one result.
    x : array
    axis : int
    dtype : dtype, optional
        In which it is computed; None: as NumPy chooses.
    operation : str
        Whose name errors bear; left out, the ufunc's method.
    argument : str
        The operation's name for `x`.

    Returns
    -------
    Array

    Examples
    --------
    >>> import numpy as np
    >>> import windrow as wr
    >>> accumulate(np.maximum, wr.from_array(np.array([1, 3, 2]), chunks=2)).compute()
    array([1, 3, 3])
    """
    name = operation or f"{ufunc.__name__}.accumulate"
    array = as_array(name, argument, x)
    at = check_axis(name, axis, array.ndim)
    wanted = None if dtype is None else native(check_dtype(name, "dtype", dtype))
    if wanted is not None:
        check_no_text(name, argument, array.dtype, wanted)
        if wanted.kind == array.dtype.kind == "m":
            wanted = None  # running sums of durations keep their unit, as in NumPy
    try:
        known = np.asarray(ufunc.accumulate(np.ones(2, array.dtype), dtype=wanted)).dtype
    except (TypeError, ValueError) as error:
        if wanted is None:
            raise DTypeError(bad(name, argument, array.dtype, f"a dtype that it takes ({error})")) from error
        raise DTypeError(bad(name, "dtype", wanted, f"one that it takes for {array.dtype} ({error})")) from error
    if array.expr.grid.axes[at].count == 1 or ufunc.__name__ not in SCANNED:
        wide = whole(array, {at})
        return make(BlockFunction("statistics.scans:scan", (ufunc.__name__, at, known)), (wide,), wide.expr.grid, known)
    return _in_parts(ufunc.__name__, array, at, known)


def _in_parts(ufunc: str, x: Array, at: int, dtype: np.dtype[Any]) -> Array:
    """Scan an axis of several chunks."""
    x = drop_empty_chunks(x, (at,))
    axes = list(x.expr.grid.axes)
    carried = _carried(ufunc, dtype)
    params = (ufunc, at, dtype, carried)
    count = axes[at].count
    axes[at] = Axis.regular(count, 1)
    if ufunc == "multiply" and dtype.kind in "fc":
        scaled = np.result_type(dtype, np.float64)
        axes[at] = Axis.regular(2 * count, 2)
        totals = make(BlockFunction("statistics.scans:total_scaled", (at, scaled)), (x,), Grid(axes), scaled)
        lines = whole(totals, {at})
        axes[at] = Axis.whole(count)
        grid = Grid([a if i == at else b for i, (a, b) in enumerate(zip(axes, lines.expr.grid.axes, strict=True))])
        sums = make(BlockFunction("statistics.scans:scan_scaled", (at, dtype)), (lines,), grid, dtype)
        axes[at] = Axis.regular(count, 1)
    else:
        totals = make(BlockFunction("statistics.scans:total", params), (x,), Grid(axes), carried)
        lines = whole(totals, {at})
        sums = make(BlockFunction("statistics.scans:scan", (ufunc, at, carried)), (lines,), lines.expr.grid, carried)
    before = _shift_along(sums, at, axes, np.zeros((), carried)[()])
    return make(BlockFunction("statistics.scans:scan_from", params, where=True), (x, before), x.expr.grid, dtype)


def _carried(ufunc: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which parts are scanned.

    That of totals, added in another order, would differ from a long chunk's last element by more than neighbours do.
    Products are scanned as they are: what has left the range of a dtype at the end of a chunk stays out of it.
    """
    if ufunc == "add" and dtype.kind in "fc":
        return np.result_type(dtype, np.float64)
    return dtype


def _shift_along(x: Array, at: int, axes: list[Axis], first: Any) -> Array:
    """Return the array with its elements one place further along an axis, and a value in front."""
    steps = tuple((i, Slice(-1 if i == at else 0)) for i in range(x.ndim))
    return make(Move("shifted", (Route(steps),), first), (x,), Grid(axes), x.dtype)


def _flat(operation: str, a: ArrayLike, axis: Any, dtype: Any, out: Any, method: Any, ufunc: np.ufunc) -> Array:
    if method not in ("sequential", "blelloch"):
        raise ArgumentError(bad(operation, "method", method, "'sequential' or 'blelloch', which give the same here"))
    x = as_array(operation, "a", a)
    if axis is None or (x.ndim == 0 and axis in (0, -1)):
        x, axis = ravel(x), 0
    accumulated = accumulate(ufunc, x, axis, dtype_by_out(x, dtype, out), operation, "a")
    put: Array = deliver_reduced(operation, accumulated, out)
    return put


def _cumulative(
    operation: str, x: ArrayLike, axis: Any, dtype: Any, out: Any, include_initial: bool, ufunc: np.ufunc
) -> Array:
    array = as_array(operation, "x", x)
    if array.ndim == 0:
        array = array.reshape(1)
    if axis is None and array.ndim > 1:
        raise AxisError(bad(operation, "axis", axis, f"an axis of an array of {array.ndim} axes"))
    check_flag(operation, "include_initial", include_initial)
    at = 0 if axis is None else axis
    accumulated = accumulate(ufunc, array, at, dtype_by_out(array, dtype, out), operation, "x")
    if include_initial:
        at = check_axis(operation, at, array.ndim)
        axes = list(accumulated.expr.grid.axes)
        sizes = axes[at].sizes()
        axes[at] = Axis.of_sizes((sizes[0] + 1, *sizes[1:]))
        accumulated = _shift_along(accumulated, at, axes, np.asarray(ufunc.identity).astype(accumulated.dtype)[()])
    put: Array = deliver_reduced(operation, accumulated, out)
    return put


def replace_nan(operation: str, a: ArrayLike, value: int) -> Array:
    """Put a value in the place of NaN; NaT stays, as in NumPy."""
    x = as_array(operation, "a", a)
    return where(isnan(x), x.dtype.type(value), x) if x.dtype.kind in "fc" else x


def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike = None,
    out: OutLike = None,
    include_initial: bool = False,
) -> Array:
    """Return the cumulative sum along an axis.

    Along an axis of several chunks their totals are computed first: the array is read twice.

    Parameters
    ----------
    x : array_like
        The array.
    axis : int, optional
        The axis; it may be left out where `x` is 1-D.
    dtype : dtype, optional
        In which to add; None: the array's, or the default integer for smaller ones.
    {out}
    include_initial : bool
        Whether a zero comes first, which makes the axis longer by one.

    Returns
    -------
    Array
        Lazy, of the shape of `x`; 1-D for a 0-d array.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an integer,
        or `include_initial` is not a bool. `out` is not an array.
    {ShapeError}
    AxisError
        `axis` is out of range, or missing where `x` has several axes.
    DTypeError
        `x` holds Python objects. The elements can't be added. The result can't be cast to the dtype of `out` by the
        rule "same_kind".

    >>> wr.cumulative_sum(wr.arange(4), include_initial=True).compute()
    array([0, 0, 1, 3, 6])
    """
    return _cumulative("cumulative_sum", x, axis, dtype, out, include_initial, np.add)


def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: OutLike = None, *, method: str = "sequential"
) -> Array:
    """Return the cumulative sum along an axis.

    Along an axis of several chunks their totals are computed first: the array is read twice.

    Parameters
    ----------
    a : array_like
        The array.
    axis : int or None
        The axis; None: of the flattened array.
    dtype : dtype, optional
        In which to add; None: the array's, or the default integer for smaller ones.
    {out, method}

    Returns
    -------
    Array
        Lazy, of the shape of `a`; 1-D where `axis` is None.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an integer.
        `method` is unknown. `out` is not an array.
    {ShapeError, AxisError}
    DTypeError
        `a` holds Python objects. The elements can't be added. The result can't be cast to the dtype of `out` by the
        rule "same_kind".

    Notes
    -----
    Sums of floating-point numbers are added chunk by chunk, so they may differ from NumPy's in the last digits. Along
    an axis of several chunks those of float32 and float16 are carried in float64, and each is rounded once.

    >>> wr.cumsum(wr.arange(5, chunks=2)).compute()
    array([ 0,  1,  3,  6, 10])
    """
    return _flat("cumsum", a, axis, dtype, out, method, np.add)


def nancumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: OutLike = None, *, method: str = "sequential"
) -> Array:
    """Return the cumulative sum along an axis, with NaN counted as zero.

    Along an axis of several chunks their totals are computed first: the array is read twice.

    {Parameters, Returns, Raises of cumsum}

    >>> wr.nancumsum([1.0, float("nan"), 2.0]).compute()
    array([1., 1., 3.])
    """
    return _flat("nancumsum", replace_nan("nancumsum", a, 0), axis, dtype, out, method, np.add)


def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike = None,
    out: OutLike = None,
    include_initial: bool = False,
) -> Array:
    """Return the cumulative product along an axis.

    Along an axis of several chunks their totals are computed first: the array is read twice.

    Parameters
    ----------
    x : array_like
        The array.
    axis : int, optional
        The axis; it may be left out where `x` is 1-D.
    dtype : dtype, optional
        In which to multiply; None: the array's, or the default integer for smaller ones.
    {out}
    include_initial : bool
        Whether a one comes first, which makes the axis longer by one.

    Returns
    -------
    Array
        Lazy, of the shape of `x`; 1-D for a 0-d array.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an integer,
        or `include_initial` is not a bool. `out` is not an array.
    {ShapeError}
    AxisError
        `axis` is out of range, or missing where `x` has several axes.
    DTypeError
        `x` holds Python objects. The elements can't be multiplied. The result can't be cast to the dtype of `out` by
        the rule "same_kind".

    Notes
    -----
    Where a running product overflows or underflows within a chunk and later factors of the chunk bring it back,
    elements of that chunk stay inf, NaN or 0 as in NumPy, but later chunks continue from the true product.

    >>> wr.cumulative_prod(wr.arange(1, 5)).compute()
    array([ 1,  2,  6, 24])
    """
    return _cumulative("cumulative_prod", x, axis, dtype, out, include_initial, np.multiply)


def cumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: OutLike = None, *, method: str = "sequential"
) -> Array:
    """Return the cumulative product along an axis.

    Along an axis of several chunks their totals are computed first: the array is read twice. See `cumulative_prod` for
    overflow.

    Parameters
    ----------
    a : array_like
        The array.
    axis : int or None
        The axis; None: of the flattened array.
    dtype : dtype, optional
        In which to multiply; None: the array's, or the default integer for smaller ones.
    {out, method}

    Returns
    -------
    Array
        Lazy, of the shape of `a`; 1-D where `axis` is None.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an integer.
        `method` is unknown. `out` is not an array.
    {ShapeError, AxisError}
    DTypeError
        `a` holds Python objects. The elements can't be multiplied. The result can't be cast to the dtype of `out` by
        the rule "same_kind".

    >>> wr.cumprod(wr.arange(1, 5), axis=0).compute()
    array([ 1,  2,  6, 24])
    """
    return _flat("cumprod", a, axis, dtype, out, method, np.multiply)


def nancumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: OutLike = None, *, method: str = "sequential"
) -> Array:
    """Return the cumulative product along an axis, with NaN counted as one.

    Along an axis of several chunks their totals are computed first: the array is read twice. See `cumulative_prod` for
    overflow.

    {sections of cumprod}

    >>> wr.nancumprod([1.0, float("nan"), 2.0]).compute()
    array([1., 1., 2.])
    """
    return _flat("nancumprod", replace_nan("nancumprod", a, 1), axis, dtype, out, method, np.multiply)


OPS.fill(__name__)
