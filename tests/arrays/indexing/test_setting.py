"""Setting elements: `x[key] = value` against NumPy's, names that share an array, values that don't fit."""

from __future__ import annotations

import copy
import math
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.arrays.execution.deferred import defer_unsized
from windrow.graph.lowering.lower import lower

DATA = np.arange(7 * 5 * 6.0).reshape(7, 5, 6)
MASK = DATA % 4 == 0
ROWS = np.array([4, 0, -1, 4])


def check(key, value, lazy=None, chunks=((3, 2, 4), -1, 1)):
    expected = DATA.copy()
    expected[key] = value
    for cut in chunks:
        x = wr.from_array(DATA, chunks=cut)
        grid = x.chunks
        x[key if lazy is None else lazy] = value
        assert x.chunks == grid
        np.testing.assert_array_equal(x.compute(), expected)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (3, 7.0),
        (..., 5),
        ((slice(None), 2), np.arange(6.0)),
        ((slice(5, None, -2), slice(None), slice(None, None, -1)), np.arange(3 * 5 * 6.0).reshape(3, 5, 6)),
        ((0, None, slice(1, 3)), np.arange(12.0).reshape(1, 2, 6)),
        (slice(2, 2), 9),
        (ROWS, np.arange(4 * 30.0).reshape(4, 5, 6)),
        ((ROWS, 2), np.arange(4 * 6.0).reshape(4, 6)),
        ((ROWS, slice(None), ROWS), np.arange(4 * 5.0).reshape(4, 5)),
        ((slice(None, None, -2), [[1, 2], [0, 0]], slice(5, 0, -1)), np.arange(80.0).reshape(4, 2, 2, 5)),
        ((slice(None), [1, 2], [3, 4]), [1, 2]),
        (MASK, np.arange(float(MASK.sum()))),
        (MASK, 5),
        (MASK[:, 0, 0], np.arange(6.0)),
        (MASK[:, 0, 0], np.arange(30.0).reshape(1, 5, 6)),
        ([], 5),
        (True, np.arange(6.0)),
        (False, 5),
    ],
)
def test_key(key, value):
    check(key, value)


def test_lazy_keys():
    rows, mask = wr.from_array(ROWS, chunks=3), wr.from_array(MASK, chunks=2)
    check(MASK, 5, mask)
    check(MASK, np.arange(float(MASK.sum())), mask)
    some = MASK[:, 0, 0]
    check(some, np.arange(some.sum() * 30.0).reshape(-1, 5, 6), mask[:, 0, 0])
    check(some, np.arange(some.sum() * 5.0).reshape(-1, 5, 1), mask[:, 0, 0])
    check(some, np.arange(6.0), mask[:, 0, 0])
    check(some, np.arange(6.0).reshape(1, 1, 1, 1, 6), mask[:, 0, 0])
    check((slice(None), MASK[0, :, 0]), 8, (slice(None), mask[0, :, 0]))
    check((some, None, [0]), 8, (mask[:, 0, 0], None, [0]))
    check(([0, 2], slice(None), MASK[0, 0]), [[8], [9]], ([0, 2], slice(None), mask[0, 0]))
    check(ROWS, 5, rows)
    check((1, ROWS % 2), np.arange(24.0).reshape(4, 6), (1, rows % 2))
    check(3, 1, wr.from_array(3))


def test_the_last_of_several_values_stays():
    x = wr.zeros(5, chunks=2)
    x[[1, 3, 1, 1]] = [1, 2, 3, 4]
    np.testing.assert_array_equal(x.compute(), [0, 4, 0, 2, 0])
    y = wr.zeros((2, 2), chunks=1)
    y[wr.from_array([0, 1, 0]), [1, 1, 1]] = wr.arange(3) + 1
    np.testing.assert_array_equal(y.compute(), [[0, 3], [0, 2]])


def test_other_names_keep_their_elements():
    a = wr.arange(10, chunks=4)
    apart = [a.copy(), copy.copy(a), copy.deepcopy(a), a.astype(a.dtype), a[[0, 1, 2]], a[a < 3], a.flatten(), a + 0]
    apart += [a.persist(), a.rechunk(2)]
    same = a
    a[:2] = 99
    for each in apart:
        np.testing.assert_array_equal(each[:3].compute(), [0, 1, 2])
    assert same is a
    apart[1][0] = -1
    assert int(a[0]) == 99


def test_values_are_lazy_arrays():
    x = wr.from_array(DATA, chunks=(3, 2, 4))
    x[1] = x[2] * 2
    x[:, 0] = wr.random.default_rng(1).random((7, 6), chunks=2)
    x[0, 0] = [x[1, 0, 0], *range(5)]
    expected = DATA.copy()
    expected[1] = DATA[2] * 2
    np.testing.assert_array_equal(x[1:, 1:].compute(), expected[1:, 1:])
    assert x[0, 0, 0].compute() == x[1, 0, 0].compute()
    np.testing.assert_array_equal(x[0, 0, 1:].compute(), range(5))


def test_masked_in_place_arithmetic():
    x, expected = wr.from_array(DATA, chunks=(3, 2, 4)), DATA.copy()
    x[x > 100] += 1
    x[x % 2 == 0] *= x[x % 2 == 0]
    x[:, 1] -= 1
    x[ROWS[:3], ROWS[:3]] /= 4
    expected[expected > 100] += 1
    expected[expected % 2 == 0] *= expected[expected % 2 == 0]
    expected[:, 1] -= 1
    expected[ROWS[:3], ROWS[:3]] /= 4
    np.testing.assert_array_equal(x.compute(), expected)


def test_persisted():
    x = wr.arange(10, chunks=3).persist()
    y = x.copy()
    x[4] = 0
    np.testing.assert_array_equal((x - y).compute(), [0, 0, 0, 0, -4, 0, 0, 0, 0, 0])
    z = x.persist()
    z[-1] = z[0] + 7
    assert z.sum().compute() == 45 - 4 - 9 + 7


def test_a_recurrence_reads_only_what_it_needs():
    x = wr.zeros((200, 100_000), chunks=(50, -1))
    x[0] = 1
    for k in range(199):
        x[k + 1] = x[k] + 1
    assert x[150, 7].compute() == 151
    assert "zeros" not in str(x[150, 7].explain())


@pytest.mark.parametrize(("shape", "chunks"), [((900,), 7), ((900,), (3, 0, 500, 397)), ((30, 30), (7, 4))])
def test_elements_one_after_the_other(shape, chunks):
    """The last of several values stays, lazy ones too; what was made of the array on the way keeps what it was."""
    generator = np.random.default_rng(0)
    places = [tuple(generator.integers(0, n) for n in shape) for _ in range(300)]
    expected = generator.random(shape)
    x = wr.from_array(expected.copy(), chunks=(chunks,) if isinstance(chunks, tuple) and len(shape) == 1 else chunks)
    before = []
    for k, at in enumerate(places):
        x[at] = x[places[k - 7]] + 1 if k % 5 == 0 else k
        expected[at] = expected[places[k - 7]] + 1 if k % 5 == 0 else k
        if k == 150:
            x[-2:] *= 2
            expected[-2:] *= 2
        if k in (70, 220):
            before.append((x.copy(), expected.copy()))
    for each, wanted in [*before, (x, expected), (x[5:20:3], expected[5:20:3])]:
        np.testing.assert_array_equal(each.compute(), wanted)


def test_elements_in_many_chunks_are_set_in_one_step():
    x = wr.from_array(np.zeros(3000), chunks=3)
    for k in range(0, 3000, 10):
        x[k] = 2.0 * k
    stages = lower([x.expr], lambda token: False)
    assert sum(stage.domain.nblocks for stage in stages) <= 2 * 1000 + 3 * 300
    own, values = (stages[-1].reads(number, 1) for number in range(2))
    assert (len(own.items), len(values.items)) == (1000, 300)


def test_dtypes():
    x = wr.zeros(3, dtype=np.int8)
    x[0], x[1:] = 2.9, np.array([-1.5, 3])
    np.testing.assert_array_equal(x.compute(), [2, -1, 3])
    assert x.dtype == np.int8
    text = wr.from_array(np.array(["ab", "cd"]))
    text[0] = "xyz"
    np.testing.assert_array_equal(text.compute(), ["xy", "cd"])
    when = wr.from_array(np.array(["2020-01-01"], "M8[D]"))
    when[0] = np.datetime64("2021-02-03")
    np.testing.assert_array_equal(when.compute(), np.array(["2021-02-03"], "M8[D]"))
    flags = wr.zeros(3, dtype=bool)
    flags[wr.from_array([True, False, True])] = 5
    np.testing.assert_array_equal(flags.compute(), [True, False, True])
    for value in (1j, np.ones(1, complex), wr.ones(1, dtype=complex)):
        with pytest.raises(TypeError, match="setitem: argument 'value'"):
            x[:1] = value
    with pytest.raises(OverflowError):
        x[0] = 300
    for value in ("abc", np.nan, [1, [2]]):
        with pytest.raises(ValueError, match="setitem: argument 'value' is"):
            x[0] = value
    with pytest.raises(TypeError, match="setitem: argument 'value'"):
        x[0] = {}


def test_without_elements():
    x = wr.zeros((0, 3))
    x[:] = 1
    x[x > 0] = 2
    x[[]] = np.zeros((0, 3))
    assert x.compute().shape == (0, 3)
    single = wr.zeros(())
    single[...] = 4
    single[()] += 1
    assert single.compute() == 5


def test_errors():
    x = wr.from_array(DATA, chunks=3)
    with pytest.raises(ValueError, match=r"setitem: argument 'value' has shape \(4,\); expected one that"):
        x[0] = np.zeros(4)
    with pytest.raises(ValueError, match=r"broadcasts to \(4, 5, 6\)"):
        x[wr.from_array(ROWS)] = np.zeros((3, 5, 6))
    with pytest.raises(ValueError, match=r"broadcasts to \(1, 5, 6\)|broadcasts to"):
        x[wr.from_array(MASK[:, 0, 0])] = np.zeros(7)
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0"):
        x[7] = 0
    with pytest.raises(IndexError, match="boolean mask has shape"):
        x[np.ones(4, bool)] = 0
    np.testing.assert_array_equal(x.compute(), DATA)
    x[x > 5] = np.zeros(3)
    with pytest.raises(ValueError, match=r"setitem: argument 'value' has 3 elements.*expected 204"):
        x.compute()


def test_several_threads_set_parts_of_one_array():
    x = wr.zeros(100, chunks=50)
    begin = threading.Barrier(4)

    def fill(first):
        begin.wait()
        for k in range(first, 100, 4):
            x[k] = k

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        threads = [threading.Thread(target=fill, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(interval)
    np.testing.assert_array_equal(x.compute(), np.arange(100.0))


def test_several_threads_find_a_size():
    calls = []

    def recipe(x):
        calls.append(0)
        time.sleep(0.05)
        found = yield (x > 3).sum()
        return x[-int(found) :]

    chosen = defer_unsized("chosen", recipe, (wr.arange(10, chunks=3),), (), (None,), np.int64)
    sizes: list[int] = []
    threads = [threading.Thread(target=lambda: sizes.append(len(chosen))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sizes == [6] * 5
    assert len(calls) == 1


@given(st.data())
def test_functions_set_into_boxes(data):
    """The box and the function's chunks may lie in any way; later values stand over it."""
    shape = data.draw(st.integers(4, 14)), data.draw(st.integers(4, 14))
    values = np.arange(float(math.prod(shape))).reshape(shape)
    chunks = data.draw(st.integers(1, 14)), data.draw(st.integers(1, 14))
    inner, moved = [], []
    for n in shape:
        before, after = data.draw(st.integers(0, 1)), data.draw(st.integers(0, 1))
        by = data.draw(st.integers(-before, after))
        inner.append(slice(before, n - after))
        moved.append(slice(before + by, n - after + by))
    box, other = tuple(inner), tuple(moved)

    def write(u):
        v = u.copy()
        v[0] = -1.0
        v[box] = 2 * u[box] - u[other] + u[-1, other[1]]
        v[:, 0] = v[:, 1] / 2
        v[1, 1:] = 7
        return v

    x = wr.from_array(values, chunks=chunks)
    np.testing.assert_array_equal(write(x).compute(), write(values))
    np.testing.assert_array_equal(write(write(x)).compute(), write(write(values)))


def test_a_function_set_into_the_interior_is_one_stage():
    x = wr.zeros((60, 60), chunks=20).persist()
    h = x.copy()
    h[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1]) * x[1:-1, 1:-1]
    assert len(lower([h.expr], lambda token: token == x.expr.token)) == 1
    small = x.copy()
    small[:5, :5] = x[:5, :5] + 1  # is little: not computed everywhere
    assert len(lower([small.expr], lambda token: token == x.expr.token)) > 1
    both = x + 1
    h[1:-1, 1:-1] = both[1:-1, 1:-1]
    np.testing.assert_array_equal((h + both).compute(), np.pad(np.ones((58, 58)), 1) + 1)


@pytest.mark.parametrize("value", ["x", 1j, np.zeros(3)])
def test_a_bad_key_is_told_before_a_bad_value(value):
    x = wr.zeros((4, 6))
    with pytest.raises(IndexError, match="too many indices"):
        x[5, 5, 5] = value
