"""Lazy arrays, and chunks of persisted ones, as arguments of tasks; on the embedded engine."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import windrow as wr
from support.waiting import until
from windrow.arrays.tasks.calls import InPlace
from windrow.scheduler.tasks.arrays import ArrayArgument


def test_arrays_are_arguments():
    x = wr.arange(1000, chunks=100) * 2
    assert wr.submit(lambda a, b: float(a.sum() + b[1][3]), x, {1: x}).result() == 999_000 + 6

    def uses():
        return x.sum()

    with pytest.raises(wr.ArgumentError, match="uses the Windrow array 'x'"):
        wr.submit(uses)


def test_chunks_of_persisted_arrays_are_read_not_computed(tmp_path):
    def count(block):
        with open(tmp_path / "runs", "a") as file:
            file.write("x")
        return block

    x = wr.map_blocks(count, wr.arange(6, chunks=2), dtype=int).persist()
    assert wr.delayed(sum)([wr.delayed(np.sum)(part) for part in x.to_delayed()]).compute() == 15
    assert (tmp_path / "runs").read_text() == "xxx"
    before = wr.cluster().info()[0]["chunks"]
    futures = [wr.submit(np.negative, x.blocks[i], out=x.blocks[i]) for i in range(3)]  # which may be written to
    assert [f.result().tolist() for f in futures] == [[0, -1], [-2, -3], [-4, -5]]
    assert (wr.cluster().info()[0]["chunks"], x.compute().tolist()) == (before, [0, 1, 2, 3, 4, 5])


def test_chunks_are_taken_that_are_being_computed():
    for _ in range(5):  # the last one is stored when nothing else goes on
        x = wr.random.default_rng(0).normal(size=800_000, chunks=100_000).persist()
        futures = [wr.submit(np.sum, x.blocks[i]) for i in range(8)]
        wr.wait(futures, timeout=20)
    assert sum(f.result() for f in futures) == pytest.approx(x.sum().compute())


def test_a_call_that_waits_for_its_chunk_costs_nothing(monkeypatch):
    tries, place = [], ArrayArgument.place

    def counted(self, engine):
        tries.append(self)
        return place(self, engine)

    monkeypatch.setattr(ArrayArgument, "place", counted)

    def slow(block):
        time.sleep(0.1)
        return block

    with wr.Cluster(threads=1):
        x = wr.map_blocks(slow, wr.arange(6, chunks=1), dtype=int).persist()
        futures = [wr.submit(np.sum, x.blocks[5]) for _ in range(20)]
        assert all(future.cancel() for future in futures[1:])
        assert futures[0].result(20) == 5
        spent = time.process_time()
        time.sleep(0.3)
        assert time.process_time() - spent < 0.1, "nothing goes on"
    assert len(tries) <= 40


def test_a_call_whose_array_fails_fails():
    def fail(block):
        time.sleep(0.05)
        raise ZeroDivisionError("no")

    x = wr.map_blocks(fail, wr.arange(4, chunks=1), dtype=int).persist()
    for future in (wr.submit(np.sum, x.blocks[3]), wr.submit(np.sum, x)):
        with pytest.raises(ZeroDivisionError):
            future.result(20)


def test_what_calls_take_is_kept_until_they_have_run():
    with wr.Cluster(threads=1):
        x = wr.map_blocks(np.negative, wr.arange(1000, chunks=500)).persist()
        blocker = wr.submit(time.sleep, 0.2)
        future = wr.submit(np.sum, x.blocks[1])
        x.release()
        del x
        assert future.result(20) == -sum(range(500, 1000))
        blocker.result(20)


def test_what_calls_took_goes_to_disk_when_they_are_over():
    with wr.Cluster(threads=1, memory="64 MiB"):
        x = wr.ones(7_000_000, chunks=1_000_000).persist()
        assert wr.gather([wr.submit(np.sum, x.blocks[i]) for i in range(7)]) == [1e6] * 7
        y = (wr.arange(7_000_000, chunks=1_000_000) * 2.0).persist()
        wr.wait(y)  # there is no room for both
        assert (x.sum().compute(), y[-1].compute()) == (7e6, 13_999_998)


def test_from_delayed_of_calls_that_take_arrays():
    x = wr.arange(12, chunks=5)
    first, _, last = x.to_delayed()
    np.testing.assert_array_equal(wr.from_delayed(first, (5,), int).compute(), np.arange(5))
    both = wr.delayed(np.add)(wr.delayed(np.sum)(last), [first][0])
    found = wr.from_delayed(both, (5,), int)
    np.testing.assert_array_equal((found * 2).compute(), 2 * (np.arange(5) + 21))
    whole = wr.from_delayed(wr.delayed(np.outer)(x, b=x + 1), (12, 12), int)
    np.testing.assert_array_equal(whole.compute(), np.outer(np.arange(12), np.arange(12) + 1))
    with pytest.raises(wr.ArgumentError, match="a future can't be pickled"):
        wr.from_delayed(wr.delayed(np.square)(wr.submit(np.arange, 5)), (5,), int)


def test_a_chunk_that_is_only_looked_at_is_not_copied():
    x = (wr.arange(6, chunks=2) * 1.0).persist()

    def look(*chunks):
        return [(chunk.flags.owndata, chunk.flags.writeable, chunk.sum()) for chunk in chunks]

    taken, seen = wr.submit(look, x.blocks[1], InPlace(x.blocks[2])).result(20)
    assert (taken, seen) == ((True, True, 5.0), (False, False, 9.0))


def test_threads_without_tasks_end():
    def threads():
        return [t for t in threading.enumerate() if t.name.startswith("windrow-compute-task") and t not in others]

    others = set(threading.enumerate())
    with wr.Cluster(threads=2, memory="64 MiB"):
        assert wr.gather(wr.map(abs, range(10))) == list(range(10))
        until(lambda: not threads(), threads)
        assert wr.submit(abs, -1).result(20) == 1
