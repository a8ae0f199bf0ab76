"""The array API's spelling of functions that the main namespace has under NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.errors import ShapeError, bad
from ..base import as_array, check_axis
from ..creation import diagonals
from ..ops.moves.axis_moves import matrix_transpose
from ..ops.products import matrices, vectors
from ..views import gives_readonly_view
from .common import MatrixError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array
    from ..typing import ArrayLike, DTypeLike

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

matmul = matrices.matmul
vecdot = vectors.vecdot


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Return cross products of vectors of three elements.

    Parameters
    ----------
    x1, x2 : array_like
        Vectors of numbers; they broadcast.
    axis : int
        The vectors' three elements lie along it.

    Returns
    -------
    Array
        In the shape to which both broadcast.

    Raises
    ------
    ArgumentError
        `x1` or `x2` can't be read as an array.
    AxisError
        The array has no such axis.
    ShapeError
        Vectors haven't three elements, or the shapes don't broadcast.
    DTypeError
        `x1` or `x2` isn't numbers.

    Notes
    -----
    `windrow.cross` has NumPy's other arguments.

    >>> import numpy as np
    >>> wr.linalg.cross(np.array([1, 0, 0]), np.array([0, 1, 0])).compute()
    array([0, 0, 1])
    """
    left, right = as_array("linalg.cross", "x1", x1), as_array("linalg.cross", "x2", x2)
    for name, x in (("x1", left), ("x2", right)):
        if x.ndim and x.shape[check_axis("linalg.cross", axis, x.ndim)] != 3:
            raise ShapeError(bad("linalg.cross", name, x.shape, "vectors of three elements along its axis"))
    return vectors.cross(left, right, axis=axis)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Multiply each element of one vector with each of another.

    Parameters
    ----------
    x1, x2 : 1-D array
        Vectors of numbers, of M and N elements.

    Returns
    -------
    Array (M, N)
        `x1[i] * x2[j]` at position (i, j).

    Raises
    ------
    ArgumentError
        `x1` or `x2` can't be read as an array.
    ShapeError
        `x1` or `x2` isn't 1-D (`windrow.outer` flattens them).
    DTypeError
        `x1` or `x2` can't be multiplied.

    >>> wr.linalg.outer(wr.arange(2), wr.arange(3)).compute()
    array([[0, 0, 0],
           [0, 1, 2]])
    """
    for name, value in (("x1", x1), ("x2", x2)):
        array = as_array("outer", name, value)
        if array.ndim != 1:
            raise MatrixError(bad("outer", name, array.shape, "a 1-D array"))
    product: Array = matrices.outer(x1, x2)
    return product


def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: int | Sequence[Any] = 2) -> Array:
    """Sum products of elements over several axes; see `windrow.tensordot`.

    Parameters
    ----------
    x1, x2 : array_like
        Numbers or bool.
    axes : int, or a pair of sequences of int
        Over how many of the last axes of `x1` and the first of `x2`; or which of each.

    Returns
    -------
    Array
        The other axes of `x1`, then those of `x2`.

    Raises
    ------
    ArgumentError
        `x1` or `x2` can't be read as an array; or `axes` can't be read.
    AxisError
        The array has no such axis.
    ShapeError
        The axes have different lengths, or there aren't so many.
    DTypeError
        `x1` or `x2` isn't numbers or bool.

    >>> wr.linalg.tensordot(wr.ones((2, 3)), wr.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    return matrices.tensordot(x1, x2, axes)


@gives_readonly_view
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Return the diagonals of matrices.

    Parameters
    ----------
    x : array_like (..., M, N)
        Matrices of any dtype.
    offset : int
        How far above the main diagonal; negative: below it.

    Returns
    -------
    Array (..., K)
        The elements `x[..., i, i + offset]`.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array; or `offset` isn't an integer.
    ShapeError
        `x` has fewer than two axes.

    Notes
    -----
    The last two axes are the matrices'; those of `windrow.diagonal` are the first two.

    >>> wr.linalg.diagonal(wr.eye(3), offset=1).compute()
    array([0., 0.])
    """
    return diagonals.diagonal(_matrix("diagonal", x), offset, -2, -1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike = None) -> Array:
    """Return the sums of the diagonals of matrices.

    Parameters
    ----------
    x : array_like (..., M, N)
        Matrices of numbers.
    offset : int
        How far above the main diagonal; negative: below it.
    dtype : dtype, optional
        In which to add; None: that of `x`, for small integers and bool int64 or uint64.

    Returns
    -------
    Array (...)
        The sums of the diagonals.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array; or `offset` isn't an integer.
    ShapeError
        `x` has fewer than two axes.
    DTypeError
        `x` isn't numbers, or `dtype` is no dtype.

    Notes
    -----
    The last two axes are the matrices'; those of `windrow.trace` are the first two.

    >>> wr.linalg.trace(wr.eye(3)).compute()
    np.float64(3.0)
    """
    traces: Array = diagonals.trace(_matrix("trace", x), offset, -2, -1, dtype)
    return traces


def _matrix(operation: str, x: ArrayLike) -> Array:
    array = as_array(operation, "x", x)
    if array.ndim < 2:
        raise MatrixError(bad(operation, "x", array.shape, "an array of at least two axes"))
    return array
