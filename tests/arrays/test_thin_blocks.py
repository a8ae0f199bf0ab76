"""Reductions across blocks that are thin along the reduced axes: partial results are as large as the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windrow as wr
from windrow.graph.kinds import reduction

WIDE = 140_000
"""Elements of a row's first block, which is above a mebibyte; the last block has few."""
HEADS = ["sum", "mean", "min", "prod", "std", "argmax", "nanmean", "nanmax", "nanvar"]


def rows(count: int) -> wr.Array:
    return wr.random.default_rng(3).random((count, WIDE + 3), chunks=(1, WIDE))


def held(x: wr.Array) -> int:
    return sum(stage.bytes_held for stage in x.explain().stages)


@pytest.fixture(scope="module")
def data() -> Any:
    values = np.random.default_rng(3).random((66, WIDE + 3)) * 3 - 1
    values[values < -0.9] = np.nan
    return values


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let each thin block have a partial result of its own, from the call on."""
    return lambda: monkeypatch.setattr(reduction, "_is_thin", lambda *args: False)


@pytest.mark.parametrize("name", HEADS)
def test_groups_of_thin_blocks_have_the_bits_of_single_ones(name: str, data: Any, alone: Any) -> None:
    x = wr.from_array(data, chunks=(1, WIDE)) * 1.1
    grouped = getattr(wr, name)(x, axis=0)
    less, made = held(grouped), grouped.compute()
    alone()
    assert grouped.compute().tobytes() == made.tobytes()
    assert less < held(grouped) / 2


def test_several_reductions_of_thin_blocks_have_the_bits_of_each(data: Any, alone: Any) -> None:
    x = wr.from_array(data, chunks=(1, WIDE)) * 1.1
    each = [x.sum(0), x.max(0), wr.nanmean(x, axis=0)]
    together: Any = wr.compute(*each)
    alone()
    assert [e.compute().tobytes() for e in each] == [e.tobytes() for e in together]


def test_thin_blocks_across_the_last_axis(alone: Any) -> None:
    x = rows(66).T
    made = x.sum(1).compute()
    alone()
    assert x.sum(1).compute().tobytes() == made.tobytes()


def test_partial_results_of_few_thin_blocks_stay_apart(alone: Any) -> None:
    """So that there are tasks for many threads."""
    total = rows(20).sum(0)
    stages = [(stage.name, stage.tasks) for stage in total.explain().stages]
    alone()
    assert stages == [(stage.name, stage.tasks) for stage in total.explain().stages]


def test_what_a_move_takes_of_a_copy_is_held_once() -> None:
    xr = pytest.importorskip("xarray")
    x = xr.DataArray(wr.random.default_rng(3).random((200, 1 << 20), chunks=(1, -1)), dims=("time", "x"))
    day = xr.DataArray(np.arange(200) % 10, dims="time", name="day")
    less = (x.groupby(day) - x.groupby(day).mean()).mean("time").data
    assert not any("copy" in stage.name for stage in less.explain().stages)
