"""Systems and inverses of arrays of several axes, which stand for matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...graph.arguments import check_integer
from ...graph.errors import bad
from ..base import as_array, check_axis
from ..ops.moves.axis_moves import transpose
from .common import MatrixError
from .factors.elimination import inv, solve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array
    from ..typing import ArrayLike

__all__ = [
    "tensorinv",
    "tensorsolve",
]


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Solve `tensordot(a, x, x.ndim) == b`.

    Parameters
    ----------
    a : array_like
        Its first axes are those of `b`, the others have as many elements.
    b : array_like
        The right-hand side, in the shape of the first axes of `a`.
    axes : sequence of int, optional
        Axes of `a` that are moved behind the others first; None: none.

    Returns
    -------
    Array
        The solution, in the shape of the other axes of `a`.

    Raises
    ------
    ArgumentError
        `a` or `b` can't be read as an array.
    AxisError
        `axes` names an axis that `a` hasn't.
    ShapeError
        The sizes of the first and the other axes of `a` aren't that of `b`.
    DTypeError
        The matrices have another dtype than float32, float64, complex64, complex128, integers and bool.
    numpy.linalg.LinAlgError
        When it is computed: there is no single solution.

    Notes
    -----
    The arrays are reshaped to a matrix and a vector; see `windrow.linalg.solve`.

    >>> a = 2 * wr.eye(6).reshape(2, 3, 6)
    >>> wr.linalg.tensorsolve(a, wr.ones((2, 3))).compute()
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """
    x, y = as_array("tensorsolve", "a", a), as_array("tensorsolve", "b", b)
    if axes is not None:
        behind = [check_axis("tensorsolve", i, x.ndim, "axes") for i in axes]
        x = transpose(x, [*(i for i in range(x.ndim) if i not in behind), *behind])
    shape = x.shape[y.ndim :]
    if y.size != math.prod(shape) or x.size != y.size**2:
        raise MatrixError(bad("tensorsolve", "a", x.shape, f"a shape that begins with {y.shape}, and squares its size"))
    return solve(x.reshape(y.size, y.size), y.reshape(-1)).reshape(shape)


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """Return the inverse of the map `tensordot(a, x, ind)`.

    Parameters
    ----------
    a : array_like
        Its first `ind` axes have as many elements as the others.
    ind : int
        How many axes are the first ones; at least 1.

    Returns
    -------
    Array
        The inverse: the other axes of `a` come first.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; or `ind` isn't a positive integer.
    ShapeError
        The first `ind` axes have another number of elements than the others.
    DTypeError
        The matrices have another dtype than float32, float64, complex64, complex128, integers and bool.
    numpy.linalg.LinAlgError
        When it is computed: there is no inverse.

    Notes
    -----
    The array is reshaped to a matrix; see `windrow.linalg.inv`.

    >>> wr.linalg.tensorinv(2 * wr.eye(6).reshape(2, 3, 6)).shape
    (6, 2, 3)
    """
    x = as_array("tensorinv", "a", a)
    ind = check_integer("tensorinv", "ind", ind, 1)
    front, rest = x.shape[:ind], x.shape[ind:]
    if math.prod(front) != math.prod(rest):
        raise MatrixError(
            bad("tensorinv", "a", x.shape, f"as many elements along the first {ind} axes as along others")
        )
    n = math.prod(rest)
    return inv(x.reshape(n, n)).reshape((*rest, *front))
