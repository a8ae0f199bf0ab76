"""Rolling windows of xarray along one axis: what is in a window, and how much of it is there, is found in one pass."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.expr.origin import publish
from ....graph.kinds.mapping import BlockFunction
from ....workers.kernels.blocks.signal.lines import STATISTICS
from ...array import Array
from ...base import make
from ...chunking.coalesce import whole
from ...chunking.halo import with_halo

if TYPE_CHECKING:
    from collections.abc import Callable

OF_FLOATS = ("sum", "mean", "prod", "max", "min", "count", *STATISTICS)
OF_INTEGERS = ("sum", "mean", "count", *STATISTICS)
OF_TRUTHS = ("sum", "mean", "count")
"""Reductions that are known here, by what kind of numbers they are of."""
PLACES = ("argmax", "argmin")
LONG = 4
"""Times the largest chunk from which on windows want the axis whole: each chunk would read so many others."""


def before_reducing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Reduce windows of Windrow's arrays; what isn't known here goes xarray's way."""

    @functools.wraps(original)
    def chosen(self: Any, array_agg_func: Any, *args: Any, keep_attrs: Any = None, **kwargs: Any) -> Any:
        by = array_agg_func or kwargs.get("rolling_agg_func")  # of means xarray gives its own, in two passes
        name = getattr(by, "__name__", "").removeprefix("_")
        ddof = kwargs.get("ddof", 0) if name in ("std", "var") else None
        options = kwargs.keys() - HANDLED - ({"ddof"} if isinstance(ddof, int) else set())
        reduced = None if options else _reduced(self, name, ddof or 0)
        if reduced is None:
            return original(self, array_agg_func, *args, keep_attrs=keep_attrs, **kwargs)
        return _as_object(self, reduced, self._get_keep_attrs(keep_attrs))

    return chosen


HANDLED = {"bottleneck_move_func", "numbagg_move_func", "rolling_agg_func", "fillna", "sliding_window_view_kwargs"}
"""What xarray says of how it would reduce them."""


def before_counting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Count what is there in windows of Windrow's arrays."""

    @functools.wraps(original)
    def chosen(self: Any, keep_attrs: Any = None) -> Any:
        counts = _reduced(self, "count")
        return original(self, keep_attrs) if counts is None else _as_object(self, counts, bool(keep_attrs))

    return chosen


def _as_object(rolling: Any, found: Array, keep_attrs: bool) -> Any:
    copied = rolling.obj.copy(data=found)
    if not keep_attrs:
        copied.attrs = {}
    return copied


def _reduced(rolling: Any, name: str, ddof: int = 0) -> Array | None:
    """Return a reduction of windows, NaN where too little is in them; None where it isn't known here."""
    obj = rolling.obj
    array = obj.variable._data
    if not isinstance(array, Array) or len(rolling.dim) != 1 or array.dtype == np.float16:
        return None
    known = {"f": OF_FLOATS, "i": OF_INTEGERS, "u": OF_INTEGERS, "b": OF_TRUTHS}
    if name not in known.get(array.dtype.kind, ()):
        return None
    if array.dtype.kind != "f" and name in STATISTICS:
        if name in PLACES and (array.dtype.kind == "u" or array.dtype.itemsize > 4):  # the least one may be there
            return None
        array = array.astype(np.float32 if array.dtype.itemsize <= 2 else np.float64)  # as xarray marks what is missing
    floats = array.dtype.kind == "f"
    axis, window = obj.get_axis_num(rolling.dim[0]), int(rolling.window[0])
    before, after = (window // 2, window - 1 - window // 2) if rolling.center[0] else (window - 1, 0)
    least = 0 if name == "count" else int(rolling.min_periods)
    dtype = np.dtype(np.int64) if name == "count" else array.dtype.newbyteorder("=") if floats else np.dtype(np.float64)
    if name in PLACES:
        dtype = np.dtype(np.float64)
    if after == 0 and window >= array.shape[axis] and name not in STATISTICS:
        return _running(array, axis, name, least, dtype)
    return _sliding(array, axis, (before, after), name, least, dtype, ddof)


def _sliding(
    array: Array, axis: int, reach: tuple[int, int], name: str, least: int, dtype: np.dtype[Any], ddof: int
) -> Array:
    if sum(reach) > LONG * array.expr.grid.axes[axis].largest:
        array = whole(array, (axis,))
    nothing = np.array(np.nan if array.dtype.kind == "f" else 0, array.dtype)
    depths = tuple(reach if i == axis else (0, 0) for i in range(array.ndim))
    wide = with_halo(array, depths, tuple(nothing if i == axis else "none" for i in range(array.ndim)))
    params = (axis, array.shape[axis], reach, name, least, dtype.str, ddof)
    own = (tuple(range(array.ndim)),)
    return make(BlockFunction("signal.lines:rolled", params, own, where=True), (wide,), array.expr.grid, dtype)


def _running(array: Array, axis: int, name: str, least: int, dtype: np.dtype[Any]) -> Array:
    """Reduce windows that begin with the array: all that there is up to each place."""
    xp: Any = importlib.import_module(str(__package__).partition(".")[0])
    floats = array.dtype.kind == "f"
    places = np.arange(1, array.shape[axis] + 1).reshape(-1, *(1,) * (array.ndim - axis - 1))
    missing = xp.isnan(array) if floats else None
    count = xp.broadcast_to(places, array.shape) if missing is None else xp.cumsum(~missing, axis, dtype=np.int64)
    if name == "count":
        return count.rechunk(array.chunks)  # type: ignore[no-any-return]
    if name in ("max", "min"):
        value = (xp.fmax if name == "max" else xp.fmin).accumulate(array, axis)
    else:
        filled = array if missing is None else xp.where(missing, array.dtype.type(name == "prod"), array)
        wide = np.float64 if floats else None
        value = (xp.cumprod if name == "prod" else xp.cumsum)(filled, axis, dtype=wide)
    if name == "mean":
        value = value / xp.maximum(count, 1)
    return xp.where(count >= max(least, 1), value, np.nan).astype(dtype)  # type: ignore[no-any-return]


publish(_reduced, lambda frame: f"rolling.{frame.f_locals['name']}")
