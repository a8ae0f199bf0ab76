"""Elements and lines that are set one after the other are set at once, the last ones over the others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.pairs import pairs
from windrow.graph.lowering.lower import lower

ROWS, COLUMNS = 80, 70


def stages(x):
    return lower([x.expr], lambda token: False)


@pytest.mark.parametrize(
    ("chunks", "part", "along"),
    pairs([-1, 30, (7, 70)], [slice(None), slice(3, -2), slice(1, None, 2)], [0, 1]),
)
def test_lines_in_a_loop_are_joined(chunks, part, along):
    x = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    a, out, wanted = (
        wr.from_array(x, chunks=chunks),
        wr.zeros((ROWS, COLUMNS), chunks=chunks),
        np.zeros((ROWS, COLUMNS)),
    )
    for i in range(1, x.shape[along]):
        key = (i, part) if along == 0 else (part, i)
        before = (i - 1, part) if along == 0 else (part, i - 1)
        out[key] = a[key] * 2 + out[before]
        wanted[key] = x[key] * 2 + wanted[before]
    np.testing.assert_array_equal(out.compute(), wanted)
    whole = [stage for stage in stages(out) if stage.grid.shape == out.shape and stage.data is None]
    assert len(whole) <= 2, "and not one for each 32 lines"


keys = st.tuples(
    st.integers(0, 1), st.integers(-9, 8), st.sampled_from([slice(None), slice(2, 7), slice(None, None, -1)])
)


@given(st.lists(keys, min_size=1, max_size=120), st.sampled_from([9, 4, (5, 9)]), st.booleans())
def test_any_lines_in_any_order_are_numpys(places, chunks, one):
    x, a = np.zeros((9, 9)), wr.zeros((9, 9), chunks=chunks)
    for turn, (axis, at, part) in enumerate(places):
        key = (at, part) if axis * one == 0 else (part, at)
        value = np.arange(9.0)[part] + 100 * turn
        for each in (x, a):
            each[key] = value
    np.testing.assert_array_equal(a.compute(), x)


def test_far_apart_lines_and_what_lies_between_stay():
    x, a = np.zeros((200, 3)), wr.zeros((200, 3), chunks=40)
    for i in [*range(0, 200, 2), *range(1, 200, 20)]:
        for each in (x, a):
            each[i] = each[(i + 1) % 200] + i
    np.testing.assert_array_equal(a.compute(), x)


def test_what_is_read_between_is_made_before():
    x, a = np.zeros((70, 5)), wr.zeros((70, 5), chunks=20)
    sums, wanted = [], []
    for i in range(70):
        for each, found in ((x, wanted), (a, sums)):
            each[i] = i
            if i % 9 == 0:
                found.append(each.sum())
    np.testing.assert_array_equal(wr.compute(*sums), wanted)
    np.testing.assert_array_equal(a.compute(), x)
