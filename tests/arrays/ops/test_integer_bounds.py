"""Integers between which elements lie, as expressions tell them; results whose length follows from them."""

from __future__ import annotations

import pkgutil

import numpy as np
import pytest

import windrow as wr
from windrow.arrays.statistics.bounds import find_bounds

X = wr.from_array(np.random.default_rng(0).normal(size=(30, 4)), chunks=7)
INDEX = X.argmin(1)
COUNTED = wr.arange(30, chunks=7)

CASES = {
    "argmin": (INDEX, (0, 3)),
    "argmax of all": (X.argmax(), (0, 119)),
    "remainder": (COUNTED % 4, (0, 3)),
    "a negative divisor": (COUNTED % -4, None),
    "remainder by an array": (COUNTED % wr.from_array(np.array([3, 5, 4] * 10), chunks=4), (0, 4)),
    "clip": (wr.clip(COUNTED, 2, 4), (2, 4)),
    "maximum": (wr.maximum(COUNTED, 4), (4, 29)),
    "arange": (COUNTED, (0, 29)),
    "backwards": (wr.arange(30, 0, -3, chunks=2), (3, 30)),
    "digitize": (wr.digitize(X[:, 0], [0, 1, 2]), (0, 3)),
    "searchsorted": (wr.searchsorted(np.arange(5.0), X[:, 0]), (0, 5)),
    "random": (wr.random.default_rng(0).integers(2, 9, 30, chunks=7), (2, 8)),
    "random with its end": (wr.random.default_rng(0).integers(0, 9, 30, chunks=7, endpoint=True), (0, 9)),
    "moved": (INDEX[2:25].rechunk(2)[::-1], (0, 3)),
    "reshaped": (INDEX.reshape(5, 6).T.ravel(), (0, 3)),
    "joined": (wr.concatenate([INDEX, COUNTED]), (0, 29)),
    "padded": (wr.pad(INDEX, 1, constant_values=7), (0, 7)),
    "chosen": (wr.where(X[:, 0] > 0, INDEX, 9), (0, 9)),
    "cast": (INDEX.astype("i1"), (0, 3)),
    "wrapped": ((COUNTED + 100).astype("i1"), (-128, 127)),
    "cast that wraps": (wr.arange(300, chunks=70).astype("i1"), (-128, 127)),
    "small": (wr.from_array(np.array([3, 250], "u1")) + np.uint8(1), (0, 255)),
    "bool": (X[:, 0] > 0, (0, 1)),
    "in memory": (wr.from_array(np.array([3, -2, 7]), chunks=1), (-2, 7)),
    "full": (wr.full(5, 3, dtype=int), (3, 3)),
    "computed": (COUNTED + COUNTED, None),
    "floats": (X[:, 0], None),
    "nothing": (INDEX[:0], None),
}


@pytest.mark.parametrize("case", CASES)
def test_bounds_hold(case):
    x, bounds = CASES[case]
    assert find_bounds(x.expr) == bounds
    if bounds is not None:
        values = np.asarray(x)
        assert bounds[0] <= values.min()
        assert values.max() <= bounds[1]


def test_what_many_operations_take_is_looked_at_once(monkeypatch):
    name = "windrow.arrays.statistics.bounds._of_elements"
    looks, look = [], pkgutil.resolve_name(name)
    monkeypatch.setattr(name, lambda *args: looks.append(1) or look(*args))
    x = COUNTED
    for _ in range(8):
        x = wr.minimum(x, wr.maximum(x, 3))
    assert find_bounds(x.expr) == (0, 29)
    assert len(looks) == 16


def test_bincount_of_what_is_bounded_is_lazy(monkeypatch):
    weights = X[:, 1]
    found = wr.bincount(INDEX, weights, minlength=6)
    monkeypatch.setattr("windrow.arrays.execution.deferred.evaluate", None)
    monkeypatch.setattr("windrow.arrays.execution.compute.evaluate", None)
    mean = found / wr.bincount(INDEX, minlength=6)[:, None].sum(-1).clip(1)
    assert mean.shape == (6,)
    monkeypatch.undo()
    index = np.asarray(INDEX)
    wanted = np.bincount(index, np.asarray(weights), 6) / np.bincount(index, minlength=6).clip(1)
    np.testing.assert_allclose(mean.compute(), wanted)


@pytest.mark.parametrize("values", [[0, 9, 2], [3, -1]])
def test_bincount_of_what_goes_beyond_is_numpys(values):
    x = wr.from_array(np.array(values), chunks=2)
    if min(values) < 0:
        with pytest.raises(wr.ShapeError, match="no negative numbers"):
            wr.bincount(x, minlength=5).compute()
    else:
        np.testing.assert_array_equal(wr.bincount(x, minlength=5).compute(), np.bincount(values, minlength=5))


@pytest.mark.parametrize("weights", [None, [0.5, 1, 2]])
def test_bincount_says_that_memory_was_changed(weights):
    values = np.array([0, 1, 1])
    counts = wr.bincount(wr.from_array(values, chunks=2), weights, minlength=3)
    values[0] = 2
    np.testing.assert_array_equal(counts.compute(), np.bincount(values, weights, 3))
    values[0] = 7
    with pytest.raises(wr.SourceChanged, match="bincount: argument 'x'"):
        counts.compute()
