"""What a step of a loop costs doesn't grow with the steps before it, nor a result's with the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).with_name("growth.py"))


@pytest.mark.parametrize("ranks", [1, pytest.param(3, marks=pytest.mark.ranks)])
def test_four_times_the_steps_take_four_times_the_lines(launch, ranks):
    ended = launch(0, PROGRAM, str(ranks), limit=100)
    assert ended.status == 0, ended.err[-2000:]
    found = json.loads(ended.last)
    for name, (few, many) in found["lines"].items():
        assert many < 6 * few, (name, few, many)
    assert not found["left"], "records of what nobody holds"
