"""Reductions across blocks that are thin along the reduced axes: partial results are as large as the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windrow as wr
from windrow.graph.kinds import reduction
from windrow.graph.passes import thin_reductions

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
    return lambda: monkeypatch.setattr(reduction, "is_thin", lambda *args: False)


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


CELLS = {
    "rows": lambda: wr.random.default_rng(3).random((66, 17_003), chunks=(1, -1)) - 0.5,
    "columns": lambda: wr.random.default_rng(3).random((17_003, 66), chunks=(-1, 1)),
    "middle": lambda: wr.random.default_rng(3).integers(0, 9, (200, 18, 100), chunks=(-1, 1, -1)),
    "one value": lambda: wr.full((66, 17_003), 0.1, chunks=(1, -1)) * 3,
    "float32": lambda: wr.random.default_rng(3).random((21, 17_003), dtype="f4", chunks=(1, -1)),
}


@pytest.mark.parametrize("name", ["sum", "min", "std", "argmax", "nanmax"])
@pytest.mark.parametrize("source", CELLS)
def test_what_is_made_where_it_is_used_is_reduced_in_cells_to_the_same_bits(
    source: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reduction, "GROUP_BYTES", 1 << 10)
    monkeypatch.setattr(thin_reductions, "CELL", 1 << 10)

    def reduced(**more: Any) -> Any:
        x = CELLS[source]()
        return getattr(wr, name)(x, axis=x.chunksize.index(1), **more)

    x, kept = reduced(), reduced(keepdims=True)
    assert [stage.blocks > 16 for stage in x.explain().stages] == [True, False]
    made = x.compute()
    assert kept.compute().tobytes() == made.tobytes()
    monkeypatch.setattr(thin_reductions, "LEAST_TASKS", 1 << 40)
    again = reduced()
    assert len(again.explain().stages) > 2
    assert again.compute().tobytes() == made.tobytes()


def test_what_several_use_is_not_made_in_cells() -> None:
    x = wr.random.default_rng(3).random((66, 1 << 20), chunks=(1, -1))
    alone, together = x.sum(0).explain(), wr.explain(x.sum(0), x.max(0))
    assert len(alone.stages) == 2
    assert together.stages[0].tasks == 17  # groups of whole blocks, drawn once for both


@pytest.mark.ranks
@pytest.mark.timeout(60)
def test_cells_on_ranks() -> None:
    def total() -> wr.Array:
        return wr.random.default_rng(3).random((66, 1 << 19), chunks=(1, -1)).sum(0)

    expected = total().compute()
    with wr.Cluster(ranks=2):
        assert total().compute().tobytes() == expected.tobytes()
