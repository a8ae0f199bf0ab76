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


def each(*often: tuple, slow: tuple[tuple, ...]) -> pytest.MarkDecorator:
    """Rows of (ranks, words, environment): each value of each stands in one that runs often, too."""
    rows = [pytest.param(*row, id=name_of(row)) for row in often]
    rows += [pytest.param(*row, id=name_of(row), marks=pytest.mark.slow) for row in slow]
    return pytest.mark.parametrize(("ranks", "words", "environment"), rows)


def name_of(row: tuple) -> str:
    ranks, words, environment = row
    return "-".join([str(ranks), *words.split(), *(f"{k}={v}" for k, v in environment.items())])


def run(launch, ranks: int, words: str, environment: dict[str, str]):
    if environment.get("JIT") == "on":
        pytest.importorskip("llvmlite")
    return launch(ranks, PROGRAM, *words.split(), limit=110, **{f"WINDROW_{k}": v for k, v in environment.items()})


@each(
    (0, "middle", {"THREADS": "1"}),
    (0, "together", {"PLANS": "0", "JIT": "off"}),
    (0, "fortran", {"JIT": "on"}),
    slow=(
        (0, "persist", {"PLANS": "0", "JIT": "on"}),
        (0, "persist", {}),
        (0, "middle", {}),
        (0, "together", {}),
        (0, "fortran", {}),
        (0, "", {"THREADS": "1"}),
        (0, "", {"JIT": "on"}),
        (0, "", {"PLANS": "0", "JIT": "off"}),
        (0, "", {"PLANS": "0", "JIT": "on"}),
    ),
)
def test_embedded(launch, reference, ranks, words, environment):
    compare(reference, launch, run(launch, ranks, words, environment))


ALL = "persist middle together"


@pytest.mark.ranks
@each(
    (1, "", {"JIT": "on"}),
    (2, "persist", {"PLANS": "0"}),
    (3, "", {"TRANSPORT": "get"}),
    (5, "", {"TRANSPORT": "service"}),
    (3, ALL, {"TRANSPORT": "map"}),
    (2, ALL, {"TRANSPORT": "get"}),
    (5, "persist kill", {"TRANSPORT": "map"}),
    (5, "persist kill", {"TRANSPORT": "service"}),
    slow=(
        (3, ALL, {"TRANSPORT": "service"}),
        *((ranks, "", {}) for ranks in (1, 2, 3, 5)),
        (3, "persist", {"PLANS": "0"}),
        (3, "", {"JIT": "on"}),
        (3, "", {"TRANSPORT": "map"}),
        (3, "", {"TRANSPORT": "service"}),
        (3, ALL, {"TRANSPORT": "get"}),
    ),
)
def test_ranks(launch, reference, ranks, words, environment, nothing_left):
    compare(reference, launch, run(launch, ranks, words, environment))
