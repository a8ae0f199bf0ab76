"""Reshapes: what is planned and read for a block follows from the blocks that it lies in, not from its elements."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest

from windrow.graph.chunks.grid import Axis, Grid
from windrow.graph.kinds.reshape import Reshape, reshape_grid, reshape_groups


def calls(function) -> int:
    """Count the Python functions and built-ins that a call calls."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def reshaped(shape: tuple[int, ...], step: int, target: tuple[int, ...]) -> tuple[Reshape, Grid, Grid]:
    source = Grid([Axis.regular(n, step) for n in shape])
    groups = reshape_groups(shape, target)
    return Reshape(groups), reshape_grid(groups, source, target), source


@pytest.mark.parametrize("target", [(100**3,), (100, 10_000), (1000, 1000)])
def test_a_block_is_made_of_few_pieces(target):
    """At most five boxes, and one piece for each block of the source that has part in one."""
    op, domain, source = reshaped((100, 100, 100), 20, target)
    rows = op.rows(domain, (source,), np.arange(domain.nblocks))[0]
    for block, read in enumerate(rows.lengths.tolist()):
        assert len(op.pieces(domain, (source,), block)) <= 5 * read <= 5 * 25


def test_rows_of_many_blocks_take_as_many_calls_as_those_of_few():
    few, many = (reshaped((n, n, n), 20, (n**3,)) for n in (60, 240))
    counted = [calls(partial(op.rows, d, (s,), np.arange(d.nblocks))) for op, d, s in (few, many)]
    assert counted[1] < 2 * counted[0]


def test_ravel_of_cubes_reads_each_block_a_few_times():
    """Rows have what pieces have, and no more: a linear number of pairs."""
    op, domain, source = reshaped((200, 200, 200), 20, (200**3,))
    (rows,) = op.rows(domain, (source,), np.arange(domain.nblocks))
    assert domain.nblocks == source.nblocks == 1000
    assert len(rows.items) < 25 * 1000
    for block in (0, 7, 500, 999):
        assert set(rows.of(np.array([block])).tolist()) == {p.block for p in op.pieces(domain, (source,), block)}
