"""A rank's part in shared arrays: it reads pages, keeps its host's copies if it is the first rank there, serves them.

That rank, of those that live, is the host's keeper.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ClusterError
from ...wire.page_messages import AddNoted, DropMirror, EnsurePages, FreePages, LocatePages, OpenMirrors, ReadPages
from ..host_copies import find_keeper
from ..object_segments import read, write
from ..segment import AddressRange, SegmentName
from .additions import receive
from .directory import DRIVER, Directory
from .files import PageFile
from .mirrors import MirrorPages, Mirrors, read_pages
from .positions import pages_of
from .snapshot import PageTable, map_pages

if TYPE_CHECKING:
    from ...wire.rpc import Calls, Question
    from ...wire.transport import Bytes, Transport
    from .additions import Noted
    from .snapshot import PageLayout, SharedSnapshot

Array = np.ndarray[Any, Any]
BATCH = 1 << 23
"""Bytes of pages in one answer."""
TRIES = 20
PAUSE = 0.05


class PageService:
    """See the module."""

    def __init__(self, calls: Calls, transport: Transport) -> None:
        self.rank, self._calls, self._transport = transport.rank, calls, transport
        self.directory = Directory()
        self.mirrors = Mirrors(self._fetch)
        self.sent: dict[str, int] = {}
        """Bytes of pages that went to other ranks, by the array's token."""
        calls.serve(AddNoted, self._on_add)
        calls.serve(LocatePages, self._on_locate)
        calls.serve(ReadPages, self._on_read)
        calls.serve(OpenMirrors, self._on_open)
        calls.serve(EnsurePages, self._on_ensure)
        calls.serve(DropMirror, lambda question: self.mirrors.drop(question.message.token))
        calls.serve(FreePages, self._on_free)
        calls.when_lost(self.directory.lose)

    @property
    def near(self) -> bool:
        """Whether the driver's memory can be mapped."""
        return self._transport.peers[DRIVER].in_place

    def close(self) -> None:
        """Give up nothing: whoever reads pages holds them."""

    # ---------------------------------------------------------------- reading, on compute threads

    def ready(self, snapshot: SharedSnapshot, index: Any) -> Array:
        """Return a version's array in which what an index touches is at hand; the driver is on another host."""
        layout, table = snapshot._layout, snapshot.table
        touched = pages_of(index, layout.shape, layout.dtype.itemsize, layout.page)
        if not layout.spread:
            return layout.over(self._read_for_once(layout, table, touched))
        for attempt in range(TRIES):
            keeper = find_keeper(self._transport, self._calls)
            try:
                return layout.over(self._mirrored(snapshot, keeper, touched))
            except (ClusterError, OSError):
                if keeper == self.rank or attempt == TRIES - 1:
                    raise
                time.sleep(PAUSE)  # the keeper has died, which this rank hasn't heard yet
        raise ClusterError("a shared array's pages were not to be had")

    def _read_for_once(self, layout: PageLayout, table: PageTable, touched: Array) -> Array:
        space = AddressRange(layout.pages * layout.page, private=True)
        raw = space.bytes.reshape(-1, layout.page)
        for each, places in _wanted(layout, table, touched):
            for part in _batches(each):
                pages = self._calls.ask(DRIVER, ReadPages([each.part(part)]))
                raw[places[part]] = pages.reshape(-1, layout.page)
        return space.bytes

    def _mirrored(self, snapshot: SharedSnapshot, keeper: int, touched: Array) -> Array:
        """Return a version's bytes on this host, where the touched pages have come."""
        layout, table = snapshot._layout, snapshot.table
        view = snapshot.view
        if view is None or view.keeper != keeper:
            opened = self._calls.ask(keeper, OpenMirrors(layout.page, table.files))
            view = snapshot.view = MappedVersion(layout, table, keeper, opened)
        missing = view.missing(table, touched)
        if len(missing):
            self._calls.ask(keeper, EnsurePages([each for each, _ in _wanted(layout, table, missing)]))
        return view.bytes

    # ---------------------------------------------------------------- telling, on compute threads

    def tell(self, key: str, block: int, noted: Noted, attempt: int) -> None:
        """Tell the driver what a block has added; from its host it maps it, else it is sent."""
        segment = write(noted) if self.near else None
        if segment is None or not self._calls.ask(DRIVER, AddNoted(key, block, attempt, segment.name)):
            self._calls.ask(DRIVER, AddNoted(key, block, attempt, noted))

    # ---------------------------------------------------------------- fetching, on threads of the keeper's

    def _fetch(self, wanted: list[MirrorPages]) -> None:
        threading.Thread(target=self._bring, args=(wanted,), name="windrow-pages", daemon=True).start()

    def _bring(self, wanted: list[MirrorPages]) -> None:
        """Fetch pages from who has them; from each on a thread of its own, since one may wait for another."""
        try:
            numbers = np.concatenate([each.numbers for each in wanted])
            sources = np.array(self._calls.ask(DRIVER, LocatePages(numbers.tolist())))
        except BaseException as error:
            for each in wanted:
                self.mirrors.arrived(each, None, error)
            return
        requests: list[tuple[int, list[MirrorPages]]] = []
        for source in np.unique(sources).tolist():
            at, mine = 0, []
            for each in wanted:
                chosen = np.flatnonzero(sources[at : at + len(each.numbers)] == source)
                at += len(each.numbers)
                mine += [each.part(chosen)] if len(chosen) else []
            requests.append((source, mine))
        threads = [
            threading.Thread(target=self._bring_from, args=pair, name="windrow-pages", daemon=True)
            for pair in requests[1:]
        ]
        for thread in threads:
            thread.start()
        self._bring_from(*requests[0])

    def _bring_from(self, source: int, wanted: list[MirrorPages]) -> None:
        """Fetch pages from a holder; where it is lost from the driver, since others may wait for this rank by now."""
        for each in wanted:
            for part in _batches(each):
                mine = each.part(part)
                try:
                    raw = self._calls.ask(source, ReadPages([mine]))
                except BaseException as error:
                    if source == DRIVER:
                        self.mirrors.arrived(mine, None, error)
                    else:
                        self._bring_from(DRIVER, [mine])
                else:
                    self.mirrors.arrived(mine, raw)

    # ---------------------------------------------------------------- answers, on the I/O thread

    def _on_add(self, question: Question[AddNoted]) -> None:
        message, noted = question.message, question.message.noted
        if isinstance(noted, SegmentName):
            try:
                memory = noted.map()
            except OSError:
                question.reply(False)
                return
            noted = read(memory, noted.token)
        receive(message.key, message.block, noted, message.attempt)
        question.reply(True)

    def _on_locate(self, question: Question[LocatePages]) -> None:
        question.reply(self.directory.where(question.rank, question.message.numbers))

    def _on_read(self, question: Question[ReadPages]) -> None:
        wanted = question.message.wanted
        array = wanted[0].array

        def done(raw: Bytes | None, error: BaseException | None) -> None:
            if raw is None:
                question.fail(error or ClusterError("pages of a shared array are not here"))
                return
            self.sent[array] = self.sent.get(array, 0) + raw.nbytes
            question.reply(raw)

        if self.rank == DRIVER:
            done(np.concatenate([_read_own(each) for each in wanted]), None)
        else:
            self.mirrors.read(wanted, done)

    def _on_open(self, question: Question[OpenMirrors]) -> None:
        question.reply([self.mirrors.open(file, question.message.page) for file in question.message.files])

    def _on_ensure(self, question: Question[EnsurePages]) -> None:
        def done(error: BaseException | None) -> None:
            if error is None:
                question.reply(None)
            else:
                question.fail(error)

        self.mirrors.ensure(question.message.wanted, done)

    def _on_free(self, question: Question[FreePages]) -> None:
        pages = question.message
        self.mirrors.free(pages.token, pages.slots)


class MappedVersion:
    """A version's pages in the copies that a host's keeper has."""

    def __init__(
        self, layout: PageLayout, table: PageTable, keeper: int, opened: list[tuple[SegmentName, SegmentName]]
    ) -> None:
        self.keeper = keeper
        mirrors = dict(zip(table.files, opened, strict=True))
        self.bytes = map_pages(layout, table, lambda file: mirrors[file][0].open()).bytes
        self._held: list[Array] = [index.map().view(np.int64) for _, index in opened]

    def missing(self, table: PageTable, touched: Array) -> Array:
        """Return which pages haven't come."""
        file, slot, number = table.file[touched], table.slot[touched], table.number[touched]
        absent = np.zeros(len(touched), bool)
        for k, held in enumerate(self._held):
            mine = file == k
            absent[mine] = held[slot[mine]] != number[mine]
        return touched[absent]


def _wanted(layout: PageLayout, table: PageTable, touched: Array) -> list[tuple[MirrorPages, Array]]:
    """Return what to ask for, by files, with the pages that it is."""
    requests = []
    for k in np.unique(table.file[touched]).tolist():
        mine = touched[table.file[touched] == k]
        slots, numbers = table.slot[mine], table.number[mine]
        requests.append((MirrorPages(layout.token, table.files[k], layout.page, slots, numbers), mine))
    return requests


def _batches(wanted: MirrorPages) -> list[Array]:
    each = max(BATCH // wanted.page, 1)
    return [np.arange(at, min(at + each, len(wanted.slots))) for at in range(0, len(wanted.slots), each)]


def _read_own(wanted: MirrorPages) -> Array:
    """Return pages of a file that this process has."""
    page_file = PageFile.own.get(wanted.file.token)
    if page_file is None:
        raise ClusterError("a version of a shared array is gone: the driver has let go of it")
    return read_pages(page_file.descriptor, wanted.page, wanted.slots)
