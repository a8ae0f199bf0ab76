"""Making arrays: from a formula, or from what the user has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.errors import ArgumentError, ShapeError, bad
from ..graph.kinds.source import Eye, Full, Ramp
from .core import Node, as_array, check_dtype, check_shape, grid_for, host, make
from .ops.elementwise import astype, floor, greater_equal

if TYPE_CHECKING:
    from ..graph.grid import Grid
    from .array import Array


def full(shape: Any, fill_value: Any, dtype: Any = None, *, chunks: Any = "auto") -> Array:
    """Make an array of one value.

    Parameters
    ----------
    shape : int or tuple of int
    fill_value : scalar
    dtype : dtype, optional
        None: the value's own.
    chunks : int, str, tuple, dict or None

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.full(3, 7).compute()
    array([7, 7, 7])
    """
    return _full("full", shape, fill_value, dtype, chunks)


def _full(operation: str, shape: Any, value: Any, dtype: Any, chunks: Any) -> Array:
    if isinstance(value, Node) or np.ndim(value) != 0:
        raise ArgumentError(bad(operation, "fill_value", value, "a scalar"))
    known = check_dtype(operation, "dtype", np.asarray(value).dtype if dtype is None else dtype)
    lengths = check_shape(operation, shape)
    item = np.asarray(value).astype(known)[()]
    return make(Full(item), (), grid_for(operation, chunks, lengths, known), known)


def zeros(shape: Any, dtype: Any = float, *, chunks: Any = "auto") -> Array:
    """Make an array of zeros.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype
    chunks : int, str, tuple, dict or None

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.zeros((4, 4), chunks=(2, 4)).numblocks
    (2, 1)
    """
    return _full("zeros", shape, 0, dtype, chunks)


def ones(shape: Any, dtype: Any = float, *, chunks: Any = "auto") -> Array:
    """Make an array of ones.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype
    chunks : int, str, tuple, dict or None

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.ones((1000, 1000)).sum().compute()
    np.float64(1000000.0)
    """
    return _full("ones", shape, 1, dtype, chunks)


def empty(shape: Any, dtype: Any = float, *, chunks: Any = "auto") -> Array:
    """Make an array for which no values are asked: a chunk has one value for ever, so these are zeros.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype
    chunks : int, str, tuple, dict or None

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.empty(3).shape
    (3,)
    """
    return _full("empty", shape, 0, dtype, chunks)


def _like(operation: str, x: Any, value: Any, dtype: Any, shape: Any, chunks: Any) -> Array:
    array = as_array(operation, "x", x)
    known = array.dtype if dtype is None else check_dtype(operation, "dtype", dtype)
    if shape is None and chunks is None:
        return make(Full(np.asarray(value).astype(known)[()]), (), array.expr.grid, known)
    return _full(
        operation, array.shape if shape is None else shape, value, known, "auto" if chunks is None else chunks
    )


def zeros_like(x: Any, dtype: Any = None, *, shape: Any = None, chunks: Any = None) -> Array:
    """Make zeros of an array's shape, dtype and chunks.

    Parameters
    ----------
    x : array
    dtype, shape, chunks : optional
        Other than the array's.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.zeros_like(wr.arange(3)).compute()
    array([0, 0, 0])
    """
    return _like("zeros_like", x, 0, dtype, shape, chunks)


def ones_like(x: Any, dtype: Any = None, *, shape: Any = None, chunks: Any = None) -> Array:
    """Make ones of an array's shape, dtype and chunks.

    Parameters
    ----------
    x : array
    dtype, shape, chunks : optional
        Other than the array's.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.ones_like(wr.arange(3)).compute()
    array([1, 1, 1])
    """
    return _like("ones_like", x, 1, dtype, shape, chunks)


def empty_like(x: Any, dtype: Any = None, *, shape: Any = None, chunks: Any = None) -> Array:
    """Make an array of an array's shape, dtype and chunks; see `empty`.

    Parameters
    ----------
    x : array
    dtype, shape, chunks : optional
        Other than the array's.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.empty_like(wr.arange(3)).shape
    (3,)
    """
    return _like("empty_like", x, 0, dtype, shape, chunks)


def full_like(x: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None, chunks: Any = None) -> Array:
    """Make an array of one value with an array's shape, dtype and chunks.

    Parameters
    ----------
    x : array
    fill_value : scalar
    dtype, shape, chunks : optional
        Other than the array's.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.full_like(wr.arange(3), 5).compute()
    array([5, 5, 5])
    """
    return _like("full_like", x, fill_value, dtype, shape, chunks)


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
    for name, value in (("start", start), ("stop", 0 if stop is None else stop), ("step", step)):
        if isinstance(value, Node) or np.asarray(value).ndim or np.asarray(value).dtype.kind not in "biufmM":
            raise ArgumentError(bad("arange", name, value, "a real number"))
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
    count = max(0, math.ceil((stop - start) / step))
    if wanted.kind == "f":
        # NumPy goes by the difference of the first two elements, as they are after rounding to the dtype.
        step = wanted.type(start + step) - wanted.type(start)
    ramp = Ramp(_plain(start), _plain(step))
    return make(ramp, (), grid_for("arange", chunks, (count,), wanted), wanted)


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


def from_array(x: Any, chunks: Any = "auto", *, copy: bool = False) -> Array:
    """Make an array of what the user has.

    It refers to `x` and doesn't copy it, so `x` must not change as long as the array is used. Its identity
    names it, not its content: two calls make two sources. A file that NumPy has mapped is an error when it
    changes.

    Parameters
    ----------
    x : array
        NumPy's, a `.npy` memory map, or anything with shape, dtype and slicing (zarr, h5py).
    chunks : int, str, tuple, dict or None
        "auto" doesn't look at how `x` is stored.
    copy : bool
        Whether to take a snapshot now.

    Returns
    -------
    Array

    Examples
    --------
    >>> import numpy as np
    >>> import windrow as wr
    >>> wr.from_array(np.arange(6), chunks=4).chunks
    ((4, 2),)
    """
    if isinstance(x, Node):
        array = as_array("from_array", "x", x)
        return array if isinstance(chunks, str) and chunks == "auto" else array.rechunk(chunks)
    in_place = isinstance(x, np.ndarray)
    if not in_place and not all(hasattr(x, a) for a in ("shape", "dtype", "__getitem__")):
        if not isinstance(x, list | tuple) and not np.isscalar(x):
            raise ArgumentError(
                bad("from_array", "x", type(x).__name__, "something with shape, dtype and slicing")
            )
        x, in_place = np.asarray(x), True
    dtype = check_dtype("from_array", "x", x.dtype)
    shape = check_shape("from_array", tuple(x.shape), "x")
    grid: Grid = grid_for("from_array", chunks, shape, dtype)
    if copy:
        x, in_place = np.array(x[(slice(None),) * len(shape)], order="C"), True
    return host(x, grid, dtype, in_place=in_place)


def asarray(x: Any, dtype: Any = None, *, chunks: Any = None) -> Array:
    """Return `x` as an array; what is one already stays as it is.

    Parameters
    ----------
    x : array, sequence or scalar
    dtype : dtype, optional
    chunks : optional
        None: as they are, or "auto".

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.asarray([1, 2, 3]).compute()
    array([1, 2, 3])
    """
    found = from_array(x, "auto" if chunks is None else chunks)
    return found if dtype is None else astype(found, dtype)
