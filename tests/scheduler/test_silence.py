"""When a quiet rank is asked, and when it is given up: by the times at which things happen, without a clock."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from windrow.scheduler.engine.heartbeat import Heartbeat
from windrow.workers.wire.protocol import Ping


class Line:
    """What a heartbeat does to ranks of another host: rank 2 of three."""

    def __init__(self) -> None:
        self.size = 3
        self.peers = [SimpleNamespace(host="far", pid=0, same_node=False)] * 3
        self.asked: list[int] = []
        self.dead: list[int] = []
        self.killers: dict[int, int] = {}

    def send(self, rank: int, command: object) -> None:
        assert isinstance(command, Ping)
        self.asked.append(rank)

    def declare_dead(self, rank: int) -> int | None:
        self.dead.append(rank)
        return self.killers.get(rank)


@pytest.fixture
def beat(monkeypatch):
    """A heartbeat of twelve seconds that began at 100."""
    monkeypatch.setattr("windrow.scheduler.engine.heartbeat.time", SimpleNamespace(monotonic=lambda: 100.0))
    line = Line()
    return Heartbeat(line, 12.0), line


ALL = [True] * 3


def test_who_is_quiet_is_asked_and_who_stays_silent_is_given_up(beat):
    heartbeat, line = beat
    for now in range(101, 104):
        heartbeat.check(now, ALL)
    assert line.asked == [], "a third of the limit"
    heartbeat.check(104, ALL)
    assert line.asked == [1, 2]
    heartbeat.check(105, ALL)
    assert line.asked == [1, 2], "asked again after a sixth of the limit"
    heartbeat.heard(1, 105.5)
    for now in range(106, 113):
        heartbeat.check(now, ALL)
    assert line.dead == []
    assert line.asked == [1, 2, 2, 1, 2, 1], "who has spoken is asked later"
    heartbeat.check(112.5, ALL)
    assert line.dead == [2]
    heartbeat.check(114, [True, True, False])
    assert line.dead == [2]


def test_ranks_of_other_hosts_hear_of_rank_0_though_they_speak(beat):
    heartbeat, line = beat
    for now in range(101, 110):
        heartbeat.heard(1, now)
        heartbeat.heard(2, now)
        heartbeat.check(now, ALL)
    assert line.asked == [1, 2], "at 105, a third of the limit after the last time"
    line.peers = [SimpleNamespace(host="near", pid=0, same_node=True)] * 3
    for now in range(110, 120):
        heartbeat.heard(1, now)
        heartbeat.heard(2, now)
        heartbeat.check(now, ALL)
    assert line.asked == [1, 2]


@pytest.mark.parametrize(
    ("killers", "words"),
    [
        ({2: 0}, "it is killed"),
        ({2: 1}, "rank 1, on its host, is asked to kill it"),
        ({}, "it is not listened to any more"),
    ],
)
def test_what_is_said_of_a_silent_rank_is_what_is_done(beat, caplog, killers, words):
    heartbeat, line = beat
    line.killers = killers
    for now in range(101, 114):
        heartbeat.heard(1, now)
        heartbeat.check(now, ALL)
    assert line.dead == [2]
    assert words in caplog.text
    assert ("killed" in caplog.text) is (killers == {2: 0})


def test_time_in_which_nobody_listened_does_not_count(beat):
    heartbeat, line = beat
    heartbeat.check(101, ALL)
    heartbeat.check(161, ALL)
    assert line.dead == []
    for now in range(162, 173):
        heartbeat.check(now, ALL)
    assert line.dead == []
    heartbeat.check(173, ALL)
    assert line.dead == [1, 2], "sixty of the seconds are no silence"
