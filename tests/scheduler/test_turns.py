"""Whoever waits for a computation gets it, however many others begin meanwhile: counted in batches that end."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import windrow as wr
from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.expr.expr import Expr
from windrow.graph.kinds.elementwise import Elementwise
from windrow.graph.kinds.source import Random
from windrow.graph.lowering.lower import lower
from windrow.scheduler.admission.turns import PATIENCE, Turns
from windrow.scheduler.ledger.ledger import Ledger
from windrow.scheduler.ledger.stage_record import ChunkState

F8 = np.dtype("f8")
ARENA = 1 << 20
OTHERS = 3


def drawn(seed, tasks, chunk):
    """Return an array of so many chunks, each of so many elements and a task of its own."""
    x = Expr(Random("random", (seed, 1), 0), (), Grid([Axis.regular(tasks * chunk, chunk)]), F8)
    return Expr(Elementwise("exp", (0,)), (x,), x.grid, F8)


class User:
    """Threads that compute one array after the other, on a ledger whose batches end in the order they were given."""

    def __init__(self, arenas, threads):
        self.ledger = Ledger(arenas, threads)
        self.claims, self.batches = {}, []

    def _add(self, x):
        for stage in self.ledger.add(lower([x], lambda token: False), True):
            self.ledger.records[stage.token].seconds = 1.0  # so long that batches are of one task

    def compute(self, x):
        self._add(x)
        self.claims[x.token] = self.ledger.owe(x.token)
        self.ledger.plan()

    def persist(self, x):
        self._add(x)
        self.ledger.hold(x.token)
        self.ledger.plan()

    def step(self):
        """Give out what may run, end the oldest batch, and collect what it made; tell whether anything ran."""
        ledger = self.ledger
        for rank, threads in enumerate(ledger.threads):
            while ledger.load(rank) < 2 * threads and (batch := ledger.take(rank, ledger.load(rank) >= threads)):
                self.batches.append(batch)
        if not self.batches:
            return False
        ledger.done(self.batches.pop(0).number, 1.0)
        for token, claim in list(self.claims.items()):
            ledger.note_gathered(claim, np.flatnonzero(claim.open & (claim.record.state == ChunkState.STORED)))
            if not claim.open.any():
                del self.claims[token]
        ledger.forget()
        return True


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize(
    ("mine", "newer"),
    [((200, 2000), (40, 2000)), ((4, 60000), (10, 20000)), ((1, 80000), (10, 20000)), ((1, 100000), (40, 500))],
    ids=["many tasks", "larger blocks", "one block", "smaller blocks"],
)
def test_who_waits_longest_is_served_though_others_never_stop(mine, newer, ranks):
    user = User([ARENA] * ranks, [2] * ranks)
    first = drawn(1, *mine)
    user.compute(first)
    for steps in range(1000):
        if first.token not in user.claims:
            break
        for seed in range(OTHERS + 1 - len(user.claims)):
            user.compute(drawn(10 + OTHERS * steps + seed, *newer))
        assert user.step()
    assert steps < 2 * mine[0] + 4 * ranks * PATIENCE


def test_newer_ones_have_every_second_turn():
    user = User([ARENA << 4], [1])
    long, short = drawn(1, 4000, 2000), drawn(2, 4, 2000)
    user.compute(long)
    user.step()
    user.compute(short)
    for _ in range(10):
        user.step()
    assert short.token not in user.claims
    assert long.token in user.claims


def test_what_is_only_held_is_held_up_where_what_is_awaited_has_no_room():
    user = User([ARENA << 4], [2])
    user.persist(drawn(1, 400, 32000))
    (arena,) = user.ledger.arenas
    while arena.used < arena.size // 2:
        user.step()
    user.compute(drawn(2, 1, 1 << 20))
    steps = 0
    while user.step():
        steps += 1
    assert user.claims
    assert user.ledger.ready.turns.held_up is not None  # what is held goes to disk now
    assert steps < 2 * PATIENCE
    user.ledger.ready.turns.let_go()
    assert user.step()


def test_the_oldest_with_something_ready_goes_first():
    class Fake:
        turn = 0

    turns, old, new = Turns(), Fake(), Fake()
    for record in (old, new):
        turns.begin()
        turns.enter(record)
    assert list(turns.arrange([new, old])) == [new, old]
    turns.note(new)
    assert list(turns.arrange([new, old])) == [old, new]
    assert list(turns.arrange([new])) == [new]
    turns.arrange([new, old])
    turns.note(old)
    assert list(turns.arrange([new, old])) == [new, old]
    for record in (old, new):
        turns.leave(record)
        turns.leave(record)
    assert list(turns.arrange([new, old])) == [new, old]


@pytest.mark.parametrize("ranks", [None, pytest.param(2, marks=pytest.mark.ranks)])
def test_a_program_of_threads_in_little_memory(ranks):
    """Its large computation ends though others go on until it has, and their values are right."""
    ended = threading.Event()
    found: list[object] = []

    def others(seed):
        try:
            while not ended.is_set():
                x = wr.random.default_rng(seed).random(120_000, chunks=20_000)
                assert float(wr.exp(x).max()) < 3
        except BaseException as error:
            found.append(error)

    with wr.Cluster(memory="1 MiB", ranks=ranks) if ranks else wr.Cluster(memory="1 MiB"):
        x = wr.random.default_rng(9).random(240_000, chunks=60_000)
        expected = np.sort(x.compute())
        threads = [threading.Thread(target=others, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(5):
                assert np.array_equal(wr.sort(x).compute(), expected)
        finally:
            ended.set()
            for thread in threads:
                thread.join(60)
    assert not found
