"""Who is missing at the start of a launched job, as the ranks of one host see it."""

from __future__ import annotations

import pytest

from windrow.workers.mpi.start import environment
from windrow.workers.mpi.start.rollcall import RankEntry, describe_missing, still_missing

HERE = [RankEntry(0, 10, False, "S"), RankEntry(1, 11, False, "R"), RankEntry(2, 12, True, "S")]


def test_nobody_is_missed_while_all_may_come():
    assert describe_missing(HERE, 3, None) == ""
    assert describe_missing(HERE[:1], 3, 3) == ""
    # who has joined may end as it likes
    assert describe_missing([*HERE[:2], RankEntry(2, 12, True, "")], 3, 2) == ""


def test_who_has_ended_is_named():
    assert describe_missing([*HERE[:1], RankEntry(1, 11, False, "Z")], 3, None) == (
        "rank 1 (pid 11) ended before joining the other ranks"
    )
    assert "rank 0 (pid 10), rank 1 (pid 11)" in describe_missing(
        [RankEntry(1, 11, False, ""), RankEntry(0, 10, False, "")], 3, None
    )
    assert describe_missing(HERE[:1], 3, 2) == "1 of the 3 ranks of this host ended before it was heard of"


def test_who_keeps_the_others_waiting_is_named():
    assert still_missing([*HERE[:2], RankEntry(2, 12, False, "T")], 3, 3) == "rank 2 (pid 12) is stopped"
    assert still_missing(HERE[:1], 3, 3) == "2 of the 3 ranks of this host never began (rank 1, 2)"
    assert still_missing(HERE[:1], 3, 8) == "2 of the 3 ranks of this host never began"
    assert still_missing(HERE, 3, 8).endswith("ranks of other hosts are missing")


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({"OMPI_COMM_WORLD_LOCAL_SIZE": "3"}, 3),
        ({"SLURM_STEP_TASKS_PER_NODE": "2(x3),1", "SLURM_NODEID": "0"}, 2),
        ({"SLURM_STEP_TASKS_PER_NODE": "2(x3),1", "SLURM_NODEID": "3"}, 1),
        ({"SLURM_STEP_TASKS_PER_NODE": "2(x3),4"}, 4),
        ({"SLURM_NTASKS_PER_NODE": "16"}, 7),
        ({}, None),
    ],
)
def test_how_many_ranks_share_the_host(monkeypatch, variables, found):
    for name in ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert environment.ranks_here(7) == found
