"""Small arrays whose chunks lie evenly with the ranks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "spread.py"


@pytest.mark.ranks
def test_small_arrays_are_spread(launch, nothing_left):
    ended = launch(3, str(PROGRAM))
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert found["wide"] == [10, 10, 10]
    assert found["spread"] == [[10, 10, 10]] * 2
    assert found["host"] == [3, 3, 3]
    assert sum(found["users"]) == 30
    assert found["same"]
    assert found["after"] == [True, [15, 15, 0]]
