"""Small arrays that are spread: each rank makes an equal run of chunks, and no rank those of another."""

from __future__ import annotations

import numpy as np
import pytest

from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.expr.expr import Expr
from windrow.graph.kinds.anchor import spread_over
from windrow.graph.kinds.source import Random
from windrow.graph.lowering.lower import lower
from windrow.scheduler.ledger.ledger import Ledger

F8 = np.dtype("f8")


def spread_array(chunks: int, ranks: int) -> Expr:
    numbers = Expr(Random("random", (0, 1), 0), (), Grid([Axis.regular(chunks * 10, 10)]), F8)
    return Expr(spread_over(ranks), (numbers,), numbers.grid, F8)


def held(node: Expr, ranks: int) -> Ledger:
    ledger = Ledger([1 << 30] * ranks, [1] * ranks)
    ledger.add(lower([node], lambda token: False), True)
    ledger.hold(node.token)
    ledger.plan()
    return ledger


@pytest.mark.parametrize("chunks", [2, 3, 5, 9, 30, 1000])
def test_chunks_are_dealt_evenly_and_stay_so(chunks):
    node = spread_array(chunks, 3)
    ledger = held(node, ranks=3)
    while ledger.take(0) is not None:
        pass
    for batch in list(ledger.batches.values()):
        ledger.done(batch.number, 0.01)
    assert ledger.take(0) is None, "a rank that is free leaves the others theirs"
    for rank in (1, 2):
        while (batch := ledger.take(rank)) is not None:
            ledger.done(batch.number, 0.01)
    record = ledger.records[node.token]
    assert record.complete
    counts = [record.count_blocks(record.stored_on(rank)) for rank in range(3)]
    assert sum(counts) == chunks
    assert max(counts) <= 2 * -(-chunks // 3)
    assert min(counts) >= (chunks // 3 > 0)


def test_chunks_of_a_rank_that_dies_go_to_others():
    node = spread_array(30, 3)
    ledger = held(node, ranks=3)
    batch = ledger.take(0)
    ledger.done(batch.number, 0.01)
    ledger.lose(1)
    while (batch := ledger.take(0) or ledger.take(2)) is not None:
        ledger.done(batch.number, 0.01)
    assert ledger.records[node.token].complete
