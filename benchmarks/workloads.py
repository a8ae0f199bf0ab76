"""The workloads, written once for all systems, and what their results must be.

A worker process makes its data once. Each repetition is a fresh expression: a constant of its own is folded
in, in place of the formula's own or into the data (untimed), so that no earlier result can be handed out.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

PHI = (5**0.5 - 1) / 2
STEP = 1 << 14
PART = 1 << 11
"""Rows of which NumPy's temporaries stay below glibc's size for mapping memory anew, and in the cache."""

SLOW = 20.0
"""A workload whose first run takes longer, in seconds, is measured by that run alone, unless it compiles."""

LONG = 6.0
"""Repetitions end after as many seconds of them."""


@dataclass(frozen=True)
class Sizes:
    """Elements, edges and chunks."""

    many: int = 20_000
    more: int = 200_000
    vector: int = 32_000_000
    vector_chunk: int = 1 << 20
    matrix: int = 8000
    chunk: int = 1000
    product: int = 4000
    product_chunks: tuple[int, int] = (1000, 2000)
    band: int = 125
    table: tuple[int, int] = (2_000_000, 20)
    table_rows: int = 50_000
    many_numbers: int = 50_000_000
    sorted_numbers: int = 20_000_000
    drawn: int = 64_000_000
    tall: tuple[int, int] = (1_000_000, 32)
    tall_rows: int = 32_768
    image: int = 4096
    image_chunk: int = 1024
    plate: int = 4000
    plate_chunk: int = 1000
    plate_steps: int = 50
    sea: tuple[int, int] = (1800, 3600)
    sea_steps: int = 10
    points: tuple[int, int] = (5_000_000, 10)
    points_rows: int = 100_000


QUICK = Sizes(
    *(500, 1000, 1 << 20, 1 << 17, 1000, 250, 400, (100, 200), 25),
    *((20_000, 20), 5000, 1 << 20, 1 << 20, 1 << 20, (20_000, 32), 5000, 256, 64),
    *(400, 100, 10, (180, 360), 4, (20_000, 10), 5000),
)


def elements(index: Any, seed: int) -> np.ndarray[Any, Any]:
    """Numbers in [0, 1) that follow from the elements' positions alone, whatever the chunks."""
    found = index * PHI + seed * 0.1
    found -= np.floor(found)
    return found


def relaxed(wide: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a chunk's next state, of it and a margin of one; for map_overlap."""
    return 0.25 * (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:])


def block(where: tuple[tuple[int, int], ...], columns: int, seed: int) -> np.ndarray[Any, Any]:
    """Return a rectangle [begin, end) along each axis of the data.

    It is made in small steps. Large temporaries that are freed raise the size from which glibc maps memory anew, and
    then whoever allocates a chunk at each step takes half the time: a state that users' data doesn't leave behind.
    """
    rows = where[0]
    out = np.empty([end - begin for begin, end in where])
    width = math.prod(out.shape[1:])
    step = max(1, STEP // max(1, width))
    for begin in range(0, len(out), step):
        index: Any = np.arange(rows[0] + begin, min(rows[0] + begin + step, rows[1]), dtype=np.float64)
        if len(where) > 1:
            index = index[:, None] * columns + np.arange(*where[1], dtype=np.float64)
        out[begin : begin + step] = elements(index, seed)
    return out


def chunk_of(seed: int, columns: int, block_info: Any = None) -> np.ndarray[Any, Any]:
    """Make a chunk; for map_blocks. Dask tells of the result under None, Windrow of nothing else."""
    return block(tuple(block_info.get(None, block_info)["array-location"]), columns, seed)


Chunk = Callable[..., Any]


def shifted(chunk: np.ndarray[Any, Any], constant: float) -> np.ndarray[Any, Any]:
    """Stand for a user's function of a chunk."""
    return chunk + constant


def _nearest(points: Any, centres: Any) -> Any:
    """Return ones where a centre is a point's nearest."""
    distances = (centres**2).sum(axis=1) - 2 * (points @ centres.T)
    return (distances.argmin(axis=1)[:, None] == np.arange(len(centres))).astype(float)


class System:
    """A system under test; as it stands it is NumPy without chunks."""

    xp: Any = np

    percentile_tolerance = 1e-12

    compiles = False

    def data(self, seed: int, shape: tuple[int, ...], chunks: tuple[int, ...], make: Chunk = chunk_of) -> Any:
        """Return the data in the system's memory."""
        return make(seed, shape[-1], {"array-location": [(0, n) for n in shape]})

    def in_chunks(self, chunks: tuple[int, ...]) -> dict[str, Any]:
        """Return the keyword that tells a creation function of chunks."""
        return {}

    def keep(self, x: Any) -> Any:
        """Return `x` computed, in the system's memory."""
        return x

    def value(self, x: Any) -> Any:
        """Return `x` as NumPy's."""
        return x

    def tiny(self, n: int, constant: float) -> Any:
        """W1: (x + constant).sum() over n chunks of one element."""
        return self.value((self.xp.ones(n, chunks=1) + constant).sum())

    def tiny_mapped(self, n: int, constant: float) -> Any:
        """W1 with a function of the user's on each chunk."""
        return self.value(self.xp.map_blocks(shifted, self.xp.ones(n, chunks=1), constant, dtype=float).sum())

    def summed(self, x: Any, y: Any, constant: float) -> Any:
        """W2."""
        return self.value((self.xp.sqrt(x * x + y * y) * 2 - constant).sum())

    def kept(self, x: Any, y: Any, constant: float) -> Any:
        """W3."""
        return self.keep(self.xp.sqrt(x * x + y * y) * 2 - constant)

    def symmetric(self, a: Any) -> Any:
        """W4."""
        return self.value((a + a.T).mean())

    def product(self, a: Any, b: Any) -> Any:
        """W5."""
        return self.keep(a @ b)

    def columns(self, a: Any, band: int) -> Any:
        """W6."""
        return self.value(a.rechunk((a.shape[0], band)).sum(axis=0))

    def turned(self, a: Any, band: int) -> Any:
        """W6 kept."""
        return self.keep(a.rechunk((a.shape[0], band)))

    def column_sums(self, turned: Any) -> Any:
        """What is checked of W6 kept."""
        return np.asarray(self.value(turned.sum(axis=0)))

    def histogram(self, x: Any, bins: int, limits: tuple[float, float]) -> Any:
        """W10."""
        return self.value(self.xp.histogram(x, bins=bins, range=limits)[0])

    def bincount(self, x: Any, length: int) -> Any:
        """W10."""
        return self.value(self.xp.bincount(x, minlength=length))

    def percentile(self, x: Any, q: tuple[float, ...]) -> Any:
        """W11."""
        return self.value(self.xp.percentile(x, q))

    def normals(self, seed: int, n: int, chunk: int) -> Any:
        """W12."""
        drawn = self.xp.random.default_rng(seed).standard_normal(n, **self.in_chunks((chunk,)))
        return self.values(drawn.mean(), drawn.std())

    def values(self, *several: Any) -> Any:
        """Return several values, found together."""
        return several

    def qr(self, x: Any) -> Any:
        """W13."""
        return self.keep_all(*self.xp.linalg.qr(x))

    def svd(self, x: Any) -> Any:
        """W13."""
        return self.keep_all(*self.xp.linalg.svd(x, full_matrices=False))

    def keep_all(self, *several: Any) -> Any:
        """Return several arrays computed together, in the system's memory."""
        return several

    def fft2(self, x: Any) -> Any:
        """Return the transform along both axes."""
        return self.keep(self.xp.fft.fft2(x))

    def jacobi(self, u: Any, steps: int, how: str) -> Any:
        """W8; NumPy in place, in two buffers, whatever is asked for."""
        old, new = np.zeros((2, u.shape[0] + 2, u.shape[1] + 2))
        old[1:-1, 1:-1] = u
        for _ in range(steps):
            inner = new[1:-1, 1:-1]
            np.add(old[:-2, 1:-1], old[2:, 1:-1], out=inner)
            inner += old[1:-1, :-2]
            inner += old[1:-1, 2:]
            inner *= 0.25
            old, new = new, old
        return old[1:-1, 1:-1]

    def shallow_water(self, state: Any, steps: int) -> Any:
        """W9."""
        from seeds.shallow_water import example

        for _ in range(steps):
            state = self.persist(*example().advance(state, self.xp.roll))
        return self.keep_all(*state)

    def persist(self, *several: Any) -> Any:
        """Have several arrays computed, sooner or later."""
        return several

    def clustered(self, points: Any, centres: Any, turns: int) -> Any:
        """W14; NumPy by parts that stay in its cache."""
        for _ in range(turns):
            sums, counts = np.zeros_like(centres), np.zeros(len(centres))
            for at in range(0, len(points), PART):
                part = points[at : at + PART]
                own = _nearest(part, centres)
                sums += own.T @ part
                counts += own.sum(axis=0)
            centres = sums / counts[:, None]
        return centres

    def clustered_whole(self, points: Any, centres: Any, turns: int) -> Any:
        """W14 by arrays that have chunks."""
        for _ in range(turns):
            own = _nearest(points, centres)
            sums, counts = self.values(own.T @ points, own.sum(axis=0))
            centres = sums / counts[:, None]
        return centres

    def fitted(self, points: Any, centres: Any, turns: int) -> Any:
        """W14, where there is no estimator."""
        return self.clustered(points, centres, turns)

    def handed(self, host: Any, chunks: tuple[int, ...]) -> Any:
        """Take an array that lies in the user's memory."""
        return host

    def returned(self, x: Any, y: Any, constant: float) -> Any:
        """W3 in the user's memory."""
        return self.value(self.xp.sqrt(x * x + y * y) * 2 - constant)


@dataclass(frozen=True)
class Case:
    """`fresh(c)` makes a repetition's inputs; `run(inputs, c)` is timed; `told(result)` takes from it what is checked.

    `right(told, c)` comes when all repetitions are over: it computes what is to be expected with NumPy, and large
    temporaries in the process that is measured make later ones cheaper for whoever gets memory from glibc.
    """

    run: Callable[[Any, float], Any]
    right: Callable[[Any, float], Any]
    told: Callable[[Any], Any] = np.asarray
    fresh: Callable[[float], Any] = lambda c: None
    chunks: int = 0


def close(found: Any, expected: Any, rtol: float = 1e-9, atol: float = 0.0) -> bool:
    """Whether values agree."""
    return bool(np.allclose(np.asarray(found, float), expected, rtol=rtol, atol=atol))


def w1(system: System, n: int, mapped: bool) -> Case:
    """Many chunks of one element."""
    run = system.tiny_mapped if mapped else system.tiny
    return Case(lambda _, c: run(n, c), lambda told, c: close(told, n * (1 + c), 1e-12), chunks=n)


def w2(system: System, sizes: Sizes, kept: bool) -> Case:
    """A chain of elementwise functions, summed or kept."""
    n, step = sizes.vector, sizes.vector_chunk
    x, y = (system.data(seed, (n,), (step,)) for seed in (1, 2))

    def plain(lo: int, hi: int) -> Any:
        u, v = (block(((lo, hi),), n, seed) for seed in (1, 2))
        return np.sqrt(u * u + v * v) * 2

    @cache
    def expected() -> tuple[float, float]:
        total = sum(float(plain(i, min(i + step, n)).sum()) for i in range(0, n, step))
        return total, float(plain(n // 2, n // 2 + 1)[0])

    def right(told: Any, c: float) -> bool:
        total, middle = expected()
        return close(told, [total - c * n, middle - c] if kept else total - c * n)

    def told(z: Any) -> Any:
        return [float(system.value(z.sum())), float(system.value(z[n // 2]))] if kept else float(z)

    run = system.kept if kept else system.summed
    return Case(lambda _, c: run(x, y, c), right, told)


def w4(system: System, sizes: Sizes) -> Case:
    """A matrix and its transpose."""
    n, k = sizes.matrix, sizes.chunk
    a = system.data(3, (n, n), (k, k))

    @cache
    def mean() -> float:
        return sum(float(block(((i, min(i + k, n)), (0, n)), n, 3).sum()) for i in range(0, n, k)) / n / n

    return Case(
        lambda given, c: system.symmetric(given),
        lambda told, c: close(told, 2 * (mean() + c)),
        fresh=lambda c: system.keep(a + c),
    )


def w5(system: System, sizes: Sizes, chunk: int) -> Case:
    """A product of matrices, kept."""
    n = sizes.product
    a, b = (system.data(seed, (n, n), (chunk, chunk)) for seed in (4, 5))

    @cache
    def expected() -> tuple[Any, ...]:
        left, right = (block(((0, n), (0, n)), n, seed) for seed in (4, 5))
        return right.sum(axis=1), left.sum(axis=0), left[17].copy(), right[:, 23].copy()

    def right(told: Any, c: float) -> bool:
        rows, columns, row, column = expected()
        return close(told, [(columns + c * n) @ rows, (row + c) @ column])

    def told(made: Any) -> Any:
        return [float(system.value(made.sum())), float(system.value(made[17, 23]))]

    return Case(lambda given, c: system.product(given, b), right, told, lambda c: system.keep(a + c))


def w6(system: System, sizes: Sizes, kept: bool) -> Case:
    """Rows to columns, and their sums; or the columns themselves."""
    n, k = sizes.matrix, sizes.band
    a = system.data(3, (n, n), (k, n))

    @cache
    def sums() -> Any:
        return sum(block(((i, i + k), (0, n)), n, 3).sum(axis=0) for i in range(0, n, k))

    return Case(
        lambda given, c: (system.turned if kept else system.columns)(given, k),
        lambda told, c: close(told, sums() + c * n),
        system.column_sums if kept else np.asarray,
        fresh=lambda c: system.keep(a + c),
    )


def cases(sizes: Sizes) -> dict[str, Callable[[System], Case]]:
    """Return what makes each workload's case, by name."""
    small, large = sizes.product_chunks
    return {
        f"W1 {sizes.many:,}": partial(w1, n=sizes.many, mapped=False),
        f"W1 {sizes.more:,}": partial(w1, n=sizes.more, mapped=False),
        "W1 map_blocks": partial(w1, n=sizes.many, mapped=True),
        "W2": partial(w2, sizes=sizes, kept=False),
        "W3": partial(w2, sizes=sizes, kept=True),
        "W4": partial(w4, sizes=sizes),
        f"W5 {small}": partial(w5, sizes=sizes, chunk=small),
        f"W5 {large}": partial(w5, sizes=sizes, chunk=large),
        "W6": partial(w6, sizes=sizes, kept=False),
        "W6 kept": partial(w6, sizes=sizes, kept=True),
    }


def measure(case: Case, repeats: int, compiles: bool = False) -> dict[str, Any]:
    """Time a case: a warm-up of the same kind, then repetitions; every result is checked when they are over."""
    times: list[float] = []
    told: list[tuple[Any, float]] = []
    for k in range(repeats + 1):
        constant = 1 + k / 64
        inputs = case.fresh(constant)
        gc.collect()
        begin = time.perf_counter()
        result = case.run(inputs, constant)
        times.append(time.perf_counter() - begin)
        told.append((case.told(result), constant))
        del result, inputs
        if (times[0] > SLOW and not compiles) or sum(times[1:]) > LONG:
            break
    right = all(case.right(*result) for result in told)
    return {"times": times[1:] or times, "right": right, "chunks": case.chunks, "once": len(times) == 1}
