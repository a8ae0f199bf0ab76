"""Arrays that are written over what they are made of: in place, after what others read, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import windrow as wr

zarr = pytest.importorskip("zarr")
PROGRAM = str(Path(__file__).parent / "programs" / "zarr_over_itself.py")


def test_a_source_that_reads_its_target(tmp_path):
    data = np.arange(40.0)
    x = wr.from_array(data, chunks=7)
    x.to_zarr(tmp_path / "x", chunks=(4,))
    target = zarr.open(tmp_path / "x", mode="r+")
    os.symlink(tmp_path / "x", tmp_path / "link")
    for source in (wr.from_zarr(tmp_path / "x"), wr.from_array(target), wr.from_zarr(tmp_path / "link")):
        for moved in (wr.roll(source, 4), source[::-1], source.cumsum(), source + source[:1], source - source.mean()):
            with pytest.raises(wr.ArgumentError, match=r"store: a source reads file://.*/x, into which"):
                wr.store(moved.persist(), target)
    np.testing.assert_array_equal(target[:], data)
    wr.store(wr.from_array((wr.from_array(target)[::-1] + 1).compute()), target)
    np.testing.assert_array_equal(target[:], data[::-1] + 1)


def test_each_element_may_be_written_where_it_was_read(tmp_path):
    data = np.arange(40.0)
    wr.from_array(data).to_zarr(tmp_path / "x", chunks=(4,))
    target = zarr.open(tmp_path / "x", mode="r+")
    x = wr.from_zarr(tmp_path / "x", chunks=7)
    wr.store(wr.where(x > 3, x + 1, x), target)
    expected = np.where(data > 3, data + 1, data)
    np.testing.assert_array_equal(target[:], expected)
    wr.store([x[8:16] * 2, x[30:33]], [target, target], regions=[(slice(8, 16),), (slice(0, 3),)])
    expected[8:16], expected[:3] = expected[8:16] * 2, expected[30:33]
    np.testing.assert_array_equal(target[:], expected)
    with pytest.raises(wr.ArgumentError, match="store: a source reads"):
        wr.store([x[:8], x[8:16]], [target, target], regions=[(slice(8, 16),), (slice(0, 8),)])
    np.testing.assert_array_equal(target[:], expected)


def test_what_is_read_of_others_is_written_first(tmp_path):
    data = np.arange(40.0)
    for name in "ab":
        wr.from_array(data).to_zarr(tmp_path / name, chunks=(4,))
    a, b = (zarr.open(tmp_path / name, mode="r+") for name in "ab")
    x = wr.from_zarr(tmp_path / "a")
    wr.store([x + 1, x[::-1] - x.mean()], [a, b])
    np.testing.assert_array_equal(a[:], data + 1)
    np.testing.assert_array_equal(b[:], data[::-1] - data.mean())


@pytest.mark.parametrize("kind", ["folder", "memory", "fsspec"])
def test_what_would_be_removed_before_it_is_read_stays(tmp_path, kind):
    pytest.importorskip("fsspec")
    data = np.arange(12.0)
    wr.from_array(data).to_zarr(tmp_path / "x")
    memory = zarr.storage.MemoryStore()
    wr.from_array(data).to_zarr(memory)
    elsewhere = zarr.storage.FsspecStore.from_url(f"file://{tmp_path}/x", storage_options={"auto_mkdir": True})
    store = memory if kind == "memory" else elsewhere
    x = wr.from_zarr(tmp_path / "x" if kind == "folder" else store)
    with pytest.raises(wr.ArgumentError, match=r"to_zarr: argument 'arr' is read from .* remove first"):
        (x + 1).to_zarr(store, overwrite=True)
    np.testing.assert_array_equal(x.compute(), data)
    wr.from_array(x.compute() + 1).to_zarr(store, overwrite=True)
    np.testing.assert_array_equal(wr.from_zarr(store).compute(), data + 1)


def test_a_large_array_is_kept_before_the_driver_writes_over_its_file(tmp_path):
    data = np.arange(4000.0)
    np.save(tmp_path / "x.npy", data)
    with wr.config.set(chunk_bytes=256):
        x = wr.from_npy(tmp_path / "x.npy", chunks=32)
        wr.store(wr.roll(x, 1000), np.load(tmp_path / "x.npy", mmap_mode="r+"))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.roll(data, 1000))


@pytest.mark.ranks
def test_a_rank_that_dies_while_an_array_is_written_over_itself(launch):
    ended = launch(3, PROGRAM, limit=50)
    assert ended.status == 0, (ended.out, ended.err[-3000:])
    assert ended.last.startswith("FileError store: a rank was lost while"), ended.last
