"""Graphs of operations, stages and tasks: their edges are what is read, their states what the ledger says."""

from __future__ import annotations

import json
import threading
import time
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import windrow as wr
import windrow.graph.lowering.stage
from support.waiting import until

OPERATIONS = {
    "add": lambda x, y: x * 2 + y,
    "broadcast": lambda x, y: x + y[0],
    "transpose": lambda x, y: x.T,
    "own transpose": lambda x, y: (x @ x.T) if x.shape[0] < 5 else x.T + 1,
    "matmul": lambda x, y: x @ y.T,
    "rechunk": lambda x, y: x.rechunk((3, 2)),
    "slice": lambda x, y: x[1:, ::2],
    "take": lambda x, y: x[[0, -1]],
    "points": lambda x, y: x.vindex[[0, -1, 0], [0, -1, -1]],
    "sum": lambda x, y: x.sum(axis=0),
    "total": lambda x, y: x.max() + y,
    "reshape": lambda x, y: x.reshape(-1),
    "join": lambda x, y: wr.concatenate([x, y], axis=1),
    "roll": lambda x, y: wr.roll(x, 1, axis=0),
    "flip": lambda x, y: (x[::-1] - y).sum(axis=1),
    "function": lambda x, y: wr.map_blocks(np.negative, x + 1, dtype=float),
    "halo": lambda x, y: wr.map_overlap(lambda b: b + b.sum(), x, depth=1, boundary="none", dtype=float),
}


@pytest.fixture
def unfolded(monkeypatch):
    """Each block is a task."""
    monkeypatch.setattr(windrow.graph.lowering.stage, "FOLD_BYTES", 1)


def number(array, index):
    """The number of a block, in C order."""
    return int(np.ravel_multi_index(index, array.numblocks)) if index else 0


def place(array, block):
    """The slices of a block."""
    cuts = [np.cumsum([0, *sizes]) for sizes in array.chunks]
    return tuple(slice(c[i], c[i + 1]) for c, i in zip(cuts, block, strict=True))


def blocks(array):
    return np.ndindex(*array.numblocks)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_task_is_made_from_the_blocks_that_its_values_depend_on(unfolded, data):
    shape = data.draw(st.tuples(st.integers(2, 6), st.integers(2, 5)))
    chunks = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    function = OPERATIONS[data.draw(st.sampled_from(sorted(OPERATIONS)))]
    values = np.random.default_rng(0).random((2, *shape))

    def made(values):
        x, y = ((wr.from_array(v.copy(), chunks=chunks) * 1).persist() for v in values)
        return x, function(x, y)

    x, result = made(values)
    expected = result.compute()
    tasks = result.graph("tasks")
    top = result.expr.token
    for block in blocks(x):
        changed = values.copy()
        changed[0][place(x, block)] += 10
        other = made(changed)[1].compute()
        differs = {b for b in blocks(result) if not np.array_equal(expected[place(result, b)], other[place(result, b)])}
        name = (x.expr.token, number(x, block))
        reached = nx.descendants(tasks, name) | {name} if name in tasks else set()
        assert {tasks.nodes[t]["block"] for t in reached if t[0] == top} == differs


SOME = {
    "stages": lambda x: ((x - x.mean(axis=0)) / x.std(axis=0)).sum(),
    "one": lambda x: x + 1,
    "product": lambda x: (x @ x.T).max(axis=1),
    "small": lambda x: wr.arange(50_000, chunks=10).cumsum() + 1,
    "shared": lambda x: (x.T + x) * x.sum(),
    "function": lambda x: wr.map_blocks(np.sqrt, x).mean(),
}


@pytest.mark.parametrize("name", SOME)
def test_the_plan_is_what_runs_and_stays_as_lineage(name):
    with wr.Cluster(threads=2):
        x = wr.random.default_rng(0).random((1000, 1000), chunks=250)
        y = SOME[name](x)
        before = {level: y.graph(level) for level in ("stages", "tasks")}
        kept = y.persist()
        wr.wait(kept)
        after = {level: kept.graph(level) for level in ("stages", "tasks")}
        for level, graph in before.items():
            assert set(graph) == set(after[level])
            assert set(graph.edges) == set(after[level].edges)
            assert nx.is_directed_acyclic_graph(graph)
            assert graph.graph == {"arrays": (kept.expr.token,)}
        assert {d["state"] for _, d in before["tasks"].nodes(data=True)} == {"planned"}
        assert {tuple(d["states"]) for _, d in before["stages"].nodes(data=True)} == {("planned",)}
        for (token, _), task in after["tasks"].nodes(data=True):
            mine = token == kept.expr.token
            assert (task["state"], task["owner"], task["place"]) == (
                ("stored", 0, "arena") if mine else ("released", None, None)
            )
        stages = after["stages"].nodes
        assert stages[kept.expr.token]["owners"] == {0: kept.npartitions}
        assert [stage.name for stage in y.explain().stages] == []  # all of it is there
        assert sum(d["tasks"] for _, d in stages(data=True)) == len(after["tasks"])


@pytest.mark.parametrize("name", SOME)
def test_tasks_make_each_block_once(name):
    y = SOME[name](wr.random.default_rng(0).random((1000, 1000), chunks=250))
    stages, tasks = y.graph("stages"), y.graph("tasks")
    for token, stage in stages.nodes(data=True):
        mine = [tasks.nodes[n] for n in tasks if n[0] == token]
        assert sorted(b for task in mine for b in task["blocks"]) == list(range(np.prod(stage["chunks"], dtype=int)))
        assert sum(task["bytes"] for task in mine) == stage["bytes"]
        assert len(mine) == stage["tasks"] == sum(stage["states"].values())
        for task in mine:
            assert task["block"] == np.unravel_index(task["blocks"][0], stage["chunks"])
            assert (task["operations"], task["origin"]) == (stage["operations"], stage["origin"])
    for a, b in tasks.edges:
        assert stages.has_edge(a[0], b[0])
    plan = y.explain()
    assert plan.tasks == len(tasks)
    assert plan.bytes_held == sum(d["bytes"] for _, d in stages.nodes(data=True))


def test_edges_of_stages_bear_what_is_read():
    data = np.ones((100, 60))
    x = wr.from_array(data, chunks=20)
    stages = (x.T @ x).graph("stages")
    read, combined = (count for *_, count in stages.edges(data="bytes"))
    assert read == 2 * 3 * data.nbytes  # each operand's blocks are read for three rows or columns
    assert combined == [stages.nodes[n]["bytes"] for n in stages][1]
    square = x[:60]
    twice = (square.rechunk(30) + square.T).graph("stages")
    assert [count for *_, count in twice.edges(data="bytes")] == [2 * 60 * 60 * 8]


def test_only_what_has_part_is_there_and_history_goes_on_below_what_is_stored():
    with wr.Cluster(threads=1):
        x = wr.map_blocks(np.sqrt, wr.ones((8, 8), chunks=2))
        kept = x.persist()
        further = wr.map_blocks(np.square, kept).persist()
        wr.wait(kept, further)
        tasks = further.graph("tasks")
        (own,) = [t for t in tasks if tasks.nodes[t]["block"] == (2, 3) and t[0] == further.expr.token]
        assert nx.ancestors(tasks, own) == {(kept.expr.token, 11)}
        labels = [task["label"] for _, task in further.blocks[2, 3].graph("tasks").nodes(data=True)]
        assert labels == ["ones+map_blocks(sqrt) (2, 3)", "map_blocks(square) (2, 3)", "blocks"]
        kept.release()
        del kept
        assert {n: d["state"] for n, d in further.graph("tasks").nodes(data=True) if n[0] != own[0]} == {
            (x.expr.token, i): "released" for i in range(16)
        }


def test_states_while_it_runs(tmp_path):
    path = str(tmp_path / "open")

    def gated(block, block_id):
        import os

        while block_id[0] and not os.path.exists(path):
            time.sleep(0.01)
        return block

    with wr.Cluster(threads=1):
        y = wr.map_blocks(gated, wr.ones(4, chunks=1), dtype=float)
        kept = wr.map_blocks(np.negative, y).persist()
        try:
            for _ in range(500):
                states = [d["state"] for _, d in kept.graph("tasks").nodes(data=True)]
                if states[0] != "running" and states[1] == "running":
                    break
                threading.Event().wait(0.01)
            assert states[:2] == ["stored", "running"] or states[:2] == ["released", "running"]
            assert states[2:4] == ["ready", "ready"] or "running" in states[2:4]  # one is given ahead
            assert states[5:] == ["waiting"] * 3
            task = kept.graph("tasks").nodes[y.expr.token, 1]
            assert (task["owner"], task["place"]) == (0, None)
        finally:
            (tmp_path / "open").touch()
        wr.wait(kept)
        assert [d["state"] for _, d in kept.graph("tasks").nodes(data=True)] == ["released"] * 4 + ["stored"] * 4


def test_where_chunks_are(tmp_path):
    with wr.Cluster(threads=1, memory="4 MiB"):
        large = wr.random.default_rng(0).random((1000, 1000), chunks=100).persist()
        wr.wait(large)
        places = [d["place"] for _, d in large.graph("tasks").nodes(data=True)]
        assert set(places) == {"arena", "disk"}
        given_in = wr.from_array(np.ones(3), chunks=1).persist()
        wr.wait(given_in)
        assert [d["place"] for _, d in given_in.graph("tasks").nodes(data=True)] == ["user"]


def test_what_is_planned_later_is_one_task():
    x = wr.from_array(np.random.default_rng(0).random(100_000), chunks=10_000)
    y = wr.sort(x * 2) + 1
    tasks = y.graph("tasks")
    (later,) = [t for t in tasks if tasks.nodes[t]["label"].startswith("sort")]
    assert tasks.nodes[later]["blocks"] == range(10)
    assert tasks.nodes[later]["bytes"] == 800_000
    assert len(list(tasks.predecessors(later))) == len([t for t in tasks if tasks.nodes[t]["label"].startswith("mul")])
    assert all(n[0] == y.expr.token for n in tasks.successors(later))
    kept = y.persist()
    wr.wait(kept)
    done = kept.graph("tasks")
    assert nx.is_directed_acyclic_graph(done)
    assert {task["state"] for _, task in done.nodes(data=True)} == {"stored", "released"}
    unknown = x[x > 0.5].sum().graph("stages")
    assert len(unknown) >= 2


def test_too_many_tasks():
    x = wr.map_blocks(np.negative, wr.ones(300, chunks=1))
    assert len(x.graph("tasks", limit=300)) == 300
    with pytest.raises(wr.ArgumentError, match=r"'limit' is 299, and the stages have 300 tasks"):
        x.graph(level="tasks", limit=299)
    many = wr.map_blocks(np.negative, wr.ones(1 << 30, chunks=1))
    with pytest.raises(wr.ArgumentError, match=r"'limit' is 10000, and the stages have 1,073,741,824 tasks"):
        many.graph("tasks")
    for wrong in (0, 1.5, None):
        with pytest.raises(wr.ArgumentError, match="graph: argument 'limit' is"):
            x.graph("tasks", limit=wrong)
    with pytest.raises(wr.ArgumentError, match="graph: argument 'level' is 'chunks'"):
        x.graph("chunks")
    for function in (wr.task_graph, wr.stage_graph):
        with pytest.raises(wr.ArgumentError, match="argument 'arrays' is 3"):
            function(x, 3)


def test_what_one_chunk_is_made_from():
    x = wr.random.default_rng(0).random((1000, 1500), chunks=500).persist()
    y = (x[::-1] - x[:, :1]).persist()
    wr.wait(x, y)
    whole, part = y.graph("tasks"), y.graph("tasks", block=(1, 2))
    task = part.graph["task"]
    assert part.nodes[task]["block"] == (1, 2)
    assert set(part) == nx.ancestors(whole, task) | {task}
    assert nx.utils.graphs_equal(part, nx.DiGraph(whole.subgraph(part), arrays=whole.graph["arrays"], task=task))
    assert sorted(d["block"] for t, d in part.nodes(data=True) if t[0] == x.expr.token) == [(0, 2), (1, 0)]
    assert set(y.graph("tasks", block=(np.int64(-1), -1))) == set(part)
    assert len(y.graph("tasks", block=(1, 2), limit=len(part))) == len(part)
    with pytest.raises(wr.ArgumentError, match="'limit' is 2, and the stages have"):
        y.graph("tasks", block=(1, 2), limit=2)
    small = wr.arange(1000, chunks=10).persist()
    assert 70 in wr.task_graph(small, block=70).nodes[wr.task_graph(small, block=70).graph["task"]]["blocks"]
    later = wr.sort(wr.from_array(np.arange(100_000.0), chunks=10_000))
    assert list(wr.task_graph(later, block=3).nodes(data="blocks"))[-1][1] == range(10)
    assert len(wr.ones(()).graph("tasks", block=())) == 1


def test_no_such_chunk():
    x = wr.ones((4, 4), chunks=2)
    for wrong in (0, (0,), (0, 2), (-3, 0), (0, 1.0), (True, 0), [0, 0], "a"):
        with pytest.raises(wr.IndexingError, match=r"task_graph: argument 'block' is .* of \(2, 2\) along the axes"):
            x.graph("tasks", block=wrong)
    with pytest.raises(wr.ArgumentError, match=r"graph: argument 'block' is .*'operations'"):
        x.graph(block=(0, 0))
    with pytest.raises(wr.ArgumentError, match=r"'block' is .* 2 arrays"):
        wr.task_graph(x, x, block=(0, 0))
    with pytest.raises(wr.ArgumentError, match=r"'limit' is 10000, and the stages have 1,073,741,824 tasks"):
        wr.map_blocks(np.negative, wr.ones(1 << 30, chunks=1)).graph("tasks", block=5)


def test_several_arrays_share_what_they_have_in_common():
    x = wr.random.default_rng(0).random((1000, 1000), chunks=500)
    a, b = x.sum(), x.T.max(axis=0)
    both = wr.task_graph(a, b)
    assert both.graph["arrays"] == (a.expr.token, b.expr.token)
    assert len([t for t in both if both.nodes[t]["label"].startswith("random (")]) == 4
    inner = wr.task_graph(x, x + 1)
    assert len([t for t in inner if t[0] == x.expr.token]) == 4


def test_no_program_makes_a_cycle():
    x = wr.arange(24.0, chunks=5)
    y = x
    x[3:] = x[:-3]
    x += x
    x[x > 5] = x.mean()
    wr.add(x, y, out=x)
    np.sqrt(x, out=y)
    x[0] = y[-1] + x.sum()
    for level in ("operations", "stages", "tasks"):
        assert nx.is_directed_acyclic_graph(x.graph(level)), level
    assert np.isfinite(x.compute()).all()


def test_a_long_history():
    with wr.Cluster(threads=1):
        x = wr.ones(1000, chunks=500)
        for _ in range(200):
            x = (x * 1.5 + 1).persist()
        wr.wait(x)
        stages = x.graph("stages")
        path = nx.dag_longest_path(stages)
        assert len(path) == 200
        assert all(stages.has_edge(a, b) for a, b in pairwise(path))
        assert len(x.graph("tasks")) == 200
        for _ in range(100):
            x = (x * 1.5 + 1).persist()
        wr.wait(x)
        kept = 1 + 300 - 256 + 1  # the copy, what was copied, and what came after it
        # The copy is made behind what else is computed.
        until(lambda: len(x.graph("tasks")) == kept, lambda: len(x.graph("tasks")))
        assert len(nx.dag_longest_path(x.graph("stages"))) == kept


PROGRAM = """
import json

import networkx as nx
import numpy as np
import windrow as wr
from support.ranks import await_losses, kill_a_rank
from support.waiting import until

x = wr.random.default_rng(0).normal(size=(1200, 800), chunks=(100, 200))
kept = x.persist()
y = wr.map_blocks(np.sort, kept.rechunk((200, 200)), dtype=float).persist()
wr.wait(kept, y)

def look():
    tasks = y.graph("tasks")
    mine = {t[1]: tasks.nodes[t]["owner"] for t in tasks if t[0] == y.expr.token}
    owners = y.owners().ravel().tolist()
    assert [mine[i] for i in range(24)] == owners, (mine, owners)
    stages = y.graph("stages").nodes
    for array in (kept, y):
        counts = np.bincount(array.owners().ravel(), minlength=3).tolist()
        assert stages[array.expr.token]["owners"] == {r: n for r, n in enumerate(counts) if n}
    chunk = (y.expr.token, 5)
    above = [(tasks.nodes[t]["block"], tasks.nodes[t]["owner"], tasks.nodes[t]["state"]) for t in
        nx.ancestors(tasks, chunk) if t[0] == kept.expr.token]
    return owners[5], sorted(above), kept.owners().tolist()

before = look()
victim = before[0] or 2
kill_a_rank(lambda rows: rows[victim - 1])
await_losses()
wr.wait(kept, y)
until(lambda: not (-1 in y.owners() or -1 in kept.owners()), "all chunks are there")
print(json.dumps([victim, before, look()]))
"""


@pytest.mark.ranks
def test_lineage_of_a_chunk_on_ranks_and_after_a_kill(launch):
    ended = launch(3, "-c", PROGRAM)
    assert ended.status == 0, ended.err[-2000:]
    victim, before, after = json.loads(ended.last)
    for owner, above, owners in (before, after):
        assert owner in (0, 1, 2)
        assert [block for block, *_ in above] == [[2, 1], [3, 1]]  # chunk 5 is (1, 1), of two rows of chunks
        assert [[rank, state] for _, rank, state in above] == [[owners[i][1], "stored"] for i in (2, 3)]
    assert victim not in {after[0], *np.ravel(after[2]).tolist()}
