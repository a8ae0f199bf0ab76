"""Missing values filled along an axis, and least squares, lazily."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from ...array import Array
from ...user_functions.gufunc import apply_gufunc
from ...user_functions.overlap import map_overlap
from ...user_functions.reduction import cumreduction

if TYPE_CHECKING:
    from collections.abc import Callable


def _pushed(block: Any, axis: int, n: int | None = None) -> Any:
    return importlib.import_module("xarray.core.duck_array_ops")._push(block, n=n, axis=axis)


def _last(block: Any, axis: int, keepdims: bool) -> Any:
    return importlib.import_module("xarray.core.nputils").nanlast(block, axis, keepdims=keepdims)


def _fill(before: Any, block: Any) -> Any:
    return importlib.import_module("xarray.compat.dask_array_ops")._fill_with_last_one(before, block)


def push(array: Array, n: int | None, axis: int, method: str = "blelloch") -> Array:
    """Fill missing values with the last one before them, at most `n` in a row: xarray's own function of blocks."""
    if n is not None and n < array.shape[axis]:
        return map_overlap(_pushed, array, depth={axis: (n, 0)}, boundary="none", dtype=array.dtype, n=n, axis=axis)
    return cumreduction(_pushed, _fill, float("nan"), array, axis, array.dtype, preop=_last)


def _fitted(columns: Any, lhs: Any, rcond: Any, skipna: bool) -> Any:
    """Fit each line along the last axis."""
    import numpy as np

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
