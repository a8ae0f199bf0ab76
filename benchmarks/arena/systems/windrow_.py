"""Windrow: embedded, or on ranks of 1 thread."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import windrow as wr
from windrow.scheduler.engine.engine import Engine
from windrow.workers.wire.protocol import Run

from .base import System

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..sinks import Sink


class Windrow(System):
    """The embedded engine."""

    xp = wr
    manager = "windrow"

    def cluster(self) -> wr.Cluster:
        """Return what computes; it finds the limit by itself."""
        return wr.Cluster(threads=self.order.cores)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start, and note when the first task is handed out."""
        send = Engine.send

        def noting(engine: Engine, rank: int, command: Any) -> None:
            if self._first is None and isinstance(command, Run):
                self._first = time.perf_counter()
                Engine.send = send
            send(engine, rank, command)

        import xarray as xr

        with self.cluster(), xr.set_options(chunk_manager="windrow"):
            Engine.send = noting
            yield

    def compute(self, *arrays: Any) -> Any:
        """Together."""
        found = wr.compute(*arrays)
        return found[0] if len(arrays) == 1 else found

    def persist(self, *arrays: Any) -> tuple[Any, ...]:
        """Together, and wait."""
        kept = wr.persist(*arrays)
        kept = kept if isinstance(kept, tuple) else (kept,)
        wr.wait(*kept)
        return kept

    def null(self, x: Any) -> Sink:
        """By `store`."""
        sink = self.sink(x)
        wr.store(x, sink)
        return sink

    def save(self, x: Any, name: str) -> str:
        """By `to_zarr`."""
        wr.to_zarr(x, self.path(name))
        return self.path(name)

    def load(self, path: str) -> Any:
        """By `from_zarr`."""
        return wr.from_zarr(path)


class Ranks(Windrow):
    """Ranks that it starts."""

    def cluster(self) -> wr.Cluster:
        """Start them."""
        return wr.Cluster(ranks=self.order.cores)
