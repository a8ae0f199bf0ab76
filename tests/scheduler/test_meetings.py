"""One thing meets another at the worst moment: releases, cancellations, spills, views and deaths in between."""

from __future__ import annotations

import gc
import time

import numpy as np
import pytest

import windrow as wr
from support.waiting import until
from windrow.graph.lowering.lower import lower
from windrow.graph.lowering.stage import relations
from windrow.scheduler.engine.spiller import victims
from windrow.scheduler.ledger.ledger import Ledger
from windrow.scheduler.session.job import Release, Submit
from windrow.scheduler.session.session import _with_sinks

pytestmark = pytest.mark.timeout(60)

REMADE = """
import time
import windrow as wr
from support.ranks import await_losses, kill_a_rank

def slow(block):
    import time
    time.sleep(0.7)
    return block + 7

with wr.Cluster(ranks=3, memory="64 MiB") as cluster:
    kept = wr.map_blocks(slow, wr.arange(30, chunks=10), dtype=int).persist()
    wr.wait(kept)
    owners = cluster._session.engine.ask(lambda engine: engine.ledger.records[kept.expr.token].owner.tolist())
    block = next(k for k, owner in enumerate(owners) if owner)
    kill_a_rank(lambda rows: next(row for row in rows if row["rank"] == owners[block]))
    await_losses()
    time.sleep(0.2)
    print(cluster._session.chunk(kept.expr, block).tolist() == list(range(10 * block + 7, 10 * block + 17)))
"""


def held(*arrays, ranks=1):
    """A ledger in which arrays are persisted, and nothing has run."""
    ledger = Ledger([1 << 30] * ranks, [1] * ranks)
    ledger.add(lower([x.expr for x in arrays], lambda token: False), True)
    for x in arrays:
        ledger.hold(x.expr.token)
    ledger.plan()
    return ledger


def stored(ledger, x, rank=0):
    """Let a rank make all chunks of an array; return its record."""
    record = ledger.records[x.expr.token]
    while not record.complete:
        ledger.done(ledger.take(rank).number, 0.01)
    return record


@pytest.fixture
def cluster():
    with wr.Cluster(threads=2, memory="64 MiB") as cluster:
        yield cluster


@pytest.mark.parametrize("use", ["itself", "read", "persisted"])
def test_what_a_computation_reads_is_released_before_it_is_handed_in(monkeypatch, cluster, use):
    def numbers():
        return wr.arange(100, chunks=10) + 1

    kept = [numbers().persist()]
    wr.wait(*kept)
    whole = relations

    def released(*args):
        kept.pop().release()
        time.sleep(0.05)
        cluster._session.engine.ask(lambda engine: None)
        return whole(*args)

    monkeypatch.setattr("windrow.scheduler.session.session.relations", released)
    if use == "itself":
        assert numbers().compute().tolist() == list(range(1, 101))
    else:
        found = numbers() * 2
        if use == "persisted":
            found = found.persist()
            monkeypatch.undo()
        assert found.compute().tolist() == list(range(2, 202, 2))
    assert len(cluster._session._kept) == (use == "persisted")


@pytest.mark.parametrize("use", ["itself", "read"])
def test_what_a_computation_reads_fails_before_it_is_handed_in(monkeypatch, cluster, tmp_path, use):
    gate = tmp_path / "gate"

    def fails(block):
        while not gate.exists():
            time.sleep(0.01)
        raise ZeroDivisionError("at the gate")

    kept = wr.map_blocks(fails, wr.ones(4), dtype=float).persist()
    whole = relations

    def failed(*args):
        gate.touch()
        with pytest.raises(ZeroDivisionError):
            wr.wait(kept)
        cluster._session.engine.ask(lambda engine: None)
        time.sleep(0.05)
        cluster._session.engine.ask(lambda engine: None)
        return whole(*args)

    monkeypatch.setattr("windrow.scheduler.session.session.relations", failed)
    with pytest.raises(ZeroDivisionError, match="at the gate"):
        (kept if use == "itself" else kept + 1).compute()


def test_what_stopped_while_it_was_entered_is_entered_anew_by_the_next(monkeypatch, cluster):
    x = wr.random.default_rng(1).random((40, 40), chunks=20)
    y = (x @ x) @ x
    expected = y.compute()
    first, second = (cluster._session._gather([y.expr]) for _ in range(2))
    whole, answers = Ledger.add, [iter([False, False, True])]

    def add(self, stages, in_place, reads, stop):
        answer = answers.pop() if answers else None
        return whole(self, stages, in_place, reads, stop if answer is None else lambda: next(answer))

    def both(engine):
        monkeypatch.setattr(Ledger, "add", add)
        for gather in (first, second):
            engine.request(Submit((gather.job,)))

    cluster._session.engine.ask(both)
    assert second.run(time.monotonic() + 20)
    assert np.array_equal(second.results[y.expr.token], expected)
    with pytest.raises(wr.ClusterError, match="cancelled"):
        first.run(time.monotonic() + 20)


def test_a_result_that_is_written_in_place_has_a_name_of_its_own(cluster):
    x = wr.ones((200, 200), chunks=(100, 200)) + 1
    stages = lower([x.expr], lambda token: False)
    result = np.empty(x.shape)
    made = [_with_sinks(stages, [x.expr.token], [result])[2] for _ in range(2)]
    assert all(made), "it isn't written in place"
    assert not made[0].keys() & made[1].keys(), "one that was cancelled may still run"


def test_what_is_looked_at_stays_though_it_was_to_be_spilled():
    x = wr.random.default_rng(1).random(1000, chunks=100)
    ledger = held(x)
    stored(ledger, x)
    ((record, tasks),) = victims(ledger, 0, 1 << 20)
    offsets = record.offset[tasks].copy()
    record.view(slice(None))
    ledger.note_spilled(0, record, tasks, offsets, 5, np.arange(len(tasks)) * 800)
    assert (record.source == -1).all()
    assert np.array_equal(record.offset[tasks], offsets)
    assert ledger.slabs.dropped == [(0, 5)]


@pytest.mark.parametrize("end", ["refused", "dead"])
def test_what_came_to_nothing_when_nobody_wants_it_any_more_is_not_run_again(end):
    x = wr.random.default_rng(1).random(1 << 19, chunks=1 << 17)
    y = wr.sqrt(x)
    ledger = held(x, y, ranks=2)
    record = stored(ledger, x)
    ledger.unhold(x.expr.token)
    batch = ledger.take(1)
    assert batch.record.stage.token == y.expr.token
    ledger.unhold(y.expr.token)
    assert record.nstored == len(batch.tasks), "it is being read"
    if end == "refused":
        ledger.note_refused(batch.number)
        assert ledger.plan() == 0
    else:
        assert ledger.lose(1).recomputed == 0
    assert ledger.arenas[0].used == 0
    assert ledger.take(0) is None
    ledger.forget()
    assert not ledger.records


def test_what_is_lost_while_it_is_read_is_not_made_again_for_nobody():
    x = wr.random.default_rng(1).random(1 << 19, chunks=1 << 17)
    y, wide = wr.sqrt(x), x.rechunk(1 << 19)
    ledger = held(x, y, wide, ranks=2)
    record = stored(ledger, x, rank=1)
    batch = ledger.take(0)
    while batch is not None and batch.record.stage.token != y.expr.token:
        ledger.note_refused(batch.number)
        batch = ledger.take(0)
    assert batch is not None
    ledger.lose(1)
    assert record.nwaiting == 4
    for each in (x, y, wide):
        ledger.unhold(each.expr.token)
    assert record.nwaiting == len(batch.tasks), "it is being read"
    ledger.done(batch.number, 0.01)
    assert ledger.waiting() == 0
    assert ledger.take(0) is None
    ledger.forget()
    assert not ledger.records


def test_only_what_can_have_begun_answers_for_a_death():
    x = wr.ones((40, 40), chunks=20)
    ledger = Ledger([1 << 24] * 3, [1] * 3)
    batches = []
    for function in (np.negative, np.positive):
        y = wr.map_blocks(function, x, dtype=float)
        ledger.add(lower([y.expr], lambda token: False), True)
        ledger.hold(y.expr.token)
        ledger.plan()
        batches.append(ledger.take(1))
    running, ahead = batches
    assert running is not None
    assert ahead is not None
    ledger.lose(1)
    assert running.record.deaths
    assert running.record is ahead.record or not ahead.record.deaths
    assert sum(map(len, (running.record.deaths, ahead.record.deaths))) == len(running.tasks)


def test_chunks_are_freed_though_ctrl_c_comes_meanwhile(monkeypatch, cluster):
    """Interrupts in finalizers are lost; what was to be done must not be."""
    whole, interrupts = cluster._session.engine.request, [KeyboardInterrupt]

    def request(asked):
        if isinstance(asked, Release) and interrupts:
            raise interrupts.pop()
        whole(asked)

    kept = [(wr.arange(100, chunks=10) + 1).persist() for _ in range(2)]
    wr.wait(*kept)
    monkeypatch.setattr(cluster._session.engine, "request", request)
    kept.pop()
    assert interrupts, "the other one holds them"
    kept.pop()
    assert not interrupts

    def is_free():
        gc.collect()
        return not cluster.info()[0]["arena_used"]

    until(is_free, "the arena is free")


@pytest.mark.ranks
def test_a_chunk_that_is_being_made_again_is_waited_for(launch):
    ended = launch(0, "-c", REMADE, limit=50)
    assert ended.status == 0, ended.err[-2000:]
    assert ended.last == "True"
