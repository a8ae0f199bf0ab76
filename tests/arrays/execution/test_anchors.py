"""Lineages begin anew: what is forgotten of many steps, and that nothing else tells."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from support.waiting import until
from windrow.graph.expr.expr import walk
from windrow.graph.kinds.anchor import Anchor
from windrow.scheduler.ledger import lineage_checkpoint
from windrow.scheduler.session.cluster import session


@pytest.fixture
def few(monkeypatch):
    """Lineages of five generations."""
    monkeypatch.setattr(lineage_checkpoint, "GENERATIONS", 5)


def records():
    """How many stages the ledger knows."""
    return session().engine.ask(lambda engine: len(engine.ledger.records))


def step(u):
    return (u * 3 + u[::-1]) % 1000


@pytest.mark.parametrize("chunks", [(20, 30), (7, 30), (3, 8)])
@pytest.mark.parametrize("waits", [True, False])
def test_what_is_remembered_has_a_bound(few, chunks, waits):
    expected, others = np.arange(600).reshape(20, 30), records()  # of arrays of tests before
    u = wr.from_array(expected, chunks=chunks).persist()
    for _ in range(60):
        u, expected = step(u).persist(), (expected * 3 + expected[::-1]) % 1000
        if waits:
            wr.wait(u)
            until(lambda: records() - others < 30, records)
    np.testing.assert_array_equal(u.compute(), expected)
    until(lambda: records() - others < 30, records)
    assert len(list(walk([u.expr]))) < 80


def test_several_arrays_and_functions(few):
    x = wr.from_array(np.arange(24.0).reshape(4, 6), chunks=(2, 3))
    u, v = wr.persist(x, x + 1)
    a, b = x.compute(), x.compute() + 1
    for _ in range(20):
        u, v = wr.persist(u + v, wr.map_blocks(np.sqrt, u))
        a, b = a + b, np.sqrt(a)
    np.testing.assert_array_equal(u.compute(), a)
    np.testing.assert_array_equal(v.compute(), b)


@pytest.mark.parametrize("dtype", ["U5", "M8[s]", "?", [("a", "i4"), ("b", "f8")]])
def test_all_dtypes(few, dtype):
    x = np.zeros(10, dtype) if isinstance(dtype, list) else np.arange(10).astype(dtype)
    u = wr.from_array(x, chunks=3).persist()
    for _ in range(12):
        u = u[::-1].persist()
    np.testing.assert_array_equal(u.compute(), x)


def test_what_is_released_is_made_from_the_copy(few):
    u = wr.arange(100, chunks=30).persist()
    made = []
    for _ in range(14):
        u = wr.map_blocks(lambda block: block + 1, u).persist()
        made.append(u)
    wr.wait(u)
    for each in made:
        wr.release(each)
    for k, each in enumerate(made):
        np.testing.assert_array_equal(each.compute(), np.arange(100) + k + 1)
    ends = [node for node in walk([u.expr]) if isinstance(node.op, Anchor)]
    assert len(ends) == 1


def test_the_copies_go_with_the_last_array(few):
    before = wr.cluster().info()[0]["arena_used"]
    u = wr.ones(1 << 16).persist()
    for _ in range(30):
        u = (u + 1).persist()
    wr.wait(u)
    assert wr.cluster().info()[0]["arena_used"] > before
    del u
    for _ in range(200):
        if wr.cluster().info()[0]["arena_used"] == before:
            break
    assert wr.cluster().info()[0]["arena_used"] == before


def test_an_error_amid_many_steps(few):
    def fail(block):
        raise ZeroDivisionError("mine")

    u = wr.arange(10, chunks=5).persist()
    for k in range(20):
        u = (wr.map_blocks(fail, u, dtype=int) if k == 7 else u + 1).persist()
    with pytest.raises(ZeroDivisionError, match="mine"):
        u.compute()


def test_a_closed_cluster_is_told(few):
    with wr.Cluster(threads=1):
        u = wr.arange(10).persist()
        for _ in range(12):
            u = (u + 1).persist()
        assert u.sum().compute() == 45 + 120
    with pytest.raises(wr.ClusterError, match=r"is closed.*step by step, was forgotten"):
        u.compute()


def test_what_takes_long_is_copied_sooner(monkeypatch):
    monkeypatch.setattr(lineage_checkpoint, "SECONDS", 0.05)
    u = wr.arange(10).persist()
    for _ in range(8):
        u = wr.map_blocks(lambda block: __import__("time").sleep(0.02) or block, u).persist()
        wr.wait(u)
    assert len(list(walk([u.expr]))) < 8


def test_a_loop_that_asks_for_nothing_doesnt_run_ahead_of_its_bound():
    u = wr.from_array(np.ones(100)).persist()
    known = []
    for step in range(1800):
        u = (u * 0.5 + 1).persist()
        if step % 300 == 299:
            known.append(session().engine.ask(lambda engine: len(engine.ledger.records)))
    assert max(known[1:]) < 4 * lineage_checkpoint.GENERATIONS
    assert float(u[0]) == 2
