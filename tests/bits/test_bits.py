"""The bits of a result follow from the expression and its chunks: not from ranks, ways, kernels, order or deaths."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).with_name("program.py"))


@pytest.fixture(scope="module")
def reference():
    """Digests of the embedded engine's results; the first test of the module fills it."""
    return {}


def digests(ended) -> dict[str, str]:
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert len(found) > 50
    return found


def compare(reference: dict[str, str], launch, ended) -> None:
    if not reference:
        reference.update(digests(launch(0, PROGRAM, WINDROW_JIT="off")))
    found = digests(ended)
    assert found.keys() == reference.keys()
    assert {name for name in found if found[name] != reference[name]} == set()


@pytest.mark.parametrize("words", [("persist",), ("middle",), ("together",), ("fortran",)])
def test_embedded(launch, reference, words):
    compare(reference, launch, launch(0, PROGRAM, *words))


def test_one_thread(launch, reference):
    compare(reference, launch, launch(0, PROGRAM, WINDROW_THREADS="1"))


def test_compiled(launch, reference):
    pytest.importorskip("llvmlite")
    compare(reference, launch, launch(0, PROGRAM, limit=110, WINDROW_JIT="on"))


@pytest.mark.parametrize("jit", ["off", "on"])
def test_without_prepared_plans(launch, reference, jit):
    if jit == "on":
        pytest.importorskip("llvmlite")
    compare(reference, launch, launch(0, PROGRAM, limit=110, WINDROW_PLANS="0", WINDROW_JIT=jit))


@pytest.mark.ranks
def test_ranks_without_prepared_plans(launch, reference, nothing_left):
    compare(reference, launch, launch(3, PROGRAM, "persist", WINDROW_PLANS="0"))


@pytest.mark.ranks
def test_ranks_compiled(launch, reference, nothing_left):
    pytest.importorskip("llvmlite")
    compare(reference, launch, launch(3, PROGRAM, limit=110, WINDROW_JIT="on"))


@pytest.mark.ranks
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_ranks(launch, reference, ranks, nothing_left):
    compare(reference, launch, launch(ranks, PROGRAM))


@pytest.mark.ranks
@pytest.mark.parametrize("way", ["map", "get", "service"])
@pytest.mark.parametrize("words", [(), ("persist", "middle", "together")])
def test_ways_between_ranks(launch, reference, way, words, nothing_left):
    compare(reference, launch, launch(3, PROGRAM, *words, WINDROW_TRANSPORT=way))


@pytest.mark.ranks
@pytest.mark.parametrize("way", ["map", "service"])
def test_a_rank_killed_halfway(launch, reference, way, nothing_left):
    compare(reference, launch, launch(5, PROGRAM, "persist", "kill", WINDROW_TRANSPORT=way))
