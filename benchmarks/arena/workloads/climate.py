"""Coiled's geospatial suite: atmospheric circulation, and hourly climatologies in two forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..registry import workload

if TYPE_CHECKING:
    from ..systems.base import System

HOURS = (0, 6, 12, 18)
HALF = 30
YEARS = (2020, 2021, 2022)
DAYS = 366


@workload("tem")
def tem(at: System) -> Any:
    """ncar-challenge: zonal means and eddies of four variables, as daily means."""
    import pandas as pd
    import xarray as xr

    shape = at.size((240, 8, 181, 360), (48, 2, 9, 12))
    times = pd.date_range("2000-01-01", periods=shape[0], freq="h")
    ds = xr.Dataset(
        {
            name: at.labelled(at.rng(i).random(shape, dtype="float32", chunks=(1, *shape[1:])), DIMS)
            for i, name in enumerate(("u", "v", "t", "w"))
        },
        coords={"time": times},
    )
    zonal = ds.mean("lon")
    eddies = ds - zonal
    fluxes = xr.Dataset({"uv": eddies.u * eddies.v, "vt": eddies.v * eddies.t, "uw": eddies.u * eddies.w}).mean("lon")
    return ds, at.to_zarr(zonal.merge(fluxes).resample(time="D").mean(**at.grouping), "tem.zarr")


DIMS = ("time", "plev", "lat", "lon")


@tem.checked
def _(at: System, found: Any) -> None:
    ds, path = found
    written = at.open_plain(path)
    for day in {0, written.sizes["time"] - 1}:
        hours = slice(24 * day, 24 * day + 24)
        u, v, t, w = (at.part(ds[name].data, hours).astype(np.float64) for name in "uvtw")
        for name, (a, b) in {"uv": (u, v), "vt": (v, t), "uw": (u, w)}.items():
            flux = (a - a.mean(-1, keepdims=True)) * (b - b.mean(-1, keepdims=True))
            np.testing.assert_allclose(written[name][day], flux.mean((0, -1)), rtol=2e-4, atol=2e-6)
        np.testing.assert_allclose(written.w[day], w.mean((0, -1)), rtol=1e-5)


def triangle() -> Any:
    """Return the weights of a window, of mean 1."""
    import xarray as xr

    up = np.linspace(0, 1, HALF + 1)
    weights = np.concatenate([up, up[-2::-1]])
    return xr.DataArray(weights / weights.mean(), dims="window")


def smoothed(years: Any) -> Any:
    """Return the weighted mean over years and windows of days of the year."""
    wide = years.pad(dayofyear=HALF, mode="wrap")
    windows = wide.rolling(dayofyear=2 * HALF + 1, center=True).construct("window")
    return windows.isel(dayofyear=slice(HALF, -HALF)).weighted(triangle()).mean(("window", "year"))


def climatology(block: Any) -> Any:
    """Return the climatology of each hour of a block that has all times."""
    import xarray as xr

    hours = []
    for hour in HOURS:
        years = []
        for _, year in block.sel(time=block.time.dt.hour == hour).groupby("time.year"):
            days = year.assign_coords(time=year.time.dt.dayofyear.data).rename(time="dayofyear")
            years.append(days.reindex(dayofyear=np.arange(1, DAYS + 1), method="ffill"))
        hours.append(smoothed(xr.concat(years, "year")))
    return xr.concat(hours, "hour").transpose("hour", "dayofyear", ...).astype(block.dtype)


WRITTEN = {"hour": 1, "dayofyear": 1, "lat": -1, "lon": -1}


@workload("climatology-blocks", stores=("hourly",))
def climatology_by_blocks(at: System) -> Any:
    """climatology.py: pencils, a function of each, days."""
    import xarray as xr

    data = at.open("hourly").a
    if at.manager is None:
        return at.to_zarr(climatology(data.load()).drop_vars("dayofyear").rename("a"), "climatology.zarr")
    data = data.chunk(time=-1, **at.size({"lat": 13, "lon": 20}, {"lat": 2, "lon": 3}))
    empty = data.isel(time=0, drop=True).expand_dims(hour=len(HOURS), dayofyear=DAYS).chunk(hour=-1, dayofyear=-1)
    template = empty.assign_coords(dayofyear=np.arange(1, DAYS + 1))
    done = xr.map_blocks(climatology, data, template=template).drop_vars("dayofyear")
    return at.to_zarr(done.rename("a").chunk(WRITTEN), "climatology.zarr")


@workload("climatology", stores=("hourly",))
def climatology_highlevel(at: System) -> Any:
    """climatology.py: an index of year, day and hour, and windows of all."""
    import pandas as pd

    data = at.open("hourly").a
    when = data.time.to_index()
    index = pd.MultiIndex.from_arrays([when.year, when.dayofyear, when.hour], names=("year", "dayofyear", "hour"))
    years = data.drop_vars("time").assign_coords(_coordinates(index)).unstack("time")
    done = smoothed(years.ffill("dayofyear", limit=1)).transpose("hour", "dayofyear", "lat", "lon")
    done = done.astype(data.dtype).drop_vars(("hour", "dayofyear")).rename("a")
    return at.to_zarr(done.chunk(WRITTEN) if at.manager else done, "climatology.zarr")


def _coordinates(index: Any) -> Any:
    import xarray as xr

    return xr.Coordinates.from_pandas_multiindex(index, "time")


def _expected(series: Any, when: Any, fill_all: bool) -> Any:
    """Return the climatology of one point: hours by days."""
    years = np.full((len(HOURS), len(YEARS), DAYS), np.nan)
    years[when.hour // 6, when.year - YEARS[0], when.dayofyear - 1] = series
    if fill_all:
        before = np.concatenate([np.full((*years.shape[:2], 1), np.nan), years[..., :-1]], axis=-1)
        years = np.where(np.isnan(years), before, years)
    else:
        years[:, 1:, -1] = years[:, 1:, -2]
    wide = np.concatenate([years[..., -HALF:], years, years[..., :HALF]], axis=-1)
    windows = np.lib.stride_tricks.sliding_window_view(wide, 2 * HALF + 1, axis=-1)
    weights = np.asarray(triangle())
    valid = ~np.isnan(windows)
    total = (np.where(valid, windows, 0) * weights).sum((1, -1))
    return total / (valid * weights).sum((1, -1))


def _check(at: System, path: str, fill_all: bool) -> None:
    written, data = at.open_plain(path).a, at.open_plain(at.stored("hourly")).a
    assert written.shape == (len(HOURS), DAYS, *data.shape[1:]), written.shape
    when = data.time.to_index()
    columns = data[:, :: max(1, data.shape[1] // 3), :: max(1, data.shape[2] // 3)].values.astype(np.float64)
    got = written[:, :, :: max(1, data.shape[1] // 3), :: max(1, data.shape[2] // 3)].values
    for i, j in np.ndindex(columns.shape[1:]):
        np.testing.assert_allclose(got[:, :, i, j], _expected(columns[:, i, j], when, fill_all), rtol=1e-4)


climatology_by_blocks.checked(lambda at, path: _check(at, path, False))
climatology_highlevel.checked(lambda at, path: _check(at, path, True))
