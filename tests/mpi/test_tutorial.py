"""Programs of mpi4py's tutorial run inside of `wr.spmd`: on ranks, and as threads of one process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).parent / "programs" / "tutorial.py")


@pytest.mark.ranks
@pytest.mark.parametrize("ranks", [1, 3])
def test_programs_of_the_tutorial(launch, nothing_left, ranks):
    ended = launch(ranks, PROGRAM)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    late = found.pop("late")
    assert found == {"ring": True, "multiply": True, "pi": True, "exchange": True, "after": [3, 3, 3]}
    if ranks > 1:
        assert "spmd: function '<lambda>' hasn't ended within 0.5 s: members 0, 1, 2 of 3" in late
    else:
        assert late.startswith("Deadlock")
