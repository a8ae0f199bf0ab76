"""Copies of the driver's pages on another host: one rank there fetches them, all ranks there read them in place.

A mirror has the layout of the driver's file, and takes memory for the pages alone that have come. Beside it lies which
page each place holds, by number: that is written last, so that whoever reads a number there reads the page.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ClusterError
from .files import PageFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...wire.transport import Bytes
    from ..segment import SegmentName

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class MirrorPages:
    """Pages of one file of the driver's: their places and numbers; `array` is the shared array's token."""

    array: str
    file: SegmentName
    page: int
    slots: Array
    numbers: Array

    def part(self, chosen: Array) -> MirrorPages:
        return replace(self, slots=self.slots[chosen], numbers=self.numbers[chosen])


class Mirror:
    """A copy of a file of the driver's, as far as it was asked for."""

    def __init__(self, file: SegmentName, page: int) -> None:
        self.page = page
        self.data = PageFile.create("mirror", file.nbytes)
        self.index = PageFile.create("mirror-index", 8 * (file.nbytes // page))
        self.held: Array = self.index.memory.view(np.int64)

    def put(self, slots: Array, numbers: Array, raw: Bytes) -> None:
        for at, slot in enumerate(slots.tolist()):
            self.held[slot] = 0
            self.data.write(raw[at * self.page : (at + 1) * self.page].data, slot * self.page)
        self.held[slots] = numbers

    def read(self, slots: Array) -> Bytes:
        return read_pages(self.data.descriptor, self.page, slots)


def read_pages(descriptor: int, page: int, slots: Array) -> Bytes:
    """Return pages of a file, one after the other."""
    raw = np.empty((len(slots), page), np.uint8)
    for at, slot in enumerate(slots.tolist()):
        os.preadv(descriptor, [raw[at].data], slot * page)
    return raw.reshape(-1)


class Mirrors:
    """A host's copies, and what is under way; `fetch(wanted, arrived)` is called for what nobody has asked for yet."""

    def __init__(self, fetch: Callable[[list[MirrorPages]], None]) -> None:
        self._fetch = fetch
        self._lock = threading.RLock()
        self._mirrors: dict[bytes, Mirror] = {}
        self._pending: dict[int, list[Callable[[BaseException | None], None]]] = {}

    def open(self, file: SegmentName, page: int) -> tuple[SegmentName, SegmentName]:
        """Return a file's mirror, and the file that says what is in it."""
        with self._lock:
            mirror = self._mirror(file, page)
            return mirror.data.name, mirror.index.name

    def _mirror(self, file: SegmentName, page: int) -> Mirror:
        if file.token not in self._mirrors:
            self._mirrors[file.token] = Mirror(file, page)
        return self._mirrors[file.token]

    def ensure(self, wanted: Sequence[MirrorPages], done: Callable[[BaseException | None], None]) -> None:
        """Have pages fetched that aren't here; `done` is called once all are, maybe at once."""
        new: list[MirrorPages] = []
        with self._lock:
            counter = _Counter(done)
            for each in wanted:
                mirror = self._mirror(each.file, each.page)
                missing = np.flatnonzero(mirror.held[each.slots] != each.numbers)
                mine = []
                for at, number in zip(missing.tolist(), each.numbers[missing].tolist(), strict=True):
                    counter.left += 1
                    if number in self._pending:
                        self._pending[number].append(counter.count)
                    else:
                        self._pending[number] = [counter.count]
                        mine.append(at)
                if mine:
                    new.append(each.part(np.array(mine)))
        if new:
            self._fetch(new)
        counter.count(None)

    def read(self, wanted: Sequence[MirrorPages], done: Callable[[Bytes | None, BaseException | None], None]) -> None:
        """Hand pages over that are here, or come soon; a ClusterError where neither is so."""
        with self._lock:
            counter = _Counter(lambda error: done(None, error) if error else done(self._join(wanted), None))
            for each in wanted:
                mirror = self._mirrors.get(each.file.token)
                held = None if mirror is None else mirror.held[each.slots] == each.numbers
                for at, number in enumerate(each.numbers.tolist()):
                    if held is not None and held[at]:
                        continue
                    if number not in self._pending:
                        raise ClusterError("a page of a shared array is not here any more")
                    counter.left += 1
                    self._pending[number].append(counter.count)
        counter.count(None)

    def _join(self, wanted: Sequence[MirrorPages]) -> Bytes:
        return np.concatenate([self._mirrors[each.file.token].read(each.slots) for each in wanted])

    def arrived(self, wanted: MirrorPages, raw: Bytes | None, error: BaseException | None = None) -> None:
        """Take pages that have come, or note that they can't be had."""
        with self._lock:
            if raw is not None:
                self._mirror(wanted.file, wanted.page).put(wanted.slots, wanted.numbers, raw)
            callbacks = [call for number in wanted.numbers.tolist() for call in self._pending.pop(number, ())]
        for call in callbacks:
            call(error)

    def drop(self, token: bytes) -> None:
        """Give a file's copy back: the driver has let go of it."""
        with self._lock:
            self._mirrors.pop(token, None)

    def free(self, token: bytes, slots: Array) -> None:
        """Give back the memory of pages that no version has."""
        with self._lock:
            mirror = self._mirrors.get(token)
            if mirror is not None:
                mirror.held[slots] = 0
                for slot in slots.tolist():
                    mirror.data.free(slot * mirror.page, mirror.page)

    @property
    def used(self) -> int:
        """Bytes of memory that the copies take."""
        with self._lock:
            return sum(each.data.used for each in self._mirrors.values())


class _Counter:
    """Calls a function once when all is counted, with the first error."""

    def __init__(self, done: Callable[[BaseException | None], None]) -> None:
        self.left, self._done = 1, done
        self._error: BaseException | None = None
        self._lock = threading.Lock()

    def count(self, error: BaseException | None) -> None:
        with self._lock:
            self.left -= 1
            self._error = self._error or error
            last = self.left == 0
        if last:
            self._done(self._error)
