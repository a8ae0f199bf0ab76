"""Users' functions that end the process that calls them: rank 0 is spared; if it isn't, it is said what it was at."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).with_name("deadly.py"))
pytestmark = pytest.mark.ranks


@pytest.fixture(params=["mpirun", "spawn"])
def program(launch, nothing_left, request):
    """Run the program on ranks that mpirun starts, or that it spawns: program(ranks, what happens)."""

    def run(ranks: int, what: str):
        return launch(ranks, PROGRAM, what, "0") if request.param == "mpirun" else launch(0, PROGRAM, what, str(ranks))

    return run


def test_the_first_call_is_not_rank_0s(program):
    ended = program(3, "once")
    assert ended.status == 0, ended.err[-2000:]
    assert ended.last == "total 36 lost 1"


def test_what_kills_every_time_is_given_up(program):
    ended = program(4, "always")
    assert ended.status == 0, ended.err[-2000:]
    refused, after = ended.out.strip().splitlines()[-2:]
    assert re.match(r"refused .*poison.*: 3 ranks died at block \(1,\); it is not tried again", refused)
    assert "deadly.py:" in refused
    assert after == "after 28 ranks 1"


@pytest.mark.parametrize("ranks", [2, 4])
def test_what_kills_on_every_block_is_given_up_and_spares_rank_0(program, ranks):
    ended = program(ranks, "every")
    assert ended.status == 0, ended.err[-2000:]
    refused, again, after = ended.out.strip().splitlines()[-3:]
    dead = "1 rank died at block " if ranks == 2 else "3 ranks died at blocks "
    assert re.match(
        rf"refused .*map_blocks\(end\): {dead}.*; rank 0, the only one left, does not try it .*deadly", refused
    )
    assert again == refused, "nor is it tried when it is asked for again"
    assert after == "after 36 ranks 1"


def test_ranks_that_somebody_else_kills_do_not_count(program):
    ended = program(4, "outside")
    assert ended.status == 0, ended.err[-2000:]
    assert ended.last == f"total {150 * 151 // 2} lost 3"


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
