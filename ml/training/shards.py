"""Shards: the fixed sets of rows that training works on.

Which rows a shard has follows from the number of rows, of shards, and the seed alone; by default from one global
shuffle of the rows, without which shards of sorted data would pull the average apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.base import as_array_nocopy
from ...arrays.execution.compute import compute, persist
from ...arrays.ops.moves.taking import take_positions
from ...graph.arguments import check_integer
from ...graph.chunks.grid import Axis
from ...graph.errors import ShapeError, bad
from ...scheduler.session.cluster import cluster
from ...workers.public_api import warn
from ..rows import whole_rows

if TYPE_CHECKING:
    from ...arrays.array import Array

__all__ = ["Shards", "cut_shards", "warn_of_few_steps"]

Values = np.ndarray[Any, Any]
FEW_STEPS = 8
"""Of a shard in an epoch: with fewer a network learns less than from one shard."""


@dataclass(frozen=True)
class Shards:
    """Arrays that have a row for each sample, in the same blocks: block i is shard i.

    Attributes
    ----------
    arrays : tuple of Array
        X, then y and weights, where there are any; persisted.
    sizes : tuple of int
        Rows of each shard.
    """

    arrays: tuple[Array, ...]
    sizes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.sizes)

    def first(self, count: int) -> tuple[Values, ...]:
        """Return the first rows of the first shard, at most so many, in memory."""
        rows = compute(*(a[: min(count, self.sizes[0])] for a in self.arrays))
        return tuple(np.asarray(r) for r in rows)


def cut_shards(
    operation: str, arrays: list[Any], shards: int | None, shuffle: bool, seed: int, labels: Any = None
) -> Shards:
    """Cut arrays into shards of rows, each as large as the others but for one row, and keep them.

    Parameters
    ----------
    operation : str
        For messages.
    arrays : list of array
        X, y, weights: a row for each sample.
    shards : int or None
        None: as many as there are ranks, or compute threads on the embedded engine.
    shuffle : bool
        Whether rows are shuffled over all shards first.
    seed : int
    labels : numpy.ndarray, optional
        Classes of the rows: each shard gets its share of each.

    Returns
    -------
    Shards
    """
    seed = check_integer(operation, "seed", seed, 0)
    lazy_arrays = [as_array_nocopy(operation, "Xyw"[i : i + 1] or "arrays", a) for i, a in enumerate(arrays)]
    rows = lazy_arrays[0].shape[0] if lazy_arrays[0].ndim else 0
    if not rows or any(a.ndim == 0 or a.shape[0] != rows for a in lazy_arrays):
        shapes = ", ".join(str(a.shape) for a in lazy_arrays)
        raise ShapeError(bad(operation, "X, y", shapes, "equally many rows, at least one"))
    count = min(shards_for(operation, shards), rows)
    sizes = [rows // count + (i < rows % count) for i in range(count)]
    axis = Axis.of_sizes(sizes)
    if shuffle:
        order = np.random.Generator(np.random.Philox(seed)).permutation(rows)
        if labels is not None:  # rows of a class follow each other, and are dealt out in turn
            dealt = order[np.argsort(labels[order], kind="stable")]
            order = np.concatenate([dealt[i::count] for i in range(count)])
        moved = [take_positions("shuffle", whole_rows(a), 0, order, axis) for a in lazy_arrays]
    else:
        moved = [whole_rows(a, axis) for a in lazy_arrays]
    return Shards(persist(*moved), tuple(sizes))


def warn_of_few_steps(operation: str, shards: Shards, size: int, advice: str) -> None:
    """Warn where shards have few batches in an epoch."""
    steps = min(shards.sizes) // size
    if len(shards) > 1 and steps < FEW_STEPS:
        taken = f"each of {len(shards)} shards takes only {max(steps, 1)} steps an epoch, and learns the less"
        warn(f"{operation}: {taken}; {advice}")


def shards_for(operation: str, shards: int | None) -> int:
    """Return the number of shards: what is asked for, or one for each rank (thread, embedded)."""
    if shards is None:
        current_cluster = cluster()
        return current_cluster.size if current_cluster.size > 1 else current_cluster.threads
    return check_integer(operation, "shards", shards, 1)
