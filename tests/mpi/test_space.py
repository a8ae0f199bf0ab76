"""A space of objects on real ranks: jobs are done once each, also where a rank is killed amid them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).parent / "programs" / "jobs_in_space.py")


@pytest.mark.ranks
def test_jobs_are_done_once(launch, nothing_left):
    ended = launch(3, PROGRAM)
    assert ended.status == 0, ended.err[-3000:]
    assert json.loads(ended.last) == {"right": [True], "lost": 0, "shared": 0}


@pytest.mark.ranks
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 20))])
def test_jobs_are_done_once_through_a_kill(launch, nothing_left, seed):
    ended = launch(3, PROGRAM, "1", str(seed))
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert found["right"] == [True]
    assert found["shared"] == 0
