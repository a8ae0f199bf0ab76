"""Functions of blocks where chunks are empty, along axes of one position too; and what dtype is kept."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr

COLUMN = np.arange(4.0).reshape(4, 1)
CHUNKS = [((2, 2), (0, 1, 0)), ((0, 4), (1, 0)), ((4,), (0, 0, 1)), ((0, 1, 0, 3, 0), (1,))]


@pytest.mark.parametrize("chunks", CHUNKS)
def test_blocks_of_axes_of_one_position(chunks):
    x, row = wr.from_array(COLUMN, chunks=chunks), wr.from_array(COLUMN.T, chunks=((0, 1), (2, 2)))
    table, one = COLUMN + COLUMN.T, wr.ones((1, 1))

    def add(a, b):
        return a + b

    same = {
        "map_blocks": wr.map_blocks(np.negative, x),
        "beside one": wr.map_blocks(lambda a, b: -a * b, one, x),
        "beside NumPy's": wr.map_blocks(lambda a, b: -a * b, x, wr.asarray(np.ones((4, 1)))),
        "blockwise": wr.blockwise(np.negative, "ij", x, "ij"),
        "map_overlap": wr.map_overlap(np.negative, x, depth=1, boundary=0),
        "open ends": wr.map_overlap(np.negative, x, depth=(1, 0), boundary="none"),
    }
    for name, found in same.items():
        np.testing.assert_array_equal(found.compute(), -COLUMN, name)
        assert found.chunks == chunks, name
    np.testing.assert_array_equal(wr.map_blocks(add, x, row).compute(), table)
    np.testing.assert_array_equal(wr.blockwise(add, "ij", x, "ij", row, "ij").compute(), table)
    np.testing.assert_array_equal(wr.map_overlap(add, x, row, depth=0, boundary=0).compute(), table)
    dropped = wr.map_blocks(lambda b: b.sum(1), x, drop_axis=1)
    np.testing.assert_array_equal(dropped.compute(), COLUMN[:, 0])


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("axis", [0, 1])
def test_functions_along_axes(chunks, axis):
    x = wr.from_array(COLUMN, chunks=chunks)
    np.testing.assert_array_equal(wr.apply_along_axis(np.sum, axis, x).compute(), COLUMN.sum(axis))
    np.testing.assert_array_equal(wr.reduction(x, np.max, np.max, axis=axis).compute(), COLUMN.max(axis))
    np.testing.assert_array_equal(wr.cumreduction(np.cumsum, np.add, 0, x, axis).compute(), COLUMN.cumsum(axis))
    total = wr.cumreduction(np.cumsum, np.add, 0, x, axis, preop=np.sum)
    np.testing.assert_array_equal(total.compute(), COLUMN.cumsum(axis))


def test_nothing_at_all():
    assert wr.cumreduction(np.cumsum, np.add, 0, wr.zeros((0, 3)), 0).compute().shape == (0, 3)
    assert wr.repeat(wr.zeros((2, 0)), (), 1).compute().shape == (2, 0)


def test_a_mask_leaves_the_byte_order():
    for value in (7, np.float32(7), [7.0]):
        plain = np.arange(6).astype(">i4")
        x = wr.from_array(plain.copy(), chunks=4)
        x[x > 3] = value
        plain[plain > 3] = value
        assert x.dtype == x.compute().dtype == plain.dtype
        np.testing.assert_array_equal(x.compute(), plain)
    x[x > 3] = -x[x > 3]
    assert x.compute().dtype == plain.dtype


@pytest.mark.parametrize("boundary", ["reflect", "periodic", "nearest", "none", 0])
def test_margins_of_no_elements(boundary):
    x = wr.ones((0, 3), chunks=(1, 2))
    found = wr.map_overlap(lambda block: block + 1, x, depth=1, boundary=boundary)
    assert found.compute().shape == (0, 3)
