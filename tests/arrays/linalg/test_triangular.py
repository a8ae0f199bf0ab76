"""LU, triangular systems and random samples of a range: products that give the matrix back, NumPy's and SciPy's."""

from __future__ import annotations

import types

import numpy as np
import pytest

import windrow as wr
from windrow.arrays.linalg.factors import triangular

LA = wr.linalg
RNG = np.random.default_rng(8)


def random(shape, dtype="f8"):
    a = RNG.standard_normal(shape) * 5
    return (a + 1j * RNG.standard_normal(shape) if np.dtype(dtype).kind == "c" else a).astype(dtype)


def check_factors(a, p, low, up, rtol):
    """Compare factors with the matrix, and look whether they are what they should be."""
    p, low, up = (np.asarray(f.compute()) for f in (p, low, up))
    np.testing.assert_allclose(p @ low @ up, a, atol=rtol * 50)
    assert set(np.unique(p)) <= {0, 1}
    assert (p.sum(-1) == 1).all()
    assert (p.sum(-2) == 1).all()
    assert not np.triu(low, 1).any()
    assert not np.tril(up, -1).any()
    assert (np.diagonal(low, axis1=-2, axis2=-1) == 1).all()
    assert (np.abs(low) <= np.sqrt(2) + 1e-6).all()  # pivots are the largest; of complex ones |re| + |im| is


def test_lu_is_a_function_as_dask_and_scipy_have_it():
    assert not isinstance(LA.lu, types.ModuleType)
    p, low, up = LA.lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
    assert p.compute().tolist() == [[0, 1], [1, 0]]
    assert low.compute().tolist() == [[1, 0], [0.25, 1]]
    assert up.compute().tolist() == [[4, 4], [0, 1]]


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8", "i4"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (4, 6, 3), (1, 1), (0, 0), (2, 0, 3)])
def test_lu_gives_the_matrix_back(shape, dtype):
    a = random(shape, dtype)
    m, n = shape[-2:]
    for chunks in (-1, 2):
        p, low, up = LA.lu(wr.from_array(a, chunks=chunks))
        assert p.shape == (*shape[:-2], m, m)
        assert low.shape == (*shape[:-2], m, min(m, n))
        assert up.shape == (*shape[:-2], min(m, n), n)
        wanted = np.dtype("f8") if dtype == "i4" else np.dtype(dtype)
        assert low.dtype == up.dtype == wanted
        assert p.dtype == np.empty(0, wanted).real.dtype
        check_factors(a, p, low, up, 1e-5 if wanted in (np.float32, np.complex64) else 1e-14)


@pytest.mark.parametrize("shape", [(100, 100), (150, 90), (90, 150), (33, 33), (64, 200)])
def test_lu_by_blocks(shape):
    a = random(shape)
    order, low, up = triangular.factor_blocks(wr.from_array(a, chunks=40), 32)
    p = np.eye(len(a))[:, order.compute().astype(int)]
    check_factors(a, wr.from_array(p), low, up, 1e-13)


def test_lu_of_a_large_matrix_is_by_blocks():
    a = random((1100, 1000))
    p, low, up = LA.lu(wr.from_array(a, chunks=500))
    assert low.numblocks[0] > 1
    assert p.numblocks[1] > 1
    check_factors(a, p, low, up, 1e-11)


def test_lu_of_singular_matrices():
    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    p, low, up = LA.lu(a)
    assert up.compute()[1, 1] == 0
    check_factors(a, p, low, up, 1e-15)
    with pytest.raises(np.linalg.LinAlgError, match="lu: argument 'a'"):
        LA.lu(np.ones(3))


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangles_are_solved(lower, unit):
    a = random((100, 100)) / 50 + np.diag(np.full(100, 3.0))
    b = random((100, 7))
    read = np.tril(a) if lower else np.triu(a)
    if unit:
        np.fill_diagonal(read, 1)
    x, y = wr.from_array(a, chunks=40), wr.from_array(b, chunks=(30, 3))
    for found in (
        triangular.substitute(x, y, 32, lower, unit),
        LA.solve_triangular(x, y, lower, unit_diagonal=unit),
    ):
        np.testing.assert_allclose(read @ found.compute(), b, atol=1e-11)
    found = LA.solve_triangular(x, y[:, 0], lower=lower, unit_diagonal=unit)
    assert found.shape == (100,)
    np.testing.assert_allclose(read @ found.compute(), b[:, 0], atol=1e-11)


def test_stacks_of_triangles_and_dtypes():
    a = random((3, 1, 4, 4), "c8") + 5 * np.eye(4, dtype="c8")
    b = random((2, 4, 3), "f4")
    found = LA.solve_triangular(wr.from_array(a, chunks=2), wr.from_array(b, chunks=2))
    assert found.dtype == np.complex64
    assert found.shape == (3, 2, 4, 3)
    np.testing.assert_allclose(np.triu(a) @ found.compute(), np.broadcast_to(b, found.shape), atol=1e-5)
    assert LA.solve_triangular([[2, 0], [1, 4]], [2, 9], lower=True).compute().tolist() == [1, 2]
    assert LA.solve_triangular(np.ones((0, 0)), np.ones((0, 2))).compute().shape == (0, 2)


def test_what_is_no_triangular_system_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        LA.solve_triangular([[1.0, 2.0], [0.0, 0.0]], [1.0, 1.0]).compute()
    with pytest.raises(ValueError, match="solve_triangular: argument 'b'"):
        LA.solve_triangular(np.eye(2), np.ones(3))
    with pytest.raises(ValueError, match="solve_triangular: argument 'lower'"):
        LA.solve_triangular(np.eye(2), np.ones(2), "lower")


def test_a_sample_of_the_range_gives_the_largest_singular_values():
    u, v = (np.linalg.qr(random((n, 30)))[0] for n in (400, 150))
    a = (u * np.logspace(0, -6, 30)) @ v.T
    x = wr.from_array(a, chunks=(90, 70))
    for iterator in ("power", "QR"):
        got, s, vh = LA.svd_compressed(x, 5, iterator, 2, seed=4)
        assert (got.shape, s.shape, vh.shape) == ((400, 5), (5,), (5, 150))
        np.testing.assert_allclose(s.compute(), np.linalg.svd(a)[1][:5], rtol=1e-8)
        np.testing.assert_allclose((got.T @ got).compute(), np.eye(5), atol=1e-10)
        near = (got * s @ vh).compute()
        assert np.linalg.norm(near - a, 2) < 1.01 * np.linalg.svd(a)[1][5]
        assert (vh.sum(axis=1) >= 0).all()
    again = LA.svd_compressed(x, 5, "QR", 2, seed=4)
    assert (got == again.U).all()
    z = LA.svd_compressed(x + 1j * x, 3, seed=wr.random.default_rng(4))
    np.testing.assert_allclose(z.S.compute(), np.sqrt(2) * np.linalg.svd(a)[1][:3], rtol=1e-4)
    rows = LA.compression_matrix(x, 5, seed=1).compute()
    np.testing.assert_allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-12)
    assert len(rows) == LA.compression_level(150, 5) == 20
    with pytest.raises(ValueError, match="svd_compressed: argument 'k' is 151"):
        LA.svd_compressed(x, 151)
    with pytest.raises(ValueError, match="svd_compressed: argument 'iterator'"):
        LA.svd_compressed(x, 5, "none")


def test_small_singular_values_outlast_passes_that_keep_vectors_orthonormal():
    u, v = (np.linalg.qr(random((n, 10)))[0] for n in (200, 80))
    values = np.logspace(0, -9, 10)
    found = LA.svd_compressed(wr.from_array((u * values) @ v.T, chunks=(60, 80)), 10, "QR", 4, seed=1).S.compute()
    np.testing.assert_allclose(found, values, rtol=1e-5)


def test_tall_and_wide_by_name():
    a = random((300, 5))
    x = wr.from_array(a, chunks=(40, 5))
    q, r = LA.tsqr(x)
    np.testing.assert_allclose((q @ r).compute(), a, atol=1e-12)
    u, s, vh = LA.tsqr(x, compute_svd=True)
    np.testing.assert_allclose((u * s @ vh).compute(), a, atol=1e-12)
    q, r = LA.sfqr(x.T)
    assert (q.shape, r.shape) == ((5, 5), (5, 300))
    np.testing.assert_allclose((q @ r).compute(), a.T, atol=1e-12)
    with pytest.raises(ValueError, match="tsqr: argument 'data'"):
        LA.tsqr(x.T)
    with pytest.raises(ValueError, match="sfqr: argument 'data'"):
        LA.sfqr(x)
