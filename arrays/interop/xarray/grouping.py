"""Reductions of groups, by flox's own functions of blocks."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.grid import Grid
from ....graph.errors import ArgumentError, bad
from ....graph.expr.origin import publish
from ....graph.kinds.mapping import MapBlocks
from ...array import Array
from ...base import make
from ...creation.from_data import asarray
from ...ops.moves.axis_moves import moveaxis
from ...ops.moves.broadcasting import broadcast_to
from ...user_functions.gufunc import apply_gufunc
from ...user_functions.map_blocks import map_blocks
from ...user_functions.travel.pickling import payload
from .grouped_trees import (
    KINDS,
    LARGE,
    LabelledLines,
    ascends,
    describe,
    in_chunks,
    of_whole_groups,
    reduce_known,
    reduce_lazy,
)

if TYPE_CHECKING:
    from types import FrameType

SIMPLE = tuple(name for name, (kind, _) in KINDS.items() if kind != "moments")
"""What flox needs no compiled functions for."""


def flox_reduce(block: Any, labels: tuple[Any, ...], options: dict[str, Any], groups: int) -> Any:
    """Reduce a block; the axis of several quantiles, which flox has in front, goes before those of the groups."""
    reduced = importlib.import_module("flox").groupby_reduce(block, *labels, **options)[0]
    return np.moveaxis(reduced, 0, -groups - 1) if _several_quantiles(options) else reduced


def _flox_of_whole(block: Any, codes: Any, sizes: Any, first: int, options: dict[str, Any]) -> Any:
    """Reduce a block of whole groups, which are along an axis in the labels' place."""
    expected = importlib.import_module("pandas").RangeIndex(len(sizes))
    lines = np.moveaxis(block, first, -1)
    reduced = importlib.import_module("flox").groupby_reduce(lines, codes, **options | {"expected_groups": expected})[0]
    return np.moveaxis(reduced, -1, first)


def _several_quantiles(options: dict[str, Any]) -> bool:
    func: Any = options["func"]
    q: Any = (options.get("finalize_kwargs") or {}).get("q", 0.5)
    return isinstance(func, str) and func.endswith("quantile") and np.ndim(q) > 0


def groupby_reduce(array: Array, *by: Any, func: Any, axis: Any = None, **options: Any) -> Any:
    """Reduce the elements of each group, lazily; returns the result and the groups, as flox does.

    What chunks have of the groups is combined where that is smaller; else the axes of the labels become whole. Labels
    may be lazy in the first case.
    """
    for name in ("method", "reindex"):
        options.pop(name, None)
    options |= {"func": func, "axis": axis}
    if any(isinstance(each, Array) for each in by):
        return _by_lazy(array, by, options)
    labels = tuple(np.asarray(each) for each in by)
    count = np.broadcast_shapes(*(each.shape for each in labels))
    ndim = len(count)
    lengths = array.shape[array.ndim - ndim :]
    every = _all_axes(array, ndim, axis)
    sample = np.zeros(count if every else lengths, array.dtype)
    quick = options | {"engine": "flox"} if func in SIMPLE and options.get("engine") is None else options
    trial, *groups = importlib.import_module("flox").groupby_reduce(sample, *labels, **quick)
    reduced = _reduced(array, labels, trial, groups, options) if every else None
    if reduced is not None:
        return (reduced, *groups)
    inner, outer = (",".join(f"{letter}{i}" for i in range(n)) for letter, n in (("i", ndim), ("o", trial.ndim)))
    several = _several_quantiles(options)
    result = apply_gufunc(
        flox_reduce,
        f"({inner})->({outer})",
        array,
        output_dtypes=trial.dtype,
        output_sizes={f"o{i}": n for i, n in enumerate(trial.shape)},
        labels=labels,
        options=options,
        groups=trial.ndim - several,
    )
    outer_axes = array.expr.grid.axes[: array.ndim - ndim]
    result = in_chunks(result, (*outer_axes, *result.expr.grid.axes[len(outer_axes) :]), array)
    result = moveaxis(result, result.ndim - trial.ndim, 0) if several else result
    return (result, *groups)


def _all_axes(array: Array, ndim: int, axis: Any) -> bool:
    """Tell whether all axes of the labels are reduced."""
    along = range(-ndim, 0) if axis is None else np.atleast_1d(axis).tolist()
    return {a % array.ndim for a in along} == set(range(array.ndim - ndim, array.ndim))


def _reduced(array: Array, labels: tuple[Any, ...], found: Any, groups: list[Any], options: dict[str, Any]) -> Any:
    """Reduce chunk by chunk, or in chunks of whole groups; None where the axes must be whole."""
    if np.ndim(found) != len(groups) or array.size == 0:
        return None
    indices = [_index(group, options, i) for i, group in enumerate(groups)]
    codes = _joint([_coded(each, index) for index, each in zip(indices, labels, strict=True)], found.shape)
    count = math.prod(found.shape)
    lengths = array.shape[array.ndim - codes.ndim :]
    if codes.shape != lengths:  # labels along some of the axes that are reduced
        grouped = describe(options, array.dtype, found.dtype, _fill_of(found, codes, count))
        wide = broadcast_to(asarray(codes), lengths)
        return None if grouped is None else _split(reduce_lazy(array, wide, count, grouped), found.shape)
    grouped = describe(options, array.dtype, found.dtype)
    if grouped is not None:
        return _split(reduce_known(array, codes, count, grouped, _fill_of(found, codes, count)), found.shape)
    flat = _in_whole_groups(array, codes, count, found.dtype, options)
    return None if flat is None else _split(flat, found.shape)


def _split(flat: Array, shape: tuple[int, ...]) -> Array:
    """Return groups of several labels along an axis for each."""
    return flat if len(shape) == 1 else flat.reshape(*flat.shape[:-1], *shape)


def _fill_of(found: Any, codes: Any, count: int) -> Any:
    """Return what flox has for a group without elements."""
    empty = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=count) == 0)
    return found.ravel()[empty[0]] if len(empty) else None


def _index(group: Any, options: dict[str, Any], number: int) -> Any:
    """Return the index of groups: those expected, since bins come back as objects."""
    pandas = importlib.import_module("pandas")
    expected: Any = options.get("expected_groups")
    mine = expected[number] if isinstance(expected, tuple) else expected
    return mine if isinstance(mine, pandas.Index) and len(mine) == len(group) else pandas.Index(group)


def _joint(codes: list[Any], shape: tuple[int, ...]) -> Any:
    """Return the numbers of groups of several labels, below nought where one of them has none."""
    joint, none = 0, False
    for each, n in zip(codes, shape, strict=True):
        joint, none = joint * n + each, none | (each < 0)
    return np.where(none, -1, joint)


def _in_whole_groups(array: Array, codes: Any, groups: int, dtype: Any, options: dict[str, Any]) -> Array | None:
    """Have flox reduce groups that follow each other, in chunks of whole ones; None where there are none such."""
    func = options["func"]
    sizes = np.bincount(codes[codes >= 0].ravel(), minlength=groups)
    if (
        not isinstance(func, str)
        or "arg" in func
        or _several_quantiles(options)
        or codes.ndim > 1
        or not ascends(codes)
    ):
        return None
    lines = LabelledLines.of(array, 1)
    if int(sizes.max(initial=1)) * lines.line * array.dtype.itemsize > LARGE:
        return None
    lines, local, counted, axis = of_whole_groups(lines, codes, sizes)
    before, after = lines.around
    flox_options = options | {"axis": None, "isbin": False}
    packed = payload(
        "groupby_reduce", functools.partial(_flox_of_whole, first=lines.first, options=flox_options), (), {}, func
    )
    op = MapBlocks(packed, (tuple(range(lines.array.ndim)), (lines.first,), (lines.first,)))
    return lines.last(make(op, (lines.array, local, counted), Grid([*before, axis, *after]), dtype))


def _by_lazy(array: Array, by: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Reduce groups whose labels are lazy: what chunks have of those that are expected is combined."""
    flox, pandas = (importlib.import_module(name) for name in ("flox", "pandas"))
    expected = options.get("expected_groups")
    expected = expected if isinstance(expected, tuple) else (expected,) * len(by)
    if len(expected) != len(by) or any(each is None for each in expected):
        raise ArgumentError(bad("groupby_reduce", "expected_groups", None, "the groups, which lazy labels don't tell"))
    isbin = options.get("isbin", False)
    bins = isbin if isinstance(isbin, tuple) else (isbin,) * len(by)
    indices = [
        pandas.IntervalIndex.from_breaks(each) if b and not isinstance(each, pandas.Index) else pandas.Index(each)
        for each, b in zip(expected, bins, strict=True)
    ]
    shape = tuple(map(len, indices))
    alone = {"axis": None, "expected_groups": pandas.RangeIndex(1), "isbin": False}
    nobody = flox.groupby_reduce(np.zeros(1, array.dtype), np.array([-1]), **options | alone)[0]
    grouped = describe(options, array.dtype, nobody.dtype, nobody.ravel()[0])
    ndim = max(each.ndim for each in by)
    if grouped is None or not _all_axes(array, ndim, options["axis"]) or any(each.ndim != ndim for each in by):
        expected_ = (
            "labels of NumPy's, but in sums, counts, means, spreads and extremes over all their axes: compute() them"
        )
        raise ArgumentError(bad("groupby_reduce", "by", "a lazy array", expected_))
    lazy = [map_blocks(_coded, each, dtype=np.int64, index=index) for each, index in zip(by, indices, strict=True)]
    codes = lazy[0] if len(lazy) == 1 else map_blocks(_joined, *lazy, dtype=np.int64, shape=shape)
    return (_split(reduce_lazy(array, codes, math.prod(shape), grouped), shape), *indices)


def _coded(labels: Any, index: Any) -> Any:
    """Return the numbers of groups."""
    return index.get_indexer(labels.ravel()).astype(np.int64).reshape(labels.shape)


def _joined(*codes: Any, shape: tuple[int, ...]) -> Any:
    return _joint(list(codes), shape)


def groupby_scan(array: Array, *by: Any, axis: Any = -1, **options: Any) -> Array:
    """Go through the elements of each group along the last axis, lazily; it becomes whole."""
    labels = _labels("groupby_scan", by)
    options.pop("method", None)
    along = tuple(axis) if isinstance(axis, Iterable) else (axis,)
    if along not in ((-1,), (array.ndim - 1,)) or any(each.ndim != 1 for each in labels):
        raise ArgumentError(bad("groupby_scan", "axis", axis, "the last axis, and labels along it"))
    return apply_gufunc(flox_scan, "(i)->(i)", array, labels=labels, options=options)  # type: ignore[no-any-return]


def flox_scan(block: Any, labels: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return importlib.import_module("flox").groupby_scan(block, *labels, axis=-1, **options)


def _labels(operation: str, by: tuple[Any, ...]) -> tuple[Any, ...]:
    if any(isinstance(each, Array) for each in by):
        expected = "labels of NumPy's, but in sums, counts, means and extremes: compute() them first"
        raise ArgumentError(bad(operation, "by", "a lazy array", expected))
    return tuple(np.asarray(each) for each in by)


def _call(frame: FrameType) -> str:
    """Return what a user of xarray calls: "groupby.mean"; flox is told `nanmean`, since xarray passes over NaN."""
    func = frame.f_locals["options"].get("func") if "func" not in frame.f_locals else frame.f_locals["func"]
    return f"groupby.{str(getattr(func, 'name', func)).removeprefix('nan')}"


publish(groupby_reduce, _call)
publish(groupby_scan, _call)
