"""Missing elements filled with what came before them, for narrow and wide blocks."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
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


def test_dates():
    days = np.array(["2000-01-01", "NaT", "NaT", "2001-01-01", "NaT"], "M8[D]")
    found = push(wr.from_array(np.repeat(days[:, None], 300, 1), chunks=(2, -1)), None, 0).compute()
    np.testing.assert_array_equal(found[:, 7], days[[0, 0, 0, 3, 3]])
