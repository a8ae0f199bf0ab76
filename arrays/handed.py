"""Arrays that the user hands in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.errors import ArgumentError, bad
from .core import Node, as_array, check_dtype, check_shape, grid_for, host, not_masked
from .ops.elementwise import astype

if TYPE_CHECKING:
    from ..graph.grid import Grid
    from .array import Array

__all__ = [
    "asarray",
    "from_array",
]


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
            raise ArgumentError(bad("from_array", "x", type(x).__name__, "something with shape, dtype and slicing"))
        x, in_place = np.asarray(x), True
    not_masked("from_array", "x", x)
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
