"""The array API's spelling of functions that the main namespace has under NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.errors import bad
from ..base import as_array
from ..creation import diagonals
from ..ops import products, vectors
from ..ops.moving import matrix_transpose
from .common import MatrixError

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_transpose",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]

matmul = products.matmul
vecdot = vectors.vecdot


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Return cross products of vectors of three elements.

    Parameters
    ----------
    x1, x2 : array
    axis : int
        The vectors' elements lie along it.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> import numpy as np
    >>> wr.linalg.cross(np.array([1, 0, 0]), np.array([0, 1, 0])).compute()
    array([0, 0, 1])
    """
    return vectors.cross(x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> Array:
    """Multiply each element of one vector with each of another.

    Parameters
    ----------
    x1, x2 : array of one axis

    Returns
    -------
    Array of two axes

    Examples
    --------
    >>> import windrow as wr
    >>> wr.linalg.outer(wr.arange(2), wr.arange(3)).compute()
    array([[0, 0, 0],
           [0, 1, 2]])
    """
    for name, value in (("x1", x1), ("x2", x2)):
        array = as_array("outer", name, value)
        if array.ndim != 1:
            raise MatrixError(bad("outer", name, array.shape, "one axis"))
    found: Array = products.outer(x1, x2)
    return found


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    """Sum products of elements over several axes; see `windrow.tensordot`.

    Parameters
    ----------
    x1, x2 : array
    axes : int, or a pair of sequences of int

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.linalg.tensordot(wr.ones((2, 3)), wr.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    return products.tensordot(x1, x2, axes)


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """Return the diagonals of matrices.

    Parameters
    ----------
    x : array (..., M, N)
    offset : int
        Above the main diagonal; negative: below it.

    Returns
    -------
    Array (..., K)

    Examples
    --------
    >>> import windrow as wr
    >>> wr.linalg.diagonal(wr.eye(3), offset=1).compute()
    array([0., 0.])
    """
    return diagonals.diagonal(_matrix("diagonal", x), offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Add up the diagonals of matrices.

    Parameters
    ----------
    x : array (..., M, N)
    offset : int
        Above the main diagonal; negative: below it.
    dtype : dtype, optional
        To add in.

    Returns
    -------
    Array (...)

    Examples
    --------
    >>> import windrow as wr
    >>> wr.linalg.trace(wr.eye(3)).compute()
    np.float64(3.0)
    """
    found: Array = diagonals.trace(_matrix("trace", x), offset, -2, -1, dtype)
    return found


def _matrix(operation: str, x: Any) -> Array:
    found = as_array(operation, "x", x)
    if found.ndim < 2:
        raise MatrixError(bad(operation, "x", found.shape, "a shape of at least two axes"))
    return found
