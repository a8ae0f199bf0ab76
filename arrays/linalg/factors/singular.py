"""Singular values, and what follows from them: pseudoinverse, rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....graph.errors import ArgumentError, bad
from ...base import as_array
from ...ops.elementwise.functions import astype, real, where
from ...ops.elementwise.ufuncs import abs, conjugate, divide, greater, multiply, not_equal
from ...ops.moves.axis_moves import expand_dims, matrix_transpose
from ...ops.moves.joining import concatenate
from ...ops.products.matrices import matmul
from ...ops.reductions.extremes import amax, any
from ...ops.reductions.sums import count_nonzero
from ...refitting import refittable
from ..common import by_blocks, map_stacks, matrices, real_dtype, wide
from ..docstrings import LINALG
from .eigen import eigh, eigvalsh
from .orthogonal import complete, factor_reduced, triangle
from .tall import Tall, is_tall

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "matrix_rank",
    "pinv",
    "svd",
    "svdvals",
]

HIGH = 2
"""A large matrix with this many times more rows than columns is factored into Q and R first."""


class SVDResult(NamedTuple):
    """Left vectors, singular values, right vectors."""

    U: Array
    S: Array
    Vh: Array


def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Return the singular value decomposition `a = U @ diag(S) @ Vh`.

    Parameters
    ----------
    a : array_like (..., M, N)
        Matrices of float32, float64, complex64 or complex128; integers and bool are computed as float64.
    full_matrices : bool
        Whether U and Vh are square; else K = min(M, N) columns of U and rows of Vh.
    compute_uv : bool
        Whether to return U and Vh too.
    hermitian : bool
        Whether the matrices are Hermitian: `eigh` is used, and they are read from the lower triangle.

    Returns
    -------
    SVDResult or Array
        A named tuple: `U` (..., M, M) or (..., M, K), `S` (..., K), real and the largest first, and `Vh` (..., N, N) or
        (..., K, N). The singular values alone without `compute_uv`.

    Raises
    ------
    {ArgumentError}
    ShapeError
        `a` has fewer than two axes, or the matrices aren't square for `hermitian`.
    {DTypeError}
    numpy.linalg.LinAlgError
        When it is computed: the decomposition doesn't converge, as with NaN.

    Notes
    -----
    A large matrix of at least twice as many rows as columns is first factored into Q and R, by blocks (see
    `windrow.linalg.qr`), and so is the transpose of one with at least twice as many columns as rows; the triangle is
    brought to one chunk. Other matrices are brought to one chunk whole.

    >>> x = wr.random.default_rng(1).random((1000, 3), chunks=(100, 3))
    >>> u, s, vh = wr.linalg.svd(x, full_matrices=False)
    >>> bool((abs((u * s) @ vh - x) < 1e-14).all())
    True
    """
    x = matrices("svd", "a", a)
    if not compute_uv:
        return _absolute_eigenvalues(x) if hermitian else svdvals(x)
    if hermitian:
        return _hermitian(matrices("svd", "a", x, square=True))
    m, n = x.shape[-2:]
    if by_blocks(x) and max(m, n) >= HIGH * min(m, n):
        high = _high_full if full_matrices else _high
        if m < n:
            u, s, vh = high(conjugate(matrix_transpose(x)))
            u, vh = conjugate(matrix_transpose(vh)), conjugate(matrix_transpose(u))
        else:
            u, s, vh = high(x)
        return SVDResult(astype(u, x.dtype), astype(s, real_dtype(x.dtype)), astype(vh, x.dtype))
    return SVDResult(*_factor_whole(x, full_matrices))


@refittable
def _factor_whole(x: Array, full: bool) -> tuple[Array, Array, Array]:
    m, n = x.shape[-2:]
    k = min(m, n)
    columns = max(m, n) if full else k
    both = map_stacks("linalg.whole:svd", (x,), (m + n + 1, columns), x.dtype, (bool(full),))
    u = both[..., :m, : m if full else k]
    v = both[..., m : m + n, : n if full else k]
    return u, real(both[..., m + n, :k]), conjugate(matrix_transpose(v))


@refittable
def _high(x: Array) -> tuple[Array, Array, Array]:
    """Decompose a matrix with more rows than columns through its triangle R."""
    if is_tall(x):
        tall = Tall.of(wide(x))
        u, s, vh = _factor_whole(tall.triangle, False)
        return tall.form(u), s, vh
    q, r = factor_reduced(x)
    u, s, vh = _factor_whole(r, False)
    return matmul(q, u), s, vh


@refittable
def _high_full(x: Array) -> tuple[Array, Array, Array]:
    """Do the same for a square U, whose further columns come from a square Q."""
    n = x.shape[1]
    q, r = complete(x)
    u, s, vh = _factor_whole(r[:n], False)
    return concatenate([matmul(q[:, :n], u), q[:, n:]], 1), s, vh


def _hermitian(x: Array) -> SVDResult:
    """Decompose Hermitian matrices by their eigenvalues, as NumPy does."""
    values, vectors = eigh(x)
    order = values.shape[-1]
    both = map_stacks("linalg.whole:by_size", (expand_dims(values, -2), vectors), (order + 1, order), vectors.dtype)
    sizes = real(both[..., 0, :])
    u = both[..., 1:, :]
    signs = where(sizes < 0, -1, 1)
    return SVDResult(u, abs(sizes), conjugate(matrix_transpose(multiply(u, expand_dims(signs, -2)))))


def _absolute_eigenvalues(x: Array) -> Array:
    values = eigvalsh(matrices("svd", "a", x, square=True))
    return map_stacks("linalg.whole:sizes", (expand_dims(values, -2),), values.shape[-1:], values.dtype)


def svdvals(x: ArrayLike, /) -> Array:
    """Return the singular values of matrices.

    Parameters
    ----------
    x : array_like (..., M, N)
        Matrices of float32, float64, complex64 or complex128; integers and bool are computed as float64.

    Returns
    -------
    Array (..., min(M, N))
        Real, the largest first.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array.
    ShapeError
        `x` has fewer than two axes.
    {DTypeError}
    numpy.linalg.LinAlgError
        When it is computed: the decomposition doesn't converge, as with NaN.

    Notes
    -----
    A large matrix of at least twice as many rows as columns (or the other way round) is reduced to its triangle first,
    which is brought to one chunk.

    >>> wr.linalg.svdvals(2 * wr.eye(3)).compute()
    array([2., 2., 2.])
    """
    matrix = matrices("svdvals", "x", x)
    m, n = matrix.shape[-2:]
    if by_blocks(matrix) and max(m, n) >= HIGH * min(m, n):
        matrix = triangle(matrix if m >= n else matrix_transpose(matrix))
    return map_stacks("linalg.whole:svdvals", (matrix,), (min(m, n),), real_dtype(matrix.dtype))


def _singular(operation: str, x: Array, hermitian: bool) -> Array:
    return _absolute_eigenvalues(matrices(operation, "a", x, square=True)) if hermitian else svdvals(x)


def pinv(
    a: ArrayLike, rcond: ArrayLike | None = None, hermitian: bool = False, *, rtol: ArrayLike | None = None
) -> Array:
    """Return the Moore-Penrose pseudoinverse, by the singular value decomposition.

    Parameters
    ----------
    a : array_like (..., M, N)
        Matrices of float32, float64, complex64 or complex128; integers and bool are computed as float64.
    rcond, rtol : float or array (...), optional
        Singular values of at most so much of the largest count as zero. None: the larger length times the dtype's
        precision.
    hermitian : bool
        Whether the matrices are Hermitian; see `svd`.

    Returns
    -------
    Array (..., N, M)
        The pseudoinverses. In the dtype of `a`, float64 for integers.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; both `rcond` and `rtol` are given.
    ShapeError
        `a` has fewer than two axes, or the matrices aren't square for `hermitian`.
    {DTypeError}
    numpy.linalg.LinAlgError
        When it is computed: the decomposition doesn't converge, as with NaN.

    Notes
    -----
    Without `rcond` and `rtol` the limit is that of the array API; NumPy's `pinv` uses 1e-15.

    >>> wr.linalg.pinv(wr.full((1, 2), 0.5)).compute()
    array([[1.],
           [1.]])
    """
    if rcond is not None and rtol is not None:
        raise ArgumentError(bad("pinv", "rtol", rtol, "rtol or rcond, not both"))
    x = matrices("pinv", "a", a)
    m, n = x.shape[-2:]
    limit = rtol if rcond is None else rcond
    if limit is None:
        limit = max(m, n) * np.finfo(x.dtype).eps
    u, s, vh = svd(x, full_matrices=False, hermitian=hermitian)
    if min(m, n) == 0:
        empty: Array = conjugate(matrix_transpose(x))
        return empty
    large = greater(s, _cutoff(s, limit))
    inverse_s = where(large, divide(1, where(large, s, 1)), 0)
    pseudoinverse = matmul(
        multiply(conjugate(matrix_transpose(vh)), expand_dims(inverse_s, -2)), conjugate(matrix_transpose(u))
    )
    return astype(pseudoinverse, x.dtype)


def _cutoff(s: Array, rtol: Any) -> Array:
    """Return the limit below which singular values count as zero, with a size-1 last axis."""
    largest = amax(s, axis=-1, keepdims=True)
    factor = rtol if np.ndim(rtol) == 0 else expand_dims(as_array("pinv", "rtol", rtol), -1)
    return multiply(largest, factor)  # type: ignore[no-any-return]


def matrix_rank(A: ArrayLike, tol: Any = None, hermitian: bool = False, *, rtol: ArrayLike | None = None) -> Array:
    """Count the singular values that aren't negligible.

    Parameters
    ----------
    A : array_like (..., M, N)
        Matrices of float32, float64, complex64 or complex128; integers and bool are computed as float64. Of less than
        two axes the rank is whether an element isn't zero.
    tol : float or array (...), optional
        Singular values up to it count as zero. None: see `rtol`.
    hermitian : bool
        Whether the matrices are Hermitian; see `svd`.
    rtol : float or array (...), optional
        Singular values up to so much of the largest count as zero. None: the larger length times the dtype's precision.

    Returns
    -------
    Array (...) of int64
        The ranks.

    Raises
    ------
    ArgumentError
        `A` can't be read as an array; or both `tol` and `rtol` are given.
    ShapeError
        The matrices aren't square for `hermitian`.
    {DTypeError}

    >>> wr.linalg.matrix_rank(wr.ones((3, 3))).compute()
    np.int64(1)
    """
    if tol is not None and rtol is not None:
        raise ArgumentError(bad("matrix_rank", "rtol", rtol, "rtol or tol, not both"))
    x = as_array("matrix_rank", "A", A)
    if x.ndim < 2:
        return astype(any(not_equal(x, 0)), np.int64)
    s = _singular("matrix_rank", matrices("matrix_rank", "A", x), hermitian)
    if s.shape[-1] == 0:
        return count_nonzero(s, axis=-1)
    if tol is None:
        limit: Any = _cutoff(s, max(x.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else rtol)
    else:
        limit = tol if np.ndim(tol) == 0 else expand_dims(as_array("matrix_rank", "tol", tol), -1)
    return count_nonzero(greater(s, limit), axis=-1)


LINALG.fill(__name__)
