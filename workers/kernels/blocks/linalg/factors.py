"""Steps of factorisations by blocks: Cholesky, LU with partial pivoting, Householder's QR, triangular systems.

LAPACK is at hand only through `numpy.linalg`. Triangular systems are solved by substitution: NumPy's `solve` finds
nothing to eliminate in a triangular diagonal block, and the rest are products. Only Cholesky's factorisation inverts
small triangles, where they are well conditioned.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import filling

Array = np.ndarray[Any, Any]
BASE = 64
"""Order of the diagonal blocks that LAPACK solves."""
LEAF = 256
"""Order up to which LAPACK's Cholesky factorisation is as fast as one by halves."""
SAFE = 16.0
"""Condition of a triangle, for each of its rows, up to which its inverse serves as well as substitution."""
NARROW = 16
"""Columns that are eliminated one by one."""


def _lower(low: Array, x: Array, unit: bool) -> None:
    """Overwrite x with the solution of `low y = x`; only the lower triangle is read."""
    n = len(low)
    if n <= BASE:
        triangle = np.tril(low, -1) + np.eye(n, dtype=low.dtype) if unit else np.tril(low)
        x[...] = np.linalg.solve(triangle[::-1, ::-1], x[::-1])[::-1]  # reversed it is upper: nothing is pivoted
        return
    half = _half(n)
    _lower(low[:half, :half], x[:half], unit)
    x[half:] -= low[half:, :half] @ x[:half]
    _lower(low[half:, half:], x[half:], unit)


def _upper(u: Array, x: Array) -> None:
    """Overwrite x with the solution of `u y = x`; only the upper triangle is read."""
    n = len(u)
    if n <= BASE:
        x[...] = np.linalg.solve(np.triu(u), x)
        return
    half = _half(n)
    _upper(u[half:, half:], x[half:])
    x[:half] -= u[:half, half:] @ x[half:]
    _upper(u[:half, :half], x[:half])


def _half(n: int) -> int:
    return (n // 2 + BASE - 1) // BASE * BASE


def triu(a: Array) -> Array:
    """Return the upper triangle of the first square of a packed panel."""
    return np.triu(a[: a.shape[1]])


# ---------------------------------------------------------------------- Cholesky


@filling
def cholesky_update(a: Array, *factors: Array, where: tuple[slice, ...], out: Array) -> Array:
    """Subtract `left @ right^H` for the factors of the columns before: all left ones come first.

    In the diagonal block, which is the first one, they are the same: NumPy halves the work where it sees that.
    """
    count = len(factors) // 2
    product = np.empty_like(a) if count > 1 else out
    for i, (left, other) in enumerate(zip(factors[:count], factors[count:], strict=True)):
        right = left if where[0].start == 0 else other
        update = np.matmul(left, right.conj().T, out=out if i == 0 else product)
        np.subtract(out if i else a, update, out=out)
    return out


@filling
def cholesky_top(a: Array, *left: Array, out: Array) -> Array:
    """Return a diagonal block's factor, and below it the inverses of its own diagonal blocks, side by side.

    It is found by halves: LAPACK takes twice as long. An inverse that would cost accuracy is NaN.
    """
    low, inverses = out[: len(a)], out[len(a) :]
    low[...] = a
    for each in left:
        low -= each @ each.conj().T
    inverses.fill(0)
    _factor(low, inverses)
    return out


def _factor(low: Array, inverses: Array) -> None:
    """Overwrite a matrix with its factor, and fill in the inverses of the factor's diagonal blocks."""
    n = len(low)
    if n > LEAF:
        half = _half(n)
        below, rest = low[half:, :half], low[half:, half:]
        _factor(low[:half, :half], inverses[:, :half])
        _divide(below, low[:half, :half], inverses[:, :half])
        rest -= below @ below.conj().T
        _factor(rest, inverses[:, half:])
        low[:half, half:] = 0
        return
    low[...] = np.linalg.cholesky(low)
    for lo, hi in _spans(n):
        triangle, inverse = low[lo:hi, lo:hi], inverses[: hi - lo, lo:hi]
        inverse[...] = np.linalg.inv(triangle.T).T  # an upper triangle: nothing is pivoted
        if not np.linalg.norm(triangle) * np.linalg.norm(inverse) <= SAFE * (hi - lo):
            inverse.fill(np.nan)


@filling
def cholesky_below(a: Array, top: Array, *factors: Array, out: Array) -> Array:
    """Return `(a - left @ right^H) @ inv(low)^H`: the factor's block below a diagonal one."""
    n = top.shape[1]
    if factors:
        left, right = factors
        np.matmul(left, right.conj().T, out=out)
        np.subtract(a, out, out=out)
    else:
        out[...] = a
    _divide(out, top[:n], top[n:])
    return out


def _divide(x: Array, low: Array, inverses: Array) -> None:
    """Overwrite x with `x @ inv(low)^H`, by the inverses of the diagonal blocks of `low` where they serve."""
    for lo, hi in _spans(len(low)):
        rest = x[:, lo:hi] - x[:, :lo] @ low[lo:hi, :lo].conj().T
        inverse = inverses[: hi - lo, lo:hi]
        if np.isnan(inverse[0, 0]):
            rest = np.array(rest.conj().T, order="C")
            _lower(low[lo:hi, lo:hi], rest, False)
            x[:, lo:hi] = rest.conj().T
        else:
            np.matmul(rest, inverse.conj().T, out=x[:, lo:hi])


def _spans(n: int) -> list[tuple[int, int]]:
    return [(lo, min(lo + BASE, n)) for lo in range(0, n, BASE)]


# ---------------------------------------------------------------------- LU


def lu_panel(a: Array) -> Array:
    """Factor full columns, with partial pivoting; a last column says which row comes to each place."""
    m, width = a.shape
    packed = np.empty((m, width + 1), a.dtype)
    lu = np.array(a, order="C")
    order = np.arange(m)
    _eliminate(lu, order, 0, width)
    packed[:, :width] = lu
    packed[:, width] = order
    return packed


def _eliminate(lu: Array, order: Array, lo: int, hi: int) -> None:
    """Factor columns lo to hi, from row lo on, by halves (Toledo); rows are swapped across the whole panel."""
    if hi - lo <= NARROW:
        _eliminate_narrow(lu, order, lo, hi)
        return
    middle = lo + (hi - lo) // 2
    _eliminate(lu, order, lo, middle)
    _lower(lu[lo:middle, lo:middle], lu[lo:middle, middle:hi], True)
    lu[middle:, middle:hi] -= lu[middle:, lo:middle] @ lu[lo:middle, middle:hi]
    _eliminate(lu, order, middle, hi)


def _eliminate_narrow(lu: Array, order: Array, lo: int, hi: int) -> None:
    """Factor a few columns one by one, each contiguous meanwhile; then swap the rows of the others."""
    work = np.array(lu[lo:, lo:hi].T, order="C")
    rows = np.arange(lo, len(lu))
    for k in range(hi - lo):
        column = work[k, k:]
        size = np.abs(column) if column.dtype.kind != "c" else np.abs(np.real(column)) + np.abs(np.imag(column))
        at = k + int(size.argmax())
        if at != k:
            work[:, [k, at]] = work[:, [at, k]]
            rows[[k, at]] = rows[[at, k]]
        pivot = work[k, k]
        if pivot != 0:
            work[k, k + 1 :] /= pivot
        work[k + 1 :, k + 1 :] -= work[k + 1 :, k, None] * work[k, k + 1 :]
    moved = np.flatnonzero(rows != np.arange(lo, len(lu)))
    lu[lo + moved] = lu[rows[moved]]
    order[lo + moved] = order[rows[moved]]
    lu[lo:, lo:hi] = work.T


@filling
def lu_update(panel: Array, a: Array, *, out: Array) -> Array:
    """Bring other columns to where a panel's elimination leaves them: rows of U, and what is left below."""
    width = panel.shape[1] - 1
    np.take(a, panel[:, width].real.astype(np.int64), 0, out=out, mode="clip")  # other modes make a copy first
    _lower(panel[:width, :width], out[:width], True)
    out[width:] -= panel[width:, :width] @ out[:width]
    return out


def lu_back(panel: Array, y: Array, row: Array, below: Array, quiet: bool) -> Array:
    """Solve for the unknowns of a panel: `u x = y - row @ below`; `quiet`: NaN where u is singular."""
    width = panel.shape[1] - 1
    out = y - row @ below if len(below) else np.array(y, order="C")
    try:
        _upper(panel[:width, :width], out)
    except np.linalg.LinAlgError:
        if not quiet:
            raise
        out.fill(np.nan)
    return out


def lu_packed(a: Array) -> Array:
    """Factor whole matrices: L's rows below the diagonal, U's on it and above; the last column is the order of rows."""
    m, n = a.shape[-2:]
    most = min(m, n)
    out = np.empty((*a.shape[:-1], n + 1), a.dtype)
    for one, packed in zip(a.reshape(-1, m, n), out.reshape(-1, m, n + 1), strict=True):
        panel = lu_panel(one[:, :most])
        packed[:, :most], packed[:, n] = panel[:, :most], panel[:, most]
        if most < n:
            lu_update(panel, np.ascontiguousarray(one[:, most:]), out=packed[:, most:n])
    return out


def lu_order(panel: Array, below: Array) -> Array:
    """Return the order of rows after a panel and all later ones, whose own is `below`, as one column."""
    width = panel.shape[1] - 1
    order = panel[:, width:].copy()
    order[width:] = order[width:][below[:, 0].real.astype(np.int64)]
    return order


def lu_lower(panel: Array, below: Array) -> Array:
    """Return a panel's columns of L, in the order of rows in which later panels leave them."""
    width = panel.shape[1] - 1
    low = np.tril(panel[:, :width], -1)
    low[width:] = low[width:][below[:, 0].real.astype(np.int64)]
    np.fill_diagonal(low, 1)
    return low


def triangle_solved(a: Array, b: Array, lower: bool, unit: bool) -> Array:
    """Solve for whole triangles; the other triangle isn't read."""
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = np.array(np.broadcast_to(b, (*shape, *b.shape[-2:])), np.result_type(a, b), order="C")
    wide = np.broadcast_to(a, (*shape, *a.shape[-2:]))
    for at in np.ndindex(shape):
        _substitute(wide[at], out[at], lower, unit)
    return out


def triangle_step(square: Array, y: Array, row: Array, known: Array, lower: bool, unit: bool) -> Array:
    """Solve for the unknowns of a block of rows: `square x = y - row @ known`."""
    out = y - row @ known if len(known) else np.array(y, order="C")
    _substitute(square, out, lower, unit)
    return out


def _substitute(a: Array, x: Array, lower: bool, unit: bool) -> None:
    """Overwrite x with the solution of `a y = x`."""
    if lower:
        _lower(a, x, unit)
    else:
        _upper(np.triu(a, 1) + np.eye(len(a), dtype=a.dtype) if unit else a, x)


def lu_sign(panel: Array) -> Array:
    """Return the sign and the logarithm of the absolute value of a panel's part of the determinant, as one row."""
    width = panel.shape[1] - 1
    pivots = panel[:width, :width].diagonal()
    size = np.abs(pivots)
    with np.errstate(all="ignore"):
        signs = np.where(size == 0, 0, pivots / size)
        sign_and_log = [np.prod(signs) * _parity(panel[:, width].real.astype(np.int64)), np.log(size).sum()]
    return np.array([sign_and_log], panel.dtype)


def _parity(order: Array) -> int:
    """Return 1 for an even permutation, -1 for an odd one."""
    seen = np.zeros(len(order), bool)
    cycles = 0
    for first in np.flatnonzero(order != np.arange(len(order))).tolist():
        if not seen[first]:
            cycles += 1
            at = first
            while not seen[at]:
                seen[at] = True
                cycles -= 1
                at = int(order[at])
    return 1 - 2 * (cycles % 2)


# ---------------------------------------------------------------------- QR


def qr_panel(a: Array) -> Array:
    """Return Householder's vectors below R, and below these T: the product of reflections is `I - V T V^H`."""
    h, tau = np.linalg.qr(a, mode="raw")
    packed = np.ascontiguousarray(h.swapaxes(-1, -2))
    width = a.shape[1]
    v = _vectors(packed, width)
    inverse = np.triu(v.conj().T @ v, 1)
    still = tau == 0
    inverse[still] = 0
    inverse[:, still] = 0
    np.fill_diagonal(inverse, 1 / np.where(still, 1, tau))
    t = np.eye(width, dtype=a.dtype)
    _upper(inverse, t)
    t[still, still] = 0
    return np.concatenate([packed, t])


def _vectors(packed: Array, width: int) -> Array:
    v = np.tril(packed, -1)
    v[np.arange(width), np.arange(width)] = 1
    return v


@filling
def qr_update(panel: Array, a: Array, *, out: Array) -> Array:
    """Apply a panel's reflections, in the order in which they were found, to other columns."""
    width = panel.shape[1]
    v, t = _vectors(panel[:-width], width), panel[-width:]
    np.matmul(v, t.conj().T @ (v.conj().T @ a), out=out)
    return np.subtract(a, out, out=out)


@filling
def qr_form(panel: Array, q: Array, where: tuple[slice, ...], *, out: Array) -> Array:
    """Apply a panel's reflections, last one first, to columns of Q, of which the first ones are unit vectors."""
    width = panel.shape[1]
    v, t = _vectors(panel[:-width], width), panel[-width:]
    out[...] = q
    if where[1].start == 0:
        np.fill_diagonal(out[:width, :width], 1)
    out -= v @ (t @ (v.conj().T @ out))
    return out
