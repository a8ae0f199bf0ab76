"""Questions between real ranks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).parent / "programs" / "asks.py")


@pytest.mark.ranks
def test_ranks_ask_each_other_and_learn_of_deaths(launch, nothing_left):
    ended = launch(3, PROGRAM)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert found["around"] == [[1, 0, True], [2, 1, True], [0, 2, True]]
    assert found["driver"] == [1, 0, 6]
    assert found["told"] in ([0.0, 2.0], [2.0])
    assert "rank 2 was lost" in found["gone"]
