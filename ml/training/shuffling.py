"""A shard's rows in another order each epoch, a cacheful at a time."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .tasks import Round

    Values = np.ndarray[Any, Any]

__all__ = ["in_order", "order_of", "shuffle_rows"]

CACHEFUL, FEWEST, TOGETHER = 1 << 20, 4096, 16
"""Bytes of a pass, the fewest rows of one, and how many neighbours move together before they are mixed."""


def order_of(at: Round, count: int) -> Values:
    """Return the order of a shard's rows in an epoch, the same in each of its rounds."""
    return _order(replace(at, number=0), count)


@functools.lru_cache(maxsize=8)
def _order(at: Round, count: int) -> Values:
    return at.generator().permutation(count)


def _size(rows: Sequence[Values]) -> int:
    """Return the rows of a pass, a number of whole groups, so that passes are about equal."""
    most = max(FEWEST, CACHEFUL // max(1, sum(r[:1].nbytes for r in rows)))
    turns = -(-len(rows[0]) // most)
    return -(-len(rows[0]) // turns // TOGETHER) * TOGETHER


def in_order(rows: Sequence[Values]) -> Iterator[list[Values]]:
    """Yield rows as they stand, a cacheful at a time, in C order."""
    size = _size(rows)
    for at in range(0, len(rows[0]), size):
        yield [np.ascontiguousarray(r[at : at + size]) for r in rows]


def shuffle_rows(
    rows: Sequence[Values], generator: np.random.Generator, *, whole: bool = False
) -> Iterator[list[Values]]:
    """Yield each row once, in an order that the generator gives, a cacheful at a time (with `whole`, all at once).

    More rows than a cacheful are shuffled in two steps, which costs a fifth of a permutation of all: small groups of
    neighbours are drawn for each pass from all over, and the rows of a pass are mixed. The rows of a shard are
    themselves in a random order, so that it makes no difference which ones are neighbours. What is yielded is
    written over by what follows.
    """
    count, size = len(rows[0]), _size(rows)
    rows = [np.ascontiguousarray(r) for r in rows]
    if whole or count <= size:
        order = generator.permutation(count)
        # np.take with a target is several times faster than indexing.
        yield [np.take(r, order, axis=0, out=np.empty_like(r), mode="clip") for r in rows]
        return
    groups, each = count // TOGETHER, size // TOGETHER
    drawn, mixed = generator.permutation(groups), generator.permutation(size + TOGETHER)
    usual, rest = mixed[mixed < size], count - groups * TOGETHER
    grouped = [r[: groups * TOGETHER].reshape(groups, -1) for r in rows]
    near = [np.empty((size + TOGETHER, *r.shape[1:]), r.dtype) for r in rows]
    out = [np.empty_like(n) for n in near]
    for at in range(0, groups, each):
        mine = drawn[at : at + each]
        filled = len(mine) * TOGETHER
        for whole_rows, groups_of, into in zip(rows, grouped, near, strict=True):
            target = into[:filled].reshape(len(mine), -1)
            np.take(groups_of, mine, axis=0, out=target, mode="clip")
            if at + each >= groups:  # the last pass takes along what makes no whole group
                into[filled : filled + rest] = whole_rows[count - rest :]
        filled += rest if at + each >= groups else 0
        order = usual if filled == size else mixed[mixed < filled]
        yield [np.take(n, order, axis=0, out=o[:filled], mode="clip") for n, o in zip(near, out, strict=True)]
