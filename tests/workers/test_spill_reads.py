"""What batches read of spill files, where these don't fit memory."""

from __future__ import annotations

import ctypes
import mmap
import os

import numpy as np
import pytest

import windrow as wr
from windrow.workers.memory import page_cache, spill
from windrow.workers.memory.spill import SpillFile

MIB = 1 << 20


def cached_bytes(memory):
    """Return how many bytes of a file's mapping the kernel has in its cache."""
    there = (ctypes.c_ubyte * -(-memory.nbytes // mmap.PAGESIZE))()
    address = ctypes.c_void_p(memory.__array_interface__["data"][0])
    assert not ctypes.CDLL(None).mincore(address, ctypes.c_size_t(memory.nbytes), there)
    return int((np.frombuffer(there, np.uint8) & 1).sum()) * mmap.PAGESIZE


def read_bytes():
    """Return how many bytes this process has had read from disk."""
    with open("/proc/self/io") as lines:
        return int(dict(line.split(":") for line in lines)["read_bytes"])


@pytest.fixture
def disk(tmp_path):
    """A folder whose files the kernel's cache can let go of, which those in memory can't."""
    file = SpillFile(str(tmp_path), [np.ones(MIB, np.uint8)])
    os.fdatasync(file.descriptor)
    page_cache.drop(file.descriptor, 0, 0)
    gone = not cached_bytes(file.memory)
    file.close()
    if not gone:
        pytest.skip("temporary files lie in memory")
    return tmp_path


@pytest.fixture
def cluster(disk, monkeypatch):
    """A cluster that spills, and whose files never fit the cache."""
    monkeypatch.setattr(spill, "fits", lambda nbytes: False)
    with wr.config.set(spill_dir=str(disk)), wr.Cluster(threads=2, memory="16 MiB") as cluster:
        yield cluster


def spilled(cluster):
    """Return how many bytes are spilled, and how many of these the kernel has in its cache."""
    files = list(cluster._session.engine.local.spills._files.values())
    return sum(file.size for file in files), sum(cached_bytes(file.memory) for file in files)


@pytest.mark.parametrize(
    "read",
    [
        lambda xp, x: xp.sort(x)[:: MIB // 8],
        lambda xp, x: x[::5000] * 2,
        lambda xp, x: xp.sum(x * 2 + x[::-1]),
    ],
    ids=["pieces", "few elements", "whole"],
)
def test_what_was_read_leaves_the_cache(cluster, read):
    """Pages of spilled chunks filled a control group: the kernel took back others' while all waited."""
    values = np.random.default_rng(0).permutation(4 * MIB).astype(float)
    x = wr.asarray(values, chunks=MIB // 8).map_blocks(lambda b: b + 1).persist()  # 32 MiB
    wr.wait(x)
    before = read_bytes()
    found = read(wr, x).compute()
    size, cached = spilled(cluster)
    assert np.allclose(found, read(np, values + 1), rtol=1e-12, atol=0)
    assert size >= 8 * MIB
    assert cached <= size // 8
    assert read_bytes() - before <= 8 * size


def test_what_was_written_while_there_was_room_leaves_the_cache(disk, monkeypatch):
    monkeypatch.setattr(spill, "fits", lambda nbytes: nbytes < 12 * MIB)
    with wr.config.set(spill_dir=str(disk)), wr.Cluster(threads=2, memory="16 MiB") as cluster:
        x = wr.random.default_rng(0).random(4 * MIB, chunks=MIB // 8).persist()
        wr.wait(x)
        size, cached = spilled(cluster)
        assert size >= 12 * MIB
        assert not cached
