"""Reductions of groups, by flox's own functions of blocks."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from ....graph.errors import ArgumentError, bad
from ...array import Array
from ...user_functions.gufunc import apply_gufunc
from .grouped_trees import COMBINED, MEANS, reduce_by_lazy, reduce_by_tree

SIMPLE = (*COMBINED, *MEANS)
"""What flox needs no compiled functions for."""


def _flox(block: Any, labels: tuple[Any, ...], options: dict[str, Any], groups: int) -> Any:
    """Reduce a block; the axis of several quantiles, which flox has in front, goes before those of the groups."""
    found = importlib.import_module("flox").groupby_reduce(block, *labels, **options)[0]
    return np.moveaxis(found, 0, -groups - 1) if _several_quantiles(options) else found


def _several_quantiles(options: dict[str, Any]) -> bool:
    func: Any = options["func"]
    q: Any = (options.get("finalize_kwargs") or {}).get("q", 0.5)
    return isinstance(func, str) and func.endswith("quantile") and np.ndim(q) > 0


def groupby_reduce(array: Array, *by: Any, func: Any, axis: Any = None, **options: Any) -> Any:
    """Reduce the elements of each group, lazily; the axes of the labels become whole.

    Returns the result and the groups, as flox does. Labels may be lazy where parts of chunks are combined.
    """
    for name in ("method", "reindex"):
        options.pop(name, None)
    if len(by) == 1 and isinstance(by[0], Array):
        by_lazy = reduce_by_lazy(array, by[0], options | {"func": func, "axis": axis})
        if by_lazy is not None:
            return by_lazy, options["expected_groups"][0]
    labels = _labels("groupby_reduce", by)
    count = np.broadcast_shapes(*(each.shape for each in labels))
    ndim = len(count)
    options |= {"func": func, "axis": axis}
    lengths = array.shape[array.ndim - ndim :]
    sample = np.zeros(lengths, array.dtype)
    quick = options | {"engine": "flox"} if func in SIMPLE and options.get("engine") is None else options
    found, *groups = importlib.import_module("flox").groupby_reduce(sample, *labels, **quick)
    by_tree = reduce_by_tree(array, labels, found, options) if axis in (None, -1, (-1,)) else None
    if by_tree is not None:
        return (by_tree, *groups)
    inner, outer = (",".join(f"{letter}{i}" for i in range(n)) for letter, n in (("i", ndim), ("o", found.ndim)))
    several = _several_quantiles(options)
    result = apply_gufunc(
        _flox,
        f"({inner})->({outer})",
        array,
        output_dtypes=found.dtype,
        output_sizes={f"o{i}": n for i, n in enumerate(found.shape)},
        labels=labels,
        options=options,
        groups=found.ndim - several,
    )
    return (np.moveaxis(result, result.ndim - found.ndim, 0) if several else result, *groups)


def groupby_scan(array: Array, *by: Any, axis: Any = -1, **options: Any) -> Array:
    """Go through the elements of each group along the last axis, lazily; it becomes whole."""
    labels = _labels("groupby_scan", by)
    options.pop("method", None)
    along = tuple(axis) if isinstance(axis, Iterable) else (axis,)
    if along not in ((-1,), (array.ndim - 1,)) or any(each.ndim != 1 for each in labels):
        raise ArgumentError(bad("groupby_scan", "axis", axis, "the last axis, and labels along it"))
    return apply_gufunc(_scanned, "(i)->(i)", array, labels=labels, options=options)  # type: ignore[no-any-return]


def _scanned(block: Any, labels: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return importlib.import_module("flox").groupby_scan(block, *labels, axis=-1, **options)


def _labels(operation: str, by: tuple[Any, ...]) -> tuple[Any, ...]:
    if any(isinstance(each, Array) for each in by):
        expected = "labels of NumPy's, but in sums, counts, means and extremes: compute() them first"
        raise ArgumentError(bad(operation, "by", "a lazy array", expected))
    return tuple(np.asarray(each) for each in by)
