"""Every elementwise function against NumPy's, on one chunk and on uneven chunks."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.arrays import same
from windrow.arrays.ops.elementwise.ufunc import Ufunc
from windrow.arrays.ops.elementwise.ufuncs import UFUNCS

NAMES = sorted(f.name for f in UFUNCS.values())
CHUNKS = [-1, (5, 4)]
RNG = np.random.default_rng(5)
SAMPLES = {
    "b": RNG.random((13, 11)) < 0.5,
    "i": RNG.integers(1, 9, (13, 11)),
    "f": RNG.uniform(0.1, 0.9, (13, 11)),
    "g": RNG.uniform(1.1, 3.0, (13, 11)),
    "c": RNG.random((13, 11)) + 1j * RNG.random((13, 11)),
    "M": RNG.integers(0, 9, (13, 11)).astype("M8[s]"),
}


def kinds_of(name: str) -> list[str]:
    """Kinds of operands that the function takes."""
    ufunc = getattr(np, name)
    found = []
    for kind, sample in SAMPLES.items():
        try:
            with np.errstate(all="ignore"):
                ufunc(*[sample] * ufunc.nin)
        except TypeError:
            continue
        found.append(kind)
    return found


def test_all_of_numpy_is_here():
    elementwise = {u.__name__ for u in vars(np).values() if isinstance(u, np.ufunc) and u.signature is None}
    assert set(NAMES) == elementwise
    assert all(isinstance(getattr(wr, n), Ufunc) for n in NAMES)


def test_aliases_are_numpys():
    for name, value in vars(np).items():
        if isinstance(value, np.ufunc) and value.signature is None:
            assert getattr(wr, name).name == value.__name__


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("name", NAMES)
def test_ufunc(name, chunks):
    ufunc = getattr(np, name)
    assert kinds_of(name)
    for kind in kinds_of(name):
        data = [SAMPLES[kind], SAMPLES[kind][::-1]][: ufunc.nin]
        arrays = [wr.from_array(d, chunks=chunks) for d in data]
        with np.errstate(all="ignore"):
            expected = ufunc(*data)
        same(getattr(wr, name)(*arrays), expected)
        same(ufunc(*arrays), expected)


@pytest.mark.parametrize("name", [n for n in NAMES if getattr(np, n).nin == 2])
def test_ufunc_broadcasts_and_takes_scalars(name):
    ufunc = getattr(np, name)
    for kind in kinds_of(name):
        data = SAMPLES[kind]
        x = wr.from_array(data, chunks=(4, 6))
        row = data[3]
        with np.errstate(all="ignore"):
            same(getattr(wr, name)(x, row), ufunc(data, row))
            same(getattr(wr, name)(x[:, 2:3], x[3]), ufunc(data[:, 2:3], data[3]))
            same(getattr(wr, name)(x, data[0, 0]), ufunc(data, data[0, 0]))
            if kind in "if":
                same(getattr(wr, name)(2, x), ufunc(2, data))


OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "eq", "ne", "gt", "ge"]


@pytest.mark.parametrize("name", [*OPERATORS, "and_", "or_", "xor", "lshift", "rshift"])
def test_operator(name):
    function = getattr(operator, name)
    data, other = SAMPLES["i"], SAMPLES["i"][::-1].copy()
    x, y = wr.from_array(data, chunks=(5, 4)), wr.from_array(other, chunks=(3, 11))
    same(function(x, y), function(data, other))
    same(function(x, 3), function(data, 3))
    same(function(3, x), function(3, data))
    same(function(other, x), function(other, data))
    same(function(np.int64(2), x), function(np.int64(2), data))


def test_unary_operators_and_divmod():
    data = SAMPLES["i"]
    x = wr.from_array(data, chunks=(5, 4))
    same(-x, -data)
    same(+x, +data)
    same(abs(-x), data)
    same(~x, ~data)
    same(divmod(x, 3), divmod(data, 3))
    same(divmod(100, x), divmod(100, data))


def test_operators_in_place_change_what_a_name_stands_for():
    x = y = wr.ones(3)
    x += 1
    assert x.compute().tolist() == [2, 2, 2]
    assert y is x


@pytest.mark.parametrize("chunks", CHUNKS)
def test_functions_that_are_no_ufuncs(chunks):
    for kind in "bifc":
        data = SAMPLES[kind]
        x = wr.from_array(data, chunks=chunks)
        same(wr.real(x), np.real(data).copy())
        same(wr.imag(x), np.imag(data).copy())
        same(wr.where(x != 0, x, 0), np.where(data != 0, data, 0))
        same(wr.angle(x), np.angle(data))
        same(wr.isclose(x, data + 1e-9), np.isclose(data, data + 1e-9))
        if kind != "b":
            same(wr.round(x, 1), np.round(data, 1))
        if kind in "if":
            same(wr.clip(x, 0.3, 2), np.clip(data, 0.3, 2))
            same(x.clip(max=3), np.clip(data, None, 3))
    small = np.arange(5, dtype="u1")
    for low, high in [(-1, 2), (0, 300), (-1, 300), (1, 1000)]:
        same(wr.clip(wr.from_array(small), low, high), np.clip(small, low, high))
    spoiled = np.array([np.nan, 1, np.inf, -np.inf])
    same(wr.nan_to_num(spoiled), np.nan_to_num(spoiled))


DTYPES = ["?", "i1", "u1", "i2", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
SCALARS = [True, 3, 2.5, 1j, np.int8(3), np.float32(1.5), np.array(2, "u2"), np.bool(True)]


@given(
    st.sampled_from(DTYPES),
    st.sampled_from([*DTYPES, *range(len(SCALARS))]),
    st.sampled_from(["add", "multiply", "less", "divide", "where"]),
)
def test_promotion(one, other, name):
    left = np.arange(1, 5).astype(one)
    right = SCALARS[other] if isinstance(other, int) else np.arange(2, 6).astype(other)
    given = (left > 2, left, right) if name == "where" else (left, right)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(*given)
    same(
        getattr(wr, name)(*(wr.from_array(g) if isinstance(g, np.ndarray) and g.ndim else g for g in given)),
        expected,
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_astype(dtype):
    same(wr.from_array(SAMPLES["i"], chunks=5).astype(dtype), SAMPLES["i"].astype(dtype))


def test_a_scalar_out_of_range_is_refused_at_the_call():
    with pytest.raises(OverflowError, match="add"):
        wr.zeros(3, "u1") + 300


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: f << 1, "left_shift: operands are float64, 1; expected bools or integers"),
        (lambda f: wr.invert(f), "invert: operands are float64; expected bools or integers"),
        (lambda f: wr.gcd(f, f), "gcd: operands are float64, float64; expected integers"),
        (lambda f: wr.isnat(f), "isnat: operands are float64; expected datetimes or timedeltas"),
        (lambda f: wr.ldexp(f, f), "expected bools, integers or floats with integers"),
        (lambda f: wr.sqrt(f.astype("M8[s]")), "expected bools, integers, floats or complex numbers"),
        (
            lambda f: f.astype("M8[s]") + f.astype("M8[s]"),
            "expected bools, integers, floats, complex numbers, timedeltas, datetimes with timedeltas or timedeltas "
            "with datetimes (ufunc 'add' cannot use operands with types dtype('<M8[s]') and dtype('<M8[s]'))",
        ),
    ],
)
def test_an_error_says_what_kinds_of_dtypes_an_operation_takes(make, message):
    with pytest.raises(wr.DTypeError) as raised:
        make(wr.ones(3))
    assert str(raised.value).endswith(message)


def test_errors_name_operation_and_operands():
    with pytest.raises(wr.ShapeError, match=r"add.*\(3,\), \(4,\)"):
        wr.ones(3) + wr.ones(4)
    with pytest.raises(wr.DTypeError, match=r"bitwise_and.*float64"):
        wr.ones(3) & 1
    with pytest.raises(wr.ArgumentError, match=r"sqrt.*'axis'"):
        wr.sqrt(wr.ones(3), axis=None)
    with pytest.raises(wr.ArgumentError, match=r"add.*1 operands"):
        wr.add(wr.ones(3))
    with pytest.raises(wr.DTypeError, match="object"):
        wr.ones(3) + np.array([object()])
    with pytest.raises(TypeError):
        wr.ones(3) + object()
    with pytest.raises(wr.DTypeError, match=r"astype.*'dtype'"):
        wr.ones(3).astype("nonsense")
    with pytest.raises(wr.ArgumentError, match=r"subtract.reduce.*map_blocks"):
        np.subtract.reduce(wr.ones(3))


@pytest.mark.parametrize("chunks", [-1, 4])
def test_products_and_functions_of_blocks_are_broadcast(chunks):
    data, row, weights = np.arange(36.0).reshape(9, 4), np.arange(4.0).reshape(1, 4), np.arange(8.0).reshape(4, 2)
    x, r, w = (wr.from_array(a, chunks=chunks) for a in (data, row, weights))
    same(x @ w - r @ w, data @ weights - row @ weights)
    same(x - wr.map_blocks(np.negative, r), data + row)
    same((x - (r @ w)[:, :1]).sum(axis=0), (data - (row @ weights)[:, :1]).sum(axis=0))


@pytest.mark.parametrize("dtype", ["U2", ">U2", "S2", "M8[s]", "f8"])
def test_an_element_against_all(dtype):
    data = np.array([12, 7, 30] * 5).astype(dtype)
    x = wr.from_array(data, chunks=4)
    same(x == x[5], data == data[5])
    same(x[x != x[0]], data[data != data[0]])
    same(wr.where(x == x[1], x, x[2]), np.where(data == data[1], data, data[2]))


@pytest.mark.parametrize("name", ["conj", "conjugate"])
def test_the_method_conj_of_booleans_leaves_them(name):
    """NumPy's function, which is a ufunc, gives int8."""
    x = np.array([True, False])
    lazy = wr.from_array(x, chunks=1)
    assert getattr(lazy, name)().dtype == getattr(x, name)().dtype == bool
    assert getattr(lazy, name)().compute().tolist() == [True, False]
    assert wr.conjugate(lazy).dtype == np.conjugate(x).dtype == np.int8


def test_clip_refuses_keywords_that_it_does_not_have():
    """`lower=0`, as pandas has it, left the array as it was."""
    x = wr.arange(5, chunks=2)
    for call in (
        lambda **how: x.clip(**how),
        lambda **how: wr.clip(x, 1, **how),
        lambda **how: wr.clip(x, 1, 2, **how),
    ):
        with pytest.raises(wr.ArgumentError, match="clip: argument 'lower' is 3; expected no such keyword, only min"):
            call(lower=3)
    assert wr.clip(x, 1, 3, order="K", subok=True).compute().tolist() == [1, 1, 2, 3, 3]
    assert x.clip(casting="same_kind").compute().tolist() == [0, 1, 2, 3, 4]
    assert wr.clip(x, 1, 3, dtype="f4").compute().dtype == "f4"


@pytest.mark.parametrize("casting", ["no", "equiv", "safe"])
@pytest.mark.parametrize(
    ("name", "operands"),
    [
        ("add", (np.arange(5.0), 300)),
        ("add", (np.arange(5), 2.5)),
        ("less", (np.arange(5) > 2, np.ones(5, "f4"))),
        ("add", (np.arange(5, dtype="i4"), np.arange(5, dtype="i8"))),
        ("sqrt", (np.arange(5, dtype="i1"),)),
        ("multiply", (np.arange(5.0), np.arange(5.0))),
    ],
)
@pytest.mark.parametrize("dtype", [None, "f2", "f8", "c16"])
def test_casting_of_operands(name, operands, casting, dtype):
    lazy = [wr.asarray(each, chunks=2) if isinstance(each, np.ndarray) else each for each in operands]
    try:
        wanted = getattr(np, name)(*operands, casting=casting, dtype=dtype)
    except TypeError:
        with pytest.raises(wr.DTypeError, match=f"^{name}: .*{casting}|^{name}: argument 'dtype'"):
            getattr(wr, name)(*lazy, casting=casting, dtype=dtype)
    else:
        np.testing.assert_array_equal(
            getattr(wr, name)(*lazy, casting=casting, dtype=dtype).compute(), wanted, strict=True
        )


def test_casting_that_there_is_not():
    with pytest.raises(wr.ArgumentError, match=r"add.*'casting' is 'some'; expected one of 'no'"):
        wr.add(wr.arange(3), 1, casting="some")


@pytest.mark.parametrize("lazy", [True, False])
def test_what_stays_in_out_is_never_cast(lazy):
    large, where = np.array([2**60 + 1, 3, 2**62 + 1]), np.array([False, True, False])
    for operand, casting in ((np.arange(3, dtype="u8"), "same_kind"), (np.arange(3.0), "unsafe")):
        wanted, out = large.copy(), wr.asarray(large.copy()) if lazy else large.copy()
        np.square(operand, out=wanted, where=where, casting=casting)
        wr.square(wr.asarray(operand, chunks=2), out=out, where=where, casting=casting)
        np.testing.assert_array_equal(out, wanted, strict=True)
