"""What is made again after a death, while nothing else is computed."""

from __future__ import annotations

from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
pytestmark = pytest.mark.ranks


def test_products_have_the_same_bits(launch, nothing_left):
    ended = launch(3, str(PROGRAMS / "product_remade.py"), limit=60)
    assert (ended.status, ended.out.strip()) == (0, "0 True"), ended.err[-3000:]
