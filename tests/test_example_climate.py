"""The example of a year's temperatures gives what NumPy gives by the formula, in one process and on ranks."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import windrow as wr

xr = pytest.importorskip("xarray")
pytest.importorskip("zarr")

SCRIPT = Path(__file__).parents[1] / "examples" / "climate.py"
STEP = 15.0


@pytest.fixture(scope="module")
def example():
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("example_climate", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def plain():
    """The temperatures by the formula, in NumPy."""
    day, phi, lam = np.ix_(
        np.arange(365.0), np.deg2rad(np.arange(-90 + STEP / 2, 90, STEP)), np.deg2rad(np.arange(0, 360, STEP))
    )
    return (
        288
        + 30 * (np.cos(phi) ** 2 - 2 / 3)
        - 18 * np.sin(phi) * np.cos(2 * np.pi * (day - 20) / 365)
        + 3 * np.cos(3 * lam - 2 * np.pi * day / 9) * np.cos(phi) ** 2
    )


def test_anomalies(example, plain):
    x = example.temperatures(STEP, 365)
    assert isinstance(x.data, wr.Array)
    np.testing.assert_allclose(x.values, plain, rtol=1e-14)
    found = example.anomalies(x)
    assert isinstance(found.data, wr.Array)
    months = pd.date_range("2026-01-01", periods=365).month
    expected = plain.copy()
    for month in range(1, 13):
        expected[months == month] -= plain[months == month].mean(0)
    np.testing.assert_allclose(found.transpose("time", "latitude", "longitude").values, expected, atol=1e-10)


@pytest.mark.ranks
def test_on_ranks(launch, tmp_path, plain):
    ended = launch(2, str(SCRIPT), str(tmp_path), str(STEP))
    assert ended.status == 0, ended.err
    weights = np.cos(np.deg2rad(np.arange(-90 + STEP / 2, 90, STEP)))
    mean = (plain.mean((0, 2)) * weights).sum() / weights.sum()
    assert f"mean over the Earth and the year: {mean:.2f} K" in ended.out
    assert re.search(r"largest anomaly: \d\.\d\d K", ended.out)
    assert (tmp_path / "climate.png").stat().st_size > 10_000
    assert xr.open_zarr(tmp_path / "anomalies.zarr", consolidated=False).anomaly.shape == plain.shape
