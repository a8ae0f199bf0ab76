"""Pages of files that don't fit memory go when they were read or written; those of files that fit stay."""

from __future__ import annotations

import ctypes
import mmap
import os

import numpy as np
import pytest

import windrow as wr
from windrow.workers.kernels.blocks.files import files
from windrow.workers.memory import page_cache
from windrow.workers.sources import file_arrays
from windrow.workers.sources.stores import zarr as zarr_store

SHAPE = (2048, 1024)  # 16 MiB


def cached(path):
    """The share of a file's pages that the kernel has in memory, or of all files in a folder."""
    if os.path.isdir(path):
        names = [os.path.join(root, name) for root, _, found in os.walk(path) for name in found]
        names = [name for name in names if os.path.getsize(name) > 1 << 16]
        assert names
        return sum(map(cached, names)) / len(names)
    with open(path, "rb") as file:
        os.fdatasync(file.fileno())
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        view = np.frombuffer(mapped, np.uint8)
        pages = np.zeros(-(-view.nbytes // mmap.PAGESIZE), np.uint8)
        address = ctypes.c_void_p(view.ctypes.data)
        assert not ctypes.CDLL(None).mincore(
            address, ctypes.c_size_t(view.nbytes), pages.ctypes.data_as(ctypes.c_void_p)
        )
        return float((pages & 1).mean())


@pytest.fixture
def shortage(monkeypatch):
    """Have files count as larger than memory, or not."""

    def set_(fits):
        for module in (file_arrays, files, zarr_store):
            monkeypatch.setattr(module, "fits", lambda nbytes: fits)

    return set_


@pytest.fixture
def numbers():
    return np.random.default_rng(0).random(SHAPE)


@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize("kind", ["npy", "folder", "zarr"])
def test_what_was_read(tmp_path, shortage, numbers, kind, fits):
    shortage(True)
    path = str(tmp_path / "x")
    x = wr.from_array(numbers, chunks=(512, 1024))
    {"npy": wr.to_npy, "folder": lambda x, path: wr.save(path, x), "zarr": lambda x, path: x.to_zarr(path)}[kind](
        x, path
    )
    assert cached(path) > 0.9
    shortage(fits)
    source = {"npy": wr.from_npy, "folder": wr.load, "zarr": wr.from_zarr}[kind](path)
    for _ in range(2):
        assert np.isclose(float(source.sum()), numbers.sum())
        assert (cached(path) > 0.9) if fits else (cached(path) < 0.1)


def test_what_is_read_in_many_parts_is_let_go_of_whole(tmp_path, shortage):
    """The kernel reads ahead in pages so large that they lie across parts; no part could let go of those."""
    path = tmp_path / "x.npy"
    np.save(path, np.arange(8 << 20, dtype=np.float64))
    cached(path)  # it is on disk
    page_cache.drop_file(str(path))
    shortage(False)
    source = wr.from_npy(path, chunks=1 << 16)
    with wr.Cluster(threads=1):
        assert float(source.sum()) == (8 << 20) * ((8 << 20) - 1) / 2
    assert cached(path) < 0.1


@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize("kind", ["npy", "stack", "folder", "zarr"])
def test_what_was_written(tmp_path, shortage, numbers, kind, fits):
    shortage(fits)
    path = str(tmp_path / "x")
    write = {
        "npy": wr.to_npy,
        "stack": lambda x, path: wr.to_npy_stack(path, x),
        "folder": lambda x, path: wr.save(path, x),
        "zarr": lambda x, path: x.to_zarr(path),
    }[kind]
    write(wr.from_array(numbers, chunks=(512, 1024)), path)
    page_cache.behind._settle(0)
    if (timer := page_cache.behind._timer) is not None:
        timer.join(20)  # it may be at the last one
    assert (cached(path) > 0.9) if fits else (cached(path) < 0.1)
    read = {"npy": np.load, "stack": wr.from_npy_stack, "folder": wr.load, "zarr": wr.from_zarr}[kind]
    assert np.array_equal(np.asarray(read(path)), numbers)


def test_short_runs_stay_for_those_who_read_beside_them(tmp_path, shortage, numbers):
    path = str(tmp_path / "x.npy")
    np.save(path, numbers)
    shortage(False)
    assert np.isclose(float(wr.from_npy(path, chunks=(2048, 128)).sum()), numbers.sum())
    assert cached(path) > 0.9


def test_what_is_on_its_way_has_a_bound_and_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(page_cache, "BEHIND", 3 << 20)
    monkeypatch.setattr(page_cache, "LAST", 0.05)
    behind = page_cache.Behind()
    with open(tmp_path / "x", "wb", buffering=0) as file:
        for i in range(8):
            file.write(bytes(1 << 20))
            behind.wrote(file.fileno(), i << 20, 1 << 20)
            assert len(behind._ranges) <= 3
        behind._timer.join(20)
        assert not behind._ranges
    assert cached(tmp_path / "x") < 0.1


def test_room_decides(monkeypatch):
    monkeypatch.setattr(page_cache, "room", lambda: 10 << 30)
    assert page_cache.fits(5 << 30)
    assert not page_cache.fits((5 << 30) + 1)
    monkeypatch.setattr(page_cache, "room", lambda: 0)
    assert page_cache.fits(page_cache.LARGE - 1)


def test_what_ranges_beside_each_other_share_goes_with_the_last_of_them(tmp_path, monkeypatch):
    dropped = []
    monkeypatch.setattr(page_cache, "drop", lambda descriptor, at, count: dropped.append((at, at + count)))
    behind, unit = page_cache.Behind(), page_cache.FOLIO
    with (tmp_path / "x").open("w+b") as file:
        file.truncate(8 * unit)
        for at in (4 * unit, 2 * unit + 128):
            behind.wrote(file.fileno(), at, 2 * unit - 128)
        behind._settle(0)
        behind._timer.cancel()
    assert dropped == [(3 * unit, 7 * unit - 128), (unit + 128, 5 * unit)]
