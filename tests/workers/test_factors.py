"""Steps of factorisations by blocks."""

import numpy as np
import pytest

from windrow.workers.kernels.blocks.linalg import factors

RNG = np.random.default_rng(5)


def random(shape, dtype):
    a = RNG.standard_normal(shape) * 3
    return (a + 1j * RNG.standard_normal(shape) if dtype == "c16" else a).astype(dtype)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("n", [256, 257, 320, 513, 700])
def test_diagonal_blocks_are_factored_by_halves(n, dtype):
    a = random((n, n), dtype)
    a = a @ a.conj().T + 2 * np.eye(n)
    out = np.full((n + factors.BASE, n), 7, dtype)
    low = factors.cholesky_top(a + np.triu(np.full((n, n), np.nan), 1), out=out)[:n]
    assert not np.triu(low, 1).any()
    assert np.linalg.norm(low @ low.conj().T - a) < 1e-15 * n * np.linalg.norm(a)
    below = random((30, n), dtype)
    found = factors.cholesky_below(below, out, out=np.empty_like(below))
    assert np.linalg.norm(found @ low.conj().T - below) < 1e-14 * n * np.linalg.norm(found) * np.linalg.norm(low)
