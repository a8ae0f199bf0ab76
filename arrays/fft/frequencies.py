"""Sample frequencies, and turning spectra so that zero is in the middle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, DTypeError, bad
from ..base import as_array, check_axis, check_dtype
from ..creation.ranges import arange
from ..ops.elementwise import astype, where
from ..ops.joining import roll
from .plans import length_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, chunks: Any = "auto") -> Array:
    """Return the frequencies of a transform's results: 0, 1, ..., then the negative ones, over `n * d`.

    Parameters
    ----------
    n : int
        Number of points.
    d : float
        Distance of samples.
    dtype : dtype, optional
        None: float64.
    device : {"cpu"}, optional
    chunks : int, str, tuple, dict or None

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.fft.fftfreq(4).compute()
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    count = _checked("fftfreq", n, d, device)
    k = arange(count, chunks=chunks)
    return _scaled("fftfreq", where(k < (count + 1) // 2, k, k - count), count * d, dtype)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, chunks: Any = "auto") -> Array:
    """Return the frequencies of the results of `rfft`: 0, 1, ..., over `n * d`.

    Parameters
    ----------
    n : int
        Number of points.
    d : float
        Distance of samples.
    dtype : dtype, optional
        None: float64.
    device : {"cpu"}, optional
    chunks : int, str, tuple, dict or None

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.fft.rfftfreq(4).compute()
    array([0.  , 0.25, 0.5 ])
    """
    count = _checked("rfftfreq", n, d, device)
    return _scaled("rfftfreq", arange(count // 2 + 1, chunks=chunks), count * d, dtype)


def _checked(operation: str, n: Any, d: Any, device: Any) -> int:
    if device not in (None, "cpu"):
        raise ArgumentError(bad(operation, "device", device, "'cpu'"))
    if not isinstance(d, int | float | np.integer | np.floating) or d == 0:
        raise ArgumentError(bad(operation, "d", d, "a number other than zero"))
    return length_of(operation, n, "n")


def _scaled(operation: str, k: Array, length: float, dtype: Any) -> Array:
    found: Array = k * (1.0 / length)
    if dtype is None:
        return found
    wanted = check_dtype(operation, "dtype", dtype)
    if wanted.kind != "f":
        raise DTypeError(bad(operation, "dtype", wanted, "a dtype of real floating-point numbers"))
    return astype(found, wanted)


def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Array:
    """Turn a spectrum so that frequency zero comes into the middle.

    Parameters
    ----------
    x : array
    axes : int, sequence of int or None
        None: all axes.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.fft.fftshift(wr.fft.fftfreq(4)).compute()
    array([-0.5 , -0.25,  0.  ,  0.25])
    """
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Array:
    """Undo `fftshift`.

    Parameters
    ----------
    x : array
    axes : int, sequence of int or None
        None: all axes.

    Returns
    -------
    Array

    Examples
    --------
    >>> import windrow as wr
    >>> wr.fft.ifftshift(wr.fft.fftshift(wr.arange(5))).compute()
    array([0, 1, 2, 3, 4])
    """
    return _shifted("ifftshift", x, axes, -1)


def _shifted(operation: str, x: Any, axes: Any, sign: int) -> Array:
    array = as_array(operation, "x", x)
    given = range(array.ndim) if axes is None else axes if isinstance(axes, tuple | list) else (axes,)
    each = tuple(check_axis(operation, a, array.ndim, "axes") for a in given)
    return roll(array, tuple(sign * (array.shape[a] // 2) for a in each), each) if each else array
