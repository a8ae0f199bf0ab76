"""Sums, means and extremes of groups chunk by chunk: what a chunk has of each group is small, and is combined."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.grid import Axis, Grid
from ....graph.kinds.mapping import MapBlocks
from ...base import make
from ...chunking.rechunk import drop_empty_chunks
from ...user_functions.pickling import payload

if TYPE_CHECKING:
    from ...array import Array

COMBINED = {
    "sum": "sum",
    "nansum": "sum",
    "prod": "prod",
    "nanprod": "prod",
    "count": "sum",
    "any": "any",
    "all": "all",
}
COMBINED |= {"max": "max", "min": "min", "nanmax": "max", "nanmin": "min"}
"""Reductions of groups, and what combines those of chunks."""
MEANS = {"mean": "sum", "nanmean": "nansum"}


def reduce_by_tree(array: Array, labels: tuple[Any, ...], found: Any, options: dict[str, Any]) -> Array | None:
    """Reduce groups along the last axis chunk by chunk; None where only whole axes will do, or are no more work.

    `found` is what flox makes of zeros: it has the result's dtype, and its groups.
    """
    func, (codes, *others) = options["func"], labels
    groups = np.shape(found)[-1] if np.ndim(found) == 1 else 0
    fits = isinstance(func, str) and func in (*COMBINED, *MEANS) and array.dtype.kind in "biuf" and not others
    if func in ("any", "all") and array.dtype.kind == "f":  # flox finds none in a group of NaN alone
        return None
    if not fits or codes.ndim != 1 or codes.dtype.kind not in "iu" or not _are_numbers(options, groups):
        return None
    counted = np.bincount(codes[codes >= 0], minlength=groups)
    array = drop_empty_chunks(array, (array.ndim - 1,))
    if len(counted) != groups or not counted.all() or 2 * groups * array.numblocks[-1] > len(codes):
        return None
    partial = functools.partial(_partial, array, codes, groups)
    xp: Any = importlib.import_module(str(__package__).partition(".")[0])
    total = partial(MEANS.get(func, func), found.dtype)
    least, fill = options.get("min_count") or 0, options.get("fill_value")
    some = func in ("nanmean", "nanmax", "nanmin") and array.dtype.kind == "f"
    valid: Any = partial("count", np.dtype(np.int64)) if some or least else None
    if func in MEANS:
        total = total / (xp.maximum(valid, 1) if some else counted)
    if some:
        total = xp.where(valid > 0, total, np.nan)
    if least:
        total = xp.where(valid >= least, total, np.nan if fill is None else fill)
    reduced: Array = total.astype(found.dtype)
    return reduced


def reduce_by_lazy(array: Array, codes: Array, options: dict[str, Any]) -> Array | None:
    """Reduce groups of lazy numbers chunk by chunk, along all axes of these; None where only whole axes will do.

    A group without elements has the value that flox gives it.
    """
    func, axis = options["func"], options["axis"]
    first = array.ndim - codes.ndim
    expected: Any = options.get("expected_groups")
    groups = len(expected[0]) if isinstance(expected, tuple) and len(expected) == 1 and expected[0] is not None else 0
    along = range(first, array.ndim) if axis is None else {a % array.ndim for a in np.atleast_1d(axis).tolist()}
    fits = isinstance(func, str) and func in (*COMBINED, *MEANS) and array.dtype.kind in "biuf" and groups > 0
    if not fits or codes.dtype.kind not in "iu" or not _are_numbers(options, groups):
        return None
    if set(along) != set(range(first, array.ndim)) or (func in ("any", "all") and array.dtype.kind == "f"):
        return None
    flox: Any = importlib.import_module("flox")
    nobody = flox.groupby_reduce(np.zeros(1, array.dtype), np.array([-1]), **options | {"axis": None})[0]
    xp: Any = importlib.import_module(str(__package__).partition(".")[0])
    axes = tuple(range(first, array.ndim))
    codes = codes.rechunk(array.chunks[first:])

    def partial(func: str, dtype: np.dtype[Any]) -> Any:
        chunks = (*array.chunks[:first], *((1,) * array.numblocks[a] for a in axes), (groups,))
        dtype = _dtype_of_partial(func, dtype, array.dtype)
        called = functools.partial(_of_codes, groups=groups, func=func, dtype=dtype)
        made = xp.map_blocks(called, array, codes, dtype=dtype, chunks=chunks, new_axis=array.ndim, name=func)
        return getattr(made, COMBINED.get(func, "sum"))(axis=axes)

    total = partial(MEANS.get(func, func), np.dtype(np.int64) if func == "count" else nobody.dtype)
    skips = func.startswith("nan") and array.dtype.kind == "f"
    valid = total if func == "count" else partial("count" if skips else "size", np.dtype(np.int64))
    total = total / xp.maximum(valid, 1) if func in MEANS else total
    least = max(1, options.get("min_count") or 0)
    return xp.where(valid >= least, total, nobody[0]).astype(nobody.dtype)  # type: ignore[no-any-return]


def _of_codes(block: Any, codes: Any, groups: int, func: str, dtype: np.dtype[Any]) -> Any:
    """Return what a chunk has of each group, by the groups' numbers of its elements."""
    outer = block.shape[: block.ndim - codes.ndim]
    if func == "size":  # as many as are counted of what is never missing
        block, func = np.zeros(block.shape, bool), "count"
    flat = block.reshape(*outer, -1)
    found = _of_chunk(flat, codes.ravel(), groups, func, dtype, (codes.size,), (0, 0))
    return found.reshape(*outer, *(1,) * codes.ndim, groups)


def _dtype_of_partial(func: str, dtype: np.dtype[Any], own: np.dtype[Any]) -> np.dtype[Any]:
    if func in ("sum", "nansum", "prod", "nanprod") and dtype.kind == "f":
        return np.dtype(np.float64)
    return own if COMBINED.get(func) in ("max", "min") else dtype


def _are_numbers(options: dict[str, Any], groups: int) -> bool:
    """Tell whether labels are the groups' numbers, as xarray's are."""
    expected: Any = options.get("expected_groups")
    expected = expected[0] if isinstance(expected, tuple) and len(expected) == 1 else expected
    bins = options.get("isbin")
    whole = not any(bins) if isinstance(bins, tuple) else not bins
    return whole and type(expected).__name__ == "RangeIndex" and list(expected) == list(range(groups))


def _partial(array: Array, codes: Any, groups: int, func: str, dtype: np.dtype[Any]) -> Array:
    """Return what chunks have of each group, combined."""
    *outer, axis = array.expr.grid.axes
    last = len(outer)
    dtype = _dtype_of_partial(func, dtype, array.dtype)
    stops = tuple(int(n) for n in np.cumsum(np.asarray(axis.sizes())))
    called = functools.partial(_of_chunk, codes=codes, groups=groups, func=func, dtype=dtype, stops=stops)
    packed = payload("groupby_reduce", called, (), {}, func)
    grid = Grid([*outer, Axis.regular(axis.count, 1), Axis.whole(groups)])
    made = make(MapBlocks(packed, (tuple(range(last + 1)),), ("block_id",)), (array,), grid, dtype)
    combined: Array = getattr(made, COMBINED[func])(axis=last)
    return combined


def _of_chunk(
    block: Any,
    codes: Any,
    groups: int,
    func: str,
    dtype: np.dtype[Any],
    stops: tuple[int, ...],
    block_id: tuple[int, ...],
) -> Any:
    """Return what a chunk has of each group: what changes nothing where it has none of it."""
    stop = stops[block_id[-2]]
    mine = codes[stop - block.shape[-1] : stop]
    order = np.argsort(mine, kind="stable")
    order = order[np.count_nonzero(mine < 0) :]
    present, starts = np.unique(mine[order], return_index=True)
    ufunc, nothing = _ufunc(func, dtype)
    given = ~np.isnan(block) if func == "count" and block.dtype.kind == "f" else block
    given = np.ones(block.shape, bool) if func == "count" and block.dtype.kind != "f" else given
    if func.startswith("nan") and block.dtype.kind == "f":
        given = np.where(np.isnan(block), nothing, block)
    found = np.full((*block.shape[:-1], groups), nothing, dtype)
    if len(present):
        typed = dtype if COMBINED[func] in ("sum", "prod") else None
        if len(order) < len(mine) or (np.diff(order) < 0).any():  # else groups follow each other already
            given = given[..., order]
        found[..., present] = ufunc.reduceat(given, starts, axis=-1, dtype=typed)
    return found[..., None, :]


def _ufunc(func: str, dtype: np.dtype[Any]) -> tuple[np.ufunc, Any]:
    """Return what reduces the elements of a group, and what a chunk has of a group that it has none of."""
    if func in ("any", "all"):
        return (np.logical_or, False) if func == "any" else (np.logical_and, True)
    if COMBINED[func] in ("max", "min"):
        least, most = (False, True) if dtype.kind == "b" else (-np.inf, np.inf)
        if dtype.kind in "iu":
            least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        return (np.maximum, least) if COMBINED[func] == "max" else (np.minimum, most)
    return (np.multiply, 1) if func in ("prod", "nanprod") else (np.add, 0)
