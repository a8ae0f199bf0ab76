"""Workloads of statistics, sorting, random numbers, linear algebra and transforms: W7 and W10 onwards.

Their data is scattered evenly over [0, 1) by a hash of the position, the same for all systems and chunks.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from workloads import Case, Sizes, System, close

if TYPE_CHECKING:
    from collections.abc import Callable

STEP = 1 << 14
BINS = 1000


def scattered(begin: int, end: int, seed: int) -> np.ndarray[Any, Any]:
    """Return the numbers at flat positions [begin, end), by splitmix64 (Steele, Lea and Flood, 2014)."""
    out = np.empty(end - begin)
    for at in range(begin, end, STEP):
        z = np.arange(at, min(at + STEP, end), dtype=np.uint64) + np.uint64((seed + 1) * 0x632BE59BD9B4E019 % 2**64)
        z *= np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z ^= z >> np.uint64(shift)
            z *= np.uint64(factor)
        z ^= z >> np.uint64(31)
        out[at - begin : at - begin + len(z)] = (z >> np.uint64(11)) * 2.0**-53
    return out


def scattered_chunk(seed: int, columns: int, block_info: Any = None) -> np.ndarray[Any, Any]:
    """Make a chunk of whole rows, or of a matrix in squares; for map_blocks."""
    where = tuple(block_info.get(None, block_info)["array-location"])
    if len(where) == 1:
        return scattered(*where[0], seed)
    (top, bottom), (left, right) = where
    if (left, right) == (0, columns):
        return scattered(top * columns, bottom * columns, seed).reshape(-1, columns)
    return np.stack([scattered(i * columns + left, i * columns + right, seed) for i in range(top, bottom)])


def whole(shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    """Return all of the data, for what is to be expected."""
    return scattered(0, int(np.prod(shape)), seed).reshape(shape)


def _data(system: System, seed: int, shape: tuple[int, ...], chunks: tuple[int, ...]) -> Any:
    return system.data(seed, shape, chunks, scattered_chunk)


def covariance(system: System, sizes: Sizes) -> Case:
    """Standardise the columns of a tall table, and multiply it by itself."""
    n, k = sizes.table
    x = _data(system, 6, (n, k), (sizes.table_rows, k))

    @cache
    def expected() -> Any:
        return np.corrcoef(whole((n, k), 6), rowvar=False)

    def run(given: Any, c: float) -> Any:
        z = (given - given.mean(axis=0)) / given.std(axis=0)
        return system.value(z.T @ z / n)

    return Case(run, lambda told, c: close(told, expected(), 1e-6, 1e-9), fresh=lambda c: system.keep(x + c))


def histogram(system: System, sizes: Sizes) -> Case:
    """Count 1000 bins of equal width."""
    x = _data(system, 8, (sizes.many_numbers,), (sizes.vector_chunk,))

    @cache
    def expected(c: float) -> Any:
        return np.histogram(whole((sizes.many_numbers,), 8) + c, bins=BINS, range=(c, c + 1))[0]

    return Case(
        lambda given, c: system.histogram(given, BINS, (c, c + 1)),
        lambda told, c: bool((np.asarray(told) == expected(c)).all()),
        fresh=lambda c: system.keep(x + c),
    )


def bincount(system: System, sizes: Sizes) -> Case:
    """Count whole numbers below 1000."""
    x = _data(system, 8, (sizes.many_numbers,), (sizes.vector_chunk,))
    table = system.keep((x * BINS).astype(np.int64))
    del x

    @cache
    def expected() -> Any:
        return np.bincount((whole((sizes.many_numbers,), 8) * BINS).astype(np.int64), minlength=BINS)

    def right(told: Any, c: float) -> bool:
        shift = round((c - 1) * 64)
        wanted = np.concatenate([np.zeros(shift, np.int64), expected()])
        return bool((np.asarray(told)[: len(wanted)] == wanted).all())

    return Case(
        lambda given, c: system.bincount(given, 2 * BINS),
        right,
        fresh=lambda c: system.keep(table + round((c - 1) * 64)),
    )


def percentiles(system: System, sizes: Sizes) -> Case:
    """Three percentiles; dask's are approximate, and held to as much."""
    x = _data(system, 9, (sizes.sorted_numbers,), (sizes.vector_chunk,))

    @cache
    def expected() -> Any:
        return np.percentile(whole((sizes.sorted_numbers,), 9), (1, 50, 99))

    return Case(
        lambda given, c: system.percentile(given, (1, 50, 99)),
        lambda told, c: close(told, expected() + c, system.percentile_tolerance),
        fresh=lambda c: system.keep(x + c),
    )


def sort(system: System, sizes: Sizes) -> Case:
    """Sort, and keep."""
    n = sizes.sorted_numbers
    x = _data(system, 9, (n,), (sizes.vector_chunk,))
    places = (0, n // 3, n // 2, n - 1)

    @cache
    def expected() -> Any:
        return np.sort(whole((n,), 9))[list(places)]

    return Case(
        lambda given, c: system.keep(system.xp.sort(given)),
        lambda told, c: close(told, expected() + c, 1e-12),
        lambda z: [float(system.value(z[i])) for i in places],
        lambda c: system.keep(x + c),
    )


def normals(system: System, sizes: Sizes) -> Case:
    """Normal random numbers, their mean and standard deviation."""
    n = sizes.drawn

    def right(told: Any, c: float) -> bool:
        mean, std = told
        return abs(mean) < 6 / n**0.5 and abs(std - 1) < 6 / n**0.5

    return Case(
        lambda _, c: system.normals(round(c * 64), n, sizes.vector_chunk),
        right,
        lambda found: [float(v) for v in found],
    )


def factors(system: System, sizes: Sizes, singular: bool) -> Case:
    """A tall matrix's QR, or singular values and vectors; kept."""
    n, k = sizes.tall
    x = _data(system, 10, (n, k), (sizes.tall_rows, k))

    @cache
    def expected(c: float) -> Any:
        a = whole((n, k), 10) + c
        return np.linalg.svd(a.T @ a, compute_uv=False) ** 0.5 if singular else np.abs(np.linalg.cholesky(a.T @ a).T)

    def told(made: Any) -> Any:
        return np.asarray(system.value(made[1])) if singular else np.abs(np.asarray(system.value(made[1])))

    def run(given: Any, c: float) -> Any:
        return system.svd(given) if singular else system.qr(given)

    return Case(run, lambda found, c: close(found, expected(c), 1e-6, 1e-6), told, lambda c: system.keep(x + c))


def transform(system: System, sizes: Sizes) -> Case:
    """A two-dimensional Fourier transform of a matrix that is chunked along both axes; kept."""
    n = sizes.image
    x = _data(system, 11, (n, n), (sizes.image_chunk, sizes.image_chunk))

    @cache
    def expected() -> Any:
        return np.fft.fft2(whole((n, n), 11))[1:3, 5]

    return Case(
        lambda given, c: system.fft2(given),
        lambda told, c: bool(np.allclose(told, expected(), rtol=1e-8)),
        lambda made: np.asarray(system.value(made[1:3, 5])),
        lambda c: system.keep(x + c),
    )


def masked(system: System, sizes: Sizes) -> Case:
    """The elements above one half; kept."""
    n = sizes.many_numbers
    x = _data(system, 8, (n,), (sizes.vector_chunk,))

    @cache
    def expected() -> Any:
        found = whole((n,), 8)
        return len(found[found > 0.5]), found[found > 0.5].sum()

    def right(told: Any, c: float) -> bool:
        count, total = expected()
        return close(told, total + c * count)

    return Case(
        lambda given, c: system.keep(given[given > 0.5 + c]),
        right,
        lambda made: float(system.value(made.sum())),
        lambda c: system.keep(x + c),
    )


def cholesky(system: System, sizes: Sizes) -> Case:
    """The factor of a positive definite matrix that is chunked along both axes; kept."""
    n = sizes.product
    x = _data(system, 12, (n, n), (sizes.product_chunks[0],) * 2)
    spread = system.keep(x + x.T)
    del x
    ones = system.keep(system.xp.eye(n, **system.in_chunks((sizes.product_chunks[0],) * 2)) * (2.0 * n))

    @cache
    def expected(c: float) -> Any:
        a = whole((n, n), 12)
        return np.diagonal(np.linalg.cholesky(a + a.T + np.eye(n) * (2.0 * n + c)))[:: n // 7]

    return Case(
        lambda given, c: system.keep(system.xp.linalg.cholesky(given)),
        lambda told, c: close(told, expected(c), 1e-9),
        lambda made: [float(system.value(made[i, i])) for i in range(0, n, n // 7)],
        lambda c: system.keep(spread + ones * (1 + c / (2.0 * n))),
    )


def cases(sizes: Sizes) -> dict[str, Callable[[System], Case]]:
    """Return what makes each workload's case, by name."""
    return {
        "W7": partial(covariance, sizes=sizes),
        "W10 histogram": partial(histogram, sizes=sizes),
        "W10 bincount": partial(bincount, sizes=sizes),
        "W11 percentiles": partial(percentiles, sizes=sizes),
        "W11 sort": partial(sort, sizes=sizes),
        "W12": partial(normals, sizes=sizes),
        "W13 qr": partial(factors, sizes=sizes, singular=False),
        "W13 svd": partial(factors, sizes=sizes, singular=True),
        "fft2": partial(transform, sizes=sizes),
        "mask": partial(masked, sizes=sizes),
        "cholesky": partial(cholesky, sizes=sizes),
    }
