"""Dask: its threaded scheduler with 2 threads, or distributed with 2 processes of 1 thread."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np
from workloads import Chunk, System, chunk_of, relaxed

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDE = 16
"""Inputs of a node of the reduction over many chunks: fewer tasks than by default, which is faster."""


class Dask(System):
    """Data is made by the workers and persisted."""

    xp = da

    percentile_tolerance = 2e-3

    def data(self, seed: int, shape: tuple[int, ...], chunks: tuple[int, ...], make: Chunk = chunk_of) -> Any:
        """Make the data where it stays."""
        grid = da.core.normalize_chunks(chunks, shape, dtype=float)
        meta = np.empty((0,) * len(shape))
        return self.keep(da.map_blocks(make, seed, shape[-1], chunks=grid, dtype=float, meta=meta))

    def in_chunks(self, chunks: tuple[int, ...]) -> dict[str, Any]:
        """As dask spells it; its `eye` takes one number."""
        return {"chunks": chunks[0]}

    def keep(self, x: Any) -> Any:
        """Persist; the threaded scheduler has waited then."""
        return x.persist()

    def value(self, x: Any) -> Any:
        """Compute."""
        return x.compute()

    def tiny(self, n: int, constant: float) -> Any:
        """With a wide tree."""
        return (da.ones(n, chunks=1) + constant).sum(split_every=WIDE).compute()

    def values(self, *several: Any) -> Any:
        """In one graph."""
        return dask.compute(*several)

    def keep_all(self, *several: Any) -> Any:
        """In one graph."""
        return dask.persist(*several)

    def svd(self, x: Any) -> Any:
        """Dask's is the thin one."""
        return self.keep_all(*da.linalg.svd(x))

    def fft2(self, x: Any) -> Any:
        """Dask transforms along axes that are one chunk."""
        rows = da.fft.fft(x.rechunk({0: "auto", 1: -1}), axis=1)
        return self.keep(da.fft.fft(rows.rechunk({0: -1, 1: "auto"}), axis=0))

    def jacobi(self, u: Any, steps: int, how: str) -> Any:
        """By `map_overlap`: `pad` and slices would split chunks at each step."""
        meta = np.empty((0, 0))
        for _ in range(steps):
            u = da.map_overlap(relaxed, u, depth=1, boundary=0.0, trim=False, dtype=float, meta=meta, chunks=u.chunks)
            u = u.persist() if how == "persisted" else u
        return self.keep(u)

    def persist(self, *several: Any) -> Any:
        """In one graph."""
        return dask.persist(*several)

    def clustered(self, points: Any, centres: Any, turns: int) -> Any:
        """In one graph an iteration."""
        return self.clustered_whole(points, centres, turns)

    def handed(self, host: Any, chunks: tuple[int, ...]) -> Any:
        """Without hashing what it holds."""
        return da.from_array(host, chunks=chunks, name=False)


class Distributed(Dask):
    """Persisting goes on behind one's back."""

    def keep(self, x: Any) -> Any:
        """Persist, and wait until all chunks are there."""
        from distributed import wait

        kept = x.persist()
        wait(kept)
        return kept

    def keep_all(self, *several: Any) -> Any:
        """Persist, and wait."""
        from distributed import wait

        kept = dask.persist(*several)
        wait(kept)
        return kept


@contextmanager
def opened(variant: str) -> Iterator[System]:
    """Give the system: "threads" or "distributed"."""
    if variant == "threads":
        with dask.config.set(scheduler="threads", num_workers=2):
            yield Dask()
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        yield Distributed()
