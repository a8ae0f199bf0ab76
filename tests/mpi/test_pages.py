"""Shared arrays on real ranks: gathered in place or by pages, added to once, through kills."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.ranks
@pytest.mark.parametrize("transport", ["auto", "service"])
def test_versions_and_additions_survive_a_kill(launch, nothing_left, transport):
    ended = launch(3, str(PROGRAMS / "paged.py"), WINDROW_TRANSPORT=transport)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert found["first"], "what was lost was made again with the old version"
    assert " 0 recomputed" not in found["recomputed"]
    assert found["second"]
    assert found["picked"]
    assert found["total"]
    assert found["added"]
    assert found["once"]
    assert found["told"] == [39999600201] * 2
    assert found["gang"]
    assert found["bad"] == "index 300000 is out of bounds for axis 0 with size 200000"
    sent = found["info"]["sent"]
    assert (sent == 0) if transport == "auto" else (1_600_000 / 3 < sent < 4_000_000), "each page goes to a host once"


def check_kills(ended):
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert all(found["right"]), found
    assert found["used"] <= found["nbytes"] + 4096, "earlier versions are given back"
    assert found["held"] <= found["nbytes"] + 4096, "on other hosts, too"


@pytest.mark.ranks
def test_a_kill_at_a_random_moment(launch, nothing_left):
    check_kills(launch(4, str(PROGRAMS / "paged_kills.py"), "3", WINDROW_TRANSPORT="service"))


@pytest.mark.ranks
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_kills_at_random_moments(launch, nothing_left, seed):
    transport = "service" if seed % 2 else "auto"
    check_kills(launch(4, str(PROGRAMS / "paged_kills.py"), str(seed), WINDROW_TRANSPORT=transport))
