"""Loops that set elements of NumPy's arrays from lazy ones compute in each turn: one warning a line."""

from __future__ import annotations

import warnings

import numpy as np

import windrow as wr

GLOBAL = wr.ones(6, chunks=2)


def told(function):
    """Warnings that a function gives, each line's once, as Python shows them."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        function()
    assert {one.filename for one in found} <= {__file__}
    return found


def test_a_loop_that_sets_elements_of_a_numpy_array_warns_once():
    x = wr.ones((6, 3), chunks=2)

    def function():
        a, b, c, n = np.zeros(3), np.zeros(6), np.zeros((6, 3)), np.zeros(6, int)
        for i in range(6):
            a += x[i]
            b[i] = (x[i] + i).sum()
            c[i] = x[i] * 2
            n[i] = (x > i).sum()
        assert a.tolist() == [6, 6, 6]
        assert b.tolist() == [3, 6, 9, 12, 15, 18]
        assert n.tolist() == [18, 0, 0, 0, 0, 0]
        assert (c == 2).all()

    found = told(function)
    first = function.__code__.co_firstlineno
    assert [one.lineno - first for one in found] == [3, 4, 5, 6]
    assert all("computed each time" in str(one.message) for one in found)


def test_what_is_computed_on_purpose_does_not_warn():
    x = wr.ones((6, 3), chunks=2)

    def function():
        a, b = np.zeros(3), np.zeros(6)
        a += x[0]
        a[1:] = x[1, 1:]
        for i in range(6):
            b[i] = x[i].sum().compute()
            b[i] = float(x[i].sum() + 1)
            np.add(x[i], 1, out=a)
            a += np.asarray(x[i] * 2)
            b[i] = GLOBAL[i]
        if float((x * 2).sum()) > 1 and (x + 3).sum() > 2:
            a = a + 1

    assert told(function) == []
