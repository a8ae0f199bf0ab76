"""Traced functions over ranks: rank 0 computes small calls, with ranks' bits; in SPMD mode all are lazy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).parent / "programs" / "traced.py")
pytestmark = pytest.mark.ranks


@pytest.mark.parametrize("words", [(), ("kill",)])
def test_small_calls_have_the_bits_that_ranks_make(launch, nothing_left, words):
    ended = launch(3, PROGRAM, *words)
    assert ended.status == 0, ended.err[-3000:]
    assert json.loads(ended.last) == {"close": True, "same": True, "direct": True}


def test_in_spmd_mode_calls_are_lazy(launch):
    ended = launch(3, "--spmd", PROGRAM)
    assert ended.status == 0, ended.err[-3000:]
    assert json.loads(ended.last) == {"close": True, "same": True, "direct": False}


def test_a_rank_killed_while_a_loop_is_traced(launch, nothing_left):
    ended = launch(3, str(Path(PROGRAM).parent / "traced_deaths.py"), limit=90)
    assert (ended.status, ended.last) == (0, "1 True"), ended.err[-3000:]
