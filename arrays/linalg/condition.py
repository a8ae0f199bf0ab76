"""The condition of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import bad
from ..ops.elementwise import astype, where
from ..ops.extremes import any
from ..ops.ufuncs import divide, isnan, logical_and, logical_not, multiply
from .common import MatrixError, matrices, real_dtype
from .elimination import inverse
from .norms import norm
from .singular import svdvals

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "cond",
]


def cond(x: Any, p: Any = None) -> Array:
    """Return the condition of matrices; infinity for singular ones.

    Parameters
    ----------
    x : array (..., M, N)
    p : {None, 1, -1, 2, -2, inf, -inf, "fro", "nuc"}
        The norm; None: 2. The matrices are square for others than 2 and -2.

    Returns
    -------
    Array (...)

    Examples
    --------
    >>> import windrow as wr
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
        found = divide(*ends)
    else:
        found = multiply(norm(a, p, axis=(-2, -1)), norm(inverse(a, quiet=True), p, axis=(-2, -1)))
    lost = logical_and(isnan(found), logical_not(any(isnan(a), axis=(-2, -1))))
    return astype(where(lost, np.inf, found), real_dtype(a.dtype))
