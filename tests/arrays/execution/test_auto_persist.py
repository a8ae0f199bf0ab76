"""Loops that look at values: what they compute is kept from the second time on."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import windrow as wr
from windrow.arrays.execution import auto_persist
from windrow.scheduler.session.cluster import session


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(auto_persist, "_noted", type(auto_persist._noted)())


def stages():
    return session().engine.ask(lambda engine: len(engine.ledger.records))


@contextmanager
def session_counting():
    """Count how often values are computed for Python."""
    made, compute = [], auto_persist.compute_array

    def counting(array):
        made.append(array)
        return compute(array)

    auto_persist.compute_array = counting
    try:
        yield lambda: len(made)
    finally:
        auto_persist.compute_array = compute


@pytest.mark.parametrize("look", [float, bool, np.asarray, lambda e: e.item()])
@pytest.mark.parametrize("chunks", [100, 30])
def test_a_loop_that_looks_computes_each_turn_twice_at_most(look, chunks):
    calls = []

    def step(block, turn):
        calls.append(turn)
        return block * 0.5 + turn

    x = np.arange(100.0)
    u = wr.from_array(x, chunks=chunks)
    for turn in range(20):
        u = wr.map_blocks(step, u, turn, dtype=float)
        x = x * 0.5 + turn
        assert look(u.sum()) == look(x.sum())
    blocks = u.npartitions
    counted = [c for c in calls if isinstance(c, int)]
    assert len(counted) <= blocks * (2 * 20 + 4), "and not 20 * 21 / 2 times"
    np.testing.assert_array_equal(u.compute(), x)


def test_what_is_written_to_goes_on():
    x, u = np.arange(50.0), wr.arange(50.0, chunks=20)
    for k in range(12):
        u[k] = u[k + 1] * 2
        x[k] = x[k + 1] * 2
        u = u + u.mean()
        x = x + x.mean()
        assert float(u.sum()) == pytest.approx(x.sum())
    np.testing.assert_allclose(u.compute(), x)


def test_large_arrays_and_compute_keep_nothing(monkeypatch):
    for _ in range(3):
        u = wr.arange(100.0) * 3
        u.sum().compute()
    assert u.expr.pin is None
    monkeypatch.setattr(auto_persist, "PART", session().room // 100)
    v = wr.arange(100.0) * 5
    for _ in range(3):
        float(v.sum())
    assert v.expr.pin is None, "it has 800 bytes"


def test_what_is_kept_goes_with_the_array():
    v = wr.arange(100.0) * 7
    for turn in range(3):
        float((v + turn).sum())
    assert v.expr.pin is not None
    wr.wait(v)
    before = stages()
    del v
    for _ in range(200):
        if stages() < before:
            break
    assert stages() < before


def test_an_array_that_is_asked_twice_for_a_small_value_is_computed_once():
    u = wr.arange(10.0, chunks=4)
    a, b = np.zeros((2, 10))
    with session_counting() as counted, pytest.warns(UserWarning, match="are set from a lazy array"):
        a[:] = b[:] = u * 3
    assert counted() == 1
    np.testing.assert_array_equal(a, b)
    v = u * 3
    copied = np.array(v)
    copied[:] = 0
    np.testing.assert_array_equal(np.asarray(v), a)
    v[:] = 7
    np.testing.assert_array_equal(np.asarray(v), np.full(10, 7.0))
    with session_counting() as counted:
        assert float(u.sum()) == float(u.sum()) == 45
    assert counted() == 2, "those are two arrays"


def test_what_may_be_another_value_is_computed_again():
    calls = []

    def count(block):
        calls.append(1)
        return block + len(calls)

    u = wr.map_blocks(count, wr.arange(4.0, chunks=4), dtype=float, meta=np.zeros(0))
    assert np.asarray(u)[0] < np.asarray(u)[0]
    mine = np.zeros(4)
    seen = mine.view()
    seen.flags.writeable = False
    for given in (mine, seen):
        mine[:] = 0
        u = wr.from_array(given, chunks=4) + 1
        assert np.asarray(u)[0] == 1
        mine[:] = 4
        assert np.asarray(u)[0] == 5
