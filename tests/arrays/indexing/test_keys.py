"""Keys of every mixture that NumPy takes, on any chunks: getitem and setitem against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import windrow as wr

EDGE = st.sampled_from([0, 1, 2, 5, 9])


@st.composite
def chunked(draw, values):
    """The values as a lazy array cut anyhow: a source, something computed, or persisted."""
    chunks = []
    for n in values.shape:
        cuts = sorted(draw(st.lists(st.integers(0, n), max_size=3)))
        chunks.append(tuple(np.diff([0, *cuts, n]).tolist()) if n else (0,))
    x = wr.from_array(values, chunks=tuple(chunks))
    return draw(st.sampled_from([lambda: x, lambda: x + 0, lambda: (x + 0).persist()]))()


@st.composite
def keys(draw, shape):
    """A key for an array of a shape: what NumPy takes of it, and the same with some arrays made lazy."""
    key: list = []
    wide = draw(hnp.array_shapes(min_dims=1, max_dims=2, max_side=4))
    advanced = draw(st.booleans())
    left = list(shape)
    while left:
        kinds = ["slice", "slice", "new", "stop"]
        kinds += ["integer"] * (left[0] > 0)
        kinds += ["array", "single", "bool", "mask", "wide mask", "empty"] * advanced * (left[0] > 0)
        kind = draw(st.sampled_from(kinds))
        if kind == "stop":
            break
        if kind == "new":
            key.append(None)
            if sum(k is None for k in key) > 2:
                break
            continue
        if kind == "bool":
            key.append(draw(st.booleans()))
            if len(key) > 6:
                break
            continue
        n = left[0]
        if kind == "wide mask":
            m = draw(st.integers(1, len(left)))
            key.append(draw(hnp.arrays(bool, tuple(left[:m]))))
            left = left[m:]
            continue
        left.pop(0)
        if kind == "slice":
            key.append(draw(st.slices(n)))
        elif kind == "integer":
            key.append(draw(st.integers(-n, n - 1)))
        elif kind == "mask":
            key.append(draw(hnp.arrays(bool, n)))
        elif kind == "empty":
            key.append(np.zeros(0, np.int64))
        else:
            own = wide if kind == "array" else draw(st.sampled_from([(), (1,), (1, 1)]))
            dtype = draw(st.sampled_from([np.int64, np.int8]))
            key.append(draw(hnp.arrays(dtype, own, elements=st.integers(-n, n - 1))))
    if draw(st.booleans()) and not any(k is Ellipsis for k in key):
        key.insert(draw(st.integers(0, len(key))) if not left else len(key), ...)
    lazy = []
    for item in key:
        if isinstance(item, np.ndarray) and draw(st.integers(0, 3)) == 0:
            lazy.append(wr.from_array(item, chunks=draw(st.integers(1, 3))))
        else:
            lazy.append(item)
    return tuple(key), tuple(lazy)


def indexed(values, key):
    """What NumPy makes of a key, or None where it has nothing but an error for it."""
    try:
        return values[key]
    except IndexError:
        return None


@given(st.data())
def test_getitem(data):
    shape = data.draw(st.lists(EDGE, max_size=3).map(tuple))
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    key, lazy = data.draw(keys(shape))
    expected = indexed(values, key)
    if expected is None:
        return
    found = data.draw(chunked(values))[lazy]
    assert found.ndim == expected.ndim
    assert all(n in (None, m) for n, m in zip(found.shape, expected.shape, strict=True))
    np.testing.assert_array_equal(found.compute(), expected)
    assert found.shape == expected.shape


@given(st.data())
def test_setitem(data):
    shape = data.draw(st.lists(EDGE, max_size=3).map(tuple))
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    key, lazy = data.draw(keys(shape))
    region = indexed(values, key)
    if region is None:
        return
    own = [n if data.draw(st.booleans()) else 1 for n in region.shape]
    own = own[data.draw(st.integers(0, len(own))) if data.draw(st.booleans()) else 0 :]
    new = -1 - np.arange(np.prod(own, dtype=int)).reshape(own).astype(data.draw(st.sampled_from([int, np.float32])))
    x = data.draw(chunked(values))
    before, view = x[()], x[...]
    value = data.draw(st.sampled_from([lambda: new, lambda: data.draw(chunked(new))]))()
    x[lazy] = value
    expected = values.copy()
    expected[key] = new
    assert x.shape == expected.shape
    assert x.dtype == expected.dtype
    np.testing.assert_array_equal(x.compute(), expected)
    same = values.copy()
    picked, shown = same[()], same[...]
    same[key] = new
    np.testing.assert_array_equal(before.compute(), picked)
    np.testing.assert_array_equal(view.compute(), shown)


@given(st.data())
def test_one_after_the_other(data):
    """Slices and integers set in turn, values that are elements of the array itself, read in between."""
    shape = data.draw(hnp.array_shapes(max_dims=2, max_side=7))
    values = np.arange(np.prod(shape)).reshape(shape)
    x = data.draw(chunked(values))
    expected = values.copy()
    for _ in range(data.draw(st.integers(1, 6))):
        key = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
        other = data.draw(hnp.basic_indices(shape))
        expected[key] = np.sum(expected[other]) + 1
        x[key] = x[other].sum() + 1
        again = data.draw(hnp.basic_indices(shape))
        np.testing.assert_array_equal(x[again].compute(), expected[again])
    np.testing.assert_array_equal(x.compute(), expected)


PARTED = [
    ([0, 1], ..., [1, 2], 0),
    (slice(None), 0, ..., [1, 2]),
    (slice(None), [0, 1], ..., [1, 2]),
    (None, [0, 1], ..., [1, 2], 1),
    (slice(None), [True, False, True], ..., 1),
    (slice(None), [0, 1], [1, 2], ...),
    (..., 1, 2, 3),
    (0, ..., 1, 2),
]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("key", PARTED, ids=str)
def test_an_ellipsis_parts_arrays_where_it_stands_for_no_axis(key, lazy):
    values = np.arange(24).reshape(2, 3, 4)
    own = tuple(wr.asarray(k) if lazy and isinstance(k, list) else k for k in key)
    x = wr.from_array(values.copy(), chunks=2)
    expected = values[key]
    np.testing.assert_array_equal(x[own].compute(), expected, strict=True)
    new = -np.arange(expected.size).reshape(expected.shape)
    values[key], x[own] = new, new
    np.testing.assert_array_equal(x.compute(), values)


@pytest.mark.parametrize("key", [([], [0]), ([[], []], 2, [5]), ([], slice(None), [9]), ([False, False], [7])], ids=str)
def test_positions_that_select_nothing_may_lie_outside(key):
    values = np.zeros((2, 0, 3)) if len(key) == 2 else np.zeros((2, 3, 4))
    x = wr.from_array(values, chunks=2)
    assert x[key].compute().shape == values[key].shape
    x[key] = 1
    assert not x.compute().any()


@pytest.mark.parametrize("key", [None, (None, ...), (), True])
def test_what_was_set_in_an_array_without_axes_is_read(key):
    x = wr.asarray(np.array(1.5))
    x[None] = [2.5]
    assert np.array_equal(x[key].compute(), np.array(2.5)[key])
    x[...] += 1
    assert np.array_equal(x[key].compute(), np.array(3.5)[key])


def test_names_of_fields_stand_alone():
    x = wr.zeros(4, dtype=[("a", int), ("b", float)], chunks=2)
    for key in (("a", 0), (0, "a")):
        with pytest.raises(wr.IndexingError, match="no name beside others"):
            x[key] = 1
        with pytest.raises(wr.IndexingError, match="no name beside others"):
            x[key]


BEYOND = 10**30


@pytest.mark.parametrize(
    "key",
    [
        slice(BEYOND, None, -BEYOND), slice(-BEYOND, BEYOND, BEYOND), slice(None, None, -BEYOND),
        slice(3, None, 1 << 62),
        slice(BEYOND, -BEYOND, -1), slice(-BEYOND, None, 2), (slice(BEYOND, None, -BEYOND), slice(None, None, BEYOND)),
        (slice(None, None, BEYOND), [1, 2]), (None, slice(0, 0, BEYOND)),
    ],
)  # fmt: skip
def test_slices_beyond_64_bits(key):
    a = np.arange(42).reshape(6, 7)
    x = wr.from_array(a, chunks=(4, 3))
    assert np.array_equal(x[key].compute(), a[key])
    x[key] = 100
    a[key] = 100
    assert np.array_equal(x.compute(), a)
    x[key] += wr.ones(x[key].shape, int)
    a[key] += 1
    assert np.array_equal(x.compute(), a)
    if not isinstance(key, tuple):
        assert np.array_equal(x.flat[key].compute(), a.flat[key])
        assert np.array_equal(wr.delete(x, key, 0).compute(), np.delete(a, key, 0))
