"""Singular values from a random sample of a matrix's range; factors of tall and wide matrices by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....graph.arguments import check_integer
from ....graph.errors import ArgumentError, ShapeError, bad
from ...ops.elementwise.functions import astype, real, where
from ...ops.elementwise.ufuncs import conjugate, less, multiply
from ...ops.moves.axis_moves import expand_dims, matrix_transpose
from ...ops.products.matrices import matmul
from ...ops.reductions.sums import sum as summed
from ...random import Generator, default_rng
from ..common import MatrixError, matrices
from .orthogonal import QRResult, qr
from .singular import SVDResult, svd

if TYPE_CHECKING:
    from ...array import Array
    from ...typing import ArrayLike

__all__ = [
    "compression_level",
    "compression_matrix",
    "sfqr",
    "svd_compressed",
    "tsqr",
]


def tsqr(data: object, compute_svd: bool = False) -> Any:
    """Factor a matrix of at least as many rows as columns: `qr`, or `svd`, of reduced form.

    Parameters
    ----------
    data : array_like (M, N)
        A matrix with M >= N.
    compute_svd : bool
        Whether to return U, S and Vh instead of Q and R.

    Returns
    -------
    QRResult or SVDResult
        A named tuple: `Q` (M, N) and `R` (N, N); or `U` (M, N), `S` (N,) and `Vh` (N, N).

    Raises
    ------
    ArgumentError
        `data` can't be read as an array.
    ShapeError
        `data` has fewer than two axes, or more columns than rows, or more than two axes.
    DTypeError
        The matrices have another dtype than float32, float64, complex64, complex128, integers and bool.

    Notes
    -----
    NumPy has no such function, it is dask's; it is `windrow.linalg.qr` or `windrow.linalg.svd`, with any chunks.

    >>> x = wr.random.default_rng(1).random((1000, 3), chunks=(100, 3))
    >>> q, r = wr.linalg.tsqr(x)
    >>> q.shape, r.shape
    ((1000, 3), (3, 3))
    """
    x = _matrix("tsqr", "data", data)
    if x.shape[0] < x.shape[1]:
        raise MatrixError(bad("tsqr", "data", x.shape, "at least as many rows as columns; see sfqr"))
    return svd(x, full_matrices=False) if compute_svd else qr(x)


def sfqr(data: object) -> QRResult:
    """Factor a matrix of at most as many rows as columns: `qr`.

    Parameters
    ----------
    data : array_like (M, N)
        A matrix with M <= N.

    Returns
    -------
    QRResult
        A named tuple: `Q` (M, M) and `R` (M, N).

    Raises
    ------
    ArgumentError
        `data` can't be read as an array.
    ShapeError
        `data` has fewer than two axes, or more rows than columns, or more than two axes.
    DTypeError
        The matrices have another dtype than float32, float64, complex64, complex128, integers and bool.

    Notes
    -----
    NumPy has no such function, it is dask's; it is `windrow.linalg.qr`, with any chunks.

    >>> q, r = wr.linalg.sfqr(wr.ones((3, 1000), chunks=(3, 100)))
    >>> q.shape, r.shape
    ((3, 3), (3, 1000))
    """
    x = _matrix("sfqr", "data", data)
    if x.shape[0] > x.shape[1]:
        raise MatrixError(bad("sfqr", "data", x.shape, "at most as many rows as columns; see tsqr"))
    factors: QRResult = qr(x)
    return factors


def compression_level(n: int, q: int, n_oversamples: int = 10, min_subspace_size: int = 20) -> int:
    """Return how many random vectors `svd_compressed` samples a range with.

    Parameters
    ----------
    n : int
        The smaller length of the matrix; no more are sampled.
    q : int
        How many singular values are wanted.
    n_oversamples : int
        Number of samples beyond those wanted.
    min_subspace_size : int
        Least number of samples.

    Returns
    -------
    int
        The number of random vectors.

    Raises
    ------
    ArgumentError
        An argument isn't an integer.
    ShapeError
        An argument is negative.

    >>> wr.linalg.compression_level(100, 10)
    20
    """
    arguments = {"n": n, "q": q, "n_oversamples": n_oversamples, "min_subspace_size": min_subspace_size}
    least, wanted, more, size = (_count("compression_level", name, value) for name, value in arguments.items())
    return min(max(size, wanted + more), least)


def compression_matrix(
    data: object, q: int, iterator: str = "power", n_power_iter: int = 0, n_oversamples: int = 10, seed: object = None
) -> Array:
    """Return orthonormal rows that approximately span the first left singular vectors of a matrix.

    Parameters
    ----------
    data : array_like (M, N)
        A matrix.
    q : int
        How many singular vectors are wanted; there are some more rows, see `compression_level`.
    iterator : {"power", "QR"}
        Whether vectors are made orthonormal after each pass over the matrix ("QR"), which keeps small singular values
        accurate, or not ("power").
    n_power_iter : int
        Number of additional passes over the matrix, back and forth; they help if singular values decay slowly.
    n_oversamples : int
        Number of random vectors beyond those wanted.
    seed : int, Generator or None
        As for `windrow.random.default_rng`; the same seed gives the same vectors. None: others at each call.

    Returns
    -------
    Array (K, M)
        Orthonormal rows, in the dtype of `data` (float64 for integers).

    Raises
    ------
    ArgumentError
        `data` can't be read as an array; `iterator` is unknown; a number isn't an integer; or `seed` can't be read.
    ShapeError
        `data` has fewer than two axes, or more than two, or a number is negative.
    DTypeError
        The matrices have another dtype than float32, float64, complex64, complex128, integers and bool.

    >>> x = wr.random.default_rng(1).random((1000, 300), chunks=100)
    >>> wr.linalg.compression_matrix(x, 5, seed=1).shape
    (20, 1000)
    """
    x = _matrix("compression_matrix", "data", data)
    wanted = _count("compression_matrix", "q", q)
    rng = seed if isinstance(seed, Generator) else default_rng(seed)
    return _sample_range("compression_matrix", x, wanted, iterator, n_power_iter, n_oversamples, rng)


def _sample_range(operation: str, x: Array, q: int, iterator: Any, passes: Any, more: Any, rng: Generator) -> Array:
    if iterator not in ("power", "QR"):
        raise ArgumentError(bad(operation, "iterator", iterator, "'power' or 'QR'"))
    passes = _count(operation, "n_power_iter", passes)
    count = compression_level(min(x.shape), q, _count(operation, "n_oversamples", more))
    columns = x.expr.grid.axes[1].sizes()
    vectors = astype(rng.standard_normal((x.shape[1], count), chunks=(tuple(columns), -1)), x.dtype)
    sample: Array = matmul(x, vectors)
    back = conjugate(matrix_transpose(x))
    for _ in range(passes):
        sample = qr(matmul(back, qr(sample).Q)).Q if iterator == "QR" else matmul(back, sample)
        sample = matmul(x, sample)
    turned: Array = conjugate(matrix_transpose(qr(sample).Q))
    return turned


def svd_compressed(
    a: ArrayLike,
    k: int,
    iterator: str = "power",
    n_power_iter: int = 0,
    n_oversamples: int = 10,
    seed: object = None,
    compute: bool = False,
    coerce_signs: bool = True,
) -> SVDResult:
    """Return approximations of the k largest singular values and their vectors, from a random sample of the range.

    The matrix is read twice, and twice more for each of `n_power_iter`; it is never brought to one chunk.

    Parameters
    ----------
    a : array_like (M, N)
        A matrix.
    k : int
        How many singular values; at most the smaller length.
    iterator : {"power", "QR"}
        How passes over the matrix go; see `compression_matrix`.
    n_power_iter : int
        Number of additional passes; 1 to 4 help if singular values decay slowly.
    n_oversamples : int
        Number of random vectors beyond those wanted.
    seed : int, Generator or None
        As for `windrow.random.default_rng`; the same seed gives the same vectors. None: others at each call.
    compute : bool
        Without effect: the matrix is computed again for each pass, unless it was persisted.
    coerce_signs : bool
        Whether to turn vectors so that the rows of Vh have sums that aren't negative.

    Returns
    -------
    SVDResult
        A named tuple: `U` (M, k), `S` (k,), the largest first, and `Vh` (k, N).

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `iterator` is unknown; a number isn't an integer; or `seed` can't be read.
    ShapeError
        `a` has fewer than two axes, or more than two; `k` isn't from 1 to the smaller length; or a number is negative.
    DTypeError
        The matrices have another dtype than float32, float64, complex64, complex128, integers and bool.

    Notes
    -----
    NumPy has no such function, it is dask's. The accuracy depends on how fast singular values decay (Halko, Martinsson,
    Tropp 2011).

    >>> x = wr.random.default_rng(1).random((1000, 300), chunks=100)
    >>> u, s, vh = wr.linalg.svd_compressed(x, 2, n_power_iter=2, seed=1)
    >>> bool(abs(s[0] / wr.linalg.svdvals(x)[0] - 1) < 1e-10)
    True
    """
    x = _matrix("svd_compressed", "a", a)
    wanted = _count("svd_compressed", "k", k)
    if not 0 < wanted <= min(x.shape):
        raise ShapeError(bad("svd_compressed", "k", k, f"a number from 1 to {min(x.shape)}, the smaller length"))
    rng = seed if isinstance(seed, Generator) else default_rng(seed)
    rows = _sample_range("svd_compressed", x, wanted, iterator, n_power_iter, n_oversamples, rng)
    u, s, vh = svd(matmul(rows, x), full_matrices=False)
    u, s, vh = matmul(conjugate(matrix_transpose(rows)), u[:, :wanted]), s[:wanted], vh[:wanted]
    if coerce_signs:
        signs = astype(where(less(summed(real(vh), axis=1), 0), -1, 1), s.dtype)
        u, vh = multiply(u, signs), multiply(vh, expand_dims(signs, 1))
    return SVDResult(u, s, vh)


def _matrix(operation: str, argument: str, value: object) -> Array:
    x = matrices(operation, argument, value)
    if x.ndim != 2:
        raise MatrixError(bad(operation, argument, x.shape, "a 2-D array"))
    return x


def _count(operation: str, argument: str, value: object) -> int:
    count = check_integer(operation, argument, value)
    if count < 0:
        raise ShapeError(bad(operation, argument, value, "a number that is not negative"))
    return count
