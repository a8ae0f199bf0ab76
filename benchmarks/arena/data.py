"""The data sets that workloads read: zarr stores of synthetic weather, written once."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAY = 24 * 3600
QUANTUM = 1 / 64
"""What values are multiples of, as they are in packed files: so they can be compressed."""


@dataclass(frozen=True)
class Store:
    """A zarr store with one variable `a`, and the coordinates of its axes.

    Attributes
    ----------
    shape, small
        Of the full scale and of the small one.
    chunks, small_chunks
        Of the store; -1 is all of an axis. None: the same in the small one.
    step
        Seconds between two times, if the first axis is time; it begins in January 2000.
    begin
        The first time, as numpy.datetime64 takes it.
    missing
        The share of NaNs.
    """

    shape: tuple[int, ...]
    small: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: str = "float32"
    step: int = DAY
    begin: str = "2000-01-01"
    missing: float = 0.0
    small_chunks: tuple[int, ...] | None = None


STORES = {
    "daily": Store((5844, 73, 144), (1461, 9, 16), (365, -1, -1)),
    "hourly": Store(
        (4384, 91, 180),
        (4384, 4, 6),
        (1, -1, -1),
        step=DAY // 4,
        begin="2020-01-01",
        missing=0.05,
        small_chunks=(137, -1, -1),
    ),
    "maps": Store((730, 361, 720), (60, 18, 36), (1, -1, -1)),
    "field": Store((800, 500, 500), (80, 50, 50), (100, 100, 100), dtype="float64"),
}
"""By name."""


def block(store: Store, begin: int, end: int, shape: tuple[int, ...]) -> Any:
    """Return the steps from `begin` to `end`: seasons, latitudes, weather."""
    rng = np.random.default_rng(begin)
    days = np.arange(begin, end)[:, None, None] * (store.step / DAY)
    latitude = np.linspace(-np.pi / 2, np.pi / 2, shape[1])[:, None]
    season = 288 - 40 * np.sin(latitude) ** 2 + 12 * np.sin(2 * np.pi * days / 365.25) * np.sin(latitude)
    values = season + 4 * rng.standard_normal((end - begin, *shape[1:]), dtype=np.float32)
    values = np.round(values / QUANTUM) * QUANTUM
    if store.missing:
        values[rng.random(values.shape) < store.missing] = np.nan
    return values.astype(store.dtype)


def ensure(folder: Path, name: str, small: bool) -> Path:
    """Write a store where it isn't there yet, and return its path."""
    import zarr

    path = folder / f"{name}{'-small' if small else ''}.zarr"
    if path.exists():
        return path
    store = STORES[name]
    shape = store.small if small else store.shape
    sides = (store.small_chunks if small else None) or store.chunks
    chunks = tuple(n if c == -1 else min(c, n) for c, n in zip(sides, shape, strict=True))
    unfinished = path.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    group = zarr.open_group(unfinished, mode="w")
    create: Callable[..., Any] = group.create_array
    values = create("a", shape=shape, chunks=chunks, dtype=store.dtype, dimension_names=("time", "lat", "lon"))
    for begin in range(0, shape[0], chunks[0]):
        end = min(begin + chunks[0], shape[0])
        values[begin:end] = block(store, begin, end, shape)
    times = create("time", shape=shape[:1], dtype="int64", dimension_names=("time",))
    times[:] = np.arange(shape[0]) * store.step
    times.attrs.update({"units": f"seconds since {store.begin}", "calendar": "proleptic_gregorian"})
    for axis, (coordinate, side) in enumerate((("lat", 90.0), ("lon", 180.0)), start=1):
        degrees = create(coordinate, shape=shape[axis : axis + 1], dtype="float64", dimension_names=(coordinate,))
        degrees[:] = np.linspace(-side, side, shape[axis], endpoint=coordinate == "lat")
    unfinished.rename(path)
    return path
