"""Dtypes and shapes as NumPy has them: byte order, arrays without axes, arrays without elements, unsigned integers."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import windrow as wr
from support import arrays

BIG = np.array([3.0, 1.0, np.nan, np.inf], ">f8")
WHOLE = np.array([3, 1, 2, 1], ">i4")
MATRIX = np.array([[2.0, 1.0], [0.0, 3.0]], ">f8")


def lazy(a, chunks=2):
    return wr.from_array(np.array(a), chunks=chunks if np.ndim(a) else -1)


same = partial(arrays.same, atol=1.5e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, a, i: xp.nan_to_num(a),
        lambda xp, a, i: xp.nan_to_num(a.astype(">c16")),
        lambda xp, a, i: xp.insert(a[:2], 1, 5),
        lambda xp, a, i: xp.insert(a[:2], [0, 1], 5),
        lambda xp, a, i: xp.setdiff1d(i, [1]),
        lambda xp, a, i: xp.setdiff1d(i, [1], assume_unique=True),
        lambda xp, a, i: xp.setdiff1d(i.astype("i2"), [1.5]),
        lambda xp, a, i: xp.setxor1d(i, [1]),
        lambda xp, a, i: xp.cumsum(i, dtype=">f8"),
        lambda xp, a, i: xp.cumprod(i, dtype=">i8"),
        lambda xp, a, i: xp.nancumsum(a[:3], dtype=">f4"),
        lambda xp, a, i: xp.hstack([a[:2], i], dtype=">f4"),
        lambda xp, a, i: xp.vstack([a, i], dtype=">f4"),
    ],
)
def test_byte_order(call):
    same(call(wr, lazy(BIG), lazy(WHOLE)), call(np, BIG, WHOLE))


@pytest.mark.parametrize("axis", [0, 1, (0, 1), None])
@pytest.mark.parametrize("q", [30, [30, 60], np.float32(30)], ids=str)
@pytest.mark.parametrize("name", ["percentile", "nanpercentile"])
@pytest.mark.parametrize("length", [6, 600])
def test_byte_order_of_percentiles(name, q, axis, length):
    a = np.random.default_rng(0).random((length, 2)).astype(">f4")
    x = wr.from_array(a, chunks=(length // 2, 1))
    for method in ("lower", "linear"):
        for keepdims in (False, True):
            asked = {"axis": axis, "method": method, "keepdims": keepdims}
            found, expected = getattr(wr, name)(x, q, **asked), getattr(np, name)(a, q, **asked)
            assert (found.dtype, found.compute().dtype) == (expected.dtype, expected.dtype)
            same(found, expected)
    if axis in (0, 1) and name == "percentile":
        asked = {"axis": axis, "method": "inverted_cdf", "weights": np.arange(1, a.shape[axis] + 1)}
        found, expected = getattr(wr, name)(x, q, **asked), getattr(np, name)(a, q, **asked)
        assert found.compute().dtype == expected.dtype
        same(found, expected)


@pytest.mark.parametrize("name", ["percentile", "nanpercentile"])
def test_byte_order_of_percentiles_of_long_lines(name):
    a = np.random.default_rng(0).random((70_000, 2)).astype(">f4")
    found, expected = getattr(wr, name)(wr.from_array(a, (35_000, 1)), 30, axis=0), getattr(np, name)(a, 30, axis=0)
    assert found.dtype == expected.dtype
    same(found, expected)


@pytest.mark.parametrize("name", ["inv", "det", "svd", "qr", "pinv", "slogdet", "cond", "matrix_rank"])
def test_linear_algebra_answers_in_native_byte_order(name):
    found, expected = getattr(wr.linalg, name)(lazy(MATRIX)), getattr(np.linalg, name)(MATRIX)
    found = found if isinstance(found, tuple) else (found,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == np.asarray(theirs).dtype
        assert np.asarray(ours.compute()).dtype == ours.dtype


REDUCED = ["sum", "prod", "max", "min", "any", "all", "ptp", "nansum", "nanmax", "nanmin", "nanmean", "nanstd"]
TAKEN = ["argmax", "argmin", "nanargmax", "cumsum", "cumprod", "nancumsum", "argsort", "squeeze", "count_nonzero"]


@pytest.mark.parametrize("name", [*REDUCED, *TAKEN])
@pytest.mark.parametrize("axis", [0, -1])
def test_the_axis_of_what_has_none(name, axis):
    a = np.array(5.0)
    same(getattr(wr, name)(lazy(a), axis=axis), getattr(np, name)(a, axis=axis))
    with pytest.raises(np.exceptions.AxisError):
        getattr(wr, name)(lazy(a), axis=1)


def test_elements_of_what_has_no_axes():
    a = np.array(5.0)
    for axis in (0, -1):
        same(wr.repeat(lazy(a), 2, axis=axis), np.repeat(a, 2, axis=axis))
        same(wr.take(lazy(a), [0, 0], axis=axis), np.take(a, [0, 0], axis=axis))
        same(wr.argpartition(lazy(a), 0, axis=axis), np.argpartition(a, 0, axis=axis))
    same(wr.argsort(lazy(a)), np.argsort(a))
    for name in ("mean", "var", "sort"):
        with pytest.raises(np.exceptions.AxisError):
            getattr(wr, name)(lazy(a), axis=0)
    with pytest.raises(TypeError):
        wr.argmax(lazy(a), axis=())


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3), (0,)])
@pytest.mark.parametrize("axis", [0, -1])
def test_distinct_slices_without_elements(shape, axis):
    a = np.ones(shape)
    same(wr.unique(lazy(a), axis=axis), np.unique(a, axis=axis))
    options = {"return_index": True, "return_inverse": True, "return_counts": True, "axis": axis}
    same(wr.unique(lazy(a), **options), np.unique(a, **options))


@pytest.mark.parametrize("dtype", [">u8", "u8", ">u2", ">i8", "?"])
def test_unsigned_integers_are_counted(dtype):
    a = np.array([1, 0, 1, 1]).astype(dtype)
    same(wr.bincount(lazy(a)), np.bincount(a))
    same(wr.bincount(lazy(a), lazy(a)), np.bincount(a, a))
    with pytest.raises(ValueError, match="bincount: argument 'x'"):
        wr.bincount(lazy(np.array([2**63, 1], "u8"))).compute()


@pytest.mark.parametrize("name", ["sum", "mean", "nansum"])
@pytest.mark.parametrize("dtype", [None, "f4", "i8", "m8"])
def test_times_stay_times(name, dtype):
    a = np.arange(6).astype("m8[s]").reshape(2, 3)
    for axis in (None, 0):
        found = getattr(wr, name)(lazy(a), axis=axis, dtype=dtype)
        expected = np.asarray(getattr(np, name)(a, axis=axis, dtype=dtype))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.compute(), expected)


def test_dtypes_that_libraries_registered_are_refused():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    own, x = np.ones(6, bfloat16), wr.arange(6.0, chunks=3)
    record = np.dtype([("a", "f4"), ("b", bfloat16, 2)])
    for make in (
        lambda: wr.from_array(own),
        lambda: wr.asarray([1, 2], bfloat16),
        lambda: wr.zeros(3, bfloat16),
        lambda: wr.zeros(3, record),
        lambda: x.astype(bfloat16),
        lambda: x.view(bfloat16),
        lambda: x + own,
        lambda: x + own[0],
        lambda: np.add(own, x),
        lambda: wr.map_blocks(lambda block: block.astype(bfloat16), x),
        lambda: x.sum(dtype=bfloat16),
        lambda: wr.from_delayed(wr.delayed(np.ones)(6, bfloat16), (6,), bfloat16),
    ):
        with pytest.raises(wr.DTypeError, match=r"bfloat16.*; expected a dtype of NumPy's own; astype\('f4'\)"):
            make()
    assert wr.from_array(own.astype("f4")).sum() == 6
