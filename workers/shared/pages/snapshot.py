"""What tasks see of a shared array: one version of it, whose pages are read in place or fetched."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from ....graph.errors import ClusterError
from ...rank.task_context import own_rank
from ..segment import AddressRange, SegmentName
from ..shared_objects import Leaving
from . import additions, compiled
from .files import pieces, runs
from .positions import integers

if TYPE_CHECKING:
    from collections.abc import Callable

    from .service import MappedVersion

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class PageLayout:
    """Shape and dtype of a shared array, and how many bytes a page has; the same for all its versions."""

    token: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    page: int
    spread: bool
    """Whether ranks of other hosts keep pages and give them on."""

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    @property
    def pages(self) -> int:
        return max(-(-self.nbytes // self.page), 1)

    def over(self, raw: Array) -> Array:
        """Return the array over its bytes."""
        return raw[: self.nbytes].view(self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class PageTable:
    """Where the pages of a version lie: for each its file, its place there, and a number that no other page has."""

    files: tuple[SegmentName, ...]
    file: Array
    slot: Array
    number: Array


class Paged:
    """What an array in pages tells of itself, in the script as in functions."""

    _layout: PageLayout

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self._layout.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Its elements' dtype."""
        return self._layout.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self._layout.nbytes

    def __len__(self) -> int:
        return self.shape[0]

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            "a shared array's elements aren't set: in the script v.update(index, values) writes and v.add(index, "
            "values) adds; in functions v.add_at(index, values) adds when the computation is through"
        )

    def __repr__(self) -> str:
        return f"<shared array: {self.shape}, {self.dtype}>"


class SharedSnapshot(Paged, Leaving):
    """One version of a shared array, as functions that run on ranks see it: read-only.

    `v[index]` gathers what NumPy's indexing does, as an array of its own.
    """

    def __init__(self, layout: PageLayout, table: PageTable, version: int) -> None:
        self._layout, self.table, self.version = layout, table, version
        self.view: MappedVersion | None = None
        """Where its pages are on another host than the driver's."""
        self._lock = threading.Lock()
        self._mapped: Array | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return SharedSnapshot, (self._layout, self.table, self.version)

    def __getitem__(self, index: Any) -> Any:
        if self.gone or (self.table.files[0].pid == os.getpid() and self.version not in living):
            raise ClusterError("a shared array, or this version of it, is gone: nothing refers to it any more")
        index = integers(index)
        return gather(self._ready(index), index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self[...], dtype=dtype, copy=None)

    def update(self, index: Any, values: Any) -> None:
        """Raise: functions can't write."""
        self[index] = values

    add = update

    def add_at(self, index: Any, values: Any) -> None:
        """Add values at positions when the computation is through; what is read meanwhile doesn't change.

        Repeated positions count each, as in `numpy.add.at`.
        """
        additions.note(self._layout, index, values)

    def _ready(self, index: Any) -> Array:
        """Return the array, in which what the index touches is at hand."""
        rank = own_rank() if self.table.files[0].pid != os.getpid() else None
        if rank is not None and not rank.pages.near:
            return rank.pages.ready(self, index)
        with self._lock:
            if self._mapped is None:
                space = _adopt(self._layout, self.table) or map_pages(self._layout, self.table, SegmentName.open)
                weakref.finalize(self, _set_aside, self._layout.token, self.table, space).atexit = False
                self._mapped = self._layout.over(space.bytes)
            return self._mapped


def map_pages(layout: PageLayout, table: PageTable, open_file: Callable[[SegmentName], int]) -> AddressRange:
    """Return the addresses at which a version's pages lie, one after the other, read-only."""
    space = AddressRange(layout.pages * layout.page)
    _map_some(space, layout, table, np.arange(layout.pages), open_file)
    return space


def _map_some(
    space: AddressRange, layout: PageLayout, table: PageTable, chosen: Array, open_file: Callable[[SegmentName], int]
) -> None:
    """Map some pages, in order."""
    opened: dict[int, int] = {}
    try:
        for at, count in runs(chosen):
            begin = int(chosen[at])
            part = slice(begin, begin + count)
            for first, number, file, slot in pieces(table.file[part], table.slot[part]):
                if file not in opened:
                    opened[file] = open_file(table.files[file])
                place = (begin + first) * layout.page
                space.map(place, number * layout.page, opened[file], slot * layout.page)
    finally:
        for descriptor in opened.values():
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _set_aside(token: str, table: PageTable, space: AddressRange) -> None:
    """Keep the addresses of a version that is gone; they go with the next version's end, or with other arrays'."""
    _aside.pop(token, None)
    _aside[token] = (table, space)
    for oldest in list(_aside)[:-MOST_ASIDE]:
        _aside.pop(oldest, None)


def _adopt(layout: PageLayout, table: PageTable) -> AddressRange | None:
    """Return the addresses of a version that is gone, with the pages mapped anew that differ; None: there are none.

    To map a page and to touch it for the first time costs more than to read it: of 1 GB that takes a tenth of a second.
    """
    former = _aside.pop(layout.token, None)
    if former is None:
        return None
    before, space = former
    known = {file: k for k, file in enumerate(dict.fromkeys((*before.files, *table.files)))}
    was, now = (np.array([known[file] for file in each.files])[each.file] for each in (before, table))
    changed = np.flatnonzero((was != now) | (before.slot != table.slot))
    _map_some(space, layout, table, changed, SegmentName.open)
    return space


def gather(array: Array, index: Any) -> Any:
    """Return what an index picks, in memory of its own."""
    if isinstance(index, np.ndarray) and index.dtype.kind in "iu":
        large = index.size >= compiled.MANY and array.ndim == 1
        if large and int(index.min()) >= 0 and int(index.max()) < len(array):
            picked = compiled.gather(array, index)
            if picked is not None:
                return picked
        return array.take(index, axis=0)
    picked = array[index]
    return picked.copy() if isinstance(picked, np.ndarray) and np.may_share_memory(picked, array) else picked


MOST_ASIDE = 2
_aside: dict[str, tuple[PageTable, AddressRange]] = {}
"""Addresses of versions that are gone, by the array's token, the oldest first."""
living: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""The versions in this process's memory that somebody may need, by their numbers."""
