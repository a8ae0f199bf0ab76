"""Making arrays that are filled with one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ShapeError, bad
from ...graph.kinds.source import Constant, Full
from ..base import ArrayBase, as_array, broadcast_shape, check_device, check_dtype, check_shape, grid_for, make
from ..chunking.rechunk import regrid
from ..ops.broadcasting import broadcast_to
from ..ops.elementwise_nodes import cast

if TYPE_CHECKING:
    from ...graph.expr import DType
    from ..array import Array

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
"""Stands for what a dtype has in memory that is zero: of text that is none, not "0"."""


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None, chunks: Any = "auto"
) -> Array:
    """Make an array of one value, or of values that broadcast.

    Parameters
    ----------
    shape : int or tuple of int
    fill_value : scalar or array
    dtype : dtype, optional
        None: the value's own.
    order : str
        NumPy's word for the order in memory; says nothing here.
    device : str, optional
        The only one, "cpu".
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
    check_device("full", device)
    return _full("full", shape, fill_value, dtype, chunks)


def _full(operation: str, shape: Any, value: Any, dtype: Any, chunks: Any) -> Array:
    if isinstance(value, ArrayBase) or np.ndim(value) != 0:
        array = as_array(operation, "fill_value", value)
        known = check_dtype(operation, "dtype", array.dtype if dtype is None else dtype)
        lengths = check_shape(operation, shape)
        if broadcast_shape(operation, array.shape, lengths) != lengths:
            raise ShapeError(bad(operation, "fill_value", array.shape, f"a shape that broadcasts to {lengths}"))
        found = broadcast_to(cast(array, known), lengths)
        return regrid(found, grid_for(operation, chunks, found.shape, known))
    known = check_dtype(operation, "dtype", np.asarray(value).dtype if dtype is None else dtype)
    lengths = check_shape(operation, shape)
    return make(Full(_item(value, known)), (), grid_for(operation, chunks, lengths, known), known)


def _item(value: Any, dtype: DType) -> Any:
    return np.zeros((), dtype)[()] if value is ZERO else np.asarray(value).astype(dtype)[()]


def constant(shape: tuple[int, ...], value: Any, dtype: DType) -> Array:
    """Return the array of a result that is known: one value everywhere."""
    return make(Constant(np.asarray(value).astype(dtype)[()]), (), grid_for("full", "auto", shape, dtype), dtype)


def zeros(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, chunks: Any = "auto") -> Array:
    """Make an array of zeros.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype
        None: float64.
    order : str
        NumPy's word for the order in memory; says nothing here.
    device : str, optional
        The only one, "cpu".
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
    check_device("zeros", device)
    return _full("zeros", shape, ZERO, np.float64 if dtype is None else dtype, chunks)


def ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, chunks: Any = "auto") -> Array:
    """Make an array of ones.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype
        None: float64.
    order : str
        NumPy's word for the order in memory; says nothing here.
    device : str, optional
        The only one, "cpu".
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
    check_device("ones", device)
    return _full("ones", shape, 1, np.float64 if dtype is None else dtype, chunks)


def empty(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, chunks: Any = "auto") -> Array:
    """Make an array for which no values are asked: a chunk has one value for ever, so these are zeros.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype
        None: float64.
    order : str
        NumPy's word for the order in memory; says nothing here.
    device : str, optional
        The only one, "cpu".
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
    check_device("empty", device)
    return _full("empty", shape, ZERO, np.float64 if dtype is None else dtype, chunks)


def _like(operation: str, x: Any, value: Any, dtype: Any, shape: Any, chunks: Any, device: Any) -> Array:
    check_device(operation, device)
    array = as_array(operation, "a", x)
    known = array.dtype if dtype is None else check_dtype(operation, "dtype", dtype)
    if shape is None and chunks is None:
        grid = array.expr.grid
        if isinstance(value, ArrayBase) or np.ndim(value) != 0:
            return regrid(_full(operation, array.shape, value, known, "auto"), grid)
        return make(Full(_item(value, known)), (), grid, known)
    return _full(operation, array.shape if shape is None else shape, value, known, "auto" if chunks is None else chunks)


def zeros_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
    chunks: Any = None,
) -> Array:
    """Make zeros of an array's shape, dtype and chunks.

    Parameters
    ----------
    a : array
    dtype, shape, chunks : optional
        Other than the array's.
    order, subok
        NumPy's words for the order in memory and for subclasses; they say nothing here.
    device : str, optional
        The only one, "cpu".

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.zeros_like(wr.arange(3)).compute()
    array([0, 0, 0])
    """
    return _like("zeros_like", a, ZERO, dtype, shape, chunks, device)


def ones_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
    chunks: Any = None,
) -> Array:
    """Make ones of an array's shape, dtype and chunks.

    Parameters
    ----------
    a : array
    dtype, shape, chunks : optional
        Other than the array's.
    order, subok
        NumPy's words for the order in memory and for subclasses; they say nothing here.
    device : str, optional
        The only one, "cpu".

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.ones_like(wr.arange(3)).compute()
    array([1, 1, 1])
    """
    return _like("ones_like", a, 1, dtype, shape, chunks, device)


def empty_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
    chunks: Any = None,
) -> Array:
    """Make an array of an array's shape, dtype and chunks; see `empty`.

    Parameters
    ----------
    a : array
    dtype, shape, chunks : optional
        Other than the array's.
    order, subok
        NumPy's words for the order in memory and for subclasses; they say nothing here.
    device : str, optional
        The only one, "cpu".

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.empty_like(wr.arange(3)).shape
    (3,)
    """
    return _like("empty_like", a, ZERO, dtype, shape, chunks, device)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
    chunks: Any = None,
) -> Array:
    """Make an array of one value with an array's shape, dtype and chunks.

    Parameters
    ----------
    a : array
    fill_value : scalar
    dtype, shape, chunks : optional
        Other than the array's.
    order, subok
        NumPy's words for the order in memory and for subclasses; they say nothing here.
    device : str, optional
        The only one, "cpu".

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.full_like(wr.arange(3), 5).compute()
    array([5, 5, 5])
    """
    return _like("full_like", a, fill_value, dtype, shape, chunks, device)
