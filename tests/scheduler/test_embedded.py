"""The embedded engine under strain: small arenas, many threads, functions that fail, what is left behind."""

from __future__ import annotations

import gc
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

import windrow as wr
from support.waiting import until
from windrow.workers.memory import spill
from windrow.workers.memory.spill import SpillFile

pytestmark = pytest.mark.timeout(60)


@contextmanager
def cluster(memory="64 MiB"):
    """A cluster that has nothing in its arena at the end."""
    with wr.Cluster(threads=2, memory=memory) as made:
        yield made

        def is_free():
            gc.collect()
            return not made.info()[0]["arena_used"]

        until(is_free, "the arena is free")


def ramp(n):
    return np.arange(n * 1000.0).reshape(n, 1000)


def test_more_than_the_arena_spills_and_comes_back():
    with cluster("1 MiB") as made:
        a = ramp(1000)
        kept = (wr.from_array(a, chunks=(50, 1000)) + 1).persist()
        assert np.array_equal((kept * 2).compute(), (a + 1) * 2)
        assert float(kept.sum()) == (a + 1).sum()
        assert np.array_equal(kept.rechunk((1000, 20)).compute(), a + 1)
        assert made._session.engine.local.spills
        del kept


def test_results_beyond_the_arena():
    with cluster("1 MiB"):
        x = wr.from_array(ramp(1000), chunks=(7, 1000))
        y = x + 1
        same, total, triple = wr.compute(y, y.sum(axis=0), y * 3)
        assert np.array_equal(same, ramp(1000) + 1)
        assert np.array_equal(total, (ramp(1000) + 1).sum(axis=0))
        assert np.array_equal(triple, same * 3)


def test_a_block_larger_than_the_arena_is_refused():
    with cluster("1 MiB"):
        told = r"ones: a block needs 7.6 MiB; the arena of 1.0 MiB has 1.0 MiB free and that is more than .*--memory"
        with pytest.raises(wr.OutOfMemory, match=told):
            wr.wait(wr.ones((1000, 1000), chunks=1000).persist())
        told = r"needs 1.0 MiB.*and that, rounded up to 1,069,120 bytes, is more than the whole"
        with pytest.raises(wr.OutOfMemory, match=told):
            wr.wait(wr.ones(1 << 17).persist())


@pytest.mark.parametrize("fold", [100, 100_000])
def test_threads_that_compute_the_same(fold):
    """Small chunks are folded and gathered from slabs, large ones written straight into the result."""
    expected = np.arange(200_000) * 2 + 1
    errors = []

    def work():
        try:
            for _ in range(5):
                assert np.array_equal(y.compute(), expected)
                kept = (y + 1).persist()
                assert int(kept.sum()) == (expected + 1).sum()
                wr.release(kept)
        except BaseException as error:
            errors.append(error)

    with cluster():
        y = wr.arange(200_000, chunks=fold) * 2 + 1
        threads = [threading.Thread(target=work, daemon=True) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(40)
        assert not any(thread.is_alive() for thread in threads)
        assert not errors


def test_functions_that_fail():
    class Awkward(Exception):
        def __init__(self, a, b):
            super().__init__(f"{a} and {b}")

    def awkward(block):
        raise Awkward(1, 2)

    x = wr.ones((10, 10), chunks=5)
    with cluster():
        with pytest.raises(ZeroDivisionError):
            wr.map_blocks(lambda b: 1 / 0, x, dtype=float).compute()
        with pytest.raises(wr.ShapeError, match=r"\(1, 5\).*expected \(5, 5\)"):
            wr.map_blocks(lambda b: b[:1], x, dtype=float).compute()
        with pytest.raises(Exception, match="1 and 2"):
            wr.map_blocks(awkward, x, dtype=float).compute()
        lock = threading.Lock()
        with pytest.raises(wr.ArgumentError, match="pickled"):
            wr.map_blocks(lambda b: lock and b, x, dtype=float)
        failed = wr.map_blocks(lambda b: 1 / 0, x, dtype=float).persist()
        with pytest.raises(ZeroDivisionError):
            failed.sum().compute()
        assert float(x.sum()) == 100
        del failed


def test_as_many_blocks_run_at_once_as_there_are_threads(tmp_path):
    """Each block waits for the others, so that none ends where they are run one after the other."""

    def meet(block, block_id):
        from pathlib import Path

        folder = Path(where)
        (folder / str(block_id[0])).touch()
        until(lambda: len(list(folder.iterdir())) == 3, "all blocks have begun")
        return block

    where = str(tmp_path)
    with wr.Cluster(threads=3, memory="64 MiB"):
        assert float(wr.map_blocks(meet, wr.ones(3, chunks=1), dtype=float).sum()) == 3


def test_dropping_what_still_runs():
    def slow(block):
        time.sleep(0.02)
        return block

    with cluster():
        kept = wr.map_blocks(slow, wr.ones((100, 100), chunks=10), dtype=float).persist()
        time.sleep(0.05)
        del kept
        assert float(wr.ones(4).sum()) == 4


def test_what_is_there_already_needs_no_waiting():
    """Arrays that are read where they lie, several at once, before and behind some that have to be made."""
    with cluster():
        a, b = np.arange(10.0), np.arange(20.0)
        made = wr.ones(6, chunks=2) * 3
        kept = wr.persist(wr.from_array(a, chunks=5), made, wr.from_array(b, chunks=5), made + 1)
        wr.wait(*kept, timeout=20)
        assert [float(x.sum()) for x in kept] == [45, 18, 190, 24]
        del kept


def test_the_cluster_that_was_made_last_computes_until_it_is_closed():
    with wr.Cluster(threads=1, memory="16 MiB") as outer:
        with wr.Cluster(threads=2, memory="16 MiB") as inner:
            assert wr.cluster() is inner
            kept = wr.ones(8, chunks=4).persist()
            assert wr.cluster() is inner
        assert wr.cluster() is outer
        assert float(wr.ones(4).sum()) == 4
        with pytest.raises(wr.ClusterError):
            kept.expr.pin.wait()
    other = wr.Cluster(threads=1, memory="16 MiB")
    with wr.Cluster(threads=1, memory="16 MiB") as last:
        other.close()
        assert wr.cluster() is last
    assert wr.cluster() not in (outer, inner, other, last)


def test_all_clusters_are_closed_at_the_end_of_the_process(launch):
    text = """
import atexit
made = []
atexit.register(lambda: print([each.closed for each in made]))  # comes after what is registered later
import windrow as wr
made += [wr.Cluster(threads=1, memory="16 MiB") for _ in range(4)]
assert float(wr.ones(4).sum()) == 4
"""
    assert launch(0, "-c", text, limit=40).last == "[True, True, True, True]"


def test_blocks_that_lie_side_by_side_are_handed_over_as_one():
    with cluster() as made:
        x = wr.map_blocks(lambda block: block + 1, wr.arange(512, chunks=1), dtype=int)
        gather = made._session._gather([x.expr])
        gather.start()
        seen, together = np.zeros(512, np.int64), 0
        while not seen.all():
            arrival = gather.job.arrivals.get(timeout=30)
            if isinstance(arrival.slabs, np.ndarray):
                together += len(arrival.tasks)
                seen[arrival.tasks] = arrival.slabs.copy().view(np.int64).reshape(-1)
            else:
                seen[arrival.tasks] = [slab.view(np.int64)[0] for slab in arrival.slabs]
            gather._accept(arrival)
        gather._finish()
        assert seen.tolist() == list(range(1, 513))
        assert together


@pytest.mark.parametrize("sizes", [(1, 2, 3, 2), (8, 8, 8, 5), (0, 4, 0, 1)])
def test_small_blocks_of_several_sizes(sizes):
    """They take as many bytes of the arena, and lie at equal distances, but are not alike."""
    with cluster():
        a = np.arange(100 * sum(sizes))
        x = wr.map_blocks(lambda block: block * 2, wr.from_array(a, chunks=(sizes * 100,)), dtype=int)
        assert np.array_equal(x.compute(), a * 2)
        kept = x.persist()
        assert np.array_equal(kept.compute(), a * 2)
        assert np.array_equal(kept[3:-7:5].compute(), a[3:-7:5] * 2)
        del kept


@pytest.mark.parametrize("sizes", [(5, 5, 5, 3), (1, 2, 3, 2), (90_000, 40_000)])
def test_a_block_is_looked_at_where_it_lies(sizes):
    """Also one of several that a task made."""
    a = np.arange(sum(sizes))
    with cluster() as made:
        kept = (wr.from_array(a, chunks=(sizes,)) * 2).persist()
        for number in range(len(sizes)):
            block = made._session.chunk(kept.expr, number)
            assert np.array_equal(block, a[kept.expr.grid.block_slices(number)] * 2)
            assert np.shares_memory(block, made._session.chunk(kept.expr, number))
            assert not block.flags.writeable
        del kept, block


def test_nothing_to_compute():
    with cluster() as made:
        assert made._session.run([]) == []


def test_all_that_is_stuck_is_given_up_when_the_disk_refuses(monkeypatch):
    def refuse(folder, slabs, cached):
        if refuse.calls:
            raise OSError(28, "No space left on device")
        refuse.calls += 1
        return SpillFile(folder, slabs, cached)

    refuse.calls = 0
    monkeypatch.setattr(spill, "SpillFile", refuse)
    with wr.Cluster(threads=2, memory="16 MiB"):
        x = wr.random.default_rng(1).normal(size=5_000_000, chunks=125_000)
        a, b = x.persist(), (x * 2).persist()
        with pytest.raises(wr.OutOfMemory, match="No space left"):
            a.expr.pin.wait()
        with pytest.raises(wr.OutOfMemory, match="No space left"):
            b.expr.pin.wait()


def test_what_failed_before_it_was_read_raises_its_own_error():
    """Also where it failed between planning and running."""
    with cluster() as made:
        failed = wr.map_blocks(lambda b: 1 / 0, wr.ones((10, 10), chunks=5), dtype=float)
        plan = made._session.stages

        def late(roots):
            stages = plan(roots)
            if kept:
                with pytest.raises(ZeroDivisionError):
                    kept[0].expr.pin.wait()
                made._session.engine.ask(lambda engine: None)
            return stages

        kept = []
        made.stages = late
        kept.append(failed.persist())
        with pytest.raises(ZeroDivisionError):
            kept[0].sum().compute()
        made.stages = plan
        kept.clear()
