"""Lazy arrays beside what NumPy gives."""

from __future__ import annotations

import numpy as np

import windrow as wr


def lazies(a):
    """The same array in one chunk, in small ones, in uneven ones."""
    uneven = tuple((1, n - 1) if n > 1 else (n,) for n in a.shape)
    return [wr.from_array(a, chunks=chunks) for chunks in (-1, 2, uneven)]


def same(lazy, expected, rtol=0.0, atol=0.0):
    """Compare values, dtype and shape of an array, or of each of several: as it says, and as computed.

    Values are equal, NaN to NaN, unless there is a tolerance.
    """
    if isinstance(expected, tuple | list):
        assert isinstance(lazy, tuple | list)
        assert len(lazy) == len(expected)
        for one, other in zip(lazy, expected, strict=True):
            same(one, other, rtol, atol)
        return
    assert isinstance(lazy, wr.Array)
    computed = lazy.compute()
    assert isinstance(computed, np.ndarray) == isinstance(expected, np.ndarray)
    assert lazy.dtype == computed.dtype == np.asarray(expected).dtype
    assert lazy.shape == computed.shape == np.shape(expected)
    if rtol or atol:
        np.testing.assert_allclose(computed, expected, rtol=rtol, atol=atol)
    else:
        np.testing.assert_array_equal(computed, expected)


def close(lazy, expected, rtol=1e-13, least=1e-3):
    """Compare as `same` does, up to rounding relative to the largest finite element, or to `least` if that is more."""
    expected = np.asarray(expected)
    computed = np.asarray(lazy.compute())
    assert lazy.dtype == computed.dtype == expected.dtype
    assert lazy.shape == computed.shape == expected.shape
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(computed, expected)
        return
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=least)
    np.testing.assert_allclose(computed, expected, rtol=rtol, atol=rtol * largest)
