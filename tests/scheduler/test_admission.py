"""In which order tasks run whose chunks matter to memory, and how far they run ahead of it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from windrow.graph.chunks.axismap import Slice
from windrow.graph.chunks.block_reads import Rows
from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.expr.expr import Expr
from windrow.graph.kinds.elementwise import Elementwise
from windrow.graph.kinds.move import Move, Route
from windrow.graph.kinds.reduction import Reduce
from windrow.graph.kinds.source import Random
from windrow.graph.lowering.lower import lower
from windrow.scheduler.admission.admission import PLENTY, find_allowance
from windrow.scheduler.admission.bound import Room, find_bound
from windrow.scheduler.admission.sequence import Order, SequenceStep, best_order
from windrow.scheduler.ledger.ledger import Ledger
from windrow.scheduler.ledger.stage_record import StageRecord

F8 = np.dtype("f8")
STEPS, SIDE = 60, 3500
CHUNK = SIDE * SIDE * 8
WHOLE = Axis.whole(SIDE)


def drawn(seed, axes):
    return Expr(Random("random", (seed, 1), 0), (), Grid(axes), F8)


def mean(x):
    return Expr(Reduce("mean", (0,), False), (x,), Grid(x.grid.axes[1:]), F8)


def product(x, y):
    return Expr(Elementwise("multiply", (0, 1)), (x, y), x.grid, F8)


def means_of_products():
    """Three means of two arrays' products: each chunk is read for two of them."""
    u, v = (drawn(seed, [Axis.regular(STEPS, 1), WHOLE, WHOLE]) for seed in (1, 2))
    return [mean(product(u, u)), mean(product(v, v)), mean(product(u, v))]


def difference_of_neighbours():
    """Each block is made of chunks of two arrays, and of their neighbours."""
    axes, kept = [Axis.regular(12 * 900, 900)] * 2, [Axis.regular(12 * 900 - 5, 900)] * 2
    shifted = []
    for seed in (1, 2):
        x = drawn(seed, axes)
        for begin in (5, 0):
            route = Route(((0, Slice(begin)), (1, Slice(begin))))
            shifted.append(Expr(Move("getitem", (route,)), (x,), Grid(kept), F8))
    low, high = product(*shifted[:2]), product(*shifted[2:])
    return [Expr(Reduce("sum", (0, 1), False), (product(low, high),), Grid([]), F8)]


def run(ledger, roots, seed):
    """Have all roots computed and taken, in random order of what ends; return the most that lay in arenas."""
    chance = random.Random(seed)
    claims = [ledger.owe(root.token) for root in roots]
    ledger.plan()
    batches, most = [], 0
    while ledger.has_work:
        for rank, threads in enumerate(ledger.threads):
            while ledger.load(rank) < 2 * threads and (batch := ledger.take(rank, ledger.load(rank) >= threads)):
                batches.append(batch)
        most = max(most, sum(arena.used for arena in ledger.arenas))
        assert batches, "nothing runs"
        ledger.done(batches.pop(chance.randrange(len(batches))).number, 0.01)
        for claim in claims:
            ledger.note_gathered(claim, np.flatnonzero(claim.open & (claim.record.state == 4)))
        ledger.forget()
    return most


@pytest.mark.parametrize("arenas", [[1 << 35], [1 << 34] * 3, [36 * CHUNK]], ids=["one", "three", "small"])
@pytest.mark.parametrize("make", [means_of_products, difference_of_neighbours])
def test_what_lies_in_arenas_stays_below_the_bound(make, arenas):
    threads = [2] * len(arenas)
    stages = lower(make(), lambda token: False)
    total = sum(int(stage.all_slab_bytes.sum()) for stage in stages)
    for seed in range(5):
        ledger, roots = Ledger(arenas, threads), make()
        ledger.add(lower(roots, lambda token: False), True)
        most = run(ledger, roots, seed)
        assert not any(arena.used for arena in ledger.arenas)
        assert most <= find_bound(stages, {}, Room(tuple(arenas), tuple(threads))).peak
        assert most < total / 2


def test_a_mean_of_many_steps_holds_few_of_them():
    ledger, roots = Ledger([1 << 36], [2]), means_of_products()
    ledger.add(lower(roots, lambda token: False), True)
    assert run(ledger, roots, 1) < 36 * CHUNK


def test_tasks_that_are_not_admitted_go_back_to_their_place_in_the_queue():
    """In front of earlier ones they would keep the head of the order from running."""
    (stage,) = lower([drawn(1, [Axis.regular(8 << 20, 1 << 20)])], lambda token: False)
    record = StageRecord(stage, places=np.arange(8))
    for tasks in ([0, 4, 6], [1, 2], [3, 5, 7]):
        record.enqueue(np.array(tasks), np.zeros(len(tasks), np.int64))
    order = []
    while record.nready:
        tasks, queue = record.dequeue(0, 3, 0)
        order.append(int(tasks[0]))
        if len(tasks) > 1:
            record.put_back(queue, tasks[1:])
    assert order == sorted(order)


def rows(*pairs, readers, read):
    reader, item = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    return Rows.from_pairs(reader, item, readers, read)


def test_orders():
    every = np.full(4, 100)
    one_each = rows(*((i, i) for i in range(4)), readers=4, read=4)
    all_of_it = rows(*((0, i) for i in range(4)), readers=1, read=4)
    partial, result = np.full(4, 10), np.array([10])
    chain = best_order(
        [SequenceStep(every, ()), SequenceStep(partial, ((0, one_each),)), SequenceStep(result, ((1, all_of_it),))]
    )
    assert chain.peak == 140  # four partial results, and a chunk while it is read
    assert [p.tolist() for p in chain.places] == [[0, 2, 4, 6], [1, 3, 5, 7], [8]]
    pair = best_order(
        [
            SequenceStep(every, ()),
            SequenceStep(every, ()),
            SequenceStep(np.full(4, 1), ((0, one_each), (1, one_each)), kept=True),
        ]
    )
    assert pair.peak == 204
    kept = SequenceStep(every, (), kept=True)
    assert best_order([kept]).peak == 400
    some = SequenceStep(every, (), tasks=np.array([True, False, False, True]))
    assert best_order([some]).places[0].tolist() == [0, -1, -1, 1]
    assert best_order([]).peak == 0


def test_allowance():
    order = Order([SequenceStep(np.array([PLENTY, 64]), (), kept=True)], [np.arange(2)])
    assert order.peak <= find_allowance(order, 1 << 40, 2, 1) - PLENTY
    assert find_allowance(order, order.peak * 8 // 7 + 8000, 2, 1) == pytest.approx(7000, rel=0.01)
    assert find_allowance(order, order.peak, 2, 1) == 2 * int(order.sizes.max())
