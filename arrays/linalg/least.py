"""Least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.grid import Grid
from ...graph.errors import ArgumentError, bad
from ...graph.kinds.mapping import BlockFunction
from ..base import as_array, make
from ..chunking.rechunk import regrid
from ..execution.deferred import defer_unsized
from ..ops.elementwise.functions import astype, real
from ..ops.moves.axis_moves import expand_dims
from ..ops.moves.joining import concatenate
from .common import MatrixError, by_blocks, inexact, matrices, real_dtype, wide
from .factors.orthogonal import triangle

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..array import Array
    from ..typing import ArrayLike

__all__ = [
    "lstsq",
]

HIGH = 2
"""A large system with this many times more rows than columns is reduced to a triangle first."""


def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None) -> tuple[Array, Array, Array, Array]:
    """Return the least-squares solution of `a @ x = b`.

    Parameters
    ----------
    a : array_like (M, N)
        A matrix of float32, float64, complex64 or complex128; integers and bool are computed as float64.
    b : array_like (M,) or (M, K)
        Right-hand sides: one, or one in each column.
    rcond : float, optional
        Singular values of at most so much of the largest count as zero. None: the dtype's precision times the larger
        length; -1: the machine's precision.

    Returns
    -------
    x : Array (N,) or (N, K)
        The solution of least norm, in the dtype of both together.
    residuals : Array (K,) or (0,)
        Sums of squared residuals; nothing where the rank is less than N, or M isn't more than N. Its size is found when
        it is needed.
    rank : Array of int, 0-d
        How many singular values don't count as zero.
    s : Array (min(M, N),)
        The singular values of `a`, the largest first.

    Raises
    ------
    ArgumentError
        `a` or `b` can't be read as an array; `rcond` isn't a number.
    ShapeError
        `a` has fewer than two axes, or more than two; or `b` has another number of rows.
    DTypeError
        The matrices have another dtype than float32, float64, complex64, complex128, integers and bool.

    Notes
    -----
    A large system with at least twice as many rows as columns is reduced to a triangle by blocks (see
    `windrow.linalg.qr`), together with its right-hand sides; the triangle, or any other system, is brought to one
    chunk. `a` isn't a stack.

    >>> import numpy as np
    >>> a = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> x, residuals, rank, s = wr.linalg.lstsq(a, np.array([1.0, 3.0, 5.0]))
    >>> x.compute().round(12), int(rank)
    (array([1., 2.]), 2)
    """
    x = matrices("lstsq", "a", a)
    if x.ndim != 2:
        raise MatrixError(bad("lstsq", "a", x.shape, "a 2-D array"))
    rhs = inexact("lstsq", "b", as_array("lstsq", "b", b))
    y = expand_dims(rhs, 1) if rhs.ndim == 1 else rhs
    m, n = x.shape
    if y.ndim != 2 or len(y) != m:
        raise MatrixError(bad("lstsq", "b", rhs.shape, f"({m},) or ({m}, K)"))
    dtype = np.result_type(x.dtype, y.dtype)
    limit = _rcond(rcond, max(m, n))
    k = y.shape[1]
    spare = 0
    if by_blocks(x) and m >= HIGH * n and m >= n + k:
        both = triangle(concatenate([wide(x), wide(y)], 1))
        x, y, spare = both[:n, :n], both[:, n:], k
    table = _solve_whole(x, y, limit, spare)
    coefficients = table[:n, :k]
    rank = astype(real(table[n + 2, 0]), np.int64)
    s = real(table[n + 1, : min(m, n)])
    sums = astype(real(table[n, :k]), real_dtype(dtype))
    rest = defer_unsized("lstsq", _residuals, (sums, rank), (m, n), (None,), sums.dtype)
    solution = astype(coefficients, dtype)
    return solution[:, 0] if rhs.ndim == 1 else solution, rest, rank, astype(s, real_dtype(dtype))


def _rcond(rcond: float | None, longest: int) -> float:
    eps = float(np.finfo(np.float64).eps)
    if rcond is None:
        return eps * longest
    if isinstance(rcond, bool) or not isinstance(rcond, int | float | np.floating | np.integer):
        raise ArgumentError(bad("lstsq", "rcond", rcond, "a number or None"))
    return float(rcond)


def _solve_whole(x: Array, y: Array, rcond: float, spare: int) -> Array:
    """Solve in one chunk; see `workers.kernels.blocks.linalg.whole.lstsq` for the rows of the result."""
    x, y = (regrid(v, Grid.single(v.shape)) for v in (wide(x), wide(y)))
    dtype = np.result_type(x.dtype, y.dtype)
    shape = (x.shape[1] + 3, max(y.shape[1], min(x.shape), 1))
    operand_axes = ((None, None), (None, None))
    return make(BlockFunction("linalg.whole:lstsq", (rcond, spare), operand_axes), (x, y), Grid.single(shape), dtype)


def _residuals(sums: Array, rank: Array, m: int, n: int) -> Generator[Any, Any, Array]:
    known_rank = yield rank
    return sums if int(known_rank) == n < m else sums[:0]
