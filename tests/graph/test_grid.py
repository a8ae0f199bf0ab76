"""Axes and grids against lists of positions; `chunks=` in all its spellings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.chunks.normalize import normalize, parse_bytes
from windrow.graph.errors import ChunksError

F8 = np.dtype("f8")
sizes = st.lists(st.integers(0, 6), min_size=1, max_size=8)


@given(sizes)
def test_axis_of_sizes(sizes):
    axis = Axis.of_sizes(sizes)
    assert axis.length == sum(sizes)
    assert axis.sizes() == tuple(sizes)
    assert axis.largest == max(sizes)
    chunks = np.arange(axis.count)
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    assert [axis.start(k) for k in range(axis.count)] == starts == axis.start(chunks).tolist()
    assert [axis.stop(k) for k in range(axis.count)] == axis.stop(chunks).tolist()
    assert [axis.size(k) for k in range(axis.count)] == sizes == axis.size(chunks).tolist()
    owner = [k for k, n in enumerate(sizes) for _ in range(n)]
    assert [axis.find(p) for p in range(axis.length)] == owner == axis.find(np.arange(axis.length)).tolist()


@given(st.integers(0, 50), st.integers(1, 60))
def test_regular_axis_is_the_axis_of_its_sizes(length, step):
    axis = Axis.regular(length, step)
    assert sum(axis.sizes()) == length
    assert Axis.of_sizes(axis.sizes()) == axis
    assert axis.is_regular
    assert hash(axis) == hash(Axis.of_sizes(axis.sizes()))


@given(st.lists(sizes, min_size=0, max_size=3))
def test_grid_numbers_blocks_in_c_order(all_sizes):
    grid = Grid([Axis.of_sizes(s) for s in all_sizes])
    filled = np.full(grid.shape, -1)
    indices = list(np.ndindex(*grid.counts))
    assert grid.nblocks == len(indices)
    for block, index in enumerate(indices):
        assert grid.index(block) == index
        assert grid.number(index) == block
        assert filled[grid.block_slices(block)].shape == grid.block_shape(block)
        filled[grid.block_slices(block)] = block
    assert not (filled == -1).any()
    counts = np.bincount(filled.reshape(-1), minlength=grid.nblocks)
    assert grid.block_sizes(np.arange(grid.nblocks)).tolist() == counts.tolist()
    for axis, column in enumerate(grid.indices(np.arange(grid.nblocks))):
        assert column.tolist() == [index[axis] for index in indices]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        (4, ((4, 4, 2), (4, 2))),
        ((5, 3), ((5, 5), (3, 3))),
        (((1, 9), -1), ((1, 9), (6,))),
        ((None, (2, 4)), ((10,), (2, 4))),
        ({0: 5}, ((5, 5), (6,))),
        ({-1: 4}, ((10,), (4, 2))),
        (-1, ((10,), (6,))),
        (100, ((10,), (6,))),
        ((5, "auto"), ((5, 5), (6,))),
        (("160 B", -1), ((3, 3, 3, 1), (6,))),
        (((0, 10), (6, 0)), ((0, 10), (6, 0))),
    ],
)
def test_spellings_of_chunks(chunks, expected):
    assert normalize("zeros", chunks, (10, 6), F8, 1 << 20).chunks() == expected


@pytest.mark.parametrize(
    "chunks", [0, -2, "much", (4,), (4, 4, 4), ((4, 4), 6), {2: 4}, 2.5, True, ((-1, 11), 6), {"x": 1}, "0 B"]
)
def test_bad_chunks_name_operation_and_argument(chunks):
    with pytest.raises(ChunksError, match=r"zeros: argument 'chunks'"):
        normalize("zeros", chunks, (10, 6), F8, 1 << 20)


def test_dict_keeps_other_axes_when_rechunking():
    previous = Grid([Axis.of_sizes([3, 7]), Axis.regular(6, 2)])
    assert normalize("rechunk", {1: 6}, (10, 6), F8, 1 << 20, previous).chunks() == ((3, 7), (6,))


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=4), st.sampled_from(["f8", "u1", "c16"]))
def test_auto_chunks_fit_the_limit_and_are_not_small(shape, dtype):
    limit = 1 << 16
    grid = normalize("zeros", "auto", shape, np.dtype(dtype), limit)
    nbytes = grid.largest * np.dtype(dtype).itemsize
    assert grid == normalize("ones", "auto", tuple(shape), np.dtype(dtype), limit)
    assert nbytes <= limit
    assert nbytes * 4 ** len(shape) >= limit or grid.nblocks == 1


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=3), st.sampled_from(["f8", "u1", "c16"]))
def test_auto_chunks_are_even(shape, dtype):
    grid = normalize("zeros", "auto", shape, np.dtype(dtype), 1 << 16)
    for axis in grid.axes:
        *rest, last = axis.sizes()
        assert set(rest) <= {axis.largest}
        assert last >= axis.largest - len(rest) - 1 or axis.largest % (64 // np.dtype(dtype).itemsize) == 0
        assert axis.length > axis.largest * len(rest)
    assert normalize("zeros", "auto", (2000, 2000), F8, 16 << 20).chunks() == ((1000, 1000), (1000, 1000))


def test_axes_of_one_position_take_nothing_of_a_chunk():
    (alone,) = normalize("zeros", "auto", (10**6,), F8, 1 << 16).chunks()
    assert (1 << 16) - 64 * 8 <= alone[0] * 8 <= 1 << 16
    assert normalize("zeros", "auto", (1, 10**6, 1), F8, 1 << 16).chunks() == ((1,), alone, (1,))
    square = normalize("zeros", "auto", (3, 10**4, 10**4), F8, 3 * 100 * 100 * 8)
    assert square.chunks()[0] == (3,)
    assert square.largest == 3 * 100 * 100
    fixed = normalize("zeros", (1, 50, "auto"), (10, 100, 10**6), F8, 50 * 1000 * 8)
    assert fixed.largest == 50 * 1000


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("64 MiB", 64 << 20),
        ("1.5GB", 1_500_000_000),
        ("8", 8),
        (7, 7),
        ("2k", 2048),
        (np.int64(9), 9),
        (2e9, 2 * 10**9),
    ],
)
def test_bytes(text, count):
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "MB", "-1 MB", "3 miles", 0, True, "0.1 B", 1.5, float("nan"), None])
def test_bad_bytes(text):
    with pytest.raises(ValueError, match=r"byte"):
        parse_bytes(text)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.sampled_from([1, 2, 4, 8]))
def test_chunks_are_cut_within_their_borders(sizes, pieces):
    axis = Axis.of_sizes(sizes)
    cut = axis.cut(pieces)
    borders = {0, *np.cumsum(cut.sizes()).tolist()}  # the border of an empty chunk at the beginning is gone
    assert cut.length == axis.length
    assert set(np.cumsum(axis.sizes()).tolist()) <= borders
    assert cut.largest <= -(-max(axis.largest, 1) // pieces)
    assert cut.count <= axis.count * pieces
