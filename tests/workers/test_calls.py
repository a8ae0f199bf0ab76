"""Questions between ranks: answered at once, later, by an error, or not at all."""

from __future__ import annotations

import threading
import time

import pytest

import windrow as wr
from windrow.graph.errors import ClusterError
from windrow.scheduler.session.cluster import session
from windrow.workers.wire.rpc import own_calls


@pytest.fixture
def calls():
    with wr.Cluster(threads=2):
        yield own_calls()


def test_a_question_is_answered(calls):
    calls.serve("double", lambda question: question.reply((question.rank, 2 * question.what[0])))
    assert calls.ask(0, "double", 21) == (0, 42)


def test_an_answer_may_come_later(calls):
    calls.serve("later", lambda question: threading.Timer(0.05, question.reply, ("at last",)).start())
    assert calls.ask(0, "later") == "at last"


def test_a_service_raises_where_it_was_asked(calls):
    def refuse(question):
        raise KeyError("no such thing")

    calls.serve("refuse", refuse)
    with pytest.raises(KeyError, match="no such thing"):
        calls.ask(0, "refuse")
    with pytest.raises(ClusterError, match="knows no service 'missing'"):
        calls.ask(0, "missing")


def test_a_wait_has_a_limit_and_a_name(calls):
    calls.serve("silence", lambda question: None)
    begin = time.monotonic()
    with pytest.raises(ClusterError, match=r"silence: rank 0 hasn't answered within 0\.1 s"):
        calls.ask(0, "silence", limit=0.1)
    assert time.monotonic() - begin < 5


def test_what_is_told_is_not_waited_for(calls):
    heard = []
    calls.serve("hear", lambda question: heard.append(question.what))
    calls.serve("heard", lambda question: question.reply(heard))
    calls.tell(0, "hear", 1, 2)
    assert calls.ask(0, "heard") == [(1, 2)]


def test_closing_ends_what_waits():
    made = wr.Cluster(threads=1)
    calls = own_calls()
    calls.serve("silence", lambda question: None)
    threading.Timer(0.1, made.close).start()
    with pytest.raises(ClusterError, match="silence: the cluster was closed"):
        calls.ask(0, "silence", limit=30)
    with pytest.raises(ClusterError, match="the cluster is closed"):
        calls.ask(0, "silence")


class Keeper:
    """What a service needs, made when it is asked for."""

    made: list[Keeper]

    def __init__(self, calls):
        self.lost, self.closed = (), False
        calls.serve("kept.lost", lambda question: question.reply(self.lost))
        calls.when_lost(self.lose)
        self.made.append(self)

    def lose(self, ranks):
        self.lost += ranks

    def close(self):
        self.closed = True


@pytest.mark.parametrize("how", ["by a question", "by its name"])
def test_services_begin_when_they_are_needed(how, monkeypatch):
    monkeypatch.setattr(Keeper, "made", [], raising=False)
    made = wr.Cluster(threads=1)
    calls = own_calls()
    calls.offer("kept.", lambda: Keeper(calls))
    calls._dead.add(7)
    assert Keeper.made == []
    if how == "by its name":
        assert calls.provided("kept.") is calls.provided("kept.") is Keeper.made[0]
    assert calls.ask(0, "kept.lost") == (7,), "a death from before it began"
    with pytest.raises(ClusterError, match=r"knows no service 'kept\.other'"):
        calls.ask(0, "kept.other")
    assert len(Keeper.made) == 1
    assert not Keeper.made[0].closed
    made.close()
    assert Keeper.made[0].closed


def test_blocks_ask_for_their_own_rank(calls):
    calls.serve("who", lambda question: question.reply(question.rank))
    x = wr.zeros(4, chunks=2, dtype="i8")
    assert wr.map_blocks(lambda block: block + own_calls().ask(0, "who"), x).compute().tolist() == [0] * 4


def test_cancelling_ends_what_a_block_waits_for(calls):
    asked = threading.Event()
    calls.serve("never", lambda question: asked.set())
    x = wr.map_blocks(lambda block: block + own_calls().ask(0, "never", limit=60), wr.zeros(4), dtype="f8")
    persisted = x.persist()
    assert asked.wait(10)
    begin = time.monotonic()
    del persisted
    assert wr.arange(3).sum().compute() == 3
    assert time.monotonic() - begin < 5
    calls._transport.wake()
    deadline = time.monotonic() + 5
    while calls._waiting and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not calls._waiting


def test_a_block_that_has_begun_is_not_ended_for_another_rank_to_take_it(calls):
    asked = []
    calls.serve("slow", asked.append)
    x = wr.map_blocks(lambda block: block + own_calls().ask(0, "slow", limit=30), wr.zeros(1), dtype="f8").persist()
    deadline = time.monotonic() + 10
    while not asked and time.monotonic() < deadline:
        time.sleep(0.01)
    engine = session().engine
    engine.ask(lambda engine: engine.recall(list(engine.ledger.batches.values()), unwanted=False))
    engine.ask(lambda engine: engine.recall(list(engine.ledger.batches.values()), unwanted=False))
    asked[0].reply(7)
    assert x.compute().tolist() == [7.0]
    assert len(asked) == 1, "it has run once"
