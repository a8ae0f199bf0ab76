"""What somebody waits for goes before what is only held: blocks that have ended meanwhile are counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).with_name("foreground.py"))


@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.ranks)])
def test_what_is_waited_for_goes_before_what_is_held(launch, ranks):
    ended = launch(0, PROGRAM, str(ranks), limit=100)
    assert ended.status == 0, ended.err[-2000:]
    found = json.loads(ended.last)
    light, steps = found["beside"]
    assert light <= ranks, found  # the blocks that ran
    assert steps <= (1 if ranks == 1 else 6), found  # another rank may begin some between two steps
    assert found["before"] <= 3 * ranks, found  # those that had begun, and the ends of the last
