"""Sums and elementwise work: basic_sum of Coiled's stability tests, double_diff, dot, ordinary least squares."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..registry import workload

if TYPE_CHECKING:
    from ..systems.base import System

COLUMNS = 410
PAUSE = 0.05


def _zeros_checked(at: System, found: Any) -> None:
    rows = at.size(13_107_200, 131_072)
    assert found.shape == (rows,), found.shape
    assert not np.asarray(found).any()


@workload("sum-thin")
def sum_thin(at: System) -> Any:
    """basic_sum: 40 GiB of zeros in columns."""
    rows = at.size(13_107_200, 131_072)
    return at.compute(at.xp.sum(at.xp.zeros((rows, COLUMNS), chunks=(rows, 1)), axis=1))


@workload("sum-rows")
def sum_rows(at: System) -> Any:
    """basic_sum: in rows."""
    rows = at.size(13_107_200, 131_072)
    return at.compute(at.xp.sum(at.xp.zeros((rows, COLUMNS), chunks=(32_000, COLUMNS)), axis=1))


def slow(block: Any) -> Any:
    """Stand for something that takes its time."""
    time.sleep(PAUSE)
    return block.copy()


@workload("sum-rows-slow", without={"numpy": "it has no chunks to pause at"})
def sum_slow(at: System) -> Any:
    """basic_sum: with a function of 50 ms on each chunk."""
    rows = at.size(13_107_200, 131_072)
    x = at.xp.zeros((rows, COLUMNS), chunks=(32_000, COLUMNS))
    return at.compute(at.xp.sum(at.xp.map_blocks(slow, x, dtype=x.dtype), axis=1))


for each in (sum_thin, sum_rows, sum_slow):
    each.checked(_zeros_checked)


@workload("double-diff")
def double_diff(at: System) -> Any:
    """dist#6597: two neighbours' difference to a null store."""
    n, step = at.size((20_000, 1600), (400, 100))
    a, b = (at.rng(i).random((n, n), chunks=(step, step)) for i in (1, 2))
    return a, b, at.null(a[1:, 1:] - b[:-1, :-1])


@double_diff.checked
def _(at: System, found: Any) -> None:
    a, b, sink = found
    sink.check(lambda i, j: at.points(a, i + 1, j + 1) - at.points(b, i, j))


@workload("dot")
def dot(at: System) -> Any:
    """A product with its transpose, summed."""
    n, step = at.size((8000, 4096), (400, 256))
    a = at.rng(1).random((n, n), chunks=(step, step))
    return a, at.compute(at.xp.sum(a @ a.T))


@dot.checked
def _(at: System, found: Any) -> None:
    a, total = found
    n, step = a.shape[0], a.shape[0] // 4
    columns = sum(at.part(a, slice(i, i + step), slice(None)).sum(axis=0) for i in range(0, n, step))
    np.testing.assert_allclose(float(total), (columns**2).sum(), rtol=1e-10)


@workload("ols")
def ols(at: System) -> Any:
    """Ordinary least squares, and its predictions to a null store; half the memory of the limit."""
    n, p, step = at.size((5_000_000, 100, 1_000_000), (50_000, 10, 10_000))
    x = at.rng(1).standard_normal((n, p), chunks=(step, p))
    y = at.rng(2).standard_normal((n,), chunks=(step,))
    beta = at.xp.linalg.solve(x.T @ x, x.T @ y)
    return x, y, at.null(x @ beta)


@ols.checked
def _(at: System, found: Any) -> None:
    x, y, sink = found
    n, step = len(x), len(x) // 5
    square, product = 0, 0
    for i in range(0, n, step):
        rows = slice(i, i + step)
        part = at.part(x, rows, slice(None))
        square, product = square + part.T @ part, product + part.T @ at.part(y, rows)
    beta = np.linalg.solve(square, product)
    sink.check(lambda i: at.part(x, slice(i[0], i[-1] + 1), slice(None))[i - i[0]] @ beta, rtol=1e-8, atol=1e-10)
