"""Manners of NumPy's arrays that programs rely on without a thought, and what is said where there are none."""

from __future__ import annotations

import collections
import warnings
from typing import Any

import numpy as np
import pytest

import windrow as wr
from windrow.arrays.vanishing import LOST

DATA = np.arange(12.0).reshape(3, 4)


def lazy(data: Any = DATA, chunks: Any = 2) -> wr.Array:
    return wr.from_array(data, chunks=chunks)


# ---------------------------------------------------------------------- hashes


@pytest.mark.parametrize("use", [hash, lambda x: {x}, lambda x: {x: 1}, lambda x: collections.Counter(x)])
def test_arrays_have_no_hash(use):
    with pytest.raises(TypeError, match=r"unhashable type: 'windrow.Array'.*compute\(\)"):
        use(lazy())


# ---------------------------------------------------------------------- writes that vanish

GLOBAL = wr.zeros((3, 4), chunks=2)


class Holder:
    def __init__(self) -> None:
        self.x = lazy()


@pytest.mark.skipif(not LOST, reason="this Python doesn't tell temporaries")
def test_writes_that_vanish_warn():
    a, mask = lazy(), DATA[1:-1, 1:-1] > 5
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        a[0][1] = 99
        a[1:-1, 1:-1][mask] = 1
        a.T[0] = 5
        a.ravel()[3] = 9
        a[0][1:] += 1
    assert [one.category for one in told] == [wr.LostWrite] * 5
    assert all("write x[0, 1] = 5" in str(one.message) for one in told)
    assert {one.filename for one in told} == {__file__}
    np.testing.assert_array_equal(a.compute(), DATA)


def test_writes_that_stay_do_not_warn():
    a, held, several, named = lazy(), Holder(), [lazy()], {"x": lazy()}

    def write(x: wr.Array) -> wr.Array:
        x[0] = 5
        return x

    def enclosed() -> None:
        a[1, 1] = 7

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a[0, 1] = 99
        a[0] += 1
        GLOBAL[0] = held.x[0] = several[0][0] = named["x"][0] = 1
        for one in several:
            one[1] = 2
        for _ in range(100):
            a[2, 2] = 1
        enclosed()
        found = write(a + 1)
        exec("x[0] = 5", {"x": lazy()})
        (b := lazy())[0] = 1
    assert found[0, 0].compute() == 5
    assert b[0, 0].compute() == 1


# ---------------------------------------------------------------------- single elements, integers


def test_elements_that_are_at_hand_need_no_engine(monkeypatch):
    x = lazy()
    half = (x / 2).persist()
    float(half[1, 1])
    monkeypatch.setattr("windrow.arrays.verbs.evaluate", None)
    for i in range(3):
        assert x[i, 1].compute() == np.asarray(x[i, 1]) == DATA[i, 1]
        assert type(x[i, 1].compute()) is np.float64
    assert np.asarray(x[0, 0]).flags.writeable
    assert wr.asarray("text").compute().dtype == "U4"


def test_lazy_numbers_serve_as_integers():
    two = wr.asarray(2, chunks=1)
    n = lazy(np.array([3, 2])).max()
    assert wr.zeros(n).shape == wr.ones((n,)).shape == wr.full(n, 1).shape == (3,)
    assert wr.zeros((two, n)).shape == (2, 3)
    assert wr.linspace(0, 1, n).shape == (3,)
    assert wr.eye(n, k=two).shape == (3, 3)
    assert lazy().reshape(two, -1).shape == lazy().reshape((two, -1)).shape == (2, 6)
    assert wr.tile(lazy(), two).shape == (3, 8)
    np.testing.assert_array_equal(lazy().sum(axis=two - 1), DATA.sum(axis=1))
    np.testing.assert_array_equal(lazy().sum(axis=(two - 1, np.array(0))), DATA.sum())
    for bad in (wr.asarray(True), wr.asarray(1.0)):
        with pytest.raises(wr.ArgumentError, match=r"zeros: argument 'shape'"):
            wr.zeros(bad)


def test_shared_memory():
    x = lazy()
    assert np.shares_memory(x, x)
    assert np.may_share_memory(x, x)
    assert not np.may_share_memory(x, DATA)
    assert not np.shares_memory(x, x.copy())
