"""Gamma numbers by Marsaglia and Tsang's method (2000): a cube of a normal number, accepted nearly always."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .normal import gauss

if TYPE_CHECKING:
    from .draws import Draws

Array = np.ndarray[Any, Any]


def standard_gamma(draws: Draws, shape: Array) -> Array:
    """Return gamma numbers of scale 1; zero for a shape of zero."""
    value, small, boost = _parts(draws, shape)
    if len(small) == len(shape):
        return np.where(shape == 0, 0.0, value * boost ** (1.0 / shape))
    if len(small):
        value[small] *= boost ** (1.0 / shape[small])
        value[shape == 0] = 0.0
    return value


def log_gamma(draws: Draws, shape: Array) -> Array:
    """Return logarithms of gamma numbers, which themselves may be too small for a double."""
    value, small, boost = _parts(draws, shape)
    np.log(value, out=value)
    if len(small) == len(shape):
        return np.where(shape == 0, -np.inf, value + np.log(boost) / shape)
    if len(small):
        value[small] += np.log(boost) / shape[small]
        value[shape == 0] = -np.inf
    return value


def _parts(draws: Draws, shape: Array) -> tuple[Array, Array, Array]:
    """Return gamma numbers, of shape + 1 for shapes below 1, which these are, and in (0, 1] what takes them down."""
    boost: Array
    small: Array
    small = boost = np.flatnonzero(shape < 1.0)
    if small.size:
        (u,) = draws.at_lane(3).uniform(1, 0, small)
        boost = 1.0 - u

    def propose(drawn: tuple[Array, ...], params: tuple[Array, ...]) -> tuple[Array, Array]:
        u, v, w, _ = drawn
        (d,) = params
        x = gauss(u, v)
        root = 1.0 + x / np.sqrt(9.0 * d)
        cube = root * root * root
        holds = np.log(w) < 0.5 * x * x + d - d * cube + d * np.log(cube)
        return d * cube, (holds & (root > 0)) | ~(d < np.inf)

    d = np.where(shape < 1.0, shape + 1.0, shape) - 1.0 / 3.0
    return draws.accept(4, propose, (d,)), small, boost
