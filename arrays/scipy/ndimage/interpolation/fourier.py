"""Turning a plane of an array, and filters of its Fourier transform: of a whole array, as SciPy has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..distance import documented, make_whole

if TYPE_CHECKING:
    from ....array import Array

__all__ = [
    "fourier_ellipsoid",
    "fourier_gaussian",
    "fourier_shift",
    "fourier_uniform",
]


@documented
def fourier_gaussian(input: Any, sigma: Any, n: int = -1, axis: int = -1, output: Any = None) -> Array:
    """Multiply a Fourier transform by that of a Gaussian.

    >>> import windrow as wr
    >>> wr.ndimage.fourier_gaussian(wr.ones(3), 1.0).compute().round(3)
    array([1.   , 0.112, 0.112])
    """
    return make_whole("fourier_gaussian", dict(locals()))


@documented
def fourier_uniform(input: Any, size: Any, n: int = -1, axis: int = -1, output: Any = None) -> Array:
    """Multiply a Fourier transform by that of a box.

    >>> import windrow as wr
    >>> wr.ndimage.fourier_uniform(wr.ones(4), 2.0).compute().round(3)
    array([1.   , 0.637, 0.   , 0.637])
    """
    return make_whole("fourier_uniform", dict(locals()))


@documented
def fourier_ellipsoid(input: Any, size: Any, n: int = -1, axis: int = -1, output: Any = None) -> Array:
    """Multiply a Fourier transform by that of an ellipsoid; of three axes at most.

    >>> import windrow as wr
    >>> wr.ndimage.fourier_ellipsoid(wr.ones(4), 2.0).compute().round(3)
    array([1.   , 0.637, 0.   , 0.637])
    """
    return make_whole("fourier_ellipsoid", dict(locals()))


@documented
def fourier_shift(input: Any, shift: Any, n: int = -1, axis: int = -1, output: Any = None) -> Array:
    """Multiply a Fourier transform by that of a shift; the result is complex.

    >>> import windrow as wr
    >>> wr.ndimage.fourier_shift(wr.ones(4), 1).compute().round(3).tolist()
    [(1+0j), -1j, (-1+0j), 1j]
    """
    return make_whole("fourier_shift", dict(locals()))
