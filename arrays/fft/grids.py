"""Fourier transforms along several axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.errors import ShapeError, bad
from ..ops.outputs import deliver
from .docstrings import FOURIER
from .plans import TransformStep, apply_steps, axes_and_lengths, norm_of, operand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array
    from ..typing import ArrayLike, AxisLike, OutLike

__all__ = ["fft2", "fftn", "ifft2", "ifftn", "irfft2", "irfftn", "rfft2", "rfftn"]


def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: OutLike = None,
) -> Array:
    """Return the Fourier transform along several axes.

    Parameters
    ----------
    a : array_like
        Numbers.
    {s, axes, norm, out}

    Returns
    -------
    Array
        In the shape of `a`, or with `s` points along the axes: complex128, or complex64 for float16, float32 and
        complex64.

    Raises
    ------
    ArgumentError
        `a` can't be read as an array; `s` or `axes` isn't integers; or `norm` is unknown.
    {AxisError}
    ShapeError
        There is less than one point to transform, `s` and `axes` have different lengths, or the result doesn't
        broadcast to `out`.
    {DTypeError}

    Notes
    -----
    Axes that are whole already, or fit into a block together, are transformed in one pass; the others follow, one pass
    over the array each: the axis is made whole and others are cut, so that chunks don't grow. A line larger than a
    chunk is cut in two; see `windrow.fft.fft`.

    >>> wr.fft.fftn(wr.ones((2, 2))).compute()
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return _complex("fftn", "fft", a, s, axes, norm, out)


def fft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
    out: OutLike = None,
) -> Array:
    """Return the Fourier transform along two axes.

    Parameters
    ----------
    a : array_like
        Numbers.
    {s, two_axes, norm, out}

    {Returns, Raises of fftn}

    Notes
    -----
    See `windrow.fft.fftn` for how chunks are treated.

    >>> wr.fft.fft2(wr.ones((3, 2, 2))).shape
    (3, 2, 2)
    """
    return _complex("fft2", "fft", a, s, axes, norm, out)


def ifftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: OutLike = None,
) -> Array:
    """Return the inverse Fourier transform along several axes.

    Parameters
    ----------
    a : array_like
        Numbers, as the transform returns them.
    {s, axes, norm, out}

    {Returns, Raises, Notes of fft2}

    >>> wr.fft.ifftn(wr.ones((2, 2))).compute()
    array([[1.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return _complex("ifftn", "ifft", a, s, axes, norm, out)


def ifft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
    out: OutLike = None,
) -> Array:
    """Return the inverse Fourier transform along two axes.

    Parameters
    ----------
    a : array_like
        Numbers, as the transform returns them.
    {s, two_axes, norm, out}

    {Returns, Raises, Notes of fft2}

    >>> wr.fft.ifft2(wr.ones((3, 2, 2))).shape
    (3, 2, 2)
    """
    return _complex("ifft2", "ifft", a, s, axes, norm, out)


def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: OutLike = None,
) -> Array:
    """Return the Fourier transform of real numbers along several axes: half of the symmetric result.

    Parameters
    ----------
    a : array_like
        Real numbers.
    {s, axes, norm, out}

    Returns
    -------
    Array
        In the shape of `a`, or with `s` points along the axes, but n // 2 + 1 of n along the last one: complex128, or
        complex64 for float16, float32 and complex64.

    Raises
    ------
    {half_grid_errors, not_real}

    Notes
    -----
    See `windrow.fft.fftn` for how chunks are treated.

    >>> wr.fft.rfftn(wr.ones((4, 4))).shape
    (4, 3)
    """
    return _half("rfftn", a, s, axes, norm, out)


def rfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
    out: OutLike = None,
) -> Array:
    """Return the Fourier transform of real numbers along two axes: half of the symmetric result.

    Parameters
    ----------
    a : array_like
        Real numbers.
    {s, two_axes, norm, out}

    {Returns, Raises, Notes of rfftn}

    >>> wr.fft.rfft2(wr.ones((4, 4))).shape
    (4, 3)
    """
    return _half("rfft2", a, s, axes, norm, out)


def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: OutLike = None,
) -> Array:
    """Return the inverse of `rfftn`: real numbers, from half of their spectrum along several axes.

    Parameters
    ----------
    a : array_like
        Half of a symmetric spectrum: along the last of the axes its first half.
    {s, axes, norm, out}

    Returns
    -------
    Array
        In the shape of `a`, or with `s` points along the axes; left out, twice the length less two along the last one:
        float64, or float32 for float16, float32 and complex64.

    Raises
    ------
    {half_grid_errors, DTypeError}

    Notes
    -----
    See `windrow.fft.fftn` for how chunks are treated.

    >>> wr.fft.irfftn(wr.ones((4, 4))).shape
    (4, 6)
    """
    return _back("irfftn", a, s, axes, norm, out)


def irfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
    out: OutLike = None,
) -> Array:
    """Return the inverse of `rfft2`: real numbers, from half of their spectrum along two axes.

    Parameters
    ----------
    a : array_like
        Half of a symmetric spectrum: along the last of the axes its first half.
    {s, two_axes, norm, out}

    {Returns, Raises, Notes of irfftn}

    >>> wr.fft.irfft2(wr.ones((4, 4))).shape
    (4, 6)
    """
    return _back("irfft2", a, s, axes, norm, out)


def _complex(operation: str, name: str, a: ArrayLike, s: Any, axes: AxisLike, norm: Any, out: OutLike) -> Array:
    """Transform along axes, the last one first."""
    x = operand(operation, a)
    axis_numbers, lengths = axes_and_lengths(operation, x, s, axes)
    steps = [TransformStep(name, n, i) for i, n in zip(axis_numbers, lengths, strict=True)]
    put: Array = deliver(operation, apply_steps(x, steps[::-1], norm_of(operation, norm)), out)
    return put


def _half(operation: str, a: ArrayLike, s: Any, axes: AxisLike, norm: Any, out: OutLike) -> Array:
    """Transform real numbers: the last axis first."""
    x = operand(operation, a)
    axis_numbers, lengths = axes_and_lengths(operation, x, s, axes)
    if not axis_numbers:
        raise ShapeError(bad(operation, "axes", axes, "at least one axis"))
    steps = [TransformStep("fft", n, i) for i, n in zip(axis_numbers, lengths, strict=True)]
    steps = [TransformStep("rfft", lengths[-1], axis_numbers[-1]), *steps[-2::-1]]
    put: Array = deliver(operation, apply_steps(x, steps, norm_of(operation, norm)), out)
    return put


def _back(operation: str, a: ArrayLike, s: Any, axes: AxisLike, norm: Any, out: OutLike) -> Array:
    """Transform to real numbers: the last axis last."""
    x = operand(operation, a)
    axis_numbers, lengths = axes_and_lengths(operation, x, s, axes, halved=True)
    if not axis_numbers:
        raise ShapeError(bad(operation, "axes", axes, "at least one axis"))
    steps = [TransformStep("ifft", n, i) for i, n in zip(axis_numbers, lengths, strict=True)]
    steps = [*steps[:-1], TransformStep("irfft", lengths[-1], axis_numbers[-1])]
    put: Array = deliver(operation, apply_steps(x, steps, norm_of(operation, norm)), out)
    return put


FOURIER.fill(__name__)
