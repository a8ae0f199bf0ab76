"""SciPy's functions run on ranks; what a dead rank had is made again."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("scipy")
PROGRAM = str(Path(__file__).parent / "programs" / "scipy_calls.py")
pytestmark = pytest.mark.ranks


def test_scipy_on_ranks(launch, nothing_left):
    ended = launch(3, PROGRAM)
    assert ended.status == 0, ended.err[-3000:]
    assert ended.last == "0 lost"


def test_scipy_when_a_rank_dies(launch, nothing_left, tmp_path):
    ended = launch(3, PROGRAM, str(tmp_path / "mark"))
    assert ended.status == 0, ended.err[-3000:]
    assert ended.last == "1 lost"
