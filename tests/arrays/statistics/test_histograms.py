"""Histograms and counts: equal to NumPy's to the last element, edges and all."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.arrays import same
from support.pairs import pairs
from windrow.scheduler.session.cluster import session
from windrow.workers.kernels.blocks.statistics import histograms

RNG = np.random.default_rng(6)
NORMAL = RNG.standard_normal((50, 70)) * 20
WEIGHTS = RNG.random((50, 70))
CHUNKS = [-1, (17, 33), ((1, 40, 9), (70,))]
FORMS = [
    {},
    {"bins": 7, "range": (-3, 5)},
    {"bins": [-30, -3, 0, 0, 4.5, 9, 9]},
    {"bins": 100, "density": True},
    {"bins": [0, 1, 5, 9], "weights": WEIGHTS},
    {"bins": 12, "weights": (WEIGHTS * 9).astype("i8")},
    {"bins": 12, "weights": WEIGHTS + 1j},
    {"bins": 5, "range": (2, 9), "weights": WEIGHTS.astype("f4")},
]


def whole(dtype):
    data = NORMAL.astype(dtype)
    return data.astype("u1") if dtype == "?" else data


@pytest.mark.parametrize("form", range(len(FORMS)))
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i2", "u1", "?"])
def test_histogram(dtype, form):
    keywords = FORMS[form]
    with np.errstate(all="ignore"):
        data = NORMAL.astype(dtype)
    expected = np.histogram(whole(dtype) if dtype == "?" else data, **keywords)
    for chunks in CHUNKS:
        counts, edges = np.histogram(wr.from_array(data, chunks=chunks), **keywords)
        inexact = "weights" in keywords or "density" in keywords
        same(counts, expected[0], (1e-5 if form == 7 else 1e-12) if inexact else 0)
        same(edges, expected[1])
        plain = {name: value for name, value in keywords.items() if name != "density"}
        same(wr.histogram_bin_edges(wr.from_array(data, chunks=chunks), **plain), expected[1])


@pytest.mark.parametrize("name", ["auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges"])
def test_estimated_widths(name):
    data = RNG.standard_normal(400)
    for array in (data, (data * 3).astype("i4")):
        x = wr.from_array(array, chunks=170)
        for keywords in ({}, {"range": (-1, 2)}, {"density": True}):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # NumPy's doubts about "stone"
                expected = np.histogram(array, name, **keywords)
            for lazy, wanted in zip(wr.histogram(x, name, **keywords), expected, strict=True):
                same(lazy, wanted, 1e-12)
    constant = wr.full(9, 2.0, chunks=4)
    same(wr.histogram(constant, name)[0], np.histogram(np.full(9, 2.0), name)[0])


@given(
    st.integers(0, 2**32),
    st.integers(1, 40),
    st.floats(-1e6, 1e6, width=32),
    st.floats(2**-10, 1e6, width=32),
    st.sampled_from(["f8", "f4", "i4"]),
)
def test_elements_on_edges_are_where_numpy_has_them(seed, bins, low, width, dtype):
    """Elements on the edges themselves, and their neighbours on both sides."""
    high = low + width
    try:
        edges = np.histogram_bin_edges(np.zeros(0, dtype), bins, (low, high))
    except ValueError:
        return
    near = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
    data = np.random.default_rng(seed).permutation(near).astype(dtype)
    try:
        expected = np.histogram(data, bins, (low, high))
    except IndexError:  # NumPy's own, where range and elements differ in their last bits
        return
    x = wr.from_array(data, chunks=max(1, len(data) // 3))
    same(wr.histogram(x, bins, (low, high))[0], expected[0])
    same(wr.histogramdd([x], bins, [(low, high)])[0], np.histogramdd([data], bins, [(low, high)])[0])


def test_nan_and_infinities_are_in_no_bin():
    data = np.array([0.0, np.nan, 1, np.inf, -np.inf, 2, np.nan])
    x = wr.from_array(data, chunks=2)
    same(wr.histogram(x, 4, (0, 2))[0], np.histogram(data, 4, (0, 2))[0])
    same(wr.histogram(x, [0, 1, 2])[0], np.histogram(data, [0, 1, 2])[0])
    same(wr.histogramdd([x], [[0, 1, 2]])[0], np.histogramdd([data], [[0, 1, 2]])[0])
    with pytest.raises(ValueError, match="finite"):
        wr.histogram(x)[0].compute()


def test_empty_and_constant():
    same(wr.histogram(wr.zeros(0))[1], np.histogram(np.zeros(0))[1])
    same(wr.histogram(wr.zeros(0))[0], np.histogram(np.zeros(0))[0])
    same(wr.histogram(wr.zeros(0), "auto")[1], np.histogram(np.zeros(0), "auto")[1])
    same(wr.histogram(wr.full(5, 3.0))[1], np.histogram(np.full(5, 3.0))[1])
    same(wr.histogram(wr.full((), 3.0))[0], np.histogram(np.array(3.0))[0])
    assert wr.histogram(wr.ones(4), wr.linspace(0, 2, 3))[0].compute().tolist() == [0, 4]


def test_bad_histograms():
    x = wr.ones(4)
    for error, keywords in [
        (ValueError, {"bins": 0}),
        (ValueError, {"bins": [2, 1]}),
        (ValueError, {"bins": "good"}),
        (ValueError, {"range": (2, 1)}),
        (ValueError, {"range": (0, np.nan)}),
        (TypeError, {"range": 3}),
        (TypeError, {"bins": 2.5}),
        (ValueError, {"weights": np.ones(3)}),
        (TypeError, {"bins": "auto", "weights": np.ones(4)}),
    ]:
        with pytest.raises(error, match="histogram"):
            wr.histogram(x, **keywords)
    with pytest.raises(TypeError, match="real numbers"):
        wr.histogram(wr.ones(3, dtype=complex))


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("bins", "range"),
    [(5, None), ((3, 4), [(-9, 9), None]), ([-20, 0, 1, 20], None), (([0, 1, 5], 6), [None, (-1, 8)])],
)
def test_histogram2d(bins, range, weighted, density):
    x, y = NORMAL[:, :5].ravel(), NORMAL[:, 5:10].ravel()
    weights = WEIGHTS[:, :5].ravel() if weighted else None
    expected = np.histogram2d(x, y, bins, range, density, weights)
    for chunks in (-1, 60):
        found = np.histogram2d(
            wr.from_array(x, chunks=chunks), wr.from_array(y, chunks=77), bins, range, density, weights
        )
        for lazy, wanted in zip(found, expected, strict=True):
            same(lazy, wanted.astype(lazy.dtype), 1e-12)


def test_histogramdd():
    points = RNG.random((300, 3))
    expected = np.histogramdd(points, (3, 2, [0, 0.2, 1]))
    for sample in (
        wr.from_array(points, chunks=(70, 2)),
        tuple(wr.from_array(points[:, i].copy(), chunks=99) for i in range(3)),
    ):
        counts, edges = wr.histogramdd(sample, (3, 2, [0, 0.2, 1]))
        same(counts, expected[0])
        for lazy, wanted in zip(edges, expected[1], strict=True):
            same(lazy, wanted)
    with pytest.raises(ValueError, match="dimensions"):
        wr.histogramdd(points, (3, 2))
    with pytest.raises(ValueError, match="one length"):
        wr.histogramdd([np.ones(3), np.ones(4)])


@pytest.mark.parametrize(
    ("top", "minlength", "chunks"),
    pairs([3, 100, 1500, 70_000], [0, 5, 200, 3000, 1 << 17], [-1, 30, ((1, 90, 9),)]),
)
def test_bincount(top, minlength, chunks):
    data = RNG.integers(0, top, 100)
    x = wr.from_array(data, chunks=chunks)
    expected = np.bincount(data, minlength=minlength)
    lazy = np.bincount(x, minlength=minlength)
    np.testing.assert_array_equal(lazy.compute(), expected)
    same(lazy, expected)
    weights = RNG.random(100)
    heavy = wr.bincount(x, wr.from_array(weights, chunks=41), minlength=minlength)
    np.testing.assert_allclose(heavy.compute(), np.bincount(data, weights, minlength))


def test_bincount_of_a_selection_computes_nothing_before_it_is_asked_for(monkeypatch):
    data = RNG.integers(0, 50, 100)
    taken = data > 5
    x = wr.from_array(data, chunks=30) * 3
    mask = x > 15
    with monkeypatch.context() as patched:
        patched.setattr(type(session()), "run", lambda *args, **kwargs: pytest.fail("it is computed"))
        numbers = x[mask] % 7
        counts = wr.bincount(numbers, minlength=9)
        assert counts.shape == (9,)
        table = wr.zeros((9, 2))
        table[:, 1] = counts
    expected = np.bincount(data[taken] * 3 % 7, minlength=9)
    np.testing.assert_array_equal(counts.compute(), expected)
    np.testing.assert_array_equal(table.compute()[:, 1], expected)
    weights = wr.from_array(np.arange(100.0), chunks=30)[mask]
    heavy = wr.bincount(numbers, weights, minlength=9)
    np.testing.assert_array_equal(heavy.compute(), np.bincount(data[taken] * 3 % 7, np.arange(100.0)[taken], 9))


def test_bincount_is_as_long_as_the_data_say():
    lazy = wr.bincount(wr.arange(3_000_000, chunks=1_000_000) % 7)
    assert lazy.shape == (None,)
    assert lazy.compute().tolist() == np.bincount(np.arange(3_000_000) % 7).tolist()


def test_bincount_of_other_arrays():
    same(wr.bincount(wr.zeros(0, dtype=int), minlength=3), np.bincount(np.zeros(0, int), minlength=3))
    np.testing.assert_array_equal(wr.bincount(wr.asarray([True, False, True])).compute(), [1, 2])
    np.testing.assert_array_equal(wr.bincount(wr.asarray(np.array([7, 7], "u1"))).compute(), [0] * 7 + [2])
    with pytest.raises(ValueError, match="negative"):
        wr.bincount(wr.asarray([1, -1])).compute()
    with pytest.raises(ValueError, match="negative"):
        wr.bincount(wr.asarray([1, 2]), minlength=-1)
    with pytest.raises(TypeError, match="integers"):
        wr.bincount(wr.ones(3))
    with pytest.raises(ValueError, match="1-D array"):
        wr.bincount(wr.ones((3, 3), dtype=int))
    with pytest.raises(ValueError, match="weights"):
        wr.bincount(wr.asarray([1, 2]), weights=[1.0])


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8"])
def test_compiled_counts_of_integers(dtype):
    data = RNG.integers(0, 90, 1003).astype(dtype)
    edges = np.histogram_bin_edges(data, 7)
    expected = np.bincount(data), np.histogram(data, 7)[0], np.histogram(data, 7, (3, 60))[0]
    for jit in ("off", "on"):
        with wr.config.set(jit=jit):
            x = wr.from_array(data, chunks=400)
            for lazy, wanted in zip(
                (wr.bincount(x), wr.histogram(x, 7)[0], wr.histogram(x, 7, (3, 60))[0]), expected, strict=True
            ):
                np.testing.assert_array_equal(lazy.compute(), wanted)
            same(wr.histogram(x, 7)[1], edges)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
def test_compiled_counts_on_edges(dtype):
    edges = np.histogram_bin_edges(np.zeros(0, dtype), 37, (-1.3, 2.2))
    near = [edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), RNG.standard_normal(5000)]
    data = np.concatenate([*near, [np.nan, np.inf, -np.inf]]).astype(dtype)
    for jit in ("off", "on"):
        with wr.config.set(jit=jit):
            lazy = wr.histogram(wr.from_array(data, chunks=2000), 37, (-1.3, 2.2))[0]
            same(lazy, np.histogram(data, 37, (-1.3, 2.2))[0])


def test_a_long_chunk_is_counted_in_steps():
    data = RNG.random(100_001)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(wr.histogram(wr.from_array(data), 1000, (0, 1))[0], np.histogram(data, 1000, (0, 1))[0])
    whole = (data * 500).astype("i8")
    same(wr.histogram(wr.from_array(whole, chunks=50_000), 250, (0, 500))[0], np.histogram(whole, 250, (0, 500))[0])
    np.testing.assert_array_equal(wr.bincount(wr.from_array(whole, chunks=70_000)).compute(), np.bincount(whole))


@pytest.mark.parametrize("jit", ["on", "off"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize("limits", [(0, 1), (-3, 2.5), (1e6, 1e6 + 1), (0.1, 0.7)])
def test_edges_decide_in_kernels_too(limits, dtype, jit):
    low, high = limits
    some = np.concatenate([RNG.normal(size=5000) * 3, low + (high - low) * RNG.random(5003), [low, high]])
    odd = [] if dtype == "i4" else [np.nan, np.inf, -np.inf, -0.0]
    for bins in (1, 7, 1000, 8000):
        edges = np.linspace(low, high, bins + 1)
        data = np.concatenate([some, np.round(some, 2), edges, odd]).astype(dtype)
        inside = data[(data >= low) & (data <= high)].astype(float)
        wanted = np.bincount(np.minimum(np.searchsorted(edges, inside, "right") - 1, bins - 1), minlength=bins)
        with wr.config.set(jit=jit):
            assert np.array_equal(histograms.counts(data, edges, even=True)[0], wanted)


def test_long_doubles_are_counted():
    data = np.random.default_rng(0).random(500).astype("g")
    lazy = wr.from_array(data, chunks=120)
    for bins, between in ((4, None), (7, (0, 1)), (np.linspace(0, 1, 6, dtype="g"), None)):
        expected, found = np.histogram(data, bins, between), wr.compute(*wr.histogram(lazy, bins, between))
        for one, other in zip(expected, found, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    weighted = wr.histogram(lazy, 4, weights=np.ones(500))[0].compute()
    np.testing.assert_array_equal(weighted, np.histogram(data, 4)[0])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "i4"])
def test_edges_in_several_dimensions_have_numpys_dtype(dtype):
    points = (np.random.default_rng(0).random((400, 2)) * 50).astype(dtype)
    lazy = wr.from_array(points, chunks=(90, 1))
    for bins, between in ((3, None), ([4, 2], ((0, 50), (0, 60))), ([3, np.arange(0, 60, 10)], None)):
        counts, edges = np.histogramdd(points, bins, between)
        found, own = wr.histogramdd(lazy, bins, between)
        flat = wr.histogram2d(lazy[:, 0], lazy[:, 1], bins, between)
        np.testing.assert_array_equal(found.compute(), counts)
        np.testing.assert_array_equal(flat[0].compute(), counts)
        for expected, one, other in zip(edges, own, flat[1:], strict=True):
            assert one.dtype == expected.dtype == other.dtype
            np.testing.assert_array_equal(one.compute(), expected)
            np.testing.assert_array_equal(other.compute(), expected)
