"""Errors of reductions: each names the function and the argument, and is of the class that NumPy raises."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest

import windrow as wr

REDUCTIONS = [
    *("sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "argmin", "argmax", "count_nonzero", "ptp"),
    *("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax", "nanargmin", "nanargmax"),
    *("cumsum", "cumprod", "nancumsum", "nancumprod", "average", "moment", "add.reduce", "maximum.reduce"),
    *("cumulative_sum", "cumulative_prod", "add.accumulate"),
]
TEXT_TAKEN = ("any", "all", "argmin", "argmax", "count_nonzero", "nanargmin", "nanargmax")
NUMBERS = np.arange(12.0).reshape(3, 4)
MASK = np.ones((3, 4), bool)
FAULTS: dict[str, list[Any]] = {
    "axis": [7, "x", (0, 7)],
    "dtype": ["U3", "M8[s]", object, "no dtype"],
    "where": [np.ones((3, 4)), np.ones((2, 3, 4), bool), np.ones(3, bool), "x"],
    "keepdims": [3, "x", np.array([True, False]), np._NoValue],
    "initial": [[1, 2], "x"],
    "ddof": ["x"],
    "correction": ["x"],
    "mean": ["x", np.ones(3), ["a", "b", "c", "d"]],
    "weights": [["a"] * 12, np.ones(3)],
    "out": [3, np.zeros(9)],
    "method": ["x"],
    "include_initial": [3],
}


def function(name: str) -> Any:
    call: Any = wr
    for part in name.split("."):
        call = getattr(call, part)
    return call


def call(name: str, data: Any, **keywords: Any) -> Any:
    if name == "moment":
        keywords = {"order": 2} | keywords
    if name.startswith("cumulative") or name == "add.accumulate":
        keywords = {"axis": 0} | keywords
    return function(name)(data, **keywords)


def fails(name: str, data: Any, **keywords: Any) -> str:
    """Return what the error of a call says; it must be one of Windrow's, and name the call."""
    with pytest.raises(wr.WindrowError) as caught:
        call(name, data, **keywords)
    text = str(caught.value)
    assert text.startswith(f"{name}: "), (keywords, text)
    return text


@pytest.mark.parametrize("name", REDUCTIONS)
def test_errors_name_the_function_that_was_called(name: str) -> None:
    known = inspect.signature(function(name)).parameters
    for dtype in ("f8", "f4", "i4", "?", "c16"):
        x = wr.from_array((NUMBERS > 3 if dtype == "?" else NUMBERS).astype(dtype), chunks=2)
        for keyword in FAULTS.keys() & known.keys():
            for wrong in FAULTS[keyword]:
                if dtype == "?" and keyword == "initial" and wrong == "x":
                    continue  # which is true
                fails(name, x, **{keyword: wrong})
                if "where" in known and keyword not in ("where", "out"):
                    begins = {"initial": 1} if "initial" in known and keyword != "initial" else {}
                    fails(name, x, **begins, where=MASK, **{keyword: wrong})
    fails(name, object())
    for texts in (np.array(["a", "b"]), np.array([b"a", b"b"])):
        if name not in TEXT_TAKEN:
            fails(name, wr.from_array(texts, chunks=1))


@pytest.mark.parametrize("name", ["median", "nanmedian", "percentile", "nanquantile"])
def test_errors_of_order_statistics_name_the_function(name: str) -> None:
    q: dict[str, Any] = {} if "median" in name else {"q": 0.5}
    for wrong in ({"axis": 7}, {"axis": "x"}, {"out": 3}, *({"keepdims": each} for each in FAULTS["keepdims"])):
        fails(name, wr.from_array(NUMBERS, chunks=2), **q, **wrong)
    fails(name, wr.from_array(np.array(["a", "b"])), **q)


@pytest.mark.parametrize("name", ["cov", "corrcoef"])
def test_errors_of_covariances_name_the_function(name: str) -> None:
    x = wr.from_array(NUMBERS, chunks=2)
    for wrong in (
        {"y": np.ones((2, 3))},
        {"y": np.ones((2, 3, 4))},
        {"y": ["a", "b"]},
        {"dtype": "U3"},
        {"dtype": object},
    ):
        fails(name, x, **wrong)
    texts = fails(name, np.array(["a", "b"]))
    assert f"argument {'m' if name == 'cov' else 'x'!r}" in texts
    with pytest.warns(RuntimeWarning, match=f"^{name}: there are no degrees of freedom"):
        call(name, np.ones((2, 1)))


def test_errors_of_traces_and_products_name_the_function() -> None:
    texts = wr.from_array(np.array([["a", "b"], ["c", "d"]]))
    assert "argument 'dtype'" in fails("trace", wr.eye(2), dtype="U3")
    for name in ("trace", "linalg.trace"):
        with pytest.raises(wr.DTypeError, match=r"^trace: argument 'a'"):
            function(name)(texts)
    for name in ("dot", "vdot", "inner", "outer", "kron"):
        operands = texts[0], wr.ones(2)
        with pytest.raises(wr.DTypeError, match=f"^{name}: operands"):
            function(name)(*operands)
    times = wr.from_array(np.array([1, 2, 3], "m8[s]"))
    for other in (times, np.array([1, 2, 3], "M8[s]")):
        with pytest.raises(wr.DTypeError, match=r"^cross: operands"):
            wr.cross(times, other)
    for name, operand in (
        ("ediff1d", wr.arange(4) > 1),
        ("trapezoid", wr.asarray(np.array([1, 2], "M8[s]"))),
        ("diff", texts),
    ):
        with pytest.raises(wr.DTypeError, match=f"^{name}: operands"):
            function(name)(operand)
    with pytest.raises(wr.DTypeError, match=r"^unwrap: argument 'p'"):
        wr.unwrap(times)
    with pytest.raises(wr.DTypeError, match=r"^inner: operands"):
        wr.inner(texts[0, 0], wr.ones(()))
    for name in ("dot", "vdot", "inner"):
        with pytest.raises(wr.ShapeError, match=rf"^{name}: operands have shapes \(3,\) and \(2,\)"):
            function(name)(wr.ones(3), wr.ones(2))


def test_booleans_are_not_subtracted_from_their_mean() -> None:
    with pytest.raises(TypeError, match="boolean subtract"):
        np.var(NUMBERS > 3, dtype=bool)
    assert "argument 'dtype'" in fails("var", wr.from_array(NUMBERS > 3, chunks=2), dtype=bool)


def test_running_sums_blame_the_dtype_that_does_not_fit() -> None:
    x = wr.arange(3)
    assert "argument 'dtype'" in fails("cumsum", x, dtype="M8[s]")
    assert "argument 'dtype'" in fails("add.accumulate", x, dtype="M8[s]")
    texts = wr.from_array(np.array(["a", "b"]))
    assert "argument 'a'" in fails("cumprod", texts)
    assert "argument 'a'" in fails("cumprod", texts, dtype=float)
    assert "argument 'x'" in fails("cumulative_prod", texts)
    assert "argument 'array'" in fails("add.accumulate", wr.from_array(np.array([1, 2], "M8[s]")))


@pytest.mark.parametrize("name", ["nanmean", "nanvar", "nanstd", "nansum", "nanmin", "mean", "std", "max"])
def test_masks_are_of_bool_and_no_wider_than_the_array(name: str) -> None:
    begins = {"initial": 0} if name in ("nanmin", "max") else {}
    x = wr.from_array(NUMBERS, chunks=2)
    for mask in (np.ones((3, 4)), np.ones((3, 4), int)):
        with pytest.raises(wr.DTypeError, match=rf"^{name}: argument 'where' is dtype.*; expected an array of bool"):
            call(name, x, where=mask, **begins)
        with pytest.raises(TypeError):
            getattr(np, name)(NUMBERS, where=mask, **begins)
    with pytest.raises(wr.ShapeError, match=rf"^{name}: argument 'where' is \(2, 3, 4\)"):
        call(name, x, where=np.ones((2, 3, 4), bool), **begins)
    with pytest.raises(ValueError, match=r"broadcast|remapping"):
        getattr(np, name)(NUMBERS, where=np.ones((2, 3, 4), bool), **begins)


@pytest.mark.parametrize(
    "name", ["sum", "prod", "nansum", "nanprod", "min", "nanmax", "add.reduce", "logical_or.reduce"]
)
def test_no_initial_value_begins_with_the_first_element(name: str) -> None:
    numpys: Any = np
    for part in name.split("."):
        numpys = getattr(numpys, part)
    for shape, axis in (((0,), 0), ((2, 0), 1), ((0, 2), 0)):
        with pytest.raises(ValueError, match="identity"):
            numpys(np.zeros(shape), axis=axis, initial=None)
        assert "no elements" in fails(name, wr.zeros(shape), axis=axis, initial=None)
    with pytest.raises(ValueError, match="identity"):
        numpys(NUMBERS, initial=None, where=MASK)
    assert "argument 'initial'" in fails(name, wr.from_array(NUMBERS, chunks=2), initial=None, where=MASK)
    kept = numpys(np.zeros((2, 0)), axis=0, initial=None)
    np.testing.assert_array_equal(call(name, wr.zeros((2, 0)), axis=0, initial=None), kept)
    np.testing.assert_array_equal(
        call(name, wr.from_array(NUMBERS, chunks=2), axis=1, initial=None), numpys(NUMBERS, axis=1, initial=None)
    )
    if "." not in name:
        x = wr.from_array(NUMBERS, chunks=2)
        np.testing.assert_array_equal(call(name, x[x > 3], initial=None), numpys(NUMBERS[NUMBERS > 3], initial=None))
        with pytest.raises(ValueError, match=name):
            call(name, x[x > 99], initial=None).compute()


BLAMED = {
    "interpreted as an integer": "keepdims",
    "Cannot cast array data": "where",
    "signature": "dtype",
    "U3": "dtype",
    "could not convert": "initial",
}
"""What NumPy's words say of the argument that is at fault."""


def blamed(error: BaseException) -> str:
    if isinstance(error, np.exceptions.AxisError):
        return "axis"
    return next(argument for words, argument in BLAMED.items() if words in str(error))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "nanmin", "any", "mean", "var", "nansum"])
def test_of_two_faults_numpys_is_told(name: str) -> None:
    faults = {"axis": 7, "dtype": "U3", "where": NUMBERS, "keepdims": "x", "initial": "x"}
    known = faults.keys() & inspect.signature(getattr(wr, name)).parameters.keys()
    for wrong in itertools.combinations(sorted(known), 2):
        keywords = {keyword: faults[keyword] for keyword in wrong}
        with pytest.raises((TypeError, ValueError)) as numpys:
            getattr(np, name)(NUMBERS, **keywords)
        classes = np.exceptions.AxisError if blamed(numpys.value) == "axis" else TypeError
        with pytest.raises(classes, match=f"argument '{blamed(numpys.value)}'"):
            call(name, wr.from_array(NUMBERS, chunks=2), **keywords)


def test_dtypes_that_cut_off_are_refused() -> None:
    durations = wr.from_array(np.array([1, 2, 3], "m8[s]"), chunks=2)
    for name in ("mean", "nanmean"):
        assert "argument 'dtype'" in fails(name, durations, dtype="U3")
    assert "argument 'dtype'" in fails("cov", wr.from_array(NUMBERS, chunks=2), dtype="i4")
