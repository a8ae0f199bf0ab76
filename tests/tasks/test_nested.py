"""Tasks that submit tasks, on the embedded engine with one thread: who keeps that while he waits, waits for ever."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time

import numpy as np
import pytest

import windrow as wr
from support.waiting import until
from windrow.arrays.tasks.calls import _Numbers
from windrow.scheduler.session.cluster import session
from windrow.scheduler.tasks.record import NUMBERS
from windrow.workers.tasks import service as services
from windrow.workers.wire.task_messages import BoardMessage

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def one_thread():
    with wr.Cluster(threads=1) as made:
        yield made


def fibonacci(n):
    if n < 2:
        return n
    one, two = wr.submit(fibonacci, n - 1), wr.submit(fibonacci, n - 2)
    return one.result() + two.result()


def sort(values):
    """Quicksort by tasks."""
    if len(values) < 200:
        return np.sort(values)
    pivot = values[len(values) // 2]
    parts = [values[values < pivot], values[values > pivot]]
    low, high = wr.gather(wr.map(sort, parts))
    return np.concatenate([low, values[values == pivot], high])


def tree_sum(values):
    while len(values) > 1:
        values = [wr.submit(sum, values[k : k + 2]) for k in range(0, len(values), 2)]
    return values[0].result()


def add(a, b=1):
    return a + b


def count_threads():
    return sum(thread.name.startswith("windrow-compute-task") for thread in threading.enumerate())


def test_recursion():
    before = count_threads()  # of other tests' clusters
    assert wr.submit(fibonacci, 12).result(50) == 144
    assert count_threads() < before + 50


def test_sorting_and_reducing():
    values = np.random.default_rng(1).integers(0, 10_000, 50_000)
    assert np.array_equal(wr.submit(sort, values).result(50), np.sort(values))
    assert wr.submit(tree_sum, list(range(300))).result(50) == 299 * 150


def test_every_way_to_wait():
    def by_result():
        return wr.submit(add, wr.submit(add, 1)).result(timeout=20)

    def by_exception():
        return wr.submit(divmod, 1, 0).exception(20)

    def by_gather():
        return wr.gather({"a": wr.map(add, range(3))}, timeout=20)

    def by_wait():
        futures = wr.map(add, range(3))
        wr.wait(futures, timeout=20)
        return [f.result() for f in futures]

    def by_standard_wait():
        return len(concurrent.futures.wait(wr.map(add, range(3)), timeout=20).done)

    def by_as_completed():
        return sorted(f.result() for f in concurrent.futures.as_completed(wr.map(add, range(3)), timeout=20))

    def by_executor():
        with wr.Executor() as executor:
            return list(executor.map(add, range(3), timeout=20))

    def by_delayed():
        lazy = wr.delayed(add)
        return lazy(lazy(1), 5).compute()

    def by_scatter():
        return wr.submit(np.sum, wr.scatter(np.arange(5))).result(20)

    def by_asyncio():
        async def run():
            futures = map(asyncio.ensure_future, wr.map(add, range(3)))
            return await asyncio.wait_for(asyncio.gather(*futures), 20)

        return asyncio.run(run())

    def large():
        made = wr.submit(np.ones, 100_000)
        return wr.submit(np.sum, made).result(20), made.result(20).sum()

    found = {f.__name__: wr.submit(f).result(30) for f in (by_result, by_gather, by_wait, by_standard_wait, large)}
    assert found == {
        "by_result": 3,
        "by_gather": {"a": [1, 2, 3]},
        "by_wait": [1, 2, 3],
        "by_standard_wait": 3,
        "large": (1e5, 1e5),
    }
    for f in (by_as_completed, by_executor, by_asyncio):
        assert list(wr.submit(f).result(30)) == [1, 2, 3]
    assert (wr.submit(by_delayed).result(30), wr.submit(by_scatter).result(30)) == (7, 10)
    assert isinstance(wr.submit(by_exception).result(30), ZeroDivisionError)


def test_callbacks_and_cancelling():
    def call_back():
        future, ended = wr.submit(add, 1), []
        future.add_done_callback(lambda done: ended.append(done.result()))
        future.result(20)
        until(lambda: ended, "the callback is called")
        return ended

    def wait_for_callback():
        ended = threading.Event()
        wr.submit(add, 1).add_done_callback(lambda _: ended.set())
        return ended.wait(20)

    def in_executor():
        async def run():
            return await asyncio.get_running_loop().run_in_executor(wr.Executor(), add, 1)

        return asyncio.run(run())

    def cancel():
        one = wr.submit(add, 1)
        two = wr.submit(add, one)
        told = one.cancel(), one.cancelled()
        try:
            two.result(20)
        except concurrent.futures.CancelledError:
            return told

    assert wr.submit(call_back).result(30) == [2]
    assert wr.submit(wait_for_callback).result(30)
    assert wr.submit(in_executor).result(30) == 2
    assert wr.submit(cancel).result(30) == (True, True)


def test_an_inner_error_comes_with_both_tasks():
    def outer():
        return wr.submit(divmod, 1, 0).result(20)

    with pytest.raises(ZeroDivisionError) as caught:
        wr.submit(outer).result(30)
    notes = "\n".join(caught.value.__notes__)
    assert "in task divmod-" in notes
    assert "in task outer-" in notes


def test_a_thousand_within_each_other():
    before = count_threads()

    def deep(n):
        return 0 if not n else 1 + wr.submit(deep, n - 1).result()

    assert wr.submit(deep, 1000).result(50) == 1000
    assert wr.submit(lambda: sum(wr.gather(wr.map(add, range(1000))))).result(50) == 500_500
    until(lambda: count_threads() < before + 50, "one thread too many ends")


def test_a_bound_for_those_that_wait(monkeypatch):
    monkeypatch.setattr(services, "MOST_WAITING", 20)

    def deep(n):
        return 0 if not n else 1 + wr.submit(deep, n - 1).result()

    assert wr.submit(deep, 20).result(30) == 20
    with pytest.raises(wr.ClusterError, match=r"deep: 20 tasks on rank 0 wait for tasks that they have submitted"):
        wr.submit(deep, 40).result(30)
    assert wr.submit(add, 1).result(30) == 2


def check_none_left():
    board = session().calls.provided(BoardMessage).board

    def is_empty():
        session().engine.transport.wake()  # which lets go of what is small by the way
        return not board.records

    until(is_empty, lambda: board.records)
    assert all(site.used == site.bytes == 0 for site in board.sites)


@pytest.mark.parametrize("running", [False, True], ids=["inner waits", "inner runs"])
def test_what_a_cancelled_task_submitted_is_cancelled(tmp_path, running):
    def slow(path):
        (path / "begun").touch()
        while True:
            time.sleep(0.01)

    def outer(path):
        futures = [wr.submit(slow, path), wr.submit(slow, path)]
        return wr.gather(futures)

    future = wr.submit(outer, tmp_path)
    until((tmp_path / "begun").exists, "a task has begun")
    assert not future.cancel()
    assert future.cancel(running=True)
    del future
    check_none_left()
    assert wr.submit(add, 1).result(20) == 2


def test_what_a_failed_task_submitted_is_cancelled(tmp_path):
    def note(path, text, *_):
        with open(path / text, "a") as file:
            file.write("x")

    def pause(path):
        while not (path / "last").exists():
            time.sleep(0.001)

    def outer(path):
        wr.submit(note, path, "first").result()
        paused = wr.submit(pause, path)
        behind = wr.submit(note, path, "behind", paused)
        tries = (path / "first").stat().st_size
        if tries < 3:
            raise RuntimeError("not yet")
        (path / "last").touch()
        concurrent.futures.wait([behind])
        return tries

    assert wr.submit(outer, tmp_path, retries=2).result(30) == 3
    assert (tmp_path / "behind").stat().st_size == 1, "that of the last try alone"
    check_none_left()


def test_what_a_task_leaves_behind_goes_on(tmp_path):
    def note(path):
        time.sleep(0.05)
        path.touch()

    assert wr.submit(lambda: wr.submit(note, tmp_path / "a") and None).result(20) is None
    until((tmp_path / "a").exists, "the inner task has run")


def test_memory_is_free_for_what_is_waited_for():
    most = session().calls.provided(BoardMessage).largest()[1]

    def outer():
        return wr.submit(add, 1, memory=most).result()

    assert wr.submit(outer, memory=most).result(30) == 2


def test_other_functions_on_ranks_submit_none():
    def block(b):
        wr.submit(add, 1)
        return b

    with pytest.raises(wr.ClusterError, match="tasks are submitted by the script, and by tasks"):
        wr.map_blocks(block, wr.arange(4), dtype=int).compute()
    with pytest.raises(wr.ClusterError, match="compute: a task can't compute arrays itself; hand it lazy arrays"):
        wr.submit(lambda: wr.ones(3).sum().compute()).result()
    with pytest.raises(wr.ClusterError, match="compute: a function of blocks can't compute arrays itself"):
        wr.map_blocks(lambda b: b + wr.ones(4).sum().compute(), wr.arange(4), dtype=int).compute()
    with pytest.raises(wr.ClusterError, match="can't compute arrays itself"):
        wr.submit(lambda: wr.submit(np.sum, wr.ones(3)).result()).result()


def test_each_number_comes_once_whoever_begins_to_number():
    numbers = _Numbers()
    drawn = []
    for rank in (0, 3, 3, 0, 3):
        numbers.begin(rank)
        drawn.append(next(numbers))
    assert drawn == [1, 3 * NUMBERS + 1, 3 * NUMBERS + 2, 2, 3 * NUMBERS + 3]
