"""Sample frequencies, and shifting spectra so that frequency zero is in the middle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, bad
from ..base import as_array, check_axis, check_dtype
from ..creation.ranges import arange
from ..ops.elementwise.functions import astype, where
from ..ops.moves.joining import roll
from .docstrings import FOURIER
from .plans import length_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array
    from ..typing import ArrayLike, AxisLike, ChunksLike, DTypeLike

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def fftfreq(
    n: int, d: float = 1.0, *, dtype: DTypeLike = None, device: str | None = None, chunks: ChunksLike = "auto"
) -> Array:
    """Return the frequencies of the results of `fft`.

    Parameters
    ----------
    n : int
        Number of points that were transformed; at least 1.
    d : float
        Distance of samples, the inverse of the sample rate.
    dtype : dtype, optional
        float64 or another real floating-point dtype; None: float64.
    {device, chunks}

    Returns
    -------
    Array (n,)
        0, 1, ..., then the negative ones, over `n * d`.

    Raises
    ------
    ArgumentError
        `n` isn't an integer, `d` isn't a number other than zero, or `device` is unknown.
    ShapeError
        `n` is less than 1.
    DTypeError
        `dtype` isn't of real floating-point numbers.
    {ChunksError}

    Notes
    -----
    `dtype` and `device` are the array API's; NumPy has neither, nor `chunks`.

    >>> wr.fft.fftfreq(4).compute()
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    count = _check_length("fftfreq", n, d, device)
    k = arange(count, chunks=chunks)
    return _scale("fftfreq", where(k < (count + 1) // 2, k, k - count), count * d, dtype)


def rfftfreq(
    n: int, d: float = 1.0, *, dtype: DTypeLike = None, device: str | None = None, chunks: ChunksLike = "auto"
) -> Array:
    """Return the frequencies of the results of `rfft`.

    {Parameters of fftfreq}

    Returns
    -------
    Array (n // 2 + 1,)
        0, 1, ..., over `n * d`; none is negative.

    {Raises, Notes of fftfreq}

    >>> wr.fft.rfftfreq(4).compute()
    array([0.  , 0.25, 0.5 ])
    """
    count = _check_length("rfftfreq", n, d, device)
    return _scale("rfftfreq", arange(count // 2 + 1, chunks=chunks), count * d, dtype)


def _check_length(operation: str, n: object, d: object, device: str | None) -> int:
    if device not in (None, "cpu"):
        raise ArgumentError(bad(operation, "device", device, "'cpu'"))
    if not isinstance(d, int | float | np.integer | np.floating) or d == 0:
        raise ArgumentError(bad(operation, "d", d, "a number other than zero"))
    return length_of(operation, n, "n")


def _scale(operation: str, k: Array, length: float, dtype: DTypeLike) -> Array:
    frequencies: Array = k * (1.0 / length)
    if dtype is None:
        return frequencies
    wanted = check_dtype(operation, "dtype", dtype)
    if wanted.kind != "f":
        raise DTypeError(bad(operation, "dtype", wanted, "a dtype of real floating-point numbers"))
    return astype(frequencies, wanted)


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Return a spectrum with frequency zero in the middle.

    Parameters
    ----------
    x : array_like
        What `fft` or `fftfreq` returns.
    axes : int, sequence of int or None
        The axes that are rolled; None: all.

    Returns
    -------
    Array
        In the shape and dtype of `x`, rolled by half of each axis.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array; or an axis isn't an integer.
    {AxisError}

    >>> wr.fft.fftshift(wr.fft.fftfreq(4)).compute()
    array([-0.5 , -0.25,  0.  ,  0.25])
    """
    return _shift("fftshift", x, axes, 1)


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Undo `fftshift`.

    Parameters
    ----------
    x : array_like
        What `fftshift` returns.
    axes : int, sequence of int or None
        The axes that are rolled; None: all.

    Returns
    -------
    Array
        In the shape and dtype of `x`, rolled back by half of each axis.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array; or an axis isn't an integer.
    {AxisError}

    >>> wr.fft.ifftshift(wr.fft.fftshift(wr.arange(5))).compute()
    array([0, 1, 2, 3, 4])
    """
    return _shift("ifftshift", x, axes, -1)


def _shift(operation: str, x: ArrayLike, axes: AxisLike, sign: int) -> Array:
    array = as_array(operation, "x", x)
    entries = range(array.ndim) if axes is None else axes if isinstance(axes, tuple | list) else (axes,)
    each = tuple(check_axis(operation, a, array.ndim, "axes") for a in entries)
    return roll(array, tuple(sign * (array.shape[a] // 2) for a in each), each) if each else array


FOURIER.fill(__name__)
