"""Plans by structure: what is filled in is what lowering would give, and nothing of the turn before is left in it."""

from __future__ import annotations

import pickle
from dataclasses import fields

import numpy as np
import pytest

import windrow as wr
from windrow.graph.lowering import plan_cache
from windrow.graph.lowering.lower import lower
from windrow.graph.lowering.plan_cache import PlanCache
from windrow.graph.lowering.stage import Stage, relations

STEPS = {
    "elementwise": lambda x, k: x * k + 1,
    "scalars of both sides": lambda x, k: k - x / (k + 2) + np.float32(k),
    "reduction": lambda x, k: (x - k).sum(axis=0) + (x * x).max(),
    "product": lambda x, k: x @ x.T * k,
    "moves": lambda x, k: wr.roll(x, 1, axis=0)[::2] + wr.pad(x, 1)[1:-1, 1:-1][::2] * k,
    "shared": lambda x, k: (lambda y: y + y.T)((x * k)[:6, :6]),
    "source": lambda x, k: x + wr.arange(x.shape[1], chunks=5) * k + wr.ones(x.shape, chunks=4),
    "set": lambda x, k: _set(x, k),
    "many": lambda x, k: wr.concatenate([x * (k + i) for i in range(70)], axis=0),
}


def _set(x, k):
    y = x.copy()
    y[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1]) + k
    for i in range(4):
        y[i, i] = k
    return y


def array(seed, shape=(12, 10)):
    return wr.from_array(np.random.default_rng(seed).normal(size=shape), chunks=5)


def nothing(token):
    return False


def look(stages):
    """Return what stages are, under names by order: those that lowering makes up differ from prepared ones."""
    names = {}
    for stage in stages:
        for token in (*stage.inputs, stage.token):
            names.setdefault(token, len(names))
    found = []
    for stage in stages:
        each = {field.name: getattr(stage, field.name) for field in fields(Stage)}
        found.append(each | {"token": names[stage.token], "inputs": tuple(names[t] for t in stage.inputs)})
    return found


@pytest.mark.parametrize("step", STEPS)
def test_a_prepared_plan_is_what_lowering_gives(step):
    prepared = PlanCache()
    for turn in range(4):
        root = STEPS[step](array(turn), 1.5 * turn).expr
        want = lower([root], nothing)
        stages = prepared.lower([root], nothing, 8)
        assert len(prepared) == (turn > 0)
        assert repr(look(stages)) == repr(look(want))
        assert [s.blocks_per_task for s in stages] == [s.blocks_per_task for s in want]
        assert [s.data for s in stages] == [s.data for s in want]
        assert stages[-1].token == root.token
        for one, other in zip(relations(stages, {}).values(), relations(want, {}).values(), strict=True):
            assert one[0] == other[0]
            for mine, theirs in zip(one[1], other[1], strict=True):
                np.testing.assert_array_equal(mine.start, theirs.start)
                np.testing.assert_array_equal(mine.items, theirs.items)


def test_names_that_are_made_up_are_apart_where_contents_are():
    prepared, names = PlanCache(), []
    for turn in range(4):
        x = array(turn)
        names += [s.token for s in prepared.lower([x.sum().expr, x.max().expr], nothing, 8)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x + 1.0,
        lambda x: x + True,
        lambda x: x + np.int8(1),
        lambda x: 1 + x,
        lambda x: x - 1,
        lambda x: x.rechunk(4) + 1,
        lambda x: x + x,
    ],
)
def test_what_differs_is_another_structure(change):
    prepared = PlanCache()
    for turn in range(3):
        prepared.lower([(array(turn).astype("f4") + 1).expr], nothing, 8)
    assert len(prepared) == 1
    root = change(array(9).astype("f4")).expr
    assert repr(look(prepared.lower([root], nothing, 8))) == repr(look(lower([root], nothing)))
    assert len(prepared) == 1


def test_what_is_stored_counts():
    prepared = PlanCache()
    for turn in range(3):
        x = array(turn)
        inner = x * 2
        prepared.lower([(inner + 1).expr], nothing, 8)
        (stage,) = prepared.lower([(inner + 1).expr], lambda token, mine=inner.expr.token: token == mine, 8)
        assert stage.inputs == (inner.expr.token,)


def test_users_functions_and_large_graphs_are_lowered_each_time():
    prepared = PlanCache()
    for turn in range(3):
        prepared.lower([wr.map_blocks(np.negative, array(turn)).expr], nothing, 8)
        long = array(turn)
        for _ in range(600):
            long = long + 1
        prepared.lower([long.expr], nothing, 8)
        fine = wr.arange(5000 * 40_000, chunks=40_000) + turn
        prepared.lower([fine.expr], nothing, 8)
    assert len(prepared) == 0


def test_what_cannot_be_kept_is_tried_once(monkeypatch):
    tries = []
    monkeypatch.setattr(plan_cache, "dump", lambda *content: tries.append(content) or b"0" * (1 << 21))
    prepared = PlanCache()
    for turn in range(4):
        prepared.lower([(array(turn) + turn).expr], nothing, 8)
    assert (len(tries), len(prepared)) == (1, 0)


def test_a_stage_that_is_written_in_several_passes_has_come_once(monkeypatch):
    def lower_twice(*arguments):
        lower(*arguments)
        return lower(*arguments)

    monkeypatch.setattr(plan_cache, "_stages", PlanCache())
    monkeypatch.setattr(plan_cache, "lower", lower_twice)
    kept = []
    for turn in range(3):
        x = array(turn)
        PlanCache().lower([wr.map_blocks(np.negative, x).expr, (x + turn).expr], nothing, 8)
        kept.append(len(plan_cache._stages))
    assert kept[0] == 0 < kept[1] == kept[2]


def test_only_the_last_are_remembered():
    prepared = PlanCache()
    for width in range(2, 12):
        for turn in range(2):
            prepared.lower([(array(turn, (3, width)) + 1).expr], nothing, 4)
    assert len(prepared) == 4
    off = PlanCache()
    for turn in range(3):
        off.lower([(array(turn) + 1).expr], nothing, 0)
    assert len(off) == 0


@pytest.mark.parametrize("plans", [0, 256])
def test_loops_give_the_same_with_and_without(plans):
    with wr.Cluster(threads=2, memory="64 MiB"), wr.config.set(plans=plans):
        for step, function in STEPS.items():
            for turn in range(4):
                x, k = array(turn), [2, 2.5, 0.0, -0.0][turn]
                given = np.asarray(x.compute())
                want = _reference(step, given, k)
                np.testing.assert_allclose(function(x, k).compute(), want, rtol=1e-12, atol=1e-12)
                kept = function(x, k).persist()
                np.testing.assert_allclose((kept + 0).compute(), want, rtol=1e-12, atol=1e-12)


def _reference(step, x, k):
    if step == "set":
        return _set(x, k)
    if step == "moves":
        return np.roll(x, 1, axis=0)[::2] + x[::2] * k
    if step == "source":
        return x + np.arange(x.shape[1]) * k + 1
    if step == "many":
        return np.concatenate([x * (k + i) for i in range(70)], axis=0)
    return STEPS[step](x, k)


def test_a_stage_travels_without_what_follows_from_it():
    (stage,) = lower([(wr.arange(10**6, chunks=10) + 1).expr], nothing)
    stage.learn()
    made = pickle.loads(pickle.dumps(stage))
    assert "all_slab_bytes" in vars(stage)
    assert vars(made).keys() == {field.name for field in fields(Stage)}
    assert (made.token, made.ntasks) == (stage.token, stage.ntasks)
