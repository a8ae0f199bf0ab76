"""Corners that changes of single lines would get past other tests, held against NumPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import windrow as wr


def test_more_chunks_than_sixteen_bits_count():
    """Points are sorted by block; block numbers that agree in their last sixteen bits are different blocks."""
    x = np.arange(70_000) * 3
    lazy = wr.from_array(x, chunks=1).persist()
    at = np.array([65_536, 0, 69_999, 65_537, 1, 4463, 65_536 + 4463, 0])
    np.testing.assert_array_equal(lazy[at].compute(), x[at])
    np.testing.assert_array_equal(lazy[wr.from_array(at)].compute(), x[at])
    square = wr.from_array(x.reshape(2, -1), chunks=1)
    rows, columns = np.array([1, 0, 1, 0]), np.array([34_999, 0, 30_536, 1])
    np.testing.assert_array_equal(square[rows, columns].compute(), x.reshape(2, -1)[rows, columns])
    lazy[at] = -np.arange(8)
    x[at] = -np.arange(8)
    np.testing.assert_array_equal(lazy.compute(), x)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap", "maximum", "linear_ramp"])
@pytest.mark.parametrize("part", [slice(2, 5), slice(7, 1, -2), slice(3, None), slice(None, -4)])
def test_pad_of_a_slice(mode, part):
    """What is beyond a slice is no margin of it."""
    x = np.arange(1.0, 13) ** 2
    for chunks in (2, 5, 12):
        got = wr.pad(wr.from_array(x, chunks=chunks)[part], (2, 1), mode=mode)
        np.testing.assert_array_equal(got.compute(), np.pad(x[part], (2, 1), mode=mode))
    table = np.arange(30.0).reshape(5, 6)
    got = wr.pad(wr.from_array(table, chunks=2)[1:4, ::-2], ((1, 2), (2, 0)), mode=mode)
    np.testing.assert_array_equal(got.compute(), np.pad(table[1:4, ::-2], ((1, 2), (2, 0)), mode=mode))


def test_the_last_of_several_values_for_one_position_stays():
    x = np.zeros(20)
    at, values = np.array([7, 3, 7, 19, 3, 7, -1]), np.arange(1.0, 8)
    lazy = wr.from_array(x.copy(), chunks=4)
    lazy[at] = values
    x[at] = values
    np.testing.assert_array_equal(lazy.compute(), x)
    table, rows, columns = np.zeros((5, 6)), np.array([1, 4, 1, 1]), np.array([2, 5, 2, -4])
    lazy = wr.from_array(table.copy(), chunks=(2, 3))
    lazy[rows, columns] = np.arange(1.0, 5)
    table[rows, columns] = np.arange(1.0, 5)
    np.testing.assert_array_equal(lazy.compute(), table)


@pytest.mark.parametrize("count", [1, 3, 4, 5])
def test_values_for_a_lazy_mask_are_as_many_as_it_has(count):
    x = np.arange(10.0)
    lazy, values = wr.from_array(x.copy(), chunks=3), np.arange(100.0, 100 + count)
    if count in (1, 4):
        lazy[lazy > 5] = values
        x[x > 5] = values
        np.testing.assert_array_equal(lazy.compute(), x)
        return
    with pytest.raises(ValueError):
        x[x > 5] = values

    def set_and_compute():
        lazy[lazy > 5] = values
        return lazy.compute()

    with pytest.raises(ValueError):
        set_and_compute()


@pytest.mark.parametrize("name", ["nanvar", "nanstd", "var", "std"])
def test_as_many_degrees_of_freedom_as_elements(name):
    x = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0], [np.nan, np.nan, 2.0]])
    for ddof in (1, 2, 3, 4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(np, name)(x, axis=1, ddof=ddof)
            got = getattr(wr, name)(wr.from_array(x, chunks=2), axis=1, ddof=ddof).compute()
        np.testing.assert_allclose(got, expected)
