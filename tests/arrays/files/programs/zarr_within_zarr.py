"""Has zarr itself ask for elements that are read from zarr, in each way that a user may come upon.

Prints "done" when all came out right; whoever starts it has a limit.
"""

from __future__ import annotations

import threading
import warnings

import dask
import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr

import windrow as wr

warnings.filterwarnings("ignore", message="Consolidated metadata")
values = np.arange(2400.0).reshape(60, 40)
zarr.create_array("source", data=values, chunks=(7, 40))
xr.Dataset({"t": (("y", "x"), values)}).to_zarr("set", encoding={"t": {"chunks": (7, 40)}})


def target():
    """Return an array to write into."""
    made = zarr.create_array(
        zarr.storage.LocalStore("target"), shape=(60, 40), chunks=(9, 11), dtype="f8", overwrite=True
    )
    made[:] = -1
    return made


def through_zarr():
    """Write what is read by our reader of zarr."""
    for read in (wr.from_zarr("source"), wr.from_array(zarr.open("source", mode="r"), chunks=(20, 20))):
        made = target()
        made[:] = read + 1
        np.testing.assert_array_equal(made[:], values + 1)
        made.oindex[np.array([3, 50]), :] = (read * 2)[::30][:2]
        np.testing.assert_array_equal(made[3], values[0] * 2)
        made[5, 5] = read.sum()
        assert made[5, 5] == values.sum()
    same = zarr.open("source", mode="r+")
    same[:] = wr.from_zarr("source") * 1
    np.testing.assert_array_equal(same[:], values)
    for store in (zarr.storage.MemoryStore(), zarr.storage.LocalStore("saved")):
        zarr.save_array(store, np.asarray(wr.from_zarr("source")))
        other = zarr.open_array(store)
        lazy = wr.from_array(other, chunks=(30, 40))
        other[:] = lazy + 5
        np.testing.assert_array_equal(other[:], values + 5)


def through_xarray():
    """Write what is read by xarray's reader of zarr, and what comes of `chunk`, whose default is dask's."""
    opened = xr.open_zarr("set", chunked_array_type="windrow")
    made = target()
    made[:] = opened.t.data * 3
    np.testing.assert_array_equal(made[:], values * 3)
    for found in (opened, opened.chunk(), opened.chunk(y=20), opened.chunk({"x": 8}), opened.chunk("auto")):
        assert isinstance(found.t.data, wr.Array), type(found.t.data)
    assert opened.chunk().t.chunks == opened.t.chunks
    assert opened.chunk(y=20).t.chunks == ((20, 20, 20), (40,))
    assert isinstance(opened.t.variable.chunk(x=10)._data, wr.Array)
    with xr.set_options(chunk_manager="dask"):
        opened.chunk(y=14).to_zarr("copy", mode="w")
    np.testing.assert_array_equal(zarr.open("copy/t")[:], values)
    assert isinstance(xr.open_zarr("copy").chunk(y=20).t.data, da.Array)  # dask's stay dask's


def through_dask():
    """Write arrays of dask's that have lazy arrays in them, on several threads; on ranks it is refused."""
    opened = xr.open_zarr("set", chunked_array_type="windrow")
    dask.config.set(scheduler="threads", num_workers=4)
    for lazy in (wr.from_zarr("source"), opened.t.data):
        wrapped = da.from_array(lazy, chunks=(9, 40), asarray=False)
        made = target()
        da.store(wrapped, made, lock=False)
        np.testing.assert_array_equal(made[:], values)
        made = target()
        da.store(lazy.to_dask().rechunk((9, 40)) + 1, made)
        np.testing.assert_array_equal(made[:], values + 1)
        with pytest.raises(wr.ClusterError, match="can't compute arrays"):
            da.store(wrapped, made, lock=False, scheduler=wr.dask.get)


def through_functions():
    """Write what functions of blocks have read from zarr, beside threads that read."""
    array = zarr.open("source", mode="r")

    def read(block, block_id=()):
        at = 20 * block_id[0]
        return block + array[at : at + 20]

    lazy = wr.map_blocks(read, wr.zeros((60, 40), chunks=(20, 40)), dtype=float)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            assert wr.from_zarr("source").sum().compute() == values.sum()

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(3):
            made = target()
            made[:] = lazy
            np.testing.assert_array_equal(made[:], values)
    finally:
        stop.set()
        thread.join()


if __name__ == "__main__":
    for case in (through_zarr, through_xarray, through_dask, through_functions):
        case()
        print(case.__name__, flush=True)
    print("done")
