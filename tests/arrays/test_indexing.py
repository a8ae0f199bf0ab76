"""Indexing against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import windrow as wr

DATA = np.arange(7 * 5 * 6).reshape(7, 5, 6)
ROWS = np.array([4, 0, -1, 4])
KEYS = [
    3,
    -1,
    (1, 2, 3),
    ...,
    slice(2, 5),
    slice(None, None, -1),
    slice(6, 1, -2),
    slice(4, 2),
    (slice(1, None, 3), slice(None, None, -2), 2),
    (..., 1),
    (2, ..., slice(1, 3)),
    None,
    (None, 1, None, ..., None),
    [1, 3, 5],
    [],
    ROWS,
    (slice(None), [0, 4]),
    (..., [5, 0, 0]),
    (ROWS, 1),
    (1, slice(None), [1, 2]),
    (ROWS, slice(1, 3), 2),
    (ROWS, [0, 1, 2, 3]),
    (slice(None), [0, 1], [2, 3]),
    ([0, 1], slice(None), [2, 3]),
    ([[0], [1]], [[1, 2, 3]]),
    ([[0, 1], [5, 6]],),
    ([[0, 1], [5, 6]], slice(None, None, 2), [1, 2]),
    ([0, 1], None, [2, 3]),
    (None, [0, 1], [2, 3], None),
    (slice(None), None, [0, 1], slice(1, 3), None),
    DATA % 3 == 0,
    DATA[:, :, 0] % 2 == 0,
    DATA[:, 0, 0] % 2 == 0,
    (DATA[:, 0, 0] % 2 == 0, slice(1, 3)),
    (slice(None), DATA[0, :, 0] % 4 == 0),
    (slice(None), DATA[0, :, 0] % 4 == 0, [2]),
    (DATA[:, :, 0] % 2 == 0, 3),
    np.zeros(7, bool),
    np.int64(2),
]


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_key(key):
    expected = DATA[key]
    for chunks in (-1, (3, 2, 4)):
        for x in (wr.from_array(DATA, chunks=chunks), wr.from_array(DATA, chunks=chunks) + 0):
            lazy = x[key]
            assert lazy.shape == expected.shape
            np.testing.assert_array_equal(lazy.compute(), expected)


def test_lazy_indices():
    x = wr.from_array(DATA, chunks=(3, 2, 4))
    np.testing.assert_array_equal(x[x % 3 == 0].compute(), DATA[DATA % 3 == 0])
    np.testing.assert_array_equal(x[x[:, 0, 0] % 2 == 0].compute(), DATA[DATA[:, 0, 0] % 2 == 0])
    np.testing.assert_array_equal(x[x[:, :, 0] % 2 == 0].compute(), DATA[DATA[:, :, 0] % 2 == 0])
    np.testing.assert_array_equal(x[x > 1000].compute(), DATA[DATA > 1000])
    np.testing.assert_array_equal(x[:, x[0, :, 0] % 4 == 0].compute(), DATA[:, DATA[0, :, 0] % 4 == 0])
    np.testing.assert_array_equal(x[wr.arange(3)].compute(), DATA[:3])
    np.testing.assert_array_equal(x[wr.arange(3).max()].compute(), DATA[2])
    y = wr.random.default_rng(1).random(1000, chunks=77)
    values = y.compute()
    np.testing.assert_array_equal(y[y > 0.5].compute(), values[values > 0.5])
    assert y[y > 0.5].sum().compute() == pytest.approx(values[values > 0.5].sum())


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_basic_keys(data):
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=9))
    values = np.arange(np.prod(shape)).reshape(shape)
    x = wr.from_array(values, chunks=tuple(data.draw(st.integers(1, n)) for n in shape))
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    expected = values[key]
    lazy = x[key]
    assert lazy.shape == expected.shape
    np.testing.assert_array_equal(lazy.compute(), expected)
    again = data.draw(hnp.basic_indices(lazy.shape)) if lazy.ndim else ()
    np.testing.assert_array_equal(lazy[again].compute(), expected[again])


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_arrays_of_positions(data):
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=6))
    values = np.arange(np.prod(shape)).reshape(shape)
    x = wr.from_array(values, chunks=tuple(data.draw(st.integers(1, n)) for n in shape))
    wide = data.draw(hnp.array_shapes(max_dims=2, max_side=4))
    key = []
    for n in shape:
        choice = data.draw(st.sampled_from(["array", "array", "slice", "integer"]))
        positions = hnp.arrays(np.int64, wide, elements=st.integers(-n, n - 1))
        key.append(data.draw({"array": positions, "slice": st.slices(n), "integer": st.integers(-n, n - 1)}[choice]))
    if data.draw(st.booleans()):
        key.insert(data.draw(st.integers(0, len(key))), None)
    expected = values[tuple(key)]
    lazy = x[tuple(key)]
    assert lazy.shape == expected.shape
    np.testing.assert_array_equal(lazy.compute(), expected)


def test_slices_keep_borders():
    x = wr.ones(10, chunks=4)
    assert x[1:].chunks == ((3, 4, 2),)
    assert x[4:].chunks == ((4, 2),)
    assert x[::3].chunks == ((2, 1, 1),)
    assert x[::-1].chunks == ((2, 4, 4),)
    assert x[5:5].chunks == ((0,),)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (7, "index 7 is out of bounds for axis 0"),
        (-8, "index -8"),
        ([0, 9], "index 9 is out of bounds for axis 0"),
        ((0, 0, 0, 0), "too many indices: 4"),
        ((..., ...), "two ellipses"),
        (1.5, "1.5"),
        ("name", "'name'"),
        (np.ones(3, bool), r"mask has shape \(3,\)"),
        (([0, 1], [0, 1, 2]), "broadcast"),
        (slice(None, None, 0), "not zero"),
        (slice(0.5, None), "slice of integers"),
        (True, "no single bool"),
    ],
)
def test_errors(key, message):
    with pytest.raises(IndexError, match=f"indexing.*{message}"):
        wr.from_array(DATA)[key]


def test_arrays_do_not_change():
    with pytest.raises(TypeError, match=r"where\(condition"):
        wr.ones(3)[0] = 1


def test_blocks():
    x = wr.from_array(DATA, chunks=(3, 2, 4))
    assert x.blocks.shape == (3, 3, 2)
    assert x.blocks.size == len(x.blocks) == 18
    np.testing.assert_array_equal(x.blocks[1].compute(), DATA[3:6])
    np.testing.assert_array_equal(x.blocks[-1, 1:, 0].compute(), DATA[6:, 2:, :4])
    np.testing.assert_array_equal(x.blocks[[2, 0]].compute(), np.concatenate([DATA[6:], DATA[:3]]))
    assert x.blocks[::2].chunks == ((3, 1), (2, 2, 1), (4, 2))
    np.testing.assert_array_equal(list(x.blocks)[3].compute(), DATA[:3, 2:4, 4:])
    with pytest.raises(IndexError, match="blocks"):
        x.blocks[3]
    with pytest.raises(IndexError, match="blocks"):
        x.blocks[0, 0, 0, 0]
