"""Handles of files whose paths lead elsewhere by now: what is read is theirs, or an error, and never the other file."""

from __future__ import annotations

import os

import numpy as np
import pytest

import windrow as wr

OLD, NEW = np.arange(6.0), np.arange(6.0) + 100


def by_path(x):
    """Whether ranks read it."""
    return x.expr.op.data.file is not None


@pytest.mark.parametrize("moved", [False, True])
def test_memory_maps(tmp_path, moved):
    path = tmp_path / "x.npy"
    wr.to_npy(OLD, path)
    mapped = np.load(path, mmap_mode="r")
    before = wr.from_array(mapped)
    assert by_path(before)
    if moved:
        os.rename(path, tmp_path / "y.npy")
    wr.to_npy(NEW, path, overwrite=True)
    for x, expected in [(mapped, OLD), (mapped[::-2], OLD[::-2]), (np.asarray(mapped)[2:], OLD[2:])]:
        found = wr.from_array(x, chunks=2)
        assert not by_path(found)
        np.testing.assert_array_equal(found.compute(), expected)
    np.testing.assert_array_equal((wr.zeros(6) + mapped).compute(), OLD)
    with pytest.raises(wr.SourceChanged, match=r"x\.npy"):
        before.compute()
    again = wr.from_array(np.load(path, mmap_mode="r"))
    assert by_path(again)
    np.testing.assert_array_equal(again.compute(), NEW)


def test_a_map_by_a_link_or_a_strange_name(tmp_path, monkeypatch):
    path = tmp_path / "a\nb (deleted)"
    OLD.tofile(path)
    os.symlink(path, tmp_path / "link")
    monkeypatch.chdir(tmp_path)
    for name in (path, tmp_path / "link", "link"):
        x = wr.from_array(np.memmap(name, float, "r"))
        assert by_path(x)
        np.testing.assert_array_equal(x.compute(), OLD)


def test_where_the_kernel_numbers_inodes_otherwise(tmp_path, monkeypatch):
    from windrow.workers.sources import file_arrays

    look_up = file_arrays._look_up
    monkeypatch.setattr(file_arrays, "_look_up", lambda address: (-1, look_up(address)[1]))
    OLD.tofile(tmp_path / "x")
    mapped = np.memmap(tmp_path / "x", float, "r")
    assert by_path(wr.from_array(mapped))
    os.unlink(tmp_path / "x")
    NEW.tofile(tmp_path / "x")
    found = wr.from_array(mapped)
    assert not by_path(found)
    np.testing.assert_array_equal(found.compute(), OLD)


def test_data_sets(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "x.h5"
    wr.to_hdf5(path, "x", OLD)
    with h5py.File(path) as file:
        wr.to_hdf5(path, "x", NEW, overwrite=True)
        found = wr.from_array(file["x"], chunks=2)
        assert not by_path(found)
        np.testing.assert_array_equal(found.compute(), OLD)
    with h5py.File(path) as file:
        found = wr.from_array(file["x"])
        assert by_path(found)
        np.testing.assert_array_equal(found.compute(), NEW)


@pytest.mark.parametrize("other", [False, True])
def test_variables(tmp_path, other):
    netCDF4 = pytest.importorskip("netCDF4")
    path = tmp_path / "x.nc"

    def write(values):
        with netCDF4.Dataset(tmp_path / "new.nc", "w") as file:
            file.createDimension("t", 6)
            file.createVariable("x", "f8", ("t",))[:] = values
        os.replace(tmp_path / "new.nc", path)

    write(OLD)
    with netCDF4.Dataset(path) as file:
        assert by_path(wr.from_array(file["x"]))
        write(NEW)
        second = netCDF4.Dataset(path) if other else None
        found = wr.from_array(file["x"], chunks=2)
        assert not by_path(found)
        np.testing.assert_array_equal(found.compute(), OLD)
        if second is not None:
            np.testing.assert_array_equal(wr.from_array(second["x"]).compute(), NEW)
            second.close()
    with netCDF4.Dataset(path) as file:
        found = wr.from_array(file["x"])
        assert by_path(found)
        np.testing.assert_array_equal(found.compute(), NEW)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_array_that_is_described_anew_is_read_only_where_it_is_the_same(tmp_path, zarr_format):
    """Its folder stays the same one; zarr would read numbers as others, and fill values where nothing is any more."""
    zarr = pytest.importorskip("zarr")
    how = {"chunks": (2,), "dtype": "f8", "zarr_format": zarr_format, "fill_value": np.nan}
    source = zarr.create_array(tmp_path / "x", shape=(8,), **how)
    source[:] = np.arange(8)
    x = wr.from_array(zarr.open_array(tmp_path / "x", mode="r"))
    assert x.sum().compute() == 28
    source.attrs["unit"] = "m"
    source.append(np.ones(3))
    source[0] = 2
    assert (x + 1).compute().tolist() == [3, 2, 3, 4, 5, 6, 7, 8]
    source.resize((4,))
    with pytest.raises(wr.SourceChanged, match=r"it has shape \(4,\) by now; it had \(8,\)"):
        (x + 2).compute()
    described = tmp_path / "x" / ("zarr.json" if zarr_format == 3 else ".zarray")
    known = described.read_text()
    zarr.create_array(tmp_path / "y", shape=(8,), **how | {"dtype": "i8", "fill_value": 0})
    described.write_text((tmp_path / "y" / described.name).read_text())
    with pytest.raises(wr.SourceChanged, match=r"it has another (data_type|dtype) by now: .*nt64"):
        (x + 3).compute()
    described.write_text(known[:-9])
    with pytest.raises(wr.SourceChanged, match="it has a description that can't be read"):
        (x + 4).compute()
    source.resize((9,))
    assert (x + 5).compute().tolist()[:4] == [7, 6, 7, 8]
