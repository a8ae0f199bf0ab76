"""Writes that NumPy's views would bring to another array, and loops that compute in each turn: one warning a line."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import windrow as wr

GLOBAL = wr.ones(6, chunks=2)


def told(function):
    """Warnings that a function gives, each line's once, as Python shows them."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        function()
    assert {one.filename for one in found} <= {__file__}
    return found


def test_in_place_operators_on_slices_of_arrays_that_are_there():
    def function():
        x = wr.ones((6, 4), chunks=2)
        u = x[1:-1]
        u += 1
        u += 1
        v = x[0]
        v *= 2
        for row in x:
            row -= 1
        w = GLOBAL[..., 2:]
        w /= 2
        assert (x.compute() == 1).all()
        assert (u.compute() == 3).all()

    found = told(function)
    assert [one.category for one in found] == [wr.LostWrite] * 4
    assert "u += changes what was sliced" in str(found[0].message)
    assert "write U[1:-1] += y" in str(found[0].message)
    assert "u = u * y" in str(found[1].message)
    first = function.__code__.co_firstlineno
    assert [one.lineno - first for one in found] == [3, 6, 8, 10]


def test_what_changes_nothing_else_does_not_warn():
    def halves(x):
        x /= 2
        return x

    def function():
        x = wr.ones((6, 4), chunks=2)
        x[1:-1] += 1
        x[0] *= 3
        named = {"x": x, "y": [x]}
        named["x"][1:] += 1
        named["y"][0][2] -= 1
        holder = SimpleNamespace(x=x)
        holder.x[0] += 1
        copied = x[1:].copy()
        copied += 1
        other = x[1:] * 2
        other += 1
        temporary = (x + 1)[1:]
        temporary += 1
        single = x[0, 0]
        single += 1
        picked = x[[0, 1]]
        picked += 1
        masked = x[x > 1]
        masked += 1
        halves(x[1:] + 0)
        apart = x[1:]
        apart = apart + 1
        y = wr.ones(4)[1:]
        y += 1
        same = x
        same += 1
        gone = x[1:]
        x = x + 1
        del holder, named, same
        gone += 1

    assert told(function) == []


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


@pytest.mark.parametrize("symbol", ["+=", "-=", "*=", "/=", "**="])
def test_each_operator_warns(symbol):
    names = {"x": wr.ones(6, chunks=2)}
    with pytest.warns(wr.LostWrite, match=rf"u {symbol.replace('*', '[*]').replace('+', '[+]')} changes"):
        exec(f"u = x[1:]\nu {symbol} 2", names)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x.reshape(-1),
        lambda x: np.ravel(x),
        lambda x: np.flip(x),
        lambda x: x.swapaxes(0, 1),
        lambda x: np.squeeze(x[None]),
        lambda x: x[1:][1:],
        lambda x: np.expand_dims(x, 0),
        lambda x: np.moveaxis(x, 0, 1),
        lambda x: x[::2].T,
    ],
)
def test_out_into_what_numpy_has_as_a_view_is_an_error(view):
    x = wr.zeros((6, 4), chunks=2)
    with pytest.raises(wr.ArgumentError, match=r"sliced from another, or is that one in another shape"):
        np.add(view(x), 1, out=view(x))
    own = view(x).copy()
    np.add(own, 1, out=own)
    assert (own.compute() == 1).all()
    flat = x.flatten()
    np.add(flat, 1, out=flat)
    assert (flat.compute() == 1).all()
    apart = x.reshape(4, 6, copy=True)
    np.add(apart, 1, out=apart)
    x = view(x)  # the array that it was is gone
    np.add(x, 2, out=x)
    assert (x.compute() == 2).all()
