"""Positions: numbers and indices, triangles, diagonals, putting; complex numbers in order; against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.arrays import same

CHUNKS = list(wr.testing.chunkings((4, 6)))


@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple),
    order=st.sampled_from("CF"),
    chunks=st.integers(1, 7),
    data=st.data(),
)
def test_numbers_and_positions(shape, order, chunks, data):
    count = int(np.prod(shape))
    numbers = np.array(data.draw(st.lists(st.integers(0, count - 1), max_size=9)), int)
    expected = np.unravel_index(numbers, shape, order)
    lazy = wr.from_array(numbers, chunks=chunks)
    same(np.unravel_index(lazy, shape, order), expected)
    positions = tuple(wr.from_array(p, chunks=chunks) for p in expected)
    same(wr.ravel_multi_index(positions, shape, order=order), numbers)
    wide = tuple(p + n for p, n in zip(positions, shape, strict=True))
    for mode in ("wrap", "clip", ("wrap",) * len(shape)):
        beyond = tuple(p + n for p, n in zip(expected, shape, strict=True))
        same(wr.ravel_multi_index(wide, shape, mode, order), np.ravel_multi_index(beyond, shape, mode, order))


def test_numbers_broadcast_and_are_checked():
    rows, columns = wr.arange(3, chunks=2).reshape(3, 1), wr.arange(4, chunks=3)
    same(wr.ravel_multi_index((rows, columns), (3, 4)), np.arange(12).reshape(3, 4))
    same(wr.unravel_index(7, (2, 4)), (np.intp(1), np.intp(3)))
    with pytest.raises(ValueError, match="out of bounds"):
        wr.compute(wr.unravel_index(wr.arange(9, chunks=4), (2, 4)))
    with pytest.raises(ValueError, match="invalid entry"):
        wr.ravel_multi_index((wr.arange(3),), (2,)).compute()
    for call, error in [
        (lambda: wr.unravel_index(wr.ones(3), (2, 4)), wr.DTypeError),
        (lambda: wr.unravel_index([1], (2, 4), "K"), wr.ArgumentError),
        (lambda: wr.ravel_multi_index(([1],), (2, 4)), wr.ShapeError),
        (lambda: wr.ravel_multi_index(([1],), (2,), "none"), wr.ArgumentError),
    ]:
        with pytest.raises(error, match="index"):
            call()


@pytest.mark.parametrize(("n", "k", "m"), [(0, 0, None), (3, 0, None), (3, 1, 5), (5, -2, 3), (4, 9, 4), (2, -9, 2)])
def test_triangles(n, k, m):
    same(wr.tril_indices(n, k, m), np.tril_indices(n, k, m))
    same(wr.triu_indices(n, k, m), np.triu_indices(n, k, m))
    data = np.ones((n, n if m is None else m))
    same(np.tril_indices_from(wr.from_array(data, chunks=2), k), np.tril_indices_from(data, k))
    same(np.triu_indices_from(wr.from_array(data, chunks=2), k), np.triu_indices_from(data, k))
    same(wr.mask_indices(n, wr.triu, k), np.mask_indices(n, np.triu, k))


def test_diagonals():
    same(wr.diag_indices(4, 3), np.diag_indices(4, 3))
    same(np.diag_indices_from(wr.ones((3, 3), chunks=2)), np.diag_indices_from(np.ones((3, 3))))
    for wrong in (wr.ones(3), wr.ones((2, 3))):
        with pytest.raises(wr.ShapeError, match="diag_indices_from"):
            wr.diag_indices_from(wrong)
    with pytest.raises(wr.ShapeError, match="tril_indices_from"):
        wr.tril_indices_from(wr.ones(3))


@pytest.mark.parametrize("chunks", CHUNKS)
def test_open_meshes(chunks):
    data = np.arange(24).reshape(4, 6)
    x = wr.from_array(data, chunks=chunks)
    mask = np.arange(6) % 2 == 0
    same(x[wr.ix_([3, 0], mask)], data[np.ix_([3, 0], mask)])
    same(x[np.ix_(wr.arange(2), wr.from_array(mask))], data[np.ix_(np.arange(2), mask)])
    same(wr.ix_([], [1]), np.ix_([], [1]))
    with pytest.raises(wr.ShapeError, match="ix_"):
        wr.ix_(data)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_put(chunks, mode):
    where = [3, -1, 23, 7] if mode == "raise" else [3, -1, 30, 7]
    for values in (9, [1, 2], [1.5, 2, 3, 4, 5]):
        data = np.arange(24).reshape(4, 6)
        x = wr.from_array(data.copy(), chunks=chunks)
        before = x * 1
        np.put(x, where, values, mode)
        expected = data.copy()
        np.put(expected, where, values, mode)
        same(x, expected)
        same(before, data)
    x.put([0], -1)
    assert x[0, 0].compute() == -1
    x.put([], 5)
    with pytest.raises(IndexError):
        x.put([99], 5)
    x.put(wr.arange(99, 100), 5)
    with pytest.raises(IndexError):
        x.compute()
    with pytest.raises(wr.ArgumentError, match="put"):
        wr.put(data, [1], 2)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_put_along_axis(chunks, axis):
    data = np.arange(24).reshape(4, 6) % 7
    at = np.array([5, 1, 20]) if axis is None else np.argmax(data, axis, keepdims=True)
    for given_at in (at, wr.from_array(at)):
        x = wr.from_array(data.copy(), chunks=chunks)
        np.put_along_axis(x, given_at, 99, axis)
        expected = data.copy()
        np.put_along_axis(expected, at, 99, axis)
        same(x, expected)
    with pytest.raises(wr.ShapeError, match="put_along_axis"):
        wr.put_along_axis(x, np.ones((1, 1, 1), int), 0, axis)


@pytest.mark.parametrize("dtype", ["f8", "c8", "?", "U3", "S2", "M8[D]", "V5", [("a", "i4"), ("b", "U2")]], ids=str)
@pytest.mark.parametrize("k", [0, 2, -3])
def test_matrices_of_a_diagonal_are_numpys(dtype, k):
    v = np.arange(140, dtype=np.uint8).tobytes()
    v = (
        np.frombuffer(v, "V5")[:7]
        if dtype == "V5"
        else np.arange(7).astype("i8").astype(dtype if isinstance(dtype, str) else "U2").astype(dtype)
    )
    for chunks in (7, 3):
        x = wr.diag(wr.from_array(v, chunks=chunks), k).compute()
        assert x.dtype == np.diag(v, k).dtype
        assert x.tobytes() == np.diag(v, k).tobytes()


def test_a_matrix_of_a_long_diagonal_has_chunks_of_the_usual_size():
    x = wr.diag(wr.ones(10_000, chunks=-1), 1)
    assert max(x.chunks[0]) * max(x.chunks[1]) * 8 <= wr.config.chunk_bytes
    assert wr.diag(wr.ones(10, chunks=4)).chunks == ((4, 4, 2), (4, 4, 2))
    with pytest.raises(wr.ShapeError, match=r"'k' is 1180591620717411303424; expected a matrix of fewer than"):
        wr.diag(wr.ones(50), 2**70)


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("shape", [(4, 6), (7, 3), (8, 2), (3, 3, 3), (1, 1), (0, 4)])
def test_fill_diagonal(shape, wrap):
    data = np.arange(int(np.prod(shape))).reshape(shape)
    for values in (-1, [-1, -2]):
        for chunks in wr.testing.chunkings(shape):
            x = wr.from_array(data.copy(), chunks=chunks)
            np.fill_diagonal(x, values, wrap)
            expected = data.copy()
            np.fill_diagonal(expected, values, wrap)
            same(x, expected)
    with pytest.raises(wr.ShapeError, match="fill_diagonal"):
        wr.fill_diagonal(wr.ones((2, 2, 3)), 0)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "f2", "f4", "f8", "g", "F", "D"])
def test_sort_complex(dtype):
    data = np.array([3, 1, 0, 2, 1, 0, 3, 5, 4]).astype(dtype).reshape(3, 3)
    same(np.sort_complex(wr.from_array(data, chunks=2)), np.sort_complex(data))
