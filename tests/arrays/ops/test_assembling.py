"""Cutting, joining, choosing and making arrays by NumPy's other names: against NumPy's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.arrays import same

RNG = np.random.default_rng(8)
DATA = RNG.integers(-9, 9, (6, 8, 5))
CHUNKS = [-1, (4, 3, 2), ((1, 5), (2, 2, 4), (5,))]


@pytest.mark.parametrize("chunks", CHUNKS)
def test_splitting(chunks):
    x = wr.from_array(DATA, chunks=chunks)
    for cuts in (1, 2, [1, 5], [3, 2, 9], []):
        same(np.split(x, cuts), np.split(DATA, cuts))
        same(np.vsplit(x, cuts), np.vsplit(DATA, cuts))
        same(np.hsplit(x, cuts), np.hsplit(DATA, cuts))
        same(np.split(x, cuts, axis=-2), np.split(DATA, cuts, axis=-2))
        same(np.array_split(x, cuts, 2), np.array_split(DATA, cuts, 2))
    same(np.dsplit(x, 5), np.dsplit(DATA, 5))
    same(np.hsplit(x[0, :, 0], 4), np.hsplit(DATA[0, :, 0], 4))
    same(np.array_split(x, 4), np.array_split(DATA, 4))
    same(np.array_split(x, 9), np.array_split(DATA, 9))


def test_bad_splits():
    x = wr.ones((6, 2))
    for function, args in [(wr.split, (x, 4)), (wr.split, (x, 0)), (wr.dsplit, (x, 2)), (wr.hsplit, (wr.ones(()), 1))]:
        with pytest.raises(ValueError, match="split"):
            function(*args)
    with pytest.raises(TypeError, match="split"):
        wr.split(x, 2.5)
    with pytest.raises(np.exceptions.AxisError):
        wr.split(x, 2, axis=2)


@pytest.mark.parametrize("chunks", CHUNKS)
def test_stacking(chunks):
    x = wr.from_array(DATA, chunks=chunks)
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        for part in ((0, 0, 0), (0, 0), 0, ...):
            same(getattr(np, name)(x[part]), getattr(np, name)(DATA[part]))
        same(getattr(wr, name)(x[0], x[0, 0]), getattr(np, name)(DATA[0], DATA[0, 0]))
    for part in ((0, 0), 0, ...):
        same(np.dstack([x[part], x[part]]), np.dstack([DATA[part], DATA[part]]))
        same(np.column_stack([x[part], x[part]]), np.column_stack([DATA[part], DATA[part]]))
        same(wr.row_stack([x[part], x[part]]), np.vstack([DATA[part], DATA[part]]))
    same(np.column_stack([x[0, :, 0], x[0]]), np.column_stack([DATA[0, :, 0], DATA[0]]))
    same(np.block([[x[0], x[1]], [x[2], x[3]]]), np.block([[DATA[0], DATA[1]], [DATA[2], DATA[3]]]))
    same(np.block([x, x]), np.block([DATA, DATA]))
    same(wr.block(x), np.block(DATA))
    same(wr.block([1, x[0, 0]]), np.block([1, DATA[0, 0]]))


def test_bad_stacks():
    with pytest.raises(ValueError, match="depth"):
        wr.block([wr.ones(2), [wr.ones(2)]])
    with pytest.raises(ValueError, match="empty"):
        wr.block([])
    with pytest.raises(TypeError, match="tuples"):
        wr.block((wr.ones(2), wr.ones(2)))
    with pytest.raises(TypeError, match="dstack"):
        wr.dstack(wr.ones((2, 2)))
    with pytest.raises(ValueError, match="shapes"):
        wr.column_stack([wr.ones(2), wr.ones(3)])


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sparse", [False, True])
def test_meshgrid(indexing, sparse):
    lines = [RNG.random(5), np.arange(4), np.arange(3)]
    for n in range(4):
        lazy = (
            np.meshgrid(*(wr.from_array(v, chunks=2) for v in lines[:n]), indexing=indexing, sparse=sparse)
            if n
            else wr.meshgrid()
        )
        same(lazy, np.meshgrid(*lines[:n], indexing=indexing, sparse=sparse))
    same(wr.meshgrid(wr.asarray(2.0), [1, 2], sparse=sparse), np.meshgrid(2.0, [1, 2], sparse=sparse))
    if not sparse:
        x, _ = wr.meshgrid(wr.arange(9, chunks=4), wr.arange(5, chunks=2))
        assert x.chunks == ((2, 2, 1), (4, 4, 1))
    with pytest.raises(ValueError, match="indexing"):
        wr.meshgrid(wr.ones(2), indexing="no")


def test_positions():
    for shape in ((3, 4), (5,), (2, 0), ()):
        same(wr.indices(shape, chunks=2), np.indices(shape))
        same(wr.indices(shape, np.float32, True), np.indices(shape, np.float32, True))
    same(wr.fromfunction(lambda i, j: i * 10 + j, (4, 5), chunks=3), np.fromfunction(lambda i, j: i * 10 + j, (4, 5)))
    same(wr.fromfunction(lambda i, by: i % by, (4,), dtype=int, by=3), np.arange(4) % 3)
    for key in (
        slice(5), slice(2, 9, 2), slice(-1, 1, 5j), slice(0.5, 3), slice(3, 0, -1),
        (slice(3), slice(1, 2, 4j)), (slice(2), slice(0, 9, 3), slice(1, 3)), (slice(4),),
    ):  # fmt: skip
        same(wr.mgrid[key], np.mgrid[key], 1e-15)
        expected, lazy = np.ogrid[key], wr.ogrid[key]
        same(
            lazy if isinstance(lazy, tuple) else (lazy,),
            expected if isinstance(expected, tuple) else (expected,),
            1e-15,
        )
    with pytest.raises(TypeError, match="mgrid"):
        wr.mgrid[3:]


def test_numbers_at_equal_ratios():
    for args in ((0, 3), (0, 3, 7), (-1, 2.5, 5, False), (1, 2, 0), (1, 2, 1)):
        same(wr.logspace(*args, chunks=3), np.logspace(*args), 1e-14)
        same(wr.logspace(*args, base=2, dtype="f4"), np.logspace(*args, base=2, dtype="f4"), 1e-6)
    for args in ((1, 1000, 4), (1000, 1, 7), (-2, -50.5, 9), (1, 256, 9, False), (3, 5, 1), (3, 5, 0)):
        same(wr.geomspace(*args, chunks=3), np.geomspace(*args), 1e-14)
    same(wr.geomspace(1, 256, 9, dtype=int), np.geomspace(1, 256, 9, dtype=int))
    for args in ((0, 3), (1, -1), (1j, 3)):
        with pytest.raises(ValueError, match="geomspace"):
            wr.geomspace(*args)
    with pytest.raises(TypeError, match="logspace"):
        wr.logspace([1, 2], 3)


@pytest.mark.parametrize("chunks", CHUNKS)
def test_select_and_piecewise(chunks):
    x, floats = wr.from_array(DATA, chunks=chunks), DATA / 3
    y = wr.from_array(floats, chunks=3)
    same(np.select([x > 5, x < 0], [x, y], 7), np.select([DATA > 5, DATA < 0], [DATA, floats], 7))
    same(wr.select([x[0, 0] > 5], [x]), np.select([DATA[0, 0] > 5], [DATA]))
    same(wr.select([x > 100], [1]), np.select([DATA > 100], [1]))
    single = floats.astype("f4")
    same(wr.select([x > 5, x > 1], [y.astype("f4"), 2], 0.5), np.select([DATA > 5, DATA > 1], [single, 2], 0.5))
    pieces = [lambda v: -v, lambda v, by=2: v * by, 3]
    same(np.piecewise(x, [x < 0, x > 2], pieces), np.piecewise(DATA, [DATA < 0, DATA > 2], pieces))
    same(wr.piecewise(y, [y < 0, y > 2], pieces[:2]), np.piecewise(floats, [floats < 0, floats > 2], pieces[:2]))
    same(wr.piecewise(y[0, 0], y[0, 0] < 0, [1, 2]), np.piecewise(floats[0, 0], floats[0, 0] < 0, [1, 2]))
    with pytest.raises(ValueError, match="select"):
        wr.select([x > 1], [x, x])
    with pytest.raises(TypeError, match="bool"):
        wr.select([x], [x])
    with pytest.raises(ValueError, match="piecewise"):
        wr.piecewise(x, [x > 1], [1, 2, 3])


@pytest.mark.parametrize("chunks", CHUNKS)
def test_putting(chunks):
    mask = DATA > 3

    def check(change, *args):
        wanted, lazy = DATA.copy(), wr.from_array(DATA, chunks=chunks)
        before = lazy + 0
        change(wanted, *args)
        change(lazy, *args)
        same(lazy, wanted)
        same(before, DATA)
        assert lazy.chunks == wr.from_array(DATA, chunks=chunks).chunks

    check(np.copyto, 5)
    check(np.copyto, DATA[0, 0])
    check(lambda x: np.copyto(x, -1, where=x > 0))
    check(lambda x: np.copyto(x, 2.7, casting="unsafe"))
    check(np.putmask, mask, 4)
    check(np.putmask, mask, DATA * 2)
    check(np.putmask, mask, [1, 2, 3])
    check(np.place, mask, [1, 2, 3, 4, 5, 6, 7])
    check(np.place, mask, 9)
    check(lambda x: np.place(x, x < 0, np.arange(1000)))
    x = wr.from_array(DATA, chunks=chunks)
    with pytest.raises(TypeError, match="cast"):
        np.copyto(x, 1.5)
    with pytest.raises(ValueError, match="mask"):
        np.putmask(x, mask[0], 1)
    with pytest.raises(ValueError, match="vals"):
        np.place(x, mask, [])
    filled = np.zeros(3, "f4")
    np.copyto(filled, wr.arange(3), casting="unsafe", where=np.array([True, False, True]))
    assert filled.tolist() == [0, 0, 2]
    with pytest.raises(TypeError, match="dst"):
        wr.copyto([1, 2], wr.ones(2))
    with pytest.raises(TypeError, match="Windrow"):
        wr.place(np.ones(3), mask, [1])


def test_resize():
    for chunks in CHUNKS:
        x = wr.from_array(DATA, chunks=chunks)
        for shape in ((7, 9), 5, (1000,), (0, 3), ()):
            same(np.resize(x, shape), np.resize(DATA, shape))
    same(wr.resize(wr.zeros(0), (2, 2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="resize"):
        wr.resize(wr.ones(2), -1)


@pytest.mark.parametrize("chunks", [-1, 3, ((1, 9, 2),)])
@pytest.mark.parametrize("trim", ["fb", "f", "b"])
def test_trim_zeros(trim, chunks):
    for line in ([0, 0, 1, 2, 0, 3, 0, 0, 0, 0, 0, 0], [0] * 12, [1] * 12, [0] * 11 + [1.5]):
        found = np.trim_zeros(wr.from_array(np.array(line), chunks=chunks), trim)
        np.testing.assert_array_equal(found.compute(), np.trim_zeros(np.array(line), trim))
    table = np.zeros((6, 7))
    table[2, 3], table[4, 1] = 1, 2
    x = wr.from_array(table, chunks=2)
    for axis in (None, 0, -1, (0, 1)):
        np.testing.assert_array_equal(wr.trim_zeros(x, trim, axis).compute(), np.trim_zeros(table, trim, axis))
    with pytest.raises(ValueError, match="trim"):
        wr.trim_zeros(x, "x")


@pytest.mark.parametrize("axis", [None, 0, (0, 2), (), -2])
def test_trim_zeros_of_nothing(axis):
    for shape in ((3, 0, 2), (0, 4, 0)):
        empty = np.zeros(shape)
        assert wr.trim_zeros(wr.zeros(shape, chunks=2), axis=axis).shape == np.trim_zeros(empty, axis=axis).shape


def test_kinds_of_numbers():
    z = np.array([1 + 0j, 1j, -2, 3 + 1e-20j])
    x, infinite = wr.from_array(z, chunks=3), np.array([1.0, np.inf, -np.inf, np.nan])
    for name in ("isreal", "iscomplex"):
        for data in (z, infinite, DATA[0, 0], np.array(["a", ""]), np.zeros(2, "M8[s]"), np.zeros(2, "m8[s]")):
            same(getattr(np, name)(wr.from_array(data, chunks=3)), getattr(np, name)(data))
    assert np.iscomplexobj(x)
    assert not np.isrealobj(x)
    assert np.isrealobj(wr.ones(2))
    same(np.real_if_close(x), np.real_if_close(z))
    same(np.real_if_close(x[2:]), np.real_if_close(z[2:]))
    same(wr.real_if_close(wr.ones(2)), np.ones(2))
    for name in ("isposinf", "isneginf"):
        for data in (infinite, DATA[0, 0], DATA[0, 0] > 0):
            same(getattr(np, name)(wr.from_array(data, chunks=3)), getattr(np, name)(data))
        with pytest.raises(TypeError, match=name):
            getattr(wr, name)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(np.fix(wr.from_array(infinite, chunks=3) * 1.5), np.trunc(infinite * 1.5))


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_packing_bits(axis, order):
    for data in (DATA > 0, (DATA % 3).astype("u1"), DATA[:0] > 0):
        for chunks in CHUNKS:
            if not data.size and chunks == CHUNKS[2]:
                continue
            packed = np.packbits(wr.from_array(data, chunks=chunks), axis, order)
            expected = np.packbits(data, axis, order)
            same(packed, expected)
            for count in (None, 3, -3, 70, 0):
                if data.size or count is None:
                    same(np.unpackbits(packed, axis, count, order), np.unpackbits(expected, axis, count, order))
    with pytest.raises(TypeError, match="packbits"):
        wr.packbits(wr.ones(3))
    with pytest.raises(ValueError, match="bitorder"):
        wr.unpackbits(wr.zeros(3, dtype="u1"), bitorder="no")


@given(
    st.integers(0, 2**32),
    st.lists(st.integers(1, 12), min_size=1, max_size=4),
    st.lists(st.integers(-5, 45), max_size=4),
)
def test_parts_put_together_again(seed, sizes, cuts):
    data = np.random.default_rng(seed).integers(-5, 5, (sum(sizes), 3))
    x = wr.from_array(data, chunks=(tuple(sizes), 2))
    same(wr.array_split(x, cuts), np.array_split(data, cuts))
    borders = sorted(abs(c) for c in cuts)
    same(wr.concatenate(wr.split(x, borders)), data)
    same(wr.packbits(x > 0, 0), np.packbits(data > 0, 0))
    wanted = data.copy()
    np.place(wanted, wanted > 0, [7, 8, 9])
    wr.place(x, x > 0, [7, 8, 9])
    same(x, wanted)
