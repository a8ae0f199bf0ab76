"""Ranges of numbers, and matrices of ones and zeros."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ...graph.kinds.source import Eye, Ramp
from ..base import LONGEST, ArrayBase, as_array, check_device, check_dtype, check_shape, grid_for, make
from ..ops.elementwise.functions import astype, where
from ..ops.elementwise.nodes import cast
from ..ops.elementwise.ufuncs import add, divide, equal, floor, greater_equal, multiply, subtract
from ..ops.moves.axis_moves import moveaxis
from ..values import assigned, hold
from .docstrings import CREATION

if TYPE_CHECKING:
    from ...graph.expr.expr import DType
    from ..array import Array
    from ..typing import ArrayLike, ChunksLike, DTypeLike

__all__ = [
    "arange",
    "eye",
    "identity",
    "linspace",
    "tri",
]


EXACT = 1 << 53
"""Floating-point numbers represent integers up to this exactly."""


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    device: str | None = None,
    chunks: ChunksLike = "auto",
) -> Array:
    """Return evenly spaced numbers in the half-open range from `start` to `stop`.

    Parameters
    ----------
    start : number, date or time
        First element; with a single argument, the end of a range that begins at 0. A lazy 0-d array is computed now.
    stop : number, date or time, optional
        End of the range, which isn't part of it.
    step : number or time
        Distance between elements; negative: downwards.
    dtype : dtype, optional
        Of the result; None: from the arguments. A date given as a string needs it.
    {device, chunks}

    Returns
    -------
    Array
        1-D and lazy: each chunk is made from its position.

    Raises
    ------
    ArgumentError
        `start`, `stop` or `step` is not a real number, date or time. `device` is neither None nor "cpu".
    ShapeError
        `step` is zero, an argument is not finite or beyond 64-bit integers, or there would be too many elements.
    {DTypeError}
    RangeError
        `dtype` can't hold the first number or the second.
    {ChunksError}

    Notes
    -----
    Floating-point ranges may have at most 2**53 elements.

    >>> wr.arange(2, 10, 3).compute()
    array([2, 5, 8])
    """
    check_device("arange", device)
    start, stop, step = compute_number(start), compute_number(stop), 1 if step is None else compute_number(step)
    timed = dtype is not None and check_dtype("arange", "dtype", dtype).kind in "mM"
    if stop is not None and (timed or any(isinstance(v, np.datetime64 | np.timedelta64) for v in (start, stop, step))):
        start, stop, step, dtype = _times(start, stop, step, dtype)
    last = "start" if stop is None else "stop"
    for name, value in (("start", start), ("stop", 0 if stop is None else stop), ("step", step)):
        if isinstance(value, int) and not -LONGEST - 1 <= value <= np.iinfo(np.uint64).max:
            raise ShapeError(bad("arange", name, value, "a number that int64 holds"))
        if isinstance(value, ArrayBase) or np.asarray(value).ndim or np.asarray(value).dtype.kind not in "biufmM":
            raise ArgumentError(bad("arange", name, value, "a real number"))
        if np.asarray(value).dtype.kind == "f" and not np.isfinite(value):
            raise ShapeError(bad("arange", name, value, "a finite number"))
    if stop is None:
        start, stop = (np.asarray(start) * 0)[()], start
    if not step:
        raise ShapeError(bad("arange", "step", step, "a step other than zero"))
    known = np.arange(start, start, step).dtype
    if known.kind not in "mM":
        known = np.result_type(known, np.arange(stop, stop, step).dtype)
    wanted = known if dtype is None else check_dtype("arange", "dtype", dtype)
    count = _count(_plain(start), _plain(stop), _plain(step), last)
    _hold_first(start, step, count, wanted)
    if wanted.kind == "f":
        # NumPy uses the difference of the first two elements, rounded to the dtype.
        step = wanted.type(start + step) - wanted.type(start)
    ramp = Ramp(_plain(start), _plain(step))
    return make(ramp, (), grid_for("arange", chunks, (count,), wanted), wanted)


def _hold_first(start: ArrayLike, step: ArrayLike, count: int, dtype: DType) -> None:
    """Raise for a dtype that can't hold the first two numbers; those after them wrap around, as in NumPy."""
    if dtype.kind == "b" and count > 2:
        raise DTypeError(bad("arange", "dtype", dtype, f"one for {count} numbers; bool is for two"))
    if dtype.kind in "iu":
        for k in range(min(count, 2)):
            hold("arange", "start" if k == 0 else "step", _plain(start) + k * _plain(step), dtype, assigned)


def _times(start: ArrayLike, stop: ArrayLike, step: ArrayLike, dtype: DTypeLike) -> tuple[Any, Any, Any, Any]:
    """Convert the ends of a range of dates or times, and its step, to NumPy's unit for it."""
    ends = [np.asarray(v, "M8" if isinstance(v, str) else None) for v in (start, stop)]
    if ends[0].dtype.kind == "M" != ends[1].dtype.kind:
        ends[1] = ends[0] + ends[1]
    theirs: Any = np.arange
    known = theirs(*(np.zeros((), end.dtype)[()] for end in ends), step, dtype).dtype
    between = np.dtype(known.str.replace("M8", "m8"))
    return ends[0].astype(known)[()], ends[1].astype(known)[()], np.asarray(step).astype(between)[()], known


def compute_number(value: object) -> Any:
    """Compute a lazy number, on which the length of a range depends."""
    return value._single("arange") if isinstance(value, ArrayBase) and value.ndim == 0 else value  # type: ignore[attr-defined]


def _count(start: Any, stop: Any, step: Any, last: str) -> int:
    """Return the length of a range; `last` is the name of the argument for its end."""
    if all(isinstance(value, int) for value in (start, stop, step)):
        count: int = max(0, -((start - stop) // step))
        if count > LONGEST:
            raise ShapeError(bad("arange", last, stop, "fewer than 2**63 elements, which int64 can count"))
        return count
    with np.errstate(over="ignore"):
        quotient = (stop - start) / step
    if np.asarray(quotient).dtype.kind == "f" and quotient > EXACT:
        raise ShapeError(bad("arange", last, stop, f"at most 2**53 elements from floats, not {float(quotient):.3g}"))
    if quotient == -math.inf:
        raise ShapeError(bad("arange", last, stop, "a number of steps from start that float64 can hold"))
    rounded: int = max(0, math.ceil(quotient))
    return rounded


def _plain(value: Any) -> Any:
    """Return integers as Python's, whose difference can't overflow."""
    value = value[()] if isinstance(value, np.ndarray) else value
    whole = isinstance(value, int | np.integer | np.bool) and not isinstance(value, np.timedelta64)
    return int(value) if whole else value


def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: str | None = None,
    chunks: ChunksLike = "auto",
) -> Any:
    """Return `num` evenly spaced numbers from `start` to `stop`.

    Parameters
    ----------
    start, stop : number or array_like
        First and last number. Arrays broadcast; the numbers then run along a new axis.
    num : int
        How many numbers.
    endpoint : bool
        Whether `stop` is the last of them.
    retstep : bool
        Whether to return the step too.
    dtype : dtype, optional
        Of the result; None: floating-point. Numbers are rounded down for an integer dtype.
    axis : int
        Position of the new axis in the result, where `start` or `stop` is an array.
    {device}
    chunks : int, str, tuple, dict or None
        Chunks of the result where `start` and `stop` are numbers.

    Returns
    -------
    Array
        Lazy: 1-D for two numbers, else with one axis more than they broadcast to.
    scalar or Array
        The step, only with `retstep`; NaN where there is none.

    Raises
    ------
    ArgumentError
        `start` or `stop` is not a number, or `num` or `axis` is not an integer. `device` is neither None nor "cpu".
    ShapeError
        `num` is negative, or `start` and `stop` don't broadcast.
    AxisError
        `axis` is out of range for the result.
    {DTypeError, ChunksError}

    >>> wr.linspace(0, 1, 5).compute()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    check_device("linspace", device)
    (count,) = check_shape("linspace", (num,), "num")
    wanted = None if dtype is None else check_dtype("linspace", "dtype", dtype)
    step: Any
    if any(isinstance(v, ArrayBase) or np.ndim(v) for v in (start, stop)):
        numbers, step = _between(start, stop, arange(count), endpoint, axis)
    else:
        for name, value in (("start", start), ("stop", stop)):
            if np.asarray(value).dtype.kind not in "biufc":
                raise ArgumentError(bad("linspace", name, value, "a number"))
        first, last = np.asarray(start) * 1.0, np.asarray(stop) * 1.0
        ramp_dtype = np.result_type(first, last, float(count))
        parts = count - 1 if endpoint else count
        gap = (last - first) / parts if parts > 0 else last - first
        ramp = Ramp(
            ramp_dtype.type(first), ramp_dtype.type(gap), ramp_dtype.type(last) if endpoint and count > 1 else None
        )
        if gap == 0 and parts > 0 and first != last:  # too small a number
            at = arange(count, dtype=ramp_dtype.type(0).real.dtype, chunks=chunks)
            numbers = cast(_between(first, last, at, endpoint, 0)[0], ramp_dtype)
        else:
            numbers = make(
                ramp, (), grid_for("linspace", chunks, (count,), ramp_dtype if wanted is None else wanted), ramp_dtype
            )
        step = gap if parts > 0 else np.float64(np.nan)
    if wanted is not None:
        numbers = cast(floor(numbers) if wanted.kind in "iu" else numbers, wanted)
    return (numbers, step) if retstep else numbers


def _between(start: ArrayLike, stop: ArrayLike, at: Array, endpoint: bool, axis: int) -> tuple[Array, Array]:
    """Return the numbers at positions between arrays, along a new axis, and their steps."""
    first, last = (multiply(as_array("linspace", n, v), 1.0) for n, v in (("start", start), ("stop", stop)))
    count = at.shape[0]
    parts = count - 1 if endpoint else count
    delta = subtract(last, first)
    step = divide(delta, parts) if parts > 0 else multiply(delta, np.nan)
    at = at.reshape((count,) + (1,) * delta.ndim)
    if parts > 0:  # where a step is too small a number, shares of the whole are not
        distance = where(equal(step, 0), multiply(divide(at, parts), delta), multiply(at, step))
    else:
        distance = multiply(at, delta)
    numbers = add(distance, first)
    if endpoint and count > 1:
        numbers = where(equal(at, count - 1), last, numbers)
    return moveaxis(numbers, 0, axis) if axis else numbers, step


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike = None,
    order: str = "C",
    chunks: ChunksLike = "auto",
    *,
    device: str | None = None,
) -> Array:
    """Return a matrix with ones on one diagonal and zeros elsewhere.

    Parameters
    ----------
    N : int
        Number of rows.
    M : int, optional
        Number of columns; None: N.
    {k, dtype, order, chunks, device}

    Returns
    -------
    Array
        Lazy, of shape (N, M).

    Raises
    ------
    ArgumentError
        `N`, `M` or `k` is not an integer. `device` is neither None nor "cpu".
    ShapeError
        `N` or `M` is negative, or there would be 2**63 elements or more.
    {DTypeError, ChunksError}

    >>> wr.eye(2).compute()
    array([[1., 0.],
           [0., 1.]])
    """
    shape = check_shape("eye", (N, N if M is None else M), "N")
    check_device("eye", device)
    known = check_dtype("eye", "dtype", np.float64 if dtype is None else dtype)
    return make(Eye(check_integer("eye", "k", k)), (), grid_for("eye", chunks, shape, known), known)


def identity(n: int, dtype: DTypeLike = None, *, chunks: ChunksLike = "auto") -> Array:
    """Return a square matrix with ones on the main diagonal and zeros elsewhere.

    Parameters
    ----------
    n : int
        Number of rows and columns.
    {dtype, chunks}

    Returns
    -------
    Array
        Lazy, of shape (n, n).

    Raises
    ------
    ArgumentError
        `n` is not an integer.
    ShapeError
        `n` is negative.
    {DTypeError, ChunksError}

    >>> wr.identity(2).sum().compute()
    np.float64(2.0)
    """
    return eye(n, dtype=dtype, chunks=chunks)


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = float, chunks: ChunksLike = "auto") -> Array:
    """Return a matrix with ones at and below a diagonal and zeros above it.

    Parameters
    ----------
    N : int
        Number of rows.
    M : int, optional
        Number of columns; None: N.
    {k}
    dtype : dtype
        Of the result.
    {chunks}

    Returns
    -------
    Array
        Lazy, of shape (N, M).

    Raises
    ------
    ArgumentError
        `N` or `M` is not an integer.
    ShapeError
        `N` or `M` is negative, or there would be 2**63 elements or more.
    {DTypeError, ChunksError}

    >>> wr.tri(2).compute()
    array([[1., 0.],
           [1., 1.]])
    """
    shape = check_shape("tri", (N, N if M is None else M), "N")
    rows, columns = grid_for("tri", chunks, shape, check_dtype("tri", "dtype", dtype)).axes
    i = arange(shape[0], chunks=(rows.sizes(),)).reshape(-1, 1)
    j = arange(-k, shape[1] - k, chunks=(columns.sizes(),))
    return astype(greater_equal(i, j), dtype)


CREATION.fill(__name__)
