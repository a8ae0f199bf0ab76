"""Groups of xarray whose labels are lazy: bins of another variable."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from windrow.scheduler.session.session import Session

xr = pytest.importorskip("xarray")
pytest.importorskip("flox")

RNG = np.random.default_rng(0)
EDGES = [-9, -1, 0, 0.5, 3, 20, 30]  # nothing is in the last one
VALUES = np.where(RNG.random((40, 5, 7)) < 0.2, np.nan, RNG.normal(10, 3, (40, 5, 7)))
LABELS = RNG.normal(0, 1, (40, 5, 7))
DIMS = ("time", "y", "x")


def grouped(func, values, labels, **options):
    return getattr(values.groupby_bins(labels, EDGES), func)(**options)


@pytest.mark.parametrize(
    ("func", "options"),
    [
        ("mean", {}),
        ("mean", {"skipna": False}),
        ("sum", {}),
        ("sum", {"min_count": 3}),
        ("max", {}),
        ("min", {"skipna": False}),
        ("count", {}),
    ],
)
@pytest.mark.parametrize("kind", ["f8", "f4", "i4"])
@pytest.mark.parametrize("labels", [LABELS, LABELS[0]], ids=["all axes", "two axes"])
def test_bins_of_another_variable(monkeypatch, func, options, kind, labels):
    values = xr.DataArray(np.nan_to_num(VALUES).astype(kind) if kind == "i4" else VALUES.astype(kind), dims=DIMS)
    label = xr.DataArray(labels, dims=DIMS[3 - labels.ndim :], name="label")
    expected = grouped(func, values, label, **options)
    with xr.set_options(chunk_manager="windrow"):
        lazy = values.chunk(time=7, x=3), label.chunk(x=4)
    with monkeypatch.context() as patch:
        patch.setattr(Session, "run", lambda *_: pytest.fail("computed before it was asked to"))
        found = grouped(func, *lazy, **options)
    assert isinstance(found.data, wr.Array)
    assert found.dtype == expected.dtype
    xr.testing.assert_allclose(found.compute(), expected, rtol=1e-5 if kind == "f4" else 1e-12)


def test_what_needs_whole_groups_says_what_to_do():
    with xr.set_options(chunk_manager="windrow"):
        values = xr.DataArray(VALUES, dims=DIMS).chunk(time=7)
        label = xr.DataArray(LABELS, dims=DIMS, name="label").chunk(time=7)
    message = r"a lazy array.*sums, counts, means, spreads and extremes over all their axes: compute\(\) them"
    with pytest.raises(wr.ArgumentError, match=message):
        grouped("median", values, label)
