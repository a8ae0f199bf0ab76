"""Groups of xarray's and flox's, reduced chunk by chunk, in chunks of whole groups, or at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import windrow as wr

flox = pytest.importorskip("flox.xarray")

DAYS = 200
TIMES = pd.date_range("2003-11-20", periods=DAYS)
LABELS = {
    "in order": np.arange(DAYS) // 30,
    "in turn": np.arange(DAYS) % 7,
    "in runs, twice": np.arange(DAYS) // 20 % 6,
    "by chance": np.random.default_rng(1).integers(0, 9, DAYS),
    "some in none": np.where(np.arange(DAYS) % 11 < 3, np.nan, np.arange(DAYS) // 45),
    "nearly as many": np.arange(DAYS) // 2,
    "each its own": np.arange(DAYS),
}
CHUNKS = [1, 30, (100, 7, 60, 33), -1]


def made(kind, *, missing=0.2):
    values = (np.random.default_rng(0).normal(size=(DAYS, 3, 5)) * 5).astype(kind)
    if missing and values.dtype.kind == "f":
        values[np.random.default_rng(2).random(values.shape) < missing] = np.nan
        values[30:60, 1] = np.nan
    return xr.DataArray(values, dims=("time", "y", "x"), coords={"time": TIMES}, name="v")


def lazy(array, **chunks):
    return array.chunk(chunks, chunked_array_type="windrow")


@pytest.mark.parametrize("chunk", CHUNKS, ids=str)
@pytest.mark.parametrize("labels", LABELS)
def test_groups_along_time(labels, chunk):
    plain = made("f4").assign_coords(k=("time", LABELS[labels]))
    given = lazy(plain.drop_vars("k"), time=chunk, y=2).assign_coords(k=plain.k)
    several = {}
    for func, options in (
        ("mean", {}),
        ("mean", {"skipna": False}),
        ("sum", {"min_count": 3}),
        ("max", {}),
        ("std", {"ddof": 1}),
        ("count", {}),
        ("median", {}),
        ("first", {}),
    ):
        found = getattr(given.groupby("k"), func)(**options)
        assert isinstance(found.data, wr.Array)
        several[f"{func} {options}"] = found, getattr(plain.groupby("k"), func)(**options)
    values = wr.compute(*(found.data for found, _ in several.values()))
    for value, (found, expected) in zip(values, several.values(), strict=True):
        assert found.dtype == expected.dtype
        xr.testing.assert_allclose(found.copy(data=value), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["i2", "u1", "bool", "f8"])
def test_groups_of_other_types(kind):
    plain = made(kind, missing=0).assign_coords(k=("time", LABELS["in runs, twice"]))
    given = lazy(plain.drop_vars("k"), time=30).assign_coords(k=plain.k)
    for func in ("sum", "mean", "min", "max", "var", "prod", "count", "any", "all"):
        found, expected = (getattr(each.groupby("k"), func)() for each in (given, plain))
        assert (found.dtype, isinstance(found.data, wr.Array)) == (expected.dtype, True)
        xr.testing.assert_allclose(found.compute(), expected)


@pytest.mark.parametrize("func", ["mean", "sum", "std", "max", "count", "median"])
@pytest.mark.parametrize("dims", [..., ("y", "x"), ("y", "time")], ids=str)
def test_groups_along_one_of_several_axes_that_are_reduced(func, dims):
    plain = made("f8").assign_coords(y=[-40.0, 5.0, 50.0])
    for bands in ([-90, 0, 90], [-90, -60, 90]):  # the second has a band of no rows
        found = getattr(lazy(plain, time=30, y=2).groupby_bins("y", bands), func)(dims)
        assert isinstance(found.data, wr.Array)
        xr.testing.assert_allclose(found.compute(), getattr(plain.groupby_bins("y", bands), func)(dims))


def test_a_group_that_has_no_elements():
    plain = made("f8")
    given = lazy(plain, time=30)
    for func in ("sum", "mean", "max", "count"):
        found, expected = (
            getattr(each.isel(time=[0, 1, 150, 151]).resample(time="30D"), func)() for each in (given, plain)
        )
        xr.testing.assert_allclose(found.compute(), expected)
    by = plain.time.dt.month
    for func in ("nansum", "nanmean", "nanmax"):
        found, expected = (
            flox.xarray_reduce(each, by, func=func, expected_groups=np.arange(15)) for each in (given, plain)
        )
        xr.testing.assert_allclose(found.compute(), expected)


REGIONS = xr.DataArray(np.arange(15).reshape(3, 5) % 4 - 1, dims=("y", "x"), name="region")


@pytest.mark.parametrize("func", ["mean", "nanmean", "nansum", "nanmax", "count", "nanstd", "var"])
def test_lazy_labels_of_a_direct_call(func):
    plain, regions = made("f8", missing=0.6).isel(time=slice(50)), lazy(REGIONS, y=2, x=3)
    given = lazy(plain, time=20, y=1, x=2)
    options = {"func": func, "expected_groups": np.arange(3)}
    found, expected = flox.xarray_reduce(given, regions, **options), flox.xarray_reduce(plain, REGIONS, **options)
    assert isinstance(found.data, wr.Array)
    xr.testing.assert_allclose(found.compute(), expected)


def test_two_lazy_labels_and_bins():
    plain = made("f8").isel(time=slice(50))
    given, regions = lazy(plain, time=20, y=1, x=2), lazy(REGIONS, y=2, x=3)
    other = xr.DataArray(np.linspace(0, 1, 15).reshape(3, 5), dims=("y", "x"), name="height")
    options = {"func": "mean", "expected_groups": (np.arange(3), [0, 0.4, 1.0]), "isbin": (False, True)}
    found = flox.xarray_reduce(given, regions, lazy(other, x=4), **options)
    assert isinstance(found.data, wr.Array)
    xr.testing.assert_allclose(found.compute(), flox.xarray_reduce(plain, REGIONS, other, **options))


def test_lazy_labels_of_whole_groups_are_refused():
    given, regions = lazy(made("f8"), time=20), lazy(REGIONS, y=2)
    with pytest.raises(
        wr.ArgumentError, match=r"groupby_reduce: argument 'by' is 'a lazy array'; expected labels of NumPy"
    ):
        flox.xarray_reduce(given, regions, func="median", expected_groups=np.arange(3))


@pytest.mark.parametrize("steps", [1, 7, 365])
def test_results_have_chunks_that_zarr_takes(tmp_path, steps):
    plain = made("f4").isel(time=slice(0, 80 if steps == 1 else DAYS))
    given = lazy(plain, time=steps)
    results = {
        "month": lambda x: x.groupby("time.month").mean(),
        "day": lambda x: x.groupby("time.dayofyear").std(),
        "median": lambda x: x.groupby("time.month").median(),
        "resampled": lambda x: x.resample(time="MS").max(),
        "first": lambda x: x.resample(time="10D").first(),
    }
    for name, f in results.items():
        found = f(given)
        assert found.chunks[1:] == ((3,), (5,))
        found.to_dataset(name="v").to_zarr(tmp_path / name, consolidated=False)
        xr.testing.assert_allclose(xr.open_zarr(tmp_path / name, consolidated=False).v, f(plain), rtol=1e-5, atol=1e-5)


def test_months_of_a_chunked_array_read_each_chunk_once():
    """Nothing is brought into another order: blocks are reduced as they are stored, though xarray puts time last."""
    given = lazy(made("f4"), time=30)
    for func in ("mean", "std", "max", "sum"):
        stages = wr.explain(getattr(given.groupby("time.month"), func)().data).stages
        assert sum(stage.bytes_read for stage in stages if stage.bytes_read > 10_000) <= given.nbytes, func
        assert not any("transpose" in stage.name and stage.bytes_held > 40_000 for stage in stages), func


def test_stages_are_named_by_what_the_user_called():
    x = lazy(made("f8"), time=30)
    month = x.groupby("time.month")
    calls = {
        "groupby.mean": month - month.mean(),
        "groupby.max": x.resample(time="MS").max(),
        "groupby.median": month.median(),
        "groupby.cumsum": month.cumsum(),
        "rolling.mean": x.rolling(time=7).mean(),
    }
    inside = ("partials", "field", "finished", "rolled", "_")
    for name, made_of in calls.items():
        plan = made_of.data.explain()
        assert name in {stage.name.partition("(")[0].partition(":")[0] for stage in plan.stages}, (name, plan)
        parts = [part for stage in plan.stages for part in stage.name.split("+")]
        assert not [part for part in parts if part.startswith(inside) or "(_" in part], plan
        assert len(set(plan.remarks)) == len(plan.remarks)
