"""Products against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.workers.kernels import contraction

RNG = np.random.default_rng(8)


def check(got, expected):
    assert got.shape == np.shape(expected)
    assert got.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(got.compute(), expected, rtol=1e-12 if np.asarray(expected).itemsize > 4 else 1e-5)


SHAPES = [
    ((7,), (7,)),
    ((5, 7), (7,)),
    ((7,), (7, 6)),
    ((5, 7), (7, 6)),
    ((3, 5, 7), (7, 6)),
    ((5, 7), (3, 7, 6)),
    ((3, 5, 7), (3, 7, 6)),
    ((2, 1, 5, 7), (3, 7, 6)),
    ((2, 3, 5, 7), (1, 3, 7, 6)),
    ((1, 5, 7), (1, 7, 6)),
    ((3, 5, 7), (7,)),
    ((7,), (3, 7, 6)),
    ((5, 0), (0, 6)),
    ((0, 7), (7, 6)),
    ((1, 1), (1, 1)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_matmul(left, right):
    a, b = RNG.random(left), RNG.random(right)
    for chunks in (-1, 2, 3):
        x, y = wr.from_array(a, chunks=chunks), wr.from_array(b, chunks=chunks)
        check(x @ y, a @ b)
        check(np.matmul(x, y), a @ b)
        check(x @ b, a @ b)
        check(a @ y, a @ b)


@pytest.mark.parametrize("dtypes", [("i4", "i8"), ("f4", "f4"), ("f4", "f8"), ("c16", "f8"), ("?", "?"), ("u1", "i1")])
def test_matmul_of_dtypes(dtypes):
    a, b = (RNG.integers(0, 2, s).astype(d) for s, d in zip([(9, 40), (40, 8)], dtypes, strict=True))
    for chunks in (-1, (4, 3)):
        got = (wr.from_array(a, chunks=chunks) @ wr.from_array(b, chunks=chunks)).compute()
        assert got.dtype == (a @ b).dtype
        np.testing.assert_array_equal(got, a @ b)


def test_transposed_operands():
    a = RNG.random((30, 20))
    x = wr.from_array(a, chunks=(7, 6)) + 0
    check(x.T @ x, a.T @ a)
    check(x @ x.T, a @ a.T)


TENSORDOT = [
    ((3, 4, 5), (4, 5, 6), 2),
    ((3, 4, 5), (5, 4, 2), ([1, 2], [1, 0])),
    ((3, 4), (5,), 0),
    ((3, 4), (4, 3), ([0, 1], [1, 0])),
    ((3, 4), (4, 3), (1, 0)),
    ((6,), (6,), 1),
]


@pytest.mark.parametrize(("left", "right", "axes"), TENSORDOT)
def test_tensordot(left, right, axes):
    a, b = RNG.random(left), RNG.random(right)
    for chunks in (-1, 2):
        check(
            wr.tensordot(wr.from_array(a, chunks=chunks), wr.from_array(b, chunks=chunks), axes),
            np.tensordot(a, b, axes),
        )


@given(st.data())
def test_matmul_of_any_chunks(data):
    m, k, n = (data.draw(st.integers(1, 12)) for _ in range(3))
    a, b = RNG.random((m, k)), RNG.random((k, n))
    x = wr.from_array(a, chunks=(data.draw(st.integers(1, m)), data.draw(st.integers(1, k))))
    y = wr.from_array(b, chunks=(data.draw(st.integers(1, k)), data.draw(st.integers(1, n))))
    check(x @ y, a @ b)


def test_relatives():
    a, b = RNG.random((4, 6)), RNG.random((6, 3))
    x, y = wr.from_array(a, chunks=2), wr.from_array(b, chunks=4)
    check(wr.dot(x, y), a.dot(b))
    check(x.dot(2.0), a.dot(2.0))
    check(wr.dot(x, b[:, 0]), a.dot(b[:, 0]))
    check(wr.outer(x[0], y[0]), np.outer(a[0], b[0]))
    check(wr.vdot(x * 1j, x), np.vdot(a * 1j, a))
    check(x.trace(), a.trace())
    check(x.diagonal(), a.diagonal())
    check(x.T.diagonal(), a.T.diagonal())


@pytest.mark.parametrize("chunks", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_zero_times_nan_is_nan(dtype, chunks):
    column, number = np.array([[0], [np.nan], [1]], dtype), np.zeros((1, 1), dtype)
    np.testing.assert_array_equal((wr.from_array(column, chunks=chunks) @ number).compute(), column @ number)
    row = column.T.copy()
    np.testing.assert_array_equal((number @ wr.from_array(row, chunks=chunks)).compute(), number @ row)


def test_errors():
    x = wr.ones((3, 4))
    cases = [
        (lambda: x @ x, wr.ShapeError, r"matmul.*\(3, 4\) and \(3, 4\)"),
        (lambda: x @ 2, wr.ShapeError, "matmul.*'x2'"),
        (lambda: wr.ones((2, 3, 4)) @ wr.ones((3, 4, 5)), wr.ShapeError, "matmul.*broadcast"),
        (lambda: wr.tensordot(x, x, 3), wr.ShapeError, "tensordot.*'axes'"),
        (lambda: wr.tensordot(x, x, ([0], [1])), wr.ShapeError, "tensordot.*'axes'.*equal lengths"),
        (lambda: wr.tensordot(x, x, ([0, 0], [0, 0])), wr.ShapeError, "each once"),
        (lambda: x @ wr.from_array(np.array([["a"] * 3] * 4)), wr.DTypeError, "matmul.*<U1"),
        (lambda: wr.ones(3).trace(), wr.ShapeError, "trace"),
    ]
    for call, kind, message in cases:
        with pytest.raises(kind, match=message):
            call()


SUMMED_OVER_ROWS = [
    (400, (40, 400)),
    (401, ((1, 80, 160, 160), (401,))),
    ((20, 9, 130), (1, (4, 5), (100, 30))),
    ((300, 3, 90), (30, 2, (89, 1))),
    (130, ((30, 100), (65, 65))),
]


@pytest.mark.parametrize(("shape", "chunks"), SUMMED_OVER_ROWS)
def test_large_results_of_sums_over_many_chunks_keep_their_chunks(shape, chunks):
    shape = shape if isinstance(shape, tuple) else (shape, shape)
    a = RNG.random(shape)
    x = wr.from_array(a, chunks=chunks)
    for y in (x, x + 0, (x + 0).persist()):
        found = wr.tensordot(y, y, ((0,), (0,)))
        assert found.chunks == x.chunks[1:] * 2
        check(found, np.tensordot(a, a, ((0,), (0,))))
        check(wr.einsum("i...,i...->...", y, y), np.einsum("i...,i...->...", a, a))
        if x.ndim == 2:
            check(y.T @ y, a.T @ a)
            np.testing.assert_allclose(((y - y.mean(0)).T @ y).compute(), (a - a.mean(0)).T @ a, atol=1e-10)


OWN = [
    lambda a: a @ a.T,
    lambda a: wr.tensordot(wr.swapaxes(a, 0, 1), a, ([0], [1])),
    lambda a: wr.einsum("ik,jk->ij", a, a),
    lambda a: wr.rechunk(a.T, (300, 600)).T @ wr.rechunk(a.T, (300, 600)),
]


@pytest.mark.parametrize("product", OWN)
@pytest.mark.parametrize("dtype", ["f8", "c8"])
def test_a_matrix_by_its_own_transpose_is_made_by_half(product, dtype, monkeypatch):
    made = []
    make = contraction._product

    def counted(a, b, out):
        made.append(a.size * b.shape[2])
        return make(a, b, out)

    monkeypatch.setattr(contraction, "_product", counted)
    values = (RNG.random((2300, 600)) - 0.5).astype(dtype)
    found = product(wr.from_array(values, chunks=(600, 300)))
    assert found.chunks == ((600, 600, 600, 500),) * 2
    got = found.compute()
    np.testing.assert_allclose(got, values @ values.T, atol=1e-4 if dtype == "c8" else 1e-11)
    np.testing.assert_array_equal(got, got.T)
    assert sum(made) < 0.7 * 2300 * 2300 * 600
    made.clear()
    np.testing.assert_array_equal(found[3:40:2, 2200:].compute(), got[3:40:2, 2200:])
    np.testing.assert_array_equal(found[2200:, 3:40:2].compute(), got[2200:, 3:40:2])


def test_products_with_other_transposes_are_whole():
    values = RNG.random((1200, 1200))
    a, b = wr.from_array(values, chunks=600), wr.from_array(values + 1, chunks=600)
    check(a @ b.T, values @ (values + 1).T)
    check(a @ a, values @ values)
    check(a.T @ a.T, values.T @ values.T)
    check(a @ a[::-1].T, values @ values[::-1].T)
    check(wr.einsum("ik,kj->ji", a, a), (values @ values).T)
    check(wr.einsum("ik,jk->ji", a, a), (values @ values.T).T)
