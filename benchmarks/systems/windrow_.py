"""Windrow: embedded with 2 threads, or on ranks that it starts."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from workloads import Chunk, System, chunk_of, relaxed

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

    def jacobi(self, u: Any, steps: int, how: str) -> Any:
        """As one graph of `pad` and slices or of `map_overlap`, or persisted at each step."""
        for _ in range(steps):
            if how == "overlap":
                u = wr.map_overlap(relaxed, u, depth=1, boundary=0.0, trim=False, dtype=float, chunks=u.chunks)
            else:
                wide = wr.pad(u, 1)
                u = 0.25 * (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:])
            u = u.persist() if how == "persisted" else u
        return self.keep(u)

    def persist(self, *several: Any) -> Any:
        """Go on at once."""
        return wr.persist(*several)

    def fitted(self, points: Any, centres: Any, turns: int) -> Any:
        """By its KMeans."""
        from windrow.ml.cluster import KMeans

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return KMeans(len(centres), init=centres, n_init=1, max_iter=turns, tol=0.0).fit(points).cluster_centers_

    def clustered(self, points: Any, centres: Any, turns: int) -> Any:
        """In one graph an iteration."""
        return self.clustered_whole(points, centres, turns)

    def handed(self, host: Any, chunks: tuple[int, ...]) -> Any:
        """By reference."""
        return wr.from_array(host, chunks=chunks)


@contextmanager
def opened(variant: str) -> Iterator[System]:
    """Give the system: "threads" for the embedded engine with 2, "ranks" for 2 ranks of 1 thread."""
    with wr.Cluster(ranks=2) if variant == "ranks" else wr.Cluster(threads=2):
        yield Windrow()
