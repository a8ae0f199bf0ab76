"""Reductions with all of their keywords, drawn by chance, beside NumPy's own: values, dtypes, errors and warnings."""

from __future__ import annotations

import os
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr

NAMES = [
    *("sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "argmin", "argmax", "count_nonzero", "ptp"),
    *("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax", "nanargmin", "nanargmax"),
    *("cumsum", "cumprod", "nancumsum", "nancumprod"),
]
TAKES = {
    "dtype": ("sum", "prod", "mean", "var", "std", "nansum", "nanprod", "nanmean", "nanvar", "nanstd", "cum", "nancum"),
    "ddof": ("var", "std", "nanvar", "nanstd"),
    "where": ("sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "nan"),
    "initial": ("sum", "prod", "min", "max", "nansum", "nanprod", "nanmin", "nanmax"),
}
RECORD = [("a", "i4"), ("b", "U2")]
OTHERS: dict[str, list[Any]] = {
    "M8[s]": [np.datetime64(9, "s"), np.datetime64("NaT"), 2],
    "M8[D]": [np.datetime64(9, "D"), np.datetime64(9, "s"), "x"],
    "m8[s]": [np.timedelta64(2, "s"), np.timedelta64("NaT"), 2, "x"],
    "m8[ns]": [np.timedelta64(2, "s"), 2],
    "S2": [b"b", 0],
    "U2": ["b", 0],
    "record": [0],
    "g": [2, 1.5],
    "G": [2, 1.5j],
    ">f4": [2, 1.5],
    ">i2": [2, 1.5],
}
"""Dtypes beside those of numbers, and what reductions of them begin with."""
DTYPES = ["?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "120"))


def takes(name: str, keyword: str) -> bool:
    """Whether a function has a keyword."""
    among = TAKES[keyword]
    if "arg" in name or ("cum" in name and keyword != "dtype"):
        return False
    return name in among or (name.startswith("nan") and "nan" in among) or ("cum" in name and keyword == "dtype")


def draw_axis(draw: Any, name: str, ndim: int) -> tuple[dict[str, Any], bool]:
    """Draw `axis` and `keepdims`; tell whether the axes are those of an array, each once."""
    keywords: dict[str, Any] = {}
    axes = st.integers(-ndim - 1, ndim)
    forms = [st.none(), axes, axes] if "arg" in name or "cum" in name else [st.none(), axes, st.lists(axes, max_size=3)]
    axis = draw(st.one_of(forms))
    if axis is not None:
        keywords["axis"] = tuple(axis) if isinstance(axis, list) else axis
    several = [axis] if isinstance(axis, int) else axis or []
    places = {a % max(1, ndim) for a in several}
    fits = len(places) == len(several) and all(-ndim <= a < ndim for a in several)
    if fits and "cum" not in name and draw(st.booleans()):
        keywords["keepdims"] = draw(st.booleans())
    return keywords, fits


def draw_mask(draw: Any, shape: tuple[int, ...]) -> Any:
    """Draw a mask that broadcasts to a shape."""
    mask = tuple(n if draw(st.booleans()) else 1 for n in shape)[draw(st.integers(0, len(shape))) :]
    share = draw(st.sampled_from([0, 0.7]))
    return np.random.default_rng(draw(st.integers(0, 9))).random(mask) < share


@st.composite
def calls(draw: Any) -> tuple[str, Any, Any, dict[str, Any], str | None, bool]:
    """Draw a function, data, chunks, keywords, the dtype of `out` and whether a mask selects the elements."""
    name = draw(st.sampled_from(NAMES))
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=3)))
    numbers = np.random.default_rng(draw(st.integers(0, 99))).integers(-2, 4, shape) * draw(st.sampled_from([1, 0.6]))
    source = draw(st.sampled_from(DTYPES))
    data = np.abs(numbers) if source[0] == "u" else numbers
    if source[0] == "c":
        data = data + 1j * data[..., ::-1] if shape else data + 1j
    data = np.asarray(data).astype(source)
    if source[0] in "fc" and data.size and draw(st.booleans()):
        data.flat[draw(st.integers(0, data.size - 1))] = np.nan
    chunks = tuple(draw(st.integers(1, max(1, n))) for n in shape)
    keywords, fits = draw_axis(draw, name, len(shape))
    if not fits:
        return name, data, chunks, keywords, None, False  # one fault at a time: which of several is told may differ
    if takes(name, "dtype") and draw(st.booleans()):
        whole = DTYPES if "std" not in name else [d for d in DTYPES if d[0] in "fc"]  # std refuses others
        keywords["dtype"] = draw(st.sampled_from(whole))
    if takes(name, "ddof"):
        for keyword in draw(st.sampled_from([(), ("ddof",), ("correction",), ("ddof", "correction")])):
            keywords[keyword] = draw(st.sampled_from([0, 1, 2, 9, 1.5]))
    if takes(name, "initial") and draw(st.booleans()):
        keywords["initial"] = draw(st.sampled_from([0, 2, True, 1.5, None]))
    if takes(name, "where") and draw(st.booleans()):
        keywords["where"] = draw_mask(draw, shape)
    none = name in ("count_nonzero", "ptp") or "dtype" in keywords  # NumPy divides in the dtype of `out` then
    kinds = DTYPES[:5] if name.startswith("nanarg") else DTYPES  # those refuse lines of NaN, too
    out = None if none else draw(st.none() | st.none() | st.sampled_from(kinds))
    if out is not None:
        keywords.pop("initial", None)  # NumPy begins with what the dtype of `out` has of it
        lossy = name.startswith("nan") and source[0] == "c" and out[0] != "c"  # a refusal of ours
        if lossy or (out[0] not in "fc" and np.isnan(data).any() and "arg" not in name):  # integers have no NaN
            out = None
        if name.endswith(("min", "max")) and "arg" not in name and not np.can_cast(source, out or source, "safe"):
            out = None  # in NumPy's each element meets what `out` has of the first
    return name, data, chunks, keywords, out, draw(st.integers(0, 3)) == 0 and "where" not in keywords


def outcome(library: Any, name: str, data: Any, keywords: dict[str, Any], out: Any) -> tuple[Any, set[str]]:
    """Return what a call gives, or its error, and which warnings of too few elements came."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = getattr(library, name)(data, **keywords, **({} if out is None else {"out": out}))
            result: Any = np.asarray(found)
        except Exception as error:
            result = error
    few = ("Mean of empty slice", "Degrees of freedom")
    return result, {w.category.__name__ for w in caught if str(w.message).startswith(few)}


def compare(call: tuple[str, Any, Any, dict[str, Any], str | None, bool]) -> None:
    name, data, chunks, keywords, dtype, selects = call
    lazy = wr.from_array(data, chunks=chunks)
    if selects:
        mask = np.random.default_rng(data.size).random(data.shape) < 0.7
        data, lazy = data[mask], lazy[wr.from_array(mask) & True]
    out = mine = None
    if dtype is not None:
        plain = outcome(np, name, data, keywords, None)[0]
        shape = plain.shape if isinstance(plain, np.ndarray) else ()
        out, mine = np.zeros(shape, dtype), np.zeros(shape, dtype)
    expected, told = outcome(np, name, data, keywords, out)
    found, ours = outcome(wr, name, lazy, keywords, mine)
    if isinstance(expected, Exception):
        assert isinstance(found, Exception), (expected, found)
        kinds = [kind for kind in (TypeError, ValueError, IndexError, OverflowError) if isinstance(expected, kind)]
        assert any(isinstance(found, kind) for kind in kinds), (repr(expected), repr(found))
        return
    assert isinstance(found, np.ndarray), repr(found)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    small = {data.dtype.itemsize // (1 + (data.dtype.kind == "c")) if data.dtype.kind in "fc" else 8}
    for each in (expected.dtype, np.dtype(keywords.get("dtype", "f8"))):
        small |= {np.dtype(each).itemsize // (1 + (each.kind == "c"))} if each.kind in "fc" else set()
    if expected.dtype.kind not in "biufc":
        np.testing.assert_array_equal(found, expected)
        return
    rtol = 0.05 if 2 in small else 1e-4 if 4 in small else 1e-11
    if expected.dtype.kind == "c":  # NumPy's complex quotient by zero is inf+nanj
        expected, found = (np.where(np.isfinite(x), x, np.nan) for x in (expected, found))
    np.testing.assert_allclose(found, expected, rtol=rtol if expected.dtype.kind in "fc" else 0, atol=rtol)
    if not name.startswith("nan"):  # which warn of NaN, too
        assert told == ours


@settings(max_examples=EXAMPLES, derandomize="HYPOTHESIS_EXAMPLES" not in os.environ)
@given(calls())
def test_reductions_with_all_keywords(call: Any) -> None:
    compare(call)


@st.composite
def calls_of_others(draw: Any) -> tuple[str, Any, Any, dict[str, Any], str | None, bool]:
    """Draw a function of times, texts, records, or numbers of other sizes and byte orders."""
    name, source = draw(st.sampled_from(NAMES)), draw(st.sampled_from(list(OTHERS)))
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=3)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    if source in ("S2", "U2"):
        data = np.asarray(rng.choice(np.array(["", "a", "bc", "b"], source), shape))
    elif source == "record":
        data = np.zeros(shape, RECORD)
        data["a"], data["b"] = rng.integers(0, 2, shape), rng.choice(np.array(["", "a"]), shape)
    else:
        data = np.asarray(rng.integers(-2, 4, shape)).astype(source)
    if data.dtype.kind in "mMfc" and data.size and draw(st.booleans()):
        data.flat[draw(st.integers(0, data.size - 1))] = "NaT" if data.dtype.kind in "mM" else np.nan
    chunks = tuple(draw(st.integers(1, max(1, n))) for n in shape)
    keywords, fits = draw_axis(draw, name, len(shape))
    if name == "count_nonzero" and source == "record":
        keywords = {}  # with an axis NumPy casts records to bool, and fails
    if not fits:
        return name, data, chunks, keywords, None, False
    if takes(name, "dtype") and data.dtype.kind in "mMf" and draw(st.booleans()):
        keywords["dtype"] = draw(st.sampled_from(["f8", "i8", "m8" if source[0] == "m" else "g"]))
    if takes(name, "ddof") and draw(st.booleans()):
        keywords["ddof"] = 1
    if takes(name, "initial") and draw(st.booleans()):
        keywords["initial"] = draw(st.sampled_from([None, *OTHERS[source]]))
    if takes(name, "where") and draw(st.booleans()):
        keywords["where"] = draw_mask(draw, shape)
    return name, data, chunks, keywords, None, draw(st.integers(0, 3)) == 0 and "where" not in keywords


@settings(max_examples=EXAMPLES, derandomize="HYPOTHESIS_EXAMPLES" not in os.environ)
@given(calls_of_others())
def test_reductions_of_times_texts_and_records(call: Any) -> None:
    compare(call)


@pytest.mark.parametrize("name", [*NAMES[:5], *NAMES[13:18]])
def test_out_and_dtype_of_other_kinds_give_numpys_values_or_its_refusal(name: str) -> None:
    numbers = np.linspace(-2.7, 5.3, 12).reshape(3, 4)
    for source, dtype, held in product(("i8", "f8", "c16", "?"), ("i8", "?", "f8", "c16"), ("i8", "f8", "c16", "?")):
        data = (numbers > 0) if source == "?" else (numbers + (1j if source == "c16" else 0)).astype(source)
        lazy, keywords, label = wr.from_array(data, chunks=2), {"axis": 0, "dtype": dtype}, f"{source}, {dtype}, {held}"
        expected = outcome(np, name, data, keywords, np.zeros(4, held))[0]
        found = outcome(wr, name, lazy, keywords, np.zeros(4, held))[0]
        if isinstance(expected, Exception):
            assert isinstance(found, TypeError), (label, expected, found)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=label)


def test_masked_means_of_integers_are_divided_within_out() -> None:
    data, mask = np.arange(7.0), np.arange(7) % 3 > 0
    for name in ("mean", "var"):
        choices: list[dict[str, Any]] = [{"where": mask}, {"where": np.zeros(7, bool), "axis": 0}]
        for keywords in choices:
            theirs, ours = np.zeros(()), np.zeros(())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                getattr(np, name)(data, dtype=int, out=theirs, **keywords)
                getattr(wr, name)(wr.from_array(data, chunks=3), dtype=int, out=ours, **keywords)
            np.testing.assert_array_equal(ours, theirs)
        x = wr.from_array(data, chunks=3)
        getattr(np, name)(data[mask], dtype=int, out=theirs)
        getattr(wr, name)(x[wr.from_array(mask)], dtype=int, out=ours)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "keywords", [{"mean": 0.5, "dtype": "f4"}, {"mean": 0.5}, {"dtype": "f4"}, {"mean": np._NoValue}]
)
@pytest.mark.parametrize("name", ["nanvar", "nanstd"])
def test_spreads_of_complex_numbers_count_both_parts(name, keywords):
    x = np.array([1 + 2j, 2 - 1j, np.nan])
    lazy = getattr(wr, name)(wr.from_array(x, chunks=2), **keywords).compute()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        expected = getattr(np, name)(x, **keywords)
    assert lazy.dtype == expected.dtype
    np.testing.assert_allclose(lazy, expected, rtol=1e-6)


def test_running_sums_of_durations_begin_with_none():
    x = np.array([1, 2, 3], "m8[s]")
    lazy = wr.cumulative_sum(wr.from_array(x, chunks=2), include_initial=True).compute()
    np.testing.assert_array_equal(lazy, np.cumulative_sum(x, include_initial=True))
