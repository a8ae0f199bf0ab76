"""Dask: threads, or distributed with workers of 1 thread, which is its users' and rechunks peer to peer."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
from dask.callbacks import Callback

from .base import System

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..sinks import Sink


class Threads(System):
    """The threaded scheduler, which is its default for arrays."""

    xp = da
    manager = "dask"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Take the threads, and note when the first task starts."""

        def begun(*_: Any) -> None:
            if self._first is None:
                self._first = time.perf_counter()

        with dask.config.set(scheduler="threads", num_workers=self.order.cores), Callback(start_state=begun):
            yield

    def compute(self, *arrays: Any) -> Any:
        """Together."""
        found = dask.compute(*arrays)
        return found[0] if len(found) == 1 else found

    def persist(self, *arrays: Any) -> tuple[Any, ...]:
        """Together, and wait."""
        kept: tuple[Any, ...] = dask.persist(*arrays)
        return kept

    def null(self, x: Any) -> Sink:
        """By `store`, without a lock."""
        sink = self.sink(x)
        da.store(x, sink, lock=False)
        return sink

    def save(self, x: Any, name: str) -> str:
        """By `to_zarr`."""
        da.to_zarr(x, self.path(name))
        return self.path(name)

    def load(self, path: str) -> Any:
        """By `from_zarr`."""
        return da.from_zarr(path)


class FirstTask:
    """A plugin of workers: writes when the first task of all began into a file."""

    name = "first-task"

    def __init__(self, path: str) -> None:
        self.path, self.done = path, False

    def setup(self, worker: Any) -> None:
        """Nothing is to be done."""

    def teardown(self, worker: Any) -> None:
        """Nothing is to be done."""

    def transition(self, key: Any, start: str, finish: str, **more: Any) -> None:
        """Note when a task begins to run."""
        if self.done or finish != "executing":
            return
        self.done = True
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return
        os.write(descriptor, str(time.time()).encode())
        os.close(descriptor)


class Distributed(Threads):
    """A local cluster."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start the workers; each has its share of the limit, less what the client and the scheduler take."""
        from distributed import Client, LocalCluster
        from distributed.diagnostics.plugin import WorkerPlugin

        share = max(self.order.memory - (400 << 20), self.order.memory // 2) // self.order.cores
        with (
            dask.config.set({"temporary-directory": str(self.folder)}),
            LocalCluster(
                n_workers=self.order.cores,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                memory_limit=share,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.register_plugin(type("FirstTask", (FirstTask, WorkerPlugin), {})(str(self.folder / "first")))
            yield

    def persist(self, *arrays: Any) -> tuple[Any, ...]:
        """Together, and wait."""
        from distributed import wait

        kept: tuple[Any, ...] = dask.persist(*arrays)
        wait(kept)
        return kept

    def seconds_to_first(self, begin: float) -> float | None:
        """Return what the plugin wrote."""
        file = Path(self.folder / "first")
        if not file.exists():
            return None
        return float(file.read_text()) - time.time() + time.perf_counter() - begin
