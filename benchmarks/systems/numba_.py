"""Loops written by hand and compiled by numba, with 2 threads: what fusing can reach."""

from __future__ import annotations

from contextlib import contextmanager
from math import sqrt
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from seeds.shallow_water import compiled
from workloads import System

if TYPE_CHECKING:
    from collections.abc import Iterator

TILE, PARTS = 64, 64


@numba.njit(parallel=True, fastmath=True)
def _summed(x, y, constant):
    total = 0.0
    for i in numba.prange(x.size):
        total += sqrt(x[i] * x[i] + y[i] * y[i]) * 2 - constant
    return total


@numba.njit(parallel=True, fastmath=True)
def _kept(x, y, constant, out):
    for i in numba.prange(x.size):
        out[i] = sqrt(x[i] * x[i] + y[i] * y[i]) * 2 - constant


@numba.njit(parallel=True, fastmath=True)
def _symmetric(a):
    n = a.shape[0]
    total = 0.0
    for k in numba.prange((n + TILE - 1) // TILE):
        part = 0.0
        for m in range((n + TILE - 1) // TILE):
            for i in range(k * TILE, min(n, k * TILE + TILE)):
                for j in range(m * TILE, min(n, m * TILE + TILE)):
                    part += a[i, j] + a[j, i]
        total += part
    return total / n / n


@numba.njit(parallel=True, fastmath=True)
def _relaxed(old, new):
    for i in numba.prange(1, old.shape[0] - 1):
        for j in range(1, old.shape[1] - 1):
            new[i, j] = 0.25 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])


@numba.njit(parallel=True, fastmath=True)
def _moved(x, centres, parts):
    turned = centres.T.copy()
    count, rows = centres.shape[0], (x.shape[0] + parts.shape[0] - 1) // parts.shape[0]
    for b in numba.prange(parts.shape[0]):
        found, apart = np.zeros(parts.shape[1:]), np.empty(count)
        for i in range(b * rows, min(b * rows + rows, x.shape[0])):
            apart[:] = 0.0
            for j in range(x.shape[1]):
                for k in range(count):
                    difference = x[i, j] - turned[j, k]
                    apart[k] += difference * difference
            least = 0
            for k in range(1, count):
                if apart[k] < apart[least]:
                    least = k
            for j in range(x.shape[1]):
                found[least, j] += x[i, j]
            found[least, x.shape[1]] += 1
        parts[b] = found


class Numba(System):
    """What is written by hand."""

    compiles = True

    def summed(self, x: Any, y: Any, constant: float) -> Any:
        """One loop."""
        return _summed(x, y, constant)

    def kept(self, x: Any, y: Any, constant: float) -> Any:
        """One loop, into a new array."""
        out = np.empty(x.size)
        _kept(x, y, constant, out)
        return out

    def symmetric(self, a: Any) -> Any:
        """Tile by tile."""
        return _symmetric(a)

    def jacobi(self, u: Any, steps: int, how: str) -> Any:
        """One loop a step, in two buffers."""
        old, new = np.zeros((2, u.shape[0] + 2, u.shape[1] + 2))
        old[1:-1, 1:-1] = u
        for _ in range(steps):
            _relaxed(old, new)
            old, new = new, old
        return old[1:-1, 1:-1]

    def shallow_water(self, state: Any, steps: int) -> Any:
        """Two loops a step, on rows with a rim."""
        rates, advance = compiled(parallel=True)
        wide = [np.concatenate([field[-1:], field, field[:1]]) for field in state]
        work = [np.empty_like(wide[0]) for _ in range(4)]
        for _ in range(steps):
            rates(*wide[:3], *work)
            advance(*wide[:3], *work, *wide[3:], False)
            for field in wide[:3]:
                field[0], field[-1] = field[-2], field[1]
        return [field[1:-1] for field in wide]

    def clustered(self, points: Any, centres: Any, turns: int) -> Any:
        """One loop an iteration."""
        parts = np.empty((PARTS, len(centres), points.shape[1] + 1))
        for _ in range(turns):
            _moved(points, centres, parts)
            found = parts.sum(axis=0)
            centres = found[:, :-1] / found[:, -1:]
        return centres

    def returned(self, x: Any, y: Any, constant: float) -> Any:
        """One loop."""
        return self.kept(x, y, constant)


@contextmanager
def opened(variant: str) -> Iterator[System]:
    """Give the system; the variant is the number of threads."""
    numba.set_num_threads(min(int(variant or 2), numba.config.NUMBA_NUM_THREADS))
    yield Numba()
