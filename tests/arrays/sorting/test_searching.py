"""Positions of elements, elements at positions, and axes with elements left out or put in, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import windrow as wr
from support.arrays import same

DATA = np.arange(7 * 5 * 6).reshape(7, 5, 6) * 7 % 4
CHUNKS = [-1, (3, 2, 4), 3, ((0, 7), (1, 4), (6, 0))]


@pytest.fixture(params=CHUNKS, ids=range(len(CHUNKS)))
def x(request):
    return wr.from_array(DATA, chunks=request.param)


def test_nonzero(x):
    for found, expected in zip(wr.nonzero(x), np.nonzero(DATA), strict=True):
        same(found, expected)
    for found, expected in zip(wr.where(x > 2), np.where(DATA > 2), strict=True):
        same(found, expected)
    for found, expected in zip(x.nonzero(), DATA.nonzero(), strict=True):
        same(found, expected)
    same(wr.argwhere(x), np.argwhere(DATA))
    same(wr.flatnonzero(x), np.flatnonzero(DATA))
    same(x[wr.nonzero(x > 2)], DATA[DATA > 2])
    same(wr.argwhere(x > 9), np.argwhere(DATA > 9))
    with pytest.raises(ValueError, match=r"nonzero: argument 'a'.*at least one axis"):
        wr.nonzero(wr.ones(()))
    for single in (wr.ones(()), wr.zeros(())):
        same(wr.argwhere(single), np.argwhere(single.compute()))
        same(wr.flatnonzero(single), np.flatnonzero(single.compute()))


def test_nonzero_of_other_dtypes():
    for values in (np.array([0.0, np.nan, -0.0, 1]), np.array([0, 1j]), np.array(["", "a"]), np.zeros((0, 3))):
        for found, expected in zip(wr.nonzero(wr.from_array(values, chunks=1)), np.nonzero(values), strict=True):
            same(found, expected)


@given(st.data())
def test_take_along_axis(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=6))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    values = np.arange(np.prod(shape)).reshape(shape)
    mine = [data.draw(st.sampled_from([1, n])) for n in shape]
    other = [n if m == 1 else data.draw(st.sampled_from([1, n])) for n, m in zip(shape, mine, strict=True)]
    mine[axis], other[axis] = shape[axis], data.draw(st.integers(0, 5))
    values = values[tuple(slice(0, n) for n in mine)]
    index = data.draw(hnp.arrays(int, tuple(other), elements=st.integers(-shape[axis], shape[axis] - 1)))
    x = wr.from_array(values, chunks=tuple(data.draw(st.integers(1, n)) for n in mine))
    given_index = wr.from_array(index, chunks=data.draw(st.integers(1, 4))) if data.draw(st.booleans()) else index
    same(wr.take_along_axis(x, given_index, axis), np.take_along_axis(values, index, axis))


def test_take_along_axis_of_the_flattened_array(x):
    same(wr.take_along_axis(x, [3, -1, 100], None), np.take_along_axis(DATA, np.array([3, -1, 100]), None))
    with pytest.raises(ValueError, match="take_along_axis: argument 'indices'"):
        wr.take_along_axis(x, np.zeros((2, 2), int), 0)
    with pytest.raises(TypeError, match="take_along_axis: argument 'indices'"):
        wr.take_along_axis(x, np.zeros((7, 5, 6)), 0)
    with pytest.raises(ValueError, match="shapes that broadcast"):
        wr.take_along_axis(x, np.zeros((7, 2, 6), int), 0)


def test_take(x):
    index = np.array([[1, 100], [-1, 3]])
    for given_index in (index, index.tolist(), wr.from_array(index, chunks=1)):
        same(wr.take(x, given_index), np.take(DATA, index))
        for mode in ("wrap", "clip"):
            same(x.take(given_index, 1, mode=mode), DATA.take(index, 1, mode=mode))
    same(wr.take(x, [], 0), np.take(DATA, np.zeros(0, int), 0))
    same(wr.take(x, wr.from_array(2), 2), np.take(DATA, 2, 2))
    with pytest.raises(TypeError, match="take: argument 'indices'"):
        wr.take(x, [0.5])
    with pytest.raises(TypeError, match="take: argument 'mode'"):
        wr.take(x, [1], mode="none")
    with pytest.raises(IndexError, match="index 210"):
        wr.take(x, 210)


def test_compress_and_extract(x):
    keep = np.array([True, False, True])
    for condition in (keep, wr.from_array(keep, chunks=2), keep.astype(int)):
        for axis in (0, 1, -1, None):
            same(wr.compress(condition, x, axis), np.compress(keep, DATA, axis))
    same(x.compress(keep, 1), DATA.compress(keep, 1))
    for condition in (DATA > 1, (DATA > 1).tolist(), wr.from_array(DATA > 1, chunks=3)):
        same(wr.extract(condition, x), np.extract(DATA > 1, DATA))
    with pytest.raises(ValueError, match="compress: argument 'condition'"):
        wr.compress(np.ones(8, bool), x, 0)
    with pytest.raises(ValueError, match="compress: argument 'condition'"):
        wr.compress(wr.ones(8, dtype=bool), x, 0)


def test_choose(x):
    choices, lazy = [DATA, DATA * 2, 5, DATA[0]], [x, x * 2, 5, x[0]]
    same(wr.choose(x, lazy), np.choose(DATA, choices))
    same(wr.choose(x * 3 - 2, lazy, mode="wrap"), np.choose(DATA * 3 - 2, choices, mode="wrap"))
    same(wr.choose(x * 3 - 2, lazy, mode="clip"), np.choose(DATA * 3 - 2, choices, mode="clip"))
    same((x[0] * 2).choose(x), (DATA[0] * 2).choose(DATA))
    row, expected = wr.choose(x[0], [x[0], 5, 6, 7]), np.choose(DATA[0], [DATA[0], 5, 6, 7])
    same(wr.broadcast_to(row, (2, *DATA[0].shape)), np.broadcast_to(expected, (2, *DATA[0].shape)))
    with pytest.raises(ValueError, match="invalid entry"):
        wr.choose(x + 1, lazy).compute()
    with pytest.raises(TypeError, match="choose"):
        wr.choose(x * 1.0, lazy)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("dtype", ["f8", "u8", "c16", "m8[s]"])
def test_choose_takes_integers_alone(mode, dtype):
    for numbers in (np.ones(3).astype(dtype), wr.ones(3, chunks=2).astype(dtype)):
        with pytest.raises(TypeError, match="choose: argument 'a' is dtype"):
            wr.choose(numbers, [wr.ones(3), 2], mode=mode)
    with pytest.raises(TypeError, match="choose: argument 'a' is dtype"):
        wr.ones(3).astype(dtype).choose([1, 2], mode=mode)


EMPTY = [slice(-1, 2), slice(2, 1), slice(1, 4, -1), slice(9, 9)]


def test_delete(x):
    for axis in (0, 1, 2, None):
        for obj in (1, -1, [0, 2], slice(1, 4, 2), slice(None, None, -2), [1, 1, -4], [], np.int8(2), *EMPTY):
            same(wr.delete(x, obj, axis), np.delete(DATA, obj, axis))
        same(wr.delete(x, wr.from_array([1, 2]), axis), np.delete(DATA, [1, 2], axis))
    mask = np.arange(7) % 3 == 0
    same(wr.delete(x, mask, 0), np.delete(DATA, mask, 0))
    same(wr.delete(x, wr.from_array(mask, chunks=2), 0), np.delete(DATA, mask, 0))
    line = wr.arange(1000, chunks=77)
    same(wr.delete(line, slice(0, 1000, 2)), np.arange(1, 1000, 2))
    assert wr.delete(line, range(77, 160)).chunks[0][:2] == (77, 71)
    for wrong in (7, [0, 9], np.ones(3, bool), 1.5):
        with pytest.raises(IndexError, match="delete"):
            wr.delete(x, wrong, 0)


def test_insert(x):
    wide = np.arange(12).reshape(2, 6)
    for axis in (0, 1, 2, None):
        for obj in (1, -1, [0, 2], [2, 2, 0], slice(1, 4), [1], []):
            same(wr.insert(x, obj, 9, axis), np.insert(DATA, obj, 9, axis))
    same(wr.insert(x, [0, 2], wide, 1), np.insert(DATA, [0, 2], wide, 1))
    same(wr.insert(x, 2, DATA[:, 0], 1), np.insert(DATA, 2, DATA[:, 0], 1))
    for one in (np.array([2]), [2], np.arange(5) == 2, slice(2, 3)):
        same(wr.insert(x, one, [[1], [2], [3]], 1), np.insert(DATA, one, [[1], [2], [3]], 1))
        same(wr.insert(x[0].T, one, [1, 2], -1), np.insert(DATA[0].T, one, [1, 2], -1))
    same(wr.insert(x, [2], DATA[:, :2], 1), np.insert(DATA, [2], DATA[:, :2], 1))
    same(wr.insert(x, 5, x[:, 1], axis=1), np.insert(DATA, 5, DATA[:, 1], axis=1))
    same(wr.insert(x, DATA[:, 0, 1] > 1, 1.9, 0), np.insert(DATA, DATA[:, 0, 1] > 1, 1.9, 0))
    same(wr.insert(wr.arange(4, chunks=3), [1, 3], [10, 30]), np.insert(np.arange(4), [1, 3], [10, 30]))
    with pytest.raises(IndexError, match="insert: argument 'obj'"):
        wr.insert(x, 8, 0, 0)
    with pytest.raises(ValueError, match="insert: argument 'values'"):
        wr.insert(x, [1, 2], np.zeros((3, 5, 6)), 0)
    with pytest.raises(TypeError, match="insert: argument 'obj'"):
        wr.insert(x, wr.arange(2), 0, 0)
    with pytest.raises(TypeError, match="insert: argument 'values'"):
        wr.insert(x, 1, 1j, 0)


def test_append(x):
    same(wr.append(x, DATA), np.append(DATA, DATA))
    same(wr.append(x, x[:, :2] * 1.5, axis=1), np.append(DATA, DATA[:, :2] * 1.5, axis=1))
    same(wr.append(x, 4), np.append(DATA, 4))


def test_by_numpys_names(x):
    same(np.take_along_axis(x, np.zeros((7, 1, 6), int), 1), DATA[:, :1])
    same(np.delete(x, 0, axis=0), DATA[1:])
    same(np.append(x, x, axis=0), np.append(DATA, DATA, axis=0))
    same(np.flatnonzero(x), np.flatnonzero(DATA))
    same(np.take(x, [1], axis=0, mode="wrap"), DATA[1:2])
    same(np.compress([True], x, axis=0), DATA[:1])


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_insert_and_delete_of_many(axis):
    """Runs of a few elements, and of one, are taken position by position."""
    rng = np.random.default_rng(6)
    a = rng.random((500, 7) if axis == 0 else (3, 600))
    n = a.size if axis is None else a.shape[axis]
    few, many, double = rng.integers(0, n, 9), rng.choice(n, n // 2, replace=False), rng.integers(-n, n + 1, n)
    for chunks in (-1, 50, ((11, 1, *(n - 12 for n in a.shape[:1])), -1) if axis == 0 else (2, (7, 93, 500))):
        x = wr.from_array(a, chunks=chunks)
        for where in (few, many, np.sort(many), slice(1, -1, 3), slice(None, 5, -2), np.arange(n) % 3 == 0, [-1], []):
            got, want = wr.delete(x, where, axis), np.delete(a, where, axis)
            assert np.array_equal(got.compute(), want)
            assert np.array_equal((got + 1).persist().compute(), want + 1)
        for where in (few, many, np.sort(double), double):
            got, want = wr.insert(x, where, 5.0, axis), np.insert(a, where, 5.0, axis)
            assert np.array_equal(got.compute(), want)
        values = rng.random(len(double)) if axis != 0 else rng.random((len(double), 1))
        assert np.array_equal(wr.insert(x, double, values, axis).compute(), np.insert(a, double, values, axis))


@pytest.mark.parametrize("mode", ["reflect", "symmetric", "wrap", "edge", "mean"])
@pytest.mark.parametrize("kind", ["even", "odd"])
def test_wide_margins(mode, kind):
    """Narrow ones, wide ones, and those that turn several times."""
    more = {"reflect_type": kind} if mode in ("reflect", "symmetric") else {}
    for n in (1, 2, 7, 60):
        a = np.random.default_rng(n).random((n, 3))
        for width in (3, 9, 59, 200):
            want = np.pad(a, ((width, 2 * width), (0, 1)), mode, **more)
            for chunks in (-1, 5):
                got = wr.pad(wr.from_array(a, chunks=chunks), ((width, 2 * width), (0, 1)), mode, **more)
                np.testing.assert_allclose(got.compute(), want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("index", [2**63, 2**64 - 1])
def test_positions_beyond_64_bits_are_out_of_bounds(x, index):
    with pytest.raises(wr.IndexingError, match=f"delete: index {index} is out of bounds"):
        wr.delete(x, np.array([1, index], "u8"), 0)


HUGE = {
    "pad": lambda x: wr.pad(x, 2**63 - 2),
    "pad edges": lambda x: wr.pad(x[None], ((2**40, 0), (0, 2**30)), mode="edge"),
    "repeat": lambda x: wr.repeat(x, [2**61] * 4),
    "repeat beyond 64 bits": lambda x: wr.repeat(x, [2**62] * 4),
}


@pytest.mark.parametrize("name", HUGE)
def test_what_has_more_elements_than_int64_counts_is_refused(name):
    with pytest.raises(wr.ShapeError, match=r"than 2\*\*63"):
        HUGE[name](wr.ones(4))


def test_repeated_and_tiled():
    a = np.arange(60.0).reshape(5, 12)
    for chunks in (-1, (2, 5), ((1, 0, 4), (3, 9))):
        x = wr.from_array(a, chunks=chunks)
        for count in (0, 1, 2, 5, 40):
            for axis in (None, 0, 1):
                assert np.array_equal(wr.repeat(x, count, axis).compute(), np.repeat(a, count, axis))
                assert np.array_equal(
                    (wr.repeat(x + 1, count, axis) * 2).sum().compute(), np.repeat(a + 1, count).sum() * 2
                )
            for reps in (count, (count, 2), (2, 1, count)):
                assert np.array_equal(wr.tile(x, reps).compute(), np.tile(a, reps))
                assert np.array_equal(
                    wr.sort(wr.tile(x, reps), axis=None).compute(), np.sort(np.tile(a, reps), axis=None)
                )
        made = wr.repeat(wr.arange(12, chunks=5), 7)  # of a source positions are led back
        assert np.array_equal(made[3:40:5].compute(), np.repeat(np.arange(12), 7)[3:40:5])
