"""xarray's operations on Windrow: lazy until they are computed, and equal to those on NumPy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import windrow as wr
from windrow.graph.errors import DTypeError
from windrow.graph.expr.expr import walk
from windrow.scheduler.session.session import Session

xr = pytest.importorskip("xarray")

RNG = np.random.default_rng(17)
TIMES = pd.date_range("2001-01-30", periods=40, freq="11D")
VALUES = RNG.normal(10, 3, (40, 5, 7))
HOLES = np.where(RNG.random((40, 5, 7)) < 0.2, np.nan, VALUES)
CHUNKS = {"time": (7, 19, 3, 11), "y": (4, 1), "x": (2, 5)}


@pytest.fixture(autouse=True)
def manager():
    with xr.set_options(
        chunk_manager="windrow", use_numbagg=False, use_bottleneck=True
    ):  # numbagg compiles for seconds
        yield


@pytest.fixture
def runs(monkeypatch):
    """What computes: an entry for each computation."""
    found = []
    run, keep = Session.run, Session.keep
    monkeypatch.setattr(Session, "run", lambda self, roots: found.append("run") or run(self, roots))
    monkeypatch.setattr(Session, "keep", lambda self, root: found.append("keep") or keep(self, root))
    return found


def field(values=VALUES):
    return xr.DataArray(
        values,
        dims=("time", "y", "x"),
        coords={"time": TIMES, "y": [10.0, 20, 35, 40, 50], "x": np.arange(7.0), "area": ("y", np.arange(1.0, 6))},
        name="field",
        attrs={"units": "K"},
    )


def lazy(array):
    return array.chunk({name: sizes for name, sizes in CHUNKS.items() if name in array.dims})


def is_lazy(found):
    variables = found.data_vars.values() if isinstance(found, xr.Dataset) else (found,)
    return any(isinstance(each.data, wr.Array) for each in variables)


def check(runs, operation, array, rtol=1e-12):
    expected = operation(array)
    given = lazy(array)
    runs.clear()
    found = operation(given)
    assert runs == [], "computed before it was asked to"
    assert is_lazy(found)
    made = found.compute()
    assert not is_lazy(made)
    xr.testing.assert_allclose(made, expected, rtol=rtol, atol=1e-12)
    if isinstance(made, xr.DataArray):
        assert made.dims == expected.dims
        assert made.dtype == expected.dtype or (made.dtype.kind, expected.dtype.kind) == ("U", "O")


def dates(x):
    days = x.fillna(0).round().astype(int).astype("timedelta64[D]")
    return days.astype("m8[ns]") + np.datetime64("2001-02-03T04:05", "ns")


MONTHS = xr.groupers.TimeResampler("1ME")

OPERATIONS = {
    "add": lambda x: x + 2 * x.area,
    "arithmetic": lambda x: (x - x.mean("time")) / x.std("time"),
    "mean": lambda x: x.mean(),
    "mean_axis": lambda x: x.mean(("x", "time")),
    "sum_min_count": lambda x: x.sum("time", min_count=3),
    "prod": lambda x: (x / 10).prod("y"),
    "std_ddof": lambda x: x.std("time", ddof=1),
    "var": lambda x: x.var(("x", "y")),
    "min": lambda x: x.min("x"),
    "max": lambda x: x.max(),
    "count": lambda x: x.count("time"),
    "argmin": lambda x: x.fillna(0).argmin("y"),
    "argmax": lambda x: x.fillna(0).argmax("time"),
    "idxmax": lambda x: x.idxmax("time"),
    "idxmin": lambda x: x.idxmin("x"),
    "median": lambda x: x.median("time"),
    "quantile": lambda x: (
        x.chunk(time=-1).quantile([0.1, 0.5, 0.7], "time") if is_lazy(x) else x.quantile([0.1, 0.5, 0.7], "time")
    ),
    "quantile_rechunk": lambda x: (
        x.chunk(time=-1, x=-1).quantile(0.3, ("time", "x")) if is_lazy(x) else x.quantile(0.3, ("time", "x"))
    ),
    "cumsum": lambda x: x.cumsum("time"),
    "cumprod": lambda x: (x / 10).cumprod("x"),
    "any": lambda x: (x > 15).any("x"),
    "all": lambda x: (x < 15).all("time"),
    "where": lambda x: x.where(x > 9, -x),
    "where_drop_none": lambda x: x.where(x > 9),
    "isnull": lambda x: x.isnull(),
    "fillna": lambda x: x.fillna(x.mean("time")),
    "clip": lambda x: x.clip(8, 12),
    "round": lambda x: x.round(2),
    "astype": lambda x: x.astype("f4"),
    "ufunc": lambda x: np.sin(x) + np.hypot(x, 2),
    "isel": lambda x: x.isel(time=slice(3, 30, 4), x=[4, 1, 1]),
    "isel_arrays": lambda x: x.isel(time=[5, 1, 30], y=[0, 2]),
    "isel_points": lambda x: x.isel(x=xr.DataArray([0, 3, 6], dims="p"), y=xr.DataArray([4, 0, 1], dims="p")),
    "isel_points_apart": lambda x: x.isel(
        time=xr.DataArray([[0, 3], [39, 20]], dims=("p", "q")), x=xr.DataArray([1, 6], dims="q")
    ),
    "isel_points_all": lambda x: x.isel(
        time=xr.DataArray([0, -1], dims="p"), y=xr.DataArray([1, -2], dims="p"), x=xr.DataArray([5, 0], dims="p")
    ),
    "sel": lambda x: x.sel(time="2001-05", y=[35, 10]),
    "sel_nearest": lambda x: x.sel(y=[12, 37], x=2.2, method="nearest"),
    "sel_points": lambda x: x.sel(y=xr.DataArray([10.0, 40], dims="p"), x=xr.DataArray([6.0, 2], dims="p")),
    "transpose": lambda x: x.transpose("x", "time", "y"),
    "stack": lambda x: x.stack(p=("y", "x")),
    "unstack": lambda x: x.stack(p=("y", "x")).unstack("p"),
    "expand": lambda x: x.expand_dims(k=3),
    "squeeze": lambda x: x.isel(y=[2]).squeeze("y"),
    "concat": lambda x: xr.concat([x, x + 1], "run"),
    "concat_time": lambda x: xr.concat([x[:3], x[10:]], "time"),
    "merge": lambda x: xr.merge([x, (x * 2).rename("twice")]),
    "shift": lambda x: x.shift(time=3),
    "roll": lambda x: x.roll(time=-5, x=2),
    "pad": lambda x: x.pad(time=2, x=(1, 0), constant_values=0),
    "pad_edge": lambda x: x.pad(x=2, mode="edge"),
    "pad_reflect": lambda x: x.pad(time=(3, 1), mode="reflect"),
    "diff": lambda x: x.diff("time", 2),
    "differentiate": lambda x: x.differentiate("y"),
    "integrate": lambda x: x.integrate("y"),
    "cumulative_integrate": lambda x: x.cumulative_integrate("x"),
    "rolling_mean": lambda x: x.rolling(time=4).mean(),
    "rolling_sum": lambda x: x.rolling(time=3, min_periods=1).sum(),
    "rolling_center": lambda x: x.rolling(time=5, center=True).mean(),
    "rolling_two": lambda x: x.rolling(time=3, x=2, min_periods=2).max(),
    "rolling_std": lambda x: x.rolling(time=6).std(),
    "rolling_median": lambda x: x.rolling(time=6).median(),
    "rolling_count": lambda x: x.rolling(time=6).count(),
    "rolling_argmax": lambda x: x.rolling(x=3).argmax(),
    "rolling_construct": lambda x: x.rolling(time=4).construct("window", stride=2),
    "rolling_long": lambda x: x.rolling(time=35, center=True, min_periods=4).mean(),
    "rolling_long_argmin": lambda x: x.rolling(time=36).argmin(),
    "cumulative_max": lambda x: x.cumulative("time").max(),
    "rolling_reduce": lambda x: x.rolling(time=4).reduce(np.ptp),
    "rolling_exp": lambda x: (x.chunk(time=-1) if is_lazy(x) else x).rolling_exp(time=4).mean(),
    "coarsen": lambda x: x.coarsen(time=4, x=3, boundary="trim").mean(),
    "coarsen_pad": lambda x: x.coarsen(time=7, boundary="pad").max(),
    "coarsen_construct": lambda x: x.coarsen(time=8).construct(time=("big", "small")),
    "groupby_mean": lambda x: x.groupby("time.month").mean(),
    "groupby_sum": lambda x: x.groupby("time.season").sum(),
    "groupby_std": lambda x: x.groupby("time.year").std(),
    "groupby_max": lambda x: x.groupby("time.month").max("time"),
    "groupby_first": lambda x: x.groupby("time.month").first(),
    "groupby_last": lambda x: x.groupby("time.month").last(skipna=False),
    "groupby_count": lambda x: x.groupby("time.month").count(),
    "groupby_median": lambda x: x.groupby("time.season").median(),
    "groupby_quantile": lambda x: x.groupby("time.season").quantile(0.3),
    "groupby_anomaly": lambda x: x.groupby("time.month") - x.groupby("time.month").mean(),
    "groupby_map": lambda x: x.groupby("time.year").map(lambda g: g - g.min("time")),
    "groupby_bins": lambda x: x.groupby_bins("y", [0, 25, 60]).mean(),
    "groupby_two": lambda x: x.groupby(["time.year", "time.season"]).mean(),
    "groupby_cumsum": lambda x: x.groupby("time.year").cumsum("time"),
    "resample_mean": lambda x: x.resample(time="2MS").mean(),
    "resample_max": lambda x: x.resample(time="YS").max(),
    "resample_interpolate": lambda x: (x.chunk(time=-1) if is_lazy(x) else x).resample(time="5D").interpolate("linear"),
    "resample_ffill": lambda x: x.resample(time="3D").ffill(),
    "resample_nearest": lambda x: x.resample(time="4D").nearest(),
    "interp": lambda x: x.interp(x=[0.5, 2.25, 6], y=[12.0, 45]),
    "interp_nearest": lambda x: x.interp(x=[0.4, 2.25], method="nearest"),
    "interp_time": lambda x: x.interp(time=TIMES[3:20] + pd.Timedelta("2D")),
    "interp_points": lambda x: x.interp(x=xr.DataArray([0.5, 2.25], dims="p"), y=xr.DataArray([12.0, 45], dims="p")),
    "interp_like": lambda x: x.interp_like(xr.DataArray(np.zeros(3), dims="x", coords={"x": [0.1, 1, 5.5]})),
    "reindex": lambda x: x.reindex(x=[6, 2, 9], y=[10.0, 11]),
    "reindex_nearest": lambda x: x.reindex(y=[11.0, 33], method="nearest"),
    "sortby": lambda x: x.sortby("x", ascending=False),
    "drop_isel": lambda x: x.drop_isel(time=[0, 5]),
    "thin": lambda x: x.thin(time=3),
    "head": lambda x: x.head(time=9),
    "dot": lambda x: xr.dot(x, x.area, dim="y"),
    "dot_two": lambda x: x.dot(x.isel(time=0)),
    "weighted_mean": lambda x: x.weighted(x.area).mean(("y", "x")),
    "weighted_lazy": lambda x: x.weighted(np.abs(x).fillna(0)).mean("time"),
    "weighted_std": lambda x: x.weighted(x.area).std("y"),
    "corr": lambda x: xr.corr(x, x.roll(x=1), "time"),
    "cov": lambda x: xr.cov(x, x**2, "time"),
    "rank_free": lambda x: xr.where(x > 3, 1, 0),
    "polyfit": lambda x: x.polyfit("time", 2),
    "polyfit_skipna": lambda x: x.polyfit("x", 1, skipna=True),
    "polyfit_full": lambda x: x.polyfit("y", 1, cov=True),
    "polyval": lambda x: xr.polyval(x.x, x.isel(x=slice(3)).rename(x="degree").assign_coords(degree=[0, 1, 2])),
    "apply_ufunc": lambda x: xr.apply_ufunc(
        lambda a: a - a.mean(-1, keepdims=True),
        x.chunk(x=-1) if is_lazy(x) else x,
        input_core_dims=[["x"]],
        output_core_dims=[["x"]],
        dask="parallelized",
        output_dtypes=[float],
    ),
    "apply_ufunc_vectorize": lambda x: xr.apply_ufunc(
        np.trapezoid,
        x,
        input_core_dims=[["x"]],
        dask="parallelized",
        vectorize=True,
        output_dtypes=[float],
        dask_gufunc_kwargs={"allow_rechunk": True},
    ),
    "apply_ufunc_two": lambda x: xr.apply_ufunc(np.add, x, x.area, dask="allowed"),
    "ffill": lambda x: x.ffill("time"),
    "bfill": lambda x: x.bfill("time"),
    "ffill_limit": lambda x: x.ffill("time", limit=2),
    "ffill_limit_long": lambda x: x.ffill("time", limit=9),
    "interpolate_na": lambda x: (x.chunk(time=-1) if is_lazy(x) else x).interpolate_na("time"),
    "combine_first": lambda x: x.where(x > 10).combine_first(x * 0),
    "isin": lambda x: x.round().isin([9, 10]),
    "map_blocks": lambda x: xr.map_blocks(lambda b: b * 2 + b.area, x),
    "cumulative": lambda x: x.cumulative("time").mean(),
    "argsort": lambda x: x.argsort(-1),
    "dt_month": lambda x: dates(x).dt.month,
    "dt_floor": lambda x: dates(x).dt.floor("D"),
    "dt_season": lambda x: dates(x).dt.season,
    "dt_strftime": lambda x: dates(x).dt.strftime("%Y-%b-%d"),
    "dt_isocalendar": lambda x: dates(x).dt.isocalendar().week,
    "dates_mean": lambda x: dates(x).max("y"),
    "broadcast": lambda x: xr.broadcast(x.isel(x=0), x)[0],
    "to_dataset": lambda x: x.to_dataset("y"),
    "str_coords": lambda x: x.assign_coords(name=("x", list("abcdefg"))).groupby("name").mean(),
}

DENSE = {"polyfit", "polyfit_full", "cov", "corr"}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_is_lazy_and_equal(runs, name):
    if name == "rolling_exp":
        pytest.importorskip("numbagg")
    check(runs, OPERATIONS[name], field(VALUES if name in DENSE else HOLES))


PROGRAM = """
import sys
import numpy as np
import pandas as pd
import xarray as xr
import windrow as wr

xr.set_options(chunk_manager="windrow", use_numbagg=False, use_bottleneck=True)
values = np.random.default_rng(0).normal(size=(40, 6, 5))
values[values > 1] = np.nan
plain = xr.DataArray(values, dims=("time", "y", "x"), coords={"time": pd.date_range("2001", periods=40)}, name="v")
x = plain.chunk(time=(17, 3, 20), y=4)
xr.testing.assert_allclose(x.groupby("time.month").mean().compute(), plain.groupby("time.month").mean())
smooth = lambda x: x.rolling(time=4, min_periods=1).mean()
xr.testing.assert_allclose(smooth(x).compute(), smooth(plain))
xr.testing.assert_allclose(x.ffill("time").compute(), plain.ffill("time"))
double = lambda block: block.isel(x=[0]) * 2
template = (plain.isel(x=[0]) * 2).chunk(time=(17, 3, 20), y=4)
xr.testing.assert_identical(xr.map_blocks(double, x, template=template).compute(), plain.isel(x=[0]) * 2)
points = {"y": xr.DataArray([0, 5], dims="p"), "time": xr.DataArray([39, 2], dims="p")}
xr.testing.assert_identical(x.isel(points).compute(), plain.isel(points))
path = sys.argv[1]
x.chunk(time=10, y=3).to_zarr(path)
opened = xr.open_zarr(path).v
assert isinstance(opened.data, wr.Array)
xr.testing.assert_allclose(opened.mean("time").compute(), plain.mean("time"))
print("right")
"""


@pytest.mark.ranks
@pytest.mark.filterwarnings("ignore::Warning")
def test_on_ranks(launch, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    ended = launch(3, "program.py", str(tmp_path / "a.zarr"))
    assert (ended.status, ended.last) == (0, "right"), ended.err


@pytest.mark.parametrize("func", [lambda b: b * 0.5, lambda b: b * 1j, lambda b: b.astype("U9")])
def test_mapped_blocks_that_their_template_cant_hold_are_refused(func):
    x = xr.DataArray(np.array([[1, 2, 3]], "i2"), dims=("y", "x")).chunk(x=2)
    with pytest.raises(DTypeError, match=r"map_blocks: the function returned dtype .*; expected int16.*template="):
        xr.map_blocks(func, x, template=x).compute()
    xr.testing.assert_equal(xr.map_blocks(lambda b: b * 2, x, template=x).compute(), (x * 2).compute())


@pytest.mark.parametrize("name", ["mean", "max", "count"])
def test_sums_and_extremes_of_long_windows_look_at_no_window_as_a_whole(name):
    long = xr.DataArray(RNG.normal(size=(900, 4)), dims=("time", "x")).astype("f4")
    lazy_long = long.chunk(time=70)
    for windows_of in (lambda x: x.rolling(time=365, center=True), lambda x: x.cumulative("time")):
        expected = getattr(windows_of(long), name)()
        found = getattr(windows_of(lazy_long), name)()
        assert max(node.grid.size for node in walk([found.data.expr])) <= 20 * long.size
        assert found.dtype == expected.dtype
        xr.testing.assert_allclose(found, getattr(windows_of(long.astype("f8")), name)(), rtol=1e-5, atol=1e-7)


def test_points_come_first_as_in_xarray():
    plain = field()
    points = {"x": xr.DataArray([[0, 6], [2, 2]], dims=("p", "q")), "time": xr.DataArray([3, 4], dims="p")}
    found = lazy(plain).isel(points)
    assert found.dims == plain.isel(points).dims
    xr.testing.assert_identical(found.compute(), plain.isel(points))
    bare = plain.drop_vars("x")
    largest = lazy(bare).argmax("x")
    xr.testing.assert_identical(lazy(bare).isel(x=largest).compute(), bare.isel(x=bare.argmax("x")))


def test_elements_are_set():
    plain = field()
    found = lazy(plain)
    for each in (plain, found):
        each[{"time": [0, 5], "x": [1, 2]}] = 1.0
        each[{"y": 2}] = 2.0
        each[{"time": xr.DataArray([7, 8], dims="p"), "x": xr.DataArray([0, 3], dims="p")}] = xr.DataArray(
            np.arange(10.0).reshape(2, 5), dims=("p", "y")
        )
    xr.testing.assert_identical(found.compute(), plain)


def test_equality_is_told_by_names(runs):
    x = lazy(field())
    runs.clear()
    xr.testing.assert_identical(x, x.copy())
    assert x.equals(x.transpose("time", "y", "x"))
    assert x.identical(x.copy(deep=True))
    merged = xr.merge([x.to_dataset(), x.to_dataset()])
    assert isinstance(merged.field.data, wr.Array)
    assert runs == []
    assert not x.equals(x + 1)
    assert runs


def test_persist_and_compute(runs):
    ds = lazy(field()).to_dataset(name="a").assign(b=("time", np.arange(40)))
    runs.clear()
    kept = ds.persist()
    assert isinstance(kept.a.data, wr.Array)
    assert runs == ["keep"]
    runs.clear()
    both = xr.Dataset({"m": ds.a.mean(), "s": ds.a.std("time")}).compute()
    assert runs == ["run"], "variables are computed together"
    xr.testing.assert_allclose(both.m, field().mean())
    xr.testing.assert_identical(ds.compute(scheduler="threads"), ds.compute())  # the cluster computes


def test_what_the_manager_refuses():
    manager = xr.namedarray.parallelcompat.guess_chunkmanager("windrow")
    with pytest.raises(ValueError, match="allow_rechunk"):
        manager.apply_gufunc(np.mean, "(i)->()", wr.ones(6, chunks=4), axis=-1)
    assert isinstance(xr.DataArray(np.array(["a", None], dtype=object)).chunk().data, np.ndarray)


def test_members_of_the_manager():
    """Each that xarray's class names is here, and does what it says."""
    parallelcompat = xr.namedarray.parallelcompat
    manager = parallelcompat.guess_chunkmanager("windrow")
    names = {name for name in vars(parallelcompat.ChunkManagerEntrypoint) if not name.startswith("_")}
    own = {name for each in type(manager).__mro__[:1] for name in vars(each)}
    assert names - own <= {"available", "is_chunked_array"}
    x = wr.arange(12, chunks=5).reshape(3, 4)
    assert manager.is_chunked_array(x)
    assert not manager.is_chunked_array(np.ones(3))
    assert manager.array_api is wr
    assert manager.get_auto_chunk_size() == wr.config.chunk_bytes
    assert manager.normalize_chunks(("auto", 2), (0, 4), dtype=float) == ((0,), (2, 2))
    assert manager.reduction(x, func=np.sum, axis=0, dtype=int).compute().tolist() == [12, 15, 18, 21]
    assert manager.scan(np.cumsum, np.add, 0, wr.arange(5, chunks=2), axis=0).compute().tolist() == [0, 1, 3, 6, 10]
    assert manager.shuffle(wr.arange(5), [[4, 0], [1, 2, 3]], 0, None).compute().tolist() == [4, 0, 1, 2, 3]
    chunks, (a, b) = manager.unify_chunks(wr.ones(6, chunks=4), "i", wr.ones(6, chunks=3), "i")
    assert chunks == {"i": (3, 1, 2)}
    assert a.chunks == b.chunks == ((3, 1, 2),)
    pairs = manager.blockwise(lambda parts: sum(p.sum() for p in parts), "", wr.ones(6, chunks=4), "i", dtype=float)
    assert pairs.compute() == 6
    target = np.zeros((2, 3, 4))
    assert manager.store([x], [target[1]], regions=[None], lock=None, flush=True) is None
    assert (target[1] == np.arange(12).reshape(3, 4)).all()
    (kept,) = manager.persist(x)
    assert manager.compute(kept, x + 1)[1][0, 0] == 1


GROUPED = ["sum", "prod", "mean", "max", "min", "count", "any", "all"]


@pytest.mark.parametrize("func", GROUPED)
@pytest.mark.parametrize("kind", ["f8", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("f4", "i4", "bool"))])
def test_groups_in_many_chunks(runs, func, kind):
    """Chunks are reduced one by one; none, one or all of a group may lie in a chunk, and all of it may be missing."""
    values = (np.random.default_rng(1).normal(size=(200, 3)) * 3).astype(kind)
    if kind[0] == "f":
        values[np.random.default_rng(2).random(values.shape) < 0.3] = np.nan
        values[np.arange(200) % 5 == 4, 1] = np.nan
    plain = xr.DataArray(values, dims=("i", "j"), coords={"label": ("i", np.arange(200) % 5)})
    given = plain.drop_vars("label").chunk(i=(1, 99, 60, 40), j=2).assign_coords(label=plain.label)
    for options in ({}, {"skipna": False}, {"min_count": 30}):
        if func in ("count", "any", "all") and options:
            continue
        if "min_count" in options and func not in ("sum", "prod"):
            continue
        expected = getattr(plain.groupby("label"), func)(**options)
        runs.clear()
        found = getattr(given.groupby("label"), func)(**options)
        assert runs == []
        assert found.dtype == expected.dtype
        xr.testing.assert_allclose(found.compute(), expected, rtol=1e-5 if kind == "f4" else 1e-12)


def test_tokens_tell_equality_without_computing(runs):
    base = pytest.importorskip("dask.base")
    x = wr.arange(6, chunks=4)
    assert not hasattr(x, "__dask_graph__"), "dask's own manager would take it"
    assert base.tokenize(x + 1) == base.tokenize(x + 1)
    assert base.tokenize(x + 1) != base.tokenize(x + 2)
    assert base.tokenize(xr.DataArray(x)) == base.tokenize(xr.DataArray(x.copy()))
    assert runs == []


def test_integers_of_dates_refuse_nat():
    dates = np.array(["2020-01-02", "NaT", "2021-03-04"], "M8[ns]")
    whole = xr.DataArray(dates, dims="x").chunk(x=2)
    with pytest.raises(wr.ArgumentError, match=r"\.dt\.month: there are dates that aren't \(NaT\)"):
        whole.dt.month.compute()
    np.testing.assert_array_equal(whole[::2].dt.month.compute(), [1, 3])


INTERPOLATED = {
    "interp": lambda x: x.interp(x=[0.5, 2.25]),
    "interp_cubic": lambda x: x.interp(x=[0.5, 2.25], method="cubic"),
    "interp_nearest": lambda x: x.interp(x=[0.5, 2.25], method="nearest"),
    "interp_two": lambda x: x.interp(x=[0.5], y=[0.5, 1.5]),
    "interp_points": lambda x: x.interp(x=("p", [0.5, 2.25]), y=("p", [0.5, 1.0])),
    "resample": lambda x: x.resample(time="12h").interpolate("linear"),
    "interpolate_na": lambda x: x.where(x > 9).interpolate_na("x"),
    "median": lambda x: x.median("y"),
    "quantile": lambda x: x.quantile(0.25, "y"),
}


@pytest.mark.parametrize("name", INTERPOLATED)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
def test_interpolated_values_have_the_dtype_that_they_have_with_numpy(name, dtype):
    plain = field(VALUES).astype(dtype)
    chunked = lazy(plain).chunk(x=-1) if name == "interpolate_na" else lazy(plain)
    expected, found = (INTERPOLATED[name](each) for each in (plain, chunked))
    assert is_lazy(found)
    assert found.dtype == found.compute().dtype == expected.dtype
    xr.testing.assert_allclose(found.compute(), expected, rtol=1e-6)


REDUCED = """
import sys
import numpy as np
import pandas as pd
import windrow as wr
import xarray as xr
from flox.xarray import xarray_reduce

values = np.random.default_rng(0).random((60, 4, 6)).astype("f4")
values[3, 1] = np.nan
coords = {"time": pd.date_range("2000-01-01", periods=60, freq="10D"), "y": np.arange(4.0)}
plain = xr.DataArray(values, dims=("time", "y", "x"), coords=coords, name="v")
x = plain.copy(data=wr.from_array(values, chunks=(12, 2, 6)))
regions = xr.DataArray(np.arange(24).reshape(4, 6) % 5, dims=("y", "x"), name="region")
for func in sys.argv[1:]:
    for by in (("time.month",), (plain.time.dt.season,), (regions,), (regions, plain.time.dt.month)):
        found, expected = (xarray_reduce(each.to_dataset(), *by, func=func).v for each in (x, plain))
        assert isinstance(found.data, wr.Array), (func, by)
        assert (found.dtype, found.dims) == (expected.dtype, expected.dims), func
        xr.testing.assert_allclose(found.compute(), expected)
bins = [0.0, 1.5, 3.5]
found, expected = (xarray_reduce(each, "y", func="mean", expected_groups=bins, isbin=True) for each in (x, plain))
xr.testing.assert_allclose(found.compute(), expected)
print("right")
"""


def test_what_flox_reduces_itself(launch, tmp_path):
    pytest.importorskip("flox")
    (tmp_path / "program.py").write_text(REDUCED)
    ended = launch(0, "-W", "error", "program.py", "mean", "nanmax", "std", "count", "median", "first", "argmax")
    assert (ended.status, ended.last) == (0, "right"), ended.err
