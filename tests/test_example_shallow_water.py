"""The solver's four ways give the same bits, embedded and on ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "examples" / "shallow_water.py"


@pytest.mark.parametrize("ranks", [0, pytest.param(3, marks=pytest.mark.ranks)])
def test_all_ways_give_the_same_bits(launch, ranks, tmp_path):
    picture = tmp_path / "height.png"
    ended = launch(ranks, str(SCRIPT), "--size", "40", "64", "--steps", "5", "--picture", str(picture))
    assert ended.status == 0, ended.err
    lines = ended.out.splitlines()
    assert [line.split()[0] for line in lines] == ["numpy", "lazy", "loop", "program"]
    assert all(line.endswith("the same bits as NumPy: True") for line in lines)
    assert all("mean height 100.00" in line for line in lines)
    assert picture.stat().st_size > 10_000
