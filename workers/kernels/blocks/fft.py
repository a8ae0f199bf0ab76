"""Fourier transforms of whole blocks, and the twiddle factors between the two halves of a long one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

IN_CACHE = 1 << 17
"""Lines along an inner axis are turned, some at a time, where they span more bytes than these."""
STRIPE = 256
"""Bytes of a row that are read at once then."""


def steps(x: Array, transforms: tuple[tuple[str, int, int], ...], norm: str) -> Array:
    """Apply transforms (name in `numpy.fft`, length, axis) one after the other."""
    for name, n, axis in transforms:
        x = _along(x, name, n, axis, norm)
    return x


def _along(x: Array, name: str, n: int, axis: int, norm: str) -> Array:
    """Transform along one axis; far strides are avoided."""
    transform: Any = getattr(np.fft, name)
    inner = math.prod(x.shape[axis + 1 :])
    if inner == 1 or x.size == 0 or n * inner * x.itemsize <= IN_CACHE:
        return np.asarray(transform(x, n, axis, norm))
    sheets = x.reshape(-1, x.shape[axis], inner)
    width = max(1, STRIPE // x.itemsize)
    out: Array | None = None
    for k, sheet in enumerate(sheets):
        for at in range(0, inner, width):
            made = transform(np.ascontiguousarray(sheet[:, at : at + width].T), n, -1, norm)
            if out is None:
                out = np.empty((len(sheets), made.shape[1], inner), made.dtype)
            out[k, :, at : at + width] = made.T
    assert out is not None
    return out.reshape(*x.shape[:axis], -1, *x.shape[axis + 1 :])


def columns(x: Array, name: str, n: int, norm: str, *, where: tuple[slice, ...]) -> Array:
    """Transform along the last axis but one and turn each element by its twiddle factor: the four-step's first half.

    The element (k, j) of the last two axes is multiplied by `exp(-2 pi i k j / n)`, conjugated for the inverse.
    """
    transform: Any = getattr(np.fft, name)
    rows, wide = x.shape[-2:]
    sheets = x.reshape(-1, rows, wide)
    out: Array = np.empty(sheets.shape, np.result_type(x.dtype, np.complex64))
    width = max(1, STRIPE // x.itemsize)
    begin = where[-1].start
    for at in range(0, wide, width):
        turn = twiddles(np.arange(begin + at, begin + min(at + width, wide)), rows, n)
        if name == "ifft":
            turn = turn.conj()
        turn = turn.astype(out.dtype, copy=False)
        for k, sheet in enumerate(sheets):
            made = transform(np.ascontiguousarray(sheet[:, at : at + width].T), rows, -1, norm)
            np.multiply(made, turn, out=made)
            out[k, :, at : at + width] = made.T
    return out.reshape(x.shape)


def twiddles(columns: Array, rows: int, n: int) -> Array:
    """Return `exp(-2 pi i k j / n)` for each column j and each k below `rows`, as (columns, rows).

    k is split as `step * a + b`, so that few roots are computed; their products err by about one unit.
    """
    step = 1 << (math.isqrt(rows).bit_length() - 1)
    high = np.arange(0, rows, step)
    left = roots(columns[:, None] * high, n)
    right = roots(columns[:, None] * np.arange(step), n)
    found = left[:, :, None] * right[:, None, :]
    return np.asarray(found.reshape(len(columns), -1)[:, :rows])


def roots(m: Array, n: int) -> Array:
    """Return `exp(-2 pi i m / n)` for integers m; whole quarters are taken off before anything is rounded."""
    m = m % n
    quarter = (4 * m + n // 2) // n
    angle = (4 * m - quarter * n) / n * (np.pi / 2)
    cos, sin = np.cos(angle), np.sin(angle)
    quarter &= 3
    odd = quarter & 1 == 1
    out = np.empty(m.shape, np.complex128)
    out.real = np.where(odd, sin, cos) * np.where((quarter == 1) | (quarter == 2), -1.0, 1.0)
    out.imag = np.where(odd, cos, sin) * np.where(quarter >= 2, 1.0, -1.0)
    return out
