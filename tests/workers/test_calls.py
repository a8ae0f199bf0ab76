"""Questions between ranks: answered at once, later, by an error, or not at all."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import pytest

import windrow as wr
from support.waiting import until
from windrow.graph.errors import ClusterError
from windrow.scheduler.session.cluster import session
from windrow.workers.wire.protocol import RankMessage
from windrow.workers.wire.rpc import own_calls


@dataclass(frozen=True, slots=True)
class Say(RankMessage[Any]):
    """A message that a test serves as it likes."""

    what: Any = None


class Other(Say):
    pass


class Silence(Say):
    pass


class KeptMessage(RankMessage[Any]):
    pass


class KeptLost(KeptMessage):
    pass


class KeptOther(KeptMessage):
    pass


@pytest.fixture
def calls():
    with wr.Cluster(threads=2):
        yield own_calls()


def test_a_question_is_answered(calls):
    calls.serve(Say, lambda question: question.reply((question.rank, 2 * question.message.what)))
    assert calls.ask(0, Say(21)) == (0, 42)


def test_an_answer_may_come_later(calls):
    calls.serve(Say, lambda question: threading.Timer(0.05, question.reply, ("at last",)).start())
    assert calls.ask(0, Say()) == "at last"


def test_a_service_raises_where_it_was_asked(calls):
    def refuse(question):
        raise KeyError("no such thing")

    calls.serve(Say, refuse)
    with pytest.raises(KeyError, match="no such thing"):
        calls.ask(0, Say())
    with pytest.raises(ClusterError, match="knows no service 'Other'"):
        calls.ask(0, Other())


def test_a_wait_has_a_limit_and_a_name(calls):
    calls.serve(Silence, lambda question: None)
    begin = time.monotonic()
    with pytest.raises(ClusterError, match=r"Silence: rank 0 hasn't answered within 0\.1 s"):
        calls.ask(0, Silence(), limit=0.1)
    assert time.monotonic() - begin < 5


def test_what_is_told_is_not_waited_for(calls):
    heard = []
    calls.serve(Say, lambda question: heard.append(question.message.what))
    calls.serve(Other, lambda question: question.reply(heard))
    calls.tell(0, Say((1, 2)))
    assert calls.ask(0, Other()) == [(1, 2)]


def test_closing_ends_what_waits():
    made = wr.Cluster(threads=1)
    calls = own_calls()
    calls.serve(Silence, lambda question: None)
    threading.Timer(0.1, made.close).start()
    with pytest.raises(ClusterError, match="Silence: the cluster was closed"):
        calls.ask(0, Silence(), limit=30)
    with pytest.raises(ClusterError, match="the cluster is closed"):
        calls.ask(0, Silence())


class Keeper:
    """What a service needs, made when it is asked for."""

    made: list[Keeper]

    def __init__(self, calls):
        self.lost, self.closed = (), False
        calls.serve(KeptLost, lambda question: question.reply(self.lost))
        calls.when_lost(self.lose)
        self.made.append(self)

    def lose(self, ranks):
        self.lost += ranks

    def close(self):
        self.closed = True


@pytest.mark.parametrize("how", ["by a message", "by its group"])
def test_services_begin_when_they_are_needed(how, monkeypatch):
    monkeypatch.setattr(Keeper, "made", [], raising=False)
    made = wr.Cluster(threads=1)
    calls = own_calls()
    calls.offer(KeptMessage, lambda: Keeper(calls))
    calls._dead.add(7)
    assert Keeper.made == []
    if how == "by its group":
        assert calls.provided(KeptMessage) is calls.provided(KeptMessage) is Keeper.made[0]
    assert calls.ask(0, KeptLost()) == (7,), "a death from before it began"
    with pytest.raises(ClusterError, match="knows no service 'KeptOther'"):
        calls.ask(0, KeptOther())
    assert len(Keeper.made) == 1
    assert not Keeper.made[0].closed
    made.close()
    assert Keeper.made[0].closed


def test_blocks_ask_for_their_own_rank(calls):
    calls.serve(Say, lambda question: question.reply(question.rank))
    x = wr.zeros(4, chunks=2, dtype="i8")
    assert wr.map_blocks(lambda block: block + own_calls().ask(0, Say()), x).compute().tolist() == [0] * 4


def test_cancelling_ends_what_a_block_waits_for(calls):
    asked = threading.Event()
    calls.serve(Silence, lambda question: asked.set())
    x = wr.map_blocks(lambda block: block + own_calls().ask(0, Silence(), limit=60), wr.zeros(4), dtype="f8")
    persisted = x.persist()
    assert asked.wait(10)
    begin = time.monotonic()
    del persisted
    assert wr.arange(3).sum().compute() == 3
    assert time.monotonic() - begin < 5
    calls._transport.wake()
    until(lambda: not calls._waiting, "nobody waits")


def test_a_block_that_has_begun_is_not_ended_for_another_rank_to_take_it(calls):
    asked = []
    calls.serve(Say, asked.append)
    x = wr.map_blocks(lambda block: block + own_calls().ask(0, Say(), limit=30), wr.zeros(1), dtype="f8").persist()
    until(lambda: asked, "the block asks")
    engine = session().engine
    engine.ask(lambda engine: engine.recall(list(engine.ledger.batches.values()), unwanted=False))
    engine.ask(lambda engine: engine.recall(list(engine.ledger.batches.values()), unwanted=False))
    asked[0].reply(7)
    assert x.compute().tolist() == [7.0]
    assert len(asked) == 1, "it has run once"
