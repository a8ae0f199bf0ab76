"""Lineage has a bound: what many steps leave behind them, and what a rank's death costs then."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).parent / "programs" / "lineage_deaths.py")
pytestmark = pytest.mark.ranks


def check(launch, steps, seed, *words, **more):
    ended = launch(3, PROGRAM, str(steps), str(seed), *words, **more)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert found["same"]
    assert found["stages"] < 3 * 256 + 100
    (lost,) = found["losses"]
    again = int(re.search(r"(\d+) recomputed", lost)[1])
    assert again <= 6 * (2 * 256 + 60), lost


@pytest.mark.parametrize(("words", "transport"), [(("fresh",), "auto"), ((), "service")])
def test_a_death_after_many_steps(launch, nothing_left, words, transport):
    check(launch, 700, 1, *words, WINDROW_TRANSPORT=transport)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_deaths(launch, nothing_left):
    for seed in range(100, 120):
        check(launch, 1200, seed, *(("fresh",) if seed % 2 else ()))
