"""What a climate scientist does with xarray: an operation is a function of the system and of daily data on a grid.

The data is `(time, lat, lon)`. Each function is written as for any engine of xarray's, and returns an object of
xarray's, or the path of a store that it wrote. For medians and quantiles of groups, series are whole in chunks, as dask
wants it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from .systems.base import System

MONTH, DAY = "time.month", "time.dayofyear"


def cosines(a: Any) -> Any:
    """Return the weights of latitudes."""
    return np.cos(np.deg2rad(a.lat))


def gappy(a: Any) -> Any:
    """Return the data without what is cold."""
    return a.where(a > 270)


def series(a: Any) -> Any:
    """Return the data of one point."""
    return a.isel(lat=a.sizes["lat"] // 2, lon=a.sizes["lon"] // 2)


def histogram(at: System, a: Any) -> Any:
    """Return counts of values."""
    return at.labelled(np.histogram(a.data, bins=50, range=(200, 350))[0], ("bin",))


def spectrum(at: System, a: Any) -> Any:
    """Return the power of each frequency, with a function of the user's."""
    import xarray as xr

    def power(block: Any) -> Any:
        return np.abs(np.fft.rfft(block, axis=-1)) ** 2

    lazily = {"dask": "parallelized", "output_dtypes": [np.float64]} if at.manager else {}
    sizes = {"dask_gufunc_kwargs": {"output_sizes": {"freq": a.sizes["time"] // 2 + 1}}} if at.manager else {}
    whole = at.chunk(a, time=-1, lat=9, lon=16)
    return xr.apply_ufunc(
        power, whole, input_core_dims=[["time"]], output_core_dims=[["freq"]], **lazily, **sizes
    ).mean(("lat", "lon"))


def detrended(a: Any) -> Any:
    """Return the data less its trend."""
    import xarray as xr

    return a - xr.polyval(a.time, a.polyfit("time", 1).polyfit_coefficients)


def concat(a: Any) -> Any:
    """Return two parts as one, and its mean."""
    import xarray as xr

    half = a.sizes["time"] // 2
    return xr.concat([a.isel(time=slice(half)), a.isel(time=slice(half, None))], "time").mean("time")


def together(a: Any) -> Any:
    """Return several statistics in one data set."""
    import xarray as xr

    return xr.Dataset({"mean": a.mean("time"), "std": a.std("time"), "min": a.min("time"), "max": a.max("time")})


def points(a: Any) -> Any:
    """Return series of points here and there."""
    import xarray as xr

    rng = np.random.default_rng(0)
    at_lat = xr.DataArray(rng.integers(0, a.sizes["lat"], 40), dims="point")
    at_lon = xr.DataArray(rng.integers(0, a.sizes["lon"], 40), dims="point")
    return a.isel(lat=at_lat, lon=at_lon)


def xr_(name: str) -> Callable[..., Any]:
    """Return a function of xarray's by its name."""
    import xarray as xr

    return getattr(xr, name)


OPERATIONS: dict[str, Callable[[System, Any], Any]] = {
    "mean-all": lambda at, a: a.mean(),
    "mean-time": lambda at, a: a.mean("time"),
    "sum-time": lambda at, a: a.sum("time"),
    "min-time": lambda at, a: a.min("time"),
    "max-time": lambda at, a: a.max("time"),
    "std-time": lambda at, a: a.std("time"),
    "var-time": lambda at, a: a.var("time"),
    "count": lambda at, a: gappy(a).count("time"),
    "zonal-mean": lambda at, a: a.mean("lon"),
    "weighted-mean": lambda at, a: a.weighted(cosines(a)).mean(("lat", "lon")),
    "weighted-std": lambda at, a: a.weighted(cosines(a)).std(("lat", "lon")),
    "several-statistics": lambda at, a: together(a),
    "median-time": lambda at, a: a.median("time"),
    "quantile-time": lambda at, a: a.quantile(0.9, "time"),
    "quantiles-time": lambda at, a: a.quantile([0.05, 0.5, 0.95], "time"),
    "argmax-time": lambda at, a: a.argmax("time"),
    "idxmax-time": lambda at, a: a.idxmax("time"),
    "month-means": lambda at, a: a.groupby(MONTH).mean(),
    "month-sums": lambda at, a: a.groupby(MONTH).sum(),
    "month-max": lambda at, a: a.groupby(MONTH).max(),
    "month-std": lambda at, a: a.groupby(MONTH).std(),
    "month-medians": lambda at, a: at.chunk(a, time=-1, lat=10, lon=24).groupby(MONTH).median(),
    "month-quantiles": lambda at, a: at.chunk(a, time=-1, lat=10, lon=24).groupby(MONTH).quantile(0.9),
    "month-anomalies": lambda at, a: a.groupby(MONTH) - a.groupby(MONTH).mean(),
    "season-means": lambda at, a: a.groupby("time.season").mean(),
    "year-and-month": lambda at, a: a.groupby(["time.year", MONTH]).mean(),
    "day-of-year": lambda at, a: a.groupby(DAY).mean(),
    "day-of-year-anomalies": lambda at, a: a.groupby(DAY) - a.groupby(DAY).mean(),
    "bins-of-latitudes": lambda at, a: a.groupby_bins("lat", np.linspace(-90, 90, 7)).mean(),
    "resample-days-mean": lambda at, a: a.resample(time="D").mean(),
    "resample-days-max": lambda at, a: a.resample(time="D").max(),
    "resample-5-days": lambda at, a: a.resample(time="5D").mean(),
    "resample-months-mean": lambda at, a: a.resample(time="MS").mean(),
    "resample-months-max": lambda at, a: a.resample(time="MS").max(),
    "resample-seasons": lambda at, a: a.resample(time="QS-DEC").mean(),
    "resample-years-sum": lambda at, a: a.resample(time="YS").sum(),
    "rolling-mean": lambda at, a: a.rolling(time=28).mean(),
    "rolling-sum": lambda at, a: a.rolling(time=28).sum(),
    "rolling-max": lambda at, a: a.rolling(time=28).max(),
    "rolling-construct": lambda at, a: a.rolling(time=7, center=True).construct("window").mean("window"),
    "coarsen-time": lambda at, a: a.coarsen(time=7, boundary="trim").mean(),
    "coarsen-grid": lambda at, a: a.coarsen(lat=4, lon=4, boundary="trim").mean(),
    "ffill": lambda at, a: gappy(a).ffill("time"),
    "bfill": lambda at, a: gappy(a).bfill("time"),
    "fillna": lambda at, a: gappy(a).fillna(a.mean("time")),
    "dropna": lambda at, a: gappy(a).mean("lon").dropna("lat", how="any"),
    "cumsum": lambda at, a: a.cumsum("time"),
    "cumulative-mean": lambda at, a: a.cumulative("time").mean(),
    "diff": lambda at, a: a.diff("time"),
    "shift": lambda at, a: a - a.shift(time=1),
    "roll": lambda at, a: a.roll(lon=a.sizes["lon"] // 2, roll_coords=True),
    "pad": lambda at, a: a.pad(lon=4, mode="wrap"),
    "where": lambda at, a: a.where(a > 280, 0),
    "clip": lambda at, a: a.clip(260, 300),
    "days-above": lambda at, a: (a > 290).sum("time"),
    "standardised": lambda at, a: (a - a.mean("time")) / a.std("time"),
    "sel": lambda at, a: a.sel(time=slice("2001", "2002"), lat=slice(-30, 30)).mean("time"),
    "isel-steps": lambda at, a: a.isel(time=slice(None, None, 30)),
    "nearest": lambda at, a: a.sel(lat=41.3, lon=2.1, method="nearest"),
    "points": lambda at, a: points(a),
    "interp-grid": lambda at, a: a.interp(lat=np.linspace(-80, 80, 40), lon=np.linspace(-170, 170, 60)),
    "interp-time": lambda at, a: a.interp(time=a.time[:-1:10] + np.timedelta64(6, "h")),
    "concat": lambda at, a: concat(a),
    "trend": lambda at, a: a.polyfit("time", 1),
    "detrended": lambda at, a: detrended(a),
    "differentiate": lambda at, a: a.differentiate("lon"),
    "correlation": lambda at, a: xr_("corr")(a, series(a), "time"),
    "covariance": lambda at, a: xr_("cov")(a, a.shift(time=1), "time"),
    "dot": lambda at, a: xr_("dot")(a, cosines(a), dim="lat"),
    "stack": lambda at, a: a.stack(point=("lat", "lon")).mean("time").unstack("point"),
    "sortby": lambda at, a: a.sortby("lat", ascending=False).mean("lon"),
    "histogram": histogram,
    "spectrum": spectrum,
    "to-zarr": lambda at, a: at.to_zarr((a - 273.15).rename("a").drop_encoding(), "celsius.zarr"),
    "to-zarr-series": lambda at, a: at.to_zarr(at.chunk(a, time=-1, lat=10, lon=24).drop_encoding(), "series.zarr"),
    "to-zarr-months": lambda at, a: at.to_zarr(a.groupby(MONTH).mean().drop_encoding(), "months.zarr"),
}
"""By name."""
