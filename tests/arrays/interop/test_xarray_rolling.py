"""Rolling and cumulative windows of xarray: one pass, whatever their length."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from support.pairs import pairs

xr = pytest.importorskip("xarray")

VALUES = np.random.default_rng(0).normal(size=(60, 4, 6)) * 5
NAMES = ("sum", "mean", "max", "min", "prod", "count")


def field(kind):
    values = VALUES.astype(kind)
    if values.dtype.kind == "f":
        values[np.random.default_rng(1).random(values.shape) < 0.2] = np.nan
        values[20:30, 1] = np.nan
    return xr.DataArray(values, dims=("t", "y", "x"), attrs={"units": "K"})


def lazy(array, **chunks):
    return array.chunk(chunks, chunked_array_type="windrow")


@pytest.mark.parametrize(("kind", "window", "chunk"), pairs(["f4", "i4", "bool"], [1, 5, 28, 60], [1, 7, -1]))
def test_windows_are_those_of_numpys_arrays(kind, window, chunk):
    plain = field(kind)
    given = lazy(plain, t=chunk, y=3)
    several = []
    for options in ({}, {"center": True, "min_periods": min(3, window)}):
        for name in NAMES:
            found, expected = (getattr(each.rolling(t=window, **options), name)() for each in (given, plain))
            assert (found.dtype, found.attrs, type(found.data)) == (expected.dtype, expected.attrs, wr.Array), name
            several.append((found, expected))
    for value, (found, expected) in zip(wr.compute(*(f.data for f, _ in several)), several, strict=True):
        xr.testing.assert_allclose(found.copy(data=value), expected, rtol=1e-3, atol=1e-4)


STATISTICS = ("std", "var", "median", "argmax", "argmin")


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:All-NaN", "ignore:Mean of empty")
@pytest.mark.parametrize("kind", ["f4", "f8", "i4", "u2"])
@pytest.mark.parametrize("window", [1, 2, 5, 28, 60])
def test_statistics_of_windows_are_those_of_numpys_arrays(kind, window):
    plain = np.abs(field(kind)) if kind == "u2" else field(kind)
    given = lazy(plain, t=7, y=3)
    several = []
    for options in ({}, {"center": True, "min_periods": min(3, window)}):
        for name in STATISTICS:
            found, expected = (getattr(each.rolling(t=window, **options), name)() for each in (given, plain))
            assert (found.dtype, found.attrs, type(found.data)) == (expected.dtype, expected.attrs, wr.Array), name
            several.append((name, found, expected))
    for value, (name, found, expected) in zip(wr.compute(*(f.data for _, f, _ in several)), several, strict=True):
        exact = name not in ("std", "var")
        # xarray goes on from window to window, and is off by the root of what that leaves where all are equal.
        rtol, atol = (0, 0) if exact else (2e-5, 1e-3 if kind == "f4" else 1e-6)
        np.testing.assert_allclose(value, expected, rtol=rtol, atol=atol, err_msg=name)
        assert found.dims == expected.dims


def test_spreads_of_windows_take_degrees_of_freedom_and_keep_their_digits_beside_outliers():
    plain = field("f8").fillna(0)
    plain[30] = 1e9
    given = lazy(plain, t=11)
    found = given.rolling(t=6).var(ddof=1)
    windows = np.lib.stride_tricks.sliding_window_view(plain.values, 6, axis=0)
    np.testing.assert_allclose(found.values[5:], windows.var(-1, ddof=1), rtol=1e-12)
    assert np.isnan(given.rolling(t=1).std(ddof=1)).all()
    longest = given.rolling(t=60, min_periods=1).std()
    np.testing.assert_allclose(longest.values[-1], plain.std("t"), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
@pytest.mark.parametrize("name", ["std", "var"])
@pytest.mark.parametrize("window", [1, 2, 6])
def test_spreads_of_windows_with_infinities_are_nan_as_numpys_are(name, window):
    plain = field("f8")
    plain[10, 1:3], plain[40, 2] = np.inf, -np.inf
    plain = plain.fillna(0) if window == 2 else plain
    value = getattr(lazy(plain, t=7).rolling(t=window, min_periods=1), name)().values
    windows = np.lib.stride_tricks.sliding_window_view(plain.values, window, axis=0)
    with np.errstate(invalid="ignore"):
        expected = getattr(np, f"nan{name}")(windows, axis=-1)
    np.testing.assert_allclose(value[window - 1 :], expected, rtol=1e-12, atol=1e-12)
    assert np.isnan(value[10, 1:3]).all()


@pytest.mark.parametrize("name", ["sum", "max", "median", "std"])
def test_windows_of_numbers_in_another_byte_order_are_reduced_to_native_ones(name):
    swapped = lazy(field(">f4"), t=7)
    for window in (5, 60):
        found, expected = (getattr(x.rolling(t=window, min_periods=2), name)() for x in (swapped, swapped.astype("f4")))
        assert found.dtype == found.values.dtype == np.dtype("=f4")
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_of_windows_hold_no_windows(name):
    x = xr.DataArray(wr.ones((20_000, 50), chunks=(5_000, 50), dtype="f4"), dims=("t", "x"))
    found = getattr(x.rolling(t=500, center=True), name)()
    assert wr.explain(found.data).peak_bytes < 60e6  # windows would be 2 GB
    assert found.data.chunks[0] == x.data.chunks[0]


def test_medians_of_windows_need_no_other_library(monkeypatch):
    import sys

    plain = field("f4")
    wanted = plain.rolling(t=5, min_periods=2).median()
    monkeypatch.setitem(sys.modules, "bottleneck", None)
    found = lazy(plain, t=7).rolling(t=5, min_periods=2).median()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "count"])
def test_cumulative_windows(name):
    plain = field("f8")
    found, expected = (getattr(each.cumulative("t"), name)() for each in (lazy(plain, t=7), plain))
    assert found.dtype == expected.dtype
    xr.testing.assert_allclose(found.compute(), expected)


def test_windows_that_begin_with_the_array_are_never_made():
    """Windows as long as the axis, all side by side, would be 8 TB."""
    x = xr.DataArray(wr.ones((1_000_000,), chunks=100_000), dims="t")
    for found in (x.cumulative("t").mean(), x.cumulative("t").max()):
        assert wr.explain(found.data).peak_bytes < 100e6
        assert float(found.max().compute()) == 1
    longest = x.rolling(t=400_000).mean()
    assert wr.explain(longest.data).peak_bytes < 200e6
    assert float(longest[-1].compute()) == 1


def test_what_windows_are_over_is_read_once():
    x = wr.from_array(VALUES, chunks=(15, 4, 6))
    for name in NAMES:
        stages = wr.explain(getattr(xr.DataArray(x, dims=("t", "y", "x")).rolling(t=7), name)().data).stages
        assert sum(stage.bytes_read for stage in stages) <= VALUES.nbytes * 1.5, name
        assert len(stages) <= 2 + (name == "count")


@pytest.mark.parametrize("window", [3, 7])
def test_results_have_the_arrays_chunks(tmp_path, window):
    given = lazy(field("f4"), t=7)
    found = given.rolling(t=window).mean()
    assert found.chunks == given.chunks
    found.to_dataset(name="v").to_zarr(tmp_path / "v", consolidated=False)


@pytest.mark.filterwarnings("ignore:Mean of empty", "ignore:All-NaN", "ignore:invalid value")
@pytest.mark.parametrize("kind", ["f4", "f8", "i4"])
@pytest.mark.parametrize("window", [{"t": 3}, {"t": 30}, {"t": 7, "x": 3}])
@pytest.mark.parametrize("center", [False, True])
def test_reductions_of_windows_that_construct_makes_make_none(kind, window, center):
    plain = field(kind)
    given = lazy(plain, t=11, y=3)
    several = []
    for x in (given, plain):
        windows = x.rolling(window, center=center).construct({each: f"{each}_window" for each in window})
        axes = [f"{each}_window" for each in window]
        made = [getattr(windows, name)(axes) for name in ("mean", "sum", "max", "min", "count")]
        made += [getattr(windows, name)(axes, skipna=False) for name in ("mean", "max")]
        several.append([*made, (2 * windows - 1).sum(axes)])
    for found, expected in zip(*several, strict=True):
        assert found.dtype == expected.dtype
        assert "sliding_window_view" not in str(wr.explain(found.data))
    for found, expected in zip(wr.compute(*(each.data for each in several[0])), several[1], strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-4)
