"""What is read of stored chunks lies in memory no longer, and no more of it, than who reads it needs."""

from __future__ import annotations

import math
import weakref

import numpy as np
import pytest

import windrow as wr
from windrow.workers.sources.stores import zarr as zarr_source

zarr = pytest.importorskip("zarr")
CHUNKS, SIDE = 16, 1 << 11
CHUNK = SIDE * 1024 * 4
"""Bytes of a stored chunk."""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return the path of compressed chunks of 8 MiB, one below the other."""
    path = str(tmp_path_factory.mktemp("reads") / "x.zarr")
    array = zarr.create_array(path, shape=(CHUNKS * SIDE, 1024), chunks=(SIDE, 1024), dtype="f4")
    for number in range(CHUNKS):
        array[number * SIDE : (number + 1) * SIDE] = np.full((SIDE, 1024), number, "f4")
    return path


@pytest.fixture
def decoded(monkeypatch):
    """Count the chunks that are decoded, and the most bytes of them that somebody refers to at once."""
    counts = {"chunks": 0, "now": 0, "most": 0, "shapes": set()}
    take = zarr_source.read_buffer

    def end(nbytes):
        counts["now"] -= nbytes

    def noting(shape, dtype):
        array, nbytes = take(shape, dtype), math.prod(shape) * dtype.itemsize
        counts["chunks"] += 1
        counts["shapes"].add(tuple(shape))
        counts["now"] += nbytes
        counts["most"] = max(counts["most"], counts["now"])
        weakref.finalize(array, end, nbytes)
        return array

    monkeypatch.setattr(zarr_source, "read_buffer", noting)
    return counts


OPERATIONS = {
    "sum": lambda x: x.sum(),
    "histogram": lambda x: wr.histogram(x, 50, range=(0, 20))[0],
    "some rows": lambda x: x[:: SIDE // 4],
    "a column": lambda x: x[:, 7],
    "points": lambda x: x[np.arange(5, CHUNKS * SIDE, SIDE // 2), :9],
    "weighted": lambda x: wr.einsum("ij,j->i", x, np.arange(1024.0)),
    "means along": lambda x: x.mean(1),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_chunks_that_are_read_wait_in_small_numbers(name, store, decoded):
    operation = OPERATIONS[name]
    with wr.Cluster(threads=2):
        x = operation(wr.from_zarr(store, chunks=(SIDE, 1024)))
        assert x.explain().peak_bytes > 2 * CHUNK
        expected = operation(np.repeat(np.arange(CHUNKS, dtype="f4"), SIDE)[:, None] + np.zeros(1024, "f4"))
        np.testing.assert_allclose(x.compute(), expected, rtol=1e-5)
    assert decoded["chunks"] == CHUNKS
    assert decoded["most"] <= 5 * CHUNK, decoded


def test_whole_chunks_are_decoded_into_memory_that_is_used_again(store, decoded):
    """A codec that is asked for a part decodes the whole chunk into memory of its own, beside that for the part."""
    x = wr.from_zarr(store, chunks=(SIDE, 1024))
    assert x[3 :: SIDE // 4, 5].sum().compute() == 4 * sum(range(CHUNKS))
    assert decoded["shapes"] == {(SIDE - SIDE // 4 + 1, 1)}, "of little no more is taken"
    decoded["shapes"].clear()
    assert x[3 :: SIDE // 4, 1:].sum().compute() == 4 * 1023 * sum(range(CHUNKS))
    assert decoded["shapes"] == {(SIDE, 1024)}


def test_what_takes_little_of_many_blocks_is_many_tasks():
    x = wr.sort(wr.random.default_rng(1).random((32 << 10, 256), chunks=(1 << 10, -1)), axis=1)
    last = x[:, 3].explain().stages[-1]
    assert last.blocks == 32
    assert last.tasks == 4, "blocks of 2 MiB: each task reads no more than 16 MiB"
    parts = x.rechunk((16, 256)).explain().stages[-1]
    assert parts.tasks < parts.blocks, "blocks of one large block make one task"
