"""Reductions of what lazy masks select: NumPy's values, without the elements' being selected."""

from itertools import product

import numpy as np
import pytest

import windrow as wr
from windrow.arrays.execution.deferred import Unsized

SHAPE = (7, 9, 5)
RNG = np.random.default_rng(5)
NUMBERS = RNG.standard_normal(SHAPE) * 20
DTYPES = ["f4", "f2", "c16", "i4", "u1", "?"]
NAMES = ["sum", "prod", "mean", "min", "max", "any", "all", "count_nonzero", "var", "std"]
MASKS = {
    "all axes": NUMBERS > 3,
    "two axes": NUMBERS[:, :, 0] > 3,
    "one axis": NUMBERS[:, 0, 0] > 3,
    "nothing": np.zeros(SHAPE, bool),
}


@pytest.fixture
def no_recipe(monkeypatch):
    """Have a selection's elements never be found."""
    monkeypatch.setattr(Unsized, "_run", lambda self: pytest.fail("the elements were selected"))


def elements(dtype):
    if dtype == "c16":
        return NUMBERS + 1j * NUMBERS[::-1]
    return (NUMBERS > 0) if dtype == "?" else np.abs(NUMBERS).astype(dtype) if dtype == "u1" else NUMBERS.astype(dtype)


def outcome(act):
    with np.errstate(all="ignore"):
        try:
            return np.asarray(act())
        except ValueError as error:
            return error


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "dtype"), [*((n, "f8") for n in NAMES), *product(["mean", "max", "std"], DTYPES)])
@pytest.mark.parametrize("mask", MASKS)
def test_values_are_numpys(name, dtype, mask):
    x, m = elements(dtype), MASKS[mask]
    lazy, lazy_mask = wr.from_array(x, chunks=(3, 4, 2)), wr.from_array(m, chunks=4) & (wr.random.random(m.shape) >= 0)
    tolerance = {"f2": 0.02, "f4": 1e-5}.get(dtype, 1e-12)
    for axis in (None, *range(x.ndim - m.ndim + 1)):
        for keepdims in (False, True):
            with np.errstate(all="ignore"):
                expected = outcome(lambda: getattr(np, name)(x[m], axis=axis, keepdims=keepdims))  # noqa: B023
            made = outcome(lambda: getattr(wr, name)(lazy[lazy_mask], axis=axis, keepdims=keepdims).compute())  # noqa: B023
            assert type(expected) is np.ndarray or (isinstance(expected, ValueError) and isinstance(made, ValueError))
            if type(expected) is np.ndarray:
                assert (made.shape, made.dtype) == (expected.shape, expected.dtype)
                np.testing.assert_allclose(made, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("no_recipe")
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_selected(name):
    x = wr.from_array(NUMBERS, chunks=4)
    chosen = NUMBERS[NUMBERS > 0]
    np.testing.assert_allclose(getattr(np, name)(x[x + 0 > 0]).compute(), getattr(np, name)(chosen))
    np.testing.assert_allclose(getattr(wr, name)(x[x + 0 > 0] * 2 + 1).compute(), getattr(np, name)(chosen * 2 + 1))


@pytest.mark.usefixtures("no_recipe")
def test_arguments():
    x = wr.from_array(NUMBERS, chunks=4)
    mask, chosen = x + 0 > 0, NUMBERS[NUMBERS > 0]
    np.testing.assert_allclose(x[mask].std(ddof=1).compute(), chosen.std(ddof=1))
    np.testing.assert_allclose(x[mask].var(correction=2).compute(), chosen.var(ddof=2))
    assert x[mask].mean(dtype="f4").compute().dtype == np.float32
    assert x[mask].max(initial=1e6).compute() == 1e6
    np.testing.assert_allclose(x[mask].sum(initial=3).compute(), chosen.sum() + 3)
    out = np.zeros(())
    x[mask].mean(out=out)
    np.testing.assert_allclose(out, chosen.mean())


def test_not_a_number_and_nothing():
    x = wr.from_array(np.array([1.0, np.nan, -1.0, np.inf]), chunks=1)
    keep = wr.random.random(4) >= 0
    for name in ("mean", "std", "max", "min", "sum"):
        assert np.isnan(getattr(wr, name)(x[(x != np.inf) & keep]).compute()), name
    assert x[(x > 0) & keep].mean().compute() == np.inf
    assert x[(x < 0) & keep].min().compute() == -1
    with pytest.raises(ValueError, match="max: the mask selects no elements"):
        x[(x > np.inf) & keep].max().compute()


def test_selections_take_what_they_must():
    """Along other axes, and where more is asked for, elements are selected as ever."""
    x = wr.from_array(NUMBERS, chunks=4)
    rows = NUMBERS[:, 0, 0] > 0
    lazy = wr.from_array(rows) & (wr.random.random(7) >= 0)
    np.testing.assert_allclose(x[lazy].mean(axis=1).compute(), NUMBERS[rows].mean(axis=1))
    where = NUMBERS[rows] > 1
    np.testing.assert_allclose(wr.sum(x[lazy], where=where).compute(), NUMBERS[rows].sum(where=where))
    with pytest.raises(ValueError, match="ddof"):
        x[x > 0].std(ddof="one")


def test_where_that_selects_all_and_what_is_left_to_the_selection():
    a = np.arange(10.0)
    x = wr.asarray(a, chunks=3)
    part = a[a > 2]
    for name in ("sum", "min", "max", "any", "all", "mean", "var"):
        keywords = {"initial": 100.0} if name in ("min",) else {}
        expected = getattr(np, name)(part, where=True, **keywords)
        np.testing.assert_allclose(getattr(wr, name)(x[x > 2], where=True, **keywords).compute(), expected)
    np.testing.assert_allclose(
        wr.var(x[x > 2], ddof=np.int64(1), keepdims=True).compute(), part.var(ddof=1, keepdims=True)
    )
    with pytest.raises(ValueError):
        wr.std(x[x > 2], correction=1, ddof=1, keepdims=True)
