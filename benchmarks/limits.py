"""What each workload can't do without, bytes to and from memory or flops; and how many a machine does in a second.

Bytes are those of inputs that are read once and of results that are written once, and of each step that is persisted;
flops those of the textbook's method. Run as a program this file probes the machine, and prints JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import log2, prod
from pathlib import Path
from typing import TYPE_CHECKING

from process import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from workloads import Sizes

ONE_BLAS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Work:
    """What a workload needs at least."""

    bytes: float = 0.0
    flops: float = 0.0


@dataclass(frozen=True)
class Machine:
    """What it does in a second; flops in double precision."""

    bytes: float
    flops: float

    def seconds(self, work: Work) -> float:
        """Return the least time for some work."""
        return max(work.bytes / self.bytes, work.flops / self.flops)


def works(sizes: Sizes) -> dict[str, Work]:
    """Return what each workload needs, by its name; what has no such limit is not there."""
    vector, matrix, product = 8.0 * sizes.vector, 8.0 * sizes.matrix**2, float(sizes.product)
    table, tall, image = prod(sizes.table), prod(sizes.tall), float(sizes.image) ** 2
    numbers, sorted_numbers = 8.0 * sizes.many_numbers, 8.0 * sizes.sorted_numbers
    plate, sea, points = 8.0 * sizes.plate**2, 4.0 * prod(sizes.sea), prod(sizes.points)
    relaxed = 4.0 * sizes.plate**2 * sizes.plate_steps
    clusters = Work(10 * 8.0 * points, 10 * 2 * 10.0 * points)
    multiplied = Work(3 * 8 * product**2, 2 * product**3)
    small, large = sizes.product_chunks
    return {
        "W2": Work(2 * vector),
        "W3": Work(3 * vector),
        "W4": Work(matrix),
        f"W5 {small}": multiplied,
        f"W5 {large}": multiplied,
        "W6": Work(matrix),
        "W6 kept": Work(2 * matrix),
        "W7": Work(8.0 * table, 2.0 * table * sizes.table[1]),
        "W8 pad": Work(2 * plate, relaxed),
        "W8 map_overlap": Work(2 * plate, relaxed),
        "W8 persisted": Work(2 * plate * sizes.plate_steps, relaxed),
        "W9": Work(12 * sea * sizes.sea_steps),
        "W10 histogram": Work(numbers),
        "W10 bincount": Work(numbers),
        "W11 percentiles": Work(sorted_numbers),
        "W11 sort": Work(2 * sorted_numbers),
        "W13 qr": Work(2 * 8.0 * tall, 4.0 * tall * sizes.tall[1]),
        "W13 svd": Work(2 * 8.0 * tall, 6.0 * tall * sizes.tall[1]),
        "W14 arrays": clusters,
        "W14 estimator": clusters,
        "fft2": Work(24 * image, 5 * image * log2(image)),
        "mask": Work(1.5 * numbers),
        "cholesky": Work(2 * 8 * product**2, product**3 / 3),
        "host sum": Work(2 * vector),
        "host to host": Work(3 * vector),
    }


def probe(quick: bool) -> Machine | None:
    """Probe the machine in processes of their own; None if that fails."""
    more = ["--quick"] if quick else []
    found = [
        answer([sys.executable, str(Path(__file__)), what, *more], environment, 60.0)
        for what, environment in (("bytes", ONE_BLAS), ("flops", {}))
    ]
    return None if any("error" in each for each in found) else Machine(found[0]["bytes"], found[1]["flops"])


def least(run: Callable[[], object], times: int = 5) -> float:
    """Return the least seconds of some runs."""
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        run()
        found.append(time.perf_counter() - begin)
    return min(found)


def bandwidth(quick: bool) -> float:
    """Return the bytes that a thread for each core reads and writes in a second: of a sum, or of an inner product."""
    import numpy as np

    n, step = 1 << (20 if quick else 25), 1 << 17
    a, b, c = np.ones((3, n))
    threads = len(os.sched_getaffinity(0))

    def add(begin: int, end: int) -> None:
        for at in range(begin, end, step):
            np.add(a[at : at + step], b[at : at + step], out=c[at : at + step])

    def inner(begin: int, end: int) -> None:
        for at in range(begin, end, step):
            np.dot(a[at : at + step], b[at : at + step])

    borders = [n * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        return max(
            words * 8 * n / least(lambda part=part: list(pool.map(part, borders, borders[1:])))  # type: ignore[misc]
            for words, part in ((3, add), (2, inner))
        )


def multiplication(quick: bool) -> float:
    """Return the flops of DGEMM, with BLAS's own threads."""
    import numpy as np

    n = 400 if quick else 3000
    a = np.random.default_rng(0).random((n, n))
    return 2 * n**3 / least(lambda: a @ a, 4)


if __name__ == "__main__":
    probes = {"bytes": bandwidth, "flops": multiplication}
    print(json.dumps({sys.argv[1]: probes[sys.argv[1]]("--quick" in sys.argv)}))
