"""Windows of signal processing, and the functions of each element that belong to them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...graph.errors import ArgumentError, bad
from ..base import as_array
from ..creation.filled import ones
from ..creation.ranges import arange
from ..docstrings import COMMON
from ..ops.elementwise.functions import where
from ..ops.elementwise.nodes import apply
from ..ops.elementwise.ufuncs import cos, sqrt

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..array import Array
    from ..typing import ArrayLike, ChunksLike

__all__ = [
    "bartlett",
    "blackman",
    "hamming",
    "hanning",
    "i0",
    "kaiser",
    "sinc",
]


def i0(x: ArrayLike) -> Array:
    """Return the modified Bessel function of the first kind and order zero of each element.

    Parameters
    ----------
    x : array_like of real numbers
        Of any shape.

    Returns
    -------
    Array
        In the shape of `x`; float64, or the floating-point dtype of `x`.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array.
    DTypeError
        `x` is complex, or holds Python objects.

    >>> wr.i0([0.0]).compute()
    array([1.])
    """
    return apply("i0", "i0", (as_array("i0", "x", x),), np.i0)


def sinc(x: ArrayLike) -> Array:
    """Return `sin(pi x) / (pi x)` of each element, and 1 at 0.

    Parameters
    ----------
    x : array_like
        Real or complex numbers, of any shape.

    Returns
    -------
    Array
        In the shape of `x`; float64 for integers, else the dtype of `x`.

    Raises
    ------
    ArgumentError
        `x` can't be read as an array.
    DTypeError
        `x` isn't numbers.

    >>> wr.sinc([0.0, 0.5]).compute()
    array([1.        , 0.63661977])
    """
    return apply("sinc", "sinc", (as_array("sinc", "x", x),), np.sinc)


def _count(operation: str, m: ArrayLike) -> int:
    if isinstance(m, bool) or not isinstance(m, int | float | np.integer | np.floating) or m != m // 1:
        raise ArgumentError(bad(operation, "M", m, "a whole number"))
    return max(0, int(m))


def _window(operation: str, M: int, chunks: ChunksLike, formula: Callable[[Array, int], Array]) -> Array:
    """Return a formula's values at positions from `-last` to `last`, by two; 1 for a single point."""
    count = _count(operation, M)
    if count <= 1:
        return ones(count, chunks=chunks)
    return formula(arange(1 - count, count, 2, chunks=chunks), count - 1)


def bartlett(M: int, *, chunks: ChunksLike = "auto") -> Array:
    """Return Bartlett's triangular window, zero at the ends.

    Parameters
    ----------
    M : int
        Number of points; none for less than one, a single 1 for one.
    chunks : int, str, tuple, dict or None
        Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`.

    Returns
    -------
    Array (M,)
        1-D of float64, symmetric, at most 1.

    Raises
    ------
    ArgumentError
        `M` isn't a whole number.
    ChunksError
        `chunks` can't be read, or doesn't fit the shape.

    Notes
    -----
    As NumPy's, but lazy, and in chunks.

    >>> wr.bartlett(3).round(3).compute()
    array([0., 1., 0.])
    """
    return _window("bartlett", M, chunks, lambda n, last: where(n <= 0, 1 + n / last, 1 - n / last))


def blackman(M: int, *, chunks: ChunksLike = "auto") -> Array:
    """Return Blackman's window, a sum of three cosines.

    {sections of bartlett}

    >>> wr.blackman(3).round(3).compute()
    array([-0.,  1., -0.])
    """
    return _window(
        "blackman",
        M,
        chunks,
        lambda n, last: 0.42 + 0.5 * cos(math.pi * n / last) + 0.08 * cos(2.0 * math.pi * n / last),
    )


def hamming(M: int, *, chunks: ChunksLike = "auto") -> Array:
    """Return Hamming's window, a raised cosine that isn't zero at the ends.

    {sections of bartlett}

    >>> wr.hamming(3).round(3).compute()
    array([0.08, 1.  , 0.08])
    """
    return _window("hamming", M, chunks, lambda n, last: 0.54 + 0.46 * cos(math.pi * n / last))


def hanning(M: int, *, chunks: ChunksLike = "auto") -> Array:
    """Return von Hann's window, a raised cosine.

    {sections of bartlett}

    >>> wr.hanning(3).round(3).compute()
    array([0., 1., 0.])
    """
    return _window("hanning", M, chunks, lambda n, last: 0.5 + 0.5 * cos(math.pi * n / last))


def kaiser(M: int, beta: float, *, chunks: ChunksLike = "auto") -> Array:
    """Return Kaiser's window, made of Bessel functions.

    Parameters
    ----------
    M : int
        Number of points; none for less than one, a single 1 for one.
    beta : float
        Shape: 0 is a rectangle; the larger, the narrower the window.
    chunks : int, str, tuple, dict or None
        Chunk sizes of the result, as for `windrow.zeros`; "auto" chooses them by the setting `chunk_bytes`.

    {Returns of bartlett}

    Raises
    ------
    ArgumentError
        `M` isn't a whole number.
    DTypeError
        `beta` isn't a number.
    ChunksError
        `chunks` can't be read, or doesn't fit the shape.

    {Notes of bartlett}

    >>> wr.kaiser(3, 0.0).round(3).compute()
    array([1., 1., 1.])
    """
    return _window(
        "kaiser", M, chunks, lambda n, last: i0(beta * sqrt(1 - (n / last) ** 2.0)) / float(np.i0(float(beta)))
    )


COMMON.fill(__name__)
