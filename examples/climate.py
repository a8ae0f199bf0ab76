"""How much warmer than its month is each day? A year of daily temperatures on a grid, by xarray on Windrow.

The temperature at 2 m, in kelvin, follows a formula, so that anyone can check the numbers:

    T(t, φ, λ) = 288 + 30 (cos²φ - 2/3) - 18 sin φ cos(2π (t - 20) / 365) + 3 cos(3λ - 2π t / 9) cos²φ

The first terms are the mean of a latitude, the third its seasons, and the last a wave that passes by every nine days.
The monthly anomalies are what is left of each day when the mean of its month is taken off: mostly the wave. They are
written to a zarr store by all ranks, read back, and drawn.

    python examples/climate.py
    python -m windrow -n 4 examples/climate.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import windrow as wr

DAYS, STEP, CHUNK = 365, 2.0, 30


def temperatures(step: float, days: int) -> xr.DataArray:
    """Return the temperatures of a grid of so many degrees, lazily: nothing has this size in memory."""
    time = xr.DataArray(pd.date_range("2026-01-01", periods=days), dims="time")
    day = xr.DataArray(wr.arange(days, chunks=CHUNK, dtype="f8"), dims="time")
    latitude = np.arange(-90 + step / 2, 90, step)
    longitude = np.arange(0, 360, step)
    phi, lam = (xr.DataArray(np.deg2rad(x), dims=d) for x, d in ((latitude, "latitude"), (longitude, "longitude")))
    season: Any = np.cos(2 * np.pi * (day - 20) / 365)
    wave = np.cos(3 * lam - 2 * np.pi * day / 9)
    found: xr.DataArray = (
        288 + 30 * (np.cos(phi) ** 2 - 2 / 3) - 18 * np.sin(phi) * season + 3 * wave * np.cos(phi) ** 2
    )
    found = found.transpose("time", "latitude", "longitude").assign_attrs(units="K", long_name="temperature at 2 m")
    return found.assign_coords(time=time, latitude=latitude, longitude=longitude).rename("temperature")


def anomalies(x: xr.DataArray) -> xr.DataArray:
    """Return what is left when the mean of its month is taken off each day."""
    months = x.groupby("time.month")
    return (months - months.mean()).drop_vars("month").rename("anomaly").assign_attrs(units="K")


def draw(x: xr.DataArray, path: Path) -> None:
    """Draw the first of July, and the spread over the year by latitude."""
    from matplotlib.figure import Figure

    figure = Figure((10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(2, 1))
    shown = x.sel(time="2026-07-01").compute()
    mesh = left.pcolormesh(shown.longitude, shown.latitude, shown, cmap="RdBu_r", vmin=-4, vmax=4)
    left.set(xlabel="longitude", ylabel="latitude", title="1 July: warmer or colder than the month")
    figure.colorbar(mesh, ax=left, label="K")
    spread = x.std(("time", "longitude")).compute()
    right.plot(spread, spread.latitude)
    right.set(xlabel="K", title="spread over the year")
    figure.savefig(path)


def main(folder: Path, step: float = STEP) -> None:
    """Compute, write, read back and draw."""
    xr.set_options(chunk_manager="windrow")
    x = temperatures(step, DAYS)
    weights = np.cos(np.deg2rad(x.latitude))
    print(f"{x.nbytes / 1e6:.0f} MB of temperatures in {x.data.npartitions} chunks")
    print(f"mean over the Earth and the year: {float(x.weighted(weights).mean()):.2f} K")
    store = str(folder / "anomalies.zarr")
    anomalies(x).chunk(time=CHUNK, latitude=-1, longitude=-1).to_dataset().to_zarr(store, mode="w", consolidated=False)
    read = xr.open_zarr(store, consolidated=False).anomaly
    print(f"largest anomaly: {float(np.abs(read).max()):.2f} K; spread: {float(read.std()):.3f} K")
    draw(read, folder / "climate.png")
    print(f"written: {store}, {folder / 'climate.png'}")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(Path(given[0]) if given else Path(tempfile.mkdtemp(prefix="windrow-climate-")), *map(float, given[1:]))
