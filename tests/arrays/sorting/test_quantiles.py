"""Quantiles against NumPy, on random chunks: by sorting whole axes, and by selecting ranks of long ones."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.chunks import cut
from windrow.arrays.chunking import coalesce
from windrow.arrays.sorting import selection
from windrow.workers.kernels.blocks.order.ranks import METHODS

LEVELS = [0.3, 1, 0, [0.0, 0.25, 1.0], np.array([[0.5, 0.7]]), np.linspace(0, 1, 30), np.float64(0.9)]


@pytest.fixture(autouse=True, scope="module", params=[(1, 1 << 20), (1, 8), (1 << 16, 8)], ids=["few", "many", "whole"])
def sizes(request):
    """What is a short axis, and how many elements may lie between borders."""
    short, few = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coalesce, "SMALLEST", short)
        patch.setattr(coalesce, "SMALL_BYTES", 1)
        patch.setattr(coalesce, "FEW_CHUNKS", 1 << 30)
        patch.setattr(selection, "FEW", few)
        yield


@st.composite
def arrays(draw, dtypes=("f8", "f4", "f2", "i8", "u1")):
    """An array of one axis or three, with ties, NaN and infinities; lazy and not."""
    n = draw(st.integers(1, 200))
    generator = np.random.default_rng(draw(st.integers(0, 1000)))
    shape, chunks = ((n,), (draw(cut(n)),)) if draw(st.booleans()) else ((2, n, 2), (1, draw(cut(n)), 2))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    x = generator.integers(0, draw(st.sampled_from([2, 100])), shape).astype(dtype)
    if dtype.kind == "f" and draw(st.booleans()):
        x[generator.random(shape) < 0.05] = np.nan
        x[generator.random(shape) < 0.05] = np.inf
    return x, wr.from_array(x, chunks=chunks)


def axes(x):
    """Axes to take quantiles over."""
    return st.sampled_from([None, 0, (0,)] if x.ndim == 1 else [None, 0, 1, -1, (0, 1), (2, 1)])


def quiet(function, *args, **keywords):
    """What NumPy finds, without its warnings of NaN and infinities."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(function(*args, **keywords))


def same(found, wanted):
    found = np.asarray(found.compute())
    # A single NaN has the array's dtype in NumPy, any other value the one that the method computes in.
    assert found.dtype == wanted.dtype or (wanted.size == 1 and np.isnan(wanted).all())
    assert found.shape == wanted.shape
    assert np.array_equal(found, wanted, equal_nan=True)


@given(arrays(), st.sampled_from(METHODS), st.sampled_from(LEVELS), st.booleans(), st.data())
def test_quantiles(pair, method, q, keepdims, data):
    x, lazy = pair
    axis = data.draw(axes(x))
    found = np.quantile(lazy, q, axis, method=method, keepdims=keepdims)
    same(found, quiet(np.quantile, x, q, axis, method=method, keepdims=keepdims))


@given(arrays(), st.data())
def test_percentiles_and_medians(pair, data):
    x, lazy = pair
    axis, keepdims = data.draw(axes(x)), data.draw(st.booleans())
    same(
        np.percentile(lazy, [1, 50, 99], axis, keepdims=keepdims),
        quiet(np.percentile, x, [1, 50, 99], axis, keepdims=keepdims),
    )
    same(np.median(lazy, axis, keepdims=keepdims), quiet(np.median, x, axis, keepdims=keepdims))


@given(arrays(["f8", "f4"]), st.data())
def test_nan_left_out(pair, data):
    x, lazy = pair
    axis, keepdims = data.draw(axes(x)), data.draw(st.booleans())
    for name, more in (("nanmedian", ()), ("nanquantile", ([0.1, 0.77],)), ("nanpercentile", (30,))):
        found = np.asarray(getattr(np, name)(lazy, *more, axis, keepdims=keepdims).compute())
        wanted = quiet(getattr(np, name), x, *more, axis, keepdims=keepdims)
        assert found.shape == wanted.shape
        assert np.allclose(found, wanted, equal_nan=True, rtol=1e-5)


@given(st.data())
def test_weights(data):
    x, lazy = data.draw(arrays(["i8"]))
    w = np.random.default_rng(0).random(x.shape)
    weights = wr.from_array(w, chunks=-1)
    same(
        wr.quantile(lazy, [0.2, 0.6], weights=weights, method="inverted_cdf"),
        np.quantile(x, [0.2, 0.6], weights=w, method="inverted_cdf"),
    )
    line = w.reshape(-1)[: x.shape[-1]]
    same(
        wr.percentile(lazy, 40, -1, weights=line, method="inverted_cdf"),
        np.asarray(np.percentile(x, 40, -1, weights=line, method="inverted_cdf")),
    )


def test_long_lines_of_awkward_elements():
    generator = np.random.default_rng(5)
    n = 70_000
    for x in (
        generator.random(n),
        np.where(generator.random(n) < 0.9, 0.0, generator.standard_normal(n)),
        np.sort(generator.standard_normal(n)),
        np.full(n, 3.5),
        generator.integers(0, 3, n),
        np.exp(30 * generator.standard_normal(n)),
        np.resize(np.arange(64.0), n),
    ):
        lazy = wr.from_array(x, chunks=7001)
        same(wr.percentile(lazy, [0, 1, 50, 99, 100]), np.percentile(x, [0, 1, 50, 99, 100]))
        same(wr.median(lazy + 0), np.asarray(np.median(x)))
        same(wr.quantile(lazy, np.linspace(0, 1, 21)), np.quantile(x, np.linspace(0, 1, 21)))


def test_times_and_truth_values():
    x = np.arange(31).astype("m8[s]")
    lazy = wr.from_array(x, chunks=7)
    same(wr.quantile(lazy, 0.5), np.asarray(np.quantile(x, 0.5)))
    same(wr.median(lazy), np.asarray(np.median(x)))
    x[4] = "NaT"
    assert np.isnat(wr.median(wr.from_array(x, chunks=7)).compute())
    flags = np.arange(30) % 3 == 0
    same(wr.median(wr.from_array(flags, chunks=7)), np.asarray(np.median(flags)))


def test_shapes_out_and_empty():
    x = np.arange(24.0).reshape(4, 6)
    lazy = wr.from_array(x, chunks=(3, 4))
    out = np.empty(6)
    assert wr.median(lazy, 0, out) is out
    assert np.array_equal(out, np.median(x, 0))
    same(wr.median(wr.asarray(3.0)), np.asarray(3.0))
    same(wr.quantile(wr.asarray(3.0), [0.5, 1]), np.array([3.0, 3.0]))
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):  # as NumPy's
        assert repr(wr.median(wr.zeros(0)).compute()) == "np.float64(nan)"
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert repr(wr.nanpercentile(wr.zeros(0, int), 50, method="lower").compute()) == "np.float64(nan)"
    assert wr.median(wr.zeros((0, 3)), 1).shape == (0,)


@pytest.mark.parametrize("q", [50, [50]])
@pytest.mark.parametrize("dtype", ["U3", "S4"])
def test_texts_keep_their_length(dtype, q):
    x = np.array([["zz", "ba"], ["ab", "ba"], ["zz", "b"]], dtype)
    found = wr.percentile(wr.from_array(x, chunks=2), q, 0, method="lower").compute()
    np.testing.assert_array_equal(found, np.percentile(x, q, 0, method="lower"))


def test_nothing_is_computed_at_the_call_and_errors_are():
    lazy = wr.map_blocks(lambda block: 1 // 0, wr.arange(10, chunks=3), dtype="f8")
    assert wr.median(lazy).shape == ()
    assert wr.percentile(lazy, [1, 2]).shape == (2,)
    x = wr.arange(10.0, chunks=3)
    for call, message in (
        (lambda: wr.quantile(x, 1.5), "quantile: argument 'q'"),
        (lambda: wr.percentile(x, [-1]), "percentile: argument 'q'"),
        (lambda: wr.quantile(x, x * 1j), "quantile: argument 'q'"),
        (lambda: wr.quantile(x, 0.5, method="best"), "quantile: argument 'method'"),
        (lambda: wr.quantile(x, 0.5, weights=x), "quantile: argument 'method'"),
        (lambda: wr.quantile(x * 1j, 0.5), "quantile: argument 'a'"),
        (lambda: wr.quantile(wr.zeros(0), 0.5), "quantile: array of shape"),
        (lambda: wr.quantile(x, 0.5, weights=[1], method="inverted_cdf"), "quantile: argument 'weights'"),
    ):
        with pytest.raises(wr.WindrowError, match=message):
            call()
