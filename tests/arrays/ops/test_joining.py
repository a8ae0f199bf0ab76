"""Joins of many arrays: their values, and what a stage reads."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import windrow as wr
from windrow.graph.kinds.move import Move
from windrow.graph.lowering.lower import lower
from windrow.graph.passes.simplify import JOINED

MANY = 3 * JOINED + 5


def parts() -> list[np.ndarray]:
    """Many arrays of various lengths, some of them empty."""
    generator = np.random.default_rng(4)
    return [generator.random((3, n)) for n in generator.integers(0, 5, MANY)]


def joins() -> dict[str, tuple[wr.Array, np.ndarray]]:
    data = parts()
    lazy = [wr.from_array(x, chunks=2) * 2 if k % 2 else wr.from_array(x, chunks=(1, 3)) for k, x in enumerate(data)]
    data = [x * 2 if k % 2 else x for k, x in enumerate(data)]
    rows, lines = [x[0] for x in data], [x[0] for x in lazy]
    columns = [x.ravel()[:1] for x in data if x.size]
    return {
        "concatenate": (wr.concatenate(lazy, axis=1), np.concatenate(data, axis=1)),
        "slice": (wr.concatenate(lazy, axis=1)[1, 30:90:7], np.concatenate(data, axis=1)[1, 30:90:7]),
        "hstack": (wr.hstack(lines).sum(), np.hstack(rows).sum()),
        "rechunk": (wr.concatenate(lazy, axis=1).rechunk((3, 50)) + 1, np.concatenate(data, axis=1) + 1),
        "stack": (wr.stack([wr.full(2, k) for k in range(MANY)], 1), np.stack([np.full(2, k) for k in range(MANY)], 1)),
        "block": (wr.block([lazy, lazy]), np.block([data, data])),
        "column_stack": (wr.column_stack([wr.from_array(c) for c in columns]), np.column_stack(columns)),
        "one over": (wr.concatenate(lines[: JOINED + 1]), np.concatenate(rows[: JOINED + 1])),
    }


@pytest.mark.parametrize("name", joins())
def test_many_arrays(name):
    got, expected = joins()[name]
    np.testing.assert_allclose(got.compute(), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["hstack", "vstack", "stack", "concatenate"])
def test_what_is_cast_is_each_array(name):
    """By the rule given, and not what their dtypes promote to."""
    narrow, whole, days = np.ones(3, "f4"), np.arange(3, dtype="i4"), np.arange(3).astype("M8[s]")
    function, numpys = getattr(wr, name), getattr(np, name)
    found = function([wr.asarray(whole), wr.asarray(days)], dtype="i8", casting="unsafe")
    np.testing.assert_array_equal(found.compute(), numpys([whole, days], dtype="i8", casting="unsafe"), strict=True)
    for casting in ("no", "equiv"):
        with pytest.raises(TypeError, match="is cast by the rule"):
            function([wr.asarray(narrow), wr.asarray(whole)], dtype="f8", casting=casting)


def test_no_stage_reads_many_others():
    joined = wr.concatenate([wr.ones(10, chunks=3) * k for k in range(JOINED**2 + 1)])
    stages = lower([joined.expr], lambda token: False)
    assert max(len(s.inputs) for s in stages) <= JOINED
    assert len(stages) < (JOINED**2 + 1) * 1.1


@pytest.mark.ranks
def test_on_ranks(launch, nothing_left):
    ended = launch(3, str(Path(__file__)))
    assert ended.status == 0, ended.err[-3000:]
    assert ended.last == "right"


if __name__ == "__main__":
    for case, (found, wanted) in joins().items():
        np.testing.assert_allclose(found.compute(), wanted, rtol=1e-12, err_msg=case)
    print("right")


def test_what_has_no_elements_leaves_the_others_as_they_are():
    x = wr.from_array(np.array([1.0, 2.0]), chunks=2)
    for empty in (x[2:] - x[:0], x[:0] + 1):
        for others in ([np.array([3.0, 4.0])], [x * 5, np.array([3.0])], [x * 5]):
            for k in range(len(others) + 1):
                parts = [*others[:k], empty, *others[k:]]
                expected = np.concatenate([np.asarray(p) for p in parts])
                np.testing.assert_array_equal(wr.concatenate(parts).compute(), expected)


@hypothesis.given(st.data())
def test_joins_of_small_chunks(data):
    """Blocks that are whole blocks of what is joined, several of them, and parts; of arrays of each kind."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    shape = data.draw(st.lists(st.integers(1, 60), min_size=1, max_size=3))
    axis = data.draw(st.integers(0, len(shape) - 1))
    chunks = [data.draw(st.integers(1, n)) for n in shape]
    arrays, lazy = [], []
    for _ in range(data.draw(st.integers(1, 6))):
        own = list(shape)
        own[axis] = data.draw(st.integers(0, 60))
        mine = list(chunks)
        if data.draw(st.integers(0, 3)) == 0:
            mine[axis] = data.draw(st.integers(1, 60))
        arrays.append(rng.random(own))
        made = wr.from_array(arrays[-1], chunks=tuple(mine))
        kind = data.draw(st.sampled_from(["host", "stored", "computed"]))
        lazy.append(made if kind == "host" else made.persist() if kind == "stored" else made * 1)
    expected = np.concatenate(arrays, axis)
    joined = wr.concatenate(lazy, axis)
    np.testing.assert_array_equal(joined.compute(), expected)
    np.testing.assert_array_equal((joined.rechunk(joined.chunks) + 1).persist().compute(), expected + 1)
    stacked, order = [a for a in lazy if a.shape == lazy[0].shape], data.draw(st.integers(0, len(shape)))
    expected = np.stack([a for a in arrays if a.shape == arrays[0].shape], order)
    np.testing.assert_array_equal(wr.stack(stacked, order).compute(), expected)


@pytest.mark.parametrize("how", ["concatenate", "stack", "columns"])
def test_small_chunks_are_joined_many_at_once(how, monkeypatch):
    """What is put together piece by piece takes Python some ten microseconds for each piece."""
    asked, pieces = [], Move.pieces
    monkeypatch.setattr(Move, "pieces", lambda self, *args: asked.append(1) or pieces(self, *args))
    data = [np.arange(k, k + 4000.0) for k in range(20)]
    if how == "columns":
        data = [x.reshape(2000, 2) for x in data]
    arrays = [wr.from_array(x, chunks=10).persist() for x in data]
    if how == "stack":
        np.testing.assert_array_equal(wr.stack(arrays).compute(), np.stack(data))
    else:
        axis = int(how == "columns")
        np.testing.assert_array_equal(wr.concatenate(arrays, axis).compute(), np.concatenate(data, axis))
    assert len(asked) < 500  # of 4000 or 8000 blocks
