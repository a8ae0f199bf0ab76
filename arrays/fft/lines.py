"""Fourier transforms along one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ops.elementwise.ufuncs import conjugate
from ..ops.outputs import deliver
from .docstrings import FOURIER
from .plans import apply_steps, line_step, norm_of, operand

if TYPE_CHECKING:
    from ..array import Array
    from ..typing import ArrayLike, OutLike

__all__ = ["fft", "hfft", "ifft", "ihfft", "irfft", "rfft"]

_OTHER_WAY = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: OutLike = None) -> Array:
    """Return the Fourier transforms along an axis.

    Parameters
    ----------
    a : array_like
        Numbers.
    {n, axis, norm, out}

    Returns
    -------
    Array
        In the shape of `a` with n points along the axis: complex128, or complex64 for float16, float32 and complex64.

    Raises
    ------
    {line_errors, DTypeError}

    Notes
    -----
    Lines are brought into one block each; other axes are cut, so that chunks don't grow. Where a line alone is larger
    than the chunks (and than 1 MiB), it is cut in two: n = n1 * n2 as near to the square root as there are factors,
    columns of n1 points, twiddle factors, rows of n2 points. A long line whose length is prime, or has no factors that
    make the parts fit into a chunk, comes into one block as a whole.

    >>> wr.fft.fft(wr.arange(4)).compute()
    array([ 6.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return _transform("fft", a, n, axis, norm, out)


def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: OutLike = None) -> Array:
    """Return the inverse Fourier transforms along an axis.

    Parameters
    ----------
    a : array_like
        Numbers, as `fft` returns them.
    {n, axis, norm, out}

    {Returns, Raises of fft}

    Notes
    -----
    See `windrow.fft.fft` for how chunks are treated.

    >>> wr.fft.ifft(wr.fft.fft(wr.arange(3))).real.compute()
    array([0., 1., 2.])
    """
    return _transform("ifft", a, n, axis, norm, out)


def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: OutLike = None) -> Array:
    """Return the Fourier transforms of real numbers along an axis: the first half of the symmetric result.

    Parameters
    ----------
    a : array_like
        Real numbers.
    {n, axis, norm, out}

    Returns
    -------
    Array
        In the shape of `a` with n // 2 + 1 points along the axis: complex128, or complex64 for float16, float32 and
        complex64.

    Raises
    ------
    {line_errors, not_real}

    Notes
    -----
    See `windrow.fft.fft` for how chunks are treated. A line that is cut in two costs as much as a complex one.

    >>> wr.fft.rfft(wr.arange(4)).compute()
    array([ 6.+0.j, -2.+2.j, -2.+0.j])
    """
    return _transform("rfft", a, n, axis, norm, out)


def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: OutLike = None) -> Array:
    """Return the inverse of `rfft`: real numbers, from the first half of their spectrum.

    Parameters
    ----------
    a : array_like
        The first half of a symmetric spectrum; imaginary parts of its ends are ignored.
    n : int, optional
        Number of points of the result: what is there is cut, or padded with zeros. None: twice its length less two.
    {axis, norm, out}

    Returns
    -------
    Array
        In the shape of `a` with n points along the axis: float64, or float32 for float16, float32 and complex64.

    {Raises, Notes of ifft}

    >>> wr.fft.irfft(wr.fft.rfft(wr.arange(4))).compute()
    array([0., 1., 2., 3.])
    """
    return _transform("irfft", a, n, axis, norm, out)


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: OutLike = None) -> Array:
    """Return the real spectrum of a symmetric signal, from the first half of the signal.

    Parameters
    ----------
    a : array_like
        The first half of a symmetric signal.
    n : int, optional
        Number of points of the result: what is there is cut, or padded with zeros. None: twice its length less two.
    {axis, norm, out}

    {Returns, Raises, Notes of irfft}

    >>> wr.fft.hfft(wr.arange(3)).compute()
    array([ 4., -2.,  0., -2.])
    """
    x = operand("hfft", a)
    step = line_step("hfft", "irfft", x, n, axis)
    spectrum = apply_steps(conjugate(x), [step], _OTHER_WAY[norm_of("hfft", norm)])
    put: Array = deliver("hfft", spectrum, out)
    return put


def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: OutLike = None) -> Array:
    """Return the inverse of `hfft`: the first half of a symmetric signal, from its real spectrum.

    Parameters
    ----------
    a : array_like
        A real spectrum.
    {n, axis, norm, out}

    {Returns, Raises of rfft}

    Notes
    -----
    See `windrow.fft.fft` for how chunks are treated.

    >>> wr.fft.ihfft(wr.fft.hfft(wr.arange(3))).real.compute()
    array([0., 1., 2.])
    """
    x = operand("ihfft", a)
    step = line_step("ihfft", "rfft", x, n, axis)
    transform = apply_steps(x, [step], _OTHER_WAY[norm_of("ihfft", norm)])
    put: Array = deliver("ihfft", conjugate(transform), out)
    return put


def _transform(name: str, a: ArrayLike, n: int | None, axis: int, norm: str | None, out: OutLike) -> Array:
    x = operand(name, a)
    put: Array = deliver(name, apply_steps(x, [line_step(name, name, x, n, axis)], norm_of(name, norm)), out)
    return put


FOURIER.fill(__name__)
