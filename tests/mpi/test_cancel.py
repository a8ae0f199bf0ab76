"""Ctrl-C amid blocks on ranks: they are interrupted there, and what takes no notice keeps nobody waiting."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.ranks
PROGRAM = str(Path(__file__).parent / "programs" / "interrupted_blocks.py")


def test_what_is_asked_for_next_doesn_t_wait_for_interrupted_blocks(launch, nothing_left):
    ended = launch(3, PROGRAM, "3", limit=90)
    assert ended.status == 0, ended.err
    # Blocks that loop end at once. Those that sleep still did so when what came next was through; then nothing is left.
    assert ended.last == "[False, True, True] [0, 0, 0, 0] True 3"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_hundred_interrupts_leave_nothing_behind(launch, nothing_left):
    ended = launch(3, PROGRAM, "100", limit=800)
    assert ended.status == 0, ended.err
    assert ended.last.endswith(" [0, 0, 0, 0] True 3")
