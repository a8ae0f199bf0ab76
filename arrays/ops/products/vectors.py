"""Products of vectors: vecdot, matvec, vecmat, inner, cross, and Kronecker's product."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.positions import Periodic
from ....graph.errors import DTypeError, ShapeError, bad
from ....workers.public_api import warn
from ...base import as_array, broadcast_shape, check_axis, grid_for
from ..elementwise.functions import astype
from ..elementwise.nodes import sample_dtypes
from ..elementwise.ufuncs import conjugate, multiply, negative, subtract
from ..moves.axis_moves import expand_dims, moveaxis
from ..moves.joining import stack
from ..moves.taking import map_axis
from ..reductions.extremes import any
from ..reductions.sums import sum
from .matrices import contract, matmul, multiply_elements, sum_along

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "cross",
    "inner",
    "kron",
    "matvec",
    "vecdot",
    "vecmat",
]


def _vectors(operation: str, x1: ArrayLike, x2: ArrayLike) -> tuple[Array, Array]:
    return as_array(operation, "x1", x1), as_array(operation, "x2", x2)


def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Return the dot product of vectors, the first conjugated.

    Parameters
    ----------
    x1, x2 : array_like, at least 1-D
        The vectors; other axes broadcast.
    axis : int
        The axis of each operand along which vectors lie.

    Returns
    -------
    Array
        Lazy, of the broadcast shape without that axis.

    Raises
    ------
    ArgumentError
        `x1` or `x2` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axis` is not an
        integer.
    ShapeError
        An operand is 0-d, the vectors differ in length, or other axes don't broadcast.
    AxisError
        `axis` is out of range for an operand.
    DTypeError
        `x1` or `x2` holds Python objects. The elements are neither numbers nor booleans.

    >>> wr.vecdot(wr.arange(6).reshape(2, 3), wr.ones(3)).compute()
    array([ 3., 12.])
    """
    left, right = _vectors("vecdot", x1, x2)
    for name, x in (("x1", left), ("x2", right)):
        if x.ndim == 0:
            raise ShapeError(bad("vecdot", name, x.shape, "at least one axis"))
    left = moveaxis(left, check_axis("vecdot", axis, left.ndim), -1)
    right = moveaxis(right, check_axis("vecdot", axis, right.ndim), -1)
    if left.shape[-1] != right.shape[-1]:
        expected = f"vectors of one length along axis {axis}"
        raise ShapeError(f"vecdot: operands have shapes {left.shape} and {right.shape}; expected {expected}")
    if left.dtype.kind == "c":
        left = conjugate(left)
    if left.ndim == right.ndim == 1:
        return contract("vecdot", left, right, ((0,), (0,), ()))
    broadcast_shape("vecdot", left.shape, right.shape)
    dtype = _product_dtype("vecdot", left, right)
    products = multiply(left, right)
    return any(products, axis=-1) if dtype == np.bool else sum(products, axis=-1, dtype=dtype)


def _product_dtype(operation: str, left: Array, right: Array) -> np.dtype[Any]:
    try:
        dtype: np.dtype[Any] = np.matmul(np.empty((0, 0), left.dtype), np.empty((0, 0), right.dtype)).dtype
    except TypeError as error:
        kinds = f"{left.dtype}, {right.dtype}"
        raise DTypeError(f"{operation}: operands have dtypes {kinds}; expected numbers or bool") from error
    return dtype


def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Multiply matrices with vectors.

    Parameters
    ----------
    x1 : array_like (..., M, N)
        The matrices.
    x2 : array_like (..., N)
        The vectors; the axes before broadcast.

    Returns
    -------
    Array
        Lazy, of shape (..., M).

    Raises
    ------
    ArgumentError
        `x1` or `x2` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        `x1` has fewer than two axes, `x2` is 0-d, or shapes don't fit.
    DTypeError
        `x1` or `x2` holds Python objects. The elements are neither numbers nor booleans.

    >>> wr.matvec(wr.ones((2, 3)), wr.ones((4, 3))).shape
    (4, 2)
    """
    matrix, vector = _vectors("matvec", x1, x2)
    _check("matvec", "x1", matrix, vector)
    if matrix.shape[-1] != vector.shape[-1]:
        raise ShapeError(bad("matvec", "x2", vector.shape, f"(..., {matrix.shape[-1]}), to fit x1 of {matrix.shape}"))
    product: Array = matmul(matrix, expand_dims(vector, -1))[..., 0]
    return product


def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Multiply vectors, conjugated, with matrices.

    Parameters
    ----------
    x1 : array_like (..., M)
        The vectors.
    x2 : array_like (..., M, N)
        The matrices; the axes before broadcast.

    Returns
    -------
    Array
        Lazy, of shape (..., N).

    Raises
    ------
    ArgumentError
        `x1` or `x2` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        `x2` has fewer than two axes, `x1` is 0-d, or shapes don't fit.
    DTypeError
        `x1` or `x2` holds Python objects. The elements are neither numbers nor booleans.

    >>> wr.vecmat(wr.ones((4, 3)), wr.ones((3, 2))).shape
    (4, 2)
    """
    vector, matrix = _vectors("vecmat", x1, x2)
    _check("vecmat", "x2", matrix, vector)
    if matrix.shape[-2] != vector.shape[-1]:
        raise ShapeError(bad("vecmat", "x1", vector.shape, f"(..., {matrix.shape[-2]}), to fit x2 of {matrix.shape}"))
    if vector.dtype.kind == "c":
        vector = conjugate(vector)
    product: Array = matmul(expand_dims(vector, -2), matrix)[..., 0, :]
    return product


def _check(operation: str, name: str, matrix: Array, vector: Array) -> None:
    if matrix.ndim < 2:
        raise ShapeError(bad(operation, name, matrix.shape, "at least two axes"))
    if vector.ndim < 1:
        raise ShapeError(bad(operation, "x1" if name == "x2" else "x2", vector.shape, "at least one axis"))


def inner(a: ArrayLike, b: ArrayLike, /) -> Array:
    """Sum products of elements over the last axes.

    Parameters
    ----------
    a, b : array_like
        The arrays; scalars multiply.

    Returns
    -------
    Array
        Lazy: the other axes of `a`, then those of `b`.

    Raises
    ------
    ArgumentError
        `a` or `b` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        The last axes differ in length.
    DTypeError
        `a` or `b` holds Python objects. The elements are neither numbers nor booleans.

    >>> wr.inner(wr.arange(3), wr.arange(3)).compute()
    np.int64(5)
    """
    left, right = as_array("inner", "a", a), as_array("inner", "b", b)
    if left.ndim == 0 or right.ndim == 0:
        return multiply_elements("inner", left, right)
    return sum_along("inner", left, right, left.ndim - 1, right.ndim - 1)


def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the Kronecker product: each element of `a` times all of `b`.

    Parameters
    ----------
    a, b : array_like
        The arrays; the one with fewer axes gets size-1 axes in front.

    Returns
    -------
    Array
        Lazy; each axis is as long as those of both multiplied.

    Raises
    ------
    ArgumentError
        `a` or `b` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        The result would have 2**63 elements or more.
    DTypeError
        `a` or `b` holds Python objects. The elements can't be multiplied.

    >>> wr.kron(wr.arange(3), wr.ones(2)).compute()
    array([0., 0., 1., 1., 2., 2.])
    """
    left, right = as_array("kron", "a", a), as_array("kron", "b", b)
    left = left.reshape((1,) * (right.ndim - left.ndim) + left.shape)
    right = right.reshape((1,) * (left.ndim - right.ndim) + right.shape)
    shape = tuple(n * m for n, m in zip(left.shape, right.shape, strict=True))
    (dtype,) = sample_dtypes("kron", np.multiply, (left, right), (0, 1))
    grid = grid_for("kron", "auto", shape, dtype)
    for at, (n, m) in enumerate(zip(left.shape, right.shape, strict=True)):
        if m != 1:
            left = map_axis("kron", left, at, Periodic(max(1, m)), n * m, grid.axes[at])
        if n != 1:
            right = map_axis("kron", right, at, Periodic(), n * m, grid.axes[at])
    return multiply_elements("kron", left, right)


def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """Return the cross product of vectors of three elements, or of two.

    Parameters
    ----------
    a, b : array_like
        The vectors; other axes broadcast. Those of two elements have a zero as the third, with a DeprecationWarning
        as NumPy's.
    axisa, axisb, axisc : int
        The axis along which vectors lie in `a`, `b` and the result.
    axis : int, optional
        The axis in all three; None: as the others say.

    Returns
    -------
    Array
        Lazy. Where all vectors have two elements, only the third element of each product, without an axis of its own.

    Raises
    ------
    ArgumentError
        `a` or `b` can't be read as an array: an unknown object, a ragged sequence or a masked array. An axis is not an
        integer.
    ShapeError
        Vectors have neither two nor three elements, or other axes don't broadcast.
    AxisError
        An axis is out of range.
    DTypeError
        `a` or `b` holds Python objects. The elements of both are booleans.

    >>> import numpy as np
    >>> wr.cross(np.array([1, 0, 0]), np.array([0, 1, 0])).compute()
    array([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    left, right = as_array("cross", "a", a), as_array("cross", "b", b)
    (dtype,) = sample_dtypes("cross", np.multiply, (left, right), (0, 1))
    if dtype == np.bool:
        raise DTypeError(bad("cross", "a", left.dtype, "numbers, which can be subtracted"))
    left = astype(moveaxis(left, check_axis("cross", axisa, left.ndim, "axisa"), -1), dtype)
    right = astype(moveaxis(right, check_axis("cross", axisb, right.ndim, "axisb"), -1), dtype)
    for name, x in (("a", left), ("b", right)):
        if x.shape[-1] not in (2, 3):
            raise ShapeError(bad("cross", name, x.shape, "vectors of two or three elements along its axis"))
    shape = broadcast_shape("cross", left.shape[:-1], right.shape[:-1])
    if 2 in (left.shape[-1], right.shape[-1]):
        warn("cross: vectors of two elements are deprecated, as in NumPy 2.0: give them a third", DeprecationWarning)
    if left.shape[-1] == right.shape[-1] == 2:
        return _cross_part(left, right, 0, 1)
    at = check_axis("cross", axisc, len(shape) + 1, "axisc")
    return stack([_cross_part(left, right, i, j) for i, j in ((1, 2), (2, 0), (0, 1))], axis=at)


def _cross_part(left: Array, right: Array, i: int, j: int) -> Array:
    """Return one element of a cross product; a missing third element counts as zero."""
    n, m = left.shape[-1], right.shape[-1]
    first = multiply_elements("cross", left[..., i], right[..., j]) if i < n and j < m else None
    second = multiply_elements("cross", left[..., j], right[..., i]) if j < n and i < m else None
    if second is None:
        return first  # type: ignore[return-value]
    return negative(second) if first is None else subtract(first, second)  # type: ignore[no-any-return]
