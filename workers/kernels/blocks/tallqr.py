"""QR of tall matrices by rows (TSQR): blocks of rows are factored alone, their triangles again, up a tree.

A block of rows is itself cut into pieces that fit a core's cache, so that its packed factor holds the pieces' Qs, the
Q of their stacked triangles, and R.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
CACHED = 1 << 15
"""Elements of a piece."""


def pieces(rows: int, n: int) -> tuple[int, int]:
    """Return how many pieces a block of rows is cut into, and the rows of each but the last, which has the rest."""
    each = max(4 * n, CACHED // max(1, n), 1)
    return max(1, rows // each), each


def packed_rows(rows: int, n: int) -> int:
    """Return the rows of a block's packed factor."""
    return rows + pieces(rows, n)[0] * n + n


def leaf(a: Array) -> Array:
    """Factor a block of rows; return Q of the pieces, Q of their triangles, R, one below the other."""
    rows, n = a.shape
    count, each = pieces(rows, n)
    cut = (count - 1) * each
    out = np.empty((packed_rows(rows, n), n), a.dtype)
    triangles = np.empty((count, n, n), a.dtype)
    if cut:
        q, triangles[:-1] = np.linalg.qr(np.ascontiguousarray(a[:cut]).reshape(count - 1, each, n))
        out[:cut] = q.reshape(cut, n)
    out[cut:rows], triangles[-1] = np.linalg.qr(a[cut:])
    out[rows:-n], out[len(out) - n :] = np.linalg.qr(triangles.reshape(count * n, n))
    return out


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


def form(packed: Array, right: Array, where: tuple[slice, ...]) -> Array:
    """Multiply a block's Q by what comes from above."""
    rows, n = where[0].stop - where[0].start, packed.shape[1]
    count, each = pieces(rows, n)
    cut = (count - 1) * each
    small = packed[rows : len(packed) - n].reshape(count, n, n) @ np.ascontiguousarray(right)
    out = np.empty((rows, right.shape[1]), np.result_type(packed, right))
    if cut:
        np.matmul(packed[:cut].reshape(count - 1, each, n), small[:-1], out=out[:cut].reshape(count - 1, each, -1))
    np.matmul(packed[cut:rows], small[-1], out=out[cut:])
    return out
