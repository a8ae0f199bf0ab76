"""Large arrays among the arguments of calls, which go to a rank once and are each call's own."""

from __future__ import annotations

import gc
import time
import weakref

import numpy as np
import pytest

import windrow as wr
from support.waiting import until
from windrow.scheduler.tasks import snapshots
from windrow.workers.wire.task_messages import TaskOrder

ROWS = np.arange(200_000.0).reshape(500, 400)


@pytest.fixture
def taken(monkeypatch):
    """Count the arrays that are placed."""
    places = []
    whole = snapshots.TaskSnapshot

    def counted(array):
        places.append(array.shape)
        return whole(array)

    monkeypatch.setattr(snapshots, "TaskSnapshot", counted)
    return places


def corner(a, i, *, more=None):
    return float(a[i, 0]) + (0 if more is None else float(more[i, 1]))


@pytest.mark.parametrize("how", ["submit", "executor", "map", "nested", "keyword", "closure", "delayed"])
def test_a_large_array_is_placed_once(taken, how):
    a = ROWS.copy()
    numbers = range(5)
    if how == "submit":
        found = [wr.submit(corner, a, i) for i in numbers]
    elif how == "executor":
        with wr.Executor() as executor:
            found = [executor.submit(corner, a, i) for i in numbers]
    elif how == "map":
        found = wr.map(corner, [a] * 5, numbers)
    elif how == "nested":
        found = [wr.submit(lambda given, i: corner(given["a"][0], i), {"a": [a]}, i) for i in numbers]
    elif how == "keyword":
        found = [wr.submit(corner, i=i, a=a) for i in numbers]
    elif how == "closure":
        found = [wr.submit(lambda i: float(a[i, 0]), i) for i in numbers]
    else:
        found = [wr.delayed(corner)(a, i).compute() for i in numbers]
    assert (found if how == "delayed" else wr.gather(found)) == [400.0 * i for i in numbers]
    assert taken == [(500, 400)]


def test_calls_see_an_array_as_it_was_when_they_were_submitted(taken):
    a = ROWS.copy()
    with wr.Cluster(threads=1):
        wr.submit(time.sleep, 0.2)
        before = wr.submit(corner, a, 1)
        a[1, 0] = -1.0
        after = [wr.submit(corner, a, 1), wr.submit(corner, a, 1)]
        assert [before.result(), *wr.gather(after)] == [400.0, -1.0, -1.0]
    assert len(taken) == 2


def test_a_call_may_write_into_its_array():
    def spoil(a, b):
        assert a is b
        a += 1
        return float(a.sum())

    a = ROWS.copy()
    assert wr.gather([wr.submit(spoil, a, a) for _ in range(3)]) == [float(ROWS.sum()) + a.size] * 3
    np.testing.assert_array_equal(a, ROWS)


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(ROWS),
        ROWS[::2, ::2],
        ROWS.T[::2],
        ROWS.astype("c8"),
        (ROWS > 7).repeat(3, axis=0),
        np.full((300, 400), "word"),
        np.zeros(50_000, [("a", "i1"), ("b", "f8")]),
        ROWS.astype("M8[s]"),
    ],
)
def test_arrays_of_every_kind_arrive_as_they_are(taken, array):
    for _ in range(2):
        found = wr.submit(lambda a: (a, a.flags.c_contiguous, a.flags.f_contiguous, a.flags.writeable), array).result()
        np.testing.assert_array_equal(found[0], array)
        assert found[0].dtype == array.dtype
        turned = array.flags.f_contiguous and not array.flags.c_contiguous
        assert found[1:] == (not turned, turned or array.ndim == 1, True)
    assert len(taken) == 1


def test_a_placed_array_goes_with_the_memory_it_was_taken_of():
    a = ROWS.copy()
    places = {a.ctypes.data, a[1:].ctypes.data}
    kept = wr.submit(lambda a: a, a[1:])
    assert wr.submit(len, a).result() == 500
    known = kept._dispatcher.snapshots._known
    assert places <= {key[0] for key in known}
    del a
    gc.collect()
    assert not places & {key[0] for key in known}
    np.testing.assert_array_equal(kept.result(), ROWS[1:])


def test_few_are_remembered(taken, monkeypatch):
    monkeypatch.setattr(snapshots, "MOST", 2)
    arrays = [ROWS + i for i in range(4)]
    for _ in range(2):
        assert wr.gather([wr.submit(corner, a, 0) for a in arrays]) == [0.0, 1.0, 2.0, 3.0]
    assert len(taken) == 8
    assert len(wr.submit(abs, 1)._dispatcher.snapshots._known) == 2


def test_an_array_that_changes_is_watched_once(monkeypatch):
    monkeypatch.setattr(snapshots, "MOST", 1)
    a, b = ROWS.copy(), ROWS.copy()
    for k in range(5):
        a[0, 0] = k
        assert wr.gather([wr.submit(corner, each, 0) for each in (a, a[:], b)]) == [k, k, 0]
    assert [weakref.getweakrefcount(each) for each in (a, b)] == [0, 1]


def test_nothing_is_kept_for_a_closed_cluster():
    a = ROWS.copy()
    with wr.Cluster(threads=1):
        future = wr.submit(corner, a, 0)
        assert future.result() == 0
        known = future._dispatcher.snapshots._known
        assert len(known) == 1
    assert not known
    assert weakref.getweakrefcount(a) == 0


def large_orders():
    orders = [each for each in gc.get_objects() if type(each) is TaskOrder]
    return [each.name for each in orders if isinstance(each.call, bytes) and len(each.call) > 50_000]


def test_what_a_task_took_goes_with_it():
    """A thread that is free holds nothing of what it ran."""
    with wr.Cluster(threads=1):
        assert wr.submit(len, list(range(50_000))).result() == 50_000
        until(lambda: not large_orders(), large_orders)


PROGRAM = """
import os, time
import numpy as np, windrow as wr
from support.ranks import kill_a_rank

a = np.arange(200_000.0)

def first(a, i):
    time.sleep(0.02)
    a[0] += i
    return float(a[0]), os.getpid()

def given(a, i):
    time.sleep(0.1)
    return a + i

found = wr.gather([wr.submit(first, a, i) for i in range(20)])
a[0] = 100.0
again = [wr.submit(given, a, i) for i in range(6)]
wr.gather([wr.submit(first, a, 0)])
kill_a_rank()
sums = [float(each.result()[0]) for each in again]
print([value for value, _ in found] == [float(i) for i in range(20)], len({pid for _, pid in found}) > 1, sums)
"""


@pytest.mark.ranks
def test_large_arrays_go_to_ranks_once_and_again_after_a_death(launch, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = launch(3, "program.py", limit=60)
    assert done.status == 0, done.err
    assert done.last == "True True [100.0, 101.0, 102.0, 103.0, 104.0, 105.0]"
