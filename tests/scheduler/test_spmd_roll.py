"""Rank 0's list of who has come to which call: comparing, losing, ending, being late."""

from __future__ import annotations

import pickle
import time

from windrow.scheduler.spmd_mode.reports import RankReport, name_ranks
from windrow.scheduler.spmd_mode.roll import LATE, PATIENCE, Roll


def told(number: int, token: str = "t", line: int = 1) -> RankReport:
    return RankReport(number, "compute", "compute", f"script.py:{line}", (token,), "sum ()")


class Answers(list):
    def __call__(self, packed):
        self.append(str(pickle.loads(packed)))


def roll(size: int = 3, limit: float = 5.0):
    return Roll(size, lambda: limit), [Answers() for _ in range(size)]


def test_a_call_goes_on_when_all_have_come():
    calls, answers = roll()
    for rank in (2, 0):
        assert not calls.come(rank, told(1), answers[rank]).decided.is_set()
    meeting = calls.come(1, told(1), answers[1])
    assert meeting.decided.is_set()
    assert meeting.error is None
    assert answers == [[], [], []]


def test_whoever_differs_is_named_to_all():
    calls, answers = roll()
    calls.come(0, told(1, "a", 3), answers[0])
    calls.come(2, told(1, "b", 4), answers[2])
    meeting = calls.come(1, told(1, "a", 3), answers[1])
    assert meeting.error is not None
    assert all(len(each) == 1 for each in answers)
    assert "ranks 0, 1: compute of sum () at script.py:3; rank 2: compute of sum () at script.py:4" in answers[1][0]
    assert calls.come(0, told(2), answers[0]).error is None


def test_ranks_that_differ_wait_a_moment_for_the_others():
    calls, answers = roll()
    calls.come(2, told(1, "b", 4), answers[2])
    meeting = calls.come(1, told(1, "a", 3), answers[1])
    assert not meeting.decided.is_set()
    assert "rank 0: compute of sum () at script.py:5" in str(calls.come(0, told(1, "c", 5), answers[0]).error)
    meeting = [calls.come(rank, told(2, token), answers[rank]) for rank, token in enumerate("ab")][-1]
    calls.look(time.monotonic())
    assert not meeting.decided.is_set()
    calls.look(time.monotonic() + PATIENCE)
    assert "rank 0: compute of sum () at script.py:1; rank 1: compute" in str(meeting.error)
    assert calls.come(2, told(2, "a"), answers[2]).error is meeting.error


def test_the_lost_are_not_waited_for():
    calls, answers = roll()
    calls.come(0, told(1), answers[0])
    meeting = calls.come(1, told(1), answers[1])
    calls.lose([2])
    assert meeting.decided.is_set()
    assert meeting.error is None
    assert calls.living == (0, 1)


def test_the_ended_are_named():
    calls, answers = roll(2)
    calls.end(1, "has ended with status 3")
    meeting = calls.come(0, told(1), answers[0])
    assert "that of rank 1 has ended with status 3" in str(meeting.error)
    assert calls.missing() == [0]
    assert not calls.wait_for_ends(0.01)
    calls.end(0, "has ended")
    assert calls.wait_for_ends(0.01)


def test_the_late_are_named_and_then_an_error(caplog):
    calls, answers = roll(3, 30.0)
    calls.come(0, told(1), answers[0])
    meeting = calls.come(2, told(1), answers[2])
    calls.look(time.monotonic() + LATE - 1)
    assert not caplog.messages
    for _ in range(2):
        calls.look(time.monotonic() + LATE + 1)
    (message,) = caplog.messages
    assert "rank 1 hadn't come after 11 s, for which ranks 0, 2 waited" in message
    calls.look(time.monotonic() + 31)
    assert "rank 1 didn't come within 30 s" in str(meeting.error)
    late = calls.come(1, told(1), answers[1])
    assert late.error is meeting.error
    assert len(answers[1]) == 1


def test_an_error_reaches_those_that_come_later():
    calls, answers = roll(2)
    calls.come(0, told(1), answers[0])
    calls.fail(1, pickle.dumps(ValueError("interrupted")))
    calls.come(1, told(1), answers[1])
    assert answers[1] == ["interrupted"]


def test_ranks_have_names():
    assert name_ranks([3, 1]) == "ranks 1, 3"
