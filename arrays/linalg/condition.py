"""The condition of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...graph.errors import bad
from ..ops.elementwise.functions import astype, where
from ..ops.elementwise.ufuncs import divide, isnan, logical_and, logical_not, multiply
from ..ops.reductions.extremes import any
from .common import MatrixError, matrices, real_dtype
from .factors.elimination import inverse
from .factors.singular import svdvals
from .norms import norm

if TYPE_CHECKING:
    from ..array import Array
    from ..typing import ArrayLike

__all__ = [
    "cond",
]


def cond(x: ArrayLike, p: float | str | None = None) -> Array:
    """Return the condition of matrices; infinity for singular ones.

    Parameters
    ----------
    x : array_like (..., M, N)
        Matrices of float32, float64, complex64 or complex128; integers and bool are computed as float64.
    p : {None, 1, -1, 2, -2, inf, -inf, "fro", "nuc"}
        The norm; None: 2. The matrices are square for others than 2 and -2.

    Returns
    -------
    Array (...)
        Real, from 1 on; infinity for singular matrices, NaN for such with NaN.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array; or `p` is unknown.
    ShapeError
        `x` has fewer than two axes, a matrix has no elements, or isn't square for a norm other than 2 and -2.
    DTypeError
        The matrices have another dtype than float32, float64, complex64, complex128, integers and bool.

    >>> import numpy as np
    >>> wr.linalg.cond(np.diag([1.0, 4.0])).compute()
    np.float64(4.0)
    """
    two = p is None or (not isinstance(p, str) and p in (2, -2))
    a = matrices("cond", "x", x, square=not two)
    if 0 in a.shape[-2:]:
        raise MatrixError(bad("cond", "x", a.shape, "matrices with elements"))
    if two:
        s = svdvals(a)
        ends = (s[..., -1], s[..., 0]) if p == -2 else (s[..., 0], s[..., -1])
        condition = divide(*ends)
    else:
        condition = multiply(norm(a, p, axis=(-2, -1)), norm(inverse(a, quiet=True), p, axis=(-2, -1)))
    lost = logical_and(isnan(condition), logical_not(any(isnan(a), axis=(-2, -1))))
    return astype(where(lost, np.inf, condition), real_dtype(a.dtype))
