"""Writes a value after the other over what is at a URL, for as long as nobody kills it: kind, URL, fsspec's options."""

from __future__ import annotations

import json
import sys

import windrow as wr

KINDS = ("npy", "hdf5", "parquet", "csv", "stack")


def write(kind, url, options, value):
    """Write an array of one value."""
    x = wr.full((60, 500), value, dtype="i8", chunks=(7, 500))
    if kind == "npy":
        wr.to_npy(x, url, overwrite=True, storage_options=options)
    elif kind == "hdf5":
        wr.to_hdf5(url, "g/x", x, overwrite=True, storage_options=options)
    elif kind == "stack":
        wr.to_npy_stack(url, x, overwrite=True, storage_options=options)
    else:
        write_table = wr.to_parquet if kind == "parquet" else wr.to_csv
        write_table(url, {"n": x.reshape(-1)}, overwrite=True, storage_options=options)


def read(kind, url, options):
    """Return what is there, or None."""
    try:
        if kind == "npy":
            return wr.from_npy(url, storage_options=options).compute()
        if kind == "hdf5":
            return wr.from_hdf5(url, "g/x", storage_options=options).compute()
        if kind == "stack":
            return wr.from_npy_stack(url, storage_options=options).compute()
        read_table = wr.read_parquet if kind == "parquet" else wr.read_csv
        return read_table(url, storage_options=options)["n"].compute()
    except wr.MissingFile:
        return None


if __name__ == "__main__":
    options = json.loads(sys.argv[3])
    write(*sys.argv[1:3], options, 0)
    print("written", flush=True)
    value = 1
    while True:
        write(*sys.argv[1:3], options, value)
        value += 1
