"""What stands in for dask in xarray's tests of it: the names that they use, on Windrow."""

from __future__ import annotations

import contextlib
import sys
import types

import numpy as np
import xarray as xr

import windrow as wr
from windrow.scheduler.session.session import Session

array, compute, persist = wr, wr.compute, wr.persist
core = local = threaded = multiprocessing = None


class Computed:
    """Counts what is computed, and refuses more than is allowed."""

    def __init__(self):
        self.limits = []
        run, keep = Session.run, Session.keep
        Session.run = lambda session, roots: self.note() or run(session, roots)
        Session.keep = lambda session, roots: self.note() or keep(session, roots)

    def note(self):
        """Note a computation."""
        for limit in self.limits:
            limit[0] += 1
            if limit[0] > limit[1]:
                raise RuntimeError(f"Too many computes. Total: {limit[0]} > max: {limit[1]}.")


COMPUTED = Computed()


@contextlib.contextmanager
def raise_if_dask_computes(max_computes=0):
    """Refuse to compute more often than this."""
    limit = [0, max_computes]
    COMPUTED.limits.append(limit)
    try:
        yield
    finally:
        COMPUTED.limits.remove(limit)


def is_dask_collection(x):
    """Tell whether something is lazy."""
    variables = getattr(x, "variables", None)
    if variables is None:
        coords = [c.variable for c in getattr(x, "coords", {}).values()]
        variables = dict(enumerate([x, *coords]))
    return any(isinstance(getattr(v, "_data", getattr(v, "data", v)), wr.Array) for v in variables.values())


def delayed(function, name=None):
    """Return a function whose calls are made later."""
    return lambda *args: (function, args)


def from_delayed(value, shape, dtype, name=None):
    """Return an array of one chunk that a call makes."""
    function, args = value
    return wr.map_blocks(lambda: function(*args), chunks=tuple((n,) for n in shape), dtype=dtype)


class Base:
    """dask.base."""

    @staticmethod
    def tokenize(*given):
        """Name what is given: dask's own, which asks arrays for theirs."""
        from dask.base import tokenize

        return tokenize(*given)


base = Base()


class Config:
    """dask.config."""

    @staticmethod
    def set(**_):
        """Windrow has one scheduler."""
        return contextlib.nullcontext()


config = Config()


def install():
    """Put all this where xarray's tests look for dask."""
    import xarray.tests as tests

    xr.set_options(chunk_manager="windrow")
    space = types.SimpleNamespace(
        **{name: getattr(wr, name) for name in dir(wr) if not name.startswith("_")} | {"from_delayed": from_delayed}
    )
    tests.dask_array_api, tests.dask_array_type = space, wr.Array
    tests.raise_if_dask_computes = raise_if_dask_computes
    sys.modules["windrow_in_place_of_dask"] = sys.modules[__name__]
    assert np is not None
