"""Ranks die or hang at random moments: results are complete and have the same bits, the loss is named once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).with_name("program.py"))
pytestmark = pytest.mark.ranks
EXPECTED: list[list[str]] = []


def expected(launch) -> list[str]:
    """What the embedded engine gives."""
    if not EXPECTED:
        head = f"import sys; sys.argv = ['', '0', 'SIGCONT']; exec(open({PROGRAM!r}).read().split('struck =')[0])"
        code = f"{head}\nprint(*compute())"
        EXPECTED.append(launch(0, "-c", code).last.split())
    return EXPECTED[0]


def check(launch, seed: int, name: str, **more: str) -> None:
    ended = launch(5, PROGRAM, str(seed), name, **more)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert [*found["results"], found["after"]] == [expected(launch)] * 3
    assert len(found["losses"]) == 1, (found, ended.err[-2000:])
    assert "host" in found["losses"][0]
    assert "pid" in found["losses"][0]
    assert len(found["ranks"]) == 4
    assert ended.err.count("was lost") == 1


@pytest.mark.parametrize("seed", range(5))
def test_killed(launch, nothing_left, seed):
    check(launch, seed, "SIGKILL")


@pytest.mark.parametrize("seed", range(2))
def test_killed_amid_gets(launch, nothing_left, seed):
    check(launch, seed, "SIGKILL", WINDROW_TRANSPORT="get")


@pytest.mark.parametrize("seed", range(2))
def test_stopped(launch, nothing_left, seed):
    check(launch, seed, "SIGSTOP", WINDROW_HEARTBEAT="1.5")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_fifty_kills(launch, nothing_left):
    for seed in range(100, 150):
        check(launch, seed, "SIGKILL")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_fifty_kills_amid_gets(launch, nothing_left):
    for seed in range(100, 150):
        check(launch, seed, "SIGKILL", WINDROW_TRANSPORT="get")


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_ten_stops(launch, nothing_left):
    for seed in range(200, 210):
        check(launch, seed, "SIGSTOP", WINDROW_HEARTBEAT="1.5")
