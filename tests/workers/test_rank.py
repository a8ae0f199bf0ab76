"""A rank's batches: what was given back while its inputs came isn't begun."""

from __future__ import annotations

import weakref

import numpy as np

from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.expr.expr import Expr
from windrow.graph.kinds.source import Random
from windrow.graph.lowering.lower import lower
from windrow.workers.rank.rank import Rank
from windrow.workers.wire.embedded import EmbeddedTransport
from windrow.workers.wire.protocol import Define, Done, Recall, Refused, Run


def test_inputs_that_come_after_a_batch_was_recalled_begin_nothing():
    (stage,) = lower(
        [Expr(Random("random", (1, 1), 0), (), Grid([Axis.regular(1 << 13, 1 << 13)]), np.dtype("f8"))], lambda t: False
    )
    rank = Rank(EmbeddedTransport(1 << 20), 1)
    rank.handle(Define((stage,)))
    begin = rank.begin_soon
    rank.begin_soon = lambda batch: None  # the inputs are under way, of what is too large to run at once
    rank.handle(Run(7, stage.token, np.array([0]), np.array([0]), ()))
    rank.handle(Recall((7,)))
    begin(7)
    rank.begin_soon = begin
    rank.handle(Run(8, stage.token, np.array([0]), np.array([0]), ()))
    found = []
    while len(found) < 2:
        rank.transport.poll(5)
        found += rank.events()
    rank.close()
    assert [(type(event), event.batch) for event in found] == [(Refused, 7), (Done, 8)]


def test_a_closed_transport_gives_back_its_arena_at_once():
    transport = EmbeddedTransport(1 << 22)
    transport.itself = transport  # a cycle, as engines have it
    arena = transport.arena(0)
    assert arena is not None
    memory = weakref.ref(arena.base.obj)
    del arena
    assert memory() is not None
    transport.close()
    assert memory() is None
