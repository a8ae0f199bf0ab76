"""Missing values filled along an axis, interpolation, and least squares, lazily."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ...array import Array
from ...user_functions.filling import push
from ...user_functions.gufunc import apply_gufunc

if TYPE_CHECKING:
    from collections.abc import Callable


def fill_forward(array: Array, n: int | None, axis: int, method: str = "blelloch") -> Array:
    """Fill missing values with the last one before them, at most `n` in a row; what can't be missing stays."""
    return push(array, n, axis) if array.dtype.kind in "fcmM" else array


def _fitted(columns: Any, lhs: Any, rcond: Any, skipna: bool) -> Any:
    """Fit each line along the last axis."""
    flat = np.ascontiguousarray(columns.reshape(-1, columns.shape[-1]).T)
    coefficients, residuals = importlib.import_module("xarray.core.nputils").least_squares(lhs, flat, rcond, skipna)
    outer = columns.shape[:-1]
    return coefficients.T.reshape(*outer, -1), np.asarray(residuals).reshape(outer)


def least_squares(original: Callable[..., Any]) -> Callable[..., Any]:
    """Fit arrays of Windrow block by block, each with its first axis whole."""

    @functools.wraps(original)
    def chosen(lhs: Any, rhs: Any, rcond: Any = None, skipna: bool = False) -> Any:
        if not isinstance(rhs, Array):
            return original(lhs, rhs, rcond=rcond, skipna=skipna)
        return apply_gufunc(
            _fitted,
            "(i)->(k),()",
            rhs,
            axes=[(0,), (0,), ()],
            output_dtypes=(float, float),
            output_sizes={"k": lhs.shape[1]},
            lhs=lhs,
            rcond=rcond,
            skipna=bool(skipna),
        )

    return chosen


def with_dtype(original: Callable[..., Any]) -> Callable[..., Any]:
    """Interpolate into the dtype that comes out of NumPy's arrays, where xarray says: the variable's own."""

    @functools.wraps(original)
    def chosen(func: Any, *args: Any, **kwargs: Any) -> Any:
        first, *others = args
        if isinstance(getattr(first, "_data", None), Array) and func.__name__ == "_interpnd":
            kept = {dim for each in others for dim in each.dims}
            shape = [n if dim in kept else min(n, 1) for dim, n in first.sizes.items()]
            sample = type(first)(first.dims, np.zeros(shape, first.dtype))
            kwargs["output_dtypes"] = [original(func, sample, *others, **kwargs).dtype]
        return original(func, *args, **kwargs)

    return chosen
