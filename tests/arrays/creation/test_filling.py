"""Missing elements filled with what came before them, for narrow and wide blocks."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import windrow as wr
from windrow.arrays.user_functions import filling
from windrow.arrays.user_functions.filling import push


def filled(a, axis):
    lines = np.moveaxis(a.copy(), axis, 0)
    for k in range(1, len(lines)):
        np.copyto(lines[k : k + 1], lines[k - 1 : k], where=np.isnan(lines[k : k + 1]))
    return np.moveaxis(lines, 0, axis)


@pytest.mark.parametrize("share", [0.1, 0.9, 1.0])
@pytest.mark.parametrize("shape", [(20, 20, 30), (7,), (300,), (3, 500), (500, 3), (20, 1, 300)], ids=str)
def test_elements_are_those_of_a_loop(shape, share):
    rng = np.random.default_rng(1)
    a = rng.random(shape)
    a[rng.random(shape) < share] = np.nan
    for axis in range(len(shape)):
        for step in (1, 3, 1000):
            chunks = tuple(min(n, step) if i == axis else n for i, n in enumerate(shape))
            found = push(wr.from_array(a, chunks=chunks), None, axis).compute()
            np.testing.assert_array_equal(found, filled(a, axis))


@pytest.mark.parametrize("limit", [0, 1, 3, 40])
@pytest.mark.parametrize("shape", [(20, 300), (300, 3)], ids=str)
def test_no_more_than_a_limit_is_filled_in_a_row(shape, limit):
    rng = np.random.default_rng(2)
    a = rng.random(shape)
    a[rng.random(shape) < 0.8] = np.nan
    expected = a.copy()
    for column in expected.T:
        since = len(column)
        for k in range(len(column)):
            since = 0 if column[k] == column[k] else since + 1
            if since and k >= since and since <= limit:
                column[k] = column[k - since]
    for step in (1, 7, 1000):
        x = wr.from_array(a, chunks=(min(step, shape[0]), -1))
        np.testing.assert_array_equal(push(x, limit, 0).compute(), expected)


def test_lines_that_lie_across_are_filled_without_arrays_of_positions():
    block = np.full((50, 4000), np.nan)
    block[0] = 1
    tracemalloc.start()
    filling.fill(block, 0, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * block.nbytes  # positions alone would be as much again


def test_dates():
    days = np.array(["2000-01-01", "NaT", "NaT", "2001-01-01", "NaT"], "M8[D]")
    found = push(wr.from_array(np.repeat(days[:, None], 300, 1), chunks=(2, -1)), None, 0).compute()
    np.testing.assert_array_equal(found[:, 7], days[[0, 0, 0, 3, 3]])
