"""The array API standard: the namespace, dtypes and their promotion, devices, signatures, creation."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]


def test_info():
    info = wr.__array_namespace_info__()
    assert wr.__array_api_version__ == "2025.12"
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}
    assert (info.default_device(), info.devices()) == ("cpu", ("cpu",))
    assert info.default_dtypes(device="cpu")["integral"] == np.int64
    everything = info.dtypes()
    assert len(everything) == 13
    assert all(getattr(wr, name) == dtype for name, dtype in everything.items())
    assert list(info.dtypes(kind=("bool", "complex floating"))) == ["bool", "complex64", "complex128"]
    assert set(info.dtypes(kind="numeric")) == set(everything) - {"bool"}
    with pytest.raises(wr.ArgumentError, match=r"dtypes.*'kind' is 'float'"):
        info.dtypes(kind="float")
    with pytest.raises(wr.ArgumentError, match=r"dtypes.*'device' is 'gpu'"):
        info.dtypes(device="gpu")


def test_as_many_axes_as_are_said():
    shape = (2, 1) * 5 + (1,) * 22
    x = wr.arange(32).reshape(shape)
    assert x.ndim == wr.__array_namespace_info__().capabilities()["max dimensions"]
    assert int((x.rechunk(1) + x).sum()) == 992
    np.testing.assert_array_equal(x.T.rechunk(1).compute(), np.arange(32).reshape(shape).T)


def test_an_array_knows_its_namespace_and_device():
    x = wr.ones(3)
    assert x.__array_namespace__() is wr
    assert x.__array_namespace__(api_version="2023.12") is wr
    with pytest.raises(wr.ArgumentError, match=r"'api_version' is '1999'"):
        x.__array_namespace__(api_version="1999")
    assert x.device == "cpu"
    assert x.to_device("cpu") is x
    with pytest.raises(wr.ArgumentError, match=r"to_device.*'gpu'.*'cpu'"):
        x.to_device("gpu")
    with pytest.raises(wr.ArgumentError, match=r"to_device.*'stream'"):
        x.to_device("cpu", stream=1)


@given(st.lists(st.sampled_from(DTYPES), min_size=1, max_size=4), st.sampled_from([None, True, 3, 2.5, 1j]))
def test_promotion_is_numpys(names, scalar):
    arrays = [wr.ones(2, dtype=n) for n in names]
    plain = [np.ones(2, n) for n in names]
    extra = [] if scalar is None else [scalar]
    assert wr.result_type(*arrays, *extra) == np.result_type(*plain, *extra)
    assert wr.result_type(arrays[0], *names) == np.result_type(plain[0], *names)
    assert wr.promote_types(names[0], names[-1]) == np.promote_types(names[0], names[-1])
    for rule in ("safe", "same_kind"):
        expected = np.can_cast(np.dtype(names[0]), names[-1], rule)
        assert wr.can_cast(arrays[0], names[-1], rule) == wr.can_cast(names[0], names[-1], rule) == expected
    kinds = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric")
    for kind in (*kinds, kinds[:2], wr.float32):
        assert wr.isdtype(np.dtype(names[0]), kind) == np.isdtype(np.dtype(names[0]), kind)


def test_dtype_functions_by_numpys_names():
    x: Any = wr.ones(3, dtype="f4")
    assert np.result_type(x, 1.5) == np.float32
    assert np.can_cast(x.dtype, "f8")
    assert wr.finfo(x.dtype).bits == 32
    assert wr.iinfo("i2").max == wr.iinfo(x.astype("i2")).max == wr.iinfo(np.zeros(3, "i2")).max == 32767
    with pytest.raises(ValueError, match="integer data type"):
        wr.iinfo(x)
    with pytest.raises(wr.DTypeError, match="result_type"):
        wr.result_type("M8[D]", "f8")
    with pytest.raises(wr.ArgumentError, match=r"isdtype.*'kind'"):
        wr.isdtype(x.dtype, "float")
    with pytest.raises(wr.ArgumentError, match=r"can_cast.*'casting'"):
        wr.can_cast("f4", "f8", "nonsense")


def test_astype():
    x = wr.arange(3)
    assert wr.astype(x, "f4", copy=False, device="cpu").dtype == np.float32
    assert x.astype("i4", casting="same_kind").dtype == np.int32
    with pytest.raises(wr.DTypeError, match=r"astype.*int64.*'safe'"):
        x.astype("i4", casting="safe")
    with pytest.raises(wr.ArgumentError, match=r"astype.*'device'"):
        wr.astype(x, "i4", device="gpu")
    y = x.astype(x.dtype)
    y += 1
    assert x.compute().tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "full", "eye", "arange", "linspace", "asarray"])
def test_creation_takes_a_device(name):
    make: Any = getattr(wr, name)
    more = {"full": (3,), "linspace": (9, 4)}.get(name, ())
    assert make(3, *more, device="cpu").device == "cpu"
    assert make(3, *more, device=None, dtype="f4").dtype == np.float32
    with pytest.raises(wr.ArgumentError, match=f"{name}.*'device' is 'gpu'"):
        make(3, *more, device="gpu")
    if name in ("zeros", "ones", "empty"):
        assert make(3).dtype == np.float64
        like: Any = getattr(wr, f"{name}_like")
        x = wr.arange(5, chunks=2)
        assert (like(x, device="cpu").chunks, like(x, dtype=None).dtype) == (x.chunks, np.int64)
        with pytest.raises(wr.ArgumentError, match=f"{name}_like.*'device'"):
            like(x, device="gpu")


@pytest.mark.parametrize("chunks", [-1, 2])
def test_full_of_values_that_broadcast(chunks):
    values = np.arange(3)
    for value in (values, wr.from_array(values), wr.from_array(values).sum()):
        found = wr.full((4, 3), value, chunks=chunks)
        np.testing.assert_array_equal(found.compute(), np.full((4, 3), np.asarray(value)))
    like = wr.full_like(wr.ones((4, 3), chunks=chunks), values)
    assert (like.dtype, like.numblocks) == (np.float64, wr.ones((4, 3), chunks=chunks).numblocks)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 7])
def test_linspace_between_arrays(num, endpoint):
    first, last = np.array([0.0, 1.0, -2.5]), np.array([[4.0], [5.0]])
    for axis in (0, -1, 1):
        expected, step = np.linspace(first, last, num, endpoint=endpoint, retstep=True, axis=axis)
        lazy = np.linspace(wr.from_array(first, chunks=2), last, num, endpoint=endpoint, retstep=True, axis=axis)
        np.testing.assert_allclose(lazy[0].compute(), expected)
        np.testing.assert_allclose(np.asarray(lazy[1]), step)
    x = wr.arange(10.0)
    np.testing.assert_allclose(wr.linspace(x.min(), x.max(), 4).compute(), [0, 3, 6, 9])
    assert wr.linspace(0, 8, 5, retstep=True)[1] == 2


def test_ranges_of_lazy_numbers():
    x = wr.arange(5)
    np.testing.assert_array_equal(wr.arange(x.max()).compute(), np.arange(4))
    np.testing.assert_array_equal(wr.arange(x.min(), x.sum(), 3).compute(), np.arange(0, 10, 3))


def test_asarray():
    data = np.arange(4.0)
    x = wr.asarray(data)
    assert wr.asarray(x) is x
    assert wr.asarray(x, dtype="f8") is x
    assert wr.asarray(x, copy=True) is not x
    shot = wr.asarray(data, copy=True)
    data[0] = 9
    assert shot.compute().tolist() == [0, 1, 2, 3]
    for call in (
        lambda: wr.asarray([1, 2], copy=False),
        lambda: wr.asarray(3.0, copy=False),
        lambda: wr.asarray(x, dtype="f4", copy=False),
    ):
        with pytest.raises(ValueError, match=r"asarray: argument 'copy' is False"):
            call()
    assert wr.asarray([1, 2], dtype="f4").dtype == np.float32
    assert wr.asarray(2**63).dtype == np.uint64
    with pytest.raises(OverflowError):
        wr.asarray([300], dtype="u1")


def test_sequences_with_lazy_arrays_in_them():
    x = wr.arange(6, chunks=4)
    found = wr.asarray([[x.min(), 7], [x.max(), x.sum()]])
    assert found.compute().tolist() == [[0, 7], [5, 15]]
    assert wr.asarray([x, x * 2], dtype="f4").shape == (2, 6)


@pytest.mark.parametrize("name", ["add", "sin", "where", "sum", "var", "clip", "reshape", "unstack", "astype"])
def test_signatures_can_be_looked_at(name):
    names = list(inspect.signature(getattr(wr, name)).parameters)
    expected: dict[str, list[str]] = {
        "add": ["x1", "x2", "out"],
        "sin": ["x", "out"],
        "where": ["condition", "x", "y"],
        "sum": ["a", "axis", "dtype", "out", "keepdims", "initial", "where"],
        "var": ["a", "axis", "dtype", "out", "ddof", "keepdims", "where", "mean", "correction"],
        "clip": ["a", "min", "max", "out"],
        "reshape": ["a", "shape", "order", "copy"],
        "unstack": ["x", "axis"],
        "astype": ["x", "dtype", "copy", "device"],
    }
    assert names[: len(expected[name])] == expected[name]


@pytest.mark.parametrize("chunks", [-1, ((2, 1), (1, 3))])
def test_shapes_and_joins(chunks):
    data = np.arange(12).reshape(3, 4)
    x = wr.from_array(data, chunks=chunks)
    for axis in (0, 1, -1):
        for got, expected in zip(wr.unstack(x, axis=axis), np.moveaxis(data, axis, 0), strict=True):
            np.testing.assert_array_equal(got.compute(), expected)
    with pytest.raises(wr.AxisError, match="unstack"):
        wr.unstack(x, axis=2)
    assert wr.broadcast_shapes((3, 1), 4, ()) == (3, 4)
    with pytest.raises(ValueError, match="broadcast_shapes"):
        wr.broadcast_shapes((3,), (4,))
    for got, expected in [
        (wr.concat([x, x[:, :2]], axis=None), np.concatenate([data, data[:, :2]], axis=None)),
        (wr.concat([x, x], axis=1, dtype="f4"), np.concatenate([data, data], axis=1, dtype="f4")),
        (np.concatenate([x, data]), np.concatenate([data, data])),
        (wr.stack([x, x], axis=-1, dtype="f8"), np.stack([data, data], axis=-1, dtype="f8")),
        (wr.repeat(x, wr.asarray([1, 0, 2]), axis=0), np.repeat(data, [1, 0, 2], axis=0)),
        (wr.repeat(x, 2), np.repeat(data, 2)),
        (wr.tile(x, (2, 1, 3)), np.tile(data, (2, 1, 3))),
        (wr.roll(x, (1, -2), axis=(0, 1)), np.roll(data, (1, -2), axis=(0, 1))),
        (wr.roll(x, 5), np.roll(data, 5)),
        (wr.roll(x, 1, axis=(0, 1)), np.roll(data, 1, axis=(0, 1))),
        (wr.expand_dims(x, axis=(0, -1)), np.expand_dims(data, axis=(0, -1))),
        (wr.reshape(x, (2, 6), copy=True), data.reshape(2, 6)),
        (wr.reshape(x, (2, 6), order="F"), data.reshape((2, 6), order="F")),
        (wr.reshape(x, -1, "F"), data.reshape(-1, order="F")),
        (x.ravel("F"), data.ravel("F")),
        (x.reshape(4, 3, order="F"), data.reshape(4, 3, order="F")),
        (wr.permute_dims(x, (1, 0)), data.T),
        (x.mT, data.T),
    ]:
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got.compute(), expected)
    with pytest.raises(wr.ShapeError, match=r"repeat.*'repeats'"):
        wr.repeat(x, [1, -1, 2], axis=0)
    with pytest.raises(wr.ArgumentError, match=r"reshape.*'order'"):
        wr.reshape(x, -1, "Z")


def test_sizes_that_depend_on_data():
    data = np.arange(10)
    x = wr.from_array(data, chunks=4)
    assert x[x > 6].shape == (3,)
    x = wr.arange(10, chunks=4)
    unknown = x[x > 6]
    assert unknown.shape == (None,)
    assert unknown.size is None
    assert len(unknown) == 3
    assert (unknown.shape, unknown.size) == ((3,), 3)
    assert float(x[x > 8]) == 9


def test_what_arrays_know_by_numpys_names():
    x: Any = wr.ones((2, 3), chunks=2)
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, -1)) == ((2, 3), 2, 6, 3)
    assert (wr.shape([[1]]), wr.ndim(3), wr.size([1, 2])) == ((1, 1), 0, 2)
    assert (wr.isscalar(2), wr.isscalar(x), wr.iterable(x), wr.iterable(wr.ones(())), wr.iterable(3)) == (
        True,
        False,
        True,
        False,
        False,
    )
    assert np.common_type(x, wr.ones(2, dtype="c8")) is np.complex128
    assert np.min_scalar_type(x) == np.float64
    with pytest.raises(wr.DTypeError, match="common_type"):
        wr.common_type(wr.full(2, "a"))


def test_arrays_by_numpys_names():
    x: Any = wr.arange(3)
    for got, expected in [
        (wr.array(x, ndmin=3), np.array(np.arange(3), ndmin=3)),
        (np.array([1, 2], like=x), np.array([1, 2])),
        (np.zeros(3, like=x), np.zeros(3)),
        (np.copy(x), np.arange(3)),
        (wr.ascontiguousarray(2.5), np.ascontiguousarray(2.5)),
        (wr.array([x.max(), 7], dtype="f4"), np.array([2, 7], "f4")),
    ]:
        assert isinstance(got, wr.Array)
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(got.compute(), expected)
