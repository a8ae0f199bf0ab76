"""The pages of a shared array in the driver's memory: versions that are read, and the one that is written.

A page that a version which somebody may still need has in common with the present one is copied before it is written.
Nobody needs it: it is written in place. What no version has any more is given back.
"""

from __future__ import annotations

import itertools
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ....workers.shared.pages.files import MOST_PIECES, PageFile, pieces, runs
from ....workers.shared.pages.snapshot import PageLayout, PageTable, SharedSnapshot, living
from ....workers.shared.segment import AddressRange
from ..shared_objects import share
from .lease import Lease
from .telling import far, forget_pages, tell_freed, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....workers.shared.shared_objects import Shared

Array = np.ndarray[Any, Any]
MOST_FILES = 32
_numbers = itertools.count(1)


@dataclass(eq=False)
class Version:
    """A version that has been handed out: its table, shared under a name, and who needs it."""

    files: tuple[PageFile, ...]
    table: PageTable
    shared: Shared
    leases: weakref.WeakSet[Lease] = field(default_factory=lambda: weakref.WeakSet())


class Pages:
    """The present version, and those that somebody may need; `idle` has the engine let go of what has ended."""

    def __init__(self, layout: PageLayout, idle: Callable[[], None]) -> None:
        self.layout, self._idle = layout, idle
        self._files = [self._make_file(layout.pages)]
        self._file = np.zeros(layout.pages, np.int32)
        self._slot = np.arange(layout.pages, dtype=np.int64)
        self._number = np.fromiter(itertools.islice(_numbers, layout.pages), np.int64, layout.pages)
        self._known = self._number.copy()
        self._space = AddressRange(layout.pages * layout.page, self._files[0].descriptor, write=True)
        self._present: Version | None = None
        self._others: weakref.WeakSet[Version] = weakref.WeakSet()
        self.copied = 0
        """Pages that were copied, since the version before was needed."""

    @property
    def array(self) -> Array:
        """The present version, writable: only where `prepare` was called for what is written."""
        return self.layout.over(self._space.bytes)

    @property
    def used(self) -> int:
        """Bytes of memory that all versions take."""
        return sum(file.used for file in {id(f): f for f in self._living()}.values())

    def _living(self) -> list[PageFile]:
        return [*self._files, *(f for v in list(self._others) for f in v.files)]

    def _make_file(self, pages: int) -> PageFile:
        file = PageFile.create("pages", pages * self.layout.page)
        watch(file)
        return file

    def lease(self) -> Lease:
        """Return what keeps the present version; its name is that of `lease.version.shared`."""
        if self._present is None:
            table = PageTable(
                tuple(f.name for f in self._files), self._file.copy(), self._slot.copy(), self._number.copy()
            )
            number = next(_numbers)
            self._present = Version(tuple(self._files), table, share(SharedSnapshot(self.layout, table, number)))
            living[number] = self._present
            self._others.add(self._present)
        lease = Lease(self._present)
        self._present.leases.add(lease)
        return lease

    def is_at(self, lease: Lease) -> bool:
        """Tell whether nothing was written since a lease was made."""
        return self._present is lease.version

    def prepare(self, touched: Array) -> None:
        """Have pages ready to be written: the present version is a new one then."""
        self._present = None
        for _ in range(2):  # the engine forgets behind its answers
            if self._others:
                self._idle()
        self._sweep()
        needed = np.zeros(len(touched), bool)
        for version in list(self._others):
            theirs = _places(version.files, version.table.file[touched], version.table.slot[touched])
            needed |= (theirs == _places(self._files, self._file[touched], self._slot[touched])).all(axis=0)
        if needed.any():
            self._copy(touched[needed])
        self._number[touched] = np.fromiter(itertools.islice(_numbers, len(touched)), np.int64, len(touched))

    def _copy(self, touched: Array) -> None:
        """Give pages new places, and copy what they hold."""
        file = self._make_file(len(touched))
        raw = self._space.bytes.reshape(-1, self.layout.page)
        for at, count in runs(touched):
            begin = int(touched[at])
            file.write(raw[begin : begin + count].reshape(-1).data, at * self.layout.page)
        self._files.append(file)
        self._file[touched], self._slot[touched] = len(self._files) - 1, np.arange(len(touched))
        self.copied += len(touched)
        self._map(touched)
        if len(self._files) > MOST_FILES or len(pieces(self._file, self._slot)) > MOST_PIECES:
            self._gather()
        used, place = np.unique(self._file, return_inverse=True)
        self._files, self._file = [self._files[int(k)] for k in used], place.astype(np.int32)

    def _gather(self) -> None:
        """Bring pages that lie in small files, or all if they are strewn, into one file."""
        strewn = len(pieces(self._file, self._slot)) > MOST_PIECES
        moved = np.arange(self.layout.pages) if strewn else np.flatnonzero(self._file != 0)
        file = self._make_file(len(moved))
        raw = self._space.bytes.reshape(-1, self.layout.page)
        for at, count in runs(moved):
            begin = int(moved[at])
            file.write(raw[begin : begin + count].reshape(-1).data, at * self.layout.page)
        self._files.append(file)
        self._file[moved], self._slot[moved] = len(self._files) - 1, np.arange(len(moved))
        self._map(moved)

    def _map(self, touched: Array) -> None:
        """Have the present version's addresses mean where its pages are now."""
        page = self.layout.page
        for at, count in runs(touched):
            begin = int(touched[at])
            part = slice(begin, begin + count)
            for first, number, file, slot in pieces(self._file[part], self._slot[part]):
                self._space.map((begin + first) * page, number * page, self._files[file].descriptor, slot * page)

    def _sweep(self) -> None:
        """Give back the memory of places that no version has a page in."""
        live_pages: dict[int, tuple[PageFile, Array]] = {}
        versions = [(tuple(self._files), self._file, self._slot)]
        versions += [(v.files, v.table.file, v.table.slot) for v in list(self._others)]
        for files, file, slot in versions:
            for k, each in enumerate(files):
                _, live = live_pages.setdefault(id(each), (each, np.zeros(each.name.nbytes // self.layout.page, bool)))
                live[slot[file == k]] = True
        if far():
            alive = np.unique(np.concatenate([self._number, *(v.table.number for v in list(self._others))]))
            forget_pages(np.setdiff1d(self._known, alive, assume_unique=True))
            self._known = alive
        for each, live in live_pages.values():
            dead = np.flatnonzero(~live & ~each.freed) if each.freed is not None else np.flatnonzero(~live)
            if len(dead):
                each.freed = ~live
                tell_freed(each, dead)
                for at, count in runs(dead):
                    each.free(int(dead[at]) * self.layout.page, count * self.layout.page)


def _places(files: Sequence[PageFile], file: Array, slot: Array) -> Array:
    """Return for pages which file each is in, and where."""
    return np.stack([np.array([each.number for each in files])[file], slot])
