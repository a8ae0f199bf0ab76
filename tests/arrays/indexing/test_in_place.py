"""What NumPy does in place: positions named several times, flat elements, shapes, dtypes of bytes, parts of numbers."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr

RNG = np.random.default_rng(3)


def lazy(a, chunks=2):
    return wr.from_array(np.array(a), chunks=chunks)


KEYS = [
    [0, 0, 2, -1],
    slice(1, 3),
    np.array([[0, 1], [1, 0]]),
    (np.array([0, 2, 2]), np.array([1, 1, 1])),
    (slice(None), [0, 0]),
    np.array([True, False, True]),
    1,
    (..., [1, 1]),
]


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "power", "logical_or", "negative"])
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_at_counts_each_occurrence(name, key):
    a = RNG.integers(1, 5, (3, 3)).astype(float)
    expected = a.copy()
    values = () if name == "negative" else (RNG.integers(1, 4, expected[key].shape).astype(float),)
    getattr(np, name).at(expected, key, *values)
    x = lazy(a)
    before = x + 0
    assert getattr(wr, name).at(x, key, *values) is None
    assert (x == expected).all()
    assert (before == a).all()  # what was made of it before stays
    x = lazy(a)
    items = key if isinstance(key, tuple) else (key,)
    hidden = tuple(lazy(i, 1) if isinstance(i, list | np.ndarray) else i for i in items)
    getattr(np, name).at(
        x, hidden if isinstance(key, tuple) else hidden[0], *(lazy(v, 1) if v.ndim else v for v in values)
    )
    assert (x == expected).all()


def test_at_of_scalars_numpy_arrays_and_what_it_cannot_take():
    x = wr.zeros(5, int, chunks=2)
    wr.add.at(x, [0, 0, 4], 2)
    assert x.tolist() == [4, 0, 0, 0, 2]
    plain = np.zeros(5)
    np.add.at(plain, wr.asarray([0, 0, 1]), wr.ones(3))
    assert plain.tolist() == [2, 1, 0, 0, 0]
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        wr.add.at(x, [9], 1)
    with pytest.raises(ValueError, match=r"add\.at: argument 'operands'"):
        wr.add.at(x, [0])
    with pytest.raises(TypeError, match=r"add\.at: argument 'a'"):
        wr.add.at([1, 2], [0], 1)
    with pytest.raises(ValueError, match=r"divmod\.at"):
        wr.divmod.at(x, [0], 1)
    with pytest.raises(ValueError, match="broadcast"):
        wr.add.at(x, [0, 1], [1, 2, 3])


@pytest.mark.parametrize("key", [[0, 1, 2], [0, 1, 1], slice(3), np.array([True, True, True, False])], ids=str)
@pytest.mark.parametrize("value", [0.1, np.float64(0.1), np.float32(0.1), 3])
def test_at_computes_in_the_dtype_that_values_have(key, value):
    for name in ("power", "add", "divide"):
        a = np.array([3.0, 5.0, 7.0, 9.0], "f4")
        x = lazy(a.copy())
        getattr(np, name).at(a, key, value)
        getattr(wr, name).at(x, key, value)
        np.testing.assert_array_equal(x.compute(), a, strict=True)


@pytest.mark.parametrize("key", [[0, 0], slice(2)], ids=str)
def test_at_drops_no_imaginary_parts(key):
    with pytest.raises(TypeError, match=r"add\.at: argument 'b' is dtype\('complex128'\)"):
        wr.add.at(wr.ones(3), key, [1j, 2])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("starts", [[0, 2, 2, 5], [1, 3], [5, 1, 0], [0], [6, 6], [*range(7)], [3, 3, 3]], ids=str)
def test_reduceat(axis, starts):
    a = RNG.standard_normal((7, 9))
    for name in ("add", "maximum", "multiply"):
        expected = getattr(np, name).reduceat(a, starts, axis)
        for chunks in (2, -1, (3, 4)):
            x = lazy(a, chunks)
            for found in (
                getattr(wr, name).reduceat(x, starts, axis),
                getattr(np, name).reduceat(x, lazy(starts, 1), axis),
            ):
                assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
                np.testing.assert_allclose(found.compute(), expected, rtol=1e-14)


def test_reduceat_keeps_the_axis_in_chunks_where_runs_are_in_order():
    x = wr.ones(1000, chunks=100)
    found = wr.add.reduceat(x, np.arange(0, 1000, 5))
    assert found.numblocks == (10,)
    assert (found == 5).all()
    assert wr.add.reduceat(wr.arange(8, chunks=3), [0, 4], dtype=float).tolist() == [6.0, 22.0]
    assert wr.add.reduceat(wr.arange(8, chunks=3), np.array([], int)).compute().shape == (0,)
    assert wr.add.reduceat(wr.ones((8, 3), chunks=3), [], axis=1).compute().shape == (8, 0)
    out = wr.zeros(2, int)
    assert wr.add.reduceat(wr.arange(8), [0, 4], out=out) is out
    assert out.tolist() == [6, 22]
    for starts in ([1000], [-1]):
        with pytest.raises(IndexError, match=r"add\.reduceat: argument 'indices'"):
            wr.add.reduceat(x, starts)
    for starts in ([[1]], [0.5], 3):
        with pytest.raises(ValueError, match=r"add\.reduceat: argument 'indices'"):
            wr.add.reduceat(x, starts)
    with pytest.raises(IndexError, match=r"add\.reduceat: argument 'indices'"):
        wr.add.reduceat(x, lazy([1000])).compute()


def test_shape_is_set():
    x = lazy(np.arange(6))
    y = x * 1
    x.shape = (2, 3)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert y.shape == (6,)
    x.shape = -1
    assert x.shape == (6,)
    with pytest.raises(ValueError, match="argument 'shape' is \\(4,\\)"):
        x.shape = (4,)


def test_flat():
    a = np.arange(24.0).reshape(4, 6)
    x = lazy(a, (3, 4))
    keys = [(5, 9), (slice(1, 20, 3), [1, 2]), ([0, 3, 3], 7), (..., [1, 2, 3]), (a.ravel() > 4, -1), (slice(None), a)]
    for key, value in keys:
        a.flat[key] = value
        x.flat[key] = value
        assert (x == a).all()
        assert (x.flat[key] == a.flat[key]).all()
    assert x.chunks == ((3, 1), (4, 2))
    assert list(x.flat) == list(a.flat)
    assert len(x.flat) == 24
    assert (np.asarray(x.flat) == a.reshape(-1)).all()
    assert x.flat.copy().shape == (24,)
    assert x.flat.base is x
    x.flat = [1, 2]
    assert x.tolist() == [[1, 2] * 3] * 4


@pytest.mark.parametrize("key", [slice(None), slice(2, 9, 3), [1, 3], np.array([[0, 1], [2, 3]]), ...], ids=str)
def test_no_values_set_no_flat_elements(key):
    x = lazy(np.arange(12).reshape(3, 4), 2)
    x.flat[key] = []
    assert x.tolist() == np.arange(12).reshape(3, 4).tolist()


def test_what_flat_does_not_take():
    x = lazy(np.arange(12).reshape(3, 4), 2)
    with pytest.raises(ValueError, match=r"flat: argument 'value' is \(2,\)"):
        x.flat[5] = [1, 2]
    for key in (None, (slice(None), None), True):
        with pytest.raises(IndexError, match="flat: argument 'key'"):
            x.flat[key]
        with pytest.raises(IndexError, match="flat: argument 'key'"):
            x.flat[key] = 7
    with pytest.raises(IndexError, match="flat: argument 'key'"):
        x.flat[()] = 7
    assert (x.flat[()] == np.arange(12)).all()
    assert x.tolist() == np.arange(12).reshape(3, 4).tolist()


VIEWS = [
    ("f8", "i8", 2),
    ("f8", "u4", 2),
    ("f8", "u1", 3),
    ("u1", "u2", (2, 3)),
    ("u1", "f4", (4, 3)),
    ("c16", "f8", 2),
    ("f4", "c8", 3),
    ("i2", ">i2", 2),
    ("u2", "S2", 2),
    ("i8", "M8[s]", 5),
]


@pytest.mark.parametrize(("dtype", "wanted", "chunks"), VIEWS)
def test_view_reads_bytes_as_another_dtype(dtype, wanted, chunks):
    a = np.arange(24).reshape(2, 12).astype(dtype)
    found, expected = lazy(a, chunks).view(wanted), a.view(wanted)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.compute().tobytes() == expected.tobytes()
    assert (
        lazy(a.T, chunks[::-1] if isinstance(chunks, tuple) else chunks).view(wanted, order="F").T.compute().tobytes()
        == expected.tobytes()
    )


def test_view_without_a_dtype_and_refused():
    x = lazy(np.arange(3))
    y = x.view()
    y[0] = 9
    assert x.tolist() == [9, 1, 2]
    for bad, error in (("u2", TypeError), (object, TypeError), (np.ndarray, ValueError)):
        with pytest.raises(error, match="view: argument"):
            wr.ones(3, "u1").view(bad)
    with pytest.raises(ValueError, match="view: argument 'dtype'"):
        wr.ones(()).view("u1")
    with pytest.raises(ValueError, match="view: argument 'order'"):
        wr.ones(3).view("i8", order="K")


def test_byteswap():
    for a in (np.arange(6, dtype="i4"), np.arange(6) + 1j, np.array(["abc", "b"]), np.array([True, False])):
        x = lazy(a)
        found = x.byteswap()
        assert found.dtype == a.dtype
        assert found.compute().tobytes() == a.byteswap().tobytes()
        assert (x == a).all()
        x.byteswap(inplace=True)
        assert x.compute().tobytes() == a.byteswap().tobytes()


def test_parts_of_complex_numbers_are_set():
    x = lazy(np.arange(3) + 1j)
    x.real = [5, np.inf, -0.0]
    x.imag = np.inf
    expected = np.arange(3) + 1j
    expected.real, expected.imag = [5, np.inf, -0.0], np.inf
    assert x.compute().tobytes() == expected.tobytes()
    y = wr.ones(3)
    y.real = 2
    assert y.tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="no imaginary parts to set"):
        y.imag = 2
    with pytest.raises(TypeError, match="real: argument 'value'"):
        y.real = 1j
    z = np.array([complex(np.inf, -0.0), complex(np.nan, np.inf), complex(-0.0, np.nan)])
    assert wr.nan_to_num(lazy(z)).compute().tobytes() == np.nan_to_num(z).tobytes()


def test_resize_in_place():
    x = lazy(np.arange(5))
    x.resize(2, 4)
    assert x.tolist() == [[0, 1, 2, 3], [4, 0, 0, 0]]
    x.resize((3,))
    assert x.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="resize: argument 'new_shape'"):
        x.resize(-1)


def test_every_attribute_of_numpy_arrays_is_there_or_says_why_not():
    x = wr.ones((2, 2))
    lacking = {n for n in dir(np.ndarray) if not n.startswith("_") and not hasattr(wr.Array, n)}
    assert lacking == {
        *("base", "ctypes", "data", "dump", "dumps", "flags", "getfield", "setfield", "setflags", "strides", "tofile"),
    }
    for name in lacking | {"itemset", "newbyteorder"}:
        with pytest.raises(AttributeError, match=rf"no attribute '{name}'; "):
            getattr(x, name)


@pytest.mark.ranks
def test_on_ranks(launch):
    program = """
import numpy as np, windrow as wr
a = np.arange(5000.0)
x = wr.from_array(a.copy(), chunks=300)
keys = np.random.default_rng(1).integers(0, 5000, 9000)
wr.add.at(x, keys, wr.ones(9000, chunks=1000))
np.add.at(a, keys, np.ones(9000))
assert (x == a).all()
runs = wr.add.reduceat(x, np.arange(0, 5000, 7))
assert (runs == np.add.reduceat(a, np.arange(0, 5000, 7))).all()
assert (x.view("u4") == a.view("u4")).all()
x.flat[::3] = 1
a.flat[::3] = 1
x.shape = (50, 100)
assert (x == a.reshape(50, 100)).all()
days = np.random.default_rng(2).integers(0, 99, 5000).astype("M8[D]")
days[4000] = "NaT"
assert np.array_equal(wr.maximum.accumulate(wr.asarray(days, chunks=300)), np.maximum.accumulate(days), equal_nan=True)
big = np.arange(24.0).reshape(4, 6).astype(">f8")
assert wr.percentile(wr.asarray(big, chunks=2), 50, axis=0, method="lower").compute().dtype == ">f8"
q = wr.asarray([0.1, 0.5], chunks=1)
assert np.allclose(wr.quantile(x, q, axis=1), np.quantile(a.reshape(50, 100), [0.1, 0.5], axis=1))
p, l, u = wr.linalg.lu(x[:, :40])
assert np.allclose((p @ l @ u).compute(), a.reshape(50, 100)[:, :40])
print("done")
"""
    assert launch(3, "-c", program).last == "done"
