"""Fourier transforms of whole blocks, and the twiddle factors between the two halves of a long one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiled.fixed.transposing import copy_tile
from .. import filling

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]

IN_CACHE = 1 << 17
"""Lines along an inner axis are turned, some at a time, where they span more bytes than these."""
STRIPE = 256
"""Bytes of a row that are read at once then."""


@filling
def steps(x: Array, transforms: tuple[tuple[str, int, int], ...], norm: str, *, out: Array) -> Array:
    """Apply transforms (name in `numpy.fft`, length, axis) one after the other."""
    for name, n, axis in transforms[:-1]:
        x = _along(x, name, n, axis, norm, None)
    name, n, axis = transforms[-1]
    return _along(x, name, n, axis, norm, out)


def _along(x: Array, name: str, n: int, axis: int, norm: str, out: Array | None) -> Array:
    """Transform along one axis; far strides are avoided."""
    transform: Any = getattr(np.fft, name)
    row = x.shape[-1] * x.itemsize
    if axis == x.ndim - 1 or x.size == 0 or row < STRIPE or n * math.prod(x.shape[axis + 1 :]) * x.itemsize <= IN_CACHE:
        spectrum: Array = transform(x, n, axis, norm, out=out)
        return spectrum
    if out is None:
        length = n // 2 + 1 if name == "rfft" else n
        kind = transform(np.ones(2, x.dtype), 2).dtype
        out = np.empty((*x.shape[:axis], length, *x.shape[axis + 1 :]), kind)
    for source, target in _sheets(x, out, axis):
        for stripe in _stripes(source):
            target[:, stripe] = transform(_transpose_stripe(source[:, stripe]), n, -1, norm).T
    return out


def _sheets(x: Array, out: Array, axis: int) -> Iterator[tuple[Array, Array]]:
    """Yield the planes of an axis and the last one, of both arrays."""
    planes = [np.moveaxis(a, axis, -2) for a in (x, out)]
    for index in np.ndindex(planes[0].shape[:-2]):
        yield planes[0][index], planes[1][index]


def _stripes(sheet: Array) -> Iterator[slice]:
    """Yield runs of columns that are turned at once."""
    width = max(1, STRIPE // sheet.itemsize)
    for at in range(0, sheet.shape[1], width):
        yield slice(at, min(at + width, sheet.shape[1]))


def _transpose_stripe(stripe: Array) -> Array:
    """Return some columns as rows."""
    rows = np.empty(stripe.shape[::-1], stripe.dtype)
    copy_tile(rows, stripe.T)
    return rows


@filling
def columns(x: Array, name: str, n: int, norm: str, *, where: tuple[slice, ...], out: Array) -> Array:
    """Transform along the last axis but one and turn each element by its twiddle factor: the four-step's first half.

    The element (k, j) of the last two axes is multiplied by `exp(-2 pi i k j / n)`, conjugated for the inverse.
    """
    transform: Any = getattr(np.fft, name)
    rows = x.shape[-2]
    left, right = twiddles(np.arange(where[-1].start, where[-1].stop), rows, n)
    for stripe in _stripes(x[(0,) * (x.ndim - 2)]):
        turn = (left[stripe, :, None] * right[stripe, None, :]).reshape(-1, left.shape[1] * right.shape[1])[:, :rows]
        if name == "ifft":
            np.conjugate(turn, out=turn)
        turn = turn.astype(out.dtype, copy=False)
        for source, target in _sheets(x, out, x.ndim - 2):
            spectra = transform(_transpose_stripe(source[:, stripe]), rows, -1, norm)
            target[:, stripe] = np.multiply(spectra, turn, out=spectra).T
    return out


def flat(x: Array) -> Array:
    """Join the last two axes."""
    return x.reshape(*x.shape[:-2], -1)


def twiddles(columns: Array, rows: int, n: int) -> tuple[Array, Array]:
    """Return factors of `exp(-2 pi i k j / n)` for columns j and each k below `rows`: (columns, a) and (columns, b).

    k is split as `step * a + b`, so that few roots are computed; their products err by about one unit.
    """
    step = 1 << (math.isqrt(rows).bit_length() - 1)
    high = np.arange(0, rows, step)
    return roots(columns[:, None] * high, n), roots(columns[:, None] * np.arange(step), n)


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
