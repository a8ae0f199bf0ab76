"""Ranges of numbers, and matrices of ones and zeros."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.errors import ArgumentError, ShapeError, bad
from ..graph.kinds.source import Eye, Ramp
from .core import LONGEST, Node, check_dtype, check_shape, grid_for, make
from .ops.elementwise import astype
from .ops.ufuncs import floor, greater_equal

if TYPE_CHECKING:
    from .array import Array

__all__ = [
    "arange",
    "eye",
    "identity",
    "linspace",
    "tri",
]


EXACT = 1 << 53
"""Floats tell so many positions apart."""


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, chunks: Any = "auto") -> Array:
    """Make numbers at equal steps in the half-open range from `start` to `stop`.

    Parameters
    ----------
    start, stop, step : number
        With one number: from 0 to it.
    dtype : dtype, optional
    chunks : int, str, tuple, dict or None

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.arange(2, 10, 3).compute()
    array([2, 5, 8])
    """
    last = "start" if stop is None else "stop"
    for name, value in (("start", start), ("stop", 0 if stop is None else stop), ("step", step)):
        if isinstance(value, int) and not -LONGEST - 1 <= value <= np.iinfo(np.uint64).max:
            raise ShapeError(bad("arange", name, value, "a number that int64 holds"))
        if isinstance(value, Node) or np.asarray(value).ndim or np.asarray(value).dtype.kind not in "biufmM":
            raise ArgumentError(bad("arange", name, value, "a real number"))
        if np.asarray(value).dtype.kind == "f" and not np.isfinite(value):
            raise ShapeError(bad("arange", name, value, "a finite number"))
    if stop is None:
        start, stop = (np.asarray(start) * 0)[()], start
    if not step:
        raise ShapeError(bad("arange", "step", step, "a step other than zero"))
    known = (
        np.arange(start, start, step).dtype
        if np.asarray(start).dtype.kind in "mM"
        else np.asarray([start, stop, step]).dtype
    )
    wanted = known if dtype is None else check_dtype("arange", "dtype", dtype)
    count = _count(_plain(start), _plain(stop), _plain(step), last)
    if wanted.kind == "f":
        # NumPy goes by the difference of the first two elements, as they are after rounding to the dtype.
        step = wanted.type(start + step) - wanted.type(start)
    ramp = Ramp(_plain(start), _plain(step))
    return make(ramp, (), grid_for("arange", chunks, (count,), wanted), wanted)


def _count(start: Any, stop: Any, step: Any, last: str) -> int:
    """Return how many numbers a range has; `last` is the name of the argument where it ends."""
    if all(isinstance(value, int) for value in (start, stop, step)):
        count: int = max(0, -((start - stop) // step))
        if count > LONGEST:
            raise ShapeError(bad("arange", last, stop, "fewer than 2**63 elements, which int64 can count"))
        return count
    with np.errstate(over="ignore"):
        found = (stop - start) / step
    if np.asarray(found).dtype.kind == "f" and found > EXACT:
        raise ShapeError(bad("arange", last, stop, f"at most 2**53 elements from floats, not {float(found):.3g}"))
    return int(max(0, math.ceil(found)))


def _plain(value: Any) -> Any:
    """Integers as Python's, which can't overflow on the way."""
    return int(value) if isinstance(value, int | np.integer | np.bool) else value


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, *, chunks: Any = "auto"
) -> Array:
    """Make `num` numbers at equal steps from `start` to `stop`.

    Parameters
    ----------
    start, stop : number
    num : int
    endpoint : bool
        Whether `stop` is the last of them.
    dtype : dtype, optional
    chunks : int, str, tuple, dict or None

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.linspace(0, 1, 5).compute()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    (count,) = check_shape("linspace", (num,), "num")
    for name, value in (("start", start), ("stop", stop)):
        if isinstance(value, Node) or np.asarray(value).ndim or np.asarray(value).dtype.kind not in "biufc":
            raise ArgumentError(bad("linspace", name, value, "a number"))
    first, last = np.asarray(start) * 1.0, np.asarray(stop) * 1.0
    made = np.result_type(first, last, float(count))
    parts = count - 1 if endpoint else count
    step = (last - first) / parts if parts > 0 else last - first
    ramp = Ramp(made.type(first), made.type(step), made.type(last) if endpoint and count > 1 else None)
    wanted = made if dtype is None else check_dtype("linspace", "dtype", dtype)
    found = make(ramp, (), grid_for("linspace", chunks, (count,), wanted), made)
    return astype(floor(found) if wanted.kind in "iu" else found, wanted)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float, *, chunks: Any = "auto") -> Array:
    """Make a matrix of ones on a diagonal, and zeros elsewhere.

    Parameters
    ----------
    N : int
        Number of rows.
    M : int, optional
        Number of columns; None: as many.
    k : int
        Which diagonal; above the main one where positive.
    dtype : dtype
    chunks : int, str, tuple, dict or None

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.eye(2).compute()
    array([[1., 0.],
           [0., 1.]])
    """
    shape = check_shape("eye", (N, N if M is None else M), "N")
    known = check_dtype("eye", "dtype", dtype)
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise ArgumentError(bad("eye", "k", k, "an integer"))
    return make(Eye(int(k)), (), grid_for("eye", chunks, shape, known), known)


identity = eye


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float, *, chunks: Any = "auto") -> Array:
    """Make a matrix of ones at and below a diagonal, and zeros elsewhere.

    Parameters
    ----------
    N, M, k, dtype, chunks
        As for `eye`.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.tri(2).compute()
    array([[1., 0.],
           [1., 1.]])
    """
    shape = check_shape("tri", (N, N if M is None else M), "N")
    rows, columns = grid_for("tri", chunks, shape, check_dtype("tri", "dtype", dtype)).axes
    i = arange(shape[0], chunks=(rows.sizes(),)).reshape(-1, 1)
    j = arange(-k, shape[1] - k, chunks=(columns.sizes(),))
    return astype(greater_equal(i, j), dtype)
