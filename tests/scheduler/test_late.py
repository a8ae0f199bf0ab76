"""A slow block holds up nobody but who needs it; what was given ahead to its rank is taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).with_name("late.py"))


@pytest.mark.parametrize(
    "ranks", [1, pytest.param(2, marks=pytest.mark.ranks), pytest.param(3, marks=pytest.mark.ranks)]
)
def test_a_slow_block_stalls_nobody_else(launch, ranks):
    ended = launch(0, PROGRAM, str(ranks), limit=100)
    assert (ended.status, ended.out) == (0, "nothing waited\n"), ended.err[-2000:]
