"""Writes stacks and tables on ranks, reads them, images and TIFF back, compares; `kill` ends a rank meanwhile.

With `loop FOLDER` it writes over and over until it is killed. Prints one JSON line: the ranks that made blocks, what
was reported lost, what is left in the folder.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.ranks import await_losses, kill_after
from windrow.arrays.files.writing import atomic_write

WRITERS = {
    "stack": wr.to_npy_stack,
    "parquet": wr.to_parquet,
    "ipc": wr.to_ipc,
    "csv": wr.to_csv,
}
READERS = {"parquet": wr.read_parquet, "ipc": wr.read_ipc, "csv": wr.read_csv}
atomic_write.FILE_BYTES, atomic_write.CHUNK_COST = 1 << 12, 1  # many files of little data


def slow(block, block_id=()):
    """Leave a note of who makes a block, and take a while."""
    time.sleep(0.02)
    open(f"maker-{block_id[0]}-{os.getpid()}", "w").close()
    return block * 2


def some_made():
    """Whether some blocks are made."""
    return len([n for n in os.listdir(".") if n.startswith("maker-")]) >= 10


def write_for_ever(folder):
    """Write 0s, 1s, 2s … to the same four places, one after another."""
    for number in range(10_000):
        x = wr.full((40, 50), float(number), chunks=(1, 50))
        for name, write in WRITERS.items():
            write(os.path.join(folder, name), x, overwrite=True)
        print(number, flush=True)


def pictures():
    """Write a TIFF file and some images."""
    import imageio.v3
    import tifffile

    data = np.arange(6 * 40 * 30, dtype="u2").reshape(6, 40, 30)
    tifffile.imwrite("x.tif", data, compression="zlib", rowsperstrip=8, photometric="minisblack")
    for i, page in enumerate(data):
        imageio.v3.imwrite(f"page-{i}.png", page)
    return data


def addresses(x):
    """Return where the driver's Arrow arrays of a persisted array's chunks begin."""
    return [c.buffers()[1].address + c.offset * x.itemsize for c in pa.chunked_array(x).chunks]


def main():
    """Write and read everything once."""
    rows = np.arange(60_000.0).reshape(60, 1000)
    x = wr.map_blocks(slow, wr.from_array(rows, chunks=(1, 500)), dtype=float)
    data = pictures()
    if "kill" in sys.argv:
        threading.Thread(target=kill_after, args=(some_made, "some blocks are made")).start()
    wr.to_npy_stack("stack", x)
    columns = {"first": x[:, 0], "last": x[:, -1], "who": wr.asarray(np.array([f"row {i}" for i in range(60)]))}
    for name, read in READERS.items():
        WRITERS[name](name, columns)
        table = read(name)
        assert (table["last"].compute() == rows[:, -1] * 2).all(), name
        assert table["who"][41].compute() == "row 41", name
        assert (table["last"] - table["first"]).sum().compute() == 60 * 999 * 2
    assert (wr.from_npy_stack("stack").compute() == rows * 2).all()
    assert (wr.from_tiff("x.tif", chunks=(1, 16, 30)).compute() == data).all()
    assert (wr.imread("page-*.png").compute() == data).all()
    assert (wr.imread("page-*.png", preprocess=lambda p: p.T + 1).compute() == data.transpose(0, 2, 1) + 1).all()
    with pytest.raises(wr.ArgumentError, match="each has a memory of its own"):
        wr.from_tiff("memory://x.tif")
    kept = wr.arange(100_000, chunks=10_000).persist()
    wr.wait(kept)
    assert len(set(wr.owners(kept).tolist())) > 1
    one, other = addresses(kept), addresses(kept)
    assert one == other, "chunks in the ranks' arenas, which the driver has mapped, were copied"
    if "kill" in sys.argv:
        await_losses()
    makers = {name.split("-")[2] for name in os.listdir(".") if name.startswith("maker-")}
    left = sorted(name for name in os.listdir(".") if not name.startswith(("maker-", "page-")))
    print(json.dumps({"makers": len(makers), "losses": wr.cluster().losses, "left": left}))


if "loop" in sys.argv:
    write_for_ever(sys.argv[-1])
else:
    main()
