"""Random numbers whose parameters are arrays: a function for each distribution, by its name.

Each gets blocks of the parameters, the generator's (key, jump, offset), the result's shape and dtype, and where the
block lies. `check_parameter` is for parameters that nobody has seen before.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...interpreter.tile_regions import regions
from ...randoms import KERNELS, draws_of, vectors
from ...randoms.checks import check, check_range
from ...randoms.philox import product

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...randoms.draws import Draws

Array = np.ndarray[Any, Any]
Stream = tuple[tuple[int, int], int, int]
Where = tuple[slice, ...]


def __getattr__(name: str) -> Callable[..., Array]:
    if name in KERNELS:
        return partial(_draw, name)
    raise AttributeError(f"no distribution is named {name!r}")


def _draws(stream: Stream, shape: tuple[int, ...], where: Where) -> Draws:
    key, jump, offset = stream
    origin = np.array([[s.start for s in where]], np.int64).reshape(1, len(shape))
    return draws_of(key, jump, offset, shape, origin, tuple(s.stop - s.start for s in where))


def _draw(name: str, *args: Any, where: Where) -> Array:
    *params, stream, shape, dtype = args
    extents = tuple(s.stop - s.start for s in where)
    if 0 in extents:
        return np.empty(extents, dtype)
    wide = [np.broadcast_to(p, extents) for p in params]
    out = np.empty(extents, dtype)
    for region in regions(extents):  # as large as a source's tiles: what a kernel makes on its way stays in cache
        here = tuple(slice(w.start + r.start, w.start + r.stop) for w, r in zip(where, region, strict=True))
        flat = [np.array(p[region], np.float64).reshape(-1) for p in wide]
        with np.errstate(all="ignore"):
            samples = KERNELS[name](_draws(stream, shape, here), *flat)
        out[region] = samples.reshape(out[region].shape)
    return out


def check_parameter(x: Array, operation: str, argument: str, condition: str) -> Array:
    """Return a parameter as doubles, if its values are what they must be."""
    check(operation, argument, x, condition)
    return x.astype(np.float64)


def integers(
    low: Array,
    high: Array,
    endpoint: bool,
    limits: tuple[int, int],
    stream: Stream,
    shape: tuple[int, ...],
    dtype: Any,
    where: Where,
) -> Array:
    """Return integers from low up to high, which are from `limits[0]` to `limits[1]`."""
    extents = tuple(s.stop - s.start for s in where)
    if 0 in extents:
        return np.empty(extents, dtype)
    check_range(low, high, endpoint, limits, dtype)
    span = high.astype(np.uint64) - low.astype(np.uint64) + np.uint64(endpoint)
    draws = _draws(stream, shape, where).raw()[:, 0].reshape(extents)
    scaled, _ = product(draws, np.broadcast_to(span, extents))
    scaled = np.where(span == 0, draws, scaled)  # all 2**64
    return (scaled + low.astype(np.uint64)).astype(dtype)


def multinomial(n: Array, pvals: Array, stream: Stream, shape: tuple[int, ...], where: Where) -> Array:
    return _vectors(vectors.multinomial, n, pvals, stream, shape, where)


def multivariate_hypergeometric(
    nsample: Array, colors: Array, stream: Stream, shape: tuple[int, ...], where: Where
) -> Array:
    def draw_counts(draws: Draws, sample: Array, known: Array) -> Array:
        return vectors.multivariate_hypergeometric(draws, known, sample)

    return _vectors(draw_counts, nsample, colors, stream, shape, where)


def _vectors(
    function: Callable[[Draws, Array, Array], Array],
    number: Array,
    last: Array,
    stream: Stream,
    shape: tuple[int, ...],
    where: Where,
) -> Array:
    extents = tuple(s.stop - s.start for s in where)
    if 0 in extents:
        return np.empty(extents, np.int64)
    n = np.array(np.broadcast_to(number, extents[:-1]), np.float64).reshape(-1)
    rows = np.array(np.broadcast_to(last, extents), np.float64).reshape(-1, extents[-1])
    with np.errstate(all="ignore"):
        samples = function(_draws(stream, shape[:-1], where[:-1]), n, rows)
    return samples.reshape(extents).astype(np.int64)


def normalise(logarithms: Array) -> Array:
    """Return exponentials along the last axis over their sum."""
    return vectors.normalise(logarithms.reshape(-1, logarithms.shape[-1])).reshape(logarithms.shape)


def correlate(z: Array, mean: Array, factor: Array) -> Array:
    """Return mean + z @ factor."""
    samples = vectors.correlate(z.reshape(-1, z.shape[-1]), mean, factor)
    return samples.reshape(*z.shape[:-1], factor.shape[1])


def covariance_factor(cov: Array, method: str, check_valid: str, tol: float) -> Array:
    """Return what `correlate` multiplies with."""
    return vectors.covariance_factor(cov, method, check_valid, tol)
