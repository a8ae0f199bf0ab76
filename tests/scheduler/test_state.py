"""What the engine knows is gone when nobody wants it any more: records, batches, ready tasks, claims."""

from __future__ import annotations

import gc
import json
import random
import time
from pathlib import Path

import numpy as np
import pytest

import windrow as wr
from windrow.graph.lowering.lower import lower
from windrow.scheduler.ledger.ledger import Ledger
from windrow.scheduler.ledger.stage_record import ChunkState
from windrow.workers.memory import spill
from windrow.workers.memory.spill import SpillFile

pytestmark = pytest.mark.timeout(60)

STRAIN = """
import json, sys, time
sys.path.insert(0, {folder!r})
import windrow as wr
from tests_state import refused, state
with wr.Cluster(ranks=3, memory="64 MiB") as cluster:
    refused(cluster, 600)
    print(json.dumps(state(cluster)))
"""


def state(cluster):
    """What the engine has, once it has come to rest."""

    def look(engine):
        ledger = engine.ledger
        return {
            "records": len(ledger.records),
            "holding": len(ledger.holding),
            "active": len(ledger.active),
            "wanted": len(ledger._wanted),
            "ready": ledger.ready.first() is not None,
            "batches": len(ledger.batches),
            "given": sum(map(len, ledger.given)),
            "jobs": len(engine.jobs),
            "recalled": len(engine._recalled),
            "waiting": len(engine.local._waiting),
            "stages": len(engine.local.stages),
            "used": [arena.used for arena in ledger.arenas],
        }

    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        gc.collect()
        found = cluster._session.engine.ask(look)
        if not any(any(v) if isinstance(v, list) else v for v in found.values()):
            break
        time.sleep(0.02)
    return found


def nothing(found):
    """Whether all is gone."""
    return not any(any(v) if isinstance(v, list) else v for v in found.values())


def refused(cluster, count):
    """Begin many computations, and cancel them, at once or a moment later: batches that wait are recalled."""
    rng = random.Random(1)
    for k in range(count):
        x = (wr.arange(64, chunks=4) + k) * 2
        gather = cluster._session._gather([x.expr])
        gather.start()
        if rng.random() < 0.5:
            time.sleep(0.0005)
        gather.cancel()
    assert int((wr.arange(64, chunks=4) + 1).sum()) == 64 * 65 // 2


def test_nothing_is_left_after_release():
    with wr.Cluster(threads=2, memory="64 MiB") as cluster:
        x = (wr.from_array(np.arange(1000.0), chunks=100) + 1).persist()
        y = (x * 2).persist()
        assert float((x + y).sum()) == 3 * 500_500
        x.release()
        assert float(y.sum()) == 2 * 500_500
        assert state(cluster)["records"]
        y.release()
        assert nothing(state(cluster))


def test_nothing_is_given_after_thousands_of_computations():
    with wr.Cluster(threads=2, memory="64 MiB") as cluster:
        refused(cluster, 3000)
        assert nothing(state(cluster))


@pytest.mark.ranks
def test_nothing_is_given_on_ranks(launch, tmp_path):
    (tmp_path / "tests_state.py").write_text(Path(__file__).read_text())
    ended = launch(0, "-c", STRAIN.format(folder=str(tmp_path)), limit=50)
    assert ended.status == 0, ended.err[-2000:]
    assert nothing(json.loads(ended.last)), ended.last


def planned(x, ranks=3):
    """A ledger in which an array is held, and a batch of it on rank 1."""
    ledger = Ledger([1 << 24] * ranks, [1] * ranks)
    expr = x.expr
    ledger.add(lower([expr], lambda token: False), True)
    ledger.hold(expr.token)
    ledger.plan()
    batch = ledger.take(1)
    assert batch is not None
    return ledger, batch


def test_a_death_is_counted_for_users_functions_alone():
    x = wr.ones((40, 40), chunks=20)
    ledger, batch = planned(wr.map_blocks(np.negative, x, dtype=float))
    ledger.lose(1)
    assert batch.record.deaths == dict.fromkeys(batch.tasks.tolist(), 1)
    assert ledger.take(0) is None, "the driver dies last"
    assert ledger.take(2) is not None
    ledger, batch = planned(wr.linalg.cholesky(x.sum() * wr.eye(40, chunks=40)))
    ledger.lose(1)
    assert batch.record.deaths == {}
    assert ledger.take(0) is not None


def test_rank_0_waits_for_the_first_call_elsewhere():
    x = wr.ones((60, 40), chunks=20)
    ledger, batch = planned(wr.map_blocks(np.negative, x, dtype=float))
    assert ledger.take(0) is None
    ledger.done(batch.number, 0.1)
    assert ledger.take(0) is not None, "it has ended well"
    ledger, batch = planned(wr.map_blocks(np.negative, x, dtype=float), ranks=2)
    assert ledger.take(0) is None
    ledger.suspicion.trust(batch.record.stage.functions)
    assert ledger.take(0) is not None, "it runs for a while"
    ledger, batch = planned(wr.map_blocks(np.negative, x, dtype=float), ranks=2)
    ledger.note_refused(batch.number)
    ledger.plan()
    assert ledger.take(0) is None
    assert ledger.take(0, alone=True) is not None, "nobody else can"


def test_gathering_what_is_partly_spilled():
    a = np.arange(500_000.0).reshape(500, 1000)
    with wr.Cluster(threads=2, memory="2 MiB") as cluster:
        kept = (wr.from_array(a, chunks=(20, 1000)) + 1).persist()
        wr.wait(kept)

        def sources(engine):
            record = engine.ledger.records[kept.expr.token]
            assert (record.state == ChunkState.STORED).all()
            return set((record.source < 0).tolist())

        assert cluster._session.engine.ask(sources) == {True, False}
        assert np.array_equal(kept.compute(), a + 1)
        assert np.array_equal(kept[10:490:7].compute(), a[10:490:7] + 1)
        kept.release()
        assert nothing(state(cluster))
        assert not cluster._session.engine.local.spills


def test_a_disk_that_recovers(monkeypatch):
    full = True

    def disk(folder, slabs, cached):
        if full:
            raise OSError(28, "No space left on device")
        return SpillFile(folder, slabs, cached)

    monkeypatch.setattr(spill, "SpillFile", disk)
    with wr.Cluster(threads=2, memory="2 MiB") as cluster:
        x = wr.arange(500_000, chunks=20_000) * 2.0
        kept = x.persist()
        with pytest.raises(wr.OutOfMemory, match="No space left"):
            wr.wait(kept)
        full = False
        again = x.persist()
        wr.wait(again)
        assert cluster._session.engine.local.spills
        assert float(again.sum()) == 500_000.0 * 499_999
        del kept, again
        assert nothing(state(cluster))


def test_a_disk_that_is_full_for_a_while_fails_nothing_that_fits(monkeypatch):
    """What a refusal left behind doesn't count against what is stuck later."""
    full = True

    def disk(folder, slabs, cached):
        if full:  # what is spilled ahead beside running tasks is refused too, and that fails nothing yet
            raise OSError(28, "No space left on device")
        return SpillFile(folder, slabs, cached)

    monkeypatch.setattr(spill, "SpillFile", disk)
    with wr.Cluster(threads=2, memory="2 MiB"):
        first = wr.arange(500_000, chunks=20_000) * 2.0
        with pytest.raises(wr.OutOfMemory, match="No space left"):
            wr.wait(first.persist())
        full = False
        for factor in (3.0, 4.0):
            kept = (wr.arange(500_000, chunks=20_000) * factor).persist()
            assert float(kept.sum()) == factor * 500_000 * 499_999 / 2
