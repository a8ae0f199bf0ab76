"""Loops on real ranks: bits, deaths at random moments, silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
pytestmark = pytest.mark.ranks


def test_loops_on_ranks(launch, nothing_left):
    ended = launch(3, str(PROGRAMS / "loops.py"))
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert [name for name, right in found["right"].items() if not right] == []
    assert found["gangs"] == 8


def test_bodies_by_chance_on_ranks(launch, nothing_left):
    ended = launch(3, str(PROGRAMS / "loop_bodies.py"), "40")
    assert ended.status == 0, ended.err[-3000:]
    result = json.loads(ended.last)
    assert result["wrong"] == []
    assert 10 < result["gangs"] < 40


def check(launch, seed: int, name: str, ranks: int = 4, **more: str) -> None:
    ended = launch(ranks, str(PROGRAMS / "loop_deaths.py"), str(seed), name, limit=90, **more)
    assert (ended.status, ended.out.strip()) == (0, "1 right"), ended.err[-3000:]


def test_a_rank_killed_amid_loops(launch, nothing_left):
    check(launch, 1, "SIGKILL")


def test_rank_0_alone_goes_on_with_a_loop(launch, nothing_left):
    """Its body is none of the user's functions, which rank 0 alone doesn't try when others have died of them."""
    check(launch, 1, "SIGKILL", ranks=2)


def test_a_rank_stopped_amid_loops(launch, nothing_left):
    check(launch, 2, "SIGSTOP", WINDROW_HEARTBEAT="1.5")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_kills_amid_loops(launch, nothing_left):
    for seed in range(100, 120):
        check(launch, seed, "SIGKILL")
