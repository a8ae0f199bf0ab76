"""Stages of a graph that are alike share what is known of them; what recurs is the same object wherever it is used."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.expr.interned import same_grid
from windrow.graph.lowering.lower import lower
from windrow.graph.lowering.plan_cache import NODES, PlanCache, recall_stage


def nothing(token):
    return False


def plan(x):
    return PlanCache().lower([x.expr], nothing, 8)


def plan_by_stages(x):
    return lower([x.expr], nothing, write=recall_stage)[-1]


def stencil(u):
    v = u.copy()
    v[1:-1] = 0.5 * (u[:-2] + u[2:])
    return v


def test_turns_of_a_long_loop_are_the_same_programs():
    u = wr.from_array(np.random.default_rng(1).normal(size=40), chunks=20)
    for _ in range(NODES // 4):
        u = stencil(u)
    stages = plan(u)
    assert len({id(stage.program) for stage in stages}) < 10 < len(stages)
    assert len({id(stage.program.form) for stage in stages}) < 10
    assert len({stage.token for stage in stages}) == len(stages)
    alone = lower([u.expr], nothing)
    assert [(s.token, s.inputs, s.name, s.origin) for s in stages] == [
        (s.token, s.inputs, s.name, s.origin) for s in alone
    ]


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1, 1.0), (np.float32(1), np.float64(1)), (True, 1)])
def test_numbers_of_other_bits_are_other_programs(one, other):
    x = wr.from_array(np.arange(10.0), chunks=5)
    _, *shared = [plan_by_stages(x * k) for k in (one, one, other, one)]
    assert shared[0].program is not shared[1].program
    assert shared[2].program is shared[0].program


def test_users_functions_and_draws_share_nothing():
    for make in (
        lambda x: wr.map_blocks(np.sin, x, dtype=float),
        lambda x: x + wr.random.default_rng(3).normal(size=10),
    ):
        stages = [plan_by_stages(make(wr.from_array(np.arange(10.0), chunks=5))) for _ in range(4)]
        assert len({id(stage.program.form) for stage in stages}) == 4


def test_turns_with_other_numbers_share_what_follows_from_grids():
    u, x = wr.from_array(np.arange(40.0), chunks=20), np.arange(40.0)
    for turn in range(NODES // 4):
        for a in (u, x):
            a[1:-1] = (turn + 1) / NODES * (a[:-2] + a[2:])
    stages = plan(u)
    assert len({id(stage.program.form) for stage in stages}) < 10 < len(stages)
    assert len({id(stage.program) for stage in stages}) == len(stages)
    np.testing.assert_array_equal(u.compute(), x)


def test_long_loops_are_numpys():
    rng = np.random.default_rng(2)
    start = rng.normal(size=(30, 20))
    for chunks in (30, (7, 20), 9):
        u, x = wr.from_array(start, chunks=chunks), start.copy()
        for turn in range(60):
            v, y = u.copy(), x.copy()
            v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) - (turn % 3)
            y[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) - (turn % 3)
            v[:, 0], y[:, 0] = v[:, 1], y[:, 1]
            v[-1] = y[-1] = turn
            u, x = v, y
        np.testing.assert_array_equal(u.compute(), x)


def test_a_place_that_is_set_again_is_set_once():
    u, x = wr.zeros((6, 5), chunks=3), np.zeros((6, 5))
    for turn in range(50):
        for a in (u, x):
            a[1:-1, 1:-1] = turn
            a[0, :] = a[1, :] + turn
            a[:, -1] = 2 * turn
    assert len(u.expr.op.routes) == 4
    np.testing.assert_array_equal(u.compute(), x)


def test_grids_that_remember_what_was_chosen_stay_their_own():
    plain, marked = Axis.regular(20, 5), Axis.regular(20, 5).with_chosen(9)
    first = same_grid(Grid([plain]))
    assert same_grid(Grid([Axis.regular(20, 5)])) is first
    assert same_grid(Grid([marked])).axes[0].chosen == 9
    assert same_grid(Grid([Axis.regular(20, 5)])).axes[0].chosen == 5


def test_keys_that_are_equal_to_others_are_read_as_they_are():
    x, a = np.arange(6.0).reshape(2, 3), wr.from_array(np.arange(6.0).reshape(2, 3), chunks=2)
    for key in (1, True, np.True_, np.int64(1), (1, slice(None)), slice(1, None), slice(np.int64(1), None), None, ...):
        for _ in range(2):
            np.testing.assert_array_equal(a[key].compute(), x[key])
    for key in (1.0, "1", slice(1.0, None)):
        with pytest.raises(IndexError):
            a[key]
