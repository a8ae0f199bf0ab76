"""Arguments that NumPy's users give: lazy levels, named branches, squares of bool, bool compared within a tolerance."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr

RNG = np.random.default_rng(6)


def lazy(a, chunks=2):
    return wr.from_array(np.array(a), chunks=chunks)


@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile", "nanpercentile"])
@pytest.mark.parametrize("axis", [None, 0, (0, 1), [1]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_lazy_levels(name, axis, keepdims):
    a = RNG.standard_normal((6, 7))
    a[0, 0] = np.nan
    for q in (0.3, [0.1, 0.9], [[0.1, 0.2], [0.3, 0.4]], [1]):
        levels = np.array(q) * (100 if "percentile" in name else 1)
        for method in ("linear", "nearest"):
            options = {"keepdims": keepdims, "method": method}
            expected = getattr(np, name)(a, levels, axis=tuple(axis) if isinstance(axis, list) else axis, **options)
            found = getattr(wr, name)(lazy(a), lazy(levels, 1), axis=axis, **options)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(found.compute(), expected)


def test_lazy_levels_of_long_axes_with_weights_and_wrong_ones():
    a = RNG.standard_normal(300_000)
    found = wr.quantile(wr.from_array(a, chunks=30_000), wr.asarray([0.2, 0.5]))
    np.testing.assert_array_equal(found.compute(), np.quantile(a, [0.2, 0.5]))
    a, w = RNG.standard_normal((2, 6, 7))
    w = abs(w)
    found = wr.quantile(lazy(a), wr.asarray([0.2, 0.5]), weights=lazy(w), method="inverted_cdf", axis=0)
    np.testing.assert_array_equal(found, np.quantile(a, [0.2, 0.5], weights=w, method="inverted_cdf", axis=0))
    with pytest.raises(ValueError, match="quantile: argument 'q'"):
        wr.quantile(lazy(a), wr.asarray([2.0])).compute()
    with pytest.raises(ValueError, match="quantile: argument 'q'"):
        wr.quantile(lazy(a), wr.asarray([2j]))


def test_dasks_method_of_running_sums():
    x = wr.arange(5, chunks=2) + 1
    for method in ("sequential", "blelloch"):
        assert wr.cumsum(x, method=method).tolist() == [1, 3, 6, 10, 15]
        assert x.cumprod(method=method).tolist() == [1, 2, 6, 24, 120]
        assert wr.nancumsum(x, axis=0, method=method).tolist() == x.cumsum(method=method).tolist()
        assert wr.nancumprod(x, method=method).tolist() == [1, 2, 6, 24, 120]
    with pytest.raises(ValueError, match="cumsum: argument 'method' is 'tree'"):
        wr.cumsum(x, method="tree")


def test_bool_is_compared_within_a_tolerance():
    a, b = np.array([True, False]), np.array([True, True])
    assert wr.isclose(lazy(a), b).tolist() == np.isclose(a, b).tolist()
    assert wr.isclose(lazy(a), lazy(b)).tolist() == [True, False]
    assert bool(wr.allclose(lazy(a), a))
    assert bool(np.allclose(lazy(b), True))


def test_where_by_name():
    x = wr.arange(4, chunks=2)
    assert wr.where(x > 1, x=x, y=0).tolist() == [0, 0, 2, 3]
    assert wr.where(condition=x > 1, x=1, y=x).tolist() == [0, 1, 1, 1]
    for given in ({"x": 1}, {"y": 1}):
        with pytest.raises(ValueError, match="both x and y, or neither"):
            wr.where(x > 1, **given)


def test_expand_dims_wants_an_axis_as_in_numpy():
    with pytest.raises(TypeError, match="expand_dims: argument 'axis' is None"):
        wr.expand_dims(wr.ones(3), None)


def test_squares_of_small_dtypes_stay_small_as_in_numpy():
    for dtype in ("?", "i1", "u1", "i8", "f4", "f8", "c8"):
        a = np.array([0, 1, 1]).astype(dtype)
        for power in (0, 1, 2, 3, 2.0, 0.5, np.int8(2)):
            found, expected = lazy(a) ** power, a**power
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.compute(), expected)
    a = np.array([-0.0, 4.0, np.inf])
    assert (lazy(a) ** 0.5).compute().tobytes() == (a**0.5).tobytes()
