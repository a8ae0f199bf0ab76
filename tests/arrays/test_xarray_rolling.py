"""Rolling and cumulative windows of xarray: one pass, whatever their length."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr

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


@pytest.mark.parametrize("kind", ["f4", "i4", "bool"])
@pytest.mark.parametrize("window", [1, 5, 28, 60])
@pytest.mark.parametrize("chunk", [1, 7, -1])
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
