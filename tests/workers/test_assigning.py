"""Compiled loops that give rows to centres: the bits of what stands for them until they are there."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from windrow.ml.estimators import lloyd
from windrow.workers.kernels.compiled.fixed.assigning import add_by_label, find_least

pytest.importorskip("llvmlite")

SIZES = [(1, 1, 1), (7, 3, 2), (lloyd.ROWS * 3 + 17, 10, 10), (lloyd.TURN + 5, 5, 3), (1000, 33, 8)]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("rows", "width", "count"), SIZES)
def test_blocks_are_assigned_and_added_alike(rows, width, count, dtype):
    rng = np.random.default_rng(rows)
    x = rng.random((rows, width)).astype(dtype)
    centres, origin, weights = rng.random((count, width)) - 0.5, np.full(width, 0.5), rng.random(rows)
    found = []
    for jit in ("off", "on"):
        with wr.config.set(jit=jit):
            made = lloyd.nearest(x, centres, origin), lloyd.sums(x, centres, origin)
            found.append([*made, lloyd.sums(x, weights, centres, origin)])
    for plain, compiled in zip(*found, strict=True):
        assert plain.dtype == compiled.dtype
        assert plain.tobytes() == compiled.tobytes()
    assert found[0][1][:, -1].sum() == rows


def test_of_equal_lines_the_first_counts():
    lines, labels = np.array([[1.0, 2, 0], [1, 1, 0], [0, 1, 0]]), np.full(3, 9, np.int32)
    with wr.config.set(jit="on"):
        assert find_least(lines, labels)
    assert labels.tolist() == [2, 1, 0]


def test_what_has_no_kernel_is_left_alone():
    x, out = np.ones((4, 6), "f8")[:, ::2], np.zeros((1, 4))
    with wr.config.set(jit="on"):
        assert not add_by_label(x, np.zeros(4, np.int32), None, out)
        assert not add_by_label(x.astype("i8"), np.zeros(4, np.int32), None, out)
        assert not find_least(np.ones((2, 3), "f8")[:, ::2], np.zeros(2, np.int32))
    assert not out.any()
