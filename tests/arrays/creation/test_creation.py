"""Making arrays, and random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import windrow as wr
from support.arrays import same


@pytest.mark.parametrize("chunks", ["auto", 2, -1])
def test_formulas(chunks):
    same(wr.zeros((3, 5), chunks=chunks), np.zeros((3, 5)))
    same(wr.ones(5, "i4", chunks=chunks), np.ones(5, "i4"))
    same(wr.full((3, 5), 7, chunks=chunks), np.full((3, 5), 7))
    same(wr.full((3, 5), np.float32(1.5), chunks=chunks), np.full((3, 5), np.float32(1.5)))
    same(wr.eye(5, chunks=chunks), np.eye(5))
    same(wr.eye(5, 7, 2, "i4", chunks=chunks), np.eye(5, 7, 2, "i4"))
    same(wr.eye(5, k=-3, chunks=chunks), np.eye(5, k=-3))
    same(wr.tri(5, 4, -1, chunks=chunks), np.tri(5, 4, -1))
    assert wr.empty((2, 3), "u1").compute().shape == (2, 3)
    same(wr.zeros((0, 3), chunks=chunks), np.zeros((0, 3)))
    same(wr.zeros(()), np.zeros(()))


ARANGE: list[Any] = [
    (5,),
    (2, 10),
    (2, 10, 3),
    (10, 2, -3),
    (5, 2),
    (0.0, 1.0, 0.1),
    (1, 2, 0.25),
    (np.float32(0), np.float32(3)),
]


@pytest.mark.parametrize("args", ARANGE)
def test_arange(args):
    reference: Any = np.arange
    for chunks in (-1, 3):
        same(wr.arange(*args, chunks=chunks), reference(*args))
    same(wr.arange(5, dtype="u1"), np.arange(5, dtype="u1"))
    same(wr.arange(0, 1, 0.1, "f4"), reference(0, 1, 0.1, "f4"))


def test_arange_whose_end_is_immeasurably_far_the_other_way():
    for arange in (np.arange, wr.arange):
        with pytest.raises(ValueError):
            arange(0.0, -1e300, 1e-300)


@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace_between_arrays_of_tiny_distance(endpoint):
    start, stop = np.array([0.0, 1e-323]), np.array([1e-323, 0.0])
    expected = np.linspace(start, stop, 7, endpoint)
    assert expected.any()
    same(wr.linspace(start, stop, 7, endpoint), expected)


@example(0.0, 5e-324, 3, False, 1)
@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.integers(0, 40), st.booleans(), st.integers(1, 9))
def test_linspace(start, stop, num, endpoint, chunks):
    expected = np.linspace(start, stop, num, endpoint)
    same(wr.linspace(start, stop, num, endpoint, chunks=chunks), expected)


def test_linspace_of_dtypes():
    same(wr.linspace(0, 10, 7, dtype=int), np.linspace(0, 10, 7, dtype=int))
    same(wr.linspace(0, 1j, 7), np.linspace(0, 1j, 7))


def test_like():
    x = wr.from_array(np.ones((4, 6), "f4"), chunks=(3, 2))
    for name in ("zeros_like", "ones_like"):
        made = getattr(wr, name)(x)
        assert made.chunks == x.chunks
        same(made, getattr(np, name)(np.ones((4, 6), "f4")))
        same(getattr(np, name)(x, dtype="i2"), np.full((4, 6), name == "ones_like", "i2"))
    same(wr.full_like(x, 3.7, "i4"), np.full((4, 6), 3, "i4"))
    assert wr.empty_like(x, shape=(3,)).shape == (3,)


def test_from_array_refers_and_copies():
    data = np.arange(10.0)
    x, y = wr.from_array(data, chunks=4), wr.from_array(data, chunks=4, copy=True)
    z = wr.ones(10) * data
    data[0] = 99
    assert x[0].compute() == 99
    assert y[0].compute() == 0
    assert z[0].compute() == 0
    assert wr.from_array(data).expr.token != wr.from_array(data).expr.token


class Stored:
    """Something with shape, dtype and slicing."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, key):
        assert all(isinstance(k, slice) for k in key)
        return self.array[key]


def test_from_array_of_many_kinds(tmp_path):
    data = np.arange(42).reshape(6, 7)
    for source in (
        data,
        data[::-1, ::2],
        np.asfortranarray(data),
        data.tolist(),
        Stored(data),
        data.astype(">i4"),
    ):
        same(wr.from_array(source, chunks=(4, 3)) + 0, np.asarray(getattr(source, "array", source)) + 0)
        same(wr.from_array(source, chunks=(4, 3), copy=True), np.asarray(getattr(source, "array", source)))
    np.save(tmp_path / "x.npy", data)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    same(wr.from_array(mapped, chunks=4).rechunk(3) * 2, data * 2)
    same(wr.from_array(mapped[1:, 2:], chunks=4) + 1, data[1:, 2:] + 1)
    same(wr.asarray([1, 2], float), np.array([1.0, 2.0]))
    x = wr.ones(3)
    assert wr.asarray(x) is x


def test_sources_that_are_not_what_they_say():
    data = np.arange(6)
    for other, message in [
        (data * 0.5, r"from_array.*float64.*int64"),
        (np.ma.masked_equal(data, 3), r"from_array.*MaskedArray"),
    ]:
        source = Stored(data)
        source.array = other
        with pytest.raises(wr.ArgumentError if "Masked" in message else wr.DTypeError, match=message):
            wr.from_array(source, chunks=4).sum().compute()
    short = Stored(data)
    short.shape = (8,)
    with pytest.raises(wr.ShapeError, match=r"from_array.*\(2,\).*\(4,\)"):
        wr.from_array(short, chunks=4).compute()
    swapped = Stored(data)
    swapped.array = data.astype(">i8")
    same(wr.from_array(swapped, chunks=4), data)


def test_a_file_that_changed_is_an_error(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(100))
    x = wr.from_array(np.load(path, mmap_mode="r"), chunks=10)
    assert x.sum().compute() == 4950
    np.save(path, np.arange(50))
    with pytest.raises(wr.SourceChanged, match=r"from_array.*changed underneath"):
        x.sum().compute()


def test_structured_and_strings():
    data = np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")])
    same(wr.from_array(data, chunks=1), data)
    words = np.array(["one", "three", "five"])
    same(wr.from_array(words, chunks=2) == "three", words == "three")


def test_random_is_numpys_philox():
    for chunks in (-1, 3, (2, 4)):
        x = wr.random.default_rng(11).random((7, 9), chunks=chunks)
        same(x, np.random.Generator(np.random.Philox(11)).random((7, 9)))


@given(st.data())
def test_random_numbers_do_not_depend_on_chunks(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 8), min_size=1, max_size=3)))
    skip = data.draw(st.integers(0, 9))

    def draw(chunks):
        rng = wr.random.default_rng(5)
        rng.random(skip)
        return [
            rng.random(shape, chunks=chunks),
            rng.random(shape, "f4", chunks=chunks),
            rng.normal(2, 3, shape, chunks=chunks),
            rng.integers(-5, 9, shape, chunks=chunks),
            rng.integers(0, 255, shape, "u1", endpoint=True, chunks=chunks),
            rng.standard_normal(shape, chunks=chunks),
            rng.uniform(-1, 1, shape, chunks=chunks),
        ]

    for one, other in zip(draw(-1), draw(tuple(data.draw(st.integers(1, n)) for n in shape)), strict=True):
        np.testing.assert_array_equal(one.compute(), other.compute())


def test_random_numbers_are_what_they_are_said_to_be():
    rng = wr.random.default_rng(3)
    normal = rng.normal(5, 2, 200_000, chunks=7000).compute()
    assert abs(normal.mean() - 5) < 0.03
    assert abs(normal.std() - 2) < 0.03
    dice = rng.integers(1, 7, 60_000, chunks=7000).compute()
    assert set(np.unique(dice)) == set(range(1, 7))
    assert np.bincount(dice)[1:].min() > 9500
    single = rng.random((1000,), "f4", chunks=300)
    assert single.dtype == np.float32
    assert 0 <= single.min().compute() <= single.max().compute() < 1
    assert (rng.random(5).compute() != rng.random(5).compute()).all()
    assert (wr.random.default_rng().random(5).compute() != wr.random.default_rng().random(5).compute()).all()
    assert rng.random().shape == ()


def test_counts_of_integers_are_exact():
    assert wr.arange(2**60 + 1, chunks=2**40).shape == (2**60 + 1,)
    assert wr.arange(-1, 2**62, chunks=2**40)[-1:].compute() == [2**62 - 1]


HUGE = 2**63


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wr.arange(HUGE), "arange: argument 'start' is 9223372036854775808; .*int64"),
        (lambda: wr.arange(0, 2**70), "arange: argument 'stop' is 1180591620717411303424; .*int64"),
        (lambda: wr.arange(-HUGE, HUGE - 1), "arange: argument 'stop' is 9223372036854775807; .*int64"),
        (lambda: wr.arange(0.0, 2.0**54, chunks=-1), r"arange: argument 'stop' is .*2\*\*53 elements"),
        (lambda: wr.arange(0, 1, 5e-324), r"arange: argument 'stop' is 1; .*2\*\*53 elements from floats, not inf"),
        (lambda: wr.arange(np.inf), "arange: argument 'start' is inf; .*finite"),
        (lambda: wr.arange(0, np.nan), "arange: argument 'stop' is nan; .*finite"),
        (lambda: wr.linspace(0, 1, HUGE), "linspace: argument 'num'"),
        (lambda: wr.ones(HUGE), "ones: argument 'shape' is 9223372036854775808"),
        (lambda: wr.zeros((0, HUGE)), "zeros: argument 'shape'"),
        (lambda: wr.full((2**32, 2**32), 1, chunks=-1), "full: argument 'shape'"),
        (lambda: wr.zeros_like(wr.ones(3), shape=HUGE), "zeros_like: argument 'shape'"),
        (lambda: wr.eye(2**32), "eye: argument 'N'"),
        (lambda: wr.random.default_rng(1).random(HUGE), "random: argument 'size'"),
        (lambda: wr.broadcast_to(wr.ones(3), (2**62, 3)), "broadcast_to: argument 'shape'"),
        (lambda: wr.ones((2**40, 1), chunks=-1) * wr.ones(2**40, chunks=-1), "multiply: .* fewer than"),
    ],
)
def test_sizes_beyond_int64_are_refused(call, message):
    with pytest.raises(wr.ShapeError, match=f"^{message}"):
        call()


@pytest.mark.parametrize(
    ("call", "operation", "count"),
    [
        (lambda: wr.ones(2**31 + 1, chunks=1), "ones", 2**31 + 1),
        (lambda: wr.random.default_rng(1).random((2**16, 2**16), chunks=1), "random", 2**32),
        (lambda: wr.arange(2**33, chunks=2**20).rechunk(2), "rechunk", 2**32),
        (lambda: (wr.ones(2**33) + 1).rechunk(1), "rechunk", 2**33),
        (lambda: wr.ones((2**20, 1), chunks=1) + wr.ones(2**20, chunks=1), "add", 2**40),
    ],
)
def test_too_many_chunks_are_refused(call, operation, count):
    with pytest.raises(wr.ChunksError, match=f"^{operation}: .* would have {count} chunks; choose larger chunks$"):
        call()
    assert wr.ones(2**31, chunks=1).npartitions == 2**31


def test_errors():
    rng: Any = wr.random.default_rng(1)
    eye: Any = wr.eye
    masked = np.ma.masked_array([1, 2], [False, True])
    cases = [
        (lambda: wr.zeros(-1), wr.ShapeError, "zeros.*'shape' is -1"),
        (lambda: wr.zeros(2.5), wr.ArgumentError, "zeros.*'shape' is 2.5"),
        (lambda: wr.zeros((2, "a")), wr.ArgumentError, "zeros.*'shape'"),
        (lambda: wr.ones(3, "nonsense"), wr.DTypeError, "ones.*'dtype' is 'nonsense'"),
        (lambda: wr.ones(3, object), wr.DTypeError, "ones.*'dtype'"),
        (lambda: wr.full(3, [1, 2]), wr.ShapeError, r"full.*\(2,\)"),
        (lambda: wr.arange(0, 5, 0), wr.ShapeError, "arange.*'step'"),
        (lambda: wr.arange("a"), wr.ArgumentError, "arange"),
        (lambda: eye(3, k=1.5), wr.ArgumentError, "eye.*'k'"),
        (lambda: wr.from_array(object()), wr.ArgumentError, "from_array.*'x' is 'object'"),
        (lambda: wr.from_array(masked), wr.ArgumentError, "from_array.*mask"),
        (lambda: wr.ones(2) + masked, wr.ArgumentError, "add.*mask"),
        (lambda: wr.from_array(np.array([None])), wr.DTypeError, "from_array.*'x'"),
        (lambda: wr.random.default_rng("a"), wr.ArgumentError, "default_rng.*'seed'"),
        (lambda: rng.random(3, "i4"), wr.DTypeError, "random.*'dtype'"),
        (lambda: rng.normal(0, -1, 3), wr.ArgumentError, "normal.*'scale'"),
        (lambda: rng.integers(5, 5, 3), wr.ArgumentError, "integers.*'high'"),
        (lambda: rng.integers(0, 300, 3, "u1"), wr.ArgumentError, "integers.*uint8"),
        (lambda: rng.integers(0.5, 3, 3), wr.ArgumentError, "integers.*'low'"),
    ]
    for call, kind, message in cases:
        with pytest.raises(kind, match=message):
            call()
    ones: Any = wr.ones
    with pytest.raises(TypeError, match="chunk"):
        ones(3, chunk=2)


@pytest.mark.parametrize("dtype", ["U3", "S3", ">U3", "M8[s]", "?", "f2", "c16", "i4,U2"])
def test_zeros_are_what_numpy_calls_so(dtype):
    data = np.ones(5, dtype)
    x = wr.from_array(data, chunks=2)
    for found in (
        wr.zeros(5, dtype),
        wr.empty(5, dtype),
        wr.zeros_like(x),
        wr.empty_like(x),
        wr.zeros_like(x, shape=5),
    ):
        assert found.dtype == data.dtype
        assert found.compute().tolist() == np.zeros(5, dtype).tolist()
