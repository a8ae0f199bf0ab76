"""QR of tall matrices by rows (TSQR): blocks of rows are factored alone, their triangles again, up a tree.

A block of rows is itself cut into pieces that fit a core's cache, so that its packed factor holds the pieces' Qs, the
Q of their stacked triangles, and R. The Q of a piece times its part of the second Q is its part of the block's Q.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import filling

Array = np.ndarray[Any, Any]
CACHED = 1 << 15
"""Elements of a piece."""
TOGETHER = 4
"""Pieces in one call of LAPACK."""
TILES = 8
"""Tiles of a product in one call."""
NARROW, HIGH = 128, 8
"""Blocks of so many columns, and so many times more rows, are tried by their Gram matrix first."""
WELL, NEAR = 1000.0, 1e-3
"""The largest condition of such a block's columns, and how far from orthonormal they may be after the first step."""


def pieces(rows: int, n: int) -> tuple[int, int]:
    """Return how many pieces a block of rows is cut into, and the rows of each but the last, which has the rest."""
    each = max(4 * n, CACHED // max(1, n), 1)
    return max(1, rows // each), each


def count_packed_rows(rows: int, n: int) -> int:
    """Return the rows of a block's packed factor."""
    return rows + pieces(rows, n)[0] * n + n


@filling
def leaf(a: Array, *, out: Array) -> Array:
    """Factor a block of rows into Q of the pieces, Q of their triangles, R, one below the other."""
    if _by_gram(a, out):
        return out
    rows, n = a.shape
    count, each = pieces(rows, n)
    cut = (count - 1) * each
    triangles = np.empty((count, n, n), a.dtype)
    body, factors = a[:cut].reshape(count - 1, each, n), out[:cut].reshape(count - 1, each, n)
    for k in range(0, count - 1, TOGETHER):
        factors[k : k + TOGETHER], triangles[k : min(k + TOGETHER, count - 1)] = np.linalg.qr(body[k : k + TOGETHER])
    out[cut:rows], triangles[-1] = np.linalg.qr(a[cut:])
    out[rows : len(out) - n], out[len(out) - n :] = np.linalg.qr(triangles.reshape(count * n, n))
    return out


def _by_gram(a: Array, out: Array) -> bool:
    """Factor a well-conditioned block by Cholesky's factor of its Gram matrix, twice; tell whether that is accurate.

    Several times as fast as Householder's reflections. What is lost grows with the condition of the columns, scaled to
    length one: the first factor tells it, and the Gram matrix of what comes out shows whether it is near orthonormal.
    """
    rows, n = a.shape
    count, _ = pieces(rows, n)
    if not 0 < n <= NARROW or rows < HIGH * n:
        return False
    try:
        with np.errstate(all="ignore"):
            gram = np.dot(a.conj().T, a)  # `@` keeps Python's lock where the result is small
            first = np.linalg.cholesky(gram).conj().T
            inverse = np.linalg.inv(first)
            lengths = np.sqrt(np.real(gram.diagonal()))
            scaled = np.empty((2, n, n), a.dtype)
            np.divide(first, lengths, out=scaled[0])
            np.multiply(inverse, lengths[:, None], out=scaled[1])
            condition = np.prod(np.linalg.norm(scaled, 1, (1, 2)))
            if not condition <= WELL:
                return False
            gram = _multiply(a, inverse, out[:rows])
            if not np.linalg.norm(gram - np.eye(n)) <= NEAR:
                return False
            second = np.linalg.cholesky(gram).conj().T
            out[rows : len(out) - n].reshape(count, n, n)[...] = np.linalg.inv(second)
            out[len(out) - n :] = np.where(_below(n), 0, second @ first)
    except np.linalg.LinAlgError:
        return False
    return True


def _multiply(a: Array, right: Array, out: Array) -> Array:
    """Fill `out` with a product, and return the Gram matrix of that, added up tile after tile.

    Some tiles go in each call, since each takes Python's lock, and not all, since they are read again from a cache.
    """
    rows, n = a.shape
    tile = 2 * CACHED // n
    count, rest = divmod(rows, tile)
    grams = np.zeros((1 + count + (rest > 0), n, n), a.dtype)
    for k in range(0, count, TILES):
        some = slice(k * tile, min(k + TILES, count) * tile)
        parts = out[some].reshape(-1, tile, n)
        np.matmul(a[some].reshape(-1, tile, n), right, out=parts)
        np.matmul(parts.conj().transpose(0, 2, 1), parts, out=grams[1 + k : 1 + k + len(parts)])
    if rest:
        part = out[count * tile :]
        np.matmul(a[count * tile :], right, out=part)
        np.matmul(part.conj().T, part, out=grams[-1])
    return np.asarray(np.add.reduce(grams, axis=0))


@lru_cache(maxsize=4)
def _below(n: int) -> Array:
    """Return what lies below the diagonal of a square matrix."""
    return np.tri(n, k=-1, dtype=bool)


def leaf_r(a: Array) -> Array:
    """Factor a block of rows; return R alone."""
    rows, n = a.shape
    count, each = pieces(rows, n)
    cut = (count - 1) * each
    triangles = np.empty((count, n, n), a.dtype)
    if cut:
        triangles[:-1] = np.linalg.qr(np.ascontiguousarray(a[:cut]).reshape(count - 1, each, n), "r")
    triangles[-1] = np.linalg.qr(a[cut:], "r")
    return np.asarray(np.linalg.qr(triangles.reshape(count * n, n), "r"))


def join(triangles: Array) -> Array:
    """Factor triangles that lie one below the other; return Q, below it R."""
    q, r = np.linalg.qr(triangles)
    return np.concatenate([q, r])


def join_r(triangles: Array) -> Array:
    """Factor triangles that lie one below the other; return R alone."""
    return np.asarray(np.linalg.qr(triangles, "r"))


def descend(packed: Array, right: Array) -> Array:
    """Multiply the Q of joined triangles by what comes from above."""
    return np.asarray(packed[: len(packed) - packed.shape[1]] @ np.ascontiguousarray(right))


@filling
def form(packed: Array, right: Array, where: tuple[slice, ...], *, out: Array) -> Array:
    """Multiply a block's Q by what comes from above."""
    rows, n = where[0].stop - where[0].start, packed.shape[1]
    count, each = pieces(rows, n)
    cut = (count - 1) * each
    small = packed[rows : len(packed) - n].reshape(count, n, n) @ np.ascontiguousarray(right)
    if not out.flags.c_contiguous:
        out = np.empty_like(out, order="C")
    if cut:
        np.matmul(packed[:cut].reshape(count - 1, each, n), small[:-1], out=out[:cut].reshape(count - 1, each, -1))
    np.matmul(packed[cut:rows], small[-1], out=out[cut:])
    return out
