"""The order of stages by longest chain, and the seconds of tasks that are remembered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.expr.expr import Expr
from windrow.graph.kinds.source import Random
from windrow.graph.lowering.lower import lower
from windrow.scheduler.ledger.ledger import Ledger
from windrow.scheduler.ledger.lineage import REMEMBERED, find_seconds
from windrow.scheduler.ledger.ready_queue import find_heights
from windrow.scheduler.ledger.stage_record import StageRecord

NUMBERS = Expr(Random("random", (0, 1), 0), (), Grid([Axis.regular(4 << 17, 1 << 17)]), np.dtype("f8"))
STAGE = lower([NUMBERS], lambda token: False)[0]


@given(st.data())
def test_the_longest_chains_are_those_that_networkx_finds(data):
    count = data.draw(st.integers(1, 12))
    below = [data.draw(st.sets(st.integers(0, i - 1), max_size=3)) if i else set() for i in range(count)]
    records: list[Any] = [SimpleRecord() for _ in range(count)]
    for record, inputs in zip(records, below, strict=True):
        record.inputs = [SimpleNamespace(record=records[i]) for i in inputs]
    graph = nx.DiGraph((i, j) for i, inputs in enumerate(below) for j in inputs)
    graph.add_nodes_from(range(count))
    expected = {i: height for height, layer in enumerate(nx.topological_generations(graph), 1) for i in layer}
    # a chain to the end is one from the end's side: the first of all have nothing that reads them
    found = find_heights(records[::-1])
    assert {i: found[records[i]] for i in range(count)} == expected


class SimpleRecord:
    """What of a record the order of stages looks at."""

    inputs: Any = ()


def test_seconds_of_a_task_are_remembered_when_its_stage_is_forgotten():
    x = NUMBERS
    ledger = Ledger([1 << 30], [1])
    ledger.add([STAGE], True)
    ledger.hold(x.token)
    ledger.plan()
    engine: Any = SimpleNamespace(ledger=ledger)
    assert find_seconds(engine, [x.token]) == {}
    ran = []
    while (batch := ledger.take(0)) is not None:
        ran += [0.25 * (len(ran) + 1)] * len(batch.tasks)
        ledger.done(batch.number, 0.25 * (len(ran) - len(batch.tasks) + 1) * len(batch.tasks))
    assert find_seconds(engine, [x.token, "other"]) == {x.token: sum(ran) / 4}
    ledger.unhold(x.token)
    assert ledger.forget() == [x.token]
    assert find_seconds(engine, [x.token]) == {x.token: sum(ran) / 4}
    for key in range(1, REMEMBERED + 1):
        ledger.timings.note(StageRecord(ledger_stage(key)))
    assert len(ledger.timings.seconds) == 1, "what never ran took no time"
    for key in range(1, REMEMBERED + 1):
        ledger.timings.note(StageRecord(ledger_stage(key), spent=1.0, ran=2))
    assert len(ledger.timings.seconds) == REMEMBERED
    assert x.token not in ledger.timings.seconds


def ledger_stage(key: int) -> Any:
    """A stage of one task, with a token of its own."""
    return STAGE.rename(f"{key}/{key}")
