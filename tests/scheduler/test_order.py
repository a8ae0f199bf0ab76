"""In which order the ledger gives tasks out, and to which ranks."""

from __future__ import annotations

import numpy as np
import pytest

from windrow.graph.chunks.axismap import Slice
from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.expr.expr import Expr
from windrow.graph.kinds.contraction import Contract
from windrow.graph.kinds.move import Move, Route, rechunk
from windrow.graph.kinds.source import Host, HostData, Random
from windrow.graph.lowering.lower import lower
from windrow.scheduler.ledger.arena import ArenaAllocator
from windrow.scheduler.ledger.ledger import Ledger
from windrow.scheduler.ledger.ready_queue import SPARE

F8 = np.dtype("f8")


@pytest.mark.parametrize(("blocks", "kept", "leading"), [(100, 0, True), (4, 0, False), (100, 60, True)])
def test_what_leads_on_goes_first_while_there_is_memory(blocks, kept, leading):
    n, half = 400, 200
    whole = Axis.regular(n, n)
    grid = Grid([Axis.regular(n, half), whole])
    rows = Expr(Host(HostData(np.zeros((n, n)), in_place=True)), (), grid, F8)
    square = Expr(Host(HostData(np.ones((n, n)), in_place=True)), (), Grid([whole, whole]), F8)
    first = Expr(Contract((0, 1), (1, 2), (0, 2)), (rows, square), grid, F8)
    second = Expr(Contract((0, 1), (1, 2), (0, 2)), (first, square), grid, F8)
    routes = tuple(Route(((0, Slice(start)), (1, Slice()))) for start in (0, -n))
    both = Expr(Move("concatenate", routes), (first, second), Grid([Axis.regular(2 * n, half), whole]), F8)
    ledger = Ledger([blocks * ArenaAllocator.pad_size(half * n * 8)], [1])
    if kept:
        before = Expr(Random("random", (0, 1), 0), (), Grid([Axis.regular(kept * half, half), whole]), F8)
        ledger.add(lower([before], lambda token: False), True)
        ledger.hold(before.token)
        ledger.plan()
        while (batch := ledger.take(0)) is not None:
            ledger.done(batch.number, 0.0)
    ledger.add(lower([both], lambda token: False), True)
    ledger.hold(both.token)
    ledger.plan()
    for batch in [ledger.take(0), ledger.take(0)]:
        assert batch is not None
        assert batch.record.stage.token == first.token
        ledger.done(batch.number, 0.0)
    batch = ledger.take(0)
    assert batch is not None
    assert batch.record.stage.token == second.token
    ledger.done(batch.number, 0.0)
    batch = ledger.take(0)
    assert batch is not None
    assert batch.record.stage.token == (second.token if leading else both.token)


def test_work_ahead_is_left_to_its_rank_when_there_is_little():
    numbers = Expr(Random("random", (0, 1), 0), (), Grid([Axis.regular(16 << 17, 1 << 17)]), F8)
    ledger = Ledger([1 << 30, 1 << 30], [1, 1])
    ledger.add(lower([numbers], lambda token: False), True)
    ledger.hold(numbers.token)
    ledger.plan()
    (record,) = ledger.records.values()
    mine = 0
    while len(record.queues[0]):
        mine += len(ledger.take(0, ahead=True).tasks)
    assert mine == 8
    while (batch := ledger.take(0, ahead=True)) is not None:
        assert sum(map(len, record.queues[1])) + len(batch.tasks) > SPARE
    assert 0 < sum(map(len, record.queues[1])) <= SPARE
    assert ledger.take(0) is not None


def test_an_exchange_of_all_with_all_runs_on_all_ranks():
    rows, columns = (Grid([Axis.regular(4096, a), Axis.regular(4096, b)]) for a, b in ((512, 4096), (4096, 512)))
    numbers = Expr(Random("random", (0, 1), 0), (), rows, F8)
    turned = Expr(rechunk(2), (numbers,), columns, F8)
    ledger = Ledger([1 << 30, 1 << 30], [1, 1])
    ledger.add(lower([numbers, turned], lambda token: False), True)
    for each in (numbers, turned):
        ledger.hold(each.token)
    ledger.plan()
    source = ledger.records[numbers.token]
    while not source.complete:
        for rank in (0, 1):
            if source.nready and (batch := ledger.take(rank, ahead=True)) is not None:
                ledger.done(batch.number, 0.0)
    assert set(source.owner.tolist()) == {0, 1}
    queues = ledger.records[turned.token].queues
    assert [sum(map(len, queues[rank])) for rank in (0, 1)] == [4, 4]


def test_of_stages_with_few_tasks_the_longest_chain_begins_first():
    n = 64
    grid = Grid([Axis.regular(n, n), Axis.regular(n, n)])
    first, second = (Expr(Host(HostData(np.full((n, n), k), in_place=True)), (), grid, F8) for k in (0.0, 1.0))
    product = Contract((0, 1), (1, 2), (0, 2))
    chain = [Expr(product, (first, first), grid, F8)]
    for _ in range(2):
        chain.append(Expr(product, (chain[-1], first), grid, F8))
    short = Expr(product, (second, second), grid, F8)
    ledger = Ledger([1 << 20], [1])
    ledger.add(lower([chain[-1], short], lambda token: False), True)
    for each in (chain[-1], short):
        ledger.hold(each.token)
    ledger.plan()
    order = []
    while (batch := ledger.take(0)) is not None:
        order.append(batch.record.stage.token)
        ledger.done(batch.number, 0.0)
    assert order[:2] == [chain[0].token, chain[1].token]
    assert sorted(order) == sorted(e.token for e in (*chain, short))


@pytest.mark.parametrize("plenty", [True, False])
def test_what_shares_stages_with_something_awaited_goes_along_where_memory_is_scarce(plenty):
    n, step = 400, 50
    whole = Axis.regular(n, n)
    grid, all_ = Grid([Axis.regular(n, step), whole]), Grid([whole, whole])
    rows = Expr(Host(HostData(np.zeros((n, n)), in_place=True)), (), grid, F8)
    squares = [Expr(Host(HostData(np.full((n, n), k), in_place=True)), (), all_, F8) for k in (1.0, 2.0)]
    product = Contract((0, 1), (1, 2), (0, 2))
    shared = Expr(product, (rows, squares[0]), grid, F8)
    awaited, beside = (Expr(product, (shared, square), grid, F8) for square in squares)
    alone = Expr(product, (rows, squares[1]), grid, F8)
    ledger = Ledger([(100 if plenty else 14) * ArenaAllocator.pad_size(step * n * 8)], [1])
    for each in (beside, awaited, alone):
        ledger.add(lower([each], lambda token: False), True)
    names = {shared.token: "s", awaited.token: "a", beside.token: "b", alone.token: "-"}
    claim = ledger.owe(awaited.token)
    for each in (beside, alone):
        ledger.hold(each.token)
    ledger.plan()
    order = ""
    while (batch := ledger.take(0)) is not None:
        order += names[batch.record.stage.token] * len(batch.tasks)
        ledger.done(batch.number, 1.0)
        if batch.record is claim.record:
            ledger.note_gathered(claim, batch.tasks)
    assert order.rindex("a") < order.index("b") if plenty else order.index("b") < order.rindex("s"), order
    assert order.index("-") > order.rindex("a"), order
