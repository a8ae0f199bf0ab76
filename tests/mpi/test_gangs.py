"""Rank programs on real ranks: communicators, chunks in place, results; errors, deaths and silence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAMS = Path(__file__).parent / "programs"
pytestmark = pytest.mark.ranks


def test_rank_programs(launch, nothing_left):
    ended = launch(3, str(PROGRAMS / "gangs.py"))
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    x = np.arange(24.0)
    parts = np.split(x, 3)
    assert found["sums"] == [[k, 3, part.sum(), x.sum()] for k, part in enumerate(parts)]
    assert found["after"] == found["sums"], "an error of a member harms nobody later"
    assert found["two members"] == [[k, 2, part.sum(), x.sum()] for k, part in enumerate(np.split(x, 2))]
    halo = np.convolve(x, [1, 1, 1], "same")
    assert found["halo"] == halo.tolist()
    assert found["twice"] == [halo.sum(), 2 * halo.sum()]
    assert found["cart"] == [2, 0, 1]
    assert found["large"] == [0, 1_000_000, 2_000_000]
    assert found["pid"]
    assert found["others"] == "of the member's own", "who needs another member's chunks alone hears of it, too"
    assert found["runs"] == "xx", "what ranks compute beside it takes no gang back"
    assert "'members' is 9" in found["many"]
    kind, text, *notes = found["errors"]["own"]
    assert (kind, text) == ("LookupError", "of the member's own")
    assert any("in wrong" in note for note in notes), "the member's line"
    assert notes[0].startswith("in operation spmd(wrong), member 1 on rank 1 (host ")
    assert found["errors"]["placed"][2].startswith("in operation spmd(wrong), member 1 on rank 0 (host ")
    kind, text, *_ = found["errors"]["mpi"]
    assert kind == "Exception"
    assert "RANK" in text.upper()
    owned = [block for member in found["owned"] for block in member]
    assert {rank for rank, *_ in owned} == {0, 1, 2}
    assert not any(writable for *_, writable in owned)


def test_a_member_that_alone_is_late_stops_waiting(launch, nothing_left):
    ended = launch(3, str(PROGRAMS / "late_members.py"), limit=60)
    assert ended.status == 0, ended.err[-3000:]
    *found, soon, left = json.loads(ended.last)
    assert soon, "what sleeps is left to its thread"
    assert left == 3, "nobody takes what was put later"
    assert found[1::2] == [[3, 3, 3]] * 6, "what a member computes is interrupted, too"
    one, all_ = ("member {0} of 3 (rank {0})".format, "members 0, 1, 2 of 3 (ranks 0, 1, 2)")
    assert found[::2] == [one(0), one(2), one(0), all_, all_, all_]


def test_what_a_rank_program_leaves_or_raises_harms_no_other(launch, nothing_left):
    ended = launch(3, str(PROGRAMS / "gang_leftovers.py"), limit=60)
    assert ended.status == 0, ended.err[-3000:]
    assert ended.out.split("\n")[:3] == ["Untold", "Untold", "[3, 3, 3]"]
    assert "a rank program has left 2 message(s) unreceived" in ended.err


def interrupt(launch, times: int) -> None:
    """What is being made on another rank isn't revoked: its rank would end by a segmentation fault."""
    ended = launch(3, str(PROGRAMS / "gang_interrupts.py"), str(times), limit=120)
    assert (ended.status, ended.last) == (0, f"{times} [3, 3, 3] 3"), ended.err[-3000:]


def test_interrupts_amid_rank_programs(launch, nothing_left):
    interrupt(launch, 12)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_hundreds_of_interrupts_amid_rank_programs(launch, nothing_left):
    interrupt(launch, 300)


BESIDE = str(PROGRAMS / "gangs_beside.py")


@pytest.mark.parametrize("ranks", [0, 4])
def test_rank_programs_beside_computations_and_each_other(launch, nothing_left, ranks):
    """A program waits here for what the script puts when it has computed, and for what another program puts."""
    ended = launch(ranks, BESIDE, limit=90)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert found["beside"] == [True] * 3
    assert found["all"] == [[10, 4, "now"]] * 4
    assert found["pairs"] == found["chosen"] == [["from b"] * 2, ["from a"] * 2]
    assert found["splits"] == [[20, 20]] * 12, "communicators are made of several gangs at once"
    assert found["lazy"] == [8 * len("from three"), 8 * len("from one")]


def test_a_rank_killed_amid_rank_programs_side_by_side(launch, nothing_left):
    ended = launch(4, BESIDE, "kill", limit=90)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert (found["right"], found["same"]) == (True, True)
    assert (found["first"], found["second"]) == ([[3, 2, 1]] * 2, [[1, 1, 2]]), (
        "the second runs on the rank that is left"
    )
    assert found["then"] == [[0, 1, 2]] * 3


def test_an_interrupt_amid_rank_programs_side_by_side(launch, nothing_left):
    ended = launch(4, BESIDE, "interrupt", limit=90)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert (found["right"], found["same"]) == (True, True)
    assert (found["first"], found["second"]) == ([[3, 2, 1]] * 2, [[3, 2, 2]] * 2), "it ends none but its own"
    assert found["then"] == [[0, 1, 2, 3]] * 4


@pytest.mark.parametrize("ranks", [0, 3])
def test_ctrl_c_within_a_pool_or_an_executor_ends_what_it_would_wait_for(launch, nothing_left, ranks):
    ended = launch(ranks, str(PROGRAMS / "interrupted_pools.py"), limit=90)
    assert ended.status == 0, ended.err[-3000:]
    assert json.loads(ended.last) == [["KeyboardInterrupt", True], [3, 3, 3], 32] * 3


def test_ranks_that_were_lost_are_stood_for_by_those_left(launch, nothing_left):
    """As when one is lost while the program runs: a script can't know when that happens."""
    ended = launch(3, str(PROGRAMS / "gangs_after_a_death.py"), limit=60)
    assert ended.status == 0, ended.err[-3000:]
    assert json.loads(ended.last) == {
        "named": [[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 1]],
        "counted": [[[0, 1, 2, 3, 4, 5], 2], [[6, 7, 8, 9], 2]],
        "other": [[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 1]],
        "errors": [
            "spmd: argument 'members' names rank 3; the cluster has ranks 0 to 2",
            "spmd: argument 'members' is 4; the cluster has 3 ranks",
        ],
    }


def check(launch, seed: int, name: str, **more: str) -> None:
    ended = launch(4, str(PROGRAMS / "gang_deaths.py"), str(seed), name, limit=90, **more)
    assert (ended.status, ended.out.strip()) == (0, "1 right"), ended.err[-3000:]


@pytest.mark.parametrize("seed", range(3))
def test_a_rank_killed_amid_gangs(launch, nothing_left, seed):
    check(launch, seed, "SIGKILL")


def test_a_rank_stopped_amid_gangs(launch, nothing_left):
    check(launch, 1, "SIGSTOP", WINDROW_HEARTBEAT="1.5")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_kills_amid_gangs(launch, nothing_left):
    for seed in range(100, 120):
        check(launch, seed, "SIGKILL")


def test_a_communicator_that_fails_on_one_rank_is_made_again(launch, nothing_left):
    ended = launch(3, str(PROGRAMS / "unmet.py"), limit=60)
    assert (ended.status, ended.out.strip()) == (0, "[3, 3]"), ended.err[-3000:]


def split(programs, seed: int) -> None:
    done = subprocess.run(
        ["timeout", "-k", "3", "30", *programs.mpirun(4), sys.executable, str(PROGRAMS / "split_deaths.py"), str(seed)],
        env=programs.environment(),
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )
    assert done.stdout.strip() == "right", (seed, done.returncode, done.stderr[-3000:])


def test_a_rank_killed_while_communicators_are_made(programs, nothing_left):
    """Without `workers/mpi/deaths/death_notices.py` one in eight ends by a segmentation fault."""
    for seed in range(6):
        split(programs, seed)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_hundred_ranks_killed_while_communicators_are_made(programs, nothing_left):
    for seed in range(100, 200):
        split(programs, seed)


@pytest.mark.slow
def test_agreements_while_another_thread_probes(programs, nothing_left):
    """Without turns 4 to 35 of 300,000 came out wrong: see `workers/mpi/messages/mpi_lock.py`."""
    words = [*programs.mpirun(8), sys.executable, str(PROGRAMS / "agreements.py"), "200000"]
    done = subprocess.run(
        ["timeout", "-k", "3", "240", *words],
        env=programs.environment(OMPI_MCA_mpi_yield_when_idle="1"),
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["0"]), done.stderr[-2000:]
