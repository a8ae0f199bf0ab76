"""A batch size found by measuring: by rows a second, and by the memory that a batch takes."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...scheduler.session.cluster import cluster, session

if TYPE_CHECKING:
    from collections.abc import Callable

    from .shards import Shards

__all__ = ["FIRST", "double_batch", "find_batch_size", "most_rows"]

Values = np.ndarray[Any, Any]
FIRST = 32
STEPS = 16
"""A shard makes at least so many steps in an epoch."""
GAIN, TRIES = 1.15, 3
SHARE = 4
"""A batch, with all that a step makes of it, takes at most this part of a task's share of the memory that is free."""


def find_batch_size(operation: str, shards: Shards, seconds: Callable[[tuple[Values, ...]], float]) -> int:
    """Return the batch size from which on twice as many rows a batch give less than 15 % more rows a second.

    `seconds(rows)` measures a batch of these rows, on the driver; what it learns from them is to be dropped.
    """
    most = session().once(operation, (), lambda: most_rows(shards))
    first = shards.first(most)

    def measure(size: int) -> float:
        return seconds(tuple(np.resize(r, (size, *r.shape[1:])) for r in first))

    return int(session().once(operation, (), lambda: double_batch(measure, most)))


def most_rows(shards: Shards) -> int:
    """Return the most rows of a batch that come into question."""
    each = sum(a.nbytes for a in shards.arrays) / sum(shards.sizes)
    return max(FIRST, min(min(shards.sizes) // STEPS, int(room() // (SHARE * max(1.0, each)))))


def room() -> int:
    """Return the bytes that a batch may take: of what is free on this host, shared by all tasks at once."""
    threads = cluster().size * cluster().threads
    free = _kib("/proc/meminfo", "MemAvailable") << 10
    return (free or 1 << 32) // max(1, threads) // SHARE


def measure_growth(work: Callable[[], float]) -> tuple[float, int]:
    """Return what some work gives, and by how many bytes this process grew meanwhile."""
    before = _kib("/proc/self/status", "VmRSS")
    try:
        Path("/proc/self/clear_refs").write_text("5")  # begins to note the most anew
    except OSError:
        return work(), 0
    outcome = work()
    return outcome, max(0, _kib("/proc/self/status", "VmHWM") - before) << 10


def double_batch(
    seconds: Callable[[int], float],
    most: int,
    most_bytes: int | None = None,
    measured: Callable[[Callable[[], float]], tuple[float, int]] = measure_growth,
) -> int:
    """Return the batch size, doubled from 32, from which on twice as many rows give less than 15 % more a second.

    `seconds(size)` measures a batch. It ends where the next one would take more than `most_bytes`, as this one has.
    """
    best, speed = FIRST, 0.0
    most_bytes = room() if most_bytes is None else most_bytes
    for size in itertools.takewhile(lambda n: n <= most, (FIRST << k for k in itertools.count())):
        # Other work makes a measurement slow, never fast: what seems to gain nothing is measured again.
        fastest, grown = 0.0, 0
        for _ in range(TRIES):
            try:
                took, more = measured(lambda: seconds(size))  # noqa: B023 - called at once
            except MemoryError:
                return best
            fastest, grown = max(fastest, size / took), max(grown, more)
            if fastest >= speed * GAIN:
                break
        else:
            break
        best, speed = size, fastest
        if 2 * grown > most_bytes:
            break
    return best


def _kib(path: str, name: str) -> int:
    """Return a number of KiB that the kernel tells; 0 where it doesn't."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)
