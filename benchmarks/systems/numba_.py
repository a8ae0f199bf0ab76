"""Loops written by hand and compiled by numba, with 2 threads: what fusing can reach."""

from __future__ import annotations

from contextlib import contextmanager
from math import sqrt
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from workloads import System

if TYPE_CHECKING:
    from collections.abc import Iterator

TILE = 64


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


class Numba(System):
    """W2, W3 and W4 by hand."""

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


@contextmanager
def opened(variant: str) -> Iterator[System]:
    """Give the system; the variant is the number of threads."""
    numba.set_num_threads(min(int(variant or 2), numba.config.NUMBA_NUM_THREADS))
    yield Numba()
