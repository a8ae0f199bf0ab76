"""Writes arrays of one number over one another, until it is killed; prints a line when the first is written."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import zarr

import windrow as wr
from windrow.arrays.chunking import stored

KINDS = ("zarr", "sharded", "region", "elsewhere", "hdf5")


def write(kind, path, number):
    """Write an array of this number."""
    x = wr.map_blocks(lambda block: np.full_like(block, number), wr.zeros((60, 50), chunks=(7, 11)), dtype=float)
    if kind == "zarr":
        x.to_zarr(path, chunks=(10, 10), overwrite=True)
    elif kind == "sharded":
        x.to_zarr(path, component="g/x", chunks=(5, 5), shards=(20, 20), overwrite=True)
    elif kind == "region":
        wr.store(x, zarr.open(path, mode="r+"))
    elif kind == "elsewhere":
        x.to_zarr(elsewhere(path), component="x", chunks=(10, 10), overwrite=True)
    else:
        by = "gzip" if number % 2 else None  # chunks of ranks' own files, or written in place
        wr.to_hdf5(path, "g/x", x, chunks=(10, 10), compression=by, overwrite=True)


def elsewhere(folder):
    """A store that any process can open, but isn't known to be local."""
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
    from fsspec.implementations.dirfs import DirFileSystem
    from fsspec.implementations.local import LocalFileSystem

    system = DirFileSystem(str(folder), LocalFileSystem(auto_mkdir=True))
    return zarr.storage.FsspecStore(AsyncFileSystemWrapper(system, asynchronous=True), path="/")


if __name__ == "__main__":
    stored.MERGED = 1
    if sys.argv[1] == "region":
        zarr.create_array(sys.argv[2], shape=(60, 50), chunks=(5, 5), shards=(20, 10), dtype="f8", fill_value=0)
    for number in itertools.count(1):
        write(sys.argv[1], sys.argv[2], number)
        if number == 1:
            print("written", flush=True)
