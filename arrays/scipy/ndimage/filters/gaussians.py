"""Gaussian filters and their derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .....graph.errors import ArgumentError, bad
from .linear import Numbers, documented
from .local import ROUND, Reach, filter_locally, gaussian_reach

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....array import Array

__all__ = [
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
]


@documented
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Numbers = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Array:
    """Smooth an array by a Gaussian, or take derivatives of it.

    >>> import windrow as wr
    >>> wr.ndimage.gaussian_filter(wr.arange(6.0, chunks=2), 1).compute().round(2)
    array([0.43, 1.07, 2.  , 3.  , 3.93, 4.57])
    """
    return filter_locally("gaussian_filter", locals(), gaussian_reach)


@documented
def gaussian_filter1d(
    input: Any,
    sigma: float,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
) -> Array:
    """Smooth lines along an axis by a Gaussian, or take derivatives of it.

    >>> import windrow as wr
    >>> wr.ndimage.gaussian_filter1d(wr.arange(6.0, chunks=2), 1, radius=1).compute().round(2)
    array([0.27, 1.  , 2.  , 3.  , 4.  , 4.73])
    """
    return filter_locally("gaussian_filter1d", locals(), gaussian_reach)


@documented
def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Array:
    """Sum the second derivatives of a Gaussian along axes.

    >>> import windrow as wr
    >>> wr.ndimage.gaussian_laplace(wr.arange(6.0, chunks=2), 1).compute().round(2)
    array([ 0.43,  0.2 ,  0.01, -0.01, -0.2 , -0.43])
    """
    return filter_locally("gaussian_laplace", _flat("gaussian_laplace", locals()), gaussian_reach)


@documented
def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Array:
    """Return the length of the gradient, of a Gaussian's derivatives along axes.

    >>> import windrow as wr
    >>> wr.ndimage.gaussian_gradient_magnitude(wr.arange(6.0, chunks=2), 1).compute().round(2)
    array([0.36, 0.83, 0.98, 0.98, 0.83, 0.36])
    """
    name = "gaussian_gradient_magnitude"
    return filter_locally(name, _flat(name, locals()), _reach_along_all)


def _reach_along_all(given: Mapping[str, Any], ndim: int) -> Reach:
    """Derivatives are taken along some axes, each of an array that is smoothed along all."""
    return gaussian_reach({**given, "axes": None}, ndim)


def _flat(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with those that are passed on; SciPy takes each axis's mode for all axes in turn."""
    given = dict(given)
    mode = given["mode"]
    around = {one in ROUND for one in ([mode] if isinstance(mode, str) else mode)}
    if len(around) > 1:
        expected = "modes that all go round the ends, or none: SciPy takes each axis's for all axes in turn"
        raise ArgumentError(bad(name, "mode", mode, expected))
    given.pop("name", None)
    more: dict[str, Any] = given.pop("kwargs")
    return given | more
