"""Single positions that are read and set, by integers and by masks: many chunks, repeated positions, too few values."""

from __future__ import annotations

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
