"""HDF5 and netCDF-4: read by path on every rank, missing values said clearly, and written whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import windrow as wr
from windrow.workers.sources.stores import hdf5 as stored

h5py = pytest.importorskip("h5py")

PROGRAM = str(Path(__file__).parent / "programs" / "hdf5_on_ranks.py")
DTYPES = ["?", "i1", "u2", "i8", ">i4", "f2", "f4", ">f8", "c8", "c16", "g", "S3", [("a", "i4"), ("b", "f8")]]


def left(folder):
    """Names in a folder, hidden ones as well."""
    return sorted(os.listdir(folder))


@pytest.mark.parametrize(
    "kind", [{}, {"chunks": None}, {"chunks": (2, 3), "compression": "gzip", "shuffle": True}], ids=str
)
def test_every_chunking_comes_back(tmp_path, kind):
    data = np.arange(77.0).reshape(11, 7)
    for chunks in (*wr.testing.chunkings(data.shape), ((1, 4, 6), (2, 5)), (1, 1)):
        x = wr.from_array(data, chunks=chunks)
        wr.to_hdf5(tmp_path / "x.h5", "a/b", x, overwrite=True, **kind)
        with h5py.File(tmp_path / "x.h5") as file:
            np.testing.assert_array_equal(file["a/b"][:], data)
        np.testing.assert_array_equal(wr.from_hdf5(tmp_path / "x.h5", "a/b").compute(), data)
        other = wr.from_hdf5(tmp_path / "x.h5", "a/b", chunks=chunks)
        assert other.chunks == x.chunks
        np.testing.assert_array_equal(other[::-2, [5, 0, 5]].compute(), data[::-2, [5, 0, 5]])
    assert left(tmp_path) == ["x.h5"]


WAYS = {
    "in one piece": {"chunks": None},
    "in chunks": {"chunks": (4, 3)},
    "filled": {"chunks": (4, 3), "fillvalue": 7},
    "filtered": {"compression": "lzf", "shuffle": True, "fletcher32": True},
    "level": {"compression": 1, "fillvalue": -1},
    "to grow": {"maxshape": (None, 7)},
}


@pytest.mark.parametrize("dtype", ["?", ">i4", "c16", [("a", "i1"), ("b", "f8")]], ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_ranks_write_what_h5py_would(tmp_path, monkeypatch, way, dtype):
    how = WAYS[way]
    if dtype not in ("?", ">i4") and "fillvalue" in how:  # h5py takes none for them
        how = {key: value for key, value in how.items() if key != "fillvalue"}
    data = np.arange(77).reshape(11, 7)
    data = (
        np.array([[(v, v / 2) for v in row] for row in data], dtype) if isinstance(dtype, list) else data.astype(dtype)
    )
    by_the_driver = []
    monkeypatch.setattr("windrow.arrays.files.chunked.hdf5_new.write_here", by_the_driver.extend)
    wr.to_hdf5(tmp_path / "x.h5", "g/x", wr.from_array(data, chunks=(3, 4)), **how)
    assert by_the_driver == []
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file.create_dataset("g/x", data=data, **{"chunks": (3, 4)} | how)
    with h5py.File(tmp_path / "x.h5", "a") as file, h5py.File(tmp_path / "plain.h5") as plain:
        found, expected = file["g/x"], plain["g/x"]
        np.testing.assert_array_equal(found[()], expected[()])
        assert found.dtype == expected.dtype
        for name in ("chunks", "compression", "compression_opts", "shuffle", "fletcher32", "maxshape"):
            assert getattr(found, name) == getattr(expected, name)
        if way == "to grow":
            found.resize((13, 7))
            np.testing.assert_array_equal(found[11:], np.zeros((2, 7), data.dtype))
    assert left(tmp_path) == ["plain.h5", "x.h5"]


def test_data_sets_are_written_together(tmp_path):
    data = np.arange(60.0).reshape(6, 10)
    x = wr.from_array(data, chunks=(4, 4))
    with h5py.File(tmp_path / "x.h5", "w", userblock_size=512) as file:
        file["there"] = 1
    names = {"a": x, "b": x * 2, "c": wr.asarray(3), "d": x[:, :0]}
    wr.to_hdf5(tmp_path / "x.h5", names)
    wr.to_hdf5(tmp_path / "y.h5", names | {"e": wr.arange(5)}, chunks=False)
    for name in ("x.h5", "y.h5"):
        with h5py.File(tmp_path / name) as file:
            np.testing.assert_array_equal(file["a"][:], data)
            np.testing.assert_array_equal(file["b"][:], data * 2)
            assert file["c"][()] == 3
            assert file["d"].shape == (6, 0)


@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 0, 2), (4, 3, 5)])
def test_every_shape_comes_back(tmp_path, shape):
    data = np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape)
    wr.from_array(data, chunks=2 if data.size else "auto").to_hdf5(tmp_path / "x.h5", "x")
    found = wr.from_hdf5(tmp_path / "x.h5", "x")
    assert found.shape == shape
    np.testing.assert_array_equal(found.compute(), data)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_comes_back(tmp_path, dtype):
    data = np.array([(i, i / 2) for i in range(12)], dtype) if isinstance(dtype, list) else np.arange(12).astype(dtype)
    wr.from_array(data, chunks=5).to_hdf5(tmp_path / "x.h5", "x", chunks=(4,))
    found = wr.from_hdf5(tmp_path / "x.h5", "x", chunks=3)
    assert found.dtype == data.dtype
    np.testing.assert_array_equal(found.compute(), data)
    np.testing.assert_array_equal(found[::3].compute(), data[::3])


def test_a_file_keeps_what_else_it_has(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["old"] = [1, 2, 3]
        file.attrs["note"] = "kept"
    reading = wr.from_hdf5(path, "old")
    wr.to_hdf5(path, {"new": wr.ones(4, chunks=2), "g/more": wr.arange(3)})
    assert reading.sum().compute() == 6
    with pytest.raises(wr.FileExists, match="a data set 'new'"):
        wr.to_hdf5(path, "new", wr.zeros(4))
    with pytest.raises(wr.FileExists, match="a group"):
        wr.to_hdf5(path, "g", wr.zeros(4), overwrite=True)
    wr.to_hdf5(path, "new", wr.zeros(2), overwrite=True)
    with h5py.File(path) as file:
        assert sorted(file) == ["g", "new", "old"]
        assert file.attrs["note"] == "kept"
        assert file["new"][:].tolist() == [0, 0]
        assert file["old"][:].tolist() == [1, 2, 3]
    assert left(tmp_path) == ["x.h5"]


def test_what_is_written_beside_changes_nothing_of_what_is_read(tmp_path):
    path = tmp_path / "x.h5"
    wr.to_hdf5(path, {"g/a": wr.arange(6, chunks=2), "b": wr.ones(3)})
    (tmp_path / "link.h5").symlink_to(path)
    a, b = wr.from_hdf5(tmp_path / "link.h5", "g/a", chunks=2), wr.from_hdf5(path, "/b")
    for number in range(3):
        wr.to_hdf5(path, f"c{number}", wr.from_hdf5(path, "b") * number)
        later = wr.from_hdf5(path, f"c{number}")
        assert a.sum().compute() == 15
    wr.to_hdf5(path, "b", wr.zeros(3), overwrite=True)
    assert (a + 1).sum().compute() == 21
    assert later.compute().tolist() == [2, 2, 2]
    with pytest.raises(wr.SourceChanged, match=r"x\.h5"):
        b.compute()
    with h5py.File(path, "a") as file:  # somebody else's change may be one of anything
        file["more"] = 1
    with pytest.raises(wr.SourceChanged, match=r"link\.h5"):
        a.compute()
    wr.to_hdf5(path, "d", wr.zeros(3))
    with pytest.raises(wr.SourceChanged, match=r"link\.h5"):
        a.compute()


def test_what_is_replaced_may_be_read_by_another_name(tmp_path):
    path = tmp_path / "x.h5"
    wr.to_hdf5(path, {"a": wr.ones(3), "c": wr.ones(3)})
    with h5py.File(path, "a") as file:
        file["b"] = h5py.SoftLink("/a")
    b = wr.from_hdf5(path, "b")
    wr.to_hdf5(path, "d", wr.ones(3))
    assert b.sum().compute() == 3
    wr.to_hdf5(path, "c", wr.zeros(3), overwrite=True)
    with pytest.raises(wr.SourceChanged, match=r"x\.h5"):
        b.compute()


def test_what_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "x.h5"
    wr.to_hdf5(path, "x", wr.ones(4))

    def failing(block):
        raise ArithmeticError("no")

    with pytest.raises(ArithmeticError):
        wr.to_hdf5(path, "x", wr.map_blocks(failing, wr.ones(9, chunks=2), dtype=float), overwrite=True)
    assert wr.from_hdf5(path, "x").sum().compute() == 4
    assert left(tmp_path) == ["x.h5"]
    later = wr.to_hdf5(path, "y", wr.ones(3), compute=False)
    with pytest.raises(wr.MissingFile, match="no 'y'"):
        wr.from_hdf5(path, "y")
    later.compute()
    assert wr.from_hdf5(path, "y").sum().compute() == 3


def test_what_is_refused_before_anything_runs(tmp_path):
    def computed(block):
        raise AssertionError("computed")

    x = wr.map_blocks(computed, wr.ones(3), dtype=float)
    path = tmp_path / "x.h5"
    for wrong, error, words in [
        (lambda: wr.to_hdf5(path, x), wr.ArgumentError, "'args'"),
        (lambda: wr.to_hdf5(path, "x", x, chunks=(2, 2)), wr.ArgumentError, "h5py doesn't take"),
        (lambda: wr.to_hdf5(path, "x", x, compression="none such"), wr.ArgumentError, "h5py doesn't take"),
        (lambda: wr.to_hdf5(path, "x", x.astype("M8[s]")), wr.DTypeError, "HDF5 has no type"),
        (lambda: wr.to_hdf5(tmp_path / "none" / "x.h5", "x", x), wr.MissingFile, "no folder"),
        (lambda: wr.from_hdf5(path, "x"), wr.MissingFile, "there is nothing"),
        (lambda: wr.from_hdf5(path, 3), wr.ArgumentError, "'datapath' is 3"),
    ]:
        with pytest.raises(error, match=words):
            wrong()
    path.write_text("hello")
    with pytest.raises(wr.FileFormatError, match=r"x\.h5' is no HDF5 file"):
        wr.from_hdf5(path, "x")
    with pytest.raises(wr.FileExists, match="no HDF5 file"):
        wr.to_hdf5(path, "x", x, overwrite=True)
    path.unlink()
    with h5py.File(path, "w") as file:
        file["g/x"] = [1]
        file["texts"] = ["a", "bc"]
    with pytest.raises(wr.ArgumentError, match=r"it is a group that has \['x'\]"):
        wr.from_hdf5(path, "g")
    with pytest.raises(wr.DTypeError):
        wr.from_hdf5(path, "texts")


def test_data_sets_of_h5py_are_opened_again(tmp_path):
    path = tmp_path / "x.h5"
    data = np.random.default_rng(1).random((100, 80))
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=data, chunks=(10, 8))
        x = wr.from_array(file["x"])
        assert x.expr.op.data.file is None  # it is being written
        np.testing.assert_array_equal(x.compute(), data)
    with pytest.raises(wr.FileError, match="from_array"):
        wr.from_array(file["x"]) if file else x.compute()
    with h5py.File(path) as file, wr.config.set(chunk_bytes=8 * 80 * 6):
        x = wr.from_array(file["x"])
        assert all(n % 10 == 0 for n in x.chunks[0])
        assert all(n % 8 == 0 for n in x.chunks[1])
        assert x.expr.op.data.file is not None
        np.testing.assert_array_equal(x[3:50:7, ::-3].compute(), data[3:50:7, ::-3])
    np.testing.assert_array_equal(x.compute(), data)  # h5py's own handle is closed by now
    with h5py.File(path, "r+") as file:  # nothing keeps the file from being opened for writing
        file["y"] = 1
    with pytest.raises(wr.SourceChanged, match=r"x\.h5"):
        x.compute()


def test_locks_of_others_are_no_obstacle(tmp_path):
    path = tmp_path / "x.h5"
    wr.to_hdf5(path, "x", wr.ones(100, chunks=30))
    text = "import h5py, sys; f = h5py.File(sys.argv[1], 'r+'); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", text, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"open\n"
        x = wr.from_hdf5(path, "x")
        assert x.sum().compute() == 100
        other.kill()


def test_few_files_stay_open(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "KEPT", 3)
    monkeypatch.setattr(stored, "scripts", lambda path: None)
    monkeypatch.setattr(stored, "_scripts", set())
    arrays = []
    for k in range(8):
        wr.to_hdf5(tmp_path / f"{k}.h5", "x", wr.full(10, float(k)))
        arrays.append(wr.from_hdf5(tmp_path / f"{k}.h5", "x"))
    assert wr.stack(arrays).sum(axis=1).compute().tolist() == [10.0 * k for k in range(8)]
    assert len(stored._handles) <= 4
    with stored._guard:
        while stored._handles:
            stored._handles.popitem()[1].file.close()


def test_errors_name_file_and_data_set(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("g/x", data=np.random.default_rng(1).random(10_000), chunks=(1000,), compression="gzip")
        where = file["g/x"].id.get_chunk_info(4)
    x = wr.from_hdf5(path, "g/x", chunks=1000)
    status = path.stat()
    with open(path, "r+b") as raw:
        raw.seek(where.byte_offset)
        raw.write(b"\0" * 200)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(
        wr.FileError, match=r"(?s)from_hdf5: the data set '/g/x' in .*x\.h5 can't be read at \[4000:5000\]"
    ):
        x.compute()
    os.truncate(path, 3000)
    with pytest.raises(wr.SourceChanged, match=r"x\.h5 changed"):
        x.compute()
    with pytest.raises(wr.FileError, match=r"x\.h5"):
        wr.from_hdf5(path, "g/x")


def open_to_change(path):
    """Open a file that nothing keeps open, once the engine has let go of what it last read."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return h5py.File(path, "r+")
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def test_links_to_other_files(tmp_path):
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["g/x"] = np.arange(6.0)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["g/x"] = np.full(6, -1.0)
        file["one"] = h5py.ExternalLink("b.h5", "/g/x")
        file["group"] = h5py.ExternalLink("b.h5", "/g")
        file["to one"] = h5py.SoftLink("/one")
        file["own"] = h5py.SoftLink("/g/x")
    other = ["one", "group/x", "to one"]
    for name in ("g/x", "own", *other):
        expected = np.arange(6.0) if name in other else np.full(6, -1.0)
        np.testing.assert_array_equal(wr.from_hdf5(tmp_path / "a.h5", name, chunks=2).compute(), expected)
        with h5py.File(tmp_path / "a.h5") as file:
            x = wr.from_array(file[name])
            assert x.expr.op.data.file is not None
            np.testing.assert_array_equal(x.compute(), expected)
            del x  # which keeps h5py's handle of the other file
    linked, own = wr.from_hdf5(tmp_path / "a.h5", "one"), wr.from_hdf5(tmp_path / "a.h5", "g/x")
    with open_to_change(tmp_path / "b.h5") as file:
        file["more"] = 1
    with pytest.raises(wr.SourceChanged, match=r"b\.h5"):
        linked.compute()
    assert own.sum().compute() == -6
    pytest.importorskip("fsspec")
    with pytest.raises(wr.ArgumentError, match="'one'; expected a data set of this file; it is a link"):
        wr.from_hdf5(f"simplecache::file://{tmp_path}/a.h5", "one")


def test_parts_that_are_missing(tmp_path):
    layout = h5py.VirtualLayout(shape=(4,), dtype="f8")
    layout[:] = h5py.VirtualSource("part.h5", "x", shape=(4,))
    with h5py.File(tmp_path / "whole.h5", "w") as file:
        file.create_virtual_dataset("x", layout)
    with pytest.raises(wr.MissingFile, match=r"part\.h5"):
        wr.from_hdf5(tmp_path / "whole.h5", "x")
    wr.to_hdf5(tmp_path / "part.h5", "x", wr.arange(4.0))
    assert wr.from_hdf5(tmp_path / "whole.h5", "x").sum().compute() == 6


def test_a_filter_that_is_missing(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        description = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        description.set_chunk((4,))
        description.set_filter(32099, h5py.h5z.FLAG_OPTIONAL, ())
        h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_DOUBLE, h5py.h5s.create_simple((8,)), description)
    with pytest.raises(wr.FileFormatError, match=r"'/x' in .*x\.h5 needs the filter 32099"):
        wr.from_hdf5(path, "x")


def test_at_a_url(tmp_path):
    pytest.importorskip("fsspec")
    data = np.random.default_rng(1).random((30, 20))
    wr.to_hdf5(tmp_path / "x.h5", "x", data, chunks=(4, 5))
    x = wr.from_hdf5(f"simplecache::file://{tmp_path}/x.h5", "x", chunks=7)
    np.testing.assert_array_equal(x.compute(), data)


# -------------------------------------------------------------------- netCDF


@pytest.fixture
def netcdf(tmp_path):
    """A file with variables of all kinds, and what netCDF4 reads of them."""
    netCDF4 = pytest.importorskip("netCDF4")
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 9)
        packed = file.createVariable("packed", "i2", ("x",), fill_value=-1, chunksizes=(4,))
        packed.scale_factor, packed.add_offset, packed.missing_value = 0.5, 10.0, np.int16(-2)
        packed.set_auto_maskandscale(False)
        packed[:] = [1, 2, -1, 4, -2, 6, 7, 8, 9]
        floats = file.createVariable("g/floats", "f4", ("x",))
        floats[:4] = [1, 2, 3, 4]
        floats.valid_range = np.array([0, 3], "f4")
        whole = file.createVariable("whole", "i4", ("x",))
        whole[:] = np.arange(9)
        holes = file.createVariable("holes", "i4", ("x",), fill_value=-9)
        holes[:5] = np.arange(5)
        unsigned = file.createVariable("unsigned", "i1", ("x",), fill_value=-1)
        unsigned.setncattr("_Unsigned", "true")
        unsigned.set_auto_maskandscale(False)
        unsigned[:] = [-1, -2, 3, 4, 5, -6, 7, 8, 9]
    return path


@pytest.mark.parametrize("name", ["packed", "g/floats", "whole", "unsigned", "holes"])
def test_variables_as_netcdf4_reads_them(netcdf, name):
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(netcdf) as file:
        expected = file[name][:]
        x = wr.from_array(file[name], chunks=4)
        assert x.dtype == expected.dtype
        assert x.expr.op.data.file is not None
        if x.dtype.kind != "f" and np.ma.is_masked(expected):
            with pytest.raises(
                wr.BadValue, match=rf"(?s)'/{name}' in .*a\.nc has . missing values.*'mask' of from_hdf5"
            ):
                x.compute()
        else:
            np.testing.assert_array_equal(
                x.compute(), np.ma.filled(expected, np.nan) if x.dtype.kind == "f" else expected
            )
        file.set_auto_maskandscale(False)
        np.testing.assert_array_equal(wr.from_array(file[name]).compute(), file[name][:])
    with netCDF4.Dataset(netcdf, "a") as file:  # what is written to is read by this process alone
        x = wr.from_array(file[name], chunks=4)
        assert x.expr.op.data.file is None
        if x.dtype.kind == "f":
            np.testing.assert_array_equal(x.compute(), np.ma.filled(expected.astype(x.dtype), np.nan))
        elif np.ma.is_masked(expected):
            with pytest.raises(wr.BadValue, match=rf"'{name}' has missing values"):
                x.compute()


def test_missing_values_become_what_is_asked_for(netcdf):
    with pytest.raises(wr.ArgumentError, match=r"'holes' is of int32, which has no NaN.*_FillValue.*'mask'"):
        wr.from_hdf5(netcdf, "holes")
    with pytest.raises(wr.ArgumentError, match="'mask' is 'zero'"):
        wr.from_hdf5(netcdf, "holes", mask="zero")
    with pytest.raises(wr.ArgumentError, match=r"'mask' is 0\.5"):
        wr.from_hdf5(netcdf, "holes", mask=0.5)
    nans = wr.from_hdf5(netcdf, "holes", mask="nan")
    assert nans.dtype == float
    np.testing.assert_array_equal(nans.compute(), [0, 1, 2, 3, 4, *[np.nan] * 4])
    assert wr.from_hdf5(netcdf, "holes", mask=7).compute().tolist() == [0, 1, 2, 3, 4, 7, 7, 7, 7]
    assert wr.from_hdf5(netcdf, "holes", mask=False).compute().tolist() == [0, 1, 2, 3, 4, -9, -9, -9, -9]
    np.testing.assert_array_equal(wr.from_hdf5(netcdf, "packed", scale=False, mask=False)[:3].compute(), [1, 2, -1])
    np.testing.assert_array_equal(wr.from_hdf5(netcdf, "packed")[:3].compute(), [10.5, 11, np.nan])
    assert wr.from_hdf5(netcdf, "unsigned", mask=0).compute().tolist() == [0, 254, 3, 4, 5, 250, 7, 8, 9]


@pytest.mark.ranks
@pytest.mark.parametrize("words", [[], pytest.param(["kill"], marks=pytest.mark.slow)])
def test_on_ranks(launch, nothing_left, words):
    ended = launch(3, PROGRAM, *words)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert found["left"] == ["a.nc", "x.h5"]
    assert found["readers"] >= 2
    assert len(found["losses"]) == len(words)


@pytest.mark.parametrize("key", [[0, 390], slice(None, None, -100), (slice(None), [0, 9]), ([0, 399], [1, 9])])
def test_positions_far_apart_of_scaled_numbers(tmp_path, key):
    stored = np.arange(4000, dtype="i2").reshape(400, 10)
    path = tmp_path / "scaled.h5"
    with h5py.File(path, "w") as file:
        made = file.create_dataset("x", data=stored, chunks=(5, 5))
        made.attrs["scale_factor"], made.attrs["add_offset"] = 0.5, 3.0
    x = wr.from_hdf5(path, "x", chunks=(400, 10))
    assert np.array_equal(x[key].compute(), (stored * 0.5 + 3)[key])


@pytest.mark.parametrize("value", [np.array(87, ">i4"), np.array(2.5, ">f8"), np.array(b"abc", "S8")])
def test_a_single_element_keeps_its_dtype(tmp_path, value):
    with h5py.File(tmp_path / "one.h5", "w") as file:
        file["x"] = value
    found = wr.from_hdf5(tmp_path / "one.h5", "x").compute()
    assert found.dtype == value.dtype
    assert found == value


def test_variables_that_are_shorter_than_their_unlimited_dimension(tmp_path):
    netcdf = pytest.importorskip("netCDF4")
    path, wanted = tmp_path / "a.nc", np.full((7, 6), np.nan, "f4")
    wanted[:3] = np.arange(18).reshape(3, 6)
    with netcdf.Dataset(path, "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 6)
        file.createVariable("long", "f4", ("t", "x"), fill_value=-9)[:7] = 1
        file.createVariable("short", "f4", ("t", "x"), fill_value=-9)[:3] = wanted[:3]
    with netcdf.Dataset(path) as file:
        x = wr.from_array(file["short"], chunks=4)
        for part in (slice(None), slice(2, None), slice(2, 4), 5):
            np.testing.assert_array_equal(x[part].compute(), wanted[part])
        assert wr.from_array(file["long"], chunks=4).sum().compute() == 42
