"""Whole matrices, one or a stack of them in a block: NumPy's LAPACK, several results packed into one array."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
linalg = np.linalg


def cholesky(a: Array, upper: bool = False) -> Array:
    """Return the factor of a Hermitian matrix, which is read from one of its triangles."""
    return linalg.cholesky(a, upper=upper)


def solve(a: Array, b: Array) -> Array:
    return linalg.solve(a, b)


def inv(a: Array, quiet: bool = False) -> Array:
    """Return inverses; `quiet`: NaN for singular matrices."""
    if not quiet:
        return linalg.inv(a)
    stack = a.reshape(-1, *a.shape[-2:])
    out = np.full(stack.shape, np.nan, linalg.inv(np.empty((0, 0), a.dtype)).dtype)
    for one, into in zip(stack, out, strict=True):
        try:
            into[...] = linalg.inv(one)
        except linalg.LinAlgError:
            continue
    return out.reshape(a.shape)


def det(a: Array) -> Array:
    return np.asarray(linalg.det(a))


def slogdet(a: Array) -> Array:
    """Return (sign, logarithm of the absolute value) along a last axis."""
    sign, logarithm = linalg.slogdet(a)
    return np.stack([sign, logarithm.astype(sign.dtype)], -1)


def eigh(a: Array, uplo: str) -> Array:
    """Return the eigenvalues in the first row, the eigenvectors below."""
    values, vectors = linalg.eigh(a, uplo)  # type: ignore[call-overload]
    return np.concatenate([values[..., None, :].astype(vectors.dtype), vectors], -2)


def eigvalsh(a: Array, uplo: str) -> Array:
    return np.asarray(linalg.eigvalsh(a, uplo))  # type: ignore[call-overload]


def eig(a: Array) -> Array:
    """Return the eigenvalues in the first row, the eigenvectors below; complex."""
    values, vectors = linalg.eig(a)
    return np.concatenate([values[..., None, :], vectors], -2)


def eigvals(a: Array) -> Array:
    return linalg.eigvals(a)


def svd(a: Array, full: bool) -> Array:
    """Return U, below it V, below it the singular values in one row; columns that a part lacks are zero."""
    u, s, vh = linalg.svd(a, full_matrices=full)
    m, n = a.shape[-2:]
    out = np.zeros((*a.shape[:-2], m + n + 1, max(u.shape[-1], vh.shape[-2])), u.dtype)
    out[..., :m, : u.shape[-1]] = u
    out[..., m : m + n, : vh.shape[-2]] = vh.conj().swapaxes(-1, -2)
    out[..., -1, : s.shape[-1]] = s
    return out


def svdvals(a: Array) -> Array:
    """Return singular values, the largest first."""
    return linalg.svd(a, compute_uv=False)


def qr(a: Array, mode: str) -> Array:
    """Return Q, below it the transpose of R."""
    q, r = linalg.qr(a, mode)  # type: ignore[call-overload]
    return np.concatenate([q, r.swapaxes(-1, -2)], -2)


def qr_r(a: Array) -> Array:
    """Return R alone."""
    return np.asarray(linalg.qr(a, "r"))


def lstsq(a: Array, b: Array, rcond: float, spare: int) -> Array:
    """Return rows: the solution, the sums of squares of the residuals, the singular values, the rank.

    `spare` rows at the end of `b` are the triangle that is left of the right-hand sides: only their squares count.
    """
    rows = len(b) - spare
    x, rest, rank, s = linalg.lstsq(a, b[:rows], rcond)
    n, count = a.shape[1], b.shape[1]
    out = np.zeros((n + 3, max(count, len(s), 1)), x.dtype)
    out[:n, :count] = x
    if rest.size:
        out[n, :count] = rest
    out[n, :count] += (np.abs(b[rows:]) ** 2).sum(0)
    out[n + 1, : len(s)] = s
    out[n + 2, 0] = rank
    return out


def by_size(values: Array, vectors: Array) -> Array:
    """Return eigenvalues in a first row, the largest absolute value first, and their vectors below."""
    order = np.argsort(np.abs(values), -1)[..., ::-1]
    return np.concatenate(
        [np.take_along_axis(values, order, -1).astype(vectors.dtype), np.take_along_axis(vectors, order, -1)], -2
    )


def sizes(values: Array) -> Array:
    """Return the absolute values of eigenvalues, the largest first."""
    return np.sort(np.abs(values[..., 0, :]), -1)[..., ::-1]
