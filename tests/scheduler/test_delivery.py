"""How chunks come to the calling thread: fetched where they can't be read as they lie."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import windrow as wr
from windrow.graph.lowering.lower import lower
from windrow.scheduler.engine.delivery import Delivery
from windrow.scheduler.ledger.ledger import Ledger
from windrow.scheduler.session.job import Job


def test_what_did_not_arrive_is_fetched_from_where_it_lies_now():
    x = wr.random.default_rng(1).random(1 << 18, chunks=1 << 17)
    ledger = Ledger([1 << 30] * 3, [1] * 3)
    ledger.add(lower([x.expr], lambda token: False), True)
    ledger.owe(x.expr.token)
    ledger.plan()
    record = ledger.records[x.expr.token]
    asked = []

    def fetch(rank, region, into, arrived):
        asked.append((rank, region.offset, into, arrived))

    delivery = Delivery(
        ledger,
        transport=SimpleNamespace(fetch=fetch),
        local=SimpleNamespace(memory=lambda place: None),
        fail=lambda *_: None,
    )
    job = Job([], [x.expr.token], [np.empty(x.shape)])

    def made(rank):
        batch = ledger.take(rank)
        assert batch is not None
        return batch

    batch = made(1)
    ledger.done(batch.number, 0.01)
    delivery.deliver(job, 0, record, batch.tasks)
    assert [rank for rank, *_ in asked] == [1] * len(batch.tasks)
    _, _, _, arrived = asked.pop(0)
    asked.clear()
    ledger.lose(1)
    arrived(False)
    assert not asked, "it isn't there yet"
    task = int(batch.tasks[0])
    while task not in (batch := made(2)).tasks:
        ledger.done(batch.number, 0.01)
    arrived(False)
    assert not asked, "it is being made"
    ledger.done(batch.number, 0.01)
    arrived(False)
    rank, offset, into, arrived = asked.pop()
    assert (rank, offset) == (2, record.offset[task])
    into[:] = 7
    assert job.arrivals.empty()
    arrived(True)
    arrival = job.arrivals.get_nowait()
    assert arrival.tasks.tolist() == [task]
    assert arrival.slabs[0].tolist() == [7] * (1 << 20)
    assert not asked
