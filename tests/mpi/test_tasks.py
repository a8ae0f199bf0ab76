"""Tasks on real ranks: where they run, what stays there, cancelling; kills."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
pytestmark = pytest.mark.ranks


def test_tasks_on_ranks(launch, nothing_left):
    ended = launch(4, str(PROGRAMS / "tasks.py"))
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert len(found["pids"]) > 1
    assert found["others"]
    assert found["sum"] == 499_999_500_000
    assert (found["large"], found["array"], found["host"]) == (1_000_000, 999_000, 9.0)
    assert found["threads"] == [k * k for k in range(50)]
    assert (found["ended"], found["program"], found["losses"]) == (True, True, 0)
    assert (found["asleep"], found["left"]) == (True, [0, 32]), "what stays in compiled code is left to its thread"
    assert found["after Ctrl-C"] == [32, 0], "calls end that nobody holds any more"
    assert "ranks died" in found["deadly"] or "rank died" in found["deadly"]
    assert found["unpicklable"].startswith("allocate_lock-"), found["unpicklable"]
    assert "can't be pickled, so it can't leave rank" in found["unpicklable"]
    assert found["lent"] == [True, 1_999_999_000_007.0, "1970-01-01T00:00:05", "x"]
    assert found["lent memory"] == 0, "who has mapped it says so"
    assert found["one object"], "threads that ask at once get the same"
    assert found["kept"] > 0
    assert found["again"] == [2.0] * 6, "what was scattered is there for lineage"
    assert found["dropped"] == 0, "copies go, too"
    assert found["still"] == [0, 1, 4, 9, 16]


def check_kill(ended) -> None:
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert all(found["right"]), found
    assert found["losses"] == 1


@pytest.mark.parametrize("transport", ["auto", "service"])
def test_a_kill_at_a_random_moment(launch, nothing_left, transport):
    check_kill(launch(4, str(PROGRAMS / "task_deaths.py"), "1", WINDROW_TRANSPORT=transport))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_kills_at_random_moments(launch, nothing_left, seed):
    transport = "service" if seed % 2 else "auto"
    check_kill(launch(4, str(PROGRAMS / "task_deaths.py"), str(seed + 2), WINDROW_TRANSPORT=transport))


def test_lazy_arrays_are_returned_as_in_one_process(launch, nothing_left):
    pytest.importorskip("dask")
    found = []
    for ranks in (0, 3):
        ended = launch(ranks, str(PROGRAMS / "lazy_results.py"))
        assert ended.status == 0, ended.err[-3000:]
        found.append(json.loads(ended.last))
    (here, alone), (there, refused) = found
    assert there == here
    assert here["ones"] == ["Array", [1.0] * 3]
    assert here["together"] == ["Array", [6.0 * (2 * k + 1) for k in range(7)]]
    assert here["deep"] == ["Array", [3000.0] * 3]
    assert (here["dask"][1], here["dask's list"][0], here["an object"][0]) == (45, "ndarray", "ndarray")
    assert alone == ["Array", [3, 4]]
    assert refused[0] == "WindrowError"
    assert "known to one" in refused[1]


@pytest.mark.parametrize("spawned", [False, True])
def test_what_tasks_find_on_ranks(launch, nothing_left, spawned):
    dask = ["dask"] if importlib.util.find_spec("dask") else []
    words = [str(PROGRAMS / "surroundings.py"), "a", "-b", *dask]
    ended = launch(0, "-m", "windrow", "-n", "3", *words) if spawned else launch(3, *words)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert found["own"] == words
    assert found["argv"] == [words] * 6
    assert (found["drawn"], found["lazy"]) == (27, 9)
    assert not dask or (found["dask"], found["dask apart"]) == (18, 18)
    plain, kept = found["causes"]
    assert plain == ["RuntimeError", "KeyError('a')", "KeyError('a')"]
    assert kept == ["RuntimeError", "WindrowError('Kept: why')", "KeyError('a')"]
    assert [text.partition(" is of another cluster")[1] != "" for text in found["refused"]] == [True, True]
    assert found["sum"] == 4_999_950_000


@pytest.mark.parametrize("ranks", [2, 3])
def test_tasks_submit_tasks(launch, nothing_left, ranks):
    ended = launch(ranks, str(PROGRAMS / "nested.py"), WINDROW_THREADS="1")
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert (found["fibonacci"], found["sorted"], found["deep"], found["thousand"]) == (144, True, 300, 500_500)
    ways = found["ways"]
    assert ways.pop("pids") >= ranks - 1
    assert ways == {
        "error": "ZeroDivisionError('integer division or modulo by zero')",
        "large": [1e5, 1e5],
        "own array": 4_999_950_000,
        "scattered": 4_999_950_000,
        "executed": [1, 2, 3],
        "awaited": [1, 2],
        "waited for": [1, 2, 3],
        "completed": [1, 2, 3],
        "chained": 3,
        "called": [2],
        "lazy": 7,
        "program": "words",
    }
    assert found["cancelled"] == [True, True, None]
    assert found["ended"]
    assert "ZeroDivisionError" in found["error"]
    assert re.search(r"in task divmod-[1-9]\.\d+ on rank", found["error"])
    assert "in task failing-" in found["error"]
    assert "a future can't be pickled" in found["leaked"]
    assert "can't compute arrays itself" in found["array"]
    assert found["left"] == [0] * (ranks + 1), "no record, no core"
    assert found["still"] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("seed", [1, *(pytest.param(k, marks=pytest.mark.slow) for k in range(2, 22))])
def test_a_kill_amid_tasks_that_submit_tasks(launch, nothing_left, seed):
    ended = launch(4, str(PROGRAMS / "nested_deaths.py"), str(seed), *["deadly"] * (seed == 1))
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert all(found["right"]), found
    assert found["losses"] == 1
    assert not any(found["left"]), "no record, no core"
    assert seed > 1 or re.search("ranks? died", found["told"]), "who submits what ends ranks is given up as well"
