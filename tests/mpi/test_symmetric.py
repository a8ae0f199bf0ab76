"""Arrays that all ranks read and write, on real ranks: exact counts, by each way, and what a kill leaves of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
pytestmark = pytest.mark.ranks
KINDS = ["program", "blocks", "driver"]


@pytest.mark.parametrize(("ranks", "transport"), [(1, "auto"), (2, "auto"), (3, "auto"), (3, "service")])
def test_nothing_is_lost_among_ranks(launch, nothing_left, ranks, transport):
    ended = launch(ranks, str(PROGRAMS / "symmetric_arrays.py"), WINDROW_TRANSPORT=transport)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    size = found["size"]
    if ranks > 1:
        assert size == ranks
    assert (found["counts"], found["weights"], found["after"]) == (True, True, True)
    assert found["numbers"] == 50 * size, "no two have got the same"
    assert found["owned"] == 1000
    each = -(-1000 // size)
    total, last = [size * (size + 1) / 2] * 5, [size - 1] * 5
    assert found["copies"] == [[total, last, [k * each, min((k + 1) * each, 1000)]] for k in range(size)]
    assert found["driver"] == [9] * size
    kept = 8 * 1000
    assert found["shared"] == 8 * 1000 + kept + 8 * 100 + 4 * 1000 + (1 if ranks == 1 else size) * 5 * 8
    assert found["left"] == 0
    assert found["held"] == [[0, 0]] * size, "memory is given back"


def check(launch, seed, kind, *signal, **more):
    ended = launch(3, str(PROGRAMS / "symmetric_deaths.py"), str(seed), kind, *signal, **more)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert not found["wrong"], found
    assert found["alike"]
    assert (found["size"], found["slices"]) == (2, [[0, 1500], [1500, 3000]])
    lost, *back = found["losses"]
    assert "was lost" in lost
    assert [text.split(" of shape ")[0] for text in back] == ["the symmetric array", "the replicated array"]
    assert all("symmetric_deaths.py" in text and "is back at what sync() number" in text for text in back)
    assert all(text in ended.err for text in back)
    if kind == "program":
        assert not any(text.startswith("the ") for text in found["told"]), "it runs again from what was kept"


@pytest.mark.parametrize("kind", KINDS)
def test_a_death_takes_it_back_to_what_was_kept(launch, nothing_left, kind):
    check(launch, 1, kind)


def test_a_death_where_memory_is_not_mapped(launch, nothing_left):
    check(launch, 2, "blocks", WINDROW_TRANSPORT="service")


@pytest.mark.parametrize("transport", ["auto", "service"])
def test_a_program_that_runs_again_is_undone(launch, nothing_left, transport):
    ended = launch(3, str(PROGRAMS / "symmetric_anew.py"), WINDROW_TRANSPORT=transport)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    members = 3
    assert found["clean"] == [[1 + members], True], "what the first try has done doesn't count"
    assert "is back at what sync() number 1 has kept, since" in found["told"]
    assert "came to nothing and runs again" in found["told"]
    assert "is back at" in found["again"]
    assert found["unclean"] == [1]
    assert found["losses"] == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
def test_twenty_kills(launch, nothing_left, kind):
    for seed in range(100, 120):
        check(launch, seed, kind, **({"WINDROW_TRANSPORT": "service"} if seed % 4 == 3 else {}))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", KINDS)
def test_a_stopped_rank(launch, nothing_left, kind):
    for seed in range(200, 203):
        check(launch, seed, kind, "SIGSTOP", WINDROW_HEARTBEAT="1.5")
