"""Tasks and futures, on the embedded engine."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import pickle
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import windrow as wr
from support.waiting import until
from windrow.workers.shared.serial_thread import SerialThread


def add(a, b=1):
    return a + b


def test_calls_and_results():
    assert wr.submit(add, 1, b=2).result() == 3
    assert wr.gather(wr.map(add, range(50), range(50))) == [2 * k for k in range(50)]
    assert wr.gather({"a": [wr.submit(add, 1)], "b": 5}) == {"a": [2], "b": 5}


def test_futures_are_arguments_however_deep():
    first, second = wr.submit(add, 1), wr.submit(np.arange, 100_000)
    found = wr.submit(lambda d: (d["x"][0], d["y"].sum()), {"x": [first], "y": second})
    assert found.result() == (2, np.arange(100_000).sum())
    assert wr.submit(sum, wr.map(add, range(10))).result() == 55
    with pytest.raises(TypeError, match="can't be pickled"):
        pickle.dumps(first)


def test_exceptions_come_with_the_task_and_the_line():
    with pytest.raises(ZeroDivisionError) as caught:
        wr.submit(divmod, 1, 0).result()
    notes = "\n".join(caught.value.__notes__)
    assert "in task divmod-" in notes
    assert "test_tasks.py:" in notes
    bad = wr.submit(divmod, 1, 0)
    with pytest.raises(ZeroDivisionError):
        wr.submit(add, bad).result()
    assert isinstance(bad.exception(), ZeroDivisionError)


class Locked(Exception):
    """It can't be pickled."""

    def __init__(self, text):
        super().__init__(text)
        self.lock = threading.Lock()


def test_exceptions_come_with_their_causes_and_contexts():
    def fail(kind, hide):
        try:
            try:
                {}["a"]
            except KeyError as error:
                raise kind("v") from (None if hide else error)
        except Exception:
            raise RuntimeError("r")  # noqa: B904 # its context

    error = wr.submit(fail, ValueError, hide=False).exception()
    assert (repr(error), error.__cause__, error.__suppress_context__) == ("RuntimeError('r')", None, False)
    assert repr(error.__context__) == "ValueError('v')"
    assert repr(error.__context__.__cause__) == "KeyError('a')"
    assert error.__context__.__context__ is error.__context__.__cause__
    hidden = wr.submit(fail, ValueError, hide=True).exception().__context__
    assert (hidden.__cause__, hidden.__suppress_context__) == (None, True)
    told = wr.submit(fail, Locked, hide=False).exception().__context__
    assert isinstance(told, wr.WindrowError)
    assert "Locked: v" in str(told), "as text"
    assert repr(told.__cause__) == "KeyError('a')"


def test_retries(tmp_path):
    def flaky(path, limit):
        with open(path, "a") as file:
            file.write("x")
        if os.path.getsize(path) < limit:
            raise RuntimeError("not yet")
        return os.path.getsize(path)

    assert wr.submit(flaky, str(tmp_path / "a"), 3, retries=2).result() == 3
    with pytest.raises(RuntimeError, match="not yet"):
        wr.submit(flaky, str(tmp_path / "b"), 3, retries=1).result()


@pytest.mark.parametrize(
    ("keywords", "error", "told"),
    [
        ({"cores": 0}, wr.BadValue, "'cores' is 0"),
        ({"cores": 10_000}, wr.BadValue, "'cores' is 10000"),
        ({"memory": -1}, wr.BadValue, "'memory' is -1"),
        ({"memory": "900 TiB"}, wr.BadValue, "'memory' is '900 TiB'; expected from 0 to"),
        ({"memory": "much"}, wr.ArgumentError, "'memory' is 'much'; expected a whole number of bytes, or text"),
        ({"memory": 1.5}, wr.ArgumentError, "'memory' is 1.5"),
        ({"retries": -1}, wr.BadValue, "'retries' is -1"),
        ({"priority": "high"}, wr.ArgumentError, "'priority' is 'high'"),
    ],
)
def test_bad_demands(keywords, error, told):
    with pytest.raises(error, match=told):
        wr.submit(add, 1, **keywords)


def test_memory_is_said_as_to_a_cluster():
    for memory in ("1 MiB", 1 << 20, np.int64(1 << 20), float(1 << 20)):
        assert wr.submit(add, 1, memory=memory)._record.demand.memory == 1 << 20
    (future,) = wr.map(add, [1], memory="2kB")
    assert future._record.demand.memory == 2000
    with wr.Executor(memory="64 KiB") as executor:
        assert executor.submit(add, 1)._record.demand.memory == 1 << 16
    assert wr.delayed(add, memory="1 MiB")(1).compute() == 2


def test_what_cannot_travel_is_told_at_once():
    with pytest.raises(wr.ArgumentError, match="submit: the function 'add' with its arguments can't be pickled"):
        wr.submit(add, threading.Lock())
    with pytest.raises(wr.ArgumentError, match="'fn' is 5"):
        wr.submit(5)
    with pytest.raises(wr.ArgumentError, match="at least one"):
        wr.map(add)


def test_the_standard_library_takes_them():
    futures = wr.map(add, range(20))
    assert sorted(f.result() for f in concurrent.futures.as_completed(futures, timeout=20)) == list(range(1, 21))
    assert len(concurrent.futures.wait([wr.submit(time.sleep, 0.01)], timeout=20).done) == 1
    told, ended = [], threading.Event()
    future = wr.submit(add, 1)

    def call_back(done):
        told.append((wr.submit(add, done.result()).result(), threading.current_thread().name))
        ended.set()

    future.add_done_callback(call_back)
    assert ended.wait(20)
    assert told == [(3, "windrow-callbacks")], "callbacks may use the cluster"
    ended.clear()
    wr.submit(time.sleep, 0.05).add_done_callback(lambda _: ended.set())
    assert ended.wait(20), "though nobody has the future"
    with pytest.raises(TimeoutError, match=r"result: task sleep-\d+ hasn't ended within 0.01 s"):
        wr.submit(time.sleep, 0.3).result(timeout=0.01)


class Dumb(Exception):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

    def __str__(self):
        raise RuntimeError("it says nothing")


def test_errors_that_say_nothing_end_their_tasks():
    def fail():
        raise Dumb

    with pytest.raises(wr.WindrowError, match="Dumb"):
        wr.submit(fail).result(20)


def test_what_a_task_takes_is_kept_as_it_is():
    def change(a):
        a += 1

    large = wr.submit(np.zeros, 100_000)
    with pytest.raises(ValueError, match="read-only"):
        wr.submit(change, large).result()
    assert not large.result().any()


def test_futures_travel_among_arguments_alone():
    future = wr.submit(add, 1)
    with pytest.raises(wr.ArgumentError, match="a future can't be pickled"):
        wr.map_blocks(lambda b, f: b, wr.arange(4), f=future, dtype=int)
    with pytest.raises(wr.ArgumentError, match="a future can't be pickled"):
        wr.shared.object({"f": future})


CYCLES = """
import gc, weakref
import windrow as wr
from support.waiting import until

future = wr.submit(divmod, 1, 0)
try:
    future.result()
except ZeroDivisionError:
    pass
gc.disable()
gone = weakref.ref(future)
del future
until(lambda: gone() is None, "the future is gone")  # the thread that told it may not be through
print(gone() is None)
"""


def test_failed_futures_are_no_cycles(launch, tmp_path):
    (tmp_path / "program.py").write_text(CYCLES)
    assert launch(0, "program.py").last == "True"


@pytest.mark.parametrize(
    "call", [wr.gather, lambda f, timeout: f.result(timeout), lambda f, timeout: f.exception(timeout)]
)
def test_bad_timeouts(call):
    with pytest.raises(wr.ArgumentError, match="'timeout' is 'x'"):
        call(wr.submit(add, 1), timeout="x")
    with pytest.raises(wr.ArgumentError, match="'timeout' is nan"):
        call(wr.submit(add, 1), timeout=float("nan"))


def test_long_and_short_timeouts_of_exceptions():
    future = wr.submit(time.sleep, 0.3)
    with pytest.raises(TimeoutError, match=r"exception: task sleep-\d+ hasn't ended within 0.01 s"):
        future.exception(timeout=0.01)
    assert future.exception(timeout=1e300) is None
    assert future.result(timeout=1e10) is None
    assert future.result(timeout=10**400) is None


def test_an_executor_waits_for_callbacks():
    called = []

    def note(future):
        time.sleep(0.001)
        called.append(future.result())

    with wr.Executor() as executor:
        for number in range(50):
            executor.submit(add, number).add_done_callback(note)
    assert sorted(called) == list(range(1, 51))


def test_futures_are_done_where_no_thread_can_be_started_for_callbacks(monkeypatch):
    called, serial = [], SerialThread("windrow-test")
    monkeypatch.setattr("windrow.scheduler.tasks.future._callbacks", serial)

    def refuse():
        raise RuntimeError("can't start new thread")

    futures = [wr.submit(time.sleep, 0.05) for _ in range(3)]
    with monkeypatch.context() as few:
        few.setattr(serial, "_start", refuse)
        for future in futures:
            future.add_done_callback(called.append)
        until(lambda: all(future.done() for future in futures), lambda: futures)
        assert not called
    wr.submit(add, 1).add_done_callback(called.append)
    until(lambda: len(called) == 4, lambda: called)


def test_small_results_cut_lineage():
    x = wr.arange(10).persist()
    future = wr.submit(lambda a: a.sum(), x)
    chain = future
    for _ in range(200):
        chain = wr.submit(add, chain)
    assert chain.result() == 245
    assert chain._record.needs == ()
    assert future._record.arrays == (), "nor are arrays kept"
    assert wr.submit(add, future).result() == 46


def pass_gate(folder, number):
    (folder / str(number)).touch()
    until((folder / "gate").exists, "the gate is open")


def test_executor(tmp_path):
    with wr.Executor(retries=1) as executor:
        assert executor.submit(add, 1).result() == 2
        assert list(executor.map(add, range(5), range(5))) == [0, 2, 4, 6, 8]
        slow = [executor.submit(time.sleep, 0.05) for _ in range(4)]
    assert all(f.done() for f in slow)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(add, 1)
    executor = wr.Executor()
    futures = [executor.submit(pass_gate, tmp_path, number) for number in range(20)]
    until(lambda: os.listdir(tmp_path), "a task has begun")
    gate = threading.Timer(0.2, (tmp_path / "gate").touch)
    gate.start()
    executor.shutdown(cancel_futures=True)
    gate.join()
    assert all(f.done() for f in futures)
    begun = {number for number in range(20) if (tmp_path / str(number)).exists()}
    assert {number for number, f in enumerate(futures) if not f.cancelled()} == begun
    assert len(begun) < 20


def test_asyncio():
    async def run():
        loop = asyncio.get_running_loop()
        one = await wr.submit(np.ones, 100_000)
        two = await loop.run_in_executor(wr.Executor(), add, 1)
        three = await (wr.arange(5, chunks=2) + 1)
        return one.sum(), two, three.tolist()

    assert asyncio.run(run()) == (100_000, 2, [1, 2, 3, 4, 5])


def test_cancel_what_waits_and_what_runs():
    def forever():
        while True:
            pass

    running = [wr.submit(forever) for _ in range(wr.cluster().threads)]
    waiting = wr.submit(add, 1)
    behind = wr.submit(add, waiting)
    time.sleep(0.1)
    assert running[0].running()
    assert not running[0].cancel()
    assert waiting.cancel()
    assert waiting.cancelled()
    for future in running:
        assert future.cancel(running=True)
        assert future.cancelled()
    with pytest.raises(concurrent.futures.CancelledError):
        behind.result(20)
    program = wr.submit(["sleep", "20"])
    time.sleep(0.1)
    assert program.cancel(running=True)
    assert wr.submit(add, 1).result(20) == 2, "the threads live on"


def test_programs():
    assert wr.submit(["echo", "some words"]).result() == "some words\n"
    with pytest.raises(subprocess.CalledProcessError) as caught:
        wr.submit(["sh", "-c", "echo trouble >&2; exit 3"]).result()
    assert caught.value.returncode == 3
    assert "trouble" in "".join(caught.value.__notes__)
    with pytest.raises(wr.MissingFile, match="no-such-program"):
        wr.submit(["no-such-program-here"]).result()


def test_results_go_with_their_futures():
    from windrow.scheduler.session.cluster import session
    from windrow.workers.wire.task_messages import BoardMessage

    service = session().engine.local.tasks
    large = wr.submit(np.ones, 100_000)
    number = large._record.number
    assert large.result().sum() == 100_000
    assert service.find(number)[0]
    del large
    until(lambda: not service.find(number)[0], "the result is forgotten")
    board = session().engine.local.calls.provided(BoardMessage).board
    assert number not in board.records


def test_scatter():
    parts = wr.scatter([np.arange(3), "abc"])
    assert wr.submit(lambda a, s: (a.sum(), s), *parts).result() == (3, "abc")
    assert wr.scatter({"a": 1})["a"].result() == 1


def test_lazy_calls():
    def count(path):
        with open(path, "a") as file:
            file.write("x")
        return 1

    lazy = wr.delayed(add)
    assert lazy(lazy(1, 2), [4][0]).compute() == 7
    assert wr.delayed(sum)([lazy(k) for k in range(4)]).compute() == 10
    numbers = wr.delayed([3, 1, 2])
    assert (wr.delayed(max)(numbers) + numbers[1] * 2 - (-numbers[0])).compute() == 8
    assert numbers.index(1).compute() == 1
    quotient, rest = wr.delayed(divmod, nout=2)(7, 3)
    assert (quotient.compute(), rest.compute()) == (2, 1)
    chain = wr.delayed(0)
    for _ in range(1500):
        chain = lazy(chain)
    assert chain.compute() == 1500
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(numbers)
    with pytest.raises(wr.ArgumentError, match="unknown keyword 'core'"):
        wr.delayed(add, core=2)


def test_lazy_calls_are_awaited():
    lazy = wr.delayed(add)

    async def run():
        x = wr.arange(5, chunks=2)
        arrays = await asyncio.gather(*map(asyncio.ensure_future, (x.sum(), x.max())))
        return await lazy(1), await asyncio.gather(lazy(2), lazy(3), lazy(2)), [int(each) for each in arrays]

    assert asyncio.run(run()) == (2, [3, 4, 3], [10, 4])

    async def fail():
        await wr.delayed(divmod)(1, 0)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(fail())


def test_a_lazy_call_runs_once_for_all_that_take_it(tmp_path):
    def count():
        with open(tmp_path / "runs", "a") as file:
            file.write("x")
        return 1

    one = wr.delayed(count)()
    assert (one + one * 2 + one).compute() == 4
    assert (tmp_path / "runs").read_text() == "x"


def test_chunks_and_lazy_calls():
    parts = [wr.from_delayed(wr.delayed(np.arange)(k), (k,), "int64") for k in (3, 4)]
    assert wr.concatenate(parts).compute().tolist() == [0, 1, 2, 0, 1, 2, 3]
    x = wr.arange(12, chunks=5).reshape(3, 4).rechunk((2, 3))
    blocks = x.to_delayed()
    assert blocks.shape == (2, 2)
    assert wr.delayed(np.block)(blocks.tolist()).compute().tolist() == np.arange(12).reshape(3, 4).tolist()
    with pytest.raises(wr.WindrowError, match="shape"):
        wr.from_delayed(wr.delayed(np.arange)(3), (4,), "int64").compute()
    with pytest.raises(wr.ArgumentError, match="'dtype' is None"):
        wr.from_delayed(wr.delayed(np.arange)(3), (3,))
    with pytest.raises(wr.ArgumentError, match="'shape' is \\(nan,\\)"):
        wr.from_delayed(wr.delayed(np.arange)(3), (np.nan,), "int64")


def test_compute_persist_and_wait_take_lazy_calls_and_futures(tmp_path):
    def count():
        with open(tmp_path / "runs", "a") as file:
            file.write("x")
        return 1

    one = wr.delayed(count)()
    x = wr.arange(4)
    assert wr.compute({"a": one + 1, "b": [x.sum(), one]}, 7) == ({"a": 2, "b": [6, 1]}, 7)
    assert (tmp_path / "runs").read_text() == "x", "together"
    held, kept = wr.persist(one, x + 1)
    assert (held + held).compute() == 2
    assert wr.compute(held, kept.sum()) == (1, 10)
    assert (tmp_path / "runs").read_text() == "xx"
    assert wr.persist(one)[0].compute() == 1
    futures = [wr.submit(add, 1), wr.submit(divmod, 1, 0)]
    wr.wait(futures, {"a": kept})
    assert all(f.done() for f in futures)
    with pytest.raises(wr.WaitTimeout, match="1 of 2 futures"):
        wr.wait([wr.submit(time.sleep, 0.2), futures[0]], timeout=0.01)


def test_shared_objects_in_calls():
    table = wr.shared.object({"a": np.arange(10)})
    assert wr.submit(lambda k: int(table["a"][k]), 3).result() == 3
    assert wr.submit(lambda t: int(t["a"].sum()), table).result() == 45


def test_a_closed_cluster_ends_what_waits():
    with wr.Cluster(threads=1):
        futures = [wr.submit(time.sleep, 0.3) for _ in range(5)]
        time.sleep(0.05)
    with pytest.raises(wr.ClusterError, match="the cluster was closed"):
        futures[-1].result(20)


def test_programs_end_with_their_cluster(tmp_path):
    place = tmp_path / "pid"
    with wr.Cluster(threads=1):
        wr.submit(["sh", "-c", f"echo $$ > {place}; exec sleep 20"])
        until(lambda: place.exists() and place.read_text().strip(), "the program runs")
    pid = int(place.read_text())
    until(lambda: not Path(f"/proc/{pid}").exists(), "the program has ended")


class Sulky:
    """Raises where it is asked for its size."""

    @property
    def nbytes(self):
        raise RuntimeError("not now")


def test_results_are_taken_whatever_their_size_says():
    assert isinstance(wr.submit(Sulky).result(timeout=20), Sulky)


def test_functions_that_use_futures_are_refused():
    future = wr.submit(add, 1)
    held = [future, future]
    x = wr.arange(4, chunks=2)
    for call in (
        lambda: wr.submit(lambda: future.result() + 1),
        lambda: wr.submit(lambda: sum(f.result() for f in held)),
        lambda: wr.map(lambda n: n + future.result(), [1, 2]),
        lambda: wr.delayed(lambda: held[0])().compute(),
        lambda: wr.map_blocks(lambda block: block + future.result(), x, dtype=int),
        lambda: wr.blockwise(lambda block: block + held[0].result(), "i", x, "i", dtype=int),
    ):
        with pytest.raises(wr.ArgumentError, match=r"uses the future '(future|held)'; expected its value.*result\(\)"):
            call()
    value = future.result()
    assert wr.map_blocks(lambda block: block + value, x).sum().compute() == 6 + 4 * value
    assert wr.submit(lambda one, more: one + sum(more), future, [future, future]).result() == 3 * value


def test_what_stays_in_compiled_code_is_cancelled_while_nothing_else_happens():
    with wr.Cluster(threads=1):
        future = wr.submit(time.sleep, 4)
        until(future.running, "the task runs")
        time.sleep(0.1)
        assert future.cancel(running=True)
        assert wr.submit(add, 1).result(20) == 2
