"""Which deaths count against users' functions, and what is given up: by events, without ranks."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from windrow.graph.lowering.lower import lower
from windrow.scheduler.admission.poison_detector import KNOWN, PROVEN, Suspicion
from windrow.scheduler.ledger.ledger import Ledger


def called(ranks, chunks=60, function=np.negative):
    """A ledger in which a user's function of an array is held, and its record."""
    ledger = Ledger([1 << 24] * ranks, [1] * ranks)
    return ledger, held(ledger, wr.map_blocks(function, wr.ones(chunks, chunks=1), dtype=float))


def held(ledger, x):
    """The record of an array that is held from now on."""
    ledger.add(lower([x.expr], lambda token: False), True)
    ledger.hold(x.expr.token)
    ledger.plan()
    return ledger.records[x.expr.token]


def at(batch):
    """A batch's only task."""
    (task,) = batch.tasks.tolist()
    return task


def test_all_others_die_at_once_and_rank_0_is_spared():
    ledger, record = called(4)
    tasks = [at(ledger.take(rank)) for rank in (1, 2, 3)]
    for rank in (1, 2, 3):
        assert ledger.poisoned_stages() == []
        ledger.lose(rank)
    assert ledger.take(0) is None
    assert ledger.take(0, alone=True) is None
    ((given_up, deadly),) = ledger.poisoned_stages()
    assert given_up is record
    assert (deadly.ranks, deadly.at, deadly.alone) == (3, tuple(sorted(tasks)), True)
    assert deadly.tasks.tolist() == list(range(60))


def test_a_function_is_given_up_that_kills_in_three_rounds_on_different_blocks():
    ledger, record = called(6)
    tasks = []
    for rank in (1, 2, 3):
        assert ledger.poisoned_stages() == []
        tasks.append(at(ledger.take(rank)))
        ledger.lose(rank)
    assert len(set(tasks)) == 3
    ((given_up, deadly),) = ledger.poisoned_stages()
    assert given_up is record
    assert (deadly.ranks, deadly.at, deadly.alone) == (3, tuple(sorted(tasks)), False)


def test_ranks_that_die_at_once_are_one_round_while_others_are_left():
    ledger, record = called(6)
    for rank in (1, 2, 3, 4):
        ledger.take(rank)
    for rank in (1, 2, 3, 4):
        ledger.lose(rank)
    assert ledger.suspicion.ranks(record.stage.functions) == 4
    assert ledger.suspicion.rounds(record.stage.functions) == 1
    assert ledger.poisoned_stages() == []
    assert ledger.take(0) is None, "rank 0 dies last"
    ledger.done(ledger.take(5).number, 0.01)
    assert ledger.poisoned_stages() == []
    ledger.lose(5)
    assert ledger.poisoned_stages() == [], "it was at nothing"
    assert record.deaths
    assert ledger.take(0) is not None


def test_a_task_that_ends_well_clears_its_function():
    ledger, _ = called(6)
    for rank in (1, 2, 3, 4):
        ledger.take(rank)
        ledger.lose(rank)
        if rank < 3:
            ledger.done(ledger.take(5).number, 0.01)
        assert ledger.poisoned_stages() == []
    ledger.done(ledger.take(5).number, 0.01)
    assert not ledger.suspicion


def test_a_block_that_kills_is_not_cleared_by_others():
    ledger, record = called(4)
    task = at(ledger.take(1))
    ledger.lose(1)
    for rank in (2, 3):
        while at(batch := ledger.take(rank)) != task:
            ledger.done(batch.number, 1.0)
        assert ledger.poisoned_stages() == []
        ledger.lose(rank)
        assert record.deaths[task] == rank
    ((given_up, deadly),) = ledger.poisoned_stages()
    assert given_up is record
    assert (deadly.ranks, deadly.at, deadly.tasks.tolist(), deadly.alone) == (3, (task,), [task], False)


def test_a_block_that_ends_well_elsewhere_is_cleared():
    ledger, record = called(4)
    task = at(ledger.take(1))
    ledger.lose(1)
    assert record.deaths == {task: 1}
    while task in record.deaths:
        assert ledger.take(0) is None
        ledger.done(ledger.take(2).number, 1.0)
    assert ledger.take(0) is not None


@pytest.mark.parametrize("well", [True, False])
def test_what_rank_0_is_at_is_waited_for(well):
    ledger, record = called(2)
    ledger.take(1)
    ledger.suspicion.trust(record.stage.functions)
    running = ledger.take(0)
    ledger.lose(1)
    assert ledger.poisoned_stages() == []
    assert ledger.take(0) is None
    if well:
        ledger.done(running.number, 0.01)
        assert ledger.poisoned_stages() == []
        assert ledger.take(0) is not None
    else:
        ledger.note_refused(running.number)
        ledger.plan()
        assert ledger.take(0, alone=True) is None
        assert len(ledger.poisoned_stages()) == 1


@pytest.mark.parametrize("well", [PROVEN - 1, PROVEN])
def test_a_function_that_has_ended_well_often_goes_on_on_rank_0(well):
    ledger, _ = called(2)
    for _ in range(well):
        ledger.done(ledger.take(1).number, 1.0)
    ledger.take(1)
    ledger.lose(1)
    assert (ledger.take(0) is not None) == (well == PROVEN)
    assert len(ledger.poisoned_stages()) == (well < PROVEN)


def test_each_round_of_deaths_wants_as_many_good_ends_before_rank_0_goes_on():
    suspicion, function = Suspicion(), ("f", "1")
    suspicion.trust([function], 2 * PROVEN - 1)
    suspicion.note_death(function, 1, 1)
    assert not suspicion.ends_rank_0([function])
    suspicion.note_death(function, 2, 2)
    assert suspicion.ends_rank_0([function])
    suspicion.trust([function], 1)
    assert not suspicion.ends_rank_0([function])


def test_what_was_given_up_is_refused_when_it_comes_again_and_rank_0_is_alone():
    ledger, record = called(2)
    ledger.take(1)
    ledger.lose(1)
    ((_, deadly),) = ledger.poisoned_stages()
    ledger.suspicion.give_up(record, deadly)
    ledger.unhold(record.stage.token)
    assert ledger.forget() == [record.stage.token]
    mended = held(ledger, wr.map_blocks(lambda b: -b, wr.ones(60, chunks=1), dtype=float))
    assert ledger.poisoned_stages() == []
    ledger.unhold(mended.stage.token)
    again = held(ledger, wr.map_blocks(np.negative, wr.ones(60, chunks=1), dtype=float))
    assert again is not record
    assert ledger.poisoned_stages() == [(again, deadly)]


def test_built_in_functions_are_not_counted():
    x = wr.random.default_rng(1).random((40, 40), chunks=20)
    ledger = Ledger([1 << 24] * 3, [1] * 3)
    held(ledger, wr.linalg.cholesky(x @ x.T))
    for rank in (1, 2):
        assert ledger.take(rank) is not None
        ledger.lose(rank)
    assert not ledger.suspicion
    assert ledger.poisoned_stages() == []
    assert ledger.take(0) is not None


def test_little_is_known_of_very_many_functions():
    suspicion = Suspicion()
    for number in range(KNOWN + 2):
        suspicion.trust([("f", str(number))])
    assert not suspicion.trusts([("f", "1")])
    assert suspicion.trusts([("f", "2"), ("f", str(KNOWN + 1))])
