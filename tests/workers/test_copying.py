"""Copying boxes by a compiled loop: what NumPy's assignments give, whatever the elements and however they lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.graph.kinds.move import Move
from windrow.workers.config import config
from windrow.workers.kernels.compiled.fixed.copying import AXES, Copies, RowParts, copy, find_loop

pytest.importorskip("llvmlite")
DTYPES = ["?", "i2", "f4", "f8", "c16", "U5", "S3", "M8[s]", [("a", "i1"), ("b", "f8")]]


def some(shape, dtype):
    raw = np.random.default_rng(0).integers(0, 2, (*shape, np.dtype(dtype).itemsize), np.uint8)
    return raw.view(dtype).reshape(shape)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_boxes_are_copied_as_numpy_assigns(data):
    dtype = np.dtype(data.draw(st.sampled_from(DTYPES)))
    ndim = data.draw(st.integers(1, AXES - 1))
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=ndim, max_size=ndim)))
    axes, step = data.draw(st.permutations(range(ndim))), data.draw(st.sampled_from([1, -1]))
    source = some(tuple(n + 1 for n in shape), dtype).transpose(axes)[..., ::step]
    shape = tuple(n - 1 for n in source.shape)
    target, wanted = np.zeros((2, *source.shape), dtype)
    boxes = []
    for _ in range(data.draw(st.integers(0, 5))):
        lo = [data.draw(st.integers(0, n)) for n in shape]
        hi = [data.draw(st.integers(at, n)) for at, n in zip(lo, shape, strict=True)]
        boxes.append((lo, hi))
        where = tuple(map(slice, lo, hi))
        wanted[where] = source[where]
    lo, hi = (np.array([box[k] for box in boxes], np.int64).reshape(-1, ndim) for k in (0, 1))
    ends = [(a.__array_interface__["data"][0], np.array(a.strides, np.int64)) for a in (source, target)]
    (at, apart), (to, there) = ends
    with config.set(jit="on"):
        loop = find_loop(len(boxes), len(boxes))
    copy(loop, Copies(at + lo @ apart, to + lo @ there, hi - lo, apart[None], there[None]), dtype.itemsize)
    assert target.tobytes() == wanted.tobytes()


def made(values, way):
    lazy = wr.from_array(values, chunks=(1, 40, 30))
    x = lazy if way == "user's" else lazy.map_blocks(np.copy, dtype=values.dtype).persist()
    y = wr.pad(x, 1) if values.dtype.kind in "bif" else x
    return [
        x.rechunk((-1, 7, 8)),
        y.rechunk((-1, 7, 8)),
        x.transpose(2, 0, 1).rechunk((9, -1, 7)),
        x[::-2, 1:, ::3].rechunk((-1, 9, 9)),
        x.reshape(64 * 40, 30).rechunk((400, 30)),
        x[:, 3].rechunk((-1, 7)),
        wr.concatenate([x, x[::-1]], axis=1).rechunk((-1, 11, 9)),
        x.rechunk((-1, 7, 8)).persist().rechunk((1, 40, 30)),
    ]


@pytest.mark.parametrize("way", ["chunks", "user's"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_moves_of_many_pieces_have_the_interpreters_bits(dtype, way, monkeypatch):
    values = some((64, 40, 30), dtype)
    values = np.asfortranarray(values) if way == "user's" else values
    found = []
    for jit in ("on", "off"):
        with config.set(jit=jit):
            found.append([each.compute() for each in made(values, way)])
    for a, b in zip(*found, strict=True):
        assert a.tobytes() == b.tobytes()
    assert found[0][0].tobytes() == values.tobytes()


@pytest.mark.parametrize("reduced", [True, False])
def test_no_object_is_made_for_a_piece(reduced, monkeypatch):
    told = []
    pieces = Move.pieces
    monkeypatch.setattr(Move, "pieces", lambda self, *given: (told.append(1), pieces(self, *given))[1])
    values = np.random.default_rng(0).random((300, 40, 30))
    with config.set(jit="on"):
        x = wr.from_array(values, chunks=(1, 40, 30)).map_blocks(np.copy, dtype="f8").persist()
        wr.wait(x)
        told.clear()
        y = x.rechunk((-1, 20, 30))
        found = y.sum(axis=0).compute() if reduced else y.persist().compute()
    np.testing.assert_allclose(found, values.sum(0) if reduced else values)
    assert not told


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_parts_of_rows_are_put_together(dtype):
    rows = [some((n,), dtype) for n in (400, 3, 90, 200, 1)]
    cuts = np.array(
        [[0, 3, 3, 390, 400], [0, 0, 1, 2, 3], [5, 20, 20, 90, 90], [0, 200, 200, 200, 200], [0, 0, 0, 1, 1]]
    )
    with config.set(jit="on"):
        parts = RowParts.of(rows, cuts.T[:-1], cuts.T[1:])
    for number in (2, 0, 3, 1):
        wanted = np.concatenate([row[c[number] : c[number + 1]] for row, c in zip(rows, cuts, strict=True)])
        out = np.zeros_like(wanted)
        parts.put(number, out)
        assert out.tobytes() == wanted.tobytes()


def test_rows_in_several_pieces_are_left_to_numpy():
    rows, begin = [some((100,), "f8") for _ in range(4)], np.zeros((1, 4), np.int64)
    with config.set(jit="on"):
        assert RowParts.of(rows, begin, begin + 50) is not None
        assert RowParts.of([*rows[:3], rows[3][::2]], begin, begin + 50) is None
        assert RowParts.of([*rows[:3], rows[3].astype("f4")], begin, begin + 50) is None
        assert RowParts.of(rows[:3], begin[:, :3], begin[:, :3] + 50) is None
    with config.set(jit="off"):
        assert RowParts.of(rows, begin, begin + 50) is None
