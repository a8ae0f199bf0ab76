"""Weighted means of states that are packed as bytes: of whole states, or of some of their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import filling, piecewise

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["average", "mean_states"]

Array = np.ndarray[Any, Any]
Leaves = tuple[tuple[int, int, str], ...]
"""Of each array in a state: where its bytes begin, how many they are, and its dtype."""
TILE = 1 << 15
"""Numbers that are added up at once: their sums stay in the cache."""


def mean_states(states: Sequence[Array] | Array, weights: Array, leaves: Leaves, out: Array, begin: int = 0) -> None:
    """Write the weighted mean of states into `out`: of their bytes from `begin` on, which is all that is given of them.

    Floats are averaged in float64 (complex128), added up in the order of states; of integers and booleans the greatest
    is taken. A state of weight zero has no part; where all have none it is the first.
    """
    taken = np.flatnonzero(weights > 0)
    shares = weights[taken] / weights[taken].sum() if len(taken) else np.ones(1)
    parts = [states[i] for i in (taken.tolist() or [0])]
    for first, size, dtype in leaves:
        lo, hi = max(first - begin, 0), min(first - begin + size, len(out))
        if lo < hi:
            _mean_array([p[lo:hi].view(dtype) for p in parts], shares, out[lo:hi].view(dtype))


def _mean_array(values: list[Array], shares: Array, out: Array) -> None:
    if out.dtype.kind not in "fc":
        np.copyto(out, np.maximum.reduce(values))
        return
    wide = np.result_type(out.dtype, np.float64)
    sums, product = np.empty(min(TILE, len(out)), wide), np.empty(min(TILE, len(out)), wide)
    for at in range(0, len(out), TILE):
        count = min(TILE, len(out) - at)
        total, term = sums[:count], product[:count]
        total[:] = 0.0
        for share, value in zip(shares, values, strict=True):
            term[:] = value[at : at + count]
            term *= share
            total += term
        np.copyto(out[at : at + count], total, casting="unsafe")


@filling
@piecewise
def average(
    states: list[Array], weights: list[Array], leaves: Leaves, *, where: tuple[slice, ...], out: Array
) -> Array:
    """Return a part of the weighted mean of shards' states; each piece is that of one shard, weights are bytes, too."""
    each = np.concatenate([w.reshape(-1) for w in weights]).view(np.float64)
    mean_states([s[0] for s in states], each, leaves, out[0], int(where[1].start))
    return out
