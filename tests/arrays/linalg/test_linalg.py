"""Linear algebra: residuals and NumPy's results, on one chunk, many, stacks, by blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support import arrays
from support.arrays import lazies
from windrow.arrays.linalg.factors import definite, elimination, orthogonal, singular, tall

LA = wr.linalg
RNG = np.random.default_rng(5)
DTYPES = ["f8", "f4", "c16", "c8", "i4"]
EPS = 2.3e-16


def random(shape, dtype="f8", generator=RNG):
    a = generator.standard_normal(shape) * 3
    if np.dtype(dtype).kind == "c":
        a = a + 1j * generator.standard_normal(shape)
    return a.astype(dtype)


def positive(shape, dtype="f8", generator=RNG):
    a = random(shape, "c16" if np.dtype(dtype).kind == "c" else "f8", generator)
    made = a @ a.conj().swapaxes(-1, -2) + 2 * np.eye(shape[-1])
    return (np.round(made) + (40 * np.eye(shape[-1])) if dtype == "i4" else made).astype(dtype)


def conditioned(m, n, condition, dtype="f8"):
    """A matrix with singular values from 1 down to 1/condition."""
    k = min(m, n)
    u, v = (np.linalg.qr(random((size, k), dtype))[0] for size in (m, n))
    return (u * np.logspace(0, -np.log10(condition), k)) @ v.conj().T


def close(got, expected, dtype=None):
    """Compare with what NumPy gives, up to rounding in the precision of what was computed with."""
    single = np.finfo(np.result_type(dtype or np.asarray(expected).dtype, "f4")).bits == 32
    arrays.close(got, expected, 2e-4 if single else 1e-11, 0)


def orthonormal(q, tolerance=1e-13):
    q = np.asarray(q)
    gap = q.conj().swapaxes(-1, -2) @ q - np.eye(q.shape[-1])
    assert np.abs(gap).max(initial=0) < (tolerance if q.real.dtype == np.float64 else 1e-5)


STACKS = [(4, 4), (3, 5, 5), (2, 3, 1, 1), (0, 3, 3), (2, 0, 0), (0, 0), (7, 7)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", STACKS)
def test_square(shape, dtype):
    a = random(shape, dtype) + 5 * np.eye(shape[-1], dtype=dtype)
    p = positive(shape, dtype)
    for x, y in zip(lazies(a), lazies(p), strict=True):
        close(LA.inv(x), np.linalg.inv(a))
        close(LA.det(x), np.linalg.det(a))
        for got, expected in zip(LA.slogdet(x), np.linalg.slogdet(a), strict=True):
            close(got, expected, a.dtype)
        close(LA.cholesky(y), np.linalg.cholesky(p))
        close(LA.cholesky(y, upper=True), np.linalg.cholesky(p, upper=True))
        close(LA.eigvalsh(y), np.linalg.eigvalsh(p), a.dtype)
        close(LA.matrix_power(x, 3), np.linalg.matrix_power(a, 3))
        close(LA.matrix_power(x, 0), np.linalg.matrix_power(a, 0))
        close(LA.matrix_power(x, -2), np.linalg.matrix_power(a, -2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigen(dtype):
    a = positive((3, 5, 5), dtype)
    tiny = 1e-3 if dtype in ("f4", "c8") else 1e-10
    for x in lazies(a):
        for triangle in ("L", "u"):
            found = LA.eigh(x, triangle)
            values, vectors = wr.compute(*found)
            assert type(found).__name__ == "EighResult"
            assert vectors.dtype == np.linalg.eigh(a)[1].dtype
            np.testing.assert_allclose(a @ vectors, vectors * values[:, None, :], atol=tiny)
            orthonormal(vectors)
        values, vectors = wr.compute(*LA.eig(x))
        assert values.dtype == vectors.dtype == np.result_type(np.linalg.eigvals(a).dtype, np.complex64)
        np.testing.assert_allclose(a @ vectors, vectors * values[:, None, :], atol=tiny)
        np.testing.assert_allclose(np.sort(LA.eigvals(x).compute().real), np.sort(values.real), rtol=1e-4)
    rotation = wr.from_array(np.array([[0.0, -1.0], [1.0, 0.0]]), chunks=1)
    assert set(np.round(LA.eigvals(rotation).compute(), 12)) == {1j, -1j}


SOLVED = [
    ((4, 4), (4,)),
    ((4, 4), (4, 2)),
    ((3, 4, 4), (4, 2)),
    ((4, 4), (3, 4, 2)),
    ((2, 1, 4, 4), (3, 4, 1)),
    ((3, 4, 4), (4,)),
    ((0, 0), (0, 2)),
    ((3, 3), (3, 0)),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("left", "right"), SOLVED)
def test_solve(left, right, dtype):
    a, b = random(left, dtype) + 9 * np.eye(left[-1], dtype=dtype), random(right, "f4")
    for x, y in zip(lazies(a), lazies(b), strict=True):
        close(LA.solve(x, y), np.linalg.solve(a, b), "f4")
        close(LA.solve(x, b), np.linalg.solve(a, b), "f4")


SHAPES = [(5, 3), (3, 5), (4, 4), (2, 6, 3), (2, 3, 6), (0, 3), (3, 0), (2, 0, 0), (1, 1), (0, 2, 3)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_orthogonal(shape, dtype):
    a = random(shape, dtype)
    for x in lazies(a):
        for mode in ("reduced", "complete"):
            wanted = np.linalg.qr(a, mode)
            found = LA.qr(x, mode=mode)
            q, r = wr.compute(*found)
            assert (q.shape, r.shape, q.dtype, r.dtype) == (wanted.Q.shape, wanted.R.shape, wanted.Q.dtype, r.dtype)
            np.testing.assert_allclose(q @ r, a, atol=1e-4 if q.dtype.char in "fF" else 1e-12)
            orthonormal(q)
            np.testing.assert_array_equal(r, np.triu(r))
        close(abs(LA.qr(x, "r")), np.abs(np.linalg.qr(a, "r")))
        for full in (True, False):
            wanted = np.linalg.svd(a, full_matrices=full)
            u, s, vh = wr.compute(*LA.svd(x, full_matrices=full))
            assert [v.shape for v in (u, s, vh)] == [v.shape for v in wanted]
            assert [v.dtype for v in (u, s, vh)] == [v.dtype for v in wanted]
            k = s.shape[-1]
            np.testing.assert_allclose(
                (u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, atol=1e-4 if u.dtype.char in "fF" else 1e-12
            )
            orthonormal(u)
            orthonormal(vh.conj().swapaxes(-1, -2))
        close(LA.svdvals(x), np.linalg.svdvals(a), dtype)
        close(LA.svd(x, compute_uv=False), np.linalg.svdvals(a), dtype)
        close(LA.pinv(x), np.linalg.pinv(a.astype(np.result_type(a, "f4") if a.dtype.kind != "i" else "f8")))
        close(LA.matrix_rank(x), np.linalg.matrix_rank(a))


def test_hermitian():
    a = random((2, 5, 5))
    a = a + a.swapaxes(-1, -2)
    for x in lazies(a):
        u, s, vh = wr.compute(*LA.svd(x, hermitian=True))
        np.testing.assert_allclose((u * s[:, None, :]) @ vh, a, atol=1e-12)
        np.testing.assert_allclose(s, np.linalg.svdvals(a), rtol=1e-12)
        close(LA.svd(x, compute_uv=False, hermitian=True), np.linalg.svdvals(a))
        close(LA.pinv(x, hermitian=True), np.linalg.pinv(a, hermitian=True))
        close(LA.matrix_rank(x, hermitian=True), np.linalg.matrix_rank(a, hermitian=True))


def test_rank_and_pseudoinverse_of_deficient_matrices():
    a = conditioned(9, 6, 10) @ np.diag([1, 1, 1, 0, 0, 0])
    for x in lazies(a):
        assert int(LA.matrix_rank(x)) == 3
        assert int(LA.matrix_rank(x, tol=1e3)) == int(LA.matrix_rank(x, rtol=2.0)) == 0
        np.testing.assert_allclose(LA.pinv(x).compute(), np.linalg.pinv(a, rcond=1e-13), atol=1e-10)
        np.testing.assert_allclose(LA.pinv(x, rcond=1e-10).compute(), np.linalg.pinv(a, rcond=1e-10), atol=1e-10)
    stack = np.stack([a, 2 * a, 0 * a])
    x = wr.from_array(stack, chunks=2)
    np.testing.assert_array_equal(LA.matrix_rank(x).compute(), [3, 3, 0])
    limits = np.array([2.0, 0.5, 0.1])
    np.testing.assert_array_equal(LA.matrix_rank(x, rtol=limits).compute(), np.linalg.matrix_rank(stack, rtol=limits))
    close(LA.pinv(x[None], rtol=limits[None]), np.linalg.pinv(stack[None], rcond=limits[None]))
    assert int(LA.matrix_rank(wr.ones(3))) == 1
    assert int(LA.matrix_rank(wr.zeros(3))) == 0


ORDERS = [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i4"])
def test_norms(dtype):
    a = random((3, 4, 5), dtype)
    a[a == 0] = 1
    for x in lazies(a):
        for ord in ORDERS:
            for axis, keep in (((0, 1), False), ((2, 0), True), ((-1, -2), True)):
                close(LA.norm(x, ord, axis, keep), np.linalg.norm(a, ord, axis, keep), dtype)
            if ord is not None:
                close(LA.matrix_norm(x, ord=ord), np.linalg.matrix_norm(a, ord=ord), dtype)
                close(
                    LA.matrix_norm(x, ord=ord, keepdims=True), np.linalg.matrix_norm(a, ord=ord, keepdims=True), dtype
                )
        for ord in (None, 0, 1, 2, 3, -1, -2, 0.5, np.inf, -np.inf):
            close(LA.norm(x, ord, axis=1), np.linalg.norm(a, ord, axis=1), dtype)
            if ord is not None:
                for axis in (None, 0, (0, 2)):
                    close(
                        LA.vector_norm(x, ord=ord, axis=axis, keepdims=True),
                        np.linalg.vector_norm(a, ord=ord, axis=axis, keepdims=True),
                        dtype,
                    )
        close(LA.norm(x), np.linalg.norm(a), dtype)
        close(LA.norm(x, keepdims=True), np.linalg.norm(a, keepdims=True), dtype)
        close(np.linalg.norm(x[0]), np.linalg.norm(a[0]), dtype)
    for ord in (1, 2, "nuc", "fro", np.inf):
        close(LA.norm(wr.zeros((0, 3)), ord), np.linalg.norm(np.zeros((0, 3)), ord))
    assert np.isnan(LA.norm(wr.from_array(np.array([1.0, np.nan])), np.inf).compute())


@pytest.mark.parametrize("p", ORDERS)
def test_condition(p):
    a = random((3, 4, 4))
    if p != "nuc":  # NumPy's own fails there for a singular matrix
        a[1, 0] = 0
    for x in lazies(a):
        np.testing.assert_allclose(LA.cond(x, p).compute()[[0, 2]], np.linalg.cond(a, p)[[0, 2]], rtol=1e-10)
        assert LA.cond(x, p).compute()[1] > 1e15 or p in ("nuc", -2)
    for x in lazies(a[0][:, :3]):
        close(LA.cond(x), np.linalg.cond(a[0][:, :3]))


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i4"])
@pytest.mark.parametrize(("m", "n", "k"), [(7, 3, None), (7, 3, 2), (3, 7, 2), (4, 4, 1), (5, 0, 2), (0, 3, 2)])
def test_least_squares(m, n, k, dtype):
    a, b = random((m, n), dtype), random((m,) if k is None else (m, k), dtype)
    wanted = np.linalg.lstsq(a, b)
    for x, y in zip(lazies(a), lazies(b), strict=True):
        found = LA.lstsq(x, y)
        assert len(found[1]) == len(wanted[1])
        for got, expected in zip(found, wanted, strict=True):
            made = np.asarray(got.compute())
            assert made.shape == np.shape(expected)
            assert made.dtype == np.asarray(expected).dtype or made.dtype.kind == "i"
            np.testing.assert_allclose(
                made, expected, rtol=2e-3 if dtype == "f4" else 1e-9, atol=1e-4 if dtype == "f4" else 1e-11
            )


def test_least_squares_of_deficient_rank():
    a = conditioned(20, 4, 10) @ np.diag([1, 1, 1, 0])
    b = random((20, 2))
    for x, y in zip(lazies(a), lazies(b), strict=True):
        solution, rest, rank, _ = LA.lstsq(x, y, rcond=1e-10)
        np.testing.assert_allclose(solution.compute(), np.linalg.lstsq(a, b, rcond=1e-10)[0], atol=1e-10)
        assert int(rank) == 3
        assert rest.compute().shape == (0,)


# ---------------------------------------------------------------------- by blocks


@st.composite
def gridded(draw, rows, columns, dtypes=("f8", "c16")):
    """A matrix of awkward chunks, and a width of panels."""
    m, n = draw(rows), draw(columns)
    a = random((m, n), draw(st.sampled_from(dtypes)), np.random.default_rng(draw(st.integers(0, 99))))
    chunks = tuple(draw(st.integers(1, size)) for size in (m, n))
    return a, wr.from_array(a, chunks=chunks), draw(st.integers(-(-max(m, n) // 6), max(m, n) + 2))


@given(gridded(st.integers(1, 40), st.just(3)), st.sampled_from(["f8", "c16"]))
def test_cholesky_by_blocks(drawn, dtype):
    a, x, width = drawn
    p = positive((len(a), len(a)), dtype, np.random.default_rng(len(a)))
    step = x.chunksize[0]
    low = definite.factor_blocks(wr.from_array(p, chunks=step), width).compute()
    np.testing.assert_allclose(low, np.linalg.cholesky(p), atol=1e-12 * np.abs(p).max())


@pytest.mark.parametrize("spread", [1, 40])
def test_cholesky_by_blocks_is_as_accurate_as_lapack(spread):
    """The wide one is so ill-conditioned that inverses of its triangles would leave a thousandfold residual."""
    i = np.arange(400)
    p = np.exp(-(((i[:, None] - i) / spread) ** 2)) + 1e-13 * np.eye(400)
    low = definite.factor_blocks(wr.from_array(p, chunks=150), 150).compute()
    theirs = np.linalg.cholesky(p)
    assert np.abs(low @ low.T - p).max() <= 4 * np.abs(theirs @ theirs.T - p).max()


@given(gridded(st.integers(1, 40), st.integers(1, 5)), st.booleans())
def test_solve_by_blocks(drawn, swapped):
    b, y, width = drawn
    n = len(b)
    a = random((n, n), b.dtype, np.random.default_rng(n))
    if swapped:
        a[np.arange(n), np.arange(n)] = 0  # every pivot comes from elsewhere
        a += np.roll(np.eye(n), 1, 0)
    x = wr.from_array(a, chunks=y.chunksize[0])
    if np.linalg.cond(a) > 1e10:
        return
    found = elimination.solve_blocks(x, y, width).compute()
    assert np.linalg.norm(a @ found - b) <= 100 * n * EPS * np.linalg.norm(a) * np.linalg.norm(found)
    parts = elimination.factor_panels(x, None, width)
    grid = elimination.Grid.single((1, 2))
    signs = wr.compute([elimination.step("linalg.factors:lu_sign", (p,), grid, [(None, None)]) for p in parts.panels])
    sign, logarithm = np.linalg.slogdet(a)
    np.testing.assert_allclose(np.prod([s[0, 0] for s in signs]), sign, atol=1e-9)
    np.testing.assert_allclose(np.sum([s[0, 1] for s in signs]), logarithm, atol=1e-9)


@given(gridded(st.integers(1, 30), st.integers(1, 30)))
def test_qr_by_panels(drawn):
    a, x, width = drawn
    k = min(a.shape)
    panels = orthogonal.Reflections.of(x, width)
    for columns in (k, len(a)):
        q, r = wr.compute(panels.form(columns), panels.triangle(columns))
        np.testing.assert_allclose(q @ r, a, atol=1e-12)
        orthonormal(q)
        np.testing.assert_array_equal(r, np.triu(r))


@given(gridded(st.integers(24, 300), st.integers(1, 6)), st.booleans())
def test_qr_by_rows(drawn, deficient):
    a, x, _ = drawn
    if deficient:
        a[:, -1] = a[:, 0]
        a[: len(a) // 2] = 0
    parts = tall.Tall.of(x)
    q, r, alone = wr.compute(parts.form(None), parts.triangle, tall.tall_triangle(x))
    np.testing.assert_allclose(q @ r, a, atol=1e-12)
    orthonormal(q)
    np.testing.assert_array_equal(r, np.triu(r))
    np.testing.assert_allclose(np.abs(alone), np.abs(r), atol=1e-12)


@pytest.mark.parametrize("joined", [1, 1 << 20])
def test_qr_by_rows_in_a_deep_tree(joined, monkeypatch):
    monkeypatch.setattr(tall, "JOINED", joined)
    a = conditioned(4000, 5, 1e14)
    parts = tall.Tall.of(wr.from_array(a, chunks=(50, 3)))
    assert len(parts.levels) == (4 if joined == 1 else 1)
    q, r = wr.compute(parts.form(None), parts.triangle)
    np.testing.assert_allclose(q @ r, a, atol=1e-14)
    orthonormal(q, 1e-14)


@pytest.mark.parametrize("condition", [1e2, 1e8, 1e15])
def test_ill_conditioned(condition):
    n = 150
    a = conditioned(n, n, condition)
    x, b = wr.from_array(a, chunks=(40, 70)), random((n, 2))
    panels = orthogonal.Reflections.of(x, 32)
    q, r = wr.compute(panels.form(n), panels.triangle(n))
    assert np.linalg.norm(q @ r - a) < 1e-14 * n
    orthonormal(q, 2e-14)
    found = elimination.solve_blocks(x, wr.from_array(b, chunks=1), 32).compute()
    assert np.linalg.norm(a @ found - b) < 1e-14 * n * np.linalg.norm(a) * np.linalg.norm(found)
    p = a @ a.T if condition < 1e4 else conditioned(n, n, 1) * 0 + np.eye(n) + 1e8 * np.outer(b[:, 0], b[:, 0])
    low = definite.factor_blocks(wr.from_array(p, chunks=64), 32).compute()
    assert np.linalg.norm(low @ low.T - p) < 1e-14 * n * np.linalg.norm(p)


@pytest.fixture
def small_blocks(monkeypatch):
    """Let small matrices be factored by blocks, as large ones are."""
    for module in (definite, elimination, orthogonal, singular):
        for name, value in (
            ("by_blocks", lambda x: x.ndim == 2 and x.size > 100),
            ("panel_width", lambda n, count=8: 16),
        ):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    monkeypatch.setattr("windrow.arrays.linalg.least.by_blocks", lambda x: x.ndim == 2 and x.size > 100)


@pytest.mark.parametrize("dtype", DTYPES)
def test_public_functions_by_blocks(small_blocks, dtype):
    a, b, p = random((40, 40), dtype), random((40, 3), dtype), positive((40, 40), dtype)
    if a.dtype.kind != "i":
        a /= 9  # single precision holds the determinant then
    x, y = wr.from_array(a, chunks=(13, 17)), wr.from_array(b, chunks=(7, 2))
    close(LA.solve(x, y), np.linalg.solve(a, b))
    close(LA.solve(x, y[:, 0]), np.linalg.solve(a, b[:, 0]))
    close(LA.inv(x), np.linalg.inv(a))
    close(LA.det(x), np.linalg.det(a))
    for got, expected in zip(LA.slogdet(x), np.linalg.slogdet(a), strict=True):
        close(got, expected, dtype)
    close(LA.cond(x, 1), np.linalg.cond(a, 1), dtype)
    lower = wr.from_array(p, chunks=(11, 40))
    close(LA.cholesky(wr.tril(lower)), np.linalg.cholesky(p))
    close(LA.cholesky(wr.triu(lower), upper=True), np.linalg.cholesky(p, upper=True))
    for shape in ((40, 40), (90, 5), (50, 20), (5, 90), (20, 50)):
        c = random(shape, dtype)
        z = wr.from_array(c, chunks=(13, 4))
        for mode in ("reduced", "complete"):
            wanted, (q, r) = np.linalg.qr(c, mode), wr.compute(*LA.qr(z, mode))
            assert (q.shape, r.shape, q.dtype) == (wanted.Q.shape, wanted.R.shape, wanted.Q.dtype)
            np.testing.assert_allclose(q @ r, c, atol=1e-4 if q.dtype.char in "fF" else 1e-11)
            orthonormal(q)
        close(abs(LA.qr(z, "r")), np.abs(np.linalg.qr(c, "r")))
        for full in (False, True):
            u, s, vh = wr.compute(*LA.svd(z, full_matrices=full))
            k = len(s)
            assert [v.shape for v in (u, vh)] == [np.linalg.svd(c, full)[i].shape for i in (0, 2)]
            np.testing.assert_allclose((u[:, :k] * s) @ vh[:k], c, atol=1e-4 if u.dtype.char in "fF" else 1e-11)
            orthonormal(u)
            orthonormal(vh.conj().T)
        close(LA.svdvals(z), np.linalg.svdvals(c), dtype)
        close(LA.pinv(z), np.linalg.pinv(c), dtype)
    for shape in ((90, 5), (50, 20)):
        c, d = random(shape, dtype), random((shape[0], 2), dtype)
        found = LA.lstsq(wr.from_array(c, chunks=(13, 4)), wr.from_array(d, chunks=9))
        for got, expected in zip(found, np.linalg.lstsq(c, d), strict=True):
            np.testing.assert_allclose(got.compute(), expected, rtol=1e-3 if dtype in ("f4", "c8") else 1e-9, atol=1e-5)


def test_singular(small_blocks):
    a = random((20, 20))
    a[:, 7] = 0
    x = wr.from_array(a, chunks=6)
    small = wr.from_array(np.zeros((3, 3)), chunks=2)
    for matrix in (x, small):
        for call in (LA.inv, lambda m: LA.solve(m, np.ones(len(m)))):
            lazy = call(matrix)
            with pytest.raises(np.linalg.LinAlgError, match=r"(inv|solve): Singular matrix"):
                lazy.compute()
        assert LA.det(matrix).compute() == 0
        sign, logarithm = wr.compute(*LA.slogdet(matrix))
        assert (sign, logarithm) == (0, -np.inf)
        with pytest.raises(LA.LinAlgError, match="cholesky: Matrix is not positive definite"):
            LA.cholesky(matrix - wr.eye(len(matrix))).compute()
        assert LA.cond(matrix, 1).compute() == np.inf


def test_multi_dot():
    shapes = [(4, 30), (30, 2), (2, 9), (9,)]
    for ends in ((0, 4), (0, 3), (1, 4), (0, 2), (2, 4)):
        some = [random(s) for s in shapes[slice(*ends)]]
        close(LA.multi_dot([wr.from_array(v, chunks=3) for v in some]), np.linalg.multi_dot(some))
    first = [random(5), random((5, 6)), random(6)]
    close(LA.multi_dot([wr.from_array(v, chunks=2) for v in first]), np.linalg.multi_dot(first))


def test_namesakes():
    a, b = random((4, 3)), random((4, 3))
    x, y = wr.from_array(a, chunks=2), wr.from_array(b, chunks=3)
    close(LA.cross(x, y), np.cross(a, b))
    close(LA.cross(x.T, y.T, axis=0), np.cross(a.T, b.T, axis=0))
    close(LA.vecdot(x, y, axis=0), np.linalg.vecdot(a, b, axis=0))
    close(LA.outer(x[0], y[1]), np.outer(a[0], b[1]))
    close(LA.tensordot(x, y, axes=([0], [0])), np.tensordot(a, b, ([0], [0])))
    close(LA.matmul(x, y.mT), a @ b.T)
    close(LA.matrix_transpose(x), a.T)
    close(LA.diagonal(x, offset=-1), np.linalg.diagonal(a, offset=-1))
    close(LA.trace(x, offset=1, dtype="c16"), np.linalg.trace(a, offset=1, dtype="c16"))
    for function in ("inv", "det", "svdvals", "cholesky", "matrix_rank", "pinv"):
        square = positive((5, 5))
        close(getattr(np.linalg, function)(wr.from_array(square, chunks=2)), getattr(np.linalg, function)(square))


def test_chunks_of_stacks_do_not_grow():
    x = wr.ones((64, 512, 512), chunks=(64, 128, 128))
    found = LA.inv(x)
    assert found.chunksize == (4, 512, 512)
    large = wr.from_array(np.broadcast_to(1.0, (4000, 4000)), chunks=1000)
    assert max(s.bytes_held / s.blocks for s in LA.cholesky(large).explain().stages[:-1]) <= (572 + 64) * 572 * 8
    assert LA.eigvalsh(large * 2).explain().notes


BAD = [
    (lambda: LA.inv(wr.ones((2, 3))), np.linalg.LinAlgError, r"inv.*'a'.*\(2, 3\).*square"),
    (lambda: LA.inv(wr.ones(3)), wr.ShapeError, "inv.*two axes"),
    (lambda: LA.solve(wr.ones((3, 3)), wr.ones(2)), wr.ShapeError, r"solve.*'b'.*\(2,\)"),
    (lambda: LA.solve(wr.ones((2, 3, 3)), wr.ones((4, 3, 1))), wr.ShapeError, "solve.*broadcast"),
    (lambda: LA.cholesky(wr.ones((2, 2), dtype="f2")), wr.DTypeError, "cholesky.*float16"),
    (lambda: LA.qr(wr.ones((2, 2)), mode="raw"), wr.ArgumentError, "qr.*'mode'.*raw"),
    (lambda: LA.eigh(wr.ones((2, 2)), "X"), wr.ArgumentError, "eigh.*'UPLO'"),
    (lambda: LA.norm(wr.ones((2, 2)), 3), wr.ArgumentError, "norm.*'ord'.*3"),
    (lambda: LA.norm(wr.ones((2, 2)), axis=(0, 0)), wr.ShapeError, "norm.*'axis'"),
    (lambda: LA.norm(wr.ones((2, 2, 2)), 2), wr.ShapeError, "norm.*'axis'"),
    (lambda: LA.norm(wr.ones(3), "fro"), wr.ArgumentError, "norm.*'ord'"),
    (lambda: LA.vector_norm(wr.ones(3), axis=4), wr.AxisError, "vector_norm.*'axis'"),
    (lambda: LA.lstsq(wr.ones((3, 2)), wr.ones(2)), wr.ShapeError, "lstsq.*'b'"),
    (lambda: LA.lstsq(wr.ones((3, 2)), wr.ones(3), rcond="x"), wr.ArgumentError, "lstsq.*'rcond'"),
    (lambda: LA.matrix_power(wr.ones((2, 2)), 1.5), wr.ArgumentError, "matrix_power.*'n'"),
    (lambda: LA.multi_dot([wr.ones(2)]), wr.ArgumentError, "multi_dot.*at least two"),
    (lambda: LA.outer(wr.ones((2, 2)), wr.ones(2)), wr.ShapeError, "outer.*'x1'"),
    (lambda: LA.pinv(wr.ones((2, 2)), rcond=1, rtol=1), wr.ArgumentError, "pinv.*'rtol'"),
    (lambda: LA.cond(wr.ones((0, 2))), np.linalg.LinAlgError, "cond.*elements"),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
