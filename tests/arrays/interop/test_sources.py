"""What isn't an array, though it leads to one: errors of ours that name the cause."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windrow as wr

sparse = pytest.importorskip("scipy.sparse")


class Short:
    """A source that has less than it says."""

    shape, dtype, ndim = (10,), np.dtype(float), 1

    def __getitem__(self, key):
        return np.zeros(3)


class Empty(Short):
    """A source that gives nothing."""

    def __getitem__(self, key):
        return None


class Gone(Short):
    """A source that can't be read."""

    def __getitem__(self, key):
        raise OSError("truncated")


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ("data.npy", TypeError, "'x' is 'data.npy'; expected an array, not the path of a file: from_npy() reads it"),
        (Path("data.parquet"), TypeError, "read_parquet() reads it"),
        (Path("folder"), TypeError, "load() reads what save() wrote"),
        ([[1, 2], [3]], ValueError, "'a ragged list of 2 items'; expected rows of one length"),
        (sparse.csr_matrix(np.eye(3)), TypeError, "'a sparse csr_matrix'; expected a dense array"),
        (sparse.coo_array(np.eye(3)), TypeError, "x.toarray()"),
        (np.array([1, None]), TypeError, "without Python objects, which only one process has: astype(float)"),
        (np.ma.masked_less([1, 2], 2), TypeError, "x.filled(value)"),
        ({1, 2}, TypeError, "something with shape, dtype and slicing"),
    ],
)
def test_what_is_no_array(source, error, words):
    for make in (wr.from_array, wr.asarray):
        with pytest.raises(error, match=f"^from_array: argument 'x' is.*{re.escape(words)}|{re.escape(words)}"):
            make(source)


def test_a_source_that_cannot_be_read():
    for source, words in (
        (Short(), r"gave an array of shape \(3,\) for x\[\d+:\d+\]; expected an array of shape \(\d,\)$"),
        (Empty(), r"gave None for x\[\d+:\d+\]; expected an array of shape \(\d,\)$"),
        (Gone(), r"is a Gone that can't be read at \["),
    ):
        with pytest.raises(wr.WindrowError, match=rf"^from_array: argument 'x' {words}"):
            wr.from_array(source, chunks=4).compute()


def test_closed_files(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        data: Any = file.create_dataset("x", data=np.arange(10.0))
        lazy = wr.from_array(data, chunks=4)
        assert lazy.sum().compute() == 45
        late = wr.from_array(data, chunks=4) + 1
    with pytest.raises(wr.FileError, match=r"from_array: argument 'x' is a Dataset that can't be read: .*open"):
        wr.from_array(data)
    with pytest.raises(wr.FileError, match=r"a Dataset that can't be read at \["):
        late.compute()


def test_what_is_persisted_is_read_once(tmp_path):
    """Its chunks are held: the source may change, or go, afterwards."""
    data = np.arange(400.0).reshape(20, 20)

    class Counted:
        shape, dtype, ndim = data.shape, data.dtype, 2
        blocks = 0

        def __getitem__(self, key):
            self.blocks += 1
            return data[key]

    counted, kept = Counted(), {}
    wr.arange(400.0, chunks=100).reshape(20, 20).to_zarr(tmp_path / "a.zarr")
    np.save(tmp_path / "a.npy", data)
    sources = {"zarr": wr.from_zarr(tmp_path / "a.zarr"), "npy": wr.from_npy(tmp_path / "a.npy", chunks=7)}
    sources["object"] = wr.from_array(counted, chunks=10)
    sources["lazy"] = wr.from_zarr(tmp_path / "a.zarr", chunks=(3, 20))
    for name, x in sources.items():
        kept[name] = x.persist()
        assert kept[name].chunks == x.chunks
    wr.wait(*kept.values())
    assert counted.blocks == 4
    shutil.rmtree(tmp_path / "a.zarr")
    (tmp_path / "a.npy").unlink()
    for name, x in kept.items():
        assert (x.owners() == 0).all(), name
        np.testing.assert_array_equal(x.T.compute(), data.T)
        np.testing.assert_array_equal((x.rechunk(6)[3:9] + 1).compute(), data[3:9] + 1)
    assert counted.blocks == 4


def test_ranges_and_sequences():
    np.testing.assert_array_equal(wr.asarray(range(3)).compute(), [0, 1, 2])
    np.testing.assert_array_equal((wr.ones(3) * wr.asarray(range(3), dtype="f4")).compute(), [0, 1, 2])
    x = wr.arange(4, chunks=2)
    np.testing.assert_array_equal(x[range(1, 3)].compute(), [1, 2])


def test_keywords_of_dask():
    data = np.arange(12.0).reshape(3, 4)
    held = []

    class Lock:
        def acquire(self):
            held.append(1)

        def __enter__(self):
            self.acquire()

        def __exit__(self, *_):
            held.append(-1)

    x = wr.from_array(data, (2, 3), lock=Lock(), name="x", asarray=True, fancy=False, meta=data[:0, :0])
    np.testing.assert_array_equal((x + 1).compute(), data + 1)
    assert len(held) == 8
    assert sum(held) == 0
    y = wr.from_array(data, chunks=2, getitem=lambda x, where: x[where] * 10)
    np.testing.assert_array_equal(y.compute(), data * 10)
    with pytest.raises(wr.ArgumentError, match="from_array: argument 'lock' is 3"):
        wr.from_array(data, lock=3)
    with pytest.raises(wr.ArgumentError, match="from_array: argument 'getitem' is 3"):
        wr.from_array(data, getitem=3)
