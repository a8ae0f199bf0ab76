"""The example of futures: the same in one process and on ranks, and what one process finds without them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "futures.py"


def halve(example, settings, days):
    """The same search without futures."""
    seen = example.simulate((example.SPREAD, example.RECOVERY), 12 * days).curve
    left, states = list(range(len(settings))), {}
    while True:
        states = {k: example.simulate(tuple(settings[k]), days, states.get(k)) for k in left}
        found = {k: example.misfit(state, seen) for k, state in states.items()}
        left = sorted(found, key=found.__getitem__)[: max(1, len(found) // 3)]
        if len(found) == 1:
            return settings[left[0]], found[left[0]]


@pytest.mark.parametrize("ranks", [0, pytest.param(3, marks=pytest.mark.ranks)])
def test_the_search_finds_what_one_process_finds(launch, nothing_left, ranks):
    ended = launch(ranks, str(EXAMPLE), "--settings", "40", "--days", "5")
    assert ended.status == 0, ended.err
    spec = importlib.util.spec_from_file_location("example_futures", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    rng = np.random.default_rng(0)
    settings = np.column_stack([rng.uniform(0.1, 0.6, 40), rng.uniform(0.05, 0.3, 40)])
    best, error = halve(example, settings, 5)
    spread, recovery = re.search(r"spread (\S+) and recovery (\S+) fit", ended.out).groups()
    assert (spread, recovery) == (f"{best[0]:.3f}", f"{best[1]:.3f}")
    assert f"mean misfit {error:.2e}" in ended.out
