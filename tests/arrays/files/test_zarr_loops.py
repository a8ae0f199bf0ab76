"""zarr asks for elements within its event loop, where nothing is read then: Windrow's threads read in another."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import numpy as np
import pytest

import windrow as wr
from windrow.workers.sources.stores import zarr_loop

zarr = pytest.importorskip("zarr")
fsspec = pytest.importorskip("fsspec")
asyn = pytest.importorskip("fsspec.asyn")
PROGRAM = str(Path(__file__).parent / "programs" / "zarr_within_zarr.py")


@pytest.mark.parametrize("ranks", [0, pytest.param(3, marks=pytest.mark.ranks)])
def test_zarr_may_ask_for_what_is_read_from_zarr(launch, ranks):
    for module in ("xarray", "dask.array"):
        pytest.importorskip(module)
    ended = launch(ranks, PROGRAM, limit=50)
    assert ended.status == 0, (ended.out, ended.err[-3000:])
    assert ended.last == "done"


class OneLoop(asyn.AsyncFileSystem):
    """Files that are read in one event loop alone, as connections of a network are."""

    protocol = "oneloop"

    def __init__(self, root, **kwargs):
        super().__init__(root, **kwargs)
        self.root, self.used = root, None

    def _same(self):
        running = asyncio.get_running_loop()
        self.used = self.used or running
        assert self.used is running, "another event loop"

    async def _cat_file(self, path, start=None, end=None, **kwargs):
        self._same()
        await asyncio.sleep(0.001)
        return Path(self.root, path.lstrip("/")).read_bytes()[start:end]

    async def _info(self, path, **kwargs):
        self._same()
        return {"name": path, "size": Path(self.root, path.lstrip("/")).stat().st_size, "type": "file"}

    async def _ls(self, path, detail=True, **kwargs):
        self._same()
        return [f"{path}/{each.name}".lstrip("/") for each in Path(self.root, path.strip("/")).iterdir()]


@pytest.mark.parametrize("asynchronous", [True, pytest.param(False, marks=pytest.mark.filterwarnings("ignore:fs"))])
@pytest.mark.parametrize("by_xarray", [False, True])
def test_connections_stay_in_the_loop_that_made_them(tmp_path, asynchronous, by_xarray):
    values = np.arange(40.0).reshape(10, 4)
    zarr.create_array(tmp_path / "x", data=values, chunks=(3, 4), dimension_names=("y", "x"))
    store = zarr.storage.FsspecStore(OneLoop(str(tmp_path), asynchronous=asynchronous), read_only=True, path="x")
    theirs = zarr.open_array(store, mode="r")
    np.testing.assert_array_equal(theirs[:], values)
    if by_xarray:
        xr = pytest.importorskip("xarray")
        zarr.open_group(tmp_path, mode="a")
        group = zarr.storage.FsspecStore(OneLoop(str(tmp_path), asynchronous=asynchronous), read_only=True, path="/")
        lazy = xr.open_zarr(group, chunked_array_type="windrow", consolidated=False)["x"].data
    else:
        lazy = wr.from_zarr(theirs)
    np.testing.assert_array_equal((lazy + 1).compute(), values + 1)
    np.testing.assert_array_equal(theirs[:], values)
    target = zarr.create_array(zarr.storage.MemoryStore(), shape=(10, 4), chunks=(5, 4), dtype=float)
    target[:] = lazy + theirs[0]
    np.testing.assert_array_equal(target[:], values + values[0])
    np.testing.assert_array_equal(theirs[:], values)


class Lazy:
    """A store's own array that asks for a computation while it is read."""

    shape, dtype = (4,), np.dtype(float)

    def __getitem__(self, where):
        zarr = pytest.importorskip("zarr")

        async def compute():
            return np.asarray((wr.ones(4) + 1)[where])

        return zarr.core.sync.sync(compute())


def test_a_computation_within_a_reading_is_refused():
    with pytest.raises(wr.ClusterError, match="or while Windrow reads from it"):
        wr.from_array(Lazy(), chunks=2).compute()
    assert (wr.ones(3) + 1).sum().compute() == 6


def test_copies_have_file_systems_of_their_own(tmp_path):
    system = fsspec.filesystem("memory")
    again = zarr_loop.own_copy(pickle.dumps(system))
    assert again is not system
    assert type(again) is type(system)
    assert pickle.loads(pickle.dumps(system)) is system
