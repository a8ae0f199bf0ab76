"""Files: what is written is what was computed, what is broken is said so, and nothing half-written looks whole."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

PROGRAM = str(Path(__file__).parent / "programs" / "files_on_ranks.py")
DTYPES = [
    "?",
    "i1",
    "u2",
    "i8",
    ">i4",
    "f2",
    "f4",
    "f8",
    ">f8",
    "c8",
    "c16",
    "g",
    "M8[D]",
    "M8[ns]",
    "m8[s]",
    "U5",
    "S3",
]


def left(folder):
    """Names in a folder, hidden ones as well."""
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("shape", [(), (0,), (7,), (5, 6), (3, 0, 2), (4, 3, 5)])
def test_every_chunking_comes_back(tmp_path, shape):
    data = np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape)
    for chunks in wr.testing.chunkings(shape):
        x = wr.from_array(data, chunks=chunks)
        x.save(tmp_path / "x", overwrite=True)
        loaded = wr.load(tmp_path / "x")
        assert (loaded.chunks, loaded.dtype, loaded.shape) == (x.chunks, x.dtype, x.shape)
        np.testing.assert_array_equal(loaded.compute(), data)
        x.to_npy(tmp_path / "x.npy", overwrite=True)
        np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), data)
        np.testing.assert_array_equal(wr.from_npy(tmp_path / "x.npy").compute(), data)
    assert left(tmp_path) == ["x", "x.npy"]


@pytest.mark.parametrize("sizes", [(1, 4, 2), (3, 3, 1), (0, 7), (2, 0, 5)])
def test_uneven_chunks_come_back(tmp_path, sizes):
    data = np.arange(21).reshape(7, 3)
    wr.save(tmp_path / "x", wr.from_array(data, chunks=(sizes, (1, 2))))
    loaded = wr.load(tmp_path / "x")
    assert loaded.chunks == (sizes, (1, 2))
    np.testing.assert_array_equal(loaded.compute(), data)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back(tmp_path, dtype):
    data = np.arange(-3, 4).astype(dtype)
    wr.save(tmp_path / "x", wr.from_array(data, chunks=3))
    wr.save(tmp_path / "x.npy", wr.from_array(data, chunks=3))
    for loaded in (wr.load(tmp_path / "x"), wr.load(tmp_path / "x.npy", chunks=2)):
        assert loaded.dtype == data.dtype
        np.testing.assert_array_equal(loaded.compute(), data)


@pytest.mark.parametrize("dtype", [*DTYPES, ">c16", ">U5", ">M8[s]", "U9"])
def test_one_element_without_axes_comes_back(tmp_path, dtype):
    data = np.array([3, 1]).astype(dtype)
    for name in ("x", "x.npy"):
        wr.save(tmp_path / name, wr.from_array(data)[1])
        loaded = wr.load(tmp_path / name)
        assert (loaded.dtype, loaded.shape) == (data.dtype, ())
        np.testing.assert_array_equal(loaded.compute(), data[1])


def test_structured_dtypes_come_back(tmp_path):
    data = np.zeros(5, [("a", "i4"), ("b", "f8", (2,)), ("c", [("d", "U3")])])
    data["b"] = 3
    wr.save(tmp_path / "x", wr.from_array(data, chunks=2))
    loaded = wr.load(tmp_path / "x")
    assert loaded.dtype == data.dtype
    assert (loaded.compute() == data).all()


@given(data=st.data())
def test_chunks_find_their_files(tmp_path_factory, data):
    """Runs of chunks: each chunk is in one file, at one place, whatever the sizes."""
    from windrow.arrays.files.writing import atomic_write
    from windrow.graph.chunks.grid import Axis, Grid

    axis = st.lists(st.integers(0, 60), min_size=1, max_size=9).map(Axis.of_sizes)
    grid = Grid(data.draw(st.lists(axis, max_size=3)))
    itemsize = data.draw(st.sampled_from([1, 1 << 15, 1 << 22]))
    runs = atomic_write.runs_of(grid, itemsize)
    places = [runs.place(grid.index(k)) for k in range(grid.nblocks)]
    assert places == sorted(places)  # consecutive chunks follow each other in the files
    assert len(set(places)) == grid.nblocks
    assert max(p[0] for p in places) == np.prod(runs.counts, dtype=int) - 1
    assert runs.merged.shape == grid.shape
    assert runs.merged.counts == runs.counts


@given(data=st.data())
def test_blocks_find_their_places_in_one_file(tmp_path_factory, data):
    """Every block of any grid is written where NumPy reads it."""
    from windrow.graph.chunks.grid import Axis, Grid
    from windrow.workers.kernels.blocks.files.files import to_npy

    axis = st.lists(st.integers(0, 4), min_size=1, max_size=4).map(Axis.of_sizes)
    grid = Grid(data.draw(st.lists(axis, max_size=4)))
    whole = np.arange(grid.size, dtype=data.draw(st.sampled_from(["i2", "f8", "c16"]))).reshape(grid.shape)
    path = tmp_path_factory.mktemp("one") / "file"
    path.write_bytes(b"head!" + bytes(whole.nbytes))
    for block in data.draw(st.permutations(range(grid.nblocks))) if grid.nblocks < 50 else range(grid.nblocks):
        where = tuple(slice(k, k + 1) for k in grid.index(block))
        written = to_npy(grid.view(whole, block), str(path), 5, grid, where=where)
        assert written.sum() == grid.view(whole, block).nbytes
    assert path.read_bytes() == b"head!" + whole.tobytes()


@pytest.mark.parametrize("chunks", [(2, 4, 150), (2, 4, 300), (4, 6, 7), (1, 6, 300)])
def test_npy_of_long_rows(tmp_path, chunks):
    data = np.arange(4 * 6 * 300.0).reshape(4, 6, 300)
    wr.from_array(data, chunks=chunks).to_npy(tmp_path / "x.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), data)


def test_files_are_arrow_files_that_others_read(tmp_path):
    wr.save(tmp_path / "x", wr.arange(10, chunks=4))
    with pa.memory_map(str(tmp_path / "x" / "part-0000000.arrow")) as source:
        found = pa.ipc.open_file(source)
        assert [found.get_batch(i).num_rows for i in range(found.num_record_batches)] == [4, 4, 2]
        assert found.read_all()["values"].to_pylist() == list(range(10))
    head = json.loads((tmp_path / "x" / "windrow.json").read_text())
    assert (head["shape"], head["chunks"], head["dtype"]) == ([10], [4], "<i8")
    mask = os.umask(0o022)
    os.umask(mask)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o777 & ~mask
    assert (tmp_path / "x" / "part-0000000.arrow").stat().st_mode & 0o777 == 0o666 & ~mask


def test_of_loaded_chunks_is_read_what_is_needed(tmp_path, monkeypatch):
    from windrow.workers.sources.file_arrays import OpenFile

    values = np.arange(600.0 * 700).reshape(600, 700)
    wr.save(tmp_path / "big", wr.from_array(values, chunks=(300, 350)))
    big = wr.load(tmp_path / "big")
    count = 0
    fill = OpenFile.fill

    def counting(self, target, at):
        nonlocal count
        count += target.nbytes
        fill(self, target, at)

    monkeypatch.setattr(OpenFile, "fill", counting)
    np.testing.assert_array_equal(big.compute(), values)
    assert values.nbytes < count < 1.2 * values.nbytes  # Arrow's own words
    for where in (np.s_[7], np.s_[::100, 5], np.s_[[3, 299, 400]], np.s_[290:310, 340:360], np.s_[::-50, ::-70]):
        count = 0
        np.testing.assert_array_equal(big[where].compute(), values[where])
        assert count < values.nbytes / 10
    wr.save(tmp_path / "x", wr.ones((6, 6), chunks=3))
    loaded = wr.load(tmp_path / "x")
    assert loaded.rechunk((2, 6)).sum().compute() == 36
    assert repr(loaded) == "Array(shape=(6, 6), dtype=float64, chunksize=(3, 3), op=load)"


def test_few_files_stay_open(tmp_path, monkeypatch):
    from windrow.arrays.files.writing import atomic_write
    from windrow.workers.sources import arrow_folder

    monkeypatch.setattr(atomic_write, "FILE_BYTES", 1)
    monkeypatch.setattr(arrow_folder, "OPEN_FILES", 2)
    wr.save(tmp_path / "x", wr.arange(30, chunks=2))
    assert len(left(tmp_path / "x")) == 16
    loaded = wr.load(tmp_path / "x")
    np.testing.assert_array_equal((loaded[::-1] * 2).compute(), np.arange(30)[::-1] * 2)
    targets = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
    assert len([t for t in targets if t.startswith(str(tmp_path))]) == 2


def test_an_array_is_saved_over_what_it_was_loaded_from(tmp_path):
    wr.save(tmp_path / "x", wr.arange(10, chunks=3))
    loaded = wr.load(tmp_path / "x")
    (loaded + 1).save(tmp_path / "x", overwrite=True)
    np.testing.assert_array_equal(wr.load(tmp_path / "x").compute(), np.arange(1, 11))
    with pytest.raises(wr.SourceChanged, match="changed underneath"):
        loaded.compute()
    assert left(tmp_path) == ["x"]


def test_numpy_saves_lazy_arrays(tmp_path):
    x = wr.arange(10, chunks=3)
    np.save(tmp_path / "x", x)
    np.save(tmp_path / "x.npy", x * 2)
    assert left(tmp_path) == ["x.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.arange(10) * 2)
    with pytest.raises(wr.ArgumentError, match="path"), (tmp_path / "y").open("wb") as file:
        np.save(file, x)


def test_load_takes_numpys_modes(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(4))
    assert wr.load(tmp_path / "x.npy", mmap_mode="r").sum().compute() == 6
    with pytest.raises(wr.ArgumentError, match="mmap_mode"):
        wr.load(tmp_path / "x.npy", "r+")


def test_unsized_arrays_are_saved(tmp_path):
    x = wr.arange(10, chunks=3)
    x[x % 2 == 0].save(tmp_path / "x")
    np.testing.assert_array_equal(wr.load(tmp_path / "x").compute(), [0, 2, 4, 6, 8])


# -------------------------------------------------------------------- errors


def test_paths_that_are_none(tmp_path):
    x = wr.ones(3)
    for save in (x.save, x.to_npy, x.to_parquet):
        with pytest.raises(wr.MissingFile, match="no folder"):
            save(tmp_path / "none" / "x")
        with pytest.raises(wr.ArgumentError, match="path"):
            save(3)
    for load in (wr.load, wr.from_npy, wr.read_parquet):
        with pytest.raises(FileNotFoundError, match="there is nothing"):
            load(tmp_path / "x")
        with pytest.raises(wr.ArgumentError, match="path"):
            load(b"x")
    assert left(tmp_path) == []


def test_nothing_is_overwritten_unasked(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    x = wr.ones(3)
    for save in (x.save, x.to_npy, x.to_parquet):
        with pytest.raises(FileExistsError, match="overwrite=True"):
            save(tmp_path / "mine")
        with pytest.raises(wr.FileExists, match="stays as it is"):
            save(tmp_path / "mine", overwrite=True)
    assert left(tmp_path) == ["mine"]
    assert left(tmp_path / "mine") == ["thesis.txt"]
    x.save(tmp_path / "x")
    (tmp_path / "x" / "note.txt").write_text("mine")
    with pytest.raises(wr.FileExists, match="stays as it is"):
        x.save(tmp_path / "x", overwrite=True)


def test_broken_folders_do_not_load(tmp_path):
    wr.save(tmp_path / "x", wr.ones((4, 4), chunks=2))
    head, part = tmp_path / "x" / "windrow.json", tmp_path / "x" / "part-0000000.arrow"
    whole, written = head.read_text(), part.read_bytes()
    for wrong, what in [
        ("", "doesn't describe"),
        ("[1]", "doesn't describe"),
        (whole.replace("windrow array", "other"), "doesn't describe"),
        (whole.replace('"version": 1', '"version": 2'), "version 2"),
        (whole.replace('"shape": [4', '"shape": [5'), "incomplete|doesn't describe|elements"),
        (whole.replace("<f8", "|O"), "doesn't describe"),
        (whole.replace('"shape": [4', '"shape": [-4'), "doesn't describe"),
        (whole.replace('"chunks": [2', '"chunks": [[5, -1]', 1), "doesn't describe"),
        (whole.replace('"chunks": [2', '"chunks": [[1, 2]', 1), "doesn't describe"),
        (whole.replace('"chunks": [2', '"chunks": [[3, 2]', 1), "doesn't describe"),
    ]:
        head.write_text(wrong)
        with pytest.raises(wr.FileFormatError, match=what):
            wr.load(tmp_path / "x").compute()
    head.write_text(whole.replace("<f8", "<i4"))
    with pytest.raises(wr.FileFormatError, match="expected 4 of int32"):
        wr.load(tmp_path / "x").compute()
    head.write_text(whole)
    part.write_bytes(written[:-10])
    with pytest.raises(wr.FileFormatError, match="incomplete"):
        wr.load(tmp_path / "x")
    for broken in (b"x" * len(written), bytes(8) + b"x" * 200 + written[208:]):
        part.write_bytes(broken)
        with pytest.raises(wr.FileFormatError, match="no Arrow file"):
            wr.load(tmp_path / "x").compute()
    part.unlink()
    with pytest.raises(wr.FileFormatError, match="incomplete"):
        wr.load(tmp_path / "x")
    head.unlink()
    with pytest.raises(wr.FileFormatError, match="save"):
        wr.load(tmp_path / "x")


def test_files_that_change_are_noticed(tmp_path):
    wr.save(tmp_path / "x", wr.ones(4))
    loaded = wr.load(tmp_path / "x")
    part = tmp_path / "x" / "part-0000000.arrow"
    os.utime(part, ns=(1, 1))
    with pytest.raises(wr.SourceChanged, match="changed underneath"):
        loaded.compute()
    part.unlink()
    with pytest.raises(wr.SourceChanged, match="is gone"):
        loaded.compute()
    wr.to_npy(wr.ones(4), tmp_path / "x.npy")
    mapped = wr.from_npy(tmp_path / "x.npy")
    os.utime(tmp_path / "x.npy", ns=(1, 1))
    with pytest.raises(wr.SourceChanged):
        mapped.compute()


def test_npy_files_that_are_none(tmp_path):
    (tmp_path / "text.npy").write_text("hello")
    np.save(tmp_path / "objects.npy", np.array([{}, 1], object), allow_pickle=True)
    for name in ("text.npy", "objects.npy"):
        with pytest.raises(wr.FileFormatError, match="from_npy"):
            wr.from_npy(tmp_path / name)


def fail(block, block_id=()):
    """Fail on the last block."""
    if block_id == (9,):
        raise ArithmeticError("no more")
    return block


def test_a_failed_save_leaves_nothing(tmp_path):
    x = wr.map_blocks(fail, wr.ones(10, chunks=1), dtype=float)
    for save in (x.save, x.to_npy, x.to_parquet):
        with pytest.raises(ArithmeticError):
            save(tmp_path / "x")
        assert left(tmp_path) == []


def test_an_interrupted_save_leaves_what_was_there(tmp_path):
    wr.save(tmp_path / "x", wr.zeros(3))

    def late(block):
        time.sleep(0.2)
        return block

    x = wr.map_blocks(late, wr.ones(40, chunks=1), dtype=float)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        x.save(tmp_path / "x", overwrite=True)
    assert left(tmp_path) == ["x"]
    np.testing.assert_array_equal(wr.load(tmp_path / "x").compute(), np.zeros(3))


def test_a_full_disk_is_named(tmp_path, launch):
    code = """
import os, resource, windrow as wr
x = wr.ones(100_000, chunks=10_000).persist()
x.sum().compute()
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for name in ("save", "to_npy", "to_parquet"):
    try:
        wr.random.default_rng(1).random(100_000)[:].__getattribute__(name)("x")
    except wr.FileError as error:
        print(name, type(error).__name__, "could not be written" in str(error), sorted(os.listdir(".")))
"""
    lines = launch(0, "-c", code)
    assert lines.status == 0, lines.err
    assert lines.out.splitlines() == [f"{n} FileError True []" for n in ("save", "to_npy", "to_parquet")], lines.err


# -------------------------------------------------------------------- Parquet


def test_parquet_columns_come_back(tmp_path):
    columns = {
        "flag": np.arange(20) % 3 == 0,
        "small": np.arange(20, dtype="u1"),
        "half": np.arange(20, dtype="f2"),
        "real": np.linspace(0, 1, 20),
        "when": np.arange(20).astype("M8[us]"),
        "long": np.arange(20).astype("m8[ns]"),
    }
    lazy = {name: wr.from_array(c, chunks=7) for name, c in columns.items()}
    wr.to_parquet(tmp_path / "t", lazy)
    found = wr.read_parquet(tmp_path / "t")
    assert list(found) == list(columns)
    for name, array in found.items():
        assert array.chunks == ((7, 7, 6),)
        assert array.dtype == columns[name].dtype
        np.testing.assert_array_equal(array.compute(), columns[name])
    assert list(wr.read_parquet(tmp_path / "t", columns=["real"])) == ["real"]
    both = wr.read_parquet([tmp_path / "t" / "part-0000000.parquet", tmp_path / "t"], columns=["small"])["small"]
    np.testing.assert_array_equal(both.compute(), np.tile(np.arange(20), 2))


def test_dates_that_parquet_has_no_room_for(tmp_path):
    with pytest.raises(wr.FileError, match=r"to_parquet: columns d .*overflow"):
        wr.to_parquet(tmp_path / "t", {"d": wr.from_array(np.array([2**62, 5], "M8[s]"))})
    assert left(tmp_path) == []


def test_parquet_of_others(tmp_path):
    table = pa.table(
        {"i": [1, 2, None], "x": [0.5, None, 2.5], "s": [[1], [2], []], "d": pa.array([1, 2, 3], pa.date32())}
    )
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(wr.DTypeError, match="'s' is of type list"):
        wr.read_parquet(tmp_path / "t.parquet")
    with pytest.raises(wr.DTypeError, match="nulls"):
        wr.read_parquet(tmp_path / "t.parquet", ["i"])
    found = wr.read_parquet(tmp_path / "t.parquet", ["x", "d"])
    np.testing.assert_array_equal(found["x"].compute(), [0.5, np.nan, 2.5])
    np.testing.assert_array_equal(found["d"].compute(), np.array([1, 2, 3], "M8[D]"))
    pq.write_table(table.select(["i"]), tmp_path / "n.parquet", write_statistics=False)
    with pytest.raises(wr.DTypeError, match="1 nulls"):
        wr.read_parquet(tmp_path / "n.parquet")["i"].compute()
    with pytest.raises(wr.ArgumentError, match="columns"):
        wr.read_parquet(tmp_path / "t.parquet", ["none"])
    with pytest.raises(wr.FileFormatError, match=r"n\.parquet' has no column 'x'"):
        wr.read_parquet([tmp_path / "t.parquet", tmp_path / "n.parquet"], ["x"])
    os.utime(tmp_path / "t.parquet", ns=(1, 1))
    with pytest.raises(wr.SourceChanged, match="changed underneath"):
        found["x"].compute()
    (tmp_path / "t.parquet").write_text("hello")
    with pytest.raises(wr.FileFormatError, match="no Parquet file"):
        wr.read_parquet(tmp_path / "t.parquet")


def test_parquet_names_are_looked_up_whole(tmp_path):
    table = pa.table({"s": pa.array([{"x": None}, {"x": 1}]), "x": [1, 2], "a.b": [3, 4]})
    pq.write_table(table, tmp_path / "t.parquet")
    found = wr.read_parquet(tmp_path / "t.parquet", ["x", "a.b"])
    assert found["x"].compute().tolist() == [1, 2]
    assert found["a.b"].compute().tolist() == [3, 4]


def test_parquet_of_a_matrix_and_of_nothing(tmp_path):
    data = np.arange(12.0).reshape(6, 2)
    wr.from_array(data, chunks=(4, 1)).to_parquet(tmp_path / "m")
    found = wr.read_parquet(tmp_path / "m")
    np.testing.assert_array_equal(wr.stack(list(found.values()), axis=1).compute(), data)
    wr.to_parquet(tmp_path / "e", {"x": wr.ones(0)})
    assert wr.read_parquet(tmp_path / "e")["x"].compute().shape == (0,)
    with pytest.raises(wr.FileExists):
        wr.to_parquet(tmp_path / "e", {"x": wr.ones(3)})
    wr.to_parquet(tmp_path / "e", {"x": wr.ones(3)}, overwrite=True)
    assert wr.read_parquet(tmp_path / "e")["x"].sum().compute() == 3
    for wrong, error in [
        ({"x": wr.ones(3), "y": wr.ones(4)}, wr.ShapeError),
        ({"x": wr.ones((3, 3))}, wr.ShapeError),
        ({"x": wr.ones(3, complex)}, wr.DTypeError),
        ({}, wr.ArgumentError),
        (wr.ones((2, 2, 2)), wr.ShapeError),
    ]:
        with pytest.raises(error, match="to_parquet"):
            wr.to_parquet(tmp_path / "w", wrong)


# -------------------------------------------------------------------- ranks


@pytest.mark.ranks
@pytest.mark.parametrize("words", [[], ["kill"]])
def test_on_ranks(launch, nothing_left, words):
    ended = launch(3, PROGRAM, *words)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert found["left"] == ["saved", "saved.npy", "table"]
    assert found["makers"] >= 2
    assert len(found["losses"]) == len(words)
