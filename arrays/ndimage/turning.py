"""Turning a plane of an array, and filters of its Fourier transform: of a whole array, as SciPy has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from ..base import check_axis
from ..borrowed.scipy_calls import find, numbers
from .wholes import documented, make_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..array import Array

__all__ = [
    "fourier_ellipsoid",
    "fourier_gaussian",
    "fourier_shift",
    "fourier_uniform",
    "rotate",
]


@documented
def rotate(
    input: Any,
    angle: float,
    axes: Sequence[int] = (1, 0),
    reshape: bool = True,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Array:
    """Turn an array in the plane of two axes.

    >>> import windrow as wr
    >>> wr.ndimage.rotate(wr.asarray([[1.0, 2], [3, 4]]), 90, order=1).compute()
    array([[2., 4.],
           [1., 3.]])
    """
    given = dict(locals())
    x = numbers("rotate", "input", input)
    plane = sorted(check_axis("rotate", axis, x.ndim) for axis in axes)
    if len(plane) != 2 or plane[0] == plane[1]:
        raise ArgumentError(bad("rotate", "axes", axes, "two axes"))
    shape = list(x.shape)
    if reshape:
        special = find("special", "rotate")
        c, s = special.cosdg(angle), special.sindg(angle)
        rows, columns = (shape[axis] for axis in plane)
        corners = np.array([[c, s], [-s, c]]) @ np.array([[0, 0, rows, rows], [0, columns, 0, columns]])
        for axis, n in zip(plane, (np.ptp(corners, axis=1) + 0.5).astype(int).tolist(), strict=True):
            shape[axis] = n
    return make_whole("rotate", given | {"axes": tuple(plane)}, shape)


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
