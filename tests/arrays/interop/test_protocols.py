"""NumPy's protocols, DLPack, Arrow's capsules, and Python's operators in place."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.arrays import same

DATA = np.arange(12.0).reshape(3, 4) - 3
MASK = DATA % 2 == 0
GRIDS = [-1, ((2, 1), (1, 3))]


def lazy(data, chunks=((2, 1), (1, 3))) -> Any:
    return wr.from_array(data, chunks=chunks)


# ---------------------------------------------------------------------- ufuncs


@pytest.mark.parametrize("chunks", GRIDS)
def test_ufuncs_with_options(chunks):
    x = lazy(DATA, chunks)
    same(np.add(x, 1, dtype="f4"), np.add(DATA, 1, dtype="f4"))
    same(np.multiply(wr.arange(4), 2, dtype="f8"), np.multiply(np.arange(4), 2, dtype="f8"))
    same(np.square(x, where=lazy(MASK, chunks), out=wr.zeros((3, 4))), np.where(MASK, DATA * DATA, 0))
    same(np.negative(x, where=MASK), np.where(MASK, -DATA, 0))
    same(np.add(x, DATA[0], where=lazy(MASK, chunks), out=x.copy()), np.where(MASK, DATA + DATA[0], DATA))
    parts = np.divmod(x, 2, dtype="f4")
    for got, expected in zip(parts, np.divmod(DATA, 2, dtype="f4"), strict=True):
        same(got, expected)
    with pytest.raises(wr.DTypeError, match=r"add: argument 'dtype' is dtype\('int64'\)"):
        np.add(x, 1, dtype="i8")
    with pytest.raises(wr.DTypeError, match=r"add: argument 'where'"):
        np.add(x, 1, where=DATA)


@pytest.mark.parametrize("chunks", GRIDS)
def test_out(chunks):
    x, out = lazy(DATA, chunks), wr.zeros((3, 4))
    assert np.add(x, 1, out=out) is out
    same(out, DATA + 1)
    assert wr.exp(x, out) is out
    same(out, np.exp(DATA))
    plain = np.zeros((3, 4), "f4")
    assert np.add(x, 1, out=plain) is plain
    np.testing.assert_array_equal(plain, (DATA + 1).astype("f4"))
    wide = wr.zeros((2, 3, 4))
    np.add(x, 1, out=wide)
    same(wide, np.broadcast_to(DATA + 1, (2, 3, 4)))
    fraction, whole = wr.zeros((3, 4)), np.zeros((3, 4))
    np.modf(x / 2, out=(fraction, whole))
    same(fraction, np.modf(DATA / 2)[0])
    np.testing.assert_array_equal(whole, np.modf(DATA / 2)[1])
    for function, axis in ((np.sum, 0), (np.max, 1), (np.var, 0), (np.mean, 1), (np.prod, 0)):
        shape = function(DATA, axis=axis).shape
        out = wr.zeros(shape)
        assert function(x, axis=axis, out=out) is out
        np.testing.assert_allclose(out.compute(), function(DATA, axis=axis))
    with pytest.raises(wr.DTypeError, match=r"add: the result has dtype float64.*int64"):
        np.add(x, 1, out=wr.zeros((3, 4), dtype=int))
    with pytest.raises(wr.ShapeError, match=r"add.*'out' is \(3,\)"):
        np.add(x, 1, out=wr.zeros(3))
    with pytest.raises(wr.ArgumentError, match=r"add.*'out' is 'list'"):
        wr.add(x, 1, out=[1])
    with pytest.raises(wr.ArgumentError, match=r"modf.*'out'.*tuple of 2"):
        wr.modf(x, out=wr.zeros((3, 4)))


@pytest.mark.parametrize("chunks", GRIDS)
@pytest.mark.filterwarnings("ignore:elements of a NumPy array are set")
def test_ufuncs_of_arrays_of_numpy_stay_lazy(chunks):
    x = lazy(DATA, chunks)
    for function in (operator.add, operator.sub, operator.mul, operator.truediv, operator.gt, operator.eq):
        same(function(DATA, x + 9), function(DATA, DATA + 9))
    same(DATA @ x.T, DATA @ DATA.T)
    same(np.float32(2) * x, np.float32(2) * DATA)
    total = np.zeros(4)
    total += x.sum(axis=0)
    np.testing.assert_array_equal(total, DATA.sum(axis=0))


REDUCTIONS = (
    np.add, np.multiply, np.minimum, np.maximum, np.logical_and, np.logical_or, np.logical_xor, np.bitwise_and,
    np.bitwise_or, np.bitwise_xor, np.fmax, np.fmin, np.gcd, np.lcm, np.hypot, np.logaddexp, np.logaddexp2,
)  # fmt: skip


@pytest.mark.parametrize("ufunc", REDUCTIONS, ids=lambda f: f.__name__)
def test_reduce(ufunc):
    floats = ufunc in (np.hypot, np.logaddexp, np.logaddexp2)
    data = np.random.default_rng(1).integers(1, 9, (5, 6, 4)).astype("f8" if floats else "i8")
    x = lazy(data, ((3, 2), (1, 4, 1), 3))
    for axis in (0, 1, -1, (0, 2), None):
        for keepdims in (False, True):
            if ufunc is np.lcm and axis in ((0, 2), None):
                continue  # NumPy doesn't know that the order of axes says nothing here
            got = ufunc.reduce(x, axis=axis, keepdims=keepdims)
            expected = ufunc.reduce(data, axis=axis, keepdims=keepdims)
            assert got.shape == np.shape(expected)
            assert got.dtype == np.asarray(expected).dtype
            np.testing.assert_allclose(got.compute(), expected)
    same(ufunc.reduce(x[:0].sum(axis=1), axis=1), ufunc.reduce(data[:0].sum(axis=1), axis=1))
    keep = data[:, :, 0] > 4
    first = data.max() if ufunc in (np.minimum, np.fmin) else 0
    got = ufunc.reduce(x[:, :, 1], axis=0, where=keep, initial=first)
    np.testing.assert_allclose(got.compute(), ufunc.reduce(data[:, :, 1], axis=0, where=keep, initial=first))
    if ufunc in (np.logical_and, np.logical_or):
        same(ufunc.reduce(x[:, :, 1], axis=0, where=keep), ufunc.reduce(data[:, :, 1], axis=0, where=keep))


def test_reduce_computes_in_a_dtype():
    data = np.array([[3, 5], [250, 1]])
    same(np.bitwise_or.reduce(lazy(data, 1), dtype="u1"), np.bitwise_or.reduce(data, dtype="u1"))
    same(np.hypot.reduce(lazy(data, 1), axis=1, dtype="f4"), np.hypot.reduce(data, axis=1, dtype="f4"))
    with pytest.raises(wr.DTypeError, match=r"logical_or\.reduce.*'dtype'"):
        np.logical_or.reduce(lazy(data, 1), dtype=int)


def test_methods_of_ufuncs():
    x, y = lazy(DATA), wr.arange(3, chunks=2)
    same(np.add.outer(x, y), np.add.outer(DATA, np.arange(3)))
    same(wr.multiply.outer(y, 2.5), np.multiply.outer(np.arange(3), 2.5))
    same(np.add.reduce(x, dtype="f4"), np.add.reduce(DATA, dtype="f4"))
    same(np.add.accumulate(x, axis=1), np.add.accumulate(DATA, axis=1))
    same(wr.maximum.accumulate(x), np.maximum.accumulate(DATA))
    with pytest.raises(wr.ArgumentError, match=r"subtract\.reduce.*map_blocks"):
        np.subtract.reduce(x)
    same(np.add.reduceat(x, [0, 1]), np.add.reduceat(DATA, [0, 1]))


def test_ufuncs_of_other_packages_go_over_chunks():
    special = pytest.importorskip("scipy.special")
    x = lazy(DATA)
    same(special.expit(x), special.expit(DATA))
    same(special.xlogy(2.0, x * x), special.xlogy(2.0, DATA * DATA))


# ---------------------------------------------------------------------- reductions


@given(st.data())
def test_reductions_with_masks(data):
    shape = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    chunks = (data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    values, keep = (
        rng.integers(-5, 5, shape).astype(data.draw(st.sampled_from(["i4", "f8", "f4"]))),
        rng.random(shape) < 0.6,
    )
    axis, keepdims = data.draw(st.sampled_from([None, 0, 1, (0, 1)])), data.draw(st.booleans())
    x, mask = lazy(values, chunks), lazy(keep, chunks)
    for name, more in (
        ("sum", {"initial": 3}),
        ("prod", {}),
        ("min", {"initial": 9}),
        ("max", {"initial": -9}),
        ("any", {}),
        ("all", {}),
    ):
        options: dict[str, Any] = {"axis": axis, "keepdims": keepdims, **more}
        expected = getattr(np, name)(values, where=keep, **options)
        for got in (getattr(np, name)(x, where=mask, **options), getattr(x, name)(where=keep, **options)):
            assert (got.dtype, got.shape) == (np.asarray(expected).dtype, np.shape(expected))
            np.testing.assert_allclose(got.compute(), expected, rtol=1e-5)
    if keep.any(axis=axis).all():
        for name in ("mean", "var", "std"):
            expected = getattr(np, name)(values, where=keep, axis=axis, keepdims=keepdims)
            got = getattr(np, name)(x, where=mask, axis=axis, keepdims=keepdims)
            assert (got.dtype, got.shape) == (np.asarray(expected).dtype, np.shape(expected))
            np.testing.assert_allclose(got.compute(), expected, rtol=1e-4, atol=1e-6)


def test_options_of_reductions():
    x = lazy(DATA)
    same(np.sum(x, 0, "f4"), DATA.sum(0, "f4"))
    same(x.sum(1, None, None, True, 5.0), DATA.sum(1, None, None, True, 5.0))
    same(wr.max(wr.zeros((2, 0)), axis=1, initial=-1.0), np.max(np.zeros((2, 0)), axis=1, initial=-1.0))
    for correction in (0, 1, 1.5):
        np.testing.assert_allclose(wr.var(x, correction=correction).compute(), np.var(DATA, ddof=correction))
    np.testing.assert_allclose(np.std(x, ddof=1, dtype="f4").compute(), DATA.std(ddof=1, dtype="f4"), rtol=1e-6)
    mean = DATA.mean(axis=0, keepdims=True)
    np.testing.assert_allclose(np.var(x, axis=0, mean=mean).compute(), DATA.var(axis=0))
    same(np.argmax(x, axis=1, keepdims=True), DATA.argmax(axis=1, keepdims=True))
    same(np.count_nonzero(x, axis=0, keepdims=True), np.count_nonzero(DATA, axis=0, keepdims=True))
    same(np.ptp(x, axis=0, keepdims=True), np.ptp(DATA, axis=0, keepdims=True))
    with pytest.raises(wr.ArgumentError, match=r"max.*'initial' is None"):
        np.max(x, where=MASK)
    with pytest.raises(wr.ShapeError, match=r"sum.*'where' is \(2, 3, 4\)"):
        np.sum(x, where=np.ones((2, 3, 4), bool))
    with pytest.raises(wr.ArgumentError, match=r"var.*ddof is 1"):
        wr.var(x, ddof=1, correction=2)


def test_elementwise_by_numpys_names():
    x = lazy(DATA)
    same(np.clip(x, 0, 4), np.clip(DATA, 0, 4))
    same(np.clip(x, a_min=0, a_max=None), np.clip(DATA, 0, None))
    same(x.clip(max=2), DATA.clip(max=2))
    same(np.round(a=x / 3, decimals=1), np.round(DATA / 3, 1))
    same(np.angle(x + 1j, deg=True), np.angle(DATA + 1j, deg=True))
    odd = np.array([np.nan, np.inf, -np.inf, 1.0])
    same(np.nan_to_num(lazy(odd, 3), nan=2.0, posinf=7.0), np.nan_to_num(odd, nan=2.0, posinf=7.0))
    both = np.stack([odd, odd[::-1]], axis=1).view(complex)[:, 0]
    same(np.nan_to_num(lazy(both, 3)), np.nan_to_num(both))
    assert (np.iscomplexobj(x), np.isrealobj(x)) == (False, True)
    target = np.zeros((3, 4))
    np.copyto(target, x, where=MASK)
    np.testing.assert_array_equal(target, np.where(MASK, DATA, 0))


# ---------------------------------------------------------------------- operators in place

IN_PLACE = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv,
    "%=": operator.imod, "**=": operator.ipow,
}  # fmt: skip


@pytest.mark.parametrize("symbol", IN_PLACE)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_operators_in_place(symbol, dtype):
    for other in (2, DATA[1].astype("f8"), lazy(DATA + 5)):
        plain = np.abs(DATA).astype(dtype)
        x = kept = lazy(plain.copy())
        before = x + 0
        expected = IN_PLACE[symbol](plain.copy(), np.asarray(other))
        x = IN_PLACE[symbol](x, other)
        assert x is kept
        same(x, expected)
        same(before, plain)


def test_operators_in_place_keep_shape_and_dtype():
    x: Any = wr.arange(4)
    with pytest.raises(wr.DTypeError, match=r"/=: the result has dtype float64.*int64.*x = x / y"):
        x /= 2
    with pytest.raises(wr.DTypeError, match=r"\+=.*complex128"):
        x += 1j
    with pytest.raises(wr.ShapeError, match=r"\*=: the result has shape \(3, 4\)"):
        x *= np.ones((3, 1))
    x <<= 2
    x |= 1
    x &= 13
    x ^= 4
    x >>= 1
    data = np.arange(4)
    np.testing.assert_array_equal(x.compute(), (((data << 2 | 1) & 13) ^ 4) >> 1)
    eye: Any = wr.eye(2)
    eye @= np.array([[1.0, 2.0], [3.0, 4.0]])
    same(eye, np.array([[1.0, 2.0], [3.0, 4.0]]))


# ---------------------------------------------------------------------- exchange


def test_dlpack():
    x = lazy(DATA)
    assert x.__dlpack_device__() == (1, 0)
    np.testing.assert_array_equal(np.from_dlpack(x), DATA)
    same(wr.from_dlpack(DATA), DATA)
    same(wr.from_dlpack(DATA, device="cpu", copy=True), DATA)
    same(wr.from_dlpack(x), DATA)
    for copy in (True, False, None):
        x.__dlpack__(copy=copy, max_version=(1, 0), dl_device=(1, 0))
    with pytest.raises(BufferError, match="dl_device"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(wr.ArgumentError, match="stream"):
        x.__dlpack__(stream=1)
    with pytest.raises(wr.ArgumentError, match=r"from_dlpack.*'x' is 'list'"):
        wr.from_dlpack([1])


def test_arrow_capsules():
    data = np.arange(10)
    x = wr.from_array(data, chunks=4)
    assert pa.array(x).to_pylist() == data.tolist()
    stream = pa.chunked_array(x)
    assert [len(c) for c in stream.chunks] == [4, 4, 2]
    assert stream.to_pylist() == data.tolist()
    assert pa.array(lazy(DATA)).to_numpy_ndarray().tolist() == DATA.tolist()


def test_arrays_of_arrow():
    data = np.arange(10)
    same(wr.asarray(pa.array(data)), data)
    pieces = wr.asarray(pa.chunked_array([data[:3], data[3:]]))
    same(pieces, data)
    assert pieces.chunks == ((3, 7),)
    same(wr.from_array(pa.array(data), chunks=4), data)
    same(wr.asarray(pa.array(["a", "bcd"])), np.array(["a", "bcd"]))
    same(wr.asarray(pa.array([True, False])), np.array([True, False]))
    same(wr.asarray(lazy(DATA).to_arrow()), DATA)
    same(wr.asarray(pa.chunked_array([], pa.float32())), np.array([], "f4"))
    same(wr.ones(2) + pa.array([1, 2]), np.array([2.0, 3.0]))
    with pytest.raises(wr.DTypeError, match=r"2 nulls"):
        wr.asarray(pa.array([1, None, None]))
    with pytest.raises(wr.ArgumentError, match=r"from_array.*Table"):
        wr.from_array(pa.table({"a": [1]}))


# ---------------------------------------------------------------------- single elements


@given(st.data())
def test_single_elements(data):
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    values = np.random.default_rng(0).random(shape)
    chunks = (data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4)))
    i, j = data.draw(st.integers(-shape[0], shape[0] - 1)), data.draw(st.integers(-shape[1], shape[1] - 1))
    x = wr.from_array(values, chunks=chunks)
    for lazily, plain in (
        (x, values),
        (x + 1, values + 1),
        (x.persist() * 2, values * 2),
        (x[::-1], values[::-1]),
        (wr.full(shape, 3), np.full(shape, 3)),
        (wr.concatenate([x, x])[shape[0] :], values),
        (wr.map_blocks(np.negative, x), -values),
    ):
        assert float(lazily[i, j]) == plain[i, j]
        assert float(lazily.T.reshape(-1)[i]) == plain.T.reshape(-1)[i]
        assert lazily[i, j].item() == plain[i, j]


def test_single_elements_of_files_are_read_again(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(4.0))
    x = wr.from_array(np.load(path, mmap_mode="r")) * 1
    assert float(x[2]) == 2
    np.save(path, np.arange(6.0))
    with pytest.raises(wr.SourceChanged):
        float(x[2])


@pytest.mark.parametrize("n", [5, 9001])
def test_what_an_operation_is_handed_is_taken_as_it_is_then(n):
    x = wr.zeros((2, n), chunks=(1, 4000))
    uses = [
        lambda w: x + w,
        lambda w: np.add(x, w),
        lambda w: wr.where(x == 0, w, x),
        lambda w: wr.concatenate([x[0], w]),
        lambda w: wr.stack([w, x[0]]),
        lambda w: wr.sum(w),
        lambda w: x @ w,
        lambda w: x[0] + SharesMemory(w),
        lambda w: wr.take(wr.arange(n, chunks=4000), w.astype(int)),
        lambda w: _set(wr.zeros(n, chunks=4000), slice(None), w),
        lambda w: _set(wr.zeros(n, chunks=4000), slice(None), SharesMemory(w)),
    ]
    for use in uses:
        buffer = np.arange(n) % 5.0
        expected = use(buffer.copy()).compute()
        found = use(buffer)
        buffer[:] = 3
        np.testing.assert_array_equal(found.compute(), expected)
    rows = wr.asarray([0, 0], chunks=1)[:, None]
    for key in (np.arange(n) % 3 == 0, np.arange(n)[::-1].copy()):
        found = [use(key) for use in (lambda k: x[0][k], lambda k: x[rows, k], lambda k: _set(x[0] + 0, k, 5))]
        expected = [use.compute() for use in found]
        key[:] = 0
        for one, value in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one.compute(), value)


def _set(x, key, value):
    x[key] = value
    return x


class SharesMemory:
    """Something like a data frame's column, that hands out its own memory."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values


def test_what_nobody_writes_is_not_copied():
    fixed = np.zeros(9001)
    fixed.flags.writeable = False
    assert (wr.sum(fixed)).expr.operands[0].op.data.array is fixed
    buffer = np.zeros(9001)
    assert wr.asarray(buffer).expr.op.data.array is buffer
