"""SciPy's ufuncs stay lazy on lazy arrays: those of several results too, and with `dtype=`."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr

special = pytest.importorskip("scipy.special")

A = np.random.default_rng(0).random((7, 9)) + 0.1
UFUNCS = sorted(name for name in dir(special) if isinstance(getattr(special, name), np.ufunc))


def made(ufunc, x, **keywords):
    """What a ufunc gives, or None where it doesn't take such numbers."""
    try:
        with np.errstate(all="ignore"):
            return ufunc(*[x] * ufunc.nin, **keywords)
    except TypeError:
        return None


def few(number, name):
    """Those of several results are all tried, and some others; the rest where there is time."""
    often = getattr(special, name).nout > 1 or number % 12 == 0
    return name if often else pytest.param(name, marks=pytest.mark.slow)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [few(i, name) for i, name in enumerate(UFUNCS)])
def test_every_ufunc_is_lazy(name):
    ufunc = getattr(special, name)
    if ufunc.signature is not None:
        pytest.skip("it has core axes")
    for x in (A, np.arange(1, 64).reshape(7, 9)):
        want = made(ufunc, x)
        if want is None:
            continue
        with np.errstate(all="ignore"):
            got = ufunc(*[wr.from_array(x, chunks=(3, 4))] * ufunc.nin)
        several = (got, want) if ufunc.nout > 1 else ((got,), (want,))
        for one, other in zip(*several, strict=True):
            assert isinstance(one, wr.Array)
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one.compute(), other)


def test_dtype_and_outputs():
    x = wr.from_array(A.astype("f4"), chunks=4)
    assert special.gamma(x).dtype == np.float32
    found = special.gamma(x, dtype="f8")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, special.gamma(A.astype("f4"), dtype="f8"))
    out = wr.zeros(A.shape)
    si, ci = special.sici(wr.from_array(A, chunks=4), out=(out, None))
    assert si is out
    np.testing.assert_array_equal(out, special.sici(A)[0])
    np.testing.assert_array_equal(ci, special.sici(A)[1])
    with pytest.raises(wr.ArgumentError, match="gamma doesn't take lazy arrays with where"):
        special.gamma(x, where=A > 1)
    np.testing.assert_array_equal(special.ellipj(x, 0.5)[3], special.ellipj(A.astype("f4"), 0.5)[3])
