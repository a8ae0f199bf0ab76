"""Moves made of very many small pieces: no object is made for one, and the bits are the same on ranks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "many_pieces.py"
pytestmark = pytest.mark.ranks


def test_pieces_of_blocks_in_place_are_copied_by_arrays(launch):
    pytest.importorskip("llvmlite")
    digests = set()
    for ranks in (0, 2):
        ended = launch(ranks, str(PROGRAM), WINDROW_JIT="on")
        assert ended.status == 0, ended.err[-3000:]
        right, bits, told = json.loads(ended.last)
        assert (right, told) == (True, 0)
        digests.add(bits)
    assert len(digests) == 1
