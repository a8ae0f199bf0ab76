"""Arrays that all ranks read and write, on the embedded engine: values beside NumPy's, exact among threads."""

from __future__ import annotations

import gc
import itertools
import pickle
import threading
import time

import numpy as np
import pytest

import windrow as wr

DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
UFUNCS = {"add": np.add, "bitwise_or": np.bitwise_or, "bitwise_and": np.bitwise_and, "bitwise_xor": np.bitwise_xor}


def filled(shape, dtype):
    """An array, and the same as NumPy has it."""
    values = (np.arange(np.prod(shape)) * 37 % 100).astype(dtype).reshape(shape)
    made = wr.shared.symmetric(shape, dtype)
    made.set(tuple(np.indices(shape)), values)
    np.testing.assert_array_equal(made.to_numpy(), values)
    return made, values


@pytest.mark.parametrize("dtype", DTYPES)
def test_batches_as_numpy(dtype):
    c, expected = filled((50,), dtype)
    rng = np.random.default_rng(0)
    where = rng.integers(-50, 50, 300)
    values = rng.integers(0, 100, 300).astype(dtype)
    for name, ufunc in UFUNCS.items():
        if name != "add" and np.dtype(dtype).kind == "f":
            with pytest.raises(wr.DTypeError, match=f"{name}: the array's elements are {np.dtype(dtype)}"):
                getattr(c, name)(where, values)
            continue
        getattr(c, name)(where, values)
        ufunc.at(expected, where, values)
        np.testing.assert_array_equal(c.to_numpy(), expected)
        getattr(c, name)(where, 3)
        ufunc.at(expected, where, np.array(3, dtype))
        np.testing.assert_array_equal(np.asarray(c), expected)
    assert c.get(where).dtype == dtype
    np.testing.assert_array_equal(c.get(where), expected[where])
    np.testing.assert_array_equal(c.get(where.reshape(3, 100)), expected[where].reshape(3, 100))


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_element_as_numpy(dtype):
    c, expected = filled((7,), dtype)
    for i in (0, -1, np.int64(3), (2,)):
        k = i[0] if isinstance(i, tuple) else i
        before = c.fetch_add(i, 5)
        assert before == expected[k]
        assert type(before) is np.dtype(dtype).type
        expected[k] += 5
        assert c.get(i) == expected[k]
        c.add(i, np.array(2, dtype)[()])
        expected[k] += 2
        assert c.compare_and_swap(i, int(expected[k]), 9) == expected[k]
        assert c.get(i) == 9
        assert c.compare_and_swap(i, 8, 1) == 9
        c.set(i, 4)
        assert c.get(i) == 4
        expected[k] = 4
    np.testing.assert_array_equal(c.to_numpy(), expected)


def test_numpys_numbers_are_as_good_as_pythons():
    c = wr.shared.symmetric((3, 4), "i4")
    c.add((np.int64(1), np.uint8(2)), np.int32(5))
    c.add((-2, -2), np.int64(2))
    assert c.fetch_add((1, 2), 1) == 7
    assert c.compare_and_swap((np.int8(1), 2), np.int32(8), np.int32(-1)) == 8
    assert c.get((1, np.int64(-2))) == -1
    assert c.to_numpy().sum() == -1
    for index in ((3, 0), (0, 4), (-4, 0), (0,), (0, 0, 0), 0, (0, 1.0), (True, 0)):
        with pytest.raises(IndexError, match="add: argument 'i'"):
            c.add(index, 1)


def test_what_elements_were_before():
    c, expected = filled((5,), "i4")
    assert c.fetch_add([1, 1, 2], [1, 2, 3]).tolist() == [expected[1], expected[1] + 1, expected[2]]
    now = c.to_numpy()
    assert c.fetch_or(0, 8) == now[0]
    assert c.fetch_and([0], 9).tolist() == [now[0] | 8]
    assert c.fetch_xor(0, 1) == (now[0] | 8) & 9
    assert c.compare_and_swap([3, 3], [now[3], 77], [77, 78]).tolist() == [now[3], 77]
    assert c.get(3) == 78


def test_several_axes():
    c, expected = filled((3, 4, 5), "i8")
    c.add((0, -1, [1, 1, 2]), 10)
    np.add.at(expected, (0, -1, [1, 1, 2]), 10)
    c.add((np.arange(3)[:, None], np.arange(4), 0), np.arange(12).reshape(3, 4))
    expected[:, :, 0] += np.arange(12).reshape(3, 4)
    c.set((2, 3, 4), -1)
    expected[2, 3, 4] = -1
    np.testing.assert_array_equal(c.to_numpy(), expected)
    assert c.get((2, 3, -1)) == -1
    assert (c.shape, c.ndim, c.size, c.nbytes, c.dtype, len(c)) == ((3, 4, 5), 3, 60, 480, np.int64, 3)
    assert repr(c) == "<symmetric array: shape (3, 4, 5), int64>"
    point = wr.shared.symmetric((), "f8", fill=2)
    point.add((), 1.5)
    assert point.get(()) == 3.5


def test_booleans():
    seen = wr.shared.symmetric(6, bool)
    assert seen.fetch_or(2, True) is np.False_
    assert seen.fetch_or([2, 3], True).tolist() == [True, False]
    assert seen.compare_and_swap(5, False, True) is np.False_
    assert seen.to_numpy().tolist() == [False, False, True, True, False, True]
    with pytest.raises(wr.DTypeError, match="add: the array's elements are bool; expected numbers"):
        seen.add(0, True)


def test_no_elements():
    c = wr.shared.symmetric((0, 3), "f8")
    assert c.to_numpy().shape == (0, 3)
    c.add(([], []), 1)
    with pytest.raises(wr.IndexingError, match="has 0 along axis 0"):
        c.get((0, 0))
    assert wr.shared.symmetric(4).get([]).shape == (0,)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (10, r"add: argument 'i' has 10; expected positions from -10 to 9"),
        (-11, r"add: argument 'i' has -11; expected positions from -10 to 9"),
        ([3, 12], r"add: argument 'i' has 12; expected positions from -10 to 9"),
        (1.0, "add: argument 'i' has 1.0; expected integers"),
        (np.ones(10, bool), "add: argument 'i' has dtype bool; expected integers"),
        (True, "expected integers"),
        ((1, 2), r"add: argument 'i' is \(1, 2\); expected an integer or an array of them, for shape \(10,\)"),
        (slice(3), "expected integers"),
    ],
    ids=lambda x: str(x)[:20],
)
def test_wrong_positions(index, message):
    c = wr.shared.symmetric(10, "i8")
    with pytest.raises(IndexError, match=message):
        c.add(index, 1)
    assert not c.to_numpy().any()


@pytest.mark.parametrize("value", [np.int64(300), np.array([1, 300]), np.array([-129]), np.uint8(200)], ids=str)
@pytest.mark.parametrize("name", ["set", "add"])
def test_integers_of_numpy_that_do_not_fit(name, value):
    """NumPy's cast wraps them."""
    c = wr.shared.symmetric(2, "i1")
    with pytest.raises(wr.BadValue, match=rf"{name}: argument 'v' has (300|-129|200); expected what fits int8"):
        getattr(c, name)([0, 1], value)
    with pytest.raises(wr.BadValue, match=r"compare_and_swap: argument 'expected' has .* fits int8"):
        c.compare_and_swap([0, 1], value, 1)
    assert c.to_numpy().tolist() == [0, 0]
    getattr(c, name)([0, 1], np.array([7, -128]))
    assert c.to_numpy().tolist() == [7, -128]


def test_integers_with_a_sign_go_into_those_without_where_they_fit():
    c = wr.shared.symmetric(2, "u1")
    c.set([0, 1], np.array([200, 5]))
    c.add(1, np.int64(6))
    assert c.to_numpy().tolist() == [200, 11]


def test_wrong_values():
    c = wr.shared.symmetric(10, "i2")
    with pytest.raises(wr.BadValue, match="add: argument 'v' is 40000; expected what fits int16"):
        c.add(0, 40_000)
    with pytest.raises(wr.BadValue, match=r"add: argument 'v' is \[1, 40000\]; expected what fits int16"):
        c.add([0, 1], [1, 40_000])
    with pytest.raises(wr.ArgumentError, match=r"add: argument 'v' is 1\.5; expected what can be cast to int16"):
        c.add(0, 1.5)
    with pytest.raises(wr.ArgumentError, match="set: argument 'v' is 'x'"):
        c.set([0, 1], "x")
    with pytest.raises(wr.BadValue, match=r"add: argument 'v' has shape \(3,\); expected one that broadcasts"):
        c.add([0, 1], [1, 2, 3])
    with pytest.raises(wr.ArgumentError, match="compare_and_swap: argument 'expected' is None"):
        c.compare_and_swap(0, None, 1)
    with pytest.raises(wr.DTypeError, match="symmetric: argument 'dtype' is dtype"):
        wr.shared.symmetric(3, "c16")
    with pytest.raises(wr.ArgumentError, match="symmetric: argument 'fill' is 'x'; expected one element of int64"):
        wr.shared.symmetric(3, "i8", fill="x")
    with pytest.raises(wr.ArgumentError, match="reduce_sum: argument 'comm' is 5; expected the communicator"):
        wr.shared.replicated(3, "i8").reduce_sum(5)
    with pytest.raises(wr.ArgumentError, match=r"symmetric: argument 'fill' is 1\.5; expected one element of int64"):
        wr.shared.symmetric(3, "i8", fill=1.5)
    with pytest.raises(wr.ShapeError, match="symmetric: argument 'shape' is -1"):
        wr.shared.symmetric(-1)
    with pytest.raises(wr.DTypeError, match="replicated: argument 'dtype'"):
        wr.shared.replicated(3, "U5")


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "f8"])
def test_threads_lose_nothing(dtype):
    c = wr.shared.symmetric(3, dtype)
    where = np.arange(20_000) % 3

    def work(comm):
        c.add(where, 1)
        for _ in range(300):
            c.fetch_add(2, 1)

    wr.spmd(work, members=4)
    expected = np.array([4 * 6667, 4 * 6667, 4 * (6666 + 300)]).astype(dtype)
    np.testing.assert_array_equal(c.to_numpy(), expected)


def test_no_two_get_the_same():
    counter = wr.shared.symmetric(1, "u4")
    found = wr.spmd(lambda comm: [int(counter.fetch_add(0, 1)) for _ in range(500)], members=3)
    assert sorted(itertools.chain(*found)) == list(range(1500))
    owner = wr.shared.symmetric(1000, "i4", fill=-1)
    told = wr.spmd(lambda comm: int((owner.compare_and_swap(np.arange(1000), -1, comm.rank) == -1).sum()), members=3)
    assert sum(told) == 1000


def test_functions_of_blocks():
    counts = wr.shared.symmetric(10, "i8")

    def count(block):
        counts.add(block % 10, 1)
        return block

    assert wr.map_blocks(count, wr.arange(1000, chunks=30), dtype=int).sum().compute() == 499_500
    assert counts.to_numpy().tolist() == [100] * 10


def test_the_own_part():
    c = wr.shared.symmetric((5, 2), "i8")

    def fill(comm):
        mine = c.local_slice
        c.local[:] = np.arange(mine.start, mine.stop)
        comm.Barrier()
        return mine.start, mine.stop

    assert wr.spmd(fill, members=3) == [(0, 4), (4, 8), (8, 10)]
    np.testing.assert_array_equal(c.to_numpy(), np.arange(10).reshape(5, 2))
    assert c.local_slice == slice(0, 10)
    c.local[0] = 7
    assert c.get((0, 0)) == 7


def test_it_is_kept_by_sync():
    c = wr.shared.symmetric(4, "i8", fill=3)
    c.sync()

    def work(comm):
        c.add(comm.rank, 1)
        c.sync(comm)
        return c.get(1 - comm.rank)

    assert wr.spmd(work, members=2) == [4, 4]
    with pytest.raises(wr.ArgumentError, match="sync: argument 'comm' is None; expected the communicator"):
        wr.spmd(lambda comm: c.sync(), members=2)


def test_copies_become_one():
    r = wr.shared.replicated((2, 2), "f8")

    def work(comm):
        r.local[:] = comm.rank + 1
        r.reduce_sum(comm)
        total = r.local.copy()
        r.local[:] = comm.rank
        r.bcast(1, comm)
        return total.tolist(), r.local.tolist()

    assert wr.spmd(work, members=3) == [([[6, 6], [6, 6]], [[1, 1], [1, 1]])] * 3
    assert np.asarray(r).tolist() == [[1, 1], [1, 1]]
    r.local[0] = 5
    r.reduce_max()
    assert wr.spmd(lambda comm: r.local[0, 0], members=2) == [5, 5]
    r.local[0] = -5
    r.reduce_min()
    r.sync()
    assert r.to_numpy()[0, 0] == -5
    with pytest.raises(wr.ArgumentError, match="bcast: argument 'root' is 3; expected one of the ranks 0"):
        r.bcast(3)
    assert repr(r) == "<replicated array: shape (2, 2), float64>"


def test_copies_are_added_in_order():
    r = wr.shared.replicated(1, "f8")

    def work(comm):
        r.local[0] = [1e16, 1.0, -1e16][comm.rank]
        r.reduce_sum(comm)
        return r.local[0]

    assert wr.spmd(work, members=3) == [1e16 + 1.0 - 1e16] * 3


def test_it_goes_with_the_last_that_needs_it():
    with wr.Cluster(threads=1):  # what other tests let go of may go at any time

        def shared():
            return wr.cluster().info()[0]["shared"]

        before = shared()
        c = wr.shared.symmetric(1000, "i8")
        assert shared() - before == 8000
        c.sync()
        assert shared() - before == 16_000
        x = wr.map_blocks(lambda block, c: c.get(block), wr.arange(10, chunks=5), c, dtype=int)
        name = pickle.dumps(c)
        del c
        gc.collect()
        assert x.sum().compute() == 0
        assert pickle.loads(name).size == 1000
        assert shared() > before
        del x
        deadline = time.monotonic() + 10
        while shared() > before and time.monotonic() < deadline:
            gc.collect()
            wr.ones(3).sum().compute()
        assert shared() == before
        with pytest.raises(wr.ClusterError, match="gone"):
            pickle.loads(name)


def test_a_closed_cluster_has_none():
    with wr.Cluster(threads=1):
        c = wr.shared.symmetric(10, "i8")
        c.add(0, 1)
    with pytest.raises(wr.ClusterError, match=r"the symmetric array .* the cluster was closed"):
        c.get(0)


def test_threads_of_the_driver():
    c = wr.shared.symmetric(2, "i8")

    def work():
        for _ in range(500):
            c.add(1, 1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert c.get(1) == 2000


def test_several_are_kept_together():
    c, r = wr.shared.symmetric(2, "i8"), wr.shared.replicated(2)

    def work(comm):
        c.add(0, 1)
        wr.shared.sync(c, r, comm=comm)

    wr.spmd(work, members=2)
    wr.shared.sync(c, r)
    wr.shared.sync()
    assert c.get(0) == 2
    with pytest.raises(wr.ArgumentError, match=r"sync: argument 'arrays\[1\]' is 3; expected an array that"):
        wr.shared.sync(c, 3)


def test_sync_takes_a_communicator():
    with pytest.raises(wr.ArgumentError, match="sync: argument 'comm' is 3"):
        wr.shared.symmetric(2, "i8").sync(3)
