"""Comparing arrays: what differs is found and named, by block and position."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from windrow import testing
from windrow.arrays.base import make
from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.kinds.mapping import BlockFunction

DATA = np.arange(12.0).reshape(3, 4)


def changed(at, to):
    data = DATA.copy()
    data[at] = to
    return data


@pytest.mark.parametrize("chunks", list(testing.chunkings((3, 4))))
def test_the_first_difference_is_named(chunks):
    x = wr.from_array(DATA, chunks=chunks)
    testing.assert_equal(x, DATA)
    testing.assert_array_equal(DATA, x)
    testing.assert_allclose(x, DATA + 1e-9, atol=1e-8)
    for at in np.ndindex(3, 4):
        other = changed(at, 100)
        grid = Grid([Axis.of_sizes(sizes) for sizes in chunks])
        block = tuple(axis.find(k) for axis, k in zip(grid.axes, at, strict=True))
        for check in (testing.assert_equal, testing.assert_array_equal, testing.assert_allclose):
            with pytest.raises(AssertionError) as found:
                check(x, other)
            text = str(found.value)
            assert text.startswith(
                f"{check.__name__}: 1 of 12 elements differ, first in block {block} at position {at}"
            )
            assert text.endswith(f"{DATA[at]}, expected 100.0")


def test_counts_and_largest_difference():
    x = wr.from_array(DATA, chunks=2)
    with pytest.raises(AssertionError, match=r"about: 12 of 12 .* 0\.0, expected 7\.0; largest difference 7\.0"):
        testing.assert_equal(x, DATA + 7, "about")
    with pytest.raises(AssertionError) as found:
        testing.assert_equal(x, DATA + 7, verbose=False)
    assert str(found.value).endswith("at position (0, 0)")


def test_shapes_dtypes_and_scalars():
    x = wr.from_array(DATA, chunks=2)
    with pytest.raises(AssertionError, match=r"shape \(3, 4\), expected \(4,\)"):
        testing.assert_equal(x, DATA[0])
    testing.assert_equal(x, DATA.astype("f4"))
    with pytest.raises(AssertionError, match="dtype float64, expected float32"):
        testing.assert_equal(x, DATA.astype("f4"), strict=True)
    testing.assert_equal(wr.ones((3, 4), chunks=2), 1)
    with pytest.raises(AssertionError, match="shape"):
        testing.assert_equal(wr.ones((3, 4), chunks=2), 1.0, strict=True)
    with pytest.raises(AssertionError, match=r"first in block \(\) at position \(\): 3.0, expected 4"):
        testing.assert_equal(wr.ones(3).sum(), 4)
    testing.assert_equal(wr.ones((0, 3)), np.ones((0, 3)))


def test_nothing_equals_itself_as_in_numpy():
    for data in (np.array([np.nan, 1]), np.array([complex(np.nan, 1), 1]), np.array(["NaT", "2020-01-01"], "M8[D]")):
        testing.assert_equal(wr.from_array(data, chunks=1), data)
    with pytest.raises(AssertionError):
        testing.assert_allclose(wr.from_array(np.array([np.nan])), np.array([np.nan]), equal_nan=False)
    testing.assert_equal(wr.from_array(np.array(["a", "bc"])), np.array(["a", "bc"]))


def test_structures():
    x = wr.arange(4, chunks=2)
    testing.assert_equal({"a": [x, 1], "b": (x,)}, {"a": [x, 1], "b": (np.arange(4),)})
    with pytest.raises(AssertionError, match=r"\['a'\]\[1\]: 1 of 4"):
        testing.assert_equal({"a": [1, x]}, {"a": [1, np.array([0, 1, 2, 4])]})
    with pytest.raises(AssertionError, match="2 items, expected 1"):
        testing.assert_equal([x, x], [x])
    with pytest.raises(AssertionError, match="keys"):
        testing.assert_equal({"a": x}, {"b": x})


def test_what_is_not_lazy_goes_to_numpy():
    testing.assert_equal([1, 2], [1, 2])
    testing.assert_allclose(np.ones(3), 1, strict=False)
    with pytest.raises(AssertionError, match="Mismatched elements"):
        testing.assert_equal(np.ones(3), np.zeros(3))


def test_arrays_that_tell_lies_are_found():
    testing.assert_consistent(wr.ones((3, 4), chunks=2).T)
    x = wr.arange(5, chunks=2)
    testing.assert_consistent(x[x > 2])
    lying = make(BlockFunction("elements.differences:first"), (wr.ones(3, bool),), Grid.single((3,)), np.int64)
    with pytest.raises(wr.ShapeError):
        testing.assert_consistent(lying)


def test_chunkings_differ_and_fit():
    for shape in [(), (0,), (1,), (2,), (9, 1), (4, 5, 6)]:
        found = list(testing.chunkings(shape))
        assert len(found) == len(set(found)) >= 1
        assert all(tuple(map(sum, chunks)) == shape for chunks in found)
        for chunks in found:
            assert wr.ones(shape, chunks=chunks).chunks == tuple(c if sum(c) or len(c) > 1 else (0,) for c in chunks)
    with pytest.raises(wr.ShapeError):
        next(testing.chunkings(-1))
