"""The example of arrays prints what NumPy finds, and the same on ranks."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[1] / "examples" / "arrays.py"


def expected() -> list[str]:
    """What NumPy makes of the same readings: the lines that it can tell."""
    spec = importlib.util.spec_from_file_location("example_arrays", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    t = module.readings().compute()
    missing = np.isnan(t)
    low, middle, high = np.nanquantile(t, [0.01, 0.5, 0.99])
    order = np.argsort(np.nanmean(t, axis=1))
    t = np.where(missing, np.nanmean(t, axis=0), t)
    values = np.linalg.svd(t - t.mean(axis=1, keepdims=True), compute_uv=False)
    return [
        f"readings    {t.size:,} in 20 chunks, {missing.sum()} missing",
        f"quantiles   1% {low:.2f}, 50% {middle:.2f}, 99% {high:.2f} °C",
        f"frost       {(t[~missing] < 0).sum():,} readings, down to {t[~missing].min():.2f} °C",
        f"coldest     sensors {order[:3].tolist()}, warmest {order[-3:].tolist()}",
        "periods     365 days, 1 days",
        f"patterns    the first explains {values[0] ** 2 / (values**2).sum():.1%}",
        f"files       20 chunks mapped; last sensor warmer than first in {(t[-1] > t[0]).mean():.1%} of hours",
    ]


@pytest.mark.parametrize("ranks", [0, pytest.param(2, marks=pytest.mark.ranks)])
def test_prints_what_numpy_finds(launch, ranks, tmp_path):
    ended = launch(ranks, str(SCRIPT))
    assert ended.status == 0, ended.err
    lines = ended.out.splitlines()
    assert len(lines) == 9
    assert [line for line in lines if line[:3] not in ("all", "fit")] == expected()
    assert list(tmp_path.iterdir()) == []
