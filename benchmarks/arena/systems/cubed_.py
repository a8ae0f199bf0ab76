"""Cubed: chunks go through zarr stores on disk, and each task's memory is bounded when it plans."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import cubed
import cubed.array_api
import cubed.random
from cubed.runtime.types import Callback
from flox import ReindexStrategy

from ..sinks import Sink, Written
from .base import System

if TYPE_CHECKING:
    from collections.abc import Iterator

RESERVED = 200 << 20
"""Bytes of a process that computes nothing yet."""


class Namespace:
    """Its array API, and what lies beside it."""

    def __init__(self) -> None:
        self.random = self

    def default_rng(self, seed: int) -> Generator:
        """Return what makes uniform numbers."""
        return Generator()

    def __getattr__(self, name: str) -> Any:
        for module in (cubed.array_api, cubed):
            if hasattr(module, name):
                return getattr(module, name)
        raise NotImplementedError(f"cubed has no {name}")


class Generator:
    """Uniform numbers; cubed has no others, and no seeds."""

    def random(self, size: Any, chunks: Any, dtype: Any = "float64") -> Any:
        """Return them."""
        return cubed.random.random(size, chunks=chunks, dtype=dtype)

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError(f"cubed has no random numbers but uniform ones, no {name}")


class First(Callback):
    """Notes when the first operation starts."""

    def __init__(self) -> None:
        self.at: float | None = None

    def on_operation_start(self, event: Any) -> None:
        """Note the first."""
        if self.at is None:
            self.at = time.perf_counter()


class Cubed(System):
    """Threads of this process; a task may take its share of the limit."""

    xp = Namespace()
    manager = "cubed"
    grouping: ClassVar[dict[str, Any]] = {"method": "map-reduce", "reindex": ReindexStrategy(blockwise=True)}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Take the threads, and keep what is stored between in the folder."""
        import xarray as xr

        settings = {
            "spec.work_dir": str(self.folder / "work"),
            "spec.allowed_mem": self.order.memory // self.order.cores,
            "spec.reserved_mem": RESERVED,
            "spec.executor_name": "threads",
            "spec.executor_options": {"max_workers": self.order.cores},
        }
        with cubed.config.set(settings), xr.set_options(chunk_manager="cubed"), First() as first:
            self._begun = first
            yield

    def seconds_to_first(self, begin: float) -> float | None:
        """Return what the callback noted."""
        return None if self._begun.at is None else self._begun.at - begin

    def compute(self, *arrays: Any) -> Any:
        """Together, where they are arrays."""
        if all(hasattr(x, "compute") and hasattr(x, "plan") for x in arrays):
            found = cubed.compute(*arrays)
            return found[0] if len(arrays) == 1 else tuple(found)
        done = tuple(x.compute() for x in arrays)
        return done[0] if len(done) == 1 else done

    def null(self, x: Any) -> Sink:
        """Write it: cubed stores into zarr only."""
        return Written(self.save(x, "null"))

    def save(self, x: Any, name: str) -> str:
        """By `to_zarr`."""
        cubed.to_zarr(x, self.path(name))
        return self.path(name)

    def load(self, path: str) -> Any:
        """By `from_zarr`."""
        return cubed.from_zarr(path)
