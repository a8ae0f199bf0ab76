"""Chunks as Arrow on real ranks: the arena's own bytes, aligned and padded; and pyarrow where it is needed alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "arrow_views.py"


@pytest.mark.ranks
def test_arrow_blocks_are_the_arenas_own_bytes(launch):
    ended = launch(3, str(PROGRAM))
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert found["before"] == [0, 0, 0], "a rank that only computes has imported pyarrow"
    assert 1 in found["after"]
    for name, (numpy, arrow) in found["places"].items():
        assert len(numpy) == len(arrow) > 1
        for ours, theirs in zip(numpy, arrow, strict=True):
            assert theirs[:2] == ours[:2], (name, "the block's bytes are elsewhere")
            assert theirs[3], (name, "a buffer that isn't aligned, or may be written")
    for name in ("large", "rows"):
        own = {row[0] for row in found["places"][name][1] if row[2]}
        assert own == {0, 1, 2}, (name, "each rank has chunks, and has seen its own arena")
    assert any(row[4] for row in found["places"]["small"][1]), "chunks that share a slab begin within it"
