"""What must run one after the other: the longest path through the stages, by bytes and by seconds."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.arrays.display.directed import find_depths, find_longest_path, sort_inputs_first


def paths(inputs, name):
    """All chains that end at a name."""
    yield [name]
    for each in inputs[name]:
        for path in paths(inputs, each):
            yield [*path, name]


@given(st.data())
def test_paths_and_layers_against_all_chains(data):
    names = [f"n{i}" for i in range(data.draw(st.integers(1, 8)))]
    inputs = {n: data.draw(st.lists(st.sampled_from(names[:i]), max_size=3)) if i else [] for i, n in enumerate(names)}
    weights = {n: data.draw(st.integers(0, 50)) for n in names}
    chains = [path for name in names for path in paths(inputs, name)]
    found = find_longest_path(weights, inputs)
    assert found in chains
    assert sum(weights[n] for n in found) == max(sum(weights[n] for n in path) for path in chains)
    shuffled = data.draw(st.permutations(names))
    assert find_depths(shuffled, inputs) == {n: max(map(len, paths(inputs, n))) - 1 for n in names}
    order = sort_inputs_first(shuffled, inputs)
    assert sorted(order) == sorted(names)
    assert all(order.index(each) < order.index(name) for name in names for each in inputs[name])


def slow(block):
    time.sleep(0.5)
    return block.mean(keepdims=True)


def test_plans_tell_the_longest_chain_by_bytes_and_after_a_run_by_seconds():
    with wr.Cluster(threads=1):
        x = wr.random.default_rng(0).random((2000, 2000), chunks=1000)
        small = wr.random.default_rng(1).random(4, chunks=2)
        wide = (x @ x).sum()
        late = wr.map_blocks(slow, small, chunks=((1, 1),), dtype=float).sum()
        y = wide + late
        plan = y.explain()
        assert [s.name for s in plan.critical_path.stages][:3] == ["random", "matmul: rechunk", "matmul+sum (partial)"]
        assert plan.critical_path.bytes == sum(s.task_bytes for s in plan.critical_path.stages)
        assert plan.critical_path.bytes > 2 * 8_000_000  # a block, a part of it, two rows of parts that are read
        assert (plan.critical_path.seconds, plan.measured_path) == (None, None)
        (line,) = [line for line in str(plan).splitlines() if "critical path" in line]
        assert line.startswith("critical path: random → matmul: rechunk → ")
        assert " s when they last ran" not in line
        wr.compute(wide)
        assert y.explain().measured_path is None, "some have not run"
        y.compute()
        y.compute()
        measured = y.explain().measured_path
        assert any("map_blocks(slow)" in s.name for s in measured.stages)
        assert measured.seconds == sum(s.task_seconds for s in measured.stages) >= 0.5
        text = str(y.explain())
        assert "critical path by bytes: random → matmul: rechunk → " in text
        assert "critical path by seconds: " in text
        assert "critical path by seconds" in y.explain()._repr_html_()
        kept = y.persist()
        wr.wait(kept)
        assert kept.explain().critical_path.stages == ()


def test_one_stage_is_no_chain():
    plan = (wr.ones(3) + 1).explain()
    assert [s.name for s in plan.critical_path.stages] == ["ones+add"]
    assert "critical path" not in str(plan)
    empty = wr.from_array(np.ones(3)).explain()
    assert (empty.critical_path.stages, empty.critical_path.bytes, empty.measured_path) == ((), 0, None)


def test_what_is_said_of_many_stages_is_said_once():
    x = wr.random.default_rng(0).random((4000, 300), chunks=(500, 300))
    assert "(in 1 stages)" not in str((x - x.mean(0)).explain())
    for _ in range(4):
        x = x - x.mean(0)
    plan = x.explain()
    assert sum(bool(stage.interpreted) for stage in plan.stages) == 4
    assert [line for line in plan.remarks if "NumPy's loops" in line] == [
        "mean (partial): NumPy's loops for mean (along some axes) (in 4 stages)"
    ]
    assert plan._repr_html_().count("loops for mean") == 1


@pytest.mark.ranks
def test_seconds_on_ranks(launch):
    code = (
        "import windrow as wr; y = wr.random.default_rng(0).random((900, 900), chunks=300).std(axis=0); "
        "a = y.explain().measured_path; y.compute(); b = y.explain().measured_path; print(a, b.seconds > 0)"
    )
    ended = launch(3, "-c", code)
    assert ended.last == "None True", ended.err[-2000:]
