"""Keys of getitem and setitem, parsed by NumPy's rules: what is selected along each axis, and which axis of the result
it becomes."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from functools import lru_cache
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import IndexingError, bad
from ..base import ArrayBase, snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...graph.chunks.grid import Index
    from ..typing import KeyLike

Entry = slice | int | np.ndarray[Any, Any]

NEW, POINTS = -1, -2
"""Axes of a result that aren't axes of the array: a new size-1 axis, and the axes of arrays of positions."""


Plain = tuple[int | EllipsisType | tuple[int | None, int | None, int | None] | None, ...]


def read_plain(key: KeyLike) -> Plain | None:
    """Return the items of a key of plain slices, integers, None and Ellipsis; None where it has others.

    A slice is its start, stop and step.
    """
    items: list[Any] = []
    for item in key if type(key) is tuple else (key,):
        if type(item) is slice:
            part = (item.start, item.stop, item.step)
            if any(number is not None and type(number) is not int for number in part):
                item = with_integers(item)
                part = (item.start, item.stop, item.step)
                if any(number is not None and type(number) is not int for number in part):
                    return None
            items.append(part)
        elif item is None or item is Ellipsis or type(item) is int:
            items.append(item)
        else:
            return None
    return tuple(items)


def read_key(key: KeyLike) -> list[Any]:
    """Return a key's items: slices, integers, None, Ellipsis, NumPy arrays of integers or bool, and lazy ones."""
    return [_read(item) for item in (key if isinstance(key, tuple) else (key,))]


def with_integers(item: slice) -> slice:
    """Return a slice of Python's integers for one of NumPy's, or of lazy ones, which are computed; others stay."""
    try:
        return slice(*(n if n is None else operator.index(n) for n in (item.start, item.stop, item.step)))
    except TypeError:
        return item  # `selection` says what is wrong


def _read(item: Any) -> Any:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, bool | np.bool):
        return np.asarray(item)
    if isinstance(item, int | np.integer):
        return int(item)
    if isinstance(item, ArrayBase):
        if item.dtype.kind in "iub":
            return item
    elif isinstance(item, np.ndarray | list | tuple | range) or hasattr(item, "__array__"):
        array: Any = _array(item)
        single = isinstance(array, np.ndarray) and array.ndim == 0
        if array.dtype.kind in "iub":
            return int(array[()]) if single and array.dtype.kind != "b" else array
        if not isinstance(item, list | tuple | range):
            item = f"of {array.dtype}"
    elif hasattr(item, "__index__"):
        return int(item.__index__())
    elif isinstance(item, str):
        raise IndexingError(bad("indexing", "key", item, "no name beside others: x[name] is a field"))
    raise IndexingError(bad("indexing", "key", item, "slices, integers, None, ..., arrays of integers or of bool"))


def _array(item: Any) -> Any:
    """Convert a sequence to an array, a list of lazy integers to a lazy one; NumPy's arrays are copied."""
    if hasattr(item, "__array__"):
        return snapshot(item)
    if any(isinstance(each, ArrayBase) for each in item):
        from ..ops.moves.joining import stack

        return stack(list(item))
    try:
        array = np.asarray(item)
    except ValueError as error:
        raise IndexingError(bad("indexing", "key", item, "sequences of integers or of bool, of one length")) from error
    return array.astype(np.int64) if array.size == 0 else array


def names_fields(key: KeyLike) -> bool:
    """Tell whether a key names a field, or is a list of names."""
    return isinstance(key, str) or (isinstance(key, list) and bool(key) and all(isinstance(name, str) for name in key))


def trivial(items: Iterable[Any]) -> bool:
    """Tell whether items select everything."""
    return all(i is Ellipsis or (isinstance(i, slice) and i == slice(None)) for i in items)


def count_axes(item: object) -> int:
    """Return the number of axes that an item indexes."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, np.ndarray | ArrayBase) and item.dtype == bool else 1


def expand_ellipsis(ndim: int, items: list[Any]) -> list[Any]:
    """Return items for all axes: full slices where the ellipsis stands, or at the end; it stays if it is no axis."""
    if sum(i is Ellipsis for i in items) > 1:
        raise IndexingError(bad("indexing", "key", "two ellipses", "one"))
    used = sum(map(count_axes, items))
    if used > ndim:
        raise IndexingError(f"indexing: too many indices: {used} for an array of {ndim} axes")
    at = next((k for k, i in enumerate(items) if i is Ellipsis), len(items))
    left: list[Any] = [slice(None)] * (ndim - used)
    if at < len(items) and not left:
        left = [Ellipsis]  # it separates arrays of positions even if it stands for no axis
    return [*items[:at], *left, *items[at + 1 :]]


@dataclass
class Selection:
    """What a key selects.

    `entries` has for each axis a slice (its `stop` is the count of positions), an integer, or the flat positions
    along it; `wide` the shape of the arrays of positions, None without such; `layout` for each axis of the result
    the array's axis, `NEW`, or `POINTS` (once, for all axes of `wide`).
    """

    entries: list[Entry]
    wide: tuple[int, ...] | None
    layout: list[int]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        lengths: list[int] = []
        for axis in self.layout:
            if axis == POINTS:
                lengths += self.wide or ()
            else:
                entry = 1 if axis == NEW else self.entries[axis]
                lengths.append(entry.stop if isinstance(entry, slice) else 1)
        return tuple(lengths)

    @property
    def arrays(self) -> list[int]:
        """Axes that have arrays of positions."""
        return [i for i, e in enumerate(self.entries) if isinstance(e, np.ndarray)]

    def simplify(self) -> Selection:
        """Return the same with arrays of a single position replaced by it."""
        if self.wide is None or math.prod(self.wide) != 1:
            return self
        entries: list[Entry] = [int(e[0]) if isinstance(e, np.ndarray) else e for e in self.entries]
        layout: list[int] = []
        for axis in self.layout:
            layout += [NEW] * len(self.wide) if axis == POINTS else [axis]
        return Selection(entries, None, layout)


def selection(shape: tuple[int, ...], items: list[Any]) -> Selection:
    """Return what items (none of them lazy) select of an array."""
    items = expand_ellipsis(len(shape), items)
    entries, shapes = _entries(shape, items)
    layout = find_layout(items)
    if not shapes:
        return Selection(
            [_check_entry(e, n, i) for i, (e, n) in enumerate(zip(entries, shape, strict=True))], None, layout
        )
    try:
        wide = np.broadcast_shapes(*shapes)
    except ValueError as error:
        listed = ", ".join(map(str, shapes))
        raise IndexingError(
            f"indexing: arrays of positions have shapes {listed}; expected shapes that broadcast"
        ) from error
    checked: list[Entry] = []
    none = math.prod(wide) == 0  # then NumPy doesn't check the positions
    for i, (entry, n) in enumerate(zip(entries, shape, strict=True)):
        if none and isinstance(entry, np.ndarray):
            entry = np.empty(wide, np.int64)
        entry = _check_entry(entry, n, i)
        checked.append(np.broadcast_to(entry, wide).reshape(-1) if isinstance(entry, np.ndarray) else entry)
    return Selection(checked, wide, layout)


@lru_cache(1024)
def pick_plain(shape: tuple[int, ...], plain: Plain) -> Selection:
    """Return what a key without arrays selects, which is not to be changed."""
    return selection(shape, [slice(*item) if isinstance(item, tuple) else item for item in plain])


def _entries(shape: tuple[int, ...], items: list[Any]) -> tuple[list[Entry], list[tuple[int, ...]]]:
    """Return an entry for each axis, and the shapes of the arrays of positions; masks become positions."""
    entries: list[Entry] = []
    shapes: list[tuple[int, ...]] = []
    for item in items:
        if item is None or item is Ellipsis:
            continue
        if isinstance(item, np.ndarray) and item.dtype == bool:
            check_mask(item, shape, len(entries))
            entries += np.nonzero(item) if item.ndim else ()
            shapes.append((int(np.count_nonzero(item)),))
        else:
            entries.append(item)
            if isinstance(item, np.ndarray):
                shapes.append(item.shape)
    return entries, shapes


def check_mask(mask: Any, shape: tuple[int, ...], at: int) -> None:
    """Raise for a mask that hasn't the shape of the axes that it indexes; one without elements needn't, as in NumPy."""
    own = mask.expr.shape if isinstance(mask, ArrayBase) else mask.shape
    wanted = shape[at : at + mask.ndim]
    if len(own) != len(wanted) or any(m not in (n, 0) for m, n in zip(own, wanted, strict=True)):
        raise IndexingError(f"indexing: boolean mask has shape {own}; expected a mask of shape {wanted}")


def masks_checked(items: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """Check masks; lazy ones without elements become NumPy's."""
    at, checked = 0, []
    for item in items:
        if isinstance(item, ArrayBase | np.ndarray) and item.dtype == bool:
            check_mask(item, shape, at)
        at += count_axes(item)
        if isinstance(item, ArrayBase) and item.dtype == bool and item.expr.grid.size == 0:
            checked.append(np.zeros(item.expr.grid.shape, bool))
        else:
            checked.append(item)
    return checked


def find_layout(items: list[Any]) -> list[int]:
    """Return the layout of a result, see `Selection`; items may be lazy; an ellipsis stands for no axis.

    With arrays of positions integers count as such; if nothing stands between them, so do they in the result.
    """
    pointed = any(isinstance(i, np.ndarray | ArrayBase) for i in items)
    layout: list[int] = []
    axis, place, together, ended = 0, -1, True, False
    for item in items:
        between = item is None or item is Ellipsis or isinstance(item, slice)
        if item is None:
            layout.append(NEW)
        elif isinstance(item, slice):
            layout.append(axis)
        elif pointed and not between and place < 0:
            place = len(layout)
        elif pointed and not between and ended:
            together = False
        ended = place >= 0 and (between or ended)
        axis += count_axes(item)
    if pointed:
        layout.insert(place if together else 0, POINTS)
    return layout


def _check_entry(entry: Entry, n: int, axis: int) -> Entry:
    """Count positions from 0 on, and check that they are within the axis."""
    if isinstance(entry, slice):
        try:
            start, stop, step = entry.indices(n)
        except TypeError as error:
            raise IndexingError(bad("indexing", "key", entry, "a slice of integers")) from error
        except ValueError as error:
            raise IndexingError(bad("indexing", "key", entry, "a slice whose step is not zero")) from error
        count = len(range(start, stop, step))
        return slice(start, count, step if count > 1 else 1)  # otherwise it may exceed int64
    if isinstance(entry, int):
        low = high = entry
    else:
        low, high = (int(entry.min()), int(entry.max())) if entry.size else (0, -1)
    if low < -n or high >= n:
        wrong = low if low < -n else high
        raise IndexingError(f"indexing: index {wrong} is out of bounds for axis {axis} with length {n}")
    if isinstance(entry, int):
        return entry % n
    positions: Index = entry.astype(np.int64)
    return np.where(positions < 0, positions + n, positions) if low < 0 else positions


def forward(entry: slice | int) -> tuple[int, int, int]:
    """Return start, step and count of an entry's positions, in ascending order."""
    if isinstance(entry, int):
        return entry, 1, 1
    start, count, step = entry.start, entry.stop, entry.step
    return (start, step, count) if step > 0 else (start + (count - 1) * step, -step, count)


Template = tuple[Any, ...]


def template_of(items: list[Any]) -> tuple[Template, list[ArrayBase]]:
    """Return items as parameters of an operation, and the lazy ones among them."""
    lazy: list[ArrayBase] = []
    template: list[Any] = []
    for item in items:
        if isinstance(item, ArrayBase):
            template.append(("lazy", len(lazy)))
            lazy.append(item)
        else:
            template.append("..." if item is Ellipsis else item)
    return tuple(template), lazy


def fill_template(template: Template, values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the key that a template and the lazy items' values are."""
    return tuple(values[t[1]] if isinstance(t, tuple) else Ellipsis if isinstance(t, str) else t for t in template)
