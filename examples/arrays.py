"""A year of made-up thermometers: setting, sorting, quantiles, transforms, linear algebra, files.

40 thermometers are read once an hour. Each has its own level and shares the seasons and the days with the others; some
readings are missing. The lines that this prints are the same in one process and on any number of ranks.

    python examples/arrays.py
    mpirun -n 2 python -m windrow examples/arrays.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import windrow as wr

SENSORS, HOURS = 40, 365 * 24
CHUNKS = (10, 2000)


def readings() -> wr.Array:
    """Make temperatures, sensors by hours; one in a thousand is missing."""
    rng = wr.random.default_rng(7)
    hours = wr.arange(HOURS, dtype=float, chunks=CHUNKS[1])
    seasons = -10 * wr.cos(2 * np.pi * hours / HOURS)
    days = -4 * wr.cos(2 * np.pi * hours / 24)
    level = rng.normal(9, 3, size=(SENSORS, 1), chunks=(CHUNKS[0], 1))
    noise = rng.normal(0, 1.5, size=(SENSORS, HOURS), chunks=CHUNKS)
    found = level + seasons + days + noise
    found[rng.random((SENSORS, HOURS), chunks=CHUNKS) < 0.001] = np.nan
    return found.persist()


def describe(t: wr.Array) -> None:
    """Count, average and rank what is there."""
    missing, mean, spread = wr.compute(np.isnan(t).sum(), np.nanmean(t), np.nanstd(t))
    print(f"readings    {t.size:,} in {t.npartitions} chunks, {missing} missing")
    print(f"all         {mean:.2f} ± {spread:.2f} °C")
    low, middle, high = wr.nanquantile(t, [0.01, 0.5, 0.99]).compute()
    print(f"quantiles   1% {low:.2f}, 50% {middle:.2f}, 99% {high:.2f} °C")
    frosty = t[t < 0]  # how many there are is found when it is needed
    print(f"frost       {len(frosty):,} readings, down to {float(frosty.min()):.2f} °C")
    order = wr.argsort(wr.nanmean(t, axis=1))
    print(f"coldest     sensors {order[:3].compute().tolist()}, warmest {order[-3:].compute().tolist()}")


def whole(t: wr.Array) -> wr.Array:
    """Put each hour's mean where a reading is missing."""
    filled = t.copy()
    filled[np.isnan(filled)] = 0
    there = (~np.isnan(t)).sum(axis=0)
    return wr.where(np.isnan(t), filled.sum(axis=0) / there, t)


def rhythm(t: wr.Array) -> None:
    """Find the two strongest periods in the sensors' mean."""
    mean = t.mean(axis=0)
    power = wr.abs(wr.fft.rfft(mean - mean.mean())) ** 2
    strongest = wr.argsort(power)[::-1][:2].compute()
    periods = [f"{HOURS / k / 24:g} days" for k in strongest.tolist()]
    print(f"periods     {', '.join(periods)}")


def structure(t: wr.Array) -> None:
    """Fit the days' course to the mean, and see how many patterns the sensors share."""
    hours = wr.arange(HOURS, dtype=float, chunks=CHUNKS[1])
    waves = [f(2 * np.pi * hours / period) for period in (24, HOURS) for f in (np.cos, np.sin)]
    design = wr.stack([wr.ones_like(hours), *waves], axis=1)
    q, r = wr.linalg.qr(design)
    fit = wr.linalg.solve(r, q.T @ t.mean(axis=0)).compute()
    print(f"fit         level {fit[0]:.2f}, days {np.hypot(*fit[1:3]):.2f}, seasons {np.hypot(*fit[3:5]):.2f} °C")
    centred = t - t.mean(axis=1, keepdims=True)
    values = wr.linalg.svdvals(centred).compute()
    print(f"patterns    the first explains {values[0] ** 2 / (values**2).sum():.1%}")


def kept(t: wr.Array) -> None:
    """Write the readings and read them again."""
    with tempfile.TemporaryDirectory(prefix="windrow-example-") as folder:
        t.save(Path(folder, "readings"))
        wr.to_parquet(Path(folder, "table"), {"first": t[0], "last": t[-1]})
        again = wr.load(Path(folder, "readings"))
        wr.testing.assert_equal(again, t)
        table = wr.read_parquet(Path(folder, "table"))
        warmer = float((table["last"] > table["first"]).mean())
        print(f"files       {again.npartitions} chunks mapped; last sensor warmer than first in {warmer:.1%} of hours")


def main() -> None:
    t = readings()
    describe(t)
    full = whole(t).persist()
    rhythm(full)
    structure(full)
    kept(full)


if __name__ == "__main__":
    main()
