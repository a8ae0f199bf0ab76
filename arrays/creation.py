"""Making arrays: from a formula, or from what the user has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.errors import ArgumentError, bad
from ..graph.kinds.source import Full
from .core import Node, as_array, check_dtype, check_shape, grid_for, make

if TYPE_CHECKING:
    from .array import Array

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
    return _full(operation, array.shape if shape is None else shape, value, known, "auto" if chunks is None else chunks)


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
