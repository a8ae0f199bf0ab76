"""Files that shrink while they are read: an error that names them, and never the end of the process."""

from __future__ import annotations

import sys
import textwrap

import numpy as np
import pytest

from windrow.workers.sources.file_arrays import elements

# Each source is truncated by the first block's function, before its own block or another's has been looked at.
PROGRAM = """
    import os, sys
    import numpy as np
    import windrow as wr

    folder = sys.argv[1]
    values = np.random.default_rng(1).random((4000, 500))

    def shrinking(path):
        def shrink(block):
            if os.path.getsize(path) > 5000:
                os.truncate(path, 4096)
            return block + 0
        return shrink

    def attempt(name, path, x):
        try:
            wr.map_blocks(shrinking(path), x, dtype=float).sum().compute()
            x.sum().compute()
        except wr.SourceChanged as error:
            print(name, path in str(error), "truncated" in str(error), flush=True)

    npy = os.path.join(folder, "x.npy")
    np.save(npy, values)
    attempt("from_npy", npy, wr.from_npy(npy, chunks=(1000, 500)))
    np.save(npy, values)
    attempt("strided", npy, wr.from_array(np.load(npy, mmap_mode="r")[::3].T, chunks=500))
    raw = os.path.join(folder, "raw")
    values.tofile(raw)
    attempt("memmap", raw, wr.from_array(np.memmap(raw, float, "r", shape=values.shape), chunks=(1000, 500)))
    values.tofile(raw)
    attempt("view", raw, wr.from_array(np.asarray(np.memmap(raw, float, "r", shape=values.shape))[5:], chunks=1000))
    values.tofile(raw)
    attempt("copy on write", raw, wr.from_array(np.memmap(raw, float, "c", shape=values.shape), chunks=(1000, 500)))
    values.tofile(raw)
    attempt("written", raw, wr.from_array(np.memmap(raw, float, "w+", shape=values.shape), chunks=(1000, 500)))
    wr.save(os.path.join(folder, "saved"), wr.from_array(values, chunks=(1000, 500)))
    part = os.path.join(folder, "saved", "part-0000000.arrow")
    attempt("load", part, wr.load(os.path.join(folder, "saved")))
    print("alive", wr.arange(10, chunks=3).sum().compute())
"""
SOURCES = ("from_npy", "strided", "memmap", "view", "copy on write", "written", "load")
MAPS = ("copy on write", "written")


@pytest.mark.parametrize("ranks", [0, pytest.param(3, marks=pytest.mark.ranks)])
def test_a_file_that_is_truncated_under_a_computation(launch, tmp_path, ranks):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    ended = launch(ranks, str(program), str(tmp_path))
    assert ended.status == 0, (ended.status, ended.err[-3000:])
    lines = ended.out.splitlines()
    if ranks:  # of maps that are the driver's alone, blocks may have been sent before
        lines = [line for line in lines if not line.startswith(MAPS)]
    assert lines == [*(f"{name} True True" for name in SOURCES if not (ranks and name in MAPS)), "alive 45"]


class Memory:
    """Bytes that are read like a file's, and how often."""

    def __init__(self, array):
        self.bytes = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self.reads = self.read = 0

    def fill(self, target, at):
        self.reads += 1
        self.read += target.nbytes
        target.reshape(-1).view(np.uint8)[:] = self.bytes[at : at + target.nbytes]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize(
    "picks",
    [
        (range(7), range(11), range(13)),
        (range(2, 5), range(11), range(13)),
        (range(6, 0, -2), range(3, 4), range(12, -1, -3)),
        (np.array([6, 0, 3]), range(11), np.array([1, 1, 5])),
        (range(0), range(11), range(13)),
    ],
)
def test_any_part_of_any_order_is_gathered(order, picks):
    values = np.arange(7 * 11 * 13, dtype=np.int32).reshape(7, 11, 13)
    stored = Memory(values.transpose(order))
    strides = np.empty(values.shape, np.int32).transpose(order)
    strides = np.zeros(strides.shape, np.int32).transpose(np.argsort(order)).strides
    found = elements(stored, values.dtype, 0, strides, picks)
    np.testing.assert_array_equal(found, values[np.ix_(*map(list, picks))] if len(picks[0]) else values[:0])


def test_gaps_are_read_where_asking_takes_longer():
    values = np.arange(1_000_000.0).reshape(1000, 1000)
    near = Memory(values)
    elements(near, values.dtype, 0, values.strides, (range(1000), range(10)))
    assert near.reads < 20
    assert sys.getsizeof(near) < near.read <= values.nbytes
    wide = Memory(np.arange(1_000_000.0).reshape(100, 10_000))
    elements(wide, values.dtype, 0, (80_000, 8), (range(100), range(10)))
    assert (wide.reads, wide.read) == (100, 100 * 80)
    whole = Memory(values)
    elements(whole, values.dtype, 0, values.strides, (range(10, 500), range(1000)))
    assert whole.reads == 1
