"""Windrow: embedded with 2 threads, or on ranks that it starts."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from workloads import Chunk, System, chunk_of

import windrow as wr

if TYPE_CHECKING:
    from collections.abc import Iterator


class Windrow(System):
    """Data is made on the ranks and persisted."""

    xp = wr

    def data(self, seed: int, shape: tuple[int, ...], chunks: tuple[int, ...], make: Chunk = chunk_of) -> Any:
        """Make the data where it stays."""
        grid = wr.empty(shape, chunks=chunks).chunks
        return self.keep(wr.map_blocks(make, seed, shape[-1], chunks=grid, dtype=float))

    def in_chunks(self, chunks: tuple[int, ...]) -> dict[str, Any]:
        """As Windrow spells it."""
        return {"chunks": chunks}

    def keep(self, x: Any) -> Any:
        """Persist, and wait until all chunks are there."""
        kept = x.persist()
        kept.expr.pin.wait()
        return kept

    def value(self, x: Any) -> Any:
        """Compute."""
        return x.compute()

    def values(self, *several: Any) -> Any:
        """Compute together."""
        return wr.compute(*several)

    def keep_all(self, *several: Any) -> Any:
        """Persist together, and wait."""
        kept = wr.persist(*several)
        for one in kept:
            one.expr.pin.wait()
        return kept


@contextmanager
def opened(variant: str) -> Iterator[System]:
    """Give the system: "threads" for the embedded engine with 2, "ranks" for 2 ranks of 1 thread."""
    with wr.Cluster(ranks=2) if variant == "ranks" else wr.Cluster(threads=2):
        yield Windrow()
