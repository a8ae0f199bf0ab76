"""Where a program's values lie: elements set in place where nobody reads what was there, memory used again."""

from __future__ import annotations

import numpy as np

import windrow as wr
from windrow.graph.lowering.lower import lower
from windrow.workers.direct import stand_for
from windrow.workers.direct.places import plan_memory
from windrow.workers.direct.splitting import split
from windrow.workers.direct.writes import find_writes, in_order


def plan(function, *arrays):
    """Return where the values of a function of arrays at hand lie, and how many inputs there are."""
    lazy = [wr.array(array) for array in arrays]
    inputs = [array.expr for array in lazy]
    roots = [root.expr for root in function(*lazy)]
    stages = lower(roots, {e.token for e in inputs}.__contains__)
    stages = [part for stage in stages for part in split(stage)]
    writes = find_writes(stages)
    stages = in_order(stages, writes)
    stands = [stand_for(e.token, e.grid, e.dtype) for e in inputs]
    return plan_memory(stands, stages, [root.token for root in roots], writes), len(stands)


X = np.random.default_rng(0).random((6, 8))


def test_elements_are_set_in_place():
    def function(y, z):
        for i in range(0, 80, 2):
            y[i : i + 2] = z[i : i + 2] * y.sum()
        return [y]

    memory, ninputs = plan(function, *np.ones((2, 80, 3)))
    changed = [step for step in memory.steps if step.puts is not None]
    assert changed  # what the graph can't see through: sixteen parts at a time
    whole = {place.slot for place in memory.places[ninputs:] if place.shape == (80, 3)}
    assert len(whole) == 1  # a copy of the caller's, in which all are set
    assert {step.place.slot for step in changed} == whole


def test_what_is_read_later_stays():
    def function(x):
        y = x * 2
        z = y + 1
        y[0] = 5
        return [y, z, (z * x).sum()]

    memory, ninputs = plan(function, X)
    slots = {place.slot for place in memory.places[ninputs:] if place.shape == X.shape}
    assert len(slots) == 2  # y is set in place once z is made
    assert any(step.puts is not None for step in memory.steps)


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
