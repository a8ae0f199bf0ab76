"""Products: `matmul`, `tensordot`, `dot`, `vdot`, `outer`, and the contraction below them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import ArgumentError, DTypeError, ShapeError, bad
from ....graph.kinds.contraction import Contract, cut_blocks, split_for
from ....graph.kinds.move import rechunk as rechunk_move
from ....graph.kinds.reduction import Reduce
from ...base import ArrayBase, as_array, broadcast_shape, check_axis, make
from ...chunking.rechunk import regrid
from ...refitting import refittable
from ..docstrings import OPS
from ..elementwise.functions import astype
from ..elementwise.nodes import apply
from ..elementwise.ufuncs import conjugate
from ..moves.sliding_window import weigh_windows
from ..outputs import deliver
from .own_products import cut_rows, find_own, multiply_own

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike, AxisLike, DTypeLike, OutLike

__all__ = [
    "dot",
    "matmul",
    "outer",
    "tensordot",
    "vdot",
]

Labels = tuple[int, ...]
FEW_BYTES = 1 << 20
"""Bytes of all partial products together, up to which they are stored side by side, however small the operands are."""


@refittable
def contract(operation: str, left: Array, right: Array, labels: tuple[Labels, Labels, Labels]) -> Array:
    """Sum products of elements over the labels that the result lacks.

    Axes with the same label must have the same length; there the smaller operand takes the larger one's chunks. Where
    few blocks of the result sum over many blocks, the sum is computed in parts, which are added up. If the parts would
    take more memory than the operands, the result is computed in smaller blocks instead. Sliding windows are multiplied
    with a vector without being copied.
    """
    try:
        dtype = np.matmul(np.empty((0, 0), left.dtype), np.empty((0, 0), right.dtype)).dtype
    except TypeError as error:
        kinds = f"{left.dtype}, {right.dtype}"
        raise DTypeError(f"{operation}: operands have dtypes {kinds}; expected numbers or bool") from error
    left, right = astype(left, dtype), astype(right, dtype)
    for first, second, way in ((left, right, labels), (right, left, (labels[1], labels[0], labels[2]))):
        weighted = weigh_windows(first, second, way)
        if weighted is not None:
            return weighted
    own = find_own(left, right, labels)
    if own is not None:
        left, labels = own
        right = left
    mine, theirs, out = labels
    ahead = left.nbytes >= right.nbytes
    axes: dict[int, Axis] = {}
    order = [(right, theirs), (left, mine)] if ahead else [(left, mine), (right, theirs)]
    for array, names in order:
        axes |= dict(zip(names, array.expr.grid.axes, strict=True))
    left = regrid(left, Grid([axes[a] for a in mine]))
    right = regrid(right, Grid([axes[a] for a in theirs]))
    grid = Grid([axes[a] for a in out])
    inner = math.prod(axes[a].count for a in mine if a in theirs and a not in out)
    parts = split_for(grid.nblocks, inner)
    crowded = parts * grid.size * dtype.itemsize > max(FEW_BYTES, left.nbytes, right.nbytes)
    if own is not None and (crowded or parts == 1):
        rows = cut_rows(grid.axes[0], left.size // max(1, grid.shape[0]))
        if rows is not None:
            return regrid(multiply_own(left, labels, rows), grid)
    if crowded:
        fine = cut_blocks(grid)
        if fine != grid:
            cut = axes | dict(zip(out, fine.axes, strict=True))
            operands = (_recut(x, Grid([cut[a] for a in names])) for x, names in ((left, mine), (right, theirs)))
            return regrid(_multiply(tuple(operands), labels, fine, split_for(fine.nblocks, inner)), grid)
    return _multiply((left, right), labels, grid, parts)


def _recut(x: Array, grid: Grid) -> Array:
    """Return an operand in smaller chunks, each a part of one of its own, which products read in place."""
    return x if x.expr.grid == grid else make(rechunk_move(x.ndim), (x,), grid, x.dtype)


def _multiply(operands: tuple[Array, ...], labels: tuple[Labels, Labels, Labels], grid: Grid, parts: int) -> Array:
    """Return the product of operands whose chunks fit; where the sum is cut into `parts`, these are added up."""
    dtype, op = operands[0].dtype, Contract(*labels, parts)
    if parts == 1:
        return make(op, operands, grid, dtype)
    wide = make(op, operands, Grid([Axis.regular(parts, 1), *grid.axes]), dtype)
    head = "any" if dtype == np.bool else "sum"
    return make(Reduce(head, (0,), False), (wide,), grid, dtype)


def matmul(
    x1: ArrayLike, x2: ArrayLike, /, out: OutLike = None, *, dtype: DTypeLike = None, casting: str = "same_kind"
) -> Any:
    """Multiply matrices, as the operator @ does.

    Parameters
    ----------
    x1 : array_like, at least 1-D
        Matrices (..., M, K); a 1-D array is a vector.
    x2 : array_like, at least 1-D
        Matrices (..., K, N); a 1-D array is a vector. Axes before the last two broadcast.
    {out}
    dtype : dtype, optional
        To which both are cast first; None: to which they promote.
    {casting}

    Returns
    -------
    Array
        Lazy, of shape (..., M, N), without the axis of a vector.

    Raises
    ------
    ArgumentError
        `x1` or `x2` can't be read as an array: an unknown object, a ragged sequence or a masked array. `out` is not an
        array.
    ShapeError
        An operand is 0-d, columns of `x1` and rows of `x2` differ in number, or other axes don't broadcast. `out`
        doesn't have the result's shape.
    DTypeError
        `x1` or `x2` holds Python objects. The elements are neither numbers nor booleans, or `casting` doesn't allow the
        cast. The result can't be cast to the dtype of `out` by the rule "same_kind".

    Notes
    -----
    Partial products are added chunk by chunk, so floating-point results may differ from NumPy's in the last digits. The
    same chunks always give the same result. Windows of `sliding_window_view` are multiplied with a vector without
    being copied.

    >>> x = wr.ones((3, 4), chunks=2)
    >>> (x @ x.T).compute()
    array([[4., 4., 4.],
           [4., 4., 4.],
           [4., 4., 4.]])
    """
    left, right = as_array("matmul", "x1", x1), as_array("matmul", "x2", x2)
    if dtype is not None:
        left, right = (astype(x, dtype, casting=casting) for x in (left, right))
    for name, array in (("x1", left), ("x2", right)):
        if array.ndim == 0:
            raise ShapeError(bad("matmul", name, array.shape, "at least one axis (use * for scalars)"))
    inner = right.shape[-2] if right.ndim > 1 else right.shape[0]
    if left.shape[-1] != inner:
        expected = f"as many columns in x1 ({left.shape[-1]}) as rows in x2 ({inner})"
        raise ShapeError(f"matmul: operands have shapes {left.shape} and {right.shape}; expected {expected}")
    batch = broadcast_shape("matmul", left.shape[:-2], right.shape[:-2])
    n = len(batch)
    row, column, summed = n, n + 1, n + 2
    left, mine = _batch_labels(left, left.ndim - 2, batch)
    right, theirs = _batch_labels(right, right.ndim - 2, batch)
    mine += (row, summed) if len(mine) + 2 == left.ndim else (summed,)
    theirs += (summed, column) if len(theirs) + 2 == right.ndim else (summed,)
    known = (*mine, *theirs)
    # A size-1 axis of both operands belongs to neither: it is inserted at the end.
    kept = tuple(a for a in (*range(n), row, column) if a in known)
    product = contract("matmul", left, right, (mine, theirs, kept))
    shape = (*batch, *(product.shape[len([a for a in kept if a < n]) :]))
    return deliver("matmul", product if product.shape == shape else product.reshape(shape), out, broadcasts=True)


def _batch_labels(array: Array, count: int, batch: tuple[int, ...]) -> tuple[Array, Labels]:
    """Drop size-1 batch axes; return the labels of the others."""
    if count <= 0:
        return array, ()
    first = len(batch) - count
    kept = [i for i in range(count) if array.shape[i] != 1]
    gone = tuple(i for i in range(count) if i not in kept)
    return array.squeeze(gone) if gone else array, tuple(first + i for i in kept)


def tensordot(a: ArrayLike, b: ArrayLike, axes: int | Sequence[Any] = 2) -> Array:
    """Sum products of elements over pairs of axes.

    Parameters
    ----------
    a, b : array_like
        The arrays.
    axes : int or pair of sequences of int
        An integer n: the last n axes of `a` with the first n of `b`. Else the axes of each, in matching order.

    Returns
    -------
    Array
        Lazy: the other axes of `a`, then those of `b`.

    Raises
    ------
    ArgumentError
        `a` or `b` can't be read as an array: an unknown object, a ragged sequence or a masked array. `axes` is neither
        an integer nor a pair.
    ShapeError
        Paired axes differ in length or number, or an axis is named twice.
    AxisError
        An axis is out of range.
    DTypeError
        `a` or `b` holds Python objects. The elements are neither numbers nor booleans.

    >>> wr.tensordot(wr.ones((2, 3, 4)), wr.ones((4, 3)), ([1, 2], [1, 0])).compute()
    array([12., 12.])
    """
    left, right = as_array("tensordot", "a", a), as_array("tensordot", "b", b)
    first, second = _pairs(left, right, axes)
    if [left.shape[i] for i in first] != [right.shape[i] for i in second]:
        shapes = f"{left.shape} and {right.shape}"
        raise ShapeError(bad("tensordot", "axes", axes, f"axes of equal lengths in shapes {shapes}"))
    if not first:
        return multiply_elements("tensordot", left.reshape(*left.shape, *(1,) * right.ndim), right)
    return _sum_over("tensordot", left, right, first, second)


def sum_along(operation: str, left: Array, right: Array, first: int, second: int) -> Array:
    """Sum products of elements over an axis of each array; errors name the operation that was called."""
    if left.shape[first] != right.shape[second]:
        expected = f"axes {first} and {second} of one length"
        raise ShapeError(f"{operation}: operands have shapes {left.shape} and {right.shape}; expected {expected}")
    return _sum_over(operation, left, right, [first], [second])


def _sum_over(operation: str, left: Array, right: Array, first: Sequence[int], second: Sequence[int]) -> Array:
    mine = tuple(range(left.ndim))
    theirs = tuple(first[second.index(i)] if i in second else left.ndim + i for i in range(right.ndim))
    out = (
        *(i for i in mine if i not in first),
        *(left.ndim + i for i in range(right.ndim) if i not in second),
    )
    return contract(operation, left, right, (mine, theirs, out))


def multiply_elements(operation: str, left: Array, right: Array) -> Array:
    """Multiply arrays element by element; errors name the operation that was called."""
    return apply(operation, "multiply", (left, right), np.multiply)


def _pairs(left: ArrayBase, right: ArrayBase, axes: AxisLike) -> tuple[list[int], list[int]]:
    if isinstance(axes, int | np.integer):
        if not 0 <= axes <= min(left.ndim, right.ndim):
            raise ShapeError(bad("tensordot", "axes", axes, f"0 to {min(left.ndim, right.ndim)}"))
        return list(range(left.ndim - int(axes), left.ndim)), list(range(int(axes)))
    if not isinstance(axes, Sequence) or len(axes) != 2:
        raise ArgumentError(bad("tensordot", "axes", axes, "an integer or a pair of sequences of axes"))
    axis_lists = [a if isinstance(a, Sequence) else (a,) for a in axes]
    first = [check_axis("tensordot", i, left.ndim, "axes") for i in axis_lists[0]]
    second = [check_axis("tensordot", i, right.ndim, "axes") for i in axis_lists[1]]
    if len(first) != len(second) or len(set(first)) != len(first) or len(set(second)) != len(second):
        raise ShapeError(bad("tensordot", "axes", axes, "as many axes of a as of b, each once"))
    return first, second


def dot(a: ArrayLike, b: ArrayLike, out: OutLike = None) -> Any:
    """Return the dot product: over the last axis of `a` and the second to last of `b`.

    Parameters
    ----------
    a, b : array_like
        The arrays. Vectors give their inner product, matrices their product, scalars multiply.
    {out}

    Returns
    -------
    Array
        Lazy: the other axes of `a`, then those of `b`.

    Raises
    ------
    ArgumentError
        `a` or `b` can't be read as an array: an unknown object, a ragged sequence or a masked array. `out` is not an
        array.
    ShapeError
        The axes differ in length. `out` doesn't have the result's shape.
    DTypeError
        `a` or `b` holds Python objects. The elements are neither numbers nor booleans. The result can't be cast to the
        dtype of `out` by the rule "same_kind".

    >>> wr.dot(wr.arange(3), wr.arange(3)).compute()
    np.int64(5)
    """
    left, right = as_array("dot", "a", a), as_array("dot", "b", b)
    if left.ndim == 0 or right.ndim == 0:
        return deliver("dot", multiply_elements("dot", left, right), out)
    return deliver("dot", sum_along("dot", left, right, left.ndim - 1, max(0, right.ndim - 2)), out)


def vdot(a: ArrayLike, b: ArrayLike, /) -> Array:
    """Return the dot product of two flattened arrays, the first conjugated.

    Parameters
    ----------
    a, b : array_like
        The arrays, of equal size.

    Returns
    -------
    Array
        Lazy and 0-d.

    Raises
    ------
    ArgumentError
        `a` or `b` can't be read as an array: an unknown object, a ragged sequence or a masked array.
    ShapeError
        The sizes differ.
    DTypeError
        `a` or `b` holds Python objects. The elements are neither numbers nor booleans.

    >>> wr.vdot(wr.full(2, 1j), wr.full(2, 1j)).compute()
    np.complex128(2+0j)
    """
    left, right = as_array("vdot", "a", a).reshape(-1), as_array("vdot", "b", b).reshape(-1)
    return sum_along("vdot", conjugate(left) if left.dtype.kind == "c" else left, right, 0, 0)


def outer(a: ArrayLike, b: ArrayLike, out: OutLike = None) -> Any:
    """Return the products of all pairs of elements of two flattened arrays.

    Parameters
    ----------
    a, b : array_like
        The arrays.
    {out}

    Returns
    -------
    Array
        Lazy, of shape (a.size, b.size).

    Raises
    ------
    ArgumentError
        `a` or `b` can't be read as an array: an unknown object, a ragged sequence or a masked array. `out` is not an
        array.
    {ShapeError}
    DTypeError
        `a` or `b` holds Python objects. The elements can't be multiplied. The result can't be cast to the dtype of
        `out` by the rule "same_kind".

    >>> wr.outer(wr.arange(2), wr.arange(3)).compute()
    array([[0, 0, 0],
           [0, 1, 2]])
    """
    left, right = as_array("outer", "a", a).reshape(-1, 1), as_array("outer", "b", b).reshape(-1)
    return deliver("outer", multiply_elements("outer", left, right), out, broadcasts=True)


OPS.fill(__name__)
