"""Counts: binomial and Poisson numbers, and what follows from them or from one inverse.

Where few are expected one uniform number is followed up the distribution function; where many are, Hörmann's
transformed rejection (1993) takes about 1.2 attempts of two draws. Results are doubles that hold whole numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError
from .checks import LARGEST_MEAN
from .gamma import standard_gamma
from .recording import is_value
from .special import change_where, log_factorial, stirling_rest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .draws import Draws

Array = np.ndarray[Any, Any]
FEW = 10.0
"""Fewer than so many expected: by the inverse."""
LARGEST = float(2**63 - 1024)
"""The largest double that an int64 holds."""


def invert_recurrence(u: Array, first: Array, ratio: Callable[[int, Array], Array], most: int = 1000) -> Array:
    """Return how far u lies up a distribution function: p(0) is `first`, p(k + 1) is `ratio(k, which)` p(k)."""
    counts: Array
    if is_value(u):
        counts = u.climb(_heights(first, ratio, most))
        return counts
    counts = np.zeros(len(u))
    left = np.flatnonzero(u >= first)
    p, u = first[left], u[left] - first[left]
    k = 0
    while left.size and k < most:
        p = p * ratio(k, left)
        k += 1
        counts[left] = k
        above = (u >= p) & (p > 0)
        left, u, p = left[above], (u - p)[above], p[above]
    return counts


def _heights(first: Array, ratio: Callable[[int, Array], Array], most: int) -> list[float]:
    """Return a distribution function's steps, where they are the same for all elements."""
    p, which = first, np.arange(len(first))
    heights = [float(p[0])]
    for k in range(most - 1):
        p = p * ratio(k, which)
        if not p[0] > 0:
            break
        heights.append(float(p[0]))
    return heights


def poisson(draws: Draws, lam: Array) -> Array:
    """Poisson numbers; NaN where lam is."""
    return by_size(draws, lam, FEW, _poisson_few, _poisson_many, (lam,))


def by_size(
    draws: Draws,
    expected: Array,
    least: float,
    few: Callable[..., Array],
    many: Callable[..., Array],
    params: tuple[Array, ...],
) -> Array:
    """Do some elements by one method and the others by another."""
    large = expected >= least
    if large.all():
        return many(draws, None, *params)
    if not large.any():
        return few(draws, None, *params)
    samples = np.empty(len(expected))
    for which, method in ((np.flatnonzero(large), many), (np.flatnonzero(~large), few)):
        samples[which] = method(draws, which, *(p[which] for p in params))
    return samples


def _poisson_few(draws: Draws, which: Array | None, lam: Array) -> Array:
    u, _ = draws.uniform(2, 0, which)
    return invert_recurrence(u, np.exp(-lam), lambda k, left: lam[left] / (k + 1))


def _poisson_many(draws: Draws, which: Array | None, lam: Array) -> Array:
    b = 0.931 + 2.53 * np.sqrt(lam)
    a = -0.059 + 0.02483 * b

    def propose(drawn: tuple[Array, ...], params: tuple[Array, ...]) -> tuple[Array, Array]:
        (u, v), (lam, a, b) = drawn, params
        u = u - 0.5
        us = 0.5 - np.abs(u)
        k = np.floor((2.0 * a / us + b) * u + lam + 0.43)
        holds = (us >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2.0))
        asks = ~holds & (k >= 0) & ((us >= 0.013) | (v <= us))
        return k, change_where(asks, holds, test, v, us, k, lam, a, b)

    def test(v: Array, us: Array, k: Array, lam: Array, a: Array, b: Array) -> Array:
        left = np.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b))
        accepted: Array = left <= k * np.log(lam) - lam - log_factorial(k)
        return accepted

    return draws.accept(2, propose, (lam, a, b), which)


def binomial(draws: Draws, n: Array, p: Array) -> Array:
    """Binomial numbers; the less likely of the two outcomes is counted."""
    less = np.where(p > 0.5, 1.0 - p, p)
    count = by_size(draws, n * less, FEW, _binomial_few, _binomial_many, (n, less))
    return np.where(p > 0.5, n - count, count)


def _binomial_few(draws: Draws, which: Array | None, n: Array, p: Array) -> Array:
    u, _ = draws.uniform(2, 0, which)
    odds = p / (1.0 - p)
    return invert_recurrence(u, np.exp(n * np.log1p(-p)), lambda k, left: (n[left] - k) / (k + 1) * odds[left])


def _binomial_many(draws: Draws, which: Array | None, n: Array, p: Array) -> Array:
    root = np.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * root
    a = -0.0873 + 0.0248 * b + 0.01 * p
    m = np.floor((n + 1.0) * p)

    def propose(drawn: tuple[Array, ...], params: tuple[Array, ...]) -> tuple[Array, Array]:
        (u, v), (n, p, a, b, *_) = drawn, params
        u = u - 0.5
        us = 0.5 - np.abs(u)
        k = np.floor((2.0 * a / us + b) * u + n * p + 0.5)
        inside = (k >= 0) & (k <= n)
        holds = inside & (us >= 0.07) & (v <= 0.92 - 4.2 / b)
        return k, change_where(inside & ~holds, holds, test, v, us, k, *params)

    def test(v: Array, us: Array, k: Array, n: Array, p: Array, a: Array, b: Array, root: Array, m: Array) -> Array:
        left = np.log(v * (2.83 + 5.1 / b) * root / (a / (us * us) + b))
        accepted: Array = left <= _binomial_log(n, p, m, k)
        return accepted

    return draws.accept(2, propose, (n, p, a, b, root, m), which)


def _binomial_log(n: Array, p: Array, m: Array, k: Array) -> Array:
    """Return the logarithm of the probability of k over that of m, the mode, without large terms that cancel."""
    odds = p / (1.0 - p)
    return (
        (m + 0.5) * np.log((m + 1.0) / (odds * (n - m + 1.0)))
        + (n + 1.0) * np.log1p((k - m) / (n - k + 1.0))
        + (k + 0.5) * np.log(odds * (n - k + 1.0) / (k + 1.0))
        + stirling_rest(m)
        + stirling_rest(n - m)
        - stirling_rest(k)
        - stirling_rest(n - k)
    )


def negative_binomial(draws: Draws, n: Array, p: Array) -> Array:
    """Poisson numbers about gamma numbers; ArgumentError where a result might not fit an int64."""
    mean = standard_gamma(draws.at_lane(2), n) * (1.0 - p) / p
    if not (mean <= LARGEST_MEAN).all():
        raise ArgumentError("negative_binomial: argument 'n' is too large or 'p' too small: counts leave int64")
    return poisson(draws.at_lane(1), mean)


def geometric(draws: Draws, p: Array) -> Array:
    """By the inverse."""
    (u,) = draws.uniform()
    return np.clip(np.ceil(np.log1p(-u) / np.log1p(-p)), 1.0, LARGEST)


def zipf(draws: Draws, a: Array) -> Array:
    """Devroye's rejection (1986); one for exponents so large that nothing else comes."""
    last = np.exp2(-63.0 * (np.minimum(a, 1025.0) - 1.0))

    def propose(drawn: tuple[Array, ...], params: tuple[Array, ...]) -> tuple[Array, Array]:
        (u, v), (a, last) = drawn, params
        b = np.exp2(a - 1.0)
        x = np.floor((u * last + (1.0 - u)) ** (-1.0 / (a - 1.0)))
        t = (1.0 + 1.0 / x) ** (a - 1.0)
        large = a >= 1025.0
        holds = (x >= 1.0) & (x <= LARGEST) & (v * x * (t - 1.0) / (b - 1.0) <= t / b)
        return np.where(large, 1.0, x), holds | large

    return draws.accept(2, propose, (a, last))


def logseries(draws: Draws, p: Array) -> Array:
    """Kemp's second accelerated generator (1981)."""

    def propose(drawn: tuple[Array, ...], params: tuple[Array, ...]) -> tuple[Array, Array]:
        (u, v), (p,) = drawn, params
        q = -np.expm1(np.log1p(-p) * u)
        x = np.floor(1.0 + np.log(v) / np.log(q))
        candidates = np.where(v <= q * q, x, np.where(v >= q, 1.0, 2.0))
        plain = v >= p
        return np.where(plain, 1.0, candidates), plain | ((candidates >= 1.0) & (candidates <= LARGEST) & (v > 0))

    return draws.accept(2, propose, (p,))
