"""dask's collections on real ranks, and a kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
pytestmark = pytest.mark.ranks


def check(ended) -> None:
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert all(found["right"]), found
    assert found["losses"] == 1
    assert found["pids"] > 1
    assert "in task " in found["notes"]
    assert "dask_deaths.py:" in found["notes"]


def test_collections_through_a_kill(launch, nothing_left):
    check(launch(3, str(PROGRAMS / "dask_deaths.py"), "1"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_collections_through_kills(launch, nothing_left, seed):
    check(launch(3, str(PROGRAMS / "dask_deaths.py"), str(seed + 2)))
