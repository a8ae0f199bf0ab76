"""Functions that `xarray.apply_ufunc` calls: what they return, and what was said of it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import windrow as wr

xr = pytest.importorskip("xarray")


@pytest.fixture
def x():
    return xr.DataArray(wr.from_array(np.arange(12.0).reshape(3, 4) / 3, chunks=(1, 4)), dims=("y", "x"))


def apply(x, function, dtypes, **kwargs):
    return xr.apply_ufunc(function, x, dask="parallelized", output_dtypes=dtypes, **kwargs)


@pytest.mark.parametrize("core", [False, True])
def test_digits_that_a_cast_loses_are_told(x, core):
    kwargs = {"input_core_dims": [["x"]]} if core else {}
    mean = (lambda a: a.mean(-1)) if core else (lambda a: a * 2)
    found = apply(x, mean, ["f4"], **kwargs)
    with pytest.warns(UserWarning, match=r"apply_ufunc: '<lambda>' returned float64, which is cast to float32"):
        values = found.compute()
    assert values.dtype == np.float32
    two = apply(x, lambda a: (a, a.astype("f4")), ["f4", "f4"], output_core_dims=[[], []])
    with pytest.warns(UserWarning, match="returned float64, which is cast to float32"):
        assert [each.dtype for each in wr.compute(*two)] == ["f4", "f4"]


def test_casts_that_lose_nothing_are_not(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function, dtypes in [(np.sqrt, ["f8"]), (lambda a: a.astype("f4"), ["f8"]), (lambda a: a > 1, ["i4"])]:
            assert apply(x, function, dtypes).compute().dtype == dtypes[0]


def test_what_cannot_be_cast_is_refused(x):
    for function, dtypes in [(lambda a: a + 0.5, ["i8"]), (lambda a: a * 1j, ["f8"])]:
        with pytest.raises(wr.DTypeError, match="<lambda>: the function returned dtype"):
            apply(x, function, dtypes).compute()
