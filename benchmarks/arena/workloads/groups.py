"""Means of groups and over time: county means and flox's own benchmarks, cross means, anomalies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..registry import workload

if TYPE_CHECKING:
    from ..systems.base import System


def _county(at: System, lazy: bool) -> Any:
    import flox.xarray

    shape, step = at.size(((112, 1800, 4500), (56, 350, 350)), ((8, 60, 150), (4, 35, 35)))
    values = at.labelled(at.rng(1).random(shape, chunks=step), ("time", "y", "x"))
    zones = np.outer(np.repeat(np.arange(30), shape[1] // 30), np.repeat(np.arange(30), shape[2] // 30))
    zones = zones.astype(np.int32)
    held = at.xp.from_array(zones, chunks=step[1:]) if lazy else zones
    labels = at.labelled(held, ("y", "x"), name="county")
    known = np.setdiff1d(np.unique(zones), [0])
    return (
        values,
        zones,
        known,
        at.compute(flox.xarray.xarray_reduce(values, labels, func="mean", expected_groups=known, **at.grouping)),
    )


def _county_checked(at: System, found: Any) -> None:
    values, zones, known, means = found
    assert dict(means.sizes) == {"time": values.sizes["time"], "county": len(known)}, means.sizes
    for time in {0, len(values) - 1}:
        slab = at.part(values.data, slice(time, time + 1))[0]
        sums = np.bincount(zones.ravel(), slab.ravel())[known]
        got = means.transpose("time", "county").values[time]
        np.testing.assert_allclose(got, sums / np.bincount(zones.ravel())[known], rtol=1e-10)


@workload("county-means")
def county(at: System) -> Any:
    """zonal_average.py by flox: labels in memory."""
    return _county(at, False)


@workload("county-means-lazy", without={"numpy": "it has no lazy labels"})
def county_lazy(at: System) -> Any:
    """zonal_average.py by flox: lazy labels."""
    return _county(at, True)


county.checked(_county_checked)
county_lazy.checked(_county_checked)


def _hourly(at: System) -> Any:
    import pandas as pd

    shape = at.size((181, 360, 26_304), (3, 4, 1464))
    times = pd.date_range("2001-01-01", periods=shape[2], freq="h")
    data = at.rng(1).random(shape, chunks=(*shape[:2], 48))
    return at.labelled(data, ("lat", "lon", "time"), coords={"time": times})


def _hourly_checked(at: System, found: Any) -> None:
    values, by, means = found
    points = at.part(values.data, slice(0, 2), slice(0, 3)).reshape(-1, values.sizes["time"])
    labels = by(values.time.to_index())
    dim = next(name for name in means.dims if name not in ("lat", "lon"))
    got = means.transpose("lat", "lon", dim).values[:2, :3].reshape(len(points), -1)
    for series, mean in zip(points, got, strict=True):
        _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
        np.testing.assert_allclose(mean, np.bincount(inverse, series) / counts, rtol=1e-10)


@workload("era5-day-of-year")
def day_of_year(at: System) -> Any:
    """flox ERA5DayOfYear: mean by day of year."""
    values = _hourly(at)
    return values, lambda when: when.dayofyear, at.compute(values.groupby("time.dayofyear").mean(**at.grouping))


@workload("era5-month-hour")
def month_hour(at: System) -> Any:
    """flox ERA5MonthHour: mean by month and hour together."""
    values = _hourly(at)

    def key(when: Any) -> Any:
        return when.month * 100 + when.hour

    labelled = values.assign_coords(key=("time", key(values.time.to_index())))
    return values, key, at.compute(labelled.groupby("key").mean(**at.grouping))


day_of_year.checked(_hourly_checked)
month_hour.checked(_hourly_checked)


@workload("cross-means")
def cross_means(at: System) -> Any:
    """xr#6709, dask#10384: three means of the same two sources."""
    shape, step = at.size(((200, 1, 987, 1920), 10), ((40, 1, 9, 16), 10))
    dims = ("time", "level", "y", "x")
    u, v = (at.labelled(at.rng(i).random(shape, chunks=(step, *shape[1:])), dims) for i in (1, 2))
    return u, v, at.compute(*(product.mean("time") for product in (u * u, v * v, u * v)))


@cross_means.checked
def _(at: System, found: Any) -> None:
    u, v, means = found
    rows = slice(0, 5)
    a, b = (at.part(x.data, slice(None), slice(None), rows) for x in (u, v))
    for got, product in zip(means, (a * a, b * b, a * b), strict=True):
        np.testing.assert_allclose(got.values[:, rows], product.mean(0), rtol=1e-10)


def _anomaly(at: System, by: str, use_flox: bool) -> Any:
    import xarray as xr

    n, points = at.size((1000, 1_310_720), (60, 500))
    x = at.labelled(at.rng(1).random((n, points), chunks=(1, points)), ("time", "x"))
    x = x.assign_coords({by: ("time", np.arange(n) % 10)})
    with xr.set_options(use_flox=use_flox):
        anomaly = x.groupby(by) - x.groupby(by).mean(**at.grouping)
        return at.compute(anomaly.mean("time"))


def _anomaly_checked(at: System, found: Any) -> None:
    points = at.size(1_310_720, 500)
    assert found.shape == (points,), found.shape
    np.testing.assert_allclose(found.values, 0, atol=1e-13)


@workload("anomaly-mean")
def anomaly(at: System) -> Any:
    """dist#2602 with flox: means of anomalies are zeros."""
    return _anomaly(at, "day", True)


@workload("anomaly-mean-no-flox")
def anomaly_plain(at: System) -> Any:
    """dist#2602, one group after another."""
    return _anomaly(at, "day", False)


anomaly.checked(_anomaly_checked)
anomaly_plain.checked(_anomaly_checked)


@workload("seasonal-anomaly")
def seasonal(at: System) -> Any:
    """xr#5165: days less their seasons' means, to a null store."""
    import pandas as pd

    shape = at.size((1461, 180, 360), (366, 6, 8))
    times = pd.date_range("2001-01-01", periods=shape[0])
    data = at.rng(1).random(shape, chunks=(30, *shape[1:]))
    day = at.labelled(data, ("time", "lat", "lon"), coords={"time": times})
    less = day.groupby("time.season") - day.groupby("time.season").mean(**at.grouping)
    return day, at.null(less.transpose("time", "lat", "lon").data)


@seasonal.checked
def _(at: System, found: Any) -> None:
    day, sink = found
    lat = slice(0, 6)
    values = at.part(day.data, slice(None), lat)
    season = day.time.to_index().month % 12 // 3
    means = np.stack([values[season == s].mean(0) for s in range(4)])
    less = values - means[season]
    for indices, sample, _ in sink.blocks():
        inside = indices[1] < lat.stop
        want = less[np.ix_(indices[0], indices[1][inside], indices[2])]
        np.testing.assert_allclose(np.asarray(sample)[:, inside], want, rtol=1e-9, atol=1e-12)
    assert sum(count for _, _, count in sink.blocks()) == day.size
