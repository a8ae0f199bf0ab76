"""On real ranks a function learns its rank, window and arena; a place is the same bytes to whoever looks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "places.py"


@pytest.mark.ranks
@pytest.mark.parametrize("transport", ["map", "get", "service"])
def test_places_are_where_they_are_said_to_be(launch, transport):
    ended = launch(3, str(PROGRAM), transport, WINDROW_TRANSPORT=transport)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert "own" in found["seen"]
    assert "copied" in found["seen"] or transport == "map"
    assert len(found["ranks"]) > 1
