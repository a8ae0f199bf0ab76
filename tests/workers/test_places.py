"""Where a program's values lie: elements set in place where nobody reads what was there, memory used again."""

from __future__ import annotations

import numpy as np

import windrow as wr
from windrow.graph.lowering.lower import lower
from windrow.workers.direct import stand_for
from windrow.workers.direct.places import in_order, plan_memory
from windrow.workers.direct.splitting import split


def plan(function, *arrays):
    """Return where the values of a function lie, and the numbers of its results."""
    roots = [root.expr for root in function(*map(wr.array, arrays))]
    lowered = [stage for stage in lower(roots, lambda token: False) if stage.data is None]
    stages = in_order([part for stage in lowered for part in split(stage)])
    made = {stage.token for stage in stages}
    outside = {
        token: (grid, stage.dtype)
        for stage in stages
        for token, grid in zip(stage.inputs, stage.input_grids, strict=True)
        if token not in made
    }
    stands = [stand_for(token, grid, dtype) for token, (grid, dtype) in outside.items()]
    return plan_memory(stands, stages, [root.token for root in roots]), len(stands)


X = np.random.default_rng(0).random((6, 8))


def test_elements_are_computed_where_they_are_set():
    def function(y, z):
        for _ in range(4):
            y[1:-1] = z[:-2] - z[2:]
            z[1:-1] = y[:-2] * y[2:]
        return [y, z]

    memory, _ = plan(function, np.arange(10.0), np.ones(10))
    assert [step.puts for step in memory.steps] == [None] * len(memory.steps)
    inside = [step.place for step in memory.steps if step.place.offset]
    assert [(place.shape, place.offset) for place in inside] == [
        ((8,), 8)
    ] * 6  # the first ones copy what is the caller's
    assert len({place.slot for place in inside}) == 2


def test_what_is_read_later_stays():
    def function(x):
        y = x * 2
        z = y + 1
        y[0] = 5
        return [y, z, (z * x).sum()]

    memory, ninputs = plan(function, X)
    slots = {place.slot for place in memory.places[ninputs:] if place.shape == X.shape}
    assert len(slots) == 2  # y is set in place once z is made
    assert memory.steps[-1].puts is not None or memory.steps[-1].stage.program.level is not None


def test_memory_is_used_again():
    def function(x):
        y = x
        for _ in range(50):
            y = (y.T @ y)[:, :8] + 1
        return [y]

    memory, ninputs = plan(function, X[:, :6].copy() @ X[:, :6].T)
    assert len(memory.steps) >= 100
    assert len(memory.sizes) - ninputs <= 4


def test_reshaped_arrays_lie_where_they_were_but_not_results_in_inputs():
    def function(x):
        y = x.sum(axis=0)
        return [y.reshape(2, 4) * 2, y.reshape(4, 2)]

    memory, _ = plan(function, X)
    places = [place for place in memory.places if place.shape == (4, 2)]
    whole = [place for place in memory.places if place.shape == (8,)]
    assert {place.slot for place in places} == {place.slot for place in whole}
