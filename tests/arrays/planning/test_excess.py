"""Functions that take far more memory than was said of them: named, and fewer at once from then on."""

import logging
import os
import time

import numpy as np
import pytest

import windrow as wr
from windrow.graph.lowering.lower import lower
from windrow.scheduler.admission.promises import Promises
from windrow.workers.memory import excess
from windrow.workers.wire.protocol import Exceeded

TAKEN = 12 << 20
"""Numbers that a greedy function makes: 96 MiB."""


def greedy(block):
    """Take much while a look or two are taken; tell when, and by whom."""
    begin = time.monotonic()
    much = np.ones(TAKEN if block.size > 1 else 1)
    time.sleep(0.12)
    return np.full_like(block, [begin, time.monotonic(), os.getpid(), much[-1]])


def run(blocks, memory):
    """Return of each block, in the order in which they began, what `greedy` tells, and what is said of it."""
    x = wr.ones((blocks, 4), chunks=(1, 4))
    found = wr.map_blocks(greedy, x, dtype=float, memory=memory).compute()
    return found[np.argsort(found[:, 0])]


def beside(told):
    """Return how many begin while another of the same process runs."""
    return sum(any(r[0] < b[0] < r[1] and r[2] == b[2] for r in told) for b in told)


def said(caplog):
    return [r.getMessage() for r in caplog.records if "greedy" in r.getMessage()]


@pytest.mark.parametrize("ranks", [0, pytest.param(2, marks=pytest.mark.ranks)])
def test_who_takes_more_than_was_said_is_named_and_runs_alone(ranks, caplog):
    caplog.set_level(logging.WARNING, "windrow")
    where = {"ranks": ranks} if ranks else {}
    with wr.Cluster(memory="64 MiB", threads=2, **where):
        told = run(12 if ranks else 8, 1)
        (message,) = said(caplog)
        assert "greedy, called at " in message
        assert __file__ in message
        assert " takes about 9" in message
        assert "with memory=1, as declared or assumed, it would be " in message
        assert "(memory=" in message
        late = told[8 if ranks else 5 :]
        assert not beside(late)
        told = run(6 if ranks else 3, 1)  # another array, from the same line
        assert not beside(told)
        assert len(said(caplog)) == 1


def test_a_users_function_may_have_any_name(caplog):
    caplog.set_level(logging.WARNING, "windrow")

    def function(block):
        return block + 1

    x = wr.ones((8, 4), chunks=(1, 4))
    for mine in (wr.map_blocks(function, x, dtype=float), wr.map_blocks(wr.jit(function), x, dtype=float)):
        (stage,) = (each for each in lower([mine.expr], lambda token: False) if each.functions)
        Promises().break_(Exceeded(0, 1, 9 << 20, 1 << 20), stage)
    assert ["memory=" in record.getMessage() for record in caplog.records] == [True, True]


def test_who_says_what_it_takes_is_left_alone(caplog):
    caplog.set_level(logging.WARNING, "windrow")
    with wr.Cluster(threads=2):
        told = run(4, 3e6)
    assert beside(told) > 1
    assert not caplog.records


def test_what_the_users_own_thread_takes_is_no_functions_fault(caplog):
    caplog.set_level(logging.WARNING, "windrow")
    with wr.Cluster(threads=2):
        x = wr.map_blocks(lambda b: (time.sleep(0.1), b)[1], wr.ones((12, 4), chunks=(1, 4)), dtype=float).persist()
        mine = [np.ones(TAKEN) for _ in range(3)]
        large = (wr.ones(TAKEN, chunks=1 << 20) + 1).compute()
        x.compute()
    assert len(mine) == 3
    assert large[-1] == 2
    assert not caplog.records


def test_the_c_library_tells():
    before = excess.bytes_in_use()
    much = np.ones(TAKEN)
    assert excess.bytes_in_use() - before > much.nbytes // 2


def test_nothing_is_told_where_the_c_library_does_not(monkeypatch, caplog):
    caplog.set_level(logging.WARNING, "windrow")
    monkeypatch.setattr(excess, "_counter", lambda: None)
    with wr.Cluster(threads=2):
        assert len(run(4, 1)) == 4
    assert not caplog.records
