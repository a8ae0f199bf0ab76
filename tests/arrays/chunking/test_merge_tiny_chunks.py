"""Tiny neighbouring chunks are merged where a result would else have very many; chunks that were chosen stay."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.graph.chunks.grid import MANY, TINY, Axis, merge_tiny_chunks


def test_ends_kept_in_a_loop_gain_no_chunk_a_step():
    x = expected = np.arange(4000.0) % 17
    y = wr.from_array(x, chunks=500)
    for _ in range(100):
        y = wr.concatenate([y[:1], (y[:-2] + y[2:]) / 2, y[-1:]])
        expected = np.concatenate([expected[:1], (expected[:-2] + expected[2:]) / 2, expected[-1:]])
    assert y.npartitions <= MANY + 8
    np.testing.assert_array_equal(y.compute(), expected)


def test_appending_in_a_loop_gains_no_chunk_a_step():
    x = np.arange(300.0)
    y, made = wr.from_array(x, chunks=10), wr.zeros(0)
    for k in range(300):
        made = wr.concatenate([made * 1, y[k : k + 1]])
        assert made.npartitions <= MANY + 1
    np.testing.assert_array_equal(made.compute(), x)


def test_interleaving_does_not_double_the_chunks():
    x = expected = np.arange(4096.0)
    y = wr.from_array(x, chunks=128)
    for _ in range(20):
        y = wr.concatenate([y[::2], y[1::2]])
        expected = np.concatenate([expected[::2], expected[1::2]])
    assert y.npartitions <= 2 * MANY
    np.testing.assert_array_equal(y.compute(), expected)


def test_many_single_elements_are_one_chunk():
    assert wr.concatenate([wr.ones(1)] * 1000).chunks == ((1000,),)
    assert wr.stack([wr.ones(2)] * 1000).chunks == ((1000,), (2,))
    assert wr.concatenate([wr.ones(1)] * MANY).npartitions == MANY
    large = wr.concatenate([wr.ones(TINY // 16)] * 100)
    assert large.chunks == ((TINY // 8,) * 50,)


def test_chunks_that_were_chosen_stay():
    x = wr.ones(1000, chunks=10)
    assert wr.concatenate([x, x]).chunks == ((10,) * 200,)
    assert wr.concatenate([x, wr.ones(5), x]).chunks == ((10,) * 100 + (5,) + (10,) * 100,)
    assert x[5:].chunks == ((5, *(10,) * 99),)
    assert x.rechunk(3).npartitions == 334
    assert wr.ones(1000, chunks=1).npartitions == 1000
    assert wr.concatenate([wr.arange(2), wr.arange(3)]).chunks == ((2, 3),)
    assert wr.arange(40, chunks=4)[::2].chunks == ((2,) * 10,)
    assert x[::2].chunks == ((10,) * 50,)
    wide = wr.ones((100, TINY), chunks=(1, -1))
    assert wide[::2].numblocks == (50, 1)


@given(st.lists(st.integers(1, 20), min_size=MANY - 2, max_size=80), st.integers(0, 40), st.integers(1, 60))
def test_what_is_merged(sizes, regular, tiny):
    axis = Axis.of_sizes(sizes)
    unit = TINY // tiny
    limit = min(regular or TINY, TINY // unit)
    found = merge_tiny_chunks(axis, regular, unit)
    assert found.length == axis.length
    assert set(np.cumsum(found.sizes()).tolist()) <= set(np.cumsum(sizes).tolist())
    if axis.count <= MANY:
        assert found == axis
        return
    made = found.sizes()
    assert all(a + b > limit for a, b in pairwise(made[:-1] if axis.is_regular else made))
    borders = np.cumsum([0, *sizes])
    for begin, end in pairwise(np.cumsum([0, *made]).tolist()):
        assert end - begin <= limit or not ((borders > begin) & (borders < end)).any(), "merged beyond the limit"
