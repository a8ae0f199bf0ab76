"""Indexing against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
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
        ((True, True, 0, 0, 0, 0), "too many indices: 4"),
        ([1.5], "1.5"),
        ([[0, 1], [2]], "of one length"),
    ],
)
def test_errors(key, message):
    with pytest.raises(IndexError, match=f"indexing.*{message}"):
        wr.from_array(DATA)[key]


def test_single_bools():
    x = wr.from_array(DATA, chunks=(3, 2, 4))
    for key in (True, False, np.True_, (True, [0, 1]), (slice(None), False), (1, slice(None), True), (True, True, 2)):
        expected = DATA[key]
        assert x[key].shape == expected.shape
        np.testing.assert_array_equal(x[key].compute(), expected)
    flag = wr.arange(3)[0] == 0
    assert x[flag].shape == (None, 7, 5, 6)
    np.testing.assert_array_equal(x[flag].compute(), DATA[True])


def test_masks_without_elements():
    x = wr.from_array(DATA, chunks=(3, 2, 4))
    for shape in ((0,), (7, 0), (0, 5), (7, 5, 0)):
        for mask in (np.zeros(shape, bool), wr.zeros(shape, dtype=bool), wr.zeros(shape, chunks=1) > 0):
            assert x[mask].compute().shape == DATA[np.zeros(shape, bool)].shape
            x[mask] = 5
    np.testing.assert_array_equal(x.compute(), DATA)
    with pytest.raises(IndexError, match="boolean mask has shape"):
        x[wr.zeros((0, 4), dtype=bool)]


@pytest.fixture
def untouchable():
    """An array that fails when it is computed."""

    def fail(block):
        raise RuntimeError("computed")

    return lambda shape, dtype: wr.map_blocks(fail, wr.zeros(shape, chunks=2, dtype=dtype), dtype=dtype)


def test_nothing_is_computed_at_the_call(untouchable):
    x = wr.from_array(DATA, chunks=(3, 2, 4))
    rows = untouchable(4, int)
    for key, shape in (
        (rows, (4, 5, 6)),
        ((slice(None), rows), (7, 4, 6)),
        ((rows, rows), (4, 6)),
        ((rows[:2], slice(None), rows[:, None]), (4, 2, 5)),
        (rows.max(), (5, 6)),
        ((1, rows), (4, 6)),
        ([rows[0], rows[1]], (2, 5, 6)),
        (untouchable((7, 5), bool), (None, 6)),
        ((slice(None), untouchable(5, bool)), (7, None, 6)),
        ((untouchable(7, bool), untouchable(5, bool)), (None, 6)),
        ((rows, None, untouchable(5, bool)), (None, 1, 6)),
    ):
        assert x[key].shape == shape
        x[key] = 1
        with pytest.raises(RuntimeError, match="computed"):
            x.compute()
        x = wr.from_array(DATA, chunks=(3, 2, 4))
        with pytest.raises(RuntimeError, match="computed"):
            x[key].compute()
    positions = [*wr.nonzero(untouchable((7, 5), int)), wr.flatnonzero(rows), wr.extract(rows, rows)]
    assert [p.shape for p in (*positions, wr.argwhere(rows))] == [(None,)] * 4 + [(None, 1)]
    picked = x[positions[0]]
    assert picked.shape == (None, 5, 6)
    with pytest.raises(RuntimeError, match="computed"):
        picked.compute()


def test_lazy_positions_out_of_bounds():
    x, far = wr.ones((50, 4), chunks=20), wr.from_array([3, 77])
    for found in (x[far], x[:, far], x[far, far], wr.take(x, far, axis=0), wr.take_along_axis(x, far[:, None], 0)):
        with pytest.raises(IndexError, match=r"index 77 is out of bounds for axis \d"):
            found.compute()
    y = wr.ones((1 << 18, 1), chunks=1 << 16)
    with pytest.raises(IndexError, match="index 300000 is out of bounds for axis 0"):
        y[wr.from_array([300_000])].compute()


def test_lookup_keeps_the_chunks_of_the_positions():
    table = wr.arange(10) * 10
    index = wr.from_array(np.arange(1000) % 10, chunks=300)
    assert table[index].chunks == ((300, 300, 300, 100),)
    assert table[index].explain().notes == ()  # nothing is planned when it runs
    np.testing.assert_array_equal(table[index].compute(), np.arange(1000) % 10 * 10)
    np.testing.assert_array_equal(table[index.astype(np.uint8)].compute(), np.arange(1000) % 10 * 10)
    empty = wr.zeros(0)
    assert empty[wr.zeros(0, dtype=int)].compute().shape == (0,)


def test_points_read_only_the_blocks_they_lie_in():
    def far(block, block_id):
        if block_id not in ((0, 0), (3, 2)):
            raise RuntimeError("read")
        return block

    x = wr.map_blocks(far, wr.zeros((40, 40), chunks=10)).rechunk(10)
    np.testing.assert_array_equal(x[[1, 35, 2], [3, 25, 9]].compute(), [0, 0, 0])


def test_many_positions_in_few_chunks():
    assert wr.arange(4, chunks=2)[np.zeros(1_000_000, int)].npartitions == 2
    assert wr.arange(4)[np.zeros((1000, 1000), int)].npartitions == 1
    assert wr.arange(100, chunks=10)[np.arange(50)].chunks == ((10,) * 5,)


def test_large_known_mask():
    data = np.arange(300 * 200).reshape(300, 200)
    x = wr.from_array(data, chunks=(70, 90))
    mask = data % 7 == 0
    assert x[mask].shape == (mask.sum(),)
    np.testing.assert_array_equal(x[mask].compute(), data[mask])
    line = np.arange(100_000) % 3 == 0
    np.testing.assert_array_equal(wr.arange(100_000, chunks=999)[line].compute(), np.flatnonzero(line))
    with pytest.raises(IndexError, match="boolean mask has shape"):
        x[line]


def test_an_array_of_unknown_size_is_an_operand():
    x = wr.arange(100, chunks=30)
    few = x[x % 7 == 0]
    assert few.shape == (None,)
    np.testing.assert_array_equal((few[1:] - few[:-1]).compute(), np.full(14, 7))
    np.testing.assert_array_equal(x[few].compute(), np.arange(0, 100, 7))
    np.testing.assert_array_equal(few[few > 50].compute(), np.arange(56, 100, 7))


def test_what_was_selected_stays():
    """A selection is found after the array's elements were set: it has the old ones."""
    x = wr.arange(6, chunks=4)
    few, order = x[x > 3], wr.from_array([1, 0])
    picked = x[order]
    x[:] = 0
    np.testing.assert_array_equal(few.compute(), [4, 5])
    np.testing.assert_array_equal(picked.compute(), [1, 0])


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
