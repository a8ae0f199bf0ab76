"""zarr's arrays: what is written is what was computed, each object has one writer, and nothing is there by half."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import windrow as wr
from windrow.arrays.chunking import stored as chunking
from windrow.arrays.files.chunked import zarr_new
from windrow.arrays.files.writing import into_arrays
from windrow.workers.sources.stores import zarr as stored

zarr = pytest.importorskip("zarr")

PROGRAM = str(Path(__file__).parent / "programs" / "zarr_on_ranks.py")
DTYPES = ["?", "i1", "u2", "i8", ">i4", "f2", "f4", ">f8", "c8", "c16", "M8[D]", "M8[ns]", "m8[s]"]
UNSTABLE = "ignore::zarr.errors.UnstableSpecificationWarning"
KINDS = [
    {"chunks": (2, 3)},
    {"chunks": (5, 4), "zarr_format": 2},
    {"chunks": (1, 2), "shards": (4, 6)},
    {"chunks": (3, 3), "compressors": None},
    {},
]


def left(folder):
    """Names in a folder, hidden ones as well."""
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_chunking_comes_back(tmp_path, kind):
    data = np.arange(77.0).reshape(11, 7)
    for chunks in (*wr.testing.chunkings(data.shape), ((1, 4, 6), (2, 5)), (1, 1)):
        x = wr.from_array(data, chunks=chunks)
        x.to_zarr(tmp_path / "x", overwrite=True, **kind)
        np.testing.assert_array_equal(zarr.open(tmp_path / "x")[:], data)
        found = wr.from_zarr(tmp_path / "x")
        assert (found.dtype, found.shape) == (x.dtype, x.shape)
        np.testing.assert_array_equal(found.compute(), data)
        other = wr.from_zarr(tmp_path / "x", chunks=chunks)
        assert other.chunks == x.chunks
        np.testing.assert_array_equal(other[::-2, [5, 0, 5]].compute(), data[::-2, [5, 0, 5]])
    assert left(tmp_path) == ["x"]


@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 0, 2), (4, 3, 5)])
def test_every_shape_comes_back(tmp_path, shape):
    data = np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape)
    for version in (2, 3):
        wr.from_array(data, chunks=2 if data.size else "auto").to_zarr(tmp_path / f"x{version}", zarr_format=version)
        found = wr.from_zarr(tmp_path / f"x{version}")
        assert found.shape == shape
        np.testing.assert_array_equal(found.compute(), data)


@pytest.mark.filterwarnings(UNSTABLE)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", [*DTYPES, "U5", "S3", [("a", "i4"), ("b", "f8")]], ids=str)
def test_every_dtype_comes_back(tmp_path, dtype, version):
    data = np.arange(12).astype("i8").astype("S3" if dtype == "S3" else dtype) if isinstance(dtype, str) else None
    if data is None:
        data = np.array([(i, i / 2) for i in range(12)], dtype)
    wr.from_array(data, chunks=5).to_zarr(tmp_path / "x", chunks=(4,), zarr_format=version)
    found = wr.from_zarr(tmp_path / "x", chunks=3)
    same = (
        data.dtype if version == 2 else data.dtype.newbyteorder("=")
    )  # format 3 knows bytes' order, zarr no dtype of it
    assert found.dtype == same
    np.testing.assert_array_equal(found.compute(), data)
    np.testing.assert_array_equal(found[::3].compute(), data[::3])


@pytest.mark.filterwarnings(UNSTABLE)
def test_records_in_shards_are_refused_as_long_as_zarr_cannot(tmp_path):
    data = np.array([(i, i / 2, b"ab") for i in range(12)], [("a", "i4"), ("b", ">f8"), ("s", "S3")])
    target = zarr.create_array(tmp_path / "z", shape=(12,), chunks=(2,), shards=(4,), dtype=data.dtype)
    try:
        target[:] = data
    except TypeError:
        with pytest.raises(wr.DTypeError, match=r"to_zarr: zarr can't write elements of .* in shards .*'shards'"):
            wr.from_array(data).to_zarr(tmp_path / "x", chunks=(2,), shards=(4,))
        assert left(tmp_path) == ["z"]
    else:
        wr.from_array(data).to_zarr(tmp_path / "x", chunks=(2,), shards=(4,))
        np.testing.assert_array_equal(wr.from_zarr(tmp_path / "x").compute(), data)


@pytest.mark.parametrize("kind", [{"zarr_format": 2, "order": "F"}, {"config": {"order": "F"}}], ids=str)
def test_elements_in_fortran_order_come_back(tmp_path, kind):
    """Those that zarrs can't read, zarr-python does."""
    data = np.arange(77).reshape(7, 11)
    wr.from_array(data, chunks=3).to_zarr(tmp_path / "x", **kind)
    np.testing.assert_array_equal(zarr.open(tmp_path / "x")[:], data)
    for found in (wr.from_zarr(tmp_path / "x"), wr.from_array(zarr.open(tmp_path / "x", **kind), chunks=(2, 5))):
        np.testing.assert_array_equal(found.compute(), data)
        np.testing.assert_array_equal(found[1::2, ::-3].compute(), data[1::2, ::-3])


def test_each_object_is_written_by_one_task(tmp_path, monkeypatch):
    written = []
    write = stored.write

    def noted(operation, pickled, name, region, block, whole):
        written.append(region)
        write(operation, pickled, name, region, block, whole)

    monkeypatch.setattr(stored, "write", noted)
    monkeypatch.setattr(chunking, "MERGED", 1)
    data = np.random.default_rng(1).random((50, 40))
    x = wr.from_array(data, chunks=((7, 13, 30), (11, 29)))
    x.to_zarr(tmp_path / "x", chunks=(2, 5), shards=(8, 10))
    assert len(written) > 1
    target = zarr.open(tmp_path / "x", mode="r+")
    wr.store(x[:30, :20] + 1, target, regions=(slice(3, 33), slice(9, 29)))
    data[3:33, 9:29] = data[:30, :20] + 1
    np.testing.assert_array_equal(target[:], data)
    for region in written:
        for span, size, length in zip(region, (8, 10), data.shape, strict=True):
            assert span.start % size == 0 or span.start in (3, 9)
            assert span.stop % size == 0 or span.stop in (33, 29, length)


def test_chunks_follow_those_that_are_stored(tmp_path):
    z = zarr.create_array(tmp_path / "x", shape=(1000, 1000), chunks=(50, 100), dtype="f8")
    with wr.config.set(chunk_bytes=8 * 50 * 100 * 6):
        found = wr.from_array(z)
        assert all(n % 50 == 0 for n in found.chunks[0][:-1])
        assert all(n % 100 == 0 for n in found.chunks[1][:-1])
        assert 1 < found.numblocks[0] * found.numblocks[1] <= 60
        assert wr.from_array(z, chunks=("auto", 30)).chunksize[1] == 30
        assert wr.from_array(z, chunks={0: "auto"}).chunksize == (50, 1000)
    with wr.config.set(chunk_bytes=1000):
        assert wr.from_array(z).chunksize == (50, 100)
    sharded = zarr.create_array(tmp_path / "s", shape=(1000, 1000), chunks=(10, 10), shards=(100, 100), dtype="f8")
    with wr.config.set(chunk_bytes=8 * 100 * 100 * 2):
        assert all(n % 100 == 0 for n in wr.from_zarr(sharded).chunksize)
    with wr.config.set(chunk_bytes=8 * 50 * 50):
        assert wr.from_zarr(sharded).chunksize == (50, 50)


def test_groups_and_components(tmp_path):
    x = wr.arange(10, chunks=4)
    x.to_zarr(tmp_path / "g", component="a/b")
    x.to_zarr(tmp_path / "g", component="a/c", chunks=(3,))
    x.to_zarr(tmp_path / "g", component="d/e/f")
    group = zarr.open_group(tmp_path / "g", mode="r")
    assert sorted(group) == ["a", "d"]
    np.testing.assert_array_equal(group["d/e/f"][:], np.arange(10))
    np.testing.assert_array_equal(wr.from_zarr(group, "a/c").compute(), np.arange(10))
    with pytest.raises(wr.ArgumentError, match=r"is a group; expected .*'b', 'c'"):
        wr.from_zarr(tmp_path / "g", "a")
    with pytest.raises(wr.FileExists, match="overwrite"):
        x.to_zarr(tmp_path / "g", component="a/b")
    with pytest.raises(wr.FileExists, match="didn't make"):
        x.to_zarr(tmp_path / "g", overwrite=True)
    with pytest.raises(wr.FileExists, match="there is an array at 'a/b'"):
        x.to_zarr(tmp_path / "g", component="a/b/c")
    (x + 1).to_zarr(tmp_path / "g", component="a/b", mode="w")
    np.testing.assert_array_equal(group["a/b"][:], np.arange(1, 11))
    old = zarr.create_group(tmp_path / "old", zarr_format=2)
    x.to_zarr(old, component="x")
    assert old["x"].metadata.zarr_format == 2


def meanwhile(monkeypatch, act):
    """Have something done once, when an array's objects are written and not yet in their place."""
    write = zarr_new.write_blocks

    def both(*args):
        write(*args)
        monkeypatch.setattr(zarr_new, "write_blocks", write)
        act()

    monkeypatch.setattr(zarr_new, "write_blocks", both)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("other", ["y", "a/y", "a/b/y", "a/b/c/y"])
def test_groups_that_others_make_meanwhile_are_taken(tmp_path, monkeypatch, other, version):
    x = wr.arange(10, chunks=4)
    meanwhile(monkeypatch, lambda: (x + 1).to_zarr(tmp_path / "g", component=other, zarr_format=version))
    x.to_zarr(tmp_path / "g", component="a/b/x", zarr_format=version)
    np.testing.assert_array_equal(wr.from_zarr(tmp_path / "g", "a/b/x").compute(), np.arange(10))
    np.testing.assert_array_equal(wr.from_zarr(tmp_path / "g", other).compute(), np.arange(1, 11))
    assert left(tmp_path) == ["g"]
    assert not [name for _, names, _ in os.walk(tmp_path) for name in names if name.startswith(".")]


@pytest.mark.parametrize("other", ["a/x", "a"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_what_others_make_meanwhile_stays(tmp_path, monkeypatch, other, overwrite):
    x = wr.arange(10, chunks=4)
    meanwhile(monkeypatch, lambda: (x + 1).to_zarr(tmp_path / "g", component=other))
    with pytest.raises(wr.FileExists, match=rf"to_zarr: '.*/g/{other}' was made meanwhile"):
        x.to_zarr(tmp_path / "g", component="a/x", overwrite=overwrite)
    np.testing.assert_array_equal(wr.from_zarr(tmp_path / "g", other).compute(), np.arange(1, 11))
    assert left(tmp_path) == ["g"]


@pytest.mark.ranks
def test_processes_that_write_into_one_new_group(tmp_path):
    """Each begins when all are there, and none is refused."""
    script = (
        "import sys, time, pathlib, windrow as wr\n"
        "folder, mine, count = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])\n"
        "(folder / f'{mine}.there').touch()\n"
        "while len(list(folder.glob('*.there'))) < count: time.sleep(0.001)\n"
        "wr.full((50, 40), float(mine), chunks=20).to_zarr(folder / 'g.zarr', component=f'a/{mine}')\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    started = [subprocess.Popen([*command, str(i), "4"], stderr=subprocess.PIPE, text=True) for i in range(4)]
    errors = [process.communicate(timeout=100)[1] for process in started]
    assert [process.returncode for process in started] == [0] * 4, errors
    assert [float(wr.from_zarr(tmp_path / "g.zarr", f"a/{i}").mean()) for i in range(4)] == [0, 1, 2, 3]


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_a_group_that_lists_its_arrays_lists_the_new_one(tmp_path):
    x = wr.arange(10, chunks=4)
    x.to_zarr(tmp_path / "g", component="a")
    zarr.consolidate_metadata(tmp_path / "g")
    x.to_zarr(tmp_path / "g", component="b")
    assert sorted(zarr.open_consolidated(tmp_path / "g", mode="r")) == ["a", "b"]


def test_stores_that_only_this_process_has(tmp_path):
    x = wr.arange(100.0, chunks=30)
    memory = zarr.storage.MemoryStore()
    x.to_zarr(memory, component="x", chunks=(7,))
    assert not stored.can_travel(memory)
    np.testing.assert_array_equal(wr.from_zarr(memory, "x").compute(), x.compute())
    zipped = zarr.storage.ZipStore(tmp_path / "x.zip", mode="w")
    x.to_zarr(zipped)
    zipped.close()
    reading = zarr.storage.ZipStore(tmp_path / "x.zip", mode="r")
    assert stored.can_travel(reading)
    np.testing.assert_array_equal(wr.from_zarr(reading).compute(), x.compute())
    reading.close()


def elsewhere(folder):
    """A store that any process can open, but isn't known to be local."""
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
    from fsspec.implementations.dirfs import DirFileSystem
    from fsspec.implementations.local import LocalFileSystem

    system = DirFileSystem(str(folder), LocalFileSystem(auto_mkdir=True))
    return zarr.storage.FsspecStore(AsyncFileSystemWrapper(system, asynchronous=True), path="/")


def test_a_store_elsewhere_gets_the_description_last(tmp_path, monkeypatch):
    pytest.importorskip("fsspec")
    store = elsewhere(tmp_path)
    assert stored.can_travel(store)
    x = wr.arange(100.0, chunks=30)

    def ends(*_):
        raise KeyboardInterrupt

    check = into_arrays._check
    monkeypatch.setattr(into_arrays, "_check", ends)
    with pytest.raises(KeyboardInterrupt):
        (x + 5).to_zarr(store, component="g/x", chunks=(10,))
    assert os.listdir(tmp_path / "g" / "x") == ["c"]
    with pytest.raises(wr.MissingFile, match="no zarr array"):
        wr.from_zarr(store, "g/x")
    monkeypatch.setattr(into_arrays, "_check", check)
    wr.where(x < 50, 0, x).to_zarr(store, component="g/x", chunks=(10,))  # zeros go over what was left
    expected = np.where(np.arange(100) < 50, 0.0, np.arange(100))
    np.testing.assert_array_equal(wr.from_zarr(store, "g/x").compute(), expected)
    with pytest.raises(wr.FileExists, match="overwrite"):
        x.to_zarr(store, component="g/x")
    x[:20].to_zarr(store, component="g/x", overwrite=True)
    assert sorted(zarr.open_group(tmp_path / "g", mode="r")) == ["x"]
    np.testing.assert_array_equal(wr.from_zarr(f"file://{tmp_path}/g", "x").compute(), np.arange(20.0))


def test_what_cannot_be_written_is_said_before_anything_runs(tmp_path):
    def computed(block):
        raise AssertionError("computed")

    x = wr.map_blocks(computed, wr.ones(3), dtype=float)
    with pytest.raises(wr.MissingFile, match="no folder"):
        x.to_zarr(tmp_path / "none" / "x")
    with pytest.raises(wr.ArgumentError, match="to_zarr: zarr doesn't take"):
        x.to_zarr(tmp_path / "x", nonsense=1)
    with pytest.raises(wr.ArgumentError, match="to_zarr: zarr doesn't take"):
        x.to_zarr(tmp_path / "x", chunks=(2,), shards=(3,))
    for kind in ({"chunks": (0,)}, {"chunks": (1,), "shards": (0,)}):
        with pytest.raises(
            wr.ChunksError, match=rf"to_zarr: argument '{list(kind)[-1]}' is \(0,\); expected sizes of at"
        ):
            x.to_zarr(tmp_path / "x", **kind)
    with pytest.raises(wr.DTypeError, match="zarr has no type"):
        wr.ones(3, dtype="g").to_zarr(tmp_path / "x")
    with pytest.raises(wr.ArgumentError, match="'url' is 3"):
        x.to_zarr(3)
    with pytest.raises(wr.ArgumentError, match="'mode' is 'r'"):
        x.to_zarr(tmp_path / "x", mode="r")
    with pytest.raises(wr.MissingFile, match="no zarr array"):
        x.to_zarr(tmp_path / "x", region=(slice(0, 3),))
    (tmp_path / "file").write_text("hello")
    with pytest.raises(wr.FileExists, match="didn't make"):
        x.to_zarr(tmp_path / "file", overwrite=True)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "precious").write_text("hello")
    with pytest.raises(wr.FileExists, match="didn't make"):
        x.to_zarr(tmp_path / "folder", overwrite=True)
    assert left(tmp_path) == ["file", "folder"]


def test_compute_later_and_return_stored(tmp_path):
    x = wr.arange(10, chunks=4)
    later = x.to_zarr(tmp_path / "x", compute=False)
    assert left(tmp_path) == []
    later.compute()
    again = x.to_zarr(tmp_path / "y", return_stored=True)
    np.testing.assert_array_equal(again.compute(), np.arange(10))
    found = (x[:3] * 10).to_zarr(tmp_path / "x", region=(slice(4, 7),), return_stored=True)
    np.testing.assert_array_equal(found.compute(), [0, 10, 20])
    np.testing.assert_array_equal(wr.from_zarr(tmp_path / "x").compute(), [0, 1, 2, 3, 0, 10, 20, 7, 8, 9])


def test_two_sources_that_meet_in_an_object(tmp_path):
    target = zarr.create_array(tmp_path / "x", shape=(40,), chunks=(2,), shards=(10,), dtype="f8")
    sources = [wr.full(13, 1.0, chunks=4), wr.full(12, 2.0, chunks=5), wr.full(15, 3.0)]
    regions = [(slice(0, 13),), (slice(13, 25),), (slice(25, 40),)]
    wr.store(sources, [target] * 3, regions=regions)
    np.testing.assert_array_equal(target[:], [1.0] * 13 + [2.0] * 12 + [3.0] * 15)


def test_errors_name_the_object(tmp_path):
    data = np.random.default_rng(1).random((20, 20))
    for kind in ({"chunks": (5, 5)}, {"chunks": (5, 5), "compressors": None}, {"chunks": (5, 5), "shards": (10, 10)}):
        wr.from_array(data).to_zarr(tmp_path / "x", overwrite=True, **kind)
        found = wr.from_zarr(tmp_path / "x")
        objects = sorted(p for p in (tmp_path / "x" / "c").rglob("*") if p.is_file())
        os.truncate(objects[-1], objects[-1].stat().st_size // 2)
        key = objects[-1].relative_to(tmp_path / "x")
        with pytest.raises(wr.FileError, match=rf"(?s)from_zarr: the object '{key}' .*{tmp_path}/x .*cut short"):
            found.compute()
        np.testing.assert_array_equal(found[:5, :5].compute(), data[:5, :5])
    head = tmp_path / "x" / "zarr.json"
    head.write_text(head.read_text().replace('"sharding_indexed"', '"weird"'))
    with pytest.raises(wr.FileFormatError, match=rf"from_zarr: {tmp_path}/x .*weird"):
        wr.from_zarr(tmp_path / "x")
    head.write_text("hello")
    with pytest.raises(wr.FileFormatError, match=rf"from_zarr: {tmp_path}/x "):
        wr.from_zarr(tmp_path / "x")


def test_an_array_that_is_gone_or_replaced_is_no_array_of_zeros(tmp_path):
    x = wr.arange(10, chunks=4)
    x.to_zarr(tmp_path / "x")
    found = wr.from_zarr(tmp_path / "x")
    (found + 1).to_zarr(tmp_path / "x", overwrite=True)
    with pytest.raises(wr.SourceChanged, match="was replaced"):
        found.compute()
    found = wr.from_zarr(tmp_path / "x")
    shutil.rmtree(tmp_path / "x")
    with pytest.raises(wr.SourceChanged, match="is gone"):
        found.compute()


@pytest.mark.ranks
@pytest.mark.parametrize("words", [[], ["kill"]])
def test_on_ranks(launch, nothing_left, words):
    ended = launch(3, PROGRAM, *words)
    assert ended.status == 0, ended.err[-3000:]
    found = json.loads(ended.last)
    assert found["left"] == ["group", "saved", "sharded"]
    assert found["makers"] >= 2
    assert len(found["losses"]) == len(words)


@pytest.mark.parametrize("place", ["memory", "folder"])
def test_a_session_of_icechunk_gets_what_the_ranks_have_written(tmp_path, place):
    icechunk = pytest.importorskip("icechunk")
    folder = icechunk.local_filesystem_storage(str(tmp_path))
    repository = icechunk.Repository.create(icechunk.in_memory_storage() if place == "memory" else folder)
    assert into_arrays.can_fork(repository.writable_session("main").store) == (place == "folder")
    data = np.random.default_rng(1).random((50, 40))
    x = wr.from_array(data, chunks=(7, 11))
    session = repository.writable_session("main")
    x.to_zarr(session.store, component="g/x", chunks=(5, 5))
    (x + 1).to_zarr(session.store, component="g/y", chunks=(2, 5), shards=(8, 10))  # by the driver: there are changes
    with pytest.raises(wr.FileExists):
        x.to_zarr(session.store, component="g/x")
    session.commit("two arrays")
    reading = repository.readonly_session("main").store
    np.testing.assert_array_equal(wr.from_zarr(reading, "g/x").compute(), data)
    np.testing.assert_array_equal(wr.from_zarr(reading, "g/y").compute(), data + 1)
    session = repository.writable_session("main")
    x[:9].to_zarr(session.store, component="g/x", chunks=(5, 40), overwrite=True)
    np.testing.assert_array_equal(wr.from_zarr(session.store, "g/x").compute(), data[:9])
    np.testing.assert_array_equal(wr.from_zarr(reading, "g/x").compute(), data)


def test_a_target_that_has_only_a_shape():
    class Target:
        shape, parts = (5,), []

        def __setitem__(self, where, values):
            self.parts.append((where, values.tolist()))

    wr.store(wr.arange(5, chunks=3), Target())
    assert Target.parts == [((slice(0, 3, 1),), [0, 1, 2]), ((slice(3, 5, 1),), [3, 4])]


@pytest.mark.parametrize("large", [False, True])
def test_arrays_of_the_driver_that_are_read_and_written(large):
    with wr.config.set(chunk_bytes=64 if large else 1 << 20):
        data = np.arange(400.0)
        x = wr.from_array(data, chunks=7)
        wr.store([wr.roll(x, 3), x], [data, np.zeros(400)])
        np.testing.assert_array_equal(data, np.roll(np.arange(400.0), 3))
        memory = zarr.create_array({}, shape=(400,), chunks=(5,), dtype="f8")
        memory[:] = np.arange(400)
        wr.store(wr.roll(wr.from_array(memory, chunks=9), 3), memory)
        np.testing.assert_array_equal(memory[:], np.roll(np.arange(400.0), 3))


def test_what_writes_to_a_folder_that_was_removed_leaves_nothing(tmp_path):
    hidden = tmp_path / ".x.12345678.partial"
    array = zarr.create_array(zarr.storage.LocalStore(hidden / "data"), shape=4, chunks=2, dtype="f8")
    pickled = stored.pickled_array(array)
    shutil.rmtree(hidden)
    stored.write("to_zarr", pickled, "x", (slice(0, 4),), np.ones(4), True)
    assert os.listdir(tmp_path) == []
    (tmp_path / "mine.partial" / "x").mkdir(parents=True)
    array = zarr.create_array(zarr.storage.LocalStore(tmp_path / "mine.partial" / "x"), shape=4, chunks=2, dtype="f8")
    (tmp_path / "mine.partial" / "x" / "zarr.json").unlink()
    stored.write("to_zarr", stored.pickled_array(array), "x", (slice(0, 4),), np.ones(4), True)
    assert os.listdir(tmp_path) == ["mine.partial"], "a user's folder stays"


def test_what_writes_when_asked_is_computed_with_arrays(tmp_path):
    target = np.zeros(5)
    waits = wr.store(wr.ones(5) * 3, target, compute=False)
    made, total = wr.compute([waits], wr.ones(4).sum())
    assert (made, total) == ([None], 4)
    assert target.tolist() == [3] * 5
    wr.compute(wr.arange(6).to_zarr(tmp_path / "a.zarr", compute=False))
    assert wr.from_zarr(tmp_path / "a.zarr").compute().tolist() == [*range(6)]


def test_one_array_by_two_paths_is_one_target(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "a.zarr", shape=(100,), dtype="f8", chunks=(100,))
    os.symlink(tmp_path / "a.zarr", tmp_path / "b.zarr")
    handles = [zarr.open(tmp_path / f"{name}.zarr", mode="r+") for name in "ab"]
    for _ in range(5):
        handles[0][:] = 0
        sources = [wr.full(10, i + 1.0, chunks=3) for i in range(10)]
        wr.store(sources, handles * 5, regions=[(slice(10 * i, 10 * i + 10),) for i in range(10)])
        np.testing.assert_array_equal(handles[0][:], np.repeat(np.arange(10) + 1.0, 10))


def test_complex_numbers_dont_lose_their_imaginary_parts():
    target = np.zeros(3)
    with pytest.raises(wr.DTypeError, match=r"take \.real"):
        wr.store(wr.ones(3) * 1j, target)
    wr.store((wr.ones(3) * 1j).imag, target)
    assert target.tolist() == [1, 1, 1]
