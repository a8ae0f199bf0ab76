"""Reductions against NumPy's, over single chunks, uneven chunks and empty arrays."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.pairs import pairs
from windrow.workers.kernels import reductions

NAMES = [
    "sum",
    "prod",
    "mean",
    "var",
    "std",
    "min",
    "max",
    "any",
    "all",
    "argmin",
    "argmax",
    "count_nonzero",
    "ptp",
]
RNG = np.random.default_rng(3)
DATA = {
    "?": RNG.random((7, 5, 6)) < 0.5,
    "i1": RNG.integers(-9, 9, (7, 5, 6)).astype("i1"),
    "i8": RNG.integers(-2, 3, (7, 5, 6)),
    "u2": RNG.integers(0, 3, (7, 5, 6)).astype("u2"),
    "f4": RNG.uniform(0.5, 1.5, (7, 5, 6)).astype("f4"),
    "f8": RNG.uniform(0.5, 1.5, (7, 5, 6)),
    "f2": RNG.uniform(0.5, 1.5, (7, 5, 6)).astype("f2"),
    "c16": RNG.uniform(0.5, 1.5, (7, 5, 6)) + 1j * RNG.uniform(0.5, 1.5, (7, 5, 6)),
}


def check(name, data, chunks, axis, keepdims, **keywords):
    x = wr.from_array(data, chunks=chunks)
    if name == "count_nonzero" and keepdims:
        return
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(data, axis=axis, keepdims=keepdims, **keywords)
    lazy = getattr(wr, name)(x, axis=axis, keepdims=keepdims, **keywords)
    made = lazy.compute()
    assert made.dtype == np.asarray(expected).dtype == lazy.dtype
    assert np.shape(made) == np.shape(expected) == lazy.shape
    assert isinstance(made, np.ndarray) == isinstance(expected, np.ndarray)
    exact = data.dtype.kind in "?iu" and name not in ("mean", "var", "std")
    rtol = 0 if exact or name in ("min", "max", "ptp") else {2: 2e-2, 4: 1e-5}.get(np.asarray(expected).itemsize, 1e-12)
    np.testing.assert_allclose(made, expected, rtol=rtol, atol=1e-12 if rtol else 0)


@pytest.mark.parametrize(("name", "dtype", "axis"), pairs(NAMES, list(DATA), [None, 0, 1, -1, (0, 2), (0, 1, 2), ()]))
def test_reduction(name, dtype, axis):
    if name.startswith("arg") and isinstance(axis, tuple):
        return
    if name == "ptp" and dtype == "?":
        return
    for chunks in (-1, (3, 2, 4)):
        for keepdims in (False, True):
            check(name, DATA[dtype], chunks, axis, keepdims)


@given(st.data())
def test_reductions_of_any_shape(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=0, max_size=3)))
    chunks = tuple(data.draw(st.integers(1, n)) for n in shape)
    name = data.draw(st.sampled_from(NAMES))
    axes = st.sampled_from(range(-len(shape), len(shape))) if shape else st.none()
    axis = data.draw(st.none() | axes)
    check(
        name,
        np.random.default_rng(len(shape)).integers(0, 4, shape).astype("f8"),
        chunks,
        axis,
        data.draw(st.booleans()),
    )


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all", "count_nonzero"])
def test_no_elements(name):
    data = np.zeros((0, 3))
    for axis in (None, 0, 1):
        check(name, data, -1, axis, False)


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax"])
def test_extremes_of_no_elements_are_refused_at_the_call(name):
    with pytest.raises(wr.ShapeError, match=name):
        getattr(wr, name)(wr.zeros((0, 3)), axis=0)
    assert getattr(wr, name)(wr.zeros((0, 3)), axis=1).compute().shape == (0,)


def test_mean_of_no_elements_is_nan():
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert np.isnan(wr.zeros(0).mean().compute())


def test_dtype_and_ddof():
    for dtype in ("i1", "f4"):
        x = wr.from_array(DATA[dtype], chunks=3)
        for name in ("sum", "prod", "mean"):
            expected = getattr(np, name)(DATA[dtype], axis=0, dtype="f8")
            found = getattr(x, name)(axis=0, dtype="f8").compute()
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected)
    check("var", DATA["f8"], 3, 0, False, ddof=1)
    check("std", DATA["f8"], 3, None, False, ddof=2)


def test_nan_is_found_wherever_it_is():
    data = np.arange(20.0)
    data[[7, 13]] = np.nan
    for chunks in (-1, 3):
        x = wr.from_array(data, chunks=chunks)
        assert x.argmin().compute() == x.argmax().compute() == 7
        assert np.isnan(x.min().compute())
        assert np.isnan(x.max().compute())


def test_the_first_of_equal_elements_is_found():
    x = wr.ones((4, 6), chunks=(3, 2))
    assert x.argmax().compute() == 0
    assert x.argmin(axis=1).compute().tolist() == [0] * 4


def test_large_chunks_run_in_tiles():
    data = np.random.default_rng(1).random((700, 600))
    x = wr.from_array(data, chunks=(400, 500))
    for axis in (None, 0, 1):
        np.testing.assert_allclose(x.sum(axis).compute(), data.sum(axis))
        np.testing.assert_allclose(x.var(axis).compute(), data.var(axis))
        np.testing.assert_array_equal(x.argmax(axis).compute(), data.argmax(axis))
        np.testing.assert_array_equal(x.max(axis).compute(), data.max(axis))


def test_dates():
    data = np.array(["2020-01-05", "2019-02-03", "2021-06-07"], "M8[D]")
    x = wr.from_array(data, chunks=2)
    assert x.min().compute() == data.min()
    assert x.argmax().compute() == 2
    assert (x - data[0]).sum().compute() == (data - data[0]).sum()


def test_errors():
    x: Any = wr.ones((3, 4))
    with pytest.raises(wr.AxisError, match=r"sum.*'axis' is 2"):
        x.sum(axis=2)
    with pytest.raises(wr.ShapeError, match=r"mean.*each axis once"):
        x.mean(axis=(0, -2))
    with pytest.raises(wr.ArgumentError, match=r"max.*'out'"):
        x.max(out=3)
    with pytest.raises(wr.ShapeError, match=r"max.*'out'"):
        x.max(axis=0, out=wr.ones(3))
    with pytest.raises(wr.ArgumentError, match=r"sum.*'axis'"):
        x.sum(axis="first")
    with pytest.raises(wr.ArgumentError, match=r"any.*'keepdims'"):
        x.any(keepdims=2)
    with pytest.raises(wr.ArgumentError, match=r"argmax.*'axis'"):
        x.argmax(axis=(0, 1))
    with pytest.raises(wr.DTypeError, match=r"sum.*<U1"):
        wr.from_array(np.array(["a"])).sum()


@pytest.mark.parametrize(
    "name", ["min", "max", "argmin", "argmax", "ptp", "nanmin", "nanmax", "nanargmin", "nanargmax"]
)
def test_empty_chunks_have_no_least_element(name):
    data = np.array([4.0, np.nan, 2.0, 5.0, 1.0]) if name.startswith("nan") else np.array([4.0, 3.0, 2.0, 5.0, 1.0])
    x = wr.from_array(data, chunks=((0, 2, 0, 3, 0),))
    wr.testing.assert_equal(getattr(wr, name)(x), getattr(np, name)(data))
    wr.testing.assert_equal(getattr(wr, name)(x + 0), getattr(np, name)(data))
    both = np.stack([data, -data[::-1]])
    wide = wr.from_array(both, chunks=((0, 2), (3, 0, 2)))
    for axis in (0, 1):
        wr.testing.assert_equal(getattr(wr, name)(wide, axis=axis), getattr(np, name)(both, axis=axis))
    some = wr.from_array(data, chunks=1)
    wr.testing.assert_equal(getattr(wr, name)(some[some < 3]), getattr(np, name)(data[data < 3]))
    wr.testing.assert_equal(wr.lcm.reduce(wr.from_array(np.array([4, 6]), chunks=((0, 1, 1),))), np.int64(12))


@pytest.mark.parametrize("chunks", [2, 5])
def test_means_of_times_and_in_integers(chunks):
    times = np.array([5, 1, 2, 8, 9], "m8[s]")
    wr.testing.assert_equal(wr.from_array(times, chunks=chunks).mean(), times.mean())
    wr.testing.assert_equal(
        wr.from_array(times.reshape(5, 1), chunks=chunks).mean(axis=0), times.reshape(5, 1).mean(axis=0)
    )
    numbers = np.array([500, 1, -20, 8, 99], "i2")
    for dtype in ("u1", "i8", "?", "f4", "c16"):
        wr.testing.assert_equal(wr.from_array(numbers, chunks=chunks).mean(dtype=dtype), numbers.mean(dtype=dtype))
    with pytest.raises(wr.DTypeError, match=r"mean.*M8"):
        wr.from_array(times.astype("M8[s]")).mean()


@pytest.mark.parametrize("chunks", [2, 5])
@pytest.mark.parametrize(
    "data", [["a", "", "bb", "", "0"], np.array([0, 1, "NaT", 3, 0], "M8[s]"), [b"", b"0", b"", b"1"]]
)
def test_texts_and_times_that_are_zero(data, chunks):
    data = np.asarray(data)
    x, where = wr.from_array(data, chunks=chunks), np.arange(len(data)) % 2 == 1
    for name in ("count_nonzero", "any", "all"):
        wr.testing.assert_equal(getattr(wr, name)(x), np.asarray(getattr(np, name)(data)))
    for name in ("any", "all"):
        for mask in (where, ~where):
            wr.testing.assert_equal(getattr(wr, name)(x, where=mask), np.asarray(getattr(np, name)(data, where=mask)))


@pytest.mark.parametrize("name", [*NAMES, "nanmin", "nanmax", "nansum", "nanmean", "median"])
@pytest.mark.parametrize("dtype", ["i8", "u2", "f4", "f8", "f2", "c16"])
def test_elements_of_the_other_byte_order(name, dtype):
    data = DATA[dtype].astype(np.dtype(dtype).newbyteorder("S"))
    ours: Any = getattr(wr, name)
    expected = np.asarray(getattr(np, name)(data))
    found = np.asarray(ours(wr.from_array(data, chunks=(3, 5, 2))))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-2 if dtype == "f2" else 1e-6)


def _exact_variance(values: Any) -> float:
    """The variance of the numbers, rounded once."""
    numbers = [Fraction(float(v)) for v in values]
    mean = sum(numbers) / len(numbers)
    return float(sum((v - mean) ** 2 for v in numbers) / len(numbers))


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e9, 1e12, 1e15])
@pytest.mark.parametrize("chunks", [3000, 400, 37])
def test_variances_of_numbers_far_from_zero(offset: float, chunks: int) -> None:
    a = np.random.default_rng(1).standard_normal(3000) + offset
    exact = _exact_variance(a)
    holed = np.insert(a, [5, 700, 2999], np.nan)
    lazy, lost = wr.from_array(a, chunks=chunks), wr.from_array(holed, chunks=chunks)
    for found in (lazy.var(), lazy.std() ** 2, wr.nanvar(lost), wr.nanstd(lost) ** 2):
        np.testing.assert_allclose(found.compute(), exact, rtol=1e-14)
    table = a.reshape(-1, 5)
    columns = [_exact_variance(column) for column in table.T]
    rows = wr.from_array(table, chunks=(max(1, chunks // 5), 2))
    np.testing.assert_allclose(rows.var(0).compute(), columns, rtol=1e-14)
    np.testing.assert_allclose(wr.nanvar(rows, 0).compute(), columns, rtol=1e-14)
    turned = (rows * (1 + 2j)).var(0).compute()  # rounded once more, with the numbers
    np.testing.assert_allclose(turned, np.multiply(5, columns), rtol=max(1e-14, abs(offset) * 1e-15))


@pytest.mark.parametrize("chunks", [5000, 777, 13])
def test_variances_of_small_floats_far_from_zero(chunks: int) -> None:
    spread = np.random.default_rng(1).standard_normal(5000)
    for offset in (0.0, 1e3, -1e6, 1e9):
        a = (100 * spread + offset).astype("f4")
        lazy = wr.from_array(a, chunks=chunks)
        for found in (lazy.var(), wr.nanvar(lazy)):
            np.testing.assert_allclose(found.compute(), _exact_variance(a.astype("f8")), rtol=2e-6)
        equal = wr.full(5000, offset, dtype="f4", chunks=chunks)
        assert equal.var().compute() <= 1e-16 * offset**2


def test_variances_of_equal_numbers_and_of_extreme_ones() -> None:
    for value in (0.1, 1e12 + 0.1, -1e150):
        assert wr.full(1000, value, chunks=300).std().compute() < 1e-15 * abs(value)
    with np.errstate(all="ignore"):
        for data in ([1e200, -1e200, 3.0, 4.0], [np.inf, 1.0, 2.0, 3.0], [1e308, 1e308, 1e308, -1e308]):
            for chunks in (4, 2, 1):
                found, expected = wr.from_array(np.array(data), chunks=chunks).var().compute(), np.var(data)
                assert np.isfinite(found) == np.isfinite(expected)


def test_where_extremes_are_beside_a_last_axis_of_one():
    x = np.random.default_rng(1).standard_normal((20_000, 5, 1))
    a = wr.from_array(x, chunks=x.shape)
    np.testing.assert_array_equal(a.argmin(axis=1).compute(), x.argmin(axis=1))
    np.testing.assert_array_equal(a.argmax(axis=1).compute(), x.argmax(axis=1))


def test_unravel_index_beside_a_last_axis_of_one():
    numbers = np.random.default_rng(1).integers(0, 20, (20_000, 1))
    found = wr.compute(*wr.unravel_index(wr.from_array(numbers, chunks=numbers.shape), (4, 5)))
    for one, wanted in zip(found, divmod(numbers, 5), strict=True):
        np.testing.assert_array_equal(one, wanted)


WITH_DTYPE = [
    *("sum", "prod", "mean", "var", "std", "nansum", "nanprod", "nanmean", "nanvar", "nanstd"),
    *("cumsum", "cumprod", "nancumsum", "nancumprod", "cumulative_sum", "cumulative_prod"),
]
NUMBERS = np.array([[1.6, 2.7, -3.4, 0.3], [5.5, -6.6, 2.2, 1.9], [7.5, 1.2, 2.8, -0.5]])


def outcome(act):
    """Return what a call gives, or the built-in classes of its error."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.asarray(act())
        except Exception as error:
            return {kind for kind in type(error).__mro__ if kind.__module__ == "builtins"} - {Exception}


def same(found, expected, rtol):
    """Assert that both are the same numbers, of the same dtype and shape, or errors of the same class."""
    if isinstance(expected, set):
        assert isinstance(found, set)
        assert {TypeError, ValueError} & expected <= found
        return
    assert not isinstance(found, set), found
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    exact = expected.dtype.kind not in "fc"
    np.testing.assert_allclose(found, expected, rtol=0 if exact else rtol, atol=0 if exact else rtol)


@pytest.mark.parametrize("source", ["?", "i1", "u1", "i8", "f2", "f4", "f8", "c8", "c16", "m8[s]"])
@pytest.mark.parametrize("name", WITH_DTYPE)
def test_elements_are_cast_to_the_dtype_that_is_asked_for_first(name, source):
    data = (np.abs(NUMBERS) if source == "u1" else NUMBERS + (1j * NUMBERS[::-1] if source[0] == "c" else 0)).astype(
        "i8" if source == "m8[s]" else source
    )
    data = data.astype(source)
    for dtype in (None, "?", "i1", "u1", "i8", "f2", "f4", "f8", "c16", "M8[s]"):
        keywords = {} if dtype is None else {"dtype": dtype}
        expected = outcome(lambda: getattr(np, name)(data, axis=0, **keywords))  # noqa: B023
        small = {each[1:] for each in (source, dtype or "f8") if each in ("f2", "f4", "c8")}
        for chunks in (-1, 2):
            x = wr.from_array(data, chunks=chunks)
            if source == "m8[s]" and name.startswith(("nanc", "cum")):
                continue  # NumPy's cast there is its own
            same(
                outcome(lambda: getattr(wr, name)(x, axis=0, **keywords).compute()),  # noqa: B023
                expected,
                0.03 if "2" in small else 1e-4 if small else 1e-12,
            )


@pytest.mark.parametrize("chunks", [-1, 2])
def test_elements_without_a_fraction_are_added_up(chunks):
    data = np.array([0.6, 1.7, 2.6, 3.5] * 10, "f2")
    x = wr.from_array(data, chunks=chunks)
    assert x.sum(dtype="i8").compute() == data.sum(dtype="i8") == 60
    assert x.mean(dtype="i8").compute() == data.mean(dtype="i8")
    assert x.sum(dtype="f8").compute() == data.sum(dtype="f8")
    assert wr.sum(x, dtype="i8", where=x > 1).compute() == np.sum(data, dtype="i8", where=data > 1)


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_degrees_of_freedom(name):
    data = np.array([[1.0, 2.0, 4.0], [1.0, 5.0, 4.0]])
    for source, chunks, ddof in product(("f4", "i8", "c16"), (-1, 1), (0, 1.5, np.int64(5))):
        x = wr.from_array(data.astype(source), chunks=chunks)
        for axis in (None, 0, ()):
            for keyword in ("ddof", "correction"):
                known = outcome(lambda: getattr(np, name)(data.astype(source), axis, **{keyword: ddof}))  # noqa: B023
                made = outcome(lambda: getattr(wr, name)(x, axis, **{keyword: ddof}).compute())  # noqa: B023
                same(made, known, 1e-5)
        for both in ({"ddof": 1, "correction": 0}, {"ddof": 1, "correction": 1}):
            with pytest.raises(wr.ArgumentError, match="correction"):
                getattr(wr, name)(x, **both)
            with pytest.raises(wr.ArgumentError, match="correction"):
                getattr(wr, name)(x[x + 0 != 2], **both)


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd", "mean", "sum"])
def test_no_axis_and_chunks_of_several_elements(name):
    for shape, chunks in (((9,), 4), ((9,), -1), ((3, 5), 2)):
        data = np.arange(np.prod(shape), dtype=float).reshape(shape)
        x = wr.from_array(data, chunks=chunks)
        for keepdims in (False, True):
            wr.testing.assert_equal(
                getattr(wr, name)(x, axis=(), keepdims=keepdims), getattr(np, name)(data, axis=(), keepdims=keepdims)
            )


REDUCED = [
    *("sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "argmin", "ptp", "median"),
    *("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax", "nanargmax", "nanmedian"),
]


@pytest.mark.parametrize("name", REDUCED)
def test_out_has_the_results_very_shape(name):
    data = np.arange(6.0).reshape(2, 3)
    x = wr.from_array(data, chunks=2)
    for out in (np.empty(3), np.empty((1, 1)), np.empty((2, 3))):
        kind = out.astype("i8") if "arg" in name else out
        with pytest.raises(wr.ShapeError, match=f"{name}.*'out'"):
            getattr(wr, name)(x, out=kind)
        with pytest.raises(wr.ShapeError, match=f"{name}.*'out'"):
            getattr(wr, name)(x, out=wr.from_array(kind))
    with pytest.raises(wr.ShapeError, match=r"cumsum.*'out'"):
        wr.cumsum(x, 0, out=np.empty((4, 2, 3)))
    assert np.add(x, 1, out=np.empty((4, 2, 3))).shape == (4, 2, 3)  # a function of each element is broadcast


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "median", "nansum"])
def test_out_takes_what_numpys_does(name):
    for source, dtype in product(("f8", "i8", "c16", "?"), ("i8", "i4", "u1", "f4", "f8", "c16", "?")):
        if (name, source) == ("median", "c16"):
            continue
        data = (NUMBERS[0] + 2).astype(source)
        outs = [np.zeros((), dtype) for _ in range(4)]
        known = outcome(lambda: getattr(np, name)(data, out=outs[0]))  # noqa: B023
        x = wr.from_array(data, chunks=3)
        same(outcome(lambda: getattr(wr, name)(x, out=outs[1])), known, 1e-6)  # noqa: B023
        lazy = wr.from_array(outs[2])
        same(outcome(lambda: getattr(wr, name)(x, out=lazy).compute()), known, 1e-6)  # noqa: B023
        if name not in ("median", "nansum"):
            same(outcome(lambda: getattr(wr, name)(x[abs(x) >= 0], out=outs[3])), known, 1e-6)  # noqa: B023


def test_warnings_are_numpys():
    x, none = wr.from_array(np.arange(4.0), chunks=2), wr.zeros((0, 3))
    never = x + 0 > 100
    unfree = "Degrees of freedom <= 0"
    for act, text in (
        (lambda: none.mean(0), "Mean of empty slice"),
        (lambda: none.astype("i8").mean(0), "Mean of empty slice"),
        (lambda: wr.nanmean(none, axis=0), "Mean of empty slice"),
        (lambda: wr.mean(x, where=never).compute(), "Mean of empty slice"),
        (lambda: x[never].mean().compute(), "Mean of empty slice"),
        (lambda: none.var(0), unfree),
        (lambda: x.std(ddof=4), unfree),
        (lambda: wr.nanvar(x, ddof=4), unfree),
        (lambda: wr.var(x, mean=x.mean(keepdims=True), ddof=9), unfree),
        (lambda: wr.std(x, where=x + 0 > 2, ddof=1).compute(), unfree),
        (lambda: x[x + 0 > 2].var(ddof=1).compute(), unfree),
    ):
        with pytest.warns(RuntimeWarning, match=text):
            act()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (x.std(ddof=3).compute(), x[x + 0 > 1].mean().compute()) == (np.std(np.arange(4.0), ddof=3), 2.5)
        assert wr.mean(x, where=x + 0 > 1).compute() == 2.5
    for name in ("var", "std"):  # whose mean warns of nothing
        with pytest.warns(RuntimeWarning) as caught:
            getattr(wr, name)(x, where=never).compute()
        assert {str(each.message) for each in caught} == {"Degrees of freedom <= 0 for slice"}


@pytest.mark.parametrize("name", ["min", "max", "nanmin", "nanmax", "sum"])
def test_an_initial_value_is_of_a_wider_out(name):
    for data in (np.arange(3, 6), np.arange(3, 6) > 4):
        for initial in (2.5, 9.5):
            outs = np.zeros(()), np.zeros(())
            known = getattr(np, name)(data, initial=initial, out=outs[0])
            assert getattr(wr, name)(wr.from_array(data, chunks=2), initial=initial, out=outs[1]) == known


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmin"])
def test_a_dtype_of_durations_suits_durations(name):
    data = np.array([1500, 700, 3], "m8[ms]")
    x, reduce = wr.from_array(data, chunks=2), getattr(wr, name).reduce
    known = getattr(np, name).reduce(data, dtype="m8")
    assert reduce(x, dtype="m8").dtype == known.dtype
    assert reduce(x, dtype="m8").compute() == known
    for other in (wr.arange(3), wr.asarray(["1", "2"])):
        with pytest.raises(wr.DTypeError, match=f"{name}.reduce: argument"):
            reduce(other, dtype="m8[s]")
    with pytest.raises(wr.DTypeError, match=f"{name}.reduce: argument 'a'"):
        reduce(wr.asarray(["a", "b"]), dtype=float)


def test_an_initial_value_may_be_lazy():
    x = wr.from_array(NUMBERS, chunks=2)
    for name in ("sum", "max", "nanprod"):
        expected = getattr(np, name)(NUMBERS, initial=np.asarray(3), where=NUMBERS > 1)
        np.testing.assert_allclose(getattr(wr, name)(x, initial=wr.asarray(3), where=x > 1), expected)


def test_complex_numbers_about_a_real_mean():
    data = NUMBERS + 1j * NUMBERS[::-1]
    data[1, 1] = complex(1, np.nan)
    x = wr.from_array(data, chunks=2)
    for name in ("nanmean", "nanvar", "nanstd"):
        known = outcome(lambda: getattr(np, name)(data, axis=0, dtype="f8"))  # noqa: B023
        same(outcome(lambda: getattr(wr, name)(x, axis=0, dtype="f8").compute()), known, 1e-12)  # noqa: B023
    some = x[abs(x) < 6]
    plain = data[abs(data) < 6]
    for name, dtype in product(("var", "std", "mean"), ("c16", "f8")):
        known = outcome(lambda: getattr(np, name)(plain, dtype=dtype))  # noqa: B023
        same(outcome(lambda: getattr(wr, name)(some, dtype=dtype).compute()), known, 1e-12)  # noqa: B023


@pytest.mark.parametrize("name", ["argmin", "argmax", "nanargmin", "nanargmax"])
def test_positions_among_very_many_chunks_are_combined_at_once(name, monkeypatch):
    """However many partial results are combined, merges are few: each goes over half of what is left."""
    data = np.random.default_rng(1).integers(0, 50, 5000).astype(float)
    data[[7, 4000]] = np.nan
    head, calls = reductions.REDUCTIONS[name].kernel, []
    stack = np.zeros((5000, 1), [("value", "f8"), ("index", "i8")])
    stack["value"][:, 0], stack["index"][:, 0] = data, np.arange(5000)
    monkeypatch.setattr(np, "where", lambda *args, where=np.where: (calls.append(1), where(*args))[1])
    combined = head.combine(stack)
    assert len(calls) < 100
    monkeypatch.undo()
    assert combined["index"][0] == getattr(np, name)(data)
    for numbers in (data, np.nan_to_num(data)):
        for order in (1, -1):
            wr.testing.assert_equal(
                getattr(wr, name)(wr.from_array(numbers[::order], chunks=1)), getattr(np, name)(numbers[::order])
            )


@pytest.mark.parametrize("name", ["sum", "prod", "nansum", "nanprod", "cumsum", "cumprod"])
@pytest.mark.parametrize(("source", "held"), [("i8", "f8"), ("u1", "f4"), ("i4", "c16"), ("f4", "f8"), ("f2", "f8")])
def test_what_out_holds_does_not_wrap(name, source, held):
    data = np.full(40, 2**62 if source == "i8" else 200).astype(source)
    shape = () if "cum" not in name else (40,)
    expected, filled = np.zeros(shape, held), np.zeros(shape, held)
    lazy = wr.zeros(shape, dtype=held, chunks=-1)
    with np.errstate(all="ignore"):
        getattr(np, name)(data, out=expected)
    getattr(wr, name)(wr.from_array(data, chunks=7), out=filled)
    getattr(wr, name)(wr.from_array(data, chunks=7), out=lazy)
    np.testing.assert_allclose(filled, expected, rtol=1e-6)
    np.testing.assert_array_equal(lazy.compute(), filled)
