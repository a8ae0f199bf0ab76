"""NumPy's own inner loops by their addresses, so that compiled code can call them without Python's lock.

A ufunc says in its C structure, which is part of NumPy's stable interface, which loop it has for which dtypes:
`loop(char **args, npy_intp *count, npy_intp *strides, void *data)`. NumPy calls these without the lock, too.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

DType = np.dtype[Any]
_SAMPLE = 67
"""Elements on which a loop is tried: some vectors, and some elements more."""


@lru_cache(maxsize=512)
def loop_of(name: str, dtypes: tuple[DType, ...]) -> tuple[int, int] | None:
    """Return the address of a ufunc's loop for the dtypes of its inputs and output, and of its data; None without one.

    It is tried beside the ufunc, to the bit.
    """
    ufunc = getattr(np, name, None)
    if not isinstance(ufunc, np.ufunc) or ufunc.nout != 1 or len(dtypes) != ufunc.nargs or ufunc.signature:
        return None
    if any(not d.isnative or d.kind not in "biufc" for d in dtypes):
        return None
    if name == "power" and dtypes[-1].kind in "iu":  # its loops raise errors of Python's
        return None
    at = id(ufunc) + object.__basicsize__
    nin, nout, nargs, _ = (ctypes.c_int * 4).from_address(at)
    functions, data = (ctypes.c_void_p * 2).from_address(at + 16)
    (ntypes,) = (ctypes.c_int * 1).from_address(at + 32)
    types = ctypes.c_void_p.from_address(at + 48).value
    if (nin, nout, nargs, ntypes) != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes) or not (functions and types):
        return None
    wanted = bytes(d.num for d in dtypes)
    for i in range(ntypes):
        if ctypes.string_at(types + i * nargs, nargs) == wanted:
            size = ctypes.sizeof(ctypes.c_void_p)
            function = ctypes.c_void_p.from_address(functions + i * size).value
            more = ctypes.c_void_p.from_address(data + i * size).value if data else None
            addresses = function or 0, more or 0
            return addresses if function and _agrees(ufunc, dtypes, *addresses) else None
    return None


def _agrees(ufunc: np.ufunc, dtypes: tuple[DType, ...], function: int, data: int) -> bool:
    """Whether a loop does on some numbers what the ufunc does."""
    draw = np.random.Generator(np.random.Philox(1))
    with np.errstate(all="ignore"):
        inputs = [_some(draw, dtype) for dtype in dtypes[:-1]]
        output = np.zeros(_SAMPLE, dtypes[-1])
        arrays = [*inputs, output]
        places = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        strides = (ctypes.c_ssize_t * len(arrays))(*[a.itemsize for a in arrays])
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(function)
        call(places, ctypes.byref(ctypes.c_ssize_t(_SAMPLE)), strides, data or None)
        wanted = ufunc(*inputs, out=np.zeros(_SAMPLE, dtypes[-1]))
    return bool(output.tobytes() == wanted.tobytes())


def _some(draw: np.random.Generator, dtype: DType) -> np.ndarray[Any, Any]:
    if dtype.kind in "fc":
        samples = (draw.standard_normal(_SAMPLE) * 10).astype(dtype)
        samples[:6] = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0]
        return samples
    return draw.integers(0, 2 if dtype.kind == "b" else 60, _SAMPLE).astype(dtype)
