"""Products that sum over the axis along which arrays are cut: the memory they take, and their bits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "product_memory.py"


@pytest.mark.ranks
def test_products_over_rows_hold_a_few_times_the_array(launch):
    digests = []
    for ranks in (0, 2):
        ended = launch(ranks, str(PROGRAM))
        assert ended.status == 0, ended.err[-3000:]
        times, bits = json.loads(ended.last)
        assert max(times.values()) < 3.5, times
        digests.append(bits)
    assert digests[0] == digests[1]
