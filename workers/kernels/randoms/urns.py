"""Hypergeometric numbers: Stadlober's ratio of uniforms (1989), or the inverse where few are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .checks import refuse
from .discrete import by_size, invert_recurrence
from .special import change_where, log_factorial

if TYPE_CHECKING:
    from .draws import Draws

Array = np.ndarray[Any, Any]
FEW = 10.0


def hypergeometric(draws: Draws, good: Array, bad: Array, sample: Array) -> Array:
    """Count the good ones in samples; of both kinds the rarer, of sample and rest the smaller is looked at."""
    there = good + bad
    refuse(sample > there, "hypergeometric", "nsample", sample, "at most as many as there are: %s", there)
    drawn = np.minimum(sample, there - sample)
    rare, common = np.minimum(good, bad), np.maximum(good, bad)
    counts = by_size(draws, drawn, FEW, _few, _many, (rare, common, drawn))
    counts = np.where(good > bad, drawn - counts, counts)
    return np.where(drawn < sample, good - counts, counts)


def _few(draws: Draws, which: Array | None, rare: Array, common: Array, drawn: Array) -> Array:
    u, _ = draws.uniform(2, 0, which)
    first = np.ones(len(rare))
    for i in range(int(FEW)):
        first *= np.where(i < drawn, (common - i) / (rare + common - i), 1.0)

    def ratio(k: int, left: Array) -> Array:
        r, c, d = rare[left], common[left], drawn[left]
        above = np.maximum(r - k, 0.0) * np.maximum(d - k, 0.0)
        quotient: Array = above / ((k + 1.0) * (c - d + k + 1.0))
        return quotient

    return np.minimum(invert_recurrence(u, first, ratio, int(FEW)), np.minimum(rare, drawn))


def _many(draws: Draws, which: Array | None, rare: Array, common: Array, drawn: Array) -> Array:
    size = rare + common
    p = rare / size
    middle = drawn * p + 0.5
    spread = np.sqrt((size - drawn) * drawn * p * (1.0 - p) / (size - 1.0) + 0.5)
    height = 1.7155277699214135 * spread + 0.8989161620588988  # 2 sqrt(2/e), 3 - 2 sqrt(3/e)
    mode = np.floor((drawn + 1.0) * (rare + 1.0) / (size + 2.0))
    stop = np.minimum(np.minimum(drawn, rare) + 1.0, np.floor(middle + 16.0 * spread))

    def weight(k: Array, rare: Array, common: Array, drawn: Array) -> Array:
        parts = (k, rare - k, drawn - k, common - drawn + k)
        total = log_factorial(parts[0])
        for part in parts[1:]:
            total += log_factorial(part)
        return total

    def propose(uniform: tuple[Array, ...], params: tuple[Array, ...]) -> tuple[Array, Array]:
        (u, v), (rare, common, drawn, middle, height, stop, peak) = uniform, params
        u = 1.0 - u
        x = middle + height * (v - 0.5) / u
        holds = (x >= 0.0) & (x < stop)
        k = np.where(holds, np.floor(x), 0.0)
        return k, change_where(holds, holds, test, u, k, rare, common, drawn, peak)

    def test(u: Array, k: Array, rare: Array, common: Array, drawn: Array, peak: Array) -> Array:
        accepted: Array = 2.0 * np.log(u) <= peak - weight(k, rare, common, drawn)
        return accepted

    params = (rare, common, drawn, middle, height, stop, weight(mode, rare, common, drawn))
    return draws.accept(2, propose, params, which)
