"""What batches read of spill files, where these don't fit memory."""

from __future__ import annotations

import os
from types import SimpleNamespace

import numpy as np

from windrow.workers import page_cache, spill_reads
from windrow.workers.spill import SpillFile

MIB = 1 << 20


def test_little_of_a_large_slab_reads_no_more_than_that(tmp_path, monkeypatch):
    """The kernel reads MiB around each place of a map that is read; a sort read everything a dozen times."""
    monkeypatch.setattr(spill_reads, "fits", lambda nbytes: False)
    file = SpillFile(str(tmp_path), [np.zeros(64 * MIB, np.uint8)])
    os.fdatasync(file.descriptor)
    page_cache.drop(file.descriptor, 0, 0)
    places = SimpleNamespace(sources=np.array([3]), owners=np.array([0]), offsets=np.array([0]), tasks=np.array([0]))
    stage = SimpleNamespace(
        domain=SimpleNamespace(largest=1000), groups=(), blocks_per_task=1, dtype=np.dtype(np.float64)
    )
    producer = SimpleNamespace(all_slab_bytes=np.array([64 * MIB]))
    reader = SimpleNamespace(stage=stage, producers=[producer], memory=lambda place: file.memory)
    reads = spill_reads.SpillReads(SimpleNamespace(inputs=[places], tasks=np.array([0])), reader)

    def read_bytes():
        with open("/proc/self/io") as lines:
            return int(dict(line.split(":") for line in lines)["read_bytes"])

    before = read_bytes()
    assert file.memory[32 * MIB] == 0
    assert read_bytes() - before <= 1 << 16
    reads.end()
    file.close()
