"""What NumPy converts a function's arguments to before it computes, and scalars so converted."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .....graph.kinds.elementwise import Scalar
from .instructions import UFUNCS
from .text import DType, NotCompilable, kind

Given = DType | Scalar


def loop(name: str, args: list[Given]) -> tuple[list[DType], DType]:
    """Return the dtypes to which NumPy converts a ufunc's arguments, all one, and that of its result.

    Raises
    ------
    NotCompilable
        When there is none, or no compiled loop for it.
    """
    if name not in UFUNCS:
        raise NotCompilable("no compiled loop gives its bits")
    operand_types: list[Any] = [_promote(a.value) if isinstance(a, Scalar) else a for a in args]
    try:
        dtypes = getattr(np, name).resolve_dtypes((*operand_types, None))
    except (TypeError, ValueError) as error:
        raise NotCompilable(f"{name} of these dtypes") from error
    if len(set(dtypes[:-1])) != 1 or kind(dtypes[0]) not in UFUNCS[name]:
        raise NotCompilable(f"no compiled loop for {dtypes[0]}")
    if name in ("minimum", "maximum") and dtypes[0].kind == "f" and not _zeros_and_nans():
        raise NotCompilable("NumPy's takes zeros and NaNs otherwise on this machine")
    if name.startswith("logical"):
        if any(isinstance(a, Scalar) for a in args):
            raise NotCompilable(f"{name} of a scalar")
        return [np.dtype(bool)] * (len(dtypes) - 1), dtypes[-1]
    return list(dtypes[:-1]), dtypes[-1]


def loop_dtypes(name: str, args: list[Given]) -> tuple[DType, ...] | None:
    """Return the dtypes of the loop that NumPy takes for a ufunc's arguments, and of its result; None without one."""
    ufunc = getattr(np, name, None)
    if not isinstance(ufunc, np.ufunc) or ufunc.nin != len(args) or ufunc.nout != 1:
        return None
    try:
        operand_types = [_promote(a.value) if isinstance(a, Scalar) else a for a in args]
        dtypes: tuple[DType, ...] = ufunc.resolve_dtypes((*operand_types, None))
    except (NotCompilable, TypeError, ValueError):
        return None
    return dtypes


def _promote(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.dtype
    if isinstance(value, bool):
        return np.dtype(bool)
    if type(value) in (int, float, complex):
        return type(value)
    raise NotCompilable(f"scalar {value!r}")


@lru_cache(maxsize=1)
def _zeros_and_nans() -> bool:
    """Whether NumPy's minimum and maximum take zeros and NaNs as `_better_float` does."""
    some = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0])
    a, b = (np.tile(x.ravel(), 3) for x in np.meshgrid(some, some))
    for x, y in ((a, b), (a.astype("f4"), b.astype("f4"))):
        for ufunc, better in ((np.minimum, x < y), (np.maximum, x > y)):
            wanted = np.where(np.isnan(x) | better, x, y)
            for n in (1, 7, len(x)):
                actual = np.concatenate([ufunc(x[i : i + n], y[i : i + n]) for i in range(0, len(x), n)])
                if actual.tobytes() != wanted.tobytes():
                    return False
    return True


def constant(value: Any, dtype: DType, name: str) -> bytes:
    """Return a scalar in eight bytes, converted as NumPy does."""
    if not isinstance(value, np.generic) and type(value) not in (bool, int, float):
        raise NotCompilable(f"scalar {value!r}")
    if kind(dtype) != "f" and np.asarray(value).dtype.kind == "f":
        raise NotCompilable("floats to integers")
    try:
        with np.errstate(all="ignore"):
            scalar = np.asarray(value).astype(dtype) if isinstance(value, np.generic) else np.array(value, dtype)
    except (OverflowError, TypeError, ValueError) as error:
        raise NotCompilable(f"scalar {value!r}") from error
    if name not in UFUNCS and isinstance(value, int) and int(scalar) != int(value):
        raise NotCompilable(f"scalar {value!r}")
    return scalar.tobytes().ljust(8, b"\0")
