"""Shared arrays: what is gathered, updated and added is NumPy's; versions stay what they were as long as needed."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import windrow as wr
from support.pairs import pairs
from windrow.scheduler.shared.pages import applying
from windrow.workers.shared.pages.positions import pages_of

PAGE = 4096


def picked(v, index, **more):
    """Gather in a task."""
    return wr.map_blocks(lambda block: v[index], wr.zeros(1), dtype=v.dtype, **more).compute()


@st.composite
def indexes(draw, shape):
    """Integers, slices, arrays of integers or booleans, tuples."""
    kinds = [
        st.integers(-shape[0], shape[0] - 1),
        st.slices(shape[0]),
        hnp.arrays(np.int64, hnp.array_shapes(max_dims=2, max_side=4), elements=st.integers(-shape[0], shape[0] - 1)),
        hnp.arrays(bool, shape[0]),
        st.lists(st.integers(0, shape[0] - 1), max_size=4),
        st.just(...),
    ]
    if len(shape) > 1:
        kinds.append(hnp.basic_indices(shape, allow_newaxis=False))
        kinds.append(hnp.integer_array_indices(shape))
    return draw(st.one_of(kinds))


@given(st.data())
def test_versions_against_numpy(data):
    shape = data.draw(st.sampled_from([(7,), (5000,), (40, 3), (30, 700), (3, 5000), (5, 4, 3)]))
    expected = np.arange(np.prod(shape)).reshape(shape).astype(data.draw(st.sampled_from(["f8", "i4", "c8"])))
    v = wr.shared.array(expected, page=PAGE)
    kept = []
    for _ in range(data.draw(st.integers(1, 5))):
        index = data.draw(indexes(shape))
        found = v[index]
        np.testing.assert_array_equal(found, expected[index])
        assert np.shape(found) == expected[index].shape
        what = data.draw(st.sampled_from(["update", "add", "keep", "drop"]))
        if what == "update":
            v.update(index, 5)
            expected[index] = 5
        elif what == "add":
            v.add(index, 2)
            np.add.at(expected, index if not isinstance(index, list) else np.array(index, int), 2)
        elif what == "keep":
            kept.append((pickle.dumps(v), expected.copy()))
        elif kept:
            kept.pop()
    np.testing.assert_array_equal(v[:], expected)
    for name, old in kept:
        np.testing.assert_array_equal(pickle.loads(name)[:], old)


@given(st.data())
def test_pages_of_an_index_cover_what_it_picks(data):
    shape = data.draw(st.sampled_from([(7,), (5000,), (40, 3), (30, 700), (3, 5000)]))
    array = np.arange(np.prod(shape)).reshape(shape)
    index = data.draw(indexes(shape))
    index = np.array(index, int) if isinstance(index, list) else index
    touched = pages_of(index, shape, 8, PAGE)
    assert set((array[index] * 8 // PAGE).reshape(-1).tolist()) <= set(touched.tolist())
    assert set(touched.tolist()) <= set(range(-(-array.nbytes // PAGE)))


@pytest.mark.parametrize("lazy", [False, True])
def test_it_holds_what_it_was_made_of(lazy):
    made = wr.arange(6000, chunks=700).reshape(60, 100)
    v = wr.shared.array(made if lazy else made.compute(), page=PAGE)
    np.testing.assert_array_equal(v[:], np.arange(6000).reshape(60, 100))
    assert (v.shape, v.dtype, v.ndim, v.size, v.nbytes, len(v)) == ((60, 100), np.int64, 2, 6000, 48000, 60)
    assert v.info()["pages"] == 12
    v[:][...] = 0
    assert v[1, 1] == 101, "what is gathered is the user's own"


def test_tasks_see_the_version_that_was_there_when_they_were_made():
    v = wr.shared.array(np.zeros(3000), page=PAGE)
    x = wr.arange(3000, chunks=500)
    look = lambda block: v[block]  # noqa: E731
    lazy, same = (wr.map_blocks(look, x, dtype=float) for _ in range(2))
    assert lazy.expr.token == same.expr.token
    v.update(7, 1)
    later = wr.map_blocks(look, x, dtype=float)
    assert later.expr.token != lazy.expr.token
    assert (lazy.sum().compute(), later.sum().compute()) == (0, 1)
    assert v.info()["copied"] == 1


def test_pages_go_that_nobody_needs():
    v = wr.shared.array(np.zeros(3000), page=PAGE)
    base = v.info()["used"]
    y = wr.map_blocks(lambda block: v[block], wr.arange(10, chunks=5), dtype=float).persist()
    wr.wait(y)
    v.update(slice(None), 1)
    assert v.info()["used"] == 2 * base, "what was lost would be made again with the old version"
    np.testing.assert_array_equal(y.compute(), 0)
    y = None
    gc.collect()
    v.update(0, 2)
    assert v.info() | {"used": base, "copied": 6} == v.info(), "written in place, and the old pages are given back"
    for k in range(100):
        old = wr.map_blocks(lambda block: v[block], wr.arange(10, chunks=5), dtype=float)
        v.update(k, 3)
    assert old is not None
    assert v.info()["used"] <= base + PAGE


def test_additions_count_once_when_the_computation_is_through():
    v = wr.shared.array(np.zeros((5, 2)))

    def add(block):
        v.add_at(np.array([1, 1, 4]), np.array([1.0, 2.0])[None] * block.sum())
        v.add_at((0, 1), 1)
        return block + v[1, 0]

    x = wr.arange(6, chunks=2)
    y = wr.map_blocks(add, x, dtype=float)
    assert not v[:].any()
    np.testing.assert_array_equal(y.compute(), np.arange(6), "it reads the version before")
    expected = np.zeros((5, 2))
    expected[1], expected[4], expected[0, 1] = [30, 60], [15, 30], 3
    np.testing.assert_array_equal(v[:], expected)
    np.testing.assert_array_equal(y.compute(), np.arange(6))
    np.testing.assert_array_equal(v[:], expected)
    again = wr.map_blocks(add, x, dtype=float).persist()
    wr.wait(again)
    np.testing.assert_array_equal(v[:], 2 * expected)
    assert again[0].compute() == 30
    np.testing.assert_array_equal(v[:], 2 * expected)


def test_what_is_persisted_below_counts_whole_and_parts_count_once():
    v = wr.shared.array(np.zeros(10, int))

    def add(block):
        v.add_at(block, 1)
        return block

    kept = wr.map_blocks(add, wr.arange(10, chunks=2), dtype=int).persist()
    assert kept[:1].sum().compute() == 0
    np.testing.assert_array_equal(v[:], 1)
    lazy = wr.map_blocks(add, wr.arange(10, chunks=2), dtype=int)
    assert lazy[:1].sum().compute() == 0
    np.testing.assert_array_equal(v[:], [2, 2] + [1] * 8)
    lazy.compute()
    np.testing.assert_array_equal(v[:], 2)


def test_a_computation_that_fails_adds_nothing():
    v = wr.shared.array(np.zeros(10, int))

    def add(block):
        v.add_at(block, 1)
        if block[0] == 8:
            raise ValueError("eight")
        return block

    with pytest.raises(ValueError, match="eight"):
        wr.map_blocks(add, wr.arange(10, chunks=2), dtype=int).compute()
    wr.ones(3).sum().compute()
    np.testing.assert_array_equal(v[:], 0)


def test_order_of_additions_is_that_of_blocks():
    values = np.random.default_rng(0).random(40) * 10.0 ** np.arange(40)
    v = wr.shared.array(np.zeros(1))
    x = wr.from_array(values, chunks=4)

    def add(block):
        v.add_at(np.zeros(len(block), int), block)
        return block

    wr.map_blocks(add, x, dtype=float).compute()
    expected = np.zeros(1)
    np.add.at(expected, np.zeros(40, int), values)
    assert v[0] == expected[0]


def test_members_of_gangs_read_and_add():
    v = wr.shared.array(np.arange(6.0))

    def member(comm, part):
        v.add_at(np.arange(2), comm.rank + 1)
        return float(v[part.joined()].sum())

    assert wr.spmd(member, wr.arange(6, chunks=2), members=3) == [1, 5, 9]
    np.testing.assert_array_equal(v[:], [6, 7, 2, 3, 4, 5])


def test_a_function_that_is_tried_adds_nothing():
    v = wr.shared.array(np.zeros(10, int))

    def add(block):
        v.add_at(block, 1)
        return block

    y = wr.map_blocks(add, wr.arange(10, chunks=2))
    np.testing.assert_array_equal(v[:], 0)
    y.compute()
    np.testing.assert_array_equal(v[:], 1)


def test_bad_input_is_refused_at_the_call():
    v = wr.shared.array(np.zeros((5, 2)))
    with pytest.raises(wr.ArgumentError, match=r"array: argument 'page' is '3 cows'"):
        wr.shared.array(np.zeros(5), page="3 cows")
    with pytest.raises(wr.ArgumentError, match=r"array: argument 'page' is 1\.5"):
        wr.shared.array(np.zeros(5), page=1.5)
    with pytest.raises(wr.ArgumentError, match="array: argument 'spread' is 3; expected True or False"):
        wr.shared.array(np.zeros(5), spread=3)
    with pytest.raises(wr.ArgumentError, match="at least one axis"):
        wr.shared.array(3.0)
    with pytest.raises(wr.ArgumentError, match="no Python objects"):
        wr.shared.array(np.array([{}, {}]))
    with pytest.raises(IndexError, match=r"update: argument 'index': index 7 is out of bounds for axis 0 with size 5"):
        v.update([1, 7], 0)
    with pytest.raises(IndexError):
        v[5]
    with pytest.raises(IndexError):
        v[[0, -6]]
    with pytest.raises(wr.DTypeError, match="update: argument 'values' has dtype complex128"):
        v.update(0, 1j)
    with pytest.raises(wr.BadValue, match=r"add: argument 'values' has shape \(3,\); expected .* \(2,\)"):
        v.add(0, [1, 2, 3])
    with pytest.raises(wr.ArgumentError, match="add_at: it is for the function"):
        v.add_at(0, 1)
    with pytest.raises(wr.DTypeError, match="add: the shared array has dtype <U1"):
        wr.shared.array(np.array(["a"])).add(0, "b")
    with pytest.raises(IndexError, match="add_at: argument 'index'"):
        wr.map_blocks(lambda block: v.add_at(9, 1), wr.ones(3), dtype=float).compute()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u8", "i2", ">f8"])
@pytest.mark.parametrize("places", [(40_000,), (1000, 40), (100, 20, 20)])
def test_very_many_positions(dtype, places):
    rng = np.random.default_rng(0)
    size = 30_000
    begin = rng.integers(0, 100, size).astype(dtype)
    index = rng.integers(-size, size, places)
    v = wr.shared.array(begin, page=PAGE)
    np.testing.assert_array_equal(v[index], begin[index])
    np.testing.assert_array_equal(v[index % size], begin[index % size])
    expected = begin.copy()
    for values in (rng.integers(0, 9, places), rng.integers(0, 9, (*places[:-1], 1)), rng.integers(0, 9, places[-1:])):
        v.add(index, values.astype(dtype))
        np.add.at(expected, index, np.broadcast_to(values, places).astype(dtype))
        np.testing.assert_array_equal(v[:], expected)
    with pytest.raises(IndexError, match="index 30000 is out of bounds"):
        v.add(np.where(index == index.flat[7], size, index), 1)
    with pytest.raises(IndexError):
        v[np.where(index == index.flat[7], -size - 1, index)]


def test_bits_of_very_many_additions_are_numpys():
    rng = np.random.default_rng(0)
    values = rng.random(1 << 21, np.float32)
    index = (1000 * rng.random(1 << 21) ** 3).astype(int)
    v = wr.shared.array(np.zeros(1000, np.float32))
    v.add(index, values)
    expected = np.zeros(1000, np.float32)
    np.add.at(expected, index, values)
    np.testing.assert_array_equal(v[:], expected)


def test_steps_of_training_read_it():
    v = wr.shared.array(np.array([0.5, 2.0]))

    def step(state, rows):
        return state + v[1] * rows.mean(axis=0)

    state, _ = wr.ml.train(step, np.zeros(1), wr.ones((100, 1)), epochs=2, batch_size=50, shards=1)
    np.testing.assert_allclose(state, [8.0])


@pytest.mark.parametrize("apart", [True, False])
def test_bits_where_features_have_ranges_of_their_own(apart):
    rng = np.random.default_rng(0)
    width, points = 37, 1 << 16
    index = rng.integers(0, 1000, (points, width)) + (1000 * np.arange(width) if apart else 0)
    values = rng.random((points, 1), np.float32)
    v = wr.shared.array(np.zeros(1000 * width, np.float32))
    v.add(index, values)
    expected = np.zeros(1000 * width, np.float32)
    np.add.at(expected, index.reshape(-1), np.repeat(values, width))
    np.testing.assert_array_equal(v[:], expected)


def test_what_is_larger_than_the_memory_is_refused_at_once():
    huge = np.broadcast_to(1.0, (1 << 45,))
    with pytest.raises(wr.OutOfMemory, match="array: argument 'x' asks for 281,474,976,710,656 bytes"):
        wr.shared.array(huge)
    for make in (wr.shared.symmetric, wr.shared.replicated):
        with pytest.raises(wr.OutOfMemory, match="argument 'shape' asks for"):
            make(1 << 45, "f8")


def test_a_version_that_is_gone_says_so_and_gives_no_zeros():
    v = wr.shared.array(np.arange(9.0))
    (read,) = wr.spmd(lambda comm, v=v: v, members=1)
    assert read[4] == 4
    v.update(4, 5.0)
    assert v[4] == 5
    del v
    gc.collect()
    wr.ones(3).sum().compute()
    with pytest.raises(wr.ClusterError, match="a shared array, or this version of it, is gone"):
        read[4]


@pytest.mark.parametrize(
    ("apart", "shape", "dtype"), pairs([True, False], [(), (1,), (7,), (6000, 1), (6000, 7)], ["f4", "f8", "i8"])
)
def test_very_many_additions_are_made_in_their_order(apart, shape, dtype):
    """Columns of positions that have ranges of their own are added one after the other: to the same bits."""
    rng = np.random.default_rng(0)
    width = 500 if apart else 3500
    blocks = [rng.integers(0, width, (6000, 7)) + (500 * np.arange(7) if apart else 0) for _ in range(30)]
    blocks[3][:, 2] = 1200
    values = [(rng.standard_normal(shape) * 10.0 ** rng.integers(0, 5, shape)).astype(dtype) for _ in blocks]
    assert sum(block.size for block in blocks) > applying.LARGE
    expected = np.zeros(3500, dtype)
    v = wr.shared.array(expected)
    for index, added in zip(blocks, values, strict=True):
        np.add.at(expected, index.reshape(-1), np.broadcast_to(added, index.shape).reshape(-1))

    def add(numbers):
        for k in numbers.tolist():
            v.add_at(blocks[k] if k % 2 else blocks[k] - 3500 * (blocks[k] % 2), values[k])
        return numbers

    wr.map_blocks(add, wr.arange(30, chunks=4)).compute()
    np.testing.assert_array_equal(v[:], expected)
    v.add(blocks[0], values[0])
    np.add.at(expected, blocks[0].reshape(-1), np.broadcast_to(values[0], blocks[0].shape).reshape(-1))
    np.testing.assert_array_equal(v[:], expected)


def test_elements_are_not_set_by_brackets():
    v = wr.shared.array(np.zeros(3))
    with pytest.raises(TypeError, match=r"v\.update\(index, values\) writes"):
        v[0] = 1
    with pytest.raises(TypeError, match=r"v\.add_at\(index, values\) adds"):
        wr.map_blocks(lambda block: v.__setitem__(0, 1), wr.ones(3), dtype=float).compute()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(9000, 7), (9000, 1), (7,), ()], ids=str)
def test_of_very_many_repeated_positions_the_last_one_holds(shape, order):
    rng = np.random.default_rng(0)
    index = rng.integers(0, 5000, (9000, 7))
    values = np.asarray(rng.standard_normal(shape), order=order)
    expected = np.zeros(5000)
    v = wr.shared.array(expected)
    expected[index] = values
    v.update(index, values)
    np.testing.assert_array_equal(v[:], expected)


@pytest.mark.parametrize("page", ["4 KiB", "12 KiB"])
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("shape", [(200, 300), (60_000,), (20, 30, 100)], ids=str)
def test_positions_of_any_order_in_memory_are_added(shape, orders, page):
    rng = np.random.default_rng(0)
    index = np.asarray(rng.integers(-5000, 5000, shape), order=orders[0])
    values = np.asarray(rng.integers(0, 3, shape).astype(float), order=orders[1])
    expected = np.bincount(index.ravel() % 5000, values.ravel(), 5000)
    v = wr.shared.array(np.zeros(5000), page=page)
    v.add(index, values)
    np.testing.assert_array_equal(v[:], expected)
    w = wr.shared.array(np.zeros(5000), page=page)

    def add(block):
        w.add_at(index, values)
        return block

    wr.map_blocks(add, wr.arange(2, chunks=1)).compute()
    np.testing.assert_array_equal(w[:], 2 * expected)


@pytest.mark.parametrize("change", ["update", "add"])
@pytest.mark.parametrize("values", [300, -1, [1, 256], np.array([2**40])])
def test_integers_that_do_not_fit(change, values):
    v = wr.shared.array(np.zeros(2, np.uint8))
    with pytest.raises(wr.BadValue, match=f"{change}: argument 'values' has .*expected what fits uint8"):
        getattr(v, change)([0, 1], values)
    assert v[:].tolist() == [0, 0]


def test_masks_are_refused():
    with pytest.raises(wr.ArgumentError, match="array: argument 'x' is 'MaskedArray'"):
        wr.shared.array(np.ma.array([1, 2], mask=[0, 1]))


@pytest.mark.parametrize("change", ["update", "add"])
def test_functions_are_told_what_they_can_not_do(change):
    v = wr.shared.array(np.zeros(2))

    def changes(block):
        getattr(v, change)(0, 1)
        return block

    with pytest.raises(TypeError, match=r"in functions v\.add_at"):
        wr.map_blocks(changes, wr.ones(2), dtype=float).compute()


def test_lazy_positions_pick_lazily():
    data = np.arange(60.0).reshape(10, 3, 2)
    v = wr.shared.array(data)
    rows = np.array([3, 9, -1, 0, 3])
    lazy = wr.from_array(rows, chunks=2)
    x = wr.from_array(data.sum((1, 2)), chunks=4)
    mask = data.sum((1, 2)) > 60
    cases = [
        (lazy, rows),
        ((lazy, 1), (rows, 1)),
        ((lazy, [0, 1, 2, 0, 1]), (rows, [0, 1, 2, 0, 1])),
        ((lazy, slice(1, None)), (rows, slice(1, None))),
        ((lazy, ..., slice(1)), (rows, ..., slice(1))),
        ((lazy % 3, lazy % 3, lazy % 2), (rows % 3, rows % 3, rows % 2)),
        (x > 60, mask),
        ((x > 60, 2), (mask, 2)),
        ((lazy, [True, False, False]), (rows, [True, False, False])),
        ((5, lazy % 3), (5, rows % 3)),
        (wr.from_array(data, chunks=3) > 30, data > 30),
        (lazy.reshape(5, 1), rows.reshape(5, 1)),
    ]
    for index, plain in cases:
        got = v[index]
        assert isinstance(got, wr.Array)
        np.testing.assert_array_equal(got.compute(), data[plain])
    before = v[lazy]
    v.update(..., 0)
    np.testing.assert_array_equal(before.compute(), data[rows])
    assert not v[lazy].compute().any()
    with pytest.raises(IndexError, match="out of bounds"):
        v[wr.from_array([10], chunks=1)].compute()
    wrongs = [(slice(1), lazy), (lazy, None), lazy * 1.5, (lazy, 0, 0, 0), (lazy, slice(1), slice(1), slice(1))]
    for wrong in (*wrongs, (lazy, [0.5]), (lazy, [True, False]), (lazy, True), lazy > 3, (x > 60, x > 60)):
        with pytest.raises(wr.IndexingError, match="shared array: argument 'index'"):
            v[wrong]


FORKS = """
import gc, os
import numpy as np
import windrow as wr

v = wr.shared.array(np.arange(100_000.0))
child = os.fork()
if not child:
    v = None
    gc.collect()
    os._exit(0)
os.waitpid(child, 0)
assert v[-1] == 99_999
"""


def test_a_forked_child_does_not_take_its_parents_pages_along():
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, timeout=100)
    assert ended.returncode == 0, ended.stderr
