"""Traced functions that make NumPy arrays of their own: these are lazy, and nothing else changes."""

from __future__ import annotations

import numpy as np
import numpy as xp
import pytest
from numpy import zeros

import windrow as wr
from windrow.arrays.loops.own_arrays import with_own_arrays
from windrow.arrays.loops.tracing import NeedsValues

X = np.random.default_rng(2).random((6, 5))
count = 0
scale = 2


def same(lazy, expected):
    assert isinstance(lazy, wr.Array)
    assert lazy.dtype == expected.dtype
    np.testing.assert_allclose(np.asarray(lazy), expected, rtol=1e-14)


def halves(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = helper(x[i], i)
    return y


def helper(row, i):
    z = xp.empty(len(row), row.dtype)
    z[:] = row / 2
    z[0] = i
    return z


def in_columns(x):
    table = zeros((len(x), 3), np.float32)
    table[:, 1] = x.mean(axis=1)
    return table, np.arange(3) + x[0, 0], np.eye(2), np.float32(2)


def in_a_method():
    class Model:
        weights = np.arange(5.0)

        def apply(self, x):
            out = np.ones((2, 5))
            out[1] = x[0] * self.weights
            return out

    return Model()


def test_arrays_that_a_function_and_its_helpers_make_are_lazy():
    traced = wr.jit(halves)
    for factor in (1, 3):
        same(traced(wr.array(X * factor)), halves(X * factor))
    assert traced.traces == 1


def test_functions_of_numpys_under_other_names():
    table, numbers, eye, scalar = wr.jit(in_columns)(wr.array(X))
    same(table, in_columns(X)[0])
    same(numbers, in_columns(X)[1])
    np.testing.assert_array_equal(np.asarray(eye), np.eye(2))
    assert scalar == np.float32(2)


def test_methods_make_arrays_too():
    model = in_a_method()
    same(wr.jit(model.apply)(wr.array(X)), model.apply(X))


def test_what_needs_values_all_the_same_has_its_own_error():
    def asks(x):
        y = np.zeros(3)
        y[0] = x[0, 0]
        return y if float(x[0, 0]) > 2 else x

    with pytest.raises(NeedsValues, match=r"test_own_arrays.py:\d+"):
        wr.jit(asks)(wr.array(X))


def test_a_functions_own_error_is_raised():
    def wrong(x):
        y = np.zeros(5)
        y[:] = x[0]
        return y[9]

    with pytest.raises(IndexError) as caught:
        wr.jit(wrong)(wr.array(X))
    assert isinstance(caught.value.__cause__, NeedsValues)


def test_functions_that_can_be_traced_keep_numpys_arrays():
    kept = []

    def keeps(x):
        kept.append(np.zeros(2))
        return x + kept[-1][0]

    wr.jit(keeps)(wr.array(X))
    assert type(kept[0]) is np.ndarray


def test_functions_that_set_globals_or_have_no_numpy_are_left():
    def sets(x):
        global count
        count += 1
        return np.zeros(3)

    assert with_own_arrays(sets) is None
    assert with_own_arrays(names_what_sets) is None
    assert with_own_arrays(np.sum) is None
    assert with_own_arrays(len) is None
    names = {}
    exec("def plain(x):\n    return x", names)
    assert with_own_arrays(names["plain"]) is None


def test_numpys_other_names_are_its_own():
    def types(x):
        y = np.zeros(2)
        y[0] = x[0, 0]
        return y, isinstance(x, np.ndarray), np.pi, np.linalg.norm(x[0]), np.random.default_rng(1).random()

    array, is_array, pi, norm, number = wr.jit(types)(wr.array(X))
    same(array, types(X)[0])
    assert (is_array, pi, number) == (False, np.pi, np.random.default_rng(1).random())
    np.testing.assert_allclose(np.asarray(norm), np.linalg.norm(X[0]))


def sets_a_global():
    global count
    count += 1


def names_what_sets(x):
    sets_a_global()
    y = np.zeros(3)
    y[:] = x[0, :3]
    return y


def scaled(x):
    y = np.zeros(len(x))
    y[:] = x * scale
    return y


def test_globals_are_what_they_are_when_it_is_traced(monkeypatch, recwarn):
    traced = wr.jit(scaled)
    same(traced(wr.array(X[0])), X[0] * 2)
    monkeypatch.setitem(globals(), "scale", 3)
    same(traced(wr.array(X[:, 0])), X[:, 0] * 3)
    assert not recwarn.list  # of elements that are set in arrays of NumPy's
