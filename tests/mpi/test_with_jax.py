"""JAX inside of rank programs, where it is installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).parent / "programs" / "with_jax.py")


@pytest.mark.ranks
@pytest.mark.parametrize("ranks", [1, 2])
def test_jax_works_on_chunks_in_place(launch, nothing_left, ranks):
    pytest.importorskip("jax")
    ended = launch(ranks, PROGRAM, limit=100)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert all(found["in place"])
    assert found["gradient"]
    if "mpi4jax" in found:
        assert found["mpi4jax"] == [[1.0, 1.0], [1.0, 0.0]]
