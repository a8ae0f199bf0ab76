"""xarray's files through the chunk manager: opened lazily, written chunk by chunk, read back the same."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import windrow as wr

xr = pytest.importorskip("xarray")
pytestmark = [
    pytest.mark.filterwarnings("ignore:Consolidated metadata"),
    pytest.mark.filterwarnings("ignore:The data type:Warning"),  # zarr's texts of fixed length
]


@pytest.fixture(autouse=True)
def manager():
    with xr.set_options(chunk_manager="windrow"):
        yield


@pytest.fixture
def ds():
    values = np.random.default_rng(5).random((20, 6, 5)).round(3)
    coords = {"time": pd.date_range("2000-01-01", periods=20), "y": np.arange(6)}
    t = xr.DataArray(values, dims=("time", "y", "x"), coords=coords, name="t", attrs={"units": "K"})
    return t.to_dataset().assign(n=("time", np.arange(20))).chunk(time=5, x=2)


def same(opened, ds):
    assert isinstance(opened.t.data, wr.Array)
    xr.testing.assert_identical(opened.compute(), ds.compute())


def test_zarr(tmp_path, ds):
    path = str(tmp_path / "a.zarr")
    ds.to_zarr(path)
    opened = xr.open_zarr(path)
    assert opened.t.chunks == ds.t.chunks
    same(opened, ds)
    same(xr.open_dataset(path, engine="zarr", chunks={"time": 10}), ds)
    more = ds.assign_coords(time=ds.time + np.timedelta64(20, "D"))
    more.to_zarr(path, append_dim="time")
    same(xr.open_zarr(path).isel(time=slice(20, 40)), more)
    same(xr.open_zarr(path).isel(time=slice(20)), ds)
    part = (ds.isel(time=slice(5, 15)) * 0 + 7).drop_vars(["time", "y"])
    part.to_zarr(path, region={"time": slice(5, 15)})
    found = xr.open_zarr(path)
    assert (found.t[5:15] == 7).all()
    xr.testing.assert_equal(found.isel(time=slice(5)).compute(), ds.isel(time=slice(5)).compute())


@pytest.mark.parametrize("sizes", [{"time": (7, 13)}, {"time": (1, 19), "y": 5}])
def test_zarr_of_uneven_chunks(tmp_path, ds, sizes):
    path = str(tmp_path / "a.zarr")
    given = ds.chunk(sizes)
    with pytest.raises(ValueError, match="chunk"):
        given.to_zarr(path)
    given.chunk(time=10, y=3, x=-1).to_zarr(path, mode="w")
    same(xr.open_zarr(path), ds)


def test_shards_and_packed_values(tmp_path, ds):
    path = str(tmp_path / "a.zarr")
    whole = ds.chunk(time=10, x=-1)
    whole.to_zarr(path, encoding={"t": {"chunks": (5, 6, 5), "shards": (10, 6, 5)}}, zarr_format=3)
    same(xr.open_zarr(path), ds)
    path = str(tmp_path / "packed.zarr")
    ds.to_zarr(path, encoding={"t": {"dtype": "i2", "scale_factor": 0.001, "_FillValue": -1}})
    opened = xr.open_zarr(path)
    assert isinstance(opened.t.data, wr.Array)
    np.testing.assert_allclose(opened.t.values, ds.t.values, atol=1e-12)


def test_texts_and_dates(tmp_path):
    names = np.array(["a", "bcd", "ef"])
    ds = xr.Dataset({"t": ("i", names), "when": ("i", pd.date_range("2000-02-28", periods=3))}).chunk(i=2)
    path = str(tmp_path / "a.zarr")
    ds.to_zarr(path)
    same(xr.open_zarr(path), ds)


def test_netcdf(tmp_path, ds):
    for number in range(4):
        ds.isel(time=slice(5 * number, 5 * number + 5)).to_netcdf(tmp_path / f"part{number}.nc", engine="h5netcdf")
    with xr.open_mfdataset(str(tmp_path / "part*.nc"), engine="h5netcdf") as opened:
        assert opened.t.chunks[0] == (5, 5, 5, 5)
        same(opened, ds)
    with xr.open_dataset(tmp_path / "part1.nc", engine="h5netcdf", chunks={"time": 2}) as opened:
        same(opened, ds.isel(time=slice(5, 10)))
        assert float(opened.t.max()) == float(ds.t[5:10].max())


@pytest.mark.filterwarnings("ignore:The specified chunks")
def test_netcdf_of_unlimited_dimensions(tmp_path, ds):
    pytest.importorskip("netCDF4")
    first, second = str(tmp_path / "a.nc"), str(tmp_path / "b.nc")
    ds.to_netcdf(first, engine="netcdf4", unlimited_dims=["time"])
    with xr.open_dataset(first, engine="netcdf4", chunks={"time": 5}) as opened:
        same(opened, ds)
        opened.to_netcdf(second, engine="netcdf4")
    with xr.open_dataset(second, engine="netcdf4", chunks={}) as opened:
        assert opened.encoding["unlimited_dims"] == {"time"}
        same(opened, ds)


def test_variables_grow_along_unlimited_dimensions(tmp_path):
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 4)
        x = file.createVariable("x", "f8", ("t", "x"))
        every = slice(None)
        wr.store(wr.ones((3, 4), chunks=2), x)
        stored = wr.store(wr.full((2, 4), 2.0, chunks=1), x, regions=(slice(3, 5), every), return_stored=True)
        assert (stored == 2).all()
        wr.store(wr.full((2, 4), 3.0), x, regions=(slice(6, None), every))
        wr.store(wr.full((3, 4), 4.0, chunks=1), x, regions=(slice(1, None, 4), every))
        wr.store(wr.full((2, 4), 5.0), x, regions=(slice(-2, None), every))
        assert x[:, 0].tolist() == [1, 4, 1, 2, 2, 4, 3, 3, 5, 5]
        for source, region, words in [
            (wr.ones((11, 5)), None, r"\(11, 5\); expected \(11, 4\)"),
            (wr.ones((3, 4)), None, r"\(3, 4\); expected \(10, 4\)"),
            (wr.ones((3, 4)), (slice(10, 12), every), r"\(3, 4\); expected \(2, 4\)"),
            (wr.ones(3), None, r"\(3,\); expected an array of 2 axes"),
        ]:
            with pytest.raises(wr.ShapeError, match=words):
                wr.store(source, x, regions=region)
        assert x.shape == (10, 4)


def test_written_later(tmp_path, ds):
    pytest.importorskip("dask")
    path = str(tmp_path / "a.zarr")
    later = ds.to_zarr(path, compute=False)
    assert np.isnan(xr.open_zarr(path).t.values).all()
    later.compute()
    same(xr.open_zarr(path), ds)


def test_what_is_written_later_is_written_by_compute_beside_arrays_of_either_kind(tmp_path, ds):
    pytest.importorskip("dask")
    path = str(tmp_path / "a.zarr")
    both = ds.assign(u=ds.t.compute().chunk(chunked_array_type="dask"))
    _, total, (found,) = wr.compute(ds.to_zarr(path, compute=False), ds.t.sum(), [both])
    same(xr.open_zarr(path), ds)
    assert total == ds.t.sum()
    assert type(found.t.data) is type(found.u.data) is np.ndarray
    np.testing.assert_array_equal(found.u, found.t)


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("chunks", [{}, {"t": 2}, "auto"])
def test_variables_of_python_objects_stay_without_chunks_beside_others(tmp_path, chunks):
    pytest.importorskip("cftime")
    times = xr.date_range("2000-01-01", periods=6, calendar="noleap", use_cftime=True)
    texts = np.array(["a", "bb", "c", "d", "e", "ffff"], object)
    plain = xr.Dataset({"v": (("t", "x"), np.arange(12.0).reshape(6, 2)), "c": ("t", texts)}, coords={"t": times})
    plain["bounds"] = (("t", "n"), np.stack([times, times], 1))
    plain.to_zarr(tmp_path / "a.zarr", zarr_format=2)
    found = xr.open_dataset(tmp_path / "a.zarr", engine="zarr", chunks=chunks)
    assert isinstance(found.v.data, wr.Array)
    assert not isinstance(found.bounds.data, wr.Array)
    xr.testing.assert_equal(found.compute(), plain)
    xr.testing.assert_equal(plain.chunk(t=4).v.groupby("t.day").mean().compute(), plain.v.groupby("t.day").mean())


def test_netcdf_of_what_zarr_has_is_written_without_a_warning(tmp_path, ds):
    packed = {"t": {"dtype": "i2", "scale_factor": 0.001, "_FillValue": -1}}
    ds.to_zarr(tmp_path / "a.zarr", encoding=packed, consolidated=False)
    opened = xr.open_zarr(tmp_path / "a.zarr", consolidated=False)
    for number, each in enumerate((opened, opened + 1, opened.mean("time"))):
        each.to_netcdf(tmp_path / f"{number}.nc", engine="netcdf4")
    xr.testing.assert_allclose(xr.open_dataset(tmp_path / "1.nc"), ds.compute() + 1, atol=1e-3)


@pytest.mark.filterwarnings("default")
def test_chunks_of_dask_where_dask_is_named(ds):
    array = pytest.importorskip("dask.array").Array
    for opened in (ds, ds.t):
        for default in ("dask", "windrow"):
            with xr.set_options(chunk_manager=default):
                found = opened.chunk(time=4, chunked_array_type="dask")
                kept = opened.chunk(time=4)
            assert found.chunksizes["time"] == kept.chunksizes["time"] == (4,) * 5
            assert type(getattr(found, "t", found).data) is array
            assert isinstance(getattr(kept, "t", kept).data, wr.Array)
            xr.testing.assert_identical(found.compute(), opened.compute())


def test_dataframes_of_dask(ds):
    pytest.importorskip("dask.dataframe")
    expected = ds.compute().to_dataframe().reset_index()
    for name in ("dask", "windrow"):
        with xr.set_options(chunk_manager=name):
            found = ds.to_dask_dataframe(dim_order=["time", "y", "x"])
            assert found.npartitions > 1
            made = found.compute().sort_values(["time", "y", "x"]).reset_index(drop=True)
            pd.testing.assert_frame_equal(made[list(expected.columns)], expected)
            assert len(ds[["n"]].to_dask_dataframe(set_index=True).compute()) == 20
    assert isinstance(ds.t.data, wr.Array)


def changed(ds):
    """The data set, and what it is with one added to `t`."""
    return ds.assign(t=ds.t + 1), ds.compute().assign(t=ds.t.compute() + 1)


@pytest.mark.parametrize("kind", ["zarr", "url", "group", "tree", "array", "later", "netcdf4", "h5netcdf"])
def test_what_a_data_set_is_read_from_is_not_emptied_before(tmp_path, ds, kind):
    path = str(tmp_path / "a")
    if kind in ("netcdf4", "h5netcdf"):
        pytest.importorskip(kind.replace("netcdf4", "netCDF4"))
        ds.to_netcdf(path, engine=kind)
        opened = xr.open_dataset(path, engine=kind, chunks={})
        opened.close()
        with pytest.raises(wr.ArgumentError, match=r"to_netcdf: variable '[tn]' is read from .*/a, which mode='w'"):
            changed(opened)[0].to_netcdf(path, engine=kind)
        with xr.open_dataset(path, engine=kind) as found:
            xr.testing.assert_equal(found, ds.compute())
        return
    group = "g" if kind in ("group", "tree") else None
    ds.to_zarr(path, group=group)
    opened = xr.open_zarr(path, group=group)
    made, _ = changed(opened)
    made = xr.DataTree.from_dict({"g": made}) if kind == "tree" else made.t if kind == "array" else made
    with pytest.raises(wr.ArgumentError, match=r"to_zarr: variable '[tn]' is read from .*/[tn], which mode='w'"):
        made.to_zarr(f"file://{path}" if kind == "url" else path, mode="w", compute=kind != "later")
    xr.testing.assert_equal(opened.compute(), ds.compute())
    made.load().to_zarr(path, mode="w")
    ds.to_zarr(path, group="other", mode="w")


def test_a_data_set_is_written_into_its_own_store(tmp_path, ds):
    path = str(tmp_path / "a.zarr")
    ds.to_zarr(path)
    opened = xr.open_zarr(path)
    made, expected = changed(opened)
    anomaly = expected.t - 1 - (expected.t - 1).mean("time")
    made.assign(more=opened.t - opened.t.mean("time")).to_zarr(path, mode="a")
    xr.testing.assert_allclose(xr.open_zarr(path).compute(), expected.assign(more=anomaly))
    ds.to_zarr(path, mode="w")
    made, _ = changed(xr.open_zarr(path))  # what was opened before is of folders that are gone now
    made.to_zarr(path, mode="a")
    opened = xr.open_zarr(path)
    part = {"time": slice(5, 10)}
    (opened[["t"]].isel(part) * 2).drop_vars("y").to_zarr(path, region=part)
    expected.t[5:10] *= 2
    opened.to_zarr(path, append_dim="time")
    xr.testing.assert_equal(xr.open_zarr(path).t[:20].compute(), expected.t)
    for moved in (opened.roll(time=5), opened.isel(time=slice(None, None, -1)), opened.cumsum("time")):
        with pytest.raises(wr.ArgumentError, match=r"store: a source reads .*/t, into which ranks would write"):
            moved[["t"]].drop_vars(["time", "y"], errors="ignore").to_zarr(path, region={"time": slice(0, 20)})
    whole = xr.open_dataset(path, engine="zarr")  # what is cut before it is chunked is lazy in xarray's own way
    whole[["t"]].isel(part).chunk(time=5).drop_vars(["time", "y"]).to_zarr(path, region=part)
    with pytest.raises(wr.ArgumentError, match=r"store: a source reads .*/t, into which ranks would write"):
        whole[["t"]].isel(time=slice(2, 12)).chunk(time=5).drop_vars(["time", "y"]).to_zarr(
            path, region={"time": slice(5, 15)}, safe_chunks=False
        )
    xr.testing.assert_equal(xr.open_zarr(path).t[:20].compute(), expected.t)


def test_what_lives_with_its_cluster_is_not_pickled(ds):
    with pytest.raises(wr.ArgumentError, match=r"ds\.compute\(\) of xarray's, or save it \(to_zarr"):
        pickle.dumps(ds)
    assert isinstance(copy.deepcopy(ds).t.data, wr.Array)
    assert wr.submit(lambda part: float(part.t.sum()), ds).result() == pytest.approx(float(ds.t.sum()))


def test_auto_takes_whole_stored_chunks(tmp_path):
    plain = xr.DataArray(np.zeros((1000, 30, 20), "f4"), dims=("t", "y", "x"), name="v")
    plain.to_dataset().to_zarr(tmp_path / "s", consolidated=False, encoding={"v": {"chunks": (7, 30, 20)}})
    with wr.config.set(chunk_bytes="100 KiB"):
        opened = xr.open_zarr(tmp_path / "s", consolidated=False, chunks="auto", chunked_array_type="windrow").v
    assert opened.chunks[0][0] % 7 == 0 < len(opened.chunks[0]) - 1
    assert opened.chunks[1:] == ((30,), (20,))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_zarr_opened_by_xarray_is_read_by_windrow_itself_where_nothing_is_decoded(tmp_path, zarr_format):
    path = str(tmp_path / "a.zarr")
    values = np.random.default_rng(1).random((40, 6)).astype("f4")
    values[3, 2] = np.nan
    whole = np.arange(240).reshape(40, 6)
    names = {"plain": values, "marked": values, "packed": values, "filled": np.where(whole > 99, np.nan, whole)}
    ds = xr.Dataset({name: (("t", "x"), data) for name, data in (names | {"n": whole}).items()})
    ds["plain"].encoding["_FillValue"] = None
    ds["packed"].encoding |= {"dtype": "i2", "scale_factor": 0.001, "_FillValue": -1}
    ds["filled"].encoding |= {"dtype": "i4", "_FillValue": -9}
    ds.chunk(t=10).to_zarr(path, consolidated=False, zarr_format=zarr_format)
    opened = xr.open_zarr(path, consolidated=False)

    def is_near(array):
        return array.expr.op.data.near

    assert {name: is_near(opened[name].data) for name in ds} == {
        "plain": True, "marked": True, "packed": False, "filled": False, "n": True,
    }  # fmt: skip
    xr.testing.assert_identical(opened.compute(), xr.open_zarr(path, consolidated=False, chunks=None).compute())
    part = xr.open_zarr(path, consolidated=False, chunks=None).isel(t=slice(5, 31, 2)).chunk(t=4)
    assert not is_near(part["n"].data)
    np.testing.assert_array_equal(part["n"], whole[5:31:2])


def test_chunks_of_an_opened_data_set_are_windrows_though_dask_is_the_default(tmp_path, ds):
    pytest.importorskip("dask")
    path = str(tmp_path / "a.zarr")
    ds.to_zarr(path, consolidated=False)
    with xr.set_options(chunk_manager="dask"):
        opened = xr.open_zarr(path, consolidated=False, chunked_array_type="windrow")
        opened = opened.assign(mean=opened.t.mean("time").compute(), count=("time", np.arange(20)))
        found = opened.chunk(time=10)
        assert {type(found[name].data) for name in found} == {wr.Array}
        assert isinstance(opened.t.chunk().data, wr.Array)
        assert isinstance(
            opened[["mean"]].chunk(y=2)["mean"].data, type(opened.chunk(chunked_array_type="dask").t.data)
        )


def test_chunks_that_do_not_suit_a_store_are_windrows(tmp_path, ds):
    misaligned = {"t": {"chunks": (4, 6, 2)}}
    uneven = ds.isel(time=slice(2, None))
    for data, encoding, told in ((ds, misaligned, "overlap multiple Windrow chunks"), (uneven, {}, "incompatible")):
        with pytest.raises(wr.ChunksError, match=rf"^to_zarr: .*{told}.*chunk\(\)") as caught:
            data.to_zarr(tmp_path / "t.zarr", mode="w", encoding=encoding, consolidated=False)
        assert "dask" not in str(caught.value).lower()
        assert caught.value.__suppress_context__
    theirs = pytest.importorskip("dask.array")
    of_dask = xr.Dataset({"t": (("time", "y", "x"), theirs.ones((20, 6, 5), chunks=(5, 6, 2)))})
    with pytest.raises(ValueError, match="Dask chunks"):
        of_dask.to_zarr(tmp_path / "t.zarr", mode="w", encoding=misaligned, consolidated=False)
    ds.to_zarr(tmp_path / "t.zarr", mode="w", encoding=misaligned, align_chunks=True, consolidated=False)
    same(xr.open_zarr(tmp_path / "t.zarr", consolidated=False), ds)
