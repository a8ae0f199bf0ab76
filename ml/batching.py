"""A batch size found by measuring."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .shards import Shards

__all__ = ["FIRST", "doubled", "most_rows"]

FIRST = 32
LARGEST = 4096
STEPS = 16
"""A shard makes at least so many steps in an epoch."""
GAIN, TRIES = 1.15, 3


def most_rows(shards: Shards) -> int:
    """Return the most rows of a batch that come into question."""
    return max(FIRST, min(LARGEST, min(shards.sizes) // STEPS))


def doubled(seconds: Callable[[int], float], most: int) -> int:
    """Return the batch size, doubled from 32, from which on twice as many rows give less than 15 % more a second.

    `seconds(size)` measures a batch.
    """
    best, speed = FIRST, 0.0
    for size in itertools.takewhile(lambda n: n <= most, (FIRST << k for k in itertools.count())):
        # Other work makes a measurement slow, never fast: what seems to gain nothing is measured again.
        found = 0.0
        for _ in range(TRIES):
            found = max(found, size / seconds(size))
            if found >= speed * GAIN:
                break
        else:
            break
        best, speed = size, found
    return best
