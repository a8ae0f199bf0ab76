"""`scan` beside the loop that it stands for."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr


def loop(f, carry, xs, count, reverse=False):
    made = [None] * count
    for k in reversed(range(count)) if reverse else range(count):
        carry, made[k] = f(carry, None if xs is None else xs[k])
    return carry, made


@pytest.mark.parametrize("chunks", [2, 3, 100])
@pytest.mark.parametrize("reverse", [False, True])
def test_it_is_the_loop(chunks, reverse):
    xs = np.random.default_rng(1).random((17, 5))

    def f(c, x):
        new = c * 0.5 + x
        return new, new[::-1] * 2

    carry, ys = wr.scan(f, wr.zeros(5, chunks=2), wr.from_array(xs, chunks=(chunks, 2)), reverse=reverse)
    expected, made = loop(f, np.zeros(5), xs, 17, reverse)
    np.testing.assert_array_equal(carry.compute(), expected)
    np.testing.assert_array_equal(ys.compute(), np.stack(made))
    assert ys.shape == (17, 5)


def test_structures_and_no_items():
    def f(c, x):
        assert x is None
        return {"a": c["b"], "b": c["a"] + c["b"]}, (c["a"], [c["b"] * 1.5])

    carry, (a, [b]) = wr.scan(f, {"a": 0, "b": 1}, length=10)
    assert wr.compute(carry) == {"a": 55, "b": 89}
    np.testing.assert_array_equal(a.compute(), [0, 1, 1, 2, 3, 5, 8, 13, 21, 34])
    np.testing.assert_array_equal(b.compute(), np.array([1, 1, 2, 3, 5, 8, 13, 21, 34, 55]) * 1.5)


def test_what_comes_from_outside_and_nothing_kept():
    weights = wr.arange(4.0)
    carry, ys = wr.scan(lambda c, x: (c + (x * weights).sum(), None), 0.0, wr.arange(3.0))
    assert ys is None
    assert carry.compute() == 18.0


def test_no_steps():
    carry, ys = wr.scan(lambda c, x: (c + x, x * 2), 1.5, wr.zeros(0))
    assert carry.compute() == 1.5
    assert ys.compute().shape == (0,)
    carry, ys = wr.scan(lambda c, x: (c, wr.ones((2, 3))), 1, length=0)
    assert ys.compute().shape == (0, 2, 3)


def test_many_steps_take_linear_time():
    carry, ys = wr.scan(lambda c, x: (c * 0.99 + x, c), 0.0, wr.arange(1500.0))
    expected, made = loop(lambda c, x: (c * 0.99 + x, c), 0.0, np.arange(1500.0), 1500)
    assert carry.compute() == expected
    np.testing.assert_array_equal(ys.compute(), made)


def test_what_is_refused():
    x = wr.arange(3)
    with pytest.raises(wr.ArgumentError, match="scan: argument 'f' is 3"):
        wr.scan(3, 0, x)
    with pytest.raises(wr.ArgumentError, match="neither 'xs' nor 'length'"):
        wr.scan(lambda c, x: (c, x), 0)
    with pytest.raises(wr.ArgumentError, match="returned Array; expected a pair"):
        wr.scan(lambda c, x: c + x, 0, x)
    with pytest.raises(wr.ShapeError, match="of length 4, as 'length' says"):
        wr.scan(lambda c, x: (c, x), 0, x, length=4)
    with pytest.raises(wr.ShapeError, match="arrays of one length"):
        wr.scan(lambda c, x: (c, None), 0, (x, wr.arange(4)))
    with pytest.raises(wr.DTypeError, match="argument 'f' made an array of dtype float64 of carry"):
        wr.scan(lambda c, x: (c + 0.5, None), 0, x)
    with pytest.raises(wr.ShapeError, match="argument 'f' made an array of shape"):
        wr.scan(lambda c, x: (c + wr.ones(2, int), None), 0, x)
    with pytest.raises(wr.ArgumentError, match="needs values while it is traced"):
        wr.scan(lambda c, x: (c if x > 1 else c + 1, None), 0, x)
