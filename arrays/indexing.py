"""Indexing: slices, integers, new axes, arrays of integers, boolean masks – NumPy's semantics.

Slices keep the chunks' borders. Positions in arrays (and lazy masks, which are counted chunk by chunk) are
needed to know the result's shape and what it reads, so lazy arrays among the indices are computed at the
call.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.axismap import Fixed, Slice
from ..graph.errors import IndexingError, bad
from ..graph.grid import Axis
from .core import Node, as_array
from .masking import select
from .ops.moving import Step, move, moveaxis, sliced_axis
from .ops.taking import taken

if TYPE_CHECKING:
    from .array import Array

Positions = np.ndarray[Any, Any]


@dataclass
class _Index:
    """An entry for each axis (a slice, an integer, or an array of positions), and where None stood."""

    entries: list[slice | int | Positions]
    new: list[int]
    """For each new axis the number of entries before it."""


def getitem(x: Array, key: Any) -> Array:
    """Return `x[key]`."""
    items = list(key) if isinstance(key, tuple) else [key]
    items = [_read(i) for i in items]
    masks = [i for i in items if isinstance(i, Node)]
    if masks:
        return _by_lazy_mask(x, items)
    index = _expanded(x, items)
    entries = [_checked(e, n, i) for i, (e, n) in enumerate(zip(index.entries, x.shape, strict=True))]
    arrays = [i for i, e in enumerate(entries) if isinstance(e, np.ndarray)]
    if not arrays:
        return _basic(x, entries, index.new)
    return _advanced(x, entries, index.new)


def _read(item: Any) -> Any:
    """Bring an index to a slice, an integer, None, Ellipsis, a NumPy array, or a lazy mask."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, Node):
        return item if item.dtype == bool and item.ndim else np.asarray(item.compute())  # type: ignore[attr-defined]
    if isinstance(item, bool | np.bool):
        return np.asarray(item)
    if isinstance(item, int | np.integer):
        return int(item)
    if isinstance(item, list | np.ndarray):
        array = np.asarray(item)
        if array.size == 0 and not isinstance(item, np.ndarray):
            array = array.astype(np.int64)
        if array.dtype.kind in "iub":
            return int(array) if array.ndim == 0 and array.dtype.kind in "iu" else array
    elif hasattr(item, "__index__"):
        return int(item.__index__())
    raise IndexingError(bad("indexing", "key", item, "slices, integers, None, ..., arrays of integers or of bool"))


def _expanded(x: Node, items: list[Any]) -> _Index:
    """Give each axis an entry: fill in what an ellipsis stands for, turn masks into positions."""
    if sum(i is Ellipsis for i in items) > 1:
        raise IndexingError(bad("indexing", "key", "two ellipses", "one"))
    used = sum(
        i.ndim if isinstance(i, np.ndarray) and i.dtype == bool else i is not None and i is not Ellipsis for i in items
    )
    if used > x.ndim:
        raise IndexingError(f"indexing: too many indices: {used} for an array of {x.ndim} axes, {x.shape}")
    if not any(i is Ellipsis for i in items):
        items = [*items, Ellipsis]
    index = _Index([], [])
    for item in items:
        at = len(index.entries)
        if item is None:
            index.new.append(at)
        elif item is Ellipsis:
            index.entries += [slice(None)] * (x.ndim - used)
        elif isinstance(item, np.ndarray) and item.dtype == bool:
            if item.shape != x.shape[at : at + item.ndim]:
                expected = f"a mask of shape {x.shape[at : at + item.ndim]}"
                raise IndexingError(f"indexing: boolean mask has shape {item.shape}; expected {expected}")
            index.entries += list(np.nonzero(item)) if item.ndim else []
            if item.ndim == 0:
                raise IndexingError(bad("indexing", "key", bool(item), "no single bool; use an array of them"))
        else:
            index.entries.append(item)
    return index


def _checked(entry: slice | int | Positions, n: int, axis: int) -> slice | int | Positions:
    """Count positions from 0 on, and check that they are within the axis."""
    if isinstance(entry, slice):
        try:
            start, stop, step = entry.indices(n)
        except TypeError as error:
            raise IndexingError(bad("indexing", "key", entry, "a slice of integers")) from error
        except ValueError as error:
            raise IndexingError(bad("indexing", "key", entry, "a slice whose step is not zero")) from error
        return slice(start, len(range(start, stop, step)), step)  # stop is the count from here on
    low, high = (
        (entry, entry) if isinstance(entry, int) else (int(entry.min()), int(entry.max())) if entry.size else (0, -1)
    )
    if low < -n or high >= n:
        wrong = low if low < -n else high
        raise IndexingError(f"indexing: index {wrong} is out of bounds for axis {axis} with length {n}")
    if isinstance(entry, int):
        return entry % n
    found = entry.astype(np.int64)
    return np.where(found < 0, found + n, found)


def _basic(x: Node, entries: list[Any], new: list[int]) -> Array:
    """Slices, integers and new axes, in one move."""
    steps: list[Step] = []
    axes: list[Axis] = []
    for i, (entry, own) in enumerate(zip(entries, x.expr.grid.axes, strict=True)):
        axes += [Axis.regular(1, 1)] * new.count(i)
        if isinstance(entry, int):
            steps.append((None, Fixed(entry)))
            continue
        count = entry.stop
        steps.append((len(axes), Slice(entry.start, entry.step) if count else Slice()))
        axes.append(sliced_axis(own, entry.start, entry.step, count))
    axes += [Axis.regular(1, 1)] * new.count(len(entries))
    if len(axes) == x.ndim and tuple(axes) == x.expr.grid.axes and all(s[1] == Slice() for s in steps):
        return x  # type: ignore[return-value]
    return move("getitem", x, steps, axes)


def _advanced(x: Array, entries: list[Any], new: list[int]) -> Array:
    """Arrays of positions: slices first, then the indexed axes made one, taken from, shaped and placed."""
    where = [i for i, e in enumerate(entries) if not isinstance(e, slice)]
    try:
        index = np.broadcast_arrays(*(np.asarray(entries[i], np.int64) for i in where))
    except ValueError as error:
        shapes = ", ".join(str(np.shape(entries[i])) for i in where)
        raise IndexingError(
            f"indexing: arrays of positions have shapes {shapes}; expected shapes that broadcast"
        ) from error
    adjacent = where == list(range(where[0], where[-1] + 1)) and not any(where[0] < a <= where[-1] for a in new)
    # Integers among the arrays are fixed at once; slices elsewhere are applied at once.
    first = [e if isinstance(e, slice | int) else slice(0, n, 1) for e, n in zip(entries, x.shape, strict=True)]
    reduced = _basic(x, first, [])
    arrays = [i for i in where if isinstance(entries[i], np.ndarray)]
    gone = [i for i in where if i not in arrays]
    at = [a - sum(g < a for g in gone) for a in arrays]
    picked = [index[where.index(a)] for a in arrays]
    merged = moveaxis(reduced, at, range(len(at)))
    lengths = merged.shape[: len(at)]
    flat = np.ravel_multi_index(picked, lengths) if picked[0].size else np.zeros(picked[0].shape, np.int64)
    if len(at) > 1:
        merged = merged.reshape(math.prod(lengths), *merged.shape[len(at) :])
    found = taken("getitem", merged, 0, flat.reshape(-1))
    shape = picked[0].shape
    if len(shape) != 1:
        found = found.reshape(*shape, *found.shape[1:])
    front = sum(1 for i in range(where[0]) if isinstance(entries[i], slice)) if adjacent else 0
    found = moveaxis(found, range(len(shape)), range(front, front + len(shape)))
    return _with_new(found, entries, new, where, len(shape), adjacent)


def _with_new(found: Array, entries: list[Any], new: list[int], where: list[int], width: int, adjacent: bool) -> Array:
    """Put in the new axes; the indexed axes stand as `width` axes at their place, or in front."""
    if not new:
        return found
    layout: list[int] = []  # 1 for a new axis, 0 for an axis of what was found
    if not adjacent:
        layout += [0] * width
    for i in range(len(entries) + 1):
        layout += [1] * new.count(i)
        if i == len(entries):
            break
        if isinstance(entries[i], slice):
            layout.append(0)
        elif adjacent and i == where[0]:
            layout += [0] * width
    from_old = iter(range(found.ndim))
    steps: list[Step] = []
    axes: list[Axis] = []
    for kind in layout:
        if kind:
            axes.append(Axis.regular(1, 1))
        else:
            steps.append((len(axes), Slice()))
            axes.append(found.expr.grid.axes[next(from_old)])
    return move("getitem", found, steps, axes)


def _by_lazy_mask(x: Array, items: list[Any]) -> Array:
    """A lazy mask over the first axes alone is applied chunk by chunk; else its positions are computed."""
    if len(items) > 1 and isinstance(items[0], Node) and all(
        i is Ellipsis or (isinstance(i, slice) and i == slice(None)) for i in items[1:]
    ):  # fmt: skip
        items = items[:1]
    if len(items) == 1:
        mask = as_array("indexing", "key", items[0])
        if mask.shape != x.shape[: mask.ndim]:
            expected = f"a mask of shape {x.shape[: mask.ndim]}"
            raise IndexingError(f"indexing: boolean mask has shape {mask.shape}; expected {expected}")
        return select(x, mask)
    return getitem(x, tuple(np.asarray(i.compute()) if isinstance(i, Node) else i for i in items))  # type: ignore[attr-defined]
