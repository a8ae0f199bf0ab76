"""Shared objects on real ranks: one copy a host, by whichever way, through a kill, gone with the last reference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).parent / "programs" / "shares.py")


@pytest.mark.ranks
@pytest.mark.parametrize("transport", ["auto", "service"])
def test_objects_are_shared(launch, nothing_left, transport):
    ended = launch(3, PROGRAM, WINDROW_TRANSPORT=transport)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert found["right"]
    assert found["shared"][0] >= 1_600_000
    assert found["shared"][1:] == [0]
    assert found["nested"] == [199_999**2] * 2
    assert found["left"] == 0, "ranks let go of what the driver has let go of"
    assert [rank for rank, *_ in found["places"]] == [0, 1, 2]
    assert not any(writable for _, writable, *_ in found["places"])
    if transport == "auto":
        (where,) = {where for _, _, where, _ in found["places"]}
        assert where.startswith("/memfd:windrow-shared-")
        assert not any(private for *_, private in found["places"]), "the bytes are nobody's own"


@pytest.mark.ranks
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 20))])
def test_a_rank_killed_while_objects_are_shared(launch, nothing_left, seed):
    ended = launch(4, str(Path(PROGRAM).parent / "share_deaths.py"), str(seed), limit=60)
    assert (ended.status, ended.out.strip()) == (0, "right"), ended.err[-3000:]
