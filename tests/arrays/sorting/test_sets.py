"""Distinct elements, sets and searching against NumPy, on random chunks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.arrays import same
from support.chunks import chunks_kept_apart, cut
from windrow.arrays.chunking import coalesce

DTYPES = ["f8", "f4", "i8", "u1", "?", "c16", "M8[s]", "U2"]


@pytest.fixture(autouse=True, scope="module")
def short():
    """Let no axis be brought into one chunk that is longer than the chunks it has."""
    with chunks_kept_apart():
        yield


@st.composite
def lines(draw, dtype):
    """An array of one axis with ties, NaN, NaT and both zeros, lazy and not."""
    n, kinds = draw(st.integers(0, 80)), draw(st.sampled_from([1, 4, 1000]))
    generator = np.random.default_rng(draw(st.integers(0, 1000)))
    x = generator.integers(0, kinds, n)
    x = (x - kinds // 2).astype(dtype) if dtype.kind in "fci" else x.astype(dtype)
    if draw(st.booleans()):
        if dtype.kind in "fc":
            x[generator.random(n) < 0.2] = np.nan
            x[generator.random(n) < 0.2] *= -0.0
        elif dtype.kind in "mM":
            x[generator.random(n) < 0.2] = "NaT"
    return x, wr.from_array(x, chunks=(draw(cut(n)),))


@st.composite
def pairs(draw):
    """Two arrays of one dtype."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    return draw(lines(dtype)), draw(lines(dtype))


def distinct(x):
    """What unique_all returns where each NaN is one of its own; positions are those of a stable sort."""
    order = np.argsort(x, kind="stable")
    new = np.ones(len(x), bool)
    new[1:] = x[order][1:] != x[order][:-1]
    inverse = np.empty(len(x), np.int64)
    inverse[order] = np.cumsum(new) - 1
    return x[order][new], order[new], inverse, np.diff([*np.flatnonzero(new), len(x)])


@given(pairs(), st.sampled_from(["all", "counts", "inverse", "values", "numpy"]))
def test_distinct_elements(pair, which):
    (x, lazy), _ = pair
    wanted = distinct(x)
    if which == "numpy":
        found, wanted = np.unique(lazy, True, True, True), np.unique(x, True, True, True)
    elif which == "values":
        found, wanted = (wr.unique_values(lazy),), wanted[:1]
    else:
        found = getattr(wr, f"unique_{which}")(lazy)
        wanted = {"all": wanted, "counts": wanted[::3], "inverse": wanted[::2]}[which]
    for one, other in zip(found, wanted, strict=True):
        same(one, other)


def test_complex_nan_of_several_kinds_count_as_one():
    x = np.array(
        [0, 0, complex(np.nan, 0), complex(np.nan, np.nan), complex(0, np.nan), 0, complex(np.nan, 0), 0, 0, 0]
    )
    for one, other in zip(
        np.unique(wr.asarray(x, chunks=4), True, True, True), np.unique(x, True, True, True), strict=True
    ):
        same(one, other)


SETS = ["union1d", "setdiff1d", "setxor1d", "intersect1d", "isin"]


@given(pairs(), st.sampled_from(SETS), st.booleans())
def test_sets(pair, name, more):
    (x, first), (y, second) = pair
    function = getattr(np, name)
    keywords = {"intersect1d": {"return_indices": more}, "isin": {"invert": more}}.get(name, {})
    found, wanted = function(first, second, **keywords), function(x, y, **keywords)
    if isinstance(wanted, tuple):
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
    else:
        same(found, wanted)


@given(pairs(), st.sampled_from(["left", "right"]), st.data())
def test_positions_in_sorted_arrays(pair, side, data):
    (x, lazy), (y, values) = pair
    ordered = np.sort(x)
    table = wr.from_array(ordered, chunks=(data.draw(cut(len(x))),))
    same(wr.searchsorted(table, values, side), np.searchsorted(ordered, y, side))
    same(wr.searchsorted(table, values[:2], side), np.searchsorted(ordered, y[:2], side))
    same(wr.searchsorted(ordered, values, side), np.searchsorted(ordered, y, side))
    same(wr.searchsorted(lazy, values, side, sorter=wr.argsort(lazy)), np.searchsorted(ordered, y, side))


@given(st.data(), st.sampled_from([0, 1, -1]))
def test_distinct_slices(data, axis):
    generator = np.random.default_rng(data.draw(st.integers(0, 100)))
    x = generator.integers(0, 2, (4, 3, 2)).astype(data.draw(st.sampled_from(["i4", "f8"])))
    lazy = wr.from_array(x, chunks=(data.draw(cut(4)), 2, 1))
    if data.draw(st.booleans()):
        same(np.unique(lazy, axis=axis), np.unique(x, axis=axis))
        return
    for found, wanted in zip(
        np.unique(lazy, False, True, True, axis=axis), np.unique(x, False, True, True, axis=axis), strict=True
    ):
        same(found, wanted)
    same(np.unique(lazy, True, axis=axis)[1], np.unique(x, True, axis=axis)[1])


def test_elements_along_the_only_axis():
    data = np.array([2.0, np.nan, 2.0, np.nan, 1.0])
    for array in (data, data[:0]):
        for found, wanted in zip(
            wr.unique(wr.from_array(array, chunks=2), True, True, True, axis=-1),
            np.unique(array, True, True, True, axis=-1),
            strict=True,
        ):
            same(found, wanted)


def test_shapes_and_scalars():
    x = np.arange(24).reshape(4, 6) % 5
    lazy = wr.from_array(x, chunks=(3, 4))
    same(wr.unique_inverse(lazy).inverse_indices, np.unique_inverse(x).inverse_indices)
    same(wr.unique_values(lazy), np.unique(x))
    same(wr.isin(lazy, [1, 3]), np.isin(x, [1, 3]))
    same(wr.searchsorted(wr.arange(9, chunks=2), lazy), x)
    same(wr.searchsorted(np.arange(9.0), 2.5), np.int64(3))
    same(wr.unique(wr.asarray(3)), np.array([3]))
    same(wr.unique_inverse(wr.asarray(3)).inverse_indices, np.array(0))
    same(wr.union1d(lazy, 7.5), np.union1d(x, 7.5))


def test_lengths_are_found_when_they_are_needed():
    x = wr.map_blocks(np.remainder, wr.arange(40, chunks=9), 7, dtype=np.int64)
    values, counts = wr.unique_counts(x)
    assert values.shape == counts.shape == (None,)
    assert (counts * values).sum().compute() == x.sum().compute()
    assert values.shape == (7,)


def test_bins():
    x = np.linspace(-1, 9, 53)
    for bins in ([0, 1, 2.5], [4.0, 1], [2]):
        for right in (False, True):
            same(np.digitize(wr.from_array(x, chunks=9), bins, right), np.digitize(x, bins, right))
            same(wr.digitize(x, wr.from_array(np.array(bins), chunks=1), right), np.digitize(x, bins, right))


def test_a_large_table_is_counted_chunk_by_chunk(monkeypatch):
    monkeypatch.setattr(coalesce, "SMALLEST", 1 << 16)
    table = np.arange(0, 200_000, 2)
    lazy = wr.from_array(table, chunks=30_000)
    for n in (5, 300_000):
        x = np.arange(n) * 3 % 210_000
        found = wr.searchsorted(lazy, wr.from_array(x, chunks=100_000))
        assert len(found.expr.operands[0].shape) in (1, 2)
        same(found, np.searchsorted(table, x))
        same(wr.isin(x, lazy), np.isin(x, table))


def test_errors_name_the_argument():
    x = wr.arange(10, chunks=3)
    for call, argument in (
        (lambda: wr.searchsorted(x, 3, "middle"), "side"),
        (lambda: wr.searchsorted(x.reshape(2, 5), 3), "a"),
        (lambda: wr.searchsorted(x, 3, sorter=[1, 2]), "sorter"),
        (lambda: wr.digitize(x, [1, 3, 2]), "bins"),
        (lambda: wr.digitize(x * 1j, [1, 3]), "x"),
        (lambda: wr.isin(x, x, kind="hash"), "kind"),
        (lambda: wr.unique(x, axis=1), "axis"),
    ):
        with pytest.raises(wr.WindrowError, match=f"argument '{argument}'"):
            call()
