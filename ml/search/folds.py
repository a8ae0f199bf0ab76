"""The rows of a search: shuffled once, cut into persisted blocks, and assigned to training and testing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...arrays.base import as_array
from ...arrays.chunking.rechunk import regrid
from ...arrays.execution.compute import persist, wait
from ...arrays.ops.moves.joining import concatenate
from ...graph.arguments import check_integer
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, ShapeError, bad
from ..rows import beside, samples
from ..training.shards import cut_shards

if TYPE_CHECKING:
    from ...arrays.array import Array

__all__ = ["Fold", "Rows", "cut", "make_fold", "join_test_blocks"]

Rows = tuple[Any, Any]
"""A block of X and a block of y."""


@dataclass(frozen=True)
class Fold:
    """Blocks to train on (at each step one for each shard) and blocks to test on."""

    steps: tuple[tuple[Rows, ...], ...]
    test: tuple[Rows, ...] | None


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

    There are as many blocks of rows as X has chunks, or a few more, so that each fold consists of whole blocks.
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
    blocks = _blocks(*cut_shards(operation, [array, target], count, shuffle, seed, labels).arrays)
    each = count // parts
    folds = []
    for part in range(used):
        test = slice(part * each, (part + 1) * each)
        folds.append(Fold(_steps(blocks[: test.start] + blocks[test.stop :], shards), blocks[test]))
    return folds, Fold(_steps(blocks, shards), None)


def make_fold(operation: str, every: Fold, X: Any, y: Any, *, tabular: bool) -> list[Fold]:
    """Return one fold, which trains on all rows and tests on others."""
    array = _whole(operation, "validation_data", X, tabular)
    target = beside(operation, "validation_data", y, array, wide=True)
    return [Fold(every.steps, _blocks(*persist(array, target)))]


def join_test_blocks(fold: Fold) -> Fold:
    """Return a fold with the rows to test on in one block."""
    if fold.test is None or len(fold.test) == 1:
        return fold
    joined = (concatenate(some) for some in zip(*fold.test, strict=True))
    return Fold(fold.steps, _blocks(*persist(*(regrid(a, Grid.single(a.shape)) for a in joined))))


def _blocks(X: Array, y: Array) -> tuple[Rows, ...]:
    """Persist blocks of rows, wait for them, and return them: tasks look at them where they lie."""
    wait(X, y)
    return tuple((X.blocks[i], y.blocks[i]) for i in range(X.numblocks[0]))


def _steps(blocks: tuple[Rows, ...], shards: int) -> tuple[tuple[Rows, ...], ...]:
    return tuple(blocks[i : i + shards] for i in range(0, len(blocks), shards))


def _whole(operation: str, argument: str, X: Any, tabular: bool) -> Array:
    """Return rows that are whole in their chunks; with `tabular` they must have one axis of features."""
    array = as_array(operation, argument, X)
    if tabular:
        return samples(operation, array, floats=False)
    if array.ndim < 2 or not array.shape[0]:
        raise ShapeError(bad(operation, argument, array.shape, "a row for each sample"))
    first, *rest = array.expr.grid.axes
    return regrid(array, Grid([first, *(Axis.whole(a.length) for a in rest)]))


def _parts(operation: str, cv: Any, test_size: Any) -> tuple[int, int]:
    """Return the number of parts that rows are cut into, and the number of parts to test on."""
    if cv is not None:
        parts = check_integer(operation, "cv", cv, 2, expected="None, or a number of folds, at least 2")
        return parts, parts
    if isinstance(test_size, bool) or not isinstance(test_size, float | int) or not 0 < test_size <= 0.5:
        raise ArgumentError(bad(operation, "test_size", test_size, "a share of the rows, above 0 and at most 0.5"))
    return round(1 / test_size), 1
