"""Views over ranks: programs that write through them, and a rank that dies amid a loop of such writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
PROGRAM = str(PROGRAMS / "view_deaths.py")
pytestmark = pytest.mark.ranks


def check(launch, ranks, *words):
    ended = launch(ranks, PROGRAM, *words)
    assert ended.status == 0, ended.err[-3000:]
    assert json.loads(ended.last) == {"same": True, "close": True, "losses": len(words)}


@pytest.mark.parametrize("ranks", [0, 3])
def test_a_stencil_of_views_has_numpys_bits(launch, ranks):
    check(launch, ranks)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_rank_that_dies_amid_writes_through_views(launch, nothing_left, seed):
    check(launch, 3, str(seed))


def test_small_programs_that_write_through_views(launch):
    ended = launch(3, str(PROGRAMS / "view_table.py"))
    assert ended.status == 0, ended.err[-3000:]
    number, wrong = json.loads(ended.last)
    assert number > 100
    assert wrong == []
