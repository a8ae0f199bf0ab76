"""Users' functions that end the process that calls them: rank 0 is spared; if it isn't, it is said what it was at."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).with_name("deadly.py"))
pytestmark = pytest.mark.ranks


@pytest.mark.parametrize("way", ["mpirun", "spawn"])
def test_the_first_call_is_not_rank_0s(launch, nothing_left, way):
    ended = launch(2, PROGRAM, "once", "0") if way == "mpirun" else launch(0, PROGRAM, "once", "2")
    assert ended.status == 0, ended.err[-2000:]
    assert ended.last == "total 36 lost 1"


def test_what_kills_every_time_is_given_up(launch, nothing_left):
    ended = launch(0, PROGRAM, "always", "4")
    assert ended.status == 0, ended.err[-2000:]
    refused, after = ended.out.strip().splitlines()[-2:]
    assert re.match(r"refused .*poison.*: 3 ranks died at block \(1,\); it is not tried again", refused)
    assert "deadly.py:" in refused
    assert after == "after 28 ranks 1"


@pytest.mark.parametrize("way", ["mpirun", "spawn"])
def test_what_ends_rank_0_is_named(launch, nothing_left, way):
    ended = launch(3, PROGRAM, "alone", "0") if way == "mpirun" else launch(0, PROGRAM, "alone", "3")
    assert ended.status != 0
    assert ended.last == "alone"
    (word,) = [line for line in ended.err.splitlines() if "ended while it ran" in line]
    assert word.startswith("windrow: rank 0, the driver (pid ")
    assert re.search(r"ended while it ran .*poison.* on block \(1,\), created at ", word)
    assert "deadly.py:" in word


def test_built_in_functions_are_not_counted_deadly(launch, nothing_left):
    ended = launch(0, PROGRAM, "built-in", "4")
    assert ended.status == 0, ended.err[-2000:]
    assert ended.last == "total True deaths 0 lost 2"
    assert "ended while" not in ended.err
