"""Rows for a search: shuffled once, cut into blocks, and blocks dealt out to training and to testing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.base import as_array
from ...arrays.chunking.rechunk import regrid
from ...arrays.ops.moves.joining import concatenate
from ...graph.arguments import check_integer
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, ShapeError, bad
from ..rows import beside, samples
from ..training.shards import cut_shards

if TYPE_CHECKING:
    from ...arrays.array import Array

__all__ = ["Fold", "cut", "make_fold", "join_test_blocks"]


@dataclass(frozen=True)
class Fold:
    """Rows to train on, as pairs (X, y) of as many blocks as there are shards, and rows to test on."""

    steps: tuple[tuple[Array, Array], ...]
    test: tuple[Array, Array] | None


def cut(
    operation: str,
    X: Any,
    y: Any,
    *,
    cv: Any,
    test_size: float,
    shards: int,
    shuffle: bool,
    seed: int,
    labels: Any,
    tabular: bool,
) -> tuple[list[Fold], Fold]:
    """Return the folds, and all rows as one fold for the last training.

    Rows are in as many blocks as X has chunks, or a few more, so that folds are made of whole blocks: nothing moves
    from fold to fold.
    """
    parts, used = _parts(operation, cv, test_size)
    array = _whole(operation, "X", X, tabular)
    target = beside(operation, "y", y, array, wide=True)
    unit = parts * shards
    count = unit * max(1, -(-array.expr.grid.axes[0].count // unit))
    if array.shape[0] < count:
        count = unit
    if array.shape[0] < count:
        raise ShapeError(bad(operation, "X", array.shape, f"at least {count} rows: {parts} parts of {shards} shards"))
    blocks = cut_shards(operation, [array, target], count, shuffle, seed, labels)
    own = (blocks.arrays[0], blocks.arrays[1])
    starts = np.concatenate([[0], np.cumsum(blocks.sizes)]).tolist()
    each = count // parts
    folds = []
    for part in range(used):
        kept = [b for b in range(count) if not part * each <= b < (part + 1) * each]
        test = _rows(own, starts, list(range(part * each, (part + 1) * each)))
        folds.append(Fold(_steps(own, starts, kept, shards), test))
    return folds, Fold(_steps(own, starts, list(range(count)), shards), None)


def make_fold(operation: str, every: Fold, X: Any, y: Any, *, tabular: bool) -> list[Fold]:
    """Return one fold of all rows, tested on others."""
    array = _whole(operation, "validation_data", X, tabular)
    return [Fold(every.steps, (array, beside(operation, "validation_data", y, array, wide=True)))]


def join_test_blocks(fold: Fold) -> Fold:
    """Return a fold whose rows to test on are one block."""
    if fold.test is None:
        return fold
    X, y = (regrid(a, Grid.single(a.shape)) for a in fold.test)
    return Fold(fold.steps, (X, y))


def _whole(operation: str, argument: str, X: Any, tabular: bool) -> Array:
    """Return rows that are whole in their chunks; `tabular` ones have one axis of features."""
    array = as_array(operation, argument, X)
    if tabular:
        return samples(operation, array, floats=False)
    if array.ndim < 2 or not array.shape[0]:
        raise ShapeError(bad(operation, argument, array.shape, "a row for each sample"))
    first, *rest = array.expr.grid.axes
    return regrid(array, Grid([first, *(Axis.whole(a.length) for a in rest)]))


def _parts(operation: str, cv: Any, test_size: Any) -> tuple[int, int]:
    """Return into how many parts rows are cut, and how many of these are tested on."""
    if cv is not None:
        parts = check_integer(operation, "cv", cv, 2, expected="None, or a number of folds, at least 2")
        return parts, parts
    if isinstance(test_size, bool) or not isinstance(test_size, float | int) or not 0 < test_size <= 0.5:
        raise ArgumentError(bad(operation, "test_size", test_size, "a share of the rows, above 0 and at most 0.5"))
    return round(1 / test_size), 1


def _steps(arrays: tuple[Array, Array], starts: list[int], blocks: list[int], shards: int) -> tuple[Any, ...]:
    return tuple(_rows(arrays, starts, blocks[i : i + shards]) for i in range(0, len(blocks), shards))


def _rows(arrays: tuple[Array, Array], starts: list[int], blocks: list[int]) -> tuple[Array, Array]:
    """Return some blocks of rows, which stay blocks; they follow each other but for one gap at most."""
    sizes = [starts[b + 1] - starts[b] for b in blocks]
    runs = np.split(np.asarray(blocks), np.flatnonzero(np.diff(blocks) > 1) + 1)
    selected = []
    for array in arrays:
        pieces = [array[starts[int(r[0])] : starts[int(r[-1]) + 1]] for r in runs]
        joined = concatenate(pieces) if len(pieces) > 1 else pieces[0]
        rest = [Axis.whole(n) for n in joined.shape[1:]]
        selected.append(regrid(joined, Grid([Axis.of_sizes(sizes), *rest])))
    return selected[0], selected[1]
