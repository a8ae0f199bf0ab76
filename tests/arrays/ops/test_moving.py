"""Moves, joins, reshapes and rechunks against NumPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

DATA = np.arange(7 * 5 * 6).reshape(7, 5, 6)


def lazily(function: Any, *args: Any) -> Any:
    """Call a function of NumPy's with a lazy array."""
    return function(*args)


def arrays(data=DATA, chunks=(3, 2, 4)):
    return [wr.from_array(data), wr.from_array(data, chunks=chunks), wr.from_array(data, chunks=chunks) + 0]


CALLS = [
    ("transpose", ()),
    ("transpose", ((1, 2, 0),)),
    ("permute_dims", ((2, -3, 1),)),
    ("matrix_transpose", ()),
    ("swapaxes", (0, -1)),
    ("moveaxis", (0, 2)),
    ("moveaxis", ((0, 1), (-1, 0))),
    ("expand_dims", (1,)),
    ("expand_dims", ((0, -1),)),
    ("flip", ()),
    ("flip", (1,)),
    ("flip", ((0, 2),)),
    ("broadcast_to", ((2, 7, 5, 6),)),
    ("roll", (3,)),
    ("roll", (-2, 1)),
    ("roll", (50, 2)),
    ("repeat", (2,)),
    ("repeat", (3, 1)),
    ("repeat", ([1, 0, 2, 0, 3], 1)),
    ("tile", (2,)),
    ("tile", ((2, 1, 1, 3),)),
    ("take", ([0, -1, 3, 3], 0)),
    ("take", ([[100, 0], [7, -1]],)),
    ("ravel", ()),
]


@pytest.mark.parametrize(("name", "args"), CALLS)
def test_move(name, args):
    expected = getattr(np, name)(DATA, *args)
    for x in arrays():
        lazy = getattr(wr, name)(x, *args)
        assert lazy.shape == expected.shape
        np.testing.assert_array_equal(lazy.compute(), expected)


def test_squeeze_and_broadcast_arrays():
    data = DATA[:, :1, None]
    for x in arrays(data, (3, 1, 1, 4)):
        np.testing.assert_array_equal(x.squeeze().compute(), data.squeeze())
        np.testing.assert_array_equal(x.squeeze(1).compute(), data.squeeze(1))
    for got, expected in zip(
        wr.broadcast_arrays(wr.from_array(DATA, chunks=3), DATA[0, :, :1]),
        np.broadcast_arrays(DATA, DATA[0, :, :1]),
        strict=True,
    ):
        np.testing.assert_array_equal(got.compute(), expected)
    np.testing.assert_array_equal(wr.broadcast_to(wr.ones((1, 3)), (4, 3)).compute(), np.ones((4, 3)))


def test_moves_after_moves():
    for x in arrays():
        np.testing.assert_array_equal(x.T[1:, ::2].T[..., ::-1].compute(), DATA.T[1:, ::2].T[..., ::-1])
        np.testing.assert_array_equal(x[2:].rechunk(2)[:, 1, None].compute(), DATA[2:][:, 1, None])
        np.testing.assert_array_equal((x.T + 1).T.compute(), DATA + 1)


def test_join():
    for x in arrays():
        for axis in (0, 1, -1):
            parts = [x, x[:, :, :], x + 1]
            data = [DATA, DATA, DATA + 1]
            np.testing.assert_array_equal(wr.concatenate(parts, axis).compute(), np.concatenate(data, axis))
            np.testing.assert_array_equal(wr.stack(parts, axis).compute(), np.stack(data, axis))
        np.testing.assert_array_equal(wr.concatenate([x, DATA[:2]]).compute(), np.concatenate([DATA, DATA[:2]]))
        np.testing.assert_array_equal(wr.concatenate([x, x], None).compute(), np.concatenate([DATA, DATA], None))
        np.testing.assert_array_equal(wr.vstack([x, x]).compute(), np.vstack([DATA, DATA]))
        np.testing.assert_array_equal(wr.hstack([x, x]).compute(), np.hstack([DATA, DATA]))
        np.testing.assert_array_equal(lazily(np.concatenate, [x, x[:0]]).compute(), DATA)
    mixed = wr.concatenate([wr.arange(3), wr.ones(2, "f4")])
    assert mixed.dtype == np.float64
    np.testing.assert_array_equal(wr.vstack([wr.arange(3), wr.arange(3)]).compute(), np.vstack([range(3), range(3)]))


RESHAPES = [
    ((12, 10), (120,)),
    ((12, 10), (3, 4, 10)),
    ((12, 10), (3, 4, 5, 2)),
    ((12, 10), (10, 12)),
    ((12, 10), (1, 12, 1, 10)),
    ((120,), (2, 3, 20)),
    ((2, 3, 4, 5), (6, 20)),
    ((2, 3, 4, 5), (2, 12, 5)),
    ((2, 3, 4, 5), (5, 4, 3, 2)),
    ((1,), ()),
    ((), (1, 1)),
    ((0, 3), (3, 0)),
    ((0, 3), (5, 0, 2)),
]


@pytest.mark.parametrize(("shape", "target"), RESHAPES)
def test_reshape(shape, target):
    data = np.arange(math.prod(shape)).reshape(shape)
    for chunks in (-1, 2, 3):
        x = wr.from_array(data, chunks=chunks) + 0
        np.testing.assert_array_equal(x.reshape(target).compute(), data.reshape(target))
        np.testing.assert_array_equal(lazily(np.reshape, x, target).compute(), data.reshape(target))


@given(st.data())
def test_reshape_of_any_shape(data):
    factors = data.draw(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=5))

    def shape():
        order = data.draw(st.permutations(factors))
        cuts = sorted(data.draw(st.sets(st.integers(1, len(order)), max_size=3)) | {len(order)})
        return tuple(math.prod(order[a:b]) for a, b in zip([0, *cuts], cuts, strict=False))

    old, new = shape(), shape()
    values = np.arange(math.prod(old)).reshape(old)
    x = wr.from_array(values, chunks=tuple(data.draw(st.integers(1, n)) for n in old))
    np.testing.assert_array_equal(x.reshape(new).compute(), values.reshape(new))


def test_reshape_keeps_borders_that_fit():
    x = wr.zeros((21600, 43200), "i1", chunks=(600, 10800))
    y = x.reshape(180, 120, 360, 120)
    assert y.chunksize == (5, 120, 90, 120)
    assert y.reshape(21600, 43200).chunks == x.chunks
    assert wr.zeros(100, chunks=10).reshape(10, 10).chunksize == (1, 10)
    assert wr.zeros((10, 10), chunks=(2, 10)).reshape(-1).chunksize == (20,)


@given(st.data())
def test_rechunk(data):
    shape = tuple(data.draw(st.lists(st.integers(0, 12), min_size=1, max_size=3)))

    def chunks():
        return tuple(data.draw(st.integers(1, max(1, n))) for n in shape)

    values = np.arange(math.prod(shape)).reshape(shape)
    x = wr.from_array(values, chunks=chunks()) + 0
    to = chunks()
    y = x.rechunk(to)
    assert y.chunksize == tuple(min(c, n) for c, n in zip(to, shape, strict=True))
    np.testing.assert_array_equal(y.compute(), values)


def test_chunks_in_all_spellings():
    x = wr.ones((10, 6), chunks=(4, 3))
    assert x.chunks == ((4, 4, 2), (3, 3))
    assert wr.ones((10, 6), chunks=5).chunks == ((5, 5), (5, 1))
    assert x.rechunk({0: 5}).chunks == ((5, 5), (3, 3))
    assert x.rechunk({-1: -1}).chunks == ((4, 4, 2), (6,))
    assert x.rechunk(((1, 9), None)).chunks == ((1, 9), (3, 3))
    assert wr.ones(10, chunks=(3, 7)).chunks == ((3, 7),)
    assert wr.ones((1000, 1000), chunks="1 MiB").nbytes / wr.ones((1000, 1000), chunks="1 MiB").npartitions <= 1 << 20
    assert x.rechunk("auto").chunks == ((10,), (6,))
    with wr.config.set(chunk_bytes=80):
        assert wr.ones(100).chunksize == (10,)


@given(st.data())
def test_chunks_of_any_shape(data):
    shape = tuple(data.draw(st.lists(st.integers(0, 200), min_size=2, max_size=3)))

    def spec(n):
        fitting = st.lists(st.integers(0, n), max_size=3).filter(lambda s: sum(s) <= n)
        sizes = fitting.map(lambda s: (*s, n - sum(s)))
        return data.draw(st.one_of(st.integers(1, 300), st.sampled_from([-1, None, "auto", "1 KiB"]), sizes))

    specs = tuple(spec(n) for n in shape)
    x = wr.zeros(shape, chunks=specs)
    for sizes, wanted, n in zip(x.chunks, specs, shape, strict=True):
        assert sum(sizes) == n
        if isinstance(wanted, tuple) and n:
            assert sizes == wanted
        elif isinstance(wanted, int) and wanted > 0:
            assert all(s == wanted for s in sizes[:-1])
            assert sizes[-1] <= wanted
        elif wanted in (-1, None):
            assert sizes == (n,)
    assert wr.zeros(shape, chunks="1 KiB").expr.grid.largest * 8 <= 1024
    assert x.rechunk({}).chunks == x.chunks


@pytest.mark.parametrize(
    "chunks", [0, -2, 2.5, "many", (3,), (3, 3, 3), ((5, 4), 6), {2: 3}, {"a": 3}, ((-1, 11), 6), True]
)
def test_bad_chunks(chunks):
    with pytest.raises(wr.ChunksError, match=r"ones.*'chunks'"):
        wr.ones((10, 6), chunks=chunks)
    with pytest.raises(wr.ChunksError, match=r"rechunk.*'chunks'"):
        wr.ones((10, 6)).rechunk(chunks)


def test_errors():
    x = wr.ones((3, 4))
    cases = [
        (lambda: x.transpose(0, 0), wr.ShapeError, "transpose.*'axes'"),
        (lambda: x.reshape(5, -1), wr.ShapeError, "reshape.*'shape'"),
        (lambda: x.reshape(-1, -1), wr.ShapeError, "at most one"),
        (lambda: x.reshape(5), wr.ShapeError, "reshape.*12 elements"),
        (lambda: x.squeeze(0), wr.ShapeError, "squeeze"),
        (lambda: wr.flip(x, 5), wr.AxisError, "flip.*'axis' is 5"),
        (lambda: wr.broadcast_to(x, (3, 5)), wr.ShapeError, "broadcast_to"),
        (lambda: wr.broadcast_to(x, (4,)), wr.ShapeError, "broadcast_to"),
        (lambda: wr.concatenate([x, wr.ones((3, 5))]), wr.ShapeError, "concatenate.*shapes"),
        (lambda: wr.concatenate([]), wr.ArgumentError, "concatenate.*'arrays'"),
        (lambda: wr.concatenate([x], 2), wr.AxisError, "concatenate.*'axis'"),
        (lambda: wr.stack([x, x.T]), wr.ShapeError, "stack"),
        (lambda: wr.expand_dims(x, 4), wr.AxisError, "expand_dims"),
        (lambda: wr.moveaxis(x, 0, 3), wr.AxisError, "destination"),
        (lambda: wr.repeat(x, [1, 2], 0), wr.ShapeError, "repeat.*'repeats'"),
        (lambda: wr.ones(3).mT, wr.ShapeError, "matrix_transpose"),
    ]
    for call, kind, message in cases:
        with pytest.raises(kind, match=message):
            call()


@pytest.mark.parametrize("axis", [None, 0])
def test_shifts_are_whole(axis):
    x = np.arange(12).reshape(4, 3)
    assert np.array_equal(wr.roll(wr.asarray(x), 1.5, axis), np.roll(x, 1.5, axis))
    with pytest.raises(wr.ArgumentError, match="roll: argument 'shift' is 'a'"):
        wr.roll(wr.asarray(x), "a", axis)
