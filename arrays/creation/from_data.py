"""Arrays of the user's data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, BadValue, bad
from ...workers.config import config
from ...workers.sources.stores.stand_in import read_by, stand_in
from ..base import (
    ArrayBase,
    as_array,
    check_device,
    check_dtype,
    check_shape,
    not_masked,
    plain_array,
    wrap_host,
)
from ..chunking.stored import decoded_chunks, grid_over, stored_chunks
from ..ops.elementwise.functions import astype
from ..ops.moves.axis_moves import expand_dims
from ..ops.moves.joining import concatenate, stack
from .arrow import arrow_pieces
from .docstrings import CREATION
from .not_arrays import refuse_source

if TYPE_CHECKING:
    from ...graph.chunks.grid import Grid
    from ..array import Array
    from ..typing import ArrayLike, ChunksLike, DTypeLike

__all__ = [
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "copy",
    "from_array",
]


def from_array(
    x: ArrayLike,
    chunks: ChunksLike = "auto",
    name: Any = None,
    lock: object = None,
    asarray: Any = None,
    fancy: bool = True,
    getitem: Any = None,
    meta: object = None,
    inline_array: bool = False,
    *,
    copy: bool = False,
) -> Array:
    """Return a lazy array of the caller's data.

    The data is referred to, not copied: it must not change while the array is used. Memory-mapped files, arrays of zarr
    in folders and at URLs, and variables of h5py and netCDF4 in files that are only read are read by the ranks
    themselves; a file that has changed raises an error when it is read. If another file has taken its path, the driver
    reads the one that `x` refers to.

    Parameters
    ----------
    x : array_like
        A NumPy array, a memory map, a sequence, an Arrow array, or an object with shape, dtype and slicing (zarr,
        h5py).
    chunks : int, str, tuple, dict or None
        Chunks of the result: a size for each axis, -1 for a whole axis, or "auto": about `config.chunk_bytes` each, and
        of what has chunks itself (zarr, h5py) whole ones.
    lock : bool or lock, optional
        What is held while an object of another library is read; a lock: the driver alone reads then. True: a lock of
        each process's own; False: none, so that several threads read at once. None: none, but for libraries that are
        known to need one (netCDF4).
    getitem : callable, optional
        `getitem(x, slices)` reads in place of `x[slices]`; the driver alone reads then.
    name, asarray, fancy, meta, inline_array : object
        Accepted for dask and ignored: blocks are NumPy's, and elements are read by slices.
    copy : bool
        Whether to copy the data now.

    Returns
    -------
    Array
        Lazy, with the shape and dtype of `x`.

    Raises
    ------
    ArgumentError
        `x` is a path, a sparse matrix, a masked array, a ragged sequence, or anything else without shape, dtype and
        slicing; `lock` is no lock.
    DTypeError
        `x` holds Python objects, or is an Arrow array with nulls.
    {ChunksError}
    FileError
        `x` belongs to a file that has been closed.

    Notes
    -----
    The array is identified by the object, not by its content: two calls give two sources, whose results aren't shared.
    An object that pickles, to a megabyte at most, is read by each rank from its own copy; others are read by the
    driver. Separate threads read, so that other computations don't wait.

    >>> import numpy as np
    >>> import windrow as wr
    >>> wr.from_array(np.arange(6), chunks=4).chunks
    ((4, 2),)
    """
    if isinstance(x, ArrayBase):
        same = as_array("from_array", "x", x)
        return same if isinstance(chunks, str) and chunks == "auto" else same.rechunk(chunks)
    pieces = arrow_pieces("from_array", x)
    if pieces is not None:
        return _join_pieces(pieces, chunks)
    if isinstance(x, list | tuple) and holds_lazy(x):
        return _stack_nested(x)
    in_place = isinstance(x, np.ndarray)
    data: Any = x if in_place else stand_in("from_array", x)
    if getitem is not None or not (lock is None or isinstance(lock, bool)):
        data, in_place = read_by("from_array", data, getitem, lock), False
    if not in_place:
        refuse_source("from_array", data)
    if not in_place and not all(hasattr(data, a) for a in ("shape", "dtype", "__getitem__")):
        if not isinstance(data, Sequence) and not np.isscalar(data) and not hasattr(data, "__array__"):
            raise ArgumentError(bad("from_array", "x", type(data).__name__, "something with shape, dtype and slicing"))
        data, in_place = plain_array("from_array", "x", data), True
    if isinstance(data, np.generic):
        data, in_place = np.asarray(data), True
    not_masked("from_array", "x", data)
    dtype = check_dtype("from_array", "x", data.dtype)
    shape = check_shape("from_array", tuple(data.shape), "x")
    stored = None if in_place else stored_chunks(data, config.chunk_bytes)
    grid: Grid = grid_over("from_array", chunks, shape, dtype, stored)
    if copy:
        data, in_place = np.array(data[(slice(None),) * len(shape)], order="C"), True
    decoded = () if in_place else decoded_chunks(data)
    if not decoded and hasattr(data, "indexer_cls"):  # a variable of xarray's, in chunks that its file asks for
        decoded = tuple([axis.largest for axis in grid.axes])
    held = lock if isinstance(lock, bool) else None
    return wrap_host(data, grid, dtype, in_place=in_place, lock=held, chunks=decoded)


def asarray(
    a: ArrayLike,
    dtype: DTypeLike = None,
    order: str | None = None,
    *,
    device: str | None = None,
    copy: bool | None = None,
    chunks: ChunksLike = None,
) -> Array:
    """Return the input as an array; an Array is returned as it is.

    Parameters
    ----------
    a : array_like
        A NumPy array is referred to, not copied, unless `copy` is True. Sequences may hold lazy arrays; objects with
        Arrow's PyCapsule interface are read too.
    dtype : dtype, optional
        To cast to; None: that of `a`.
    order : str, optional
        Accepted for NumPy and ignored: chunks are in C order.
    {device}
    copy : bool, optional
        True: copy now what isn't lazy. False: raise where elements would have to be copied. None: copy where needed.
    chunks : int, str, tuple, dict or None
        Chunks of the result; None: those of `a`, or "auto".

    Returns
    -------
    Array
        Lazy, with the shape of `a`.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `device` is neither None
        nor "cpu".
    DTypeError
        `a` holds Python objects. `dtype` is not a NumPy dtype, or one of Python objects.
    BadValue
        `copy` is False, and `a` must be copied or cast.
    {ChunksError}

    >>> wr.asarray([1, 2, 3]).compute()
    array([1, 2, 3])
    """
    check_device("asarray", device)
    if isinstance(a, ArrayBase) and copy is not True and chunks is None and dtype in (None, a.dtype):
        return a  # type: ignore[return-value]
    wanted = None if dtype is None else check_dtype("asarray", "dtype", dtype)
    if copy is False and not hasattr(a, "dtype"):
        raise BadValue(bad("asarray", "copy", copy, "True or None, since a sequence or a number must be copied"))
    if wanted is not None and isinstance(a, bool | int | float | complex | list | tuple) and not holds_lazy(a):
        a = plain_array("asarray", "a", a, wanted)
    lazy_array = from_array(a, "auto" if chunks is None else chunks, copy=bool(copy))
    if wanted is None or wanted == lazy_array.dtype:
        return lazy_array
    if copy is False:
        raise BadValue(bad("asarray", "copy", copy, f"True or None, since {lazy_array.dtype} must be cast to {wanted}"))
    return astype(lazy_array, wanted)


def array(
    object: Any,
    dtype: DTypeLike = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    chunks: ChunksLike = None,
) -> Array:
    """Return a new array of the input, as NumPy's `array` does.

    Parameters
    ----------
    object : array_like
        See `asarray`.
    dtype : dtype, optional
        To cast to; None: that of `object`.
    copy : bool or None
        Whether to copy now what isn't lazy.
    {order_subok}
    ndmin : int
        Least number of axes; size-1 axes are added in front.
    chunks : int, str, tuple, dict or None
        Chunks of the result; None: those of `object`, or "auto".

    Returns
    -------
    Array
        Lazy, with at least `ndmin` axes.

    Raises
    ------
    ArgumentError
        `object` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        `ndmin` is negative.
    DTypeError
        `object` holds Python objects. `dtype` is not a NumPy dtype, or one of Python objects.
    BadValue
        `copy` is False, and `object` must be copied or cast.
    {ChunksError}

    >>> wr.array([1.5, 2], ndmin=2).shape
    (1, 2)
    """
    lazy_array = asarray(object, dtype, copy=copy, chunks=chunks)
    lead = check_shape("array", (ndmin,), "ndmin")[0] - lazy_array.ndim
    return expand_dims(lazy_array, tuple(range(lead))) if lead > 0 else lazy_array


asanyarray = asarray


def ascontiguousarray(a: ArrayLike, dtype: DTypeLike = None) -> Array:
    """Return the input as an array with at least one axis.

    Parameters
    ----------
    a : array_like
        See `asarray`.
    dtype : dtype, optional
        To cast to; None: that of `a`.

    Returns
    -------
    Array
        Lazy; at least 1-D, as with NumPy.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    DTypeError
        `a` holds Python objects. `dtype` is not a NumPy dtype, or one of Python objects.

    >>> wr.ascontiguousarray(3).shape
    (1,)
    """
    return array(a, dtype, copy=None, ndmin=1)


def copy(a: ArrayLike, order: str | None = "K", subok: bool = False) -> Array:
    """Return a copy: setting elements of one doesn't change the other.

    Parameters
    ----------
    a : array_like
        The array. One of NumPy's is copied now; a lazy one isn't computed.
    {order_subok}

    Returns
    -------
    Array
        Lazy, with the shape, dtype and chunks of `a`.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    DTypeError
        `a` holds Python objects.

    >>> x = wr.ones(2)
    >>> y = wr.copy(x)
    >>> y += 1
    >>> x.compute()
    array([1., 1.])
    """
    return asarray(a, copy=True)


def _join_pieces(pieces: list[np.ndarray[Any, Any]], chunks: ChunksLike) -> Array:
    """Join pieces along the first axis; each is a chunk unless the user asks for others."""
    is_auto = isinstance(chunks, str) and chunks == "auto"
    joined = concatenate([from_array(piece) for piece in pieces]) if len(pieces) > 1 else from_array(pieces[0])
    return joined if is_auto else joined.rechunk(chunks)


def holds_lazy(x: ArrayLike) -> bool:
    """Tell whether a sequence, or one in it, has a lazy array."""
    if not isinstance(x, list | tuple):
        return isinstance(x, ArrayBase)
    kinds = set(map(type, x))
    deep = any(issubclass(kind, list | tuple) for kind in kinds)
    return any(issubclass(kind, ArrayBase) for kind in kinds) or (deep and any(map(holds_lazy, x)))


def _stack_nested(x: Any) -> Array:
    """Stack a sequence in which there are lazy arrays."""
    return stack([_stack_nested(each) if holds_lazy(each) and not isinstance(each, ArrayBase) else each for each in x])


CREATION.fill(__name__)
