"""Calls of SciPy's functions and ours, side by side."""

from __future__ import annotations

import importlib
import warnings

import numpy as np

import windrow as wr


def outcome(function, *args, **keywords):
    """What a call gives, or the error that it ends with."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return function(*args, **keywords)
    except Exception as error:
        return error


def computed(value):
    if isinstance(value, wr.Array):
        return value.compute()
    if isinstance(value, tuple):
        return tuple(map(computed, value))
    return value


def same(space, name, arrays, chunks, *args, rtol=1e-9, atol=1e-11, **keywords):
    """Compare what both give for arrays in chunks: both an error, or equal in values, shape and dtype."""
    theirs = getattr(importlib.import_module(f"scipy.{space}"), name)
    ours = getattr(getattr(wr, space), name)
    want = outcome(theirs, *arrays, *args, **keywords)
    lazy = [wr.from_array(np.asarray(a), chunks=chunks) if np.ndim(a) else a for a in arrays]
    got = outcome(lambda: computed(ours(*lazy, *args, **keywords)))
    told = f"{space}.{name} chunks={chunks} {args} {keywords}"
    if isinstance(want, Exception) or isinstance(got, Exception):
        assert isinstance(want, Exception), f"{told}: ours raised {got!r}"
        assert isinstance(got, Exception), f"{told}: SciPy raised {want!r}, ours gave {got!r}"
        assert isinstance(got, wr.WindrowError), f"{told}: {got!r}"
        return
    alike(want, got, told, rtol, atol)


def alike(want, got, told, rtol=1e-9, atol=1e-11):
    if isinstance(want, tuple | list):
        assert len(want) == len(got), told
        for one, other in zip(want, got, strict=True):
            alike(one, other, told, rtol, atol)
        return
    want, got = np.asarray(want), np.asarray(got)
    assert (want.shape, want.dtype) == (got.shape, got.dtype), told
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=told)
