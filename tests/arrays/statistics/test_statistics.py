"""Reductions that pass over NaN, covariances, averages, comparisons of whole arrays: against NumPy's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.arrays import same
from support.pairs import pairs

RNG = np.random.default_rng(5)
PLAIN = RNG.uniform(0.5, 1.5, (7, 5, 6))
HOLES = np.where(RNG.random(PLAIN.shape) < 0.3, np.nan, PLAIN)
HOLES[2, 1] = np.nan
DATA = {
    "f8": HOLES,
    "f4": HOLES.astype("f4"),
    "f2": HOLES.astype("f2"),
    "c16": HOLES + 1j * PLAIN,
    "i4": RNG.integers(-3, 4, (7, 5, 6)).astype("i4"),
    "?": PLAIN > 1,
}
CHUNKS = [-1, (3, 2, 4), ((1, 4, 2), (5,), (2, 3, 1))]


def numpys(function, *args, **keywords):
    """What NumPy gives, without its warnings."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*args, **keywords)


def tolerance(dtype):
    return {"f2": 1e-2, "f4": 1e-5}.get(np.dtype(dtype).str[1:], 1e-12)


NANS = ["nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd"]


@pytest.mark.parametrize(("name", "dtype", "axis"), pairs(NANS, list(DATA), [None, 0, -1, (0, 2), ()]))
def test_reductions_pass_over_nan(name, dtype, axis):
    data = DATA[dtype]
    if dtype == "c16" and name in ("nanvar", "nanstd"):
        data = np.where(np.isnan(data), np.nan, data)
    if dtype == "?" and name in ("nanvar", "nanstd", "nanmin", "nanmax") and axis == ():
        return
    for number, chunks in enumerate(CHUNKS):
        keepdims = number == 1
        expected = numpys(getattr(np, name), data, axis=axis, keepdims=keepdims)
        lazy = getattr(np, name)(wr.from_array(data, chunks=chunks), axis=axis, keepdims=keepdims)
        exact = dtype in ("i4", "?") or name in ("nanmin", "nanmax")
        same(lazy, expected, 0 if exact and name not in ("nanmean", "nanvar", "nanstd") else tolerance(dtype), 1e-3)


@pytest.mark.parametrize("name", ["nanargmin", "nanargmax"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_positions_pass_over_nan(name, axis):
    data = HOLES.copy()
    data[2, 1, :] = 1
    data[0, :, :] = 2
    data[:, 0, :] = 3
    for chunks in CHUNKS:
        lazy = getattr(wr, name)(wr.from_array(data, chunks=chunks), axis=axis)
        same(lazy, getattr(np, name)(data, axis=axis))
    whole = getattr(wr, name)(wr.from_array(DATA["i4"], chunks=2), axis, keepdims=True)
    same(whole, getattr(np, name)(DATA["i4"], axis, keepdims=True))


def test_nothing_but_nan():
    x = wr.from_array(np.array([[np.nan, np.nan], [1.0, np.nan]]), chunks=1)
    same(wr.nanmin(x, axis=1), np.array([np.nan, 1]))
    same(wr.nanmean(x, axis=1), np.array([np.nan, 1]))
    same(wr.nanvar(x, axis=1, ddof=1), np.array([np.nan, np.nan]))
    same(wr.nansum(x, axis=1), np.array([0.0, 1]))
    with pytest.raises(ValueError, match="all-NaN"):
        wr.nanargmin(x, axis=1).compute()


def test_where_initial_and_known_means():
    where = RNG.random(HOLES.shape) < 0.7
    for chunks in CHUNKS:
        x, mask = wr.from_array(HOLES, chunks=chunks), wr.from_array(where, chunks=4)
        same(wr.nansum(x, 1, initial=4.0, where=mask), np.nansum(HOLES, 1, initial=4.0, where=where), 1e-12)
        same(wr.nanprod(x, 1, initial=4.0, where=mask), np.nanprod(HOLES, 1, initial=4.0, where=where), 1e-12)
        same(wr.nanmin(x, 1, initial=0.9, where=mask), np.nanmin(HOLES, 1, initial=0.9, where=where))
        same(wr.nanmax(x, 1, initial=0.9, where=mask), np.nanmax(HOLES, 1, initial=0.9, where=where))
        same(wr.nanmean(x, 1, where=mask), numpys(np.nanmean, HOLES, 1, where=where), 1e-12)
        same(wr.nanvar(x, 0, where=mask, ddof=1), numpys(np.nanvar, HOLES, 0, where=where, ddof=1), 1e-10)
        mean = np.nanmean(HOLES, 0, keepdims=True)
        same(wr.nanstd(x, 0, mean=mean), numpys(np.nanstd, HOLES, 0, mean=mean), 1e-10)
        same(wr.nanstd(x, 0, correction=1), numpys(np.nanstd, HOLES, 0, correction=1), 1e-10)
        same(wr.nansum(x, dtype="f4"), np.nansum(HOLES, dtype="f4"), 1e-5)


def test_nan_of_empty_arrays():
    empty = wr.zeros((0, 3))
    same(wr.nansum(empty, axis=0), np.zeros(3))
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        same(wr.nanmean(empty, axis=0), np.full(3, np.nan))
    same(wr.nanvar(empty, axis=1), np.zeros(0))
    same(wr.nanmax(empty, axis=0, initial=2), np.full(3, 2.0))
    with pytest.raises(ValueError, match="nanmax"):
        wr.nanmax(empty, axis=0)


def test_nan_bad_arguments():
    x = wr.ones(4)
    held = np.zeros(())
    assert wr.nansum(x, out=held) is held
    assert held == 4
    with pytest.raises(ValueError, match="initial"):
        wr.nanmin(x, where=np.ones(4, bool))
    with pytest.raises(ValueError, match="correction"):
        wr.nanvar(x, ddof=1, correction=1)
    with pytest.raises(TypeError, match="dtype"):
        wr.nanmean(x, dtype=int)
    with pytest.raises(np.exceptions.AxisError):
        wr.nanstd(x, axis=1)


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax"])
def test_nan_errors_name_what_was_called(name):
    call = getattr(wr, name)
    texts = wr.from_array(np.array(["a", "b"]))
    with pytest.raises(wr.DTypeError, match=rf"^{name}: argument 'a' is dtype\('<U1'\); expected an array of numbers"):
        call(texts)
    for x in (wr.ones(4), wr.ones(4, dtype=int)):
        with pytest.raises(wr.AxisError, match=rf"^{name}: argument 'axis'"):
            call(x, axis=3)
        with pytest.raises(wr.ArgumentError, match=rf"^{name}: argument 'keepdims'"):
            call(x, keepdims=3)
        if name not in ("nanmin", "nanmax"):
            with pytest.raises(wr.DTypeError, match=rf"^{name}: argument 'dtype'"):
                call(x, dtype="U3")
        if name in ("nansum", "nanprod"):
            with pytest.raises(wr.ShapeError, match=rf"^{name}: argument 'where'"):
                call(x, where=np.ones((2, 4), bool))


@given(st.integers(0, 2**32), st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 9))
def test_nan_reductions_on_any_grid(seed, sizes, step):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((sum(sizes), 8))
    data[rng.random(data.shape) < 0.4] = np.nan
    x = wr.from_array(data, chunks=(tuple(sizes), step))
    for name in ("nansum", "nanmin", "nanmean", "nanvar"):
        same(getattr(wr, name)(x, axis=0), numpys(getattr(np, name), data, axis=0), 1e-9, 1e-12)
    if not np.isnan(data).all():
        same(wr.nanargmax(x), np.nanargmax(data))


TABLE = RNG.standard_normal((4, 60))
OTHER = RNG.standard_normal((2, 60))
TIMES = RNG.integers(0, 4, 60)
HEAVY = RNG.random(60)


@pytest.mark.parametrize("chunks", [-1, (2, 17), ((1, 3), (20, 1, 39))])
def test_cov_and_corrcoef(chunks):
    x, y = (
        wr.from_array(TABLE, chunks=chunks),
        wr.from_array(OTHER, chunks=chunks if chunks != ((1, 3), (20, 1, 39)) else 9),
    )
    for keywords in (
        {},
        {"bias": True},
        {"ddof": 3},
        {"fweights": TIMES},
        {"aweights": HEAVY},
        {"fweights": TIMES, "aweights": HEAVY},
        {"fweights": TIMES, "aweights": HEAVY, "ddof": 0},
        {"dtype": "f4"},
    ):
        rtol = 1e-4 if "dtype" in keywords else 1e-11
        same(np.cov(x, **keywords), np.cov(TABLE, **keywords), rtol, 1e-13)
        same(np.cov(x, y, **keywords), np.cov(TABLE, OTHER, **keywords), rtol, 1e-13)
        same(wr.cov(x.T, y.T, False, **keywords), np.cov(TABLE.T, OTHER.T, False, **keywords), rtol, 1e-13)
    same(wr.cov(x[0]), np.cov(TABLE[0]), 1e-11)
    same(wr.cov(x[0], x[1]), np.cov(TABLE[0], TABLE[1]), 1e-11)
    same(np.corrcoef(x), np.corrcoef(TABLE), 1e-11)
    same(np.corrcoef(x, y, rowvar=True), np.corrcoef(TABLE, OTHER), 1e-11, 1e-13)
    same(wr.corrcoef(x[0]), np.corrcoef(TABLE[0]))
    turned = TABLE + 1j * TABLE[::-1]
    same(wr.cov(wr.from_array(turned, chunks=chunks)), np.cov(turned), 1e-11, 1e-13)
    same(wr.corrcoef(wr.from_array(turned, chunks=chunks)), np.corrcoef(turned), 1e-11, 1e-13)
    same(wr.cov(wr.from_array((TABLE * 9).astype("i4"), chunks=chunks)), np.cov((TABLE * 9).astype("i4")), 1e-11, 1e-13)


def test_cov_of_little():
    assert wr.cov(wr.zeros((0, 3))).shape == (0, 0)
    with pytest.warns(RuntimeWarning, match="degrees of freedom"):
        lazy = wr.cov(wr.ones((2, 1)))
    assert np.isnan(lazy.compute()).all()
    for keywords in ({"fweights": [1.5] * 60}, {"fweights": np.ones((2, 2))}, {"aweights": -HEAVY}, {"ddof": 1.5}):
        with pytest.raises((ValueError, TypeError), match="cov"):
            wr.cov(TABLE, **keywords)
    with pytest.raises(ValueError, match="observations"):
        wr.cov(TABLE, OTHER[:, :9])


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "?"])
def test_weights_of_narrow_integers(dtype):
    top = 1 if dtype == "?" else int(np.iinfo(dtype).max)
    x, w = np.array([top, top, 1], dtype), np.array([top, 1, 0], dtype)
    lazy = wr.average(wr.from_array(x, chunks=2), weights=wr.from_array(w, chunks=2))
    np.testing.assert_allclose(lazy.compute(), np.average(x, weights=w))


@pytest.mark.parametrize("chunks", CHUNKS)
def test_average(chunks):
    data = {"f8": PLAIN, "i4": DATA["i4"], "c16": PLAIN + 1j, "f4": PLAIN.astype("f4")}
    weights = RNG.random(PLAIN.shape)
    for dtype, array in data.items():
        x, rtol = wr.from_array(array, chunks=chunks), 1e-5 if dtype == "f4" else 1e-12
        for axis in (None, 1, (0, 2)):
            same(np.average(x, axis), np.average(array, axis), rtol)
            same(np.average(x, axis, weights), np.average(array, axis, weights), rtol, 1e-13)
        for lazy, expected in zip(
            wr.average(x, (2, 0), weights[:, 0, :].T, True),
            np.average(array, (2, 0), weights[:, 0, :].T, True),
            strict=True,
        ):
            same(lazy, expected, rtol, 1e-13)
        for lazy, expected in zip(wr.average(x, 0, returned=True), np.average(array, 0, returned=True), strict=True):
            same(lazy, expected, rtol)


def test_weights_that_average_refuses():
    x = wr.ones((3, 4))
    with pytest.raises(ZeroDivisionError):
        wr.average(x, 1, np.zeros((3, 4))).compute()
    with pytest.raises(TypeError, match="axis"):
        wr.average(x, weights=np.ones(4))
    with pytest.raises(ValueError, match="weights"):
        wr.average(x, 0, np.ones(4))


def test_comparing_whole_arrays():
    data = np.array([[1.0, np.nan], [3, 4]])
    x, y = wr.from_array(data, chunks=1), wr.from_array(data.copy(), chunks=(2, 1))
    for name in ("allclose", "array_equal"):
        for equal_nan in (False, True):
            lazy = getattr(np, name)(x, y, equal_nan=equal_nan)
            assert isinstance(lazy, wr.Array)
            assert lazy.shape == ()
            assert bool(lazy) is bool(getattr(np, name)(data, data, equal_nan=equal_nan))
    assert wr.allclose(x[1], [3 + 1e-9, 4])
    assert not wr.allclose(x[1], [3.1, 4])
    assert wr.allclose(x[1], [3.1, 4], atol=0.2)
    assert not wr.array_equal(x, y[0])
    assert not wr.array_equiv(x[1], wr.ones(3))
    assert wr.array_equiv(x[1], [[3, 4], [3, 4]])
    assert not wr.array_equiv(x[1], [[3, 4], [3, 5]])
    assert wr.array_equal(wr.asarray([1, 2]), wr.asarray([1, 2]), equal_nan=True)
    assert wr.array_equal(wr.zeros((0, 2)), wr.zeros((0, 2)))


@pytest.mark.parametrize("name", ["array_equal", "array_equiv"])
@pytest.mark.parametrize("pair", [(["a", "b"], [1, 2]), ([], np.zeros(0, "U1")), (np.array(["2020"], "M8[Y]"), [1])])
def test_what_cannot_be_compared_is_not_equal(name, pair):
    assert bool(getattr(wr, name)(*pair)) is getattr(np, name)(*pair)


def tasks_of(lazy, stage):
    """How many tasks a stage has, as `explain` tells."""
    (line,) = [line for line in str(lazy.explain()).splitlines() if line.split()[0] == stage]
    return int(line.split()[1])


def test_what_makes_little_of_much_is_no_single_task():
    x = wr.ones((4_000_000, 20), chunks=(200_000, 20))
    assert tasks_of(x.T @ x, "matmul") >= 10
    counts = wr.histogram(wr.ones(20_000_000, chunks=1_000_000), 10, (0, 2))[0]
    assert tasks_of(counts, "histogram") == 20


def test_sums_of_short_rows():
    data = RNG.standard_normal((3001, 7)) * 10.0 ** RNG.integers(-6, 6, (3001, 7))
    for chunks in (-1, (1000, 3), ((1, 2999, 1), (7,))):
        for dtype in ("f8", "f4", "c16"):
            array = data.astype(dtype)
            x, rtol = wr.from_array(array, chunks=chunks), 1e-3 if dtype == "f4" else 1e-9
            same(x.sum(axis=0), array.sum(axis=0), rtol)
            same(x.var(axis=0), array.var(axis=0), rtol)
            same(x.reshape(3001, 7, 1).mean(axis=0), array.reshape(3001, 7, 1).mean(axis=0), rtol, 1e-3)


def test_products_of_long_operands():
    data = RNG.standard_normal((30_000, 6))
    for chunks in (-1, (7000, 4)):
        x = wr.from_array(data, chunks=chunks)
        same(x.T @ x, data.T @ data, 1e-10, 1e-9)
        same(x.T @ x[:, 0], data.T @ data[:, 0], 1e-10, 1e-9)
        same(wr.tensordot(x, x, 2), np.tensordot(data, data, 2), 1e-10)


@pytest.mark.parametrize("name", ["nansum", "nanmean", "nanmax", "nanmin", "nancumsum"])
def test_times_that_are_missing_stay_or_go_as_in_numpy(name):
    times = np.array([1, 2, "NaT", 5], "m8[s]")
    same(getattr(wr, name)(wr.from_array(times, chunks=3)), getattr(np, name)(times))


@pytest.mark.parametrize("name", ["nanvar", "nanstd", "var", "std"])
def test_as_many_degrees_of_freedom_as_elements(name):
    x = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0], [np.nan, np.nan, 2.0]])
    for ddof in (1, 2, 3, 4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(np, name)(x, axis=1, ddof=ddof)
            got = getattr(wr, name)(wr.from_array(x, chunks=2), axis=1, ddof=ddof).compute()
        np.testing.assert_allclose(got, expected)
