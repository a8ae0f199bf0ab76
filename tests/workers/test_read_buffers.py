"""Memory that chunks of files are decoded into: used again, by nobody at the same time, and not kept without bound."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import windrow as wr
from windrow.workers.memory import read_buffers
from windrow.workers.memory.read_buffers import KEPT, LEAST, drop_read_buffers, read_buffer
from windrow.workers.sources.stores import zarr as zarr_store

BYTE = np.dtype(np.uint8)


@pytest.fixture(autouse=True)
def none_kept():
    drop_read_buffers()
    yield
    drop_read_buffers()


def kept():
    return sum(map(len, read_buffers._free))


def test_a_buffer_serves_again_when_no_view_is_left():
    first = read_buffer((4, LEAST), BYTE)
    place = first.ctypes.data
    view = first[1:, 7].reshape(-1)
    del first
    assert read_buffer((4, LEAST), BYTE).ctypes.data != place
    view[:] = 3
    del view
    places = {read_buffer((4, LEAST), BYTE).ctypes.data, read_buffer((2, 2 * LEAST - 9), BYTE).ctypes.data}
    assert place in places
    assert read_buffer((3, 5), np.dtype("f8")).shape == (3, 5)
    assert read_buffer((), np.dtype("f8")).shape == ()


def test_what_is_kept_has_a_bound_and_makes_place_for_other_sizes():
    held = [read_buffer((KEPT // 4,), BYTE) for _ in range(6)]
    del held
    assert KEPT // 2 < kept() <= KEPT
    other = read_buffer((KEPT // 2,), BYTE)
    assert kept() <= KEPT // 2
    drop_read_buffers()
    assert kept() == 0
    other[:] = 1


def test_large_chunks_of_files_are_read_no_more_at_a_time_than_there_are_threads(tmp_path, monkeypatch):
    x = wr.ones((8 * 1536, 1024), chunks=(1536, 1024)) + wr.arange(1024.0)  # 12 MiB each
    wr.to_zarr(x, tmp_path / "a.zarr")
    lock, reading, most = threading.Lock(), 0, 0
    read = zarr_store.OpenZarr.read

    def counted(self, where, picks):
        nonlocal reading, most
        with lock:
            reading += 1
            most = max(most, reading)
        try:
            return read(self, where, picks)
        finally:
            with lock:
                reading -= 1

    monkeypatch.setattr(zarr_store.OpenZarr, "read", counted)
    with wr.Cluster(threads=2):
        assert wr.from_zarr(tmp_path / "a.zarr").max().compute() == 1024
    assert 1 <= most <= 2


@pytest.mark.timeout(20)
def test_memory_comes_back_while_its_thread_has_the_guard():
    """As where a garbage collection ends an array in the middle of it."""
    array = read_buffer((1 << 18,), np.dtype(float))
    with read_buffers._guard:
        del array
    assert read_buffers._returned
    read_buffers.drop_read_buffers()
    assert not read_buffers._returned
