"""Making arrays that are filled with one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ShapeError, bad
from ...graph.kinds.source import Constant, Full
from ..base import ArrayBase, as_array, broadcast_shape, check_device, check_dtype, check_shape, grid_for, make
from ..chunking.rechunk import regrid
from ..ops.elementwise.nodes import cast_values
from ..ops.moves.broadcasting import broadcast_to
from ..values import copied, hold
from .docstrings import CREATION

if TYPE_CHECKING:
    from ...graph.expr.expr import DType
    from ..array import Array
    from ..typing import ArrayLike, ChunksLike, DTypeLike, ShapeLike

__all__ = [
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]

ZERO = object()
"""Stands for the value of a dtype whose bytes are zero: an empty text, not "0"."""


def full(
    shape: ShapeLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    order: str | None = "C",
    *,
    device: str | None = None,
    chunks: ChunksLike = "auto",
) -> Array:
    """Return an array filled with one value, or with values that broadcast.

    Parameters
    ----------
    {shape}
    fill_value : scalar or array_like
        The value; an array broadcasts to `shape`.
    dtype : dtype, optional
        Of the result; None: that of `fill_value`.
    {order, device, chunks}

    Returns
    -------
    Array
        Lazy, of the given shape and dtype.

    Raises
    ------
    ArgumentError
        `shape` is not an integer or a tuple of integers. `device` is neither None nor "cpu".
    ShapeError
        `shape` has a negative length, or 2**63 elements or more. `fill_value` doesn't broadcast to `shape`.
    RangeError
        `fill_value` is a number of Python's that the dtype can't hold.
    {DTypeError, ChunksError}

    >>> wr.full(3, 7).compute()
    array([7, 7, 7])
    """
    check_device("full", device)
    return _full("full", shape, fill_value, dtype, chunks)


def _full(operation: str, shape: ShapeLike, value: Any, dtype: DTypeLike, chunks: ChunksLike) -> Array:
    if isinstance(value, ArrayBase) or np.ndim(value) != 0:
        wanted = None if dtype is None else check_dtype(operation, "dtype", dtype)
        if wanted is None:
            array = as_array(operation, "fill_value", value)
        else:
            array = cast_values(operation, "fill_value", value, wanted, copied)
        known = array.dtype
        lengths = check_shape(operation, shape)
        if broadcast_shape(operation, array.shape, lengths) != lengths:
            raise ShapeError(bad(operation, "fill_value", array.shape, f"a shape that broadcasts to {lengths}"))
        filled = broadcast_to(array, lengths)
        return regrid(filled, grid_for(operation, chunks, filled.shape, known))
    known = check_dtype(operation, "dtype", np.asarray(value).dtype if dtype is None else dtype)
    lengths = check_shape(operation, shape)
    return make(Full(_item(operation, value, known)), (), grid_for(operation, chunks, lengths, known), known)


def _item(operation: str, value: object, dtype: DType) -> Any:
    return np.zeros((), dtype)[()] if value is ZERO else hold(operation, "fill_value", value, dtype, copied)[()]


def constant(shape: tuple[int, ...], value: object, dtype: DType) -> Array:
    """Return an array with a known value everywhere."""
    return make(Constant(np.asarray(value).astype(dtype)[()]), (), grid_for("full", "auto", shape, dtype), dtype)


def zeros(
    shape: ShapeLike,
    dtype: DTypeLike = None,
    order: str | None = "C",
    *,
    device: str | None = None,
    chunks: ChunksLike = "auto",
) -> Array:
    """Return an array of zeros.

    Parameters
    ----------
    {shape, dtype, order, device, chunks}

    Returns
    -------
    Array
        Lazy, of the given shape and dtype: no memory is taken before it is computed.

    Raises
    ------
    {shape_errors}

    >>> wr.zeros((4, 4), chunks=(2, 4)).numblocks
    (2, 1)
    """
    check_device("zeros", device)
    return _full("zeros", shape, ZERO, np.float64 if dtype is None else dtype, chunks)


def ones(
    shape: ShapeLike,
    dtype: DTypeLike = None,
    order: str | None = "C",
    *,
    device: str | None = None,
    chunks: ChunksLike = "auto",
) -> Array:
    """Return an array of ones.

    Parameters
    ----------
    {shape, dtype, order, device, chunks}

    Returns
    -------
    Array
        Lazy, of the given shape and dtype.

    Raises
    ------
    {shape_errors}

    >>> wr.ones((1000, 1000)).sum().compute()
    np.float64(1000000.0)
    """
    check_device("ones", device)
    return _full("ones", shape, 1, np.float64 if dtype is None else dtype, chunks)


def empty(
    shape: ShapeLike,
    dtype: DTypeLike = None,
    order: str | None = "C",
    *,
    device: str | None = None,
    chunks: ChunksLike = "auto",
) -> Array:
    """Return an array of arbitrary values, which are zeros.

    {Parameters, Returns, Raises of ones}

    Notes
    -----
    NumPy's `empty` has arbitrary values. A lazy array must give the same values whenever it is computed, so here they
    are zeros.

    >>> wr.empty(3).shape
    (3,)
    """
    check_device("empty", device)
    return _full("empty", shape, ZERO, np.float64 if dtype is None else dtype, chunks)


def _like(
    operation: str,
    x: ArrayLike,
    value: Any,
    dtype: DTypeLike,
    shape: ShapeLike,
    chunks: ChunksLike,
    device: str | None,
) -> Array:
    check_device(operation, device)
    array = as_array(operation, "a", x)
    known = array.dtype if dtype is None else check_dtype(operation, "dtype", dtype)
    if shape is None and chunks is None:
        grid = array.expr.grid
        if isinstance(value, ArrayBase) or np.ndim(value) != 0:
            return regrid(_full(operation, array.shape, value, known, "auto"), grid)
        return make(Full(_item(operation, value, known)), (), grid, known)
    return _full(operation, array.shape if shape is None else shape, value, known, "auto" if chunks is None else chunks)


def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    order: str | None = "K",
    subok: bool = True,
    shape: ShapeLike = None,
    *,
    device: str | None = None,
    chunks: ChunksLike = None,
) -> Array:
    """Return an array of zeros with the shape, dtype and chunks of another.

    Parameters
    ----------
    a : array_like
        The array to be like.
    {dtype_of_a, order_subok, shape_of_a, device, chunks_of_a}

    Returns
    -------
    Array
        Lazy; `a` isn't computed.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `shape` is not an
        integer or a tuple of integers. `device` is neither None nor "cpu".
    ShapeError
        `shape` has a negative length, or 2**63 elements or more.
    DTypeError
        `a` holds Python objects. `dtype` is not a NumPy dtype, or one of Python objects.
    {ChunksError}

    >>> wr.zeros_like(wr.arange(3)).compute()
    array([0, 0, 0])
    """
    return _like("zeros_like", a, ZERO, dtype, shape, chunks, device)


def ones_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    order: str | None = "K",
    subok: bool = True,
    shape: ShapeLike = None,
    *,
    device: str | None = None,
    chunks: ChunksLike = None,
) -> Array:
    """Return an array of ones with the shape, dtype and chunks of another.

    {sections of zeros_like}

    >>> wr.ones_like(wr.arange(3)).compute()
    array([1, 1, 1])
    """
    return _like("ones_like", a, 1, dtype, shape, chunks, device)


def empty_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    order: str | None = "K",
    subok: bool = True,
    shape: ShapeLike = None,
    *,
    device: str | None = None,
    chunks: ChunksLike = None,
) -> Array:
    """Return an array of arbitrary values with the shape, dtype and chunks of another.

    {Parameters of zeros_like}

    Returns
    -------
    Array
        Lazy, of zeros; see `empty`.

    {Raises of zeros_like}

    >>> wr.empty_like(wr.arange(3)).shape
    (3,)
    """
    return _like("empty_like", a, ZERO, dtype, shape, chunks, device)


def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    order: str | None = "K",
    subok: bool = True,
    shape: ShapeLike = None,
    *,
    device: str | None = None,
    chunks: ChunksLike = None,
) -> Array:
    """Return an array filled with one value, with the shape, dtype and chunks of another.

    Parameters
    ----------
    a : array_like
        The array to be like.
    fill_value : scalar or array_like
        The value; an array broadcasts to the shape. It is cast to the dtype.
    {dtype_of_a, order_subok, shape_of_a, device, chunks_of_a}

    Returns
    -------
    Array
        Lazy; `a` isn't computed.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array: an unknown object, a ragged sequence or a masked array. `shape` is not an integer
        or a tuple of integers. `device` is neither None nor "cpu".
    ShapeError
        `shape` has a negative length, or 2**63 elements or more. `fill_value` doesn't broadcast to the shape.
    RangeError
        `fill_value` is a number of Python's that the dtype can't hold.
    DTypeError
        `a` holds Python objects. `dtype` is not a NumPy dtype, or one of Python objects.
    {ChunksError}

    >>> wr.full_like(wr.arange(3), 5).compute()
    array([5, 5, 5])
    """
    return _like("full_like", a, fill_value, dtype, shape, chunks, device)


CREATION.fill(__name__)
