"""What batches read of spill files: asked for while they wait for their turn, and let go of when they have ended.

Slabs of which a batch takes most are read ahead whole. Of others the kernel reads the pieces that are taken, and
nothing around them. What its cache has no room for goes again as soon as it was read, by whole pages: those at the ends
of pieces, which two batches read, would fill it.
"""

from __future__ import annotations

import math
import mmap
import threading
from typing import TYPE_CHECKING

from ..rank.chunk_reader import SlabPlace, region_of
from ..rank.inputs import list_read
from ..sources.io_pool import read_soon
from .memory_limit import room
from .page_cache import PAGE, advise, ask_ahead, drop_file, let_go

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..rank.chunk_reader import BatchReader
    from ..wire.protocol import Run
    from ..wire.transport import Bytes

PART = 4
"""A quarter of the memory that is left is for what is read ahead, where it won't stay."""
WHOLE = 4
"""Slabs are read ahead whole if they are no more than so many times as many bytes as the batch takes of them."""


class Ahead:
    """Bytes read for batches that wait: no more than a part of the memory that is left, but one batch's at least."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes = 0

    def take(self, nbytes: int) -> bool:
        """Count more bytes, if there is room for them."""
        most = room() // PART
        with self._lock:
            if self._bytes and self._bytes + nbytes > most:
                return False
            self._bytes += nbytes
            return True

    def give_back(self, nbytes: int) -> None:
        """Count bytes no longer: they aren't in use any more."""
        with self._lock:
            self._bytes -= nbytes


ahead = Ahead()
"""Of this process."""


class SpillReads:
    """The parts of spill files that a batch reads, as they are mapped.

    `fits`: the kernel's cache may keep what is read. `path` returns where a spill file is opened, of (owner, source).
    """

    def __init__(self, run: Run, reader: BatchReader, fits: bool, path: Callable[[int, int], str]) -> None:
        self._fits, self._path = fits, path  # not the reader, which has this: together they would keep files mapped
        self._files: dict[tuple[int, int], Bytes] = {}
        self._parts: set[tuple[tuple[int, int], int, int]] = set()
        stage = reader.stage
        for places, producer in zip(run.inputs, reader.producers, strict=True):
            for i in (places.sources >= 0).nonzero()[0].tolist():
                at, size = int(places.offsets[i]), int(producer.all_slab_bytes[places.tasks[i]])
                self._add(reader, (int(places.owners[i]), int(places.sources[i])), at, at + size)
        each = stage.domain.largest * math.prod(stage.groups) * stage.blocks_per_task * stage.dtype.itemsize
        taken = WHOLE * each * len(run.tasks) * max(1, len(run.inputs))
        if self._all_bytes() > taken and not fits:
            self._take_pieces(run, reader)
        if not fits:
            for memory in self._files.values():
                advise(memory, mmap.MADV_RANDOM)
        self._to_ask: list[Bytes] = []
        self._taken = 0
        if self._parts and self._all_bytes() <= taken:
            self._to_ask = [self._files[file][begin:end] for file, begin, end in sorted(self._parts)]
            if fits or ahead.take(self._all_bytes()):
                self._taken = 0 if fits else self._all_bytes()
                read_soon(self.begin)

    def _all_bytes(self) -> int:
        return sum(end - begin for _, begin, end in self._parts)

    def _add(self, reader: BatchReader, file: tuple[int, int], begin: int, end: int) -> None:
        """Add whole pages of a file, where it can be read in place."""
        if file not in self._files:
            memory = reader.memory(SlabPlace(file[0], 0, file[1]))
            if memory is None:
                return
            self._files[file] = memory
        self._parts.add((file, begin - begin % PAGE, min(end + -end % PAGE, self._files[file].nbytes)))

    def _take_pieces(self, run: Run, reader: BatchReader) -> None:
        """Have the parts be what is taken of each block, from the first byte to the last, instead of slabs."""
        self._parts.clear()
        for number, block, take in list_read(reader.stage, run.tasks):
            producer = reader.producers[number]
            place = reader.places[number][block // producer.blocks_per_task]
            if place.source < 0:
                continue
            whole = take or tuple(slice(None) for _ in producer.grid.shape)
            region, _ = region_of(producer, place, reader.at(number, block), block, whole)
            if all(region.shape):
                steps = zip(region.shape, region.strides, strict=True)
                ends = [(count - 1) * step for count, step in steps]
                first = region.offset + sum(min(0, end) for end in ends)
                last = region.offset + sum(max(0, end) for end in ends) + region.itemsize
                self._add(reader, (place.owner, place.source), first, last)

    def begin(self) -> None:
        """Ask for what wasn't asked for ahead; from any thread."""
        parts, self._to_ask = self._to_ask, []
        for part in parts:
            if self._parts:  # it hasn't ended
                ask_ahead(part)

    def end(self) -> None:
        """Give memory back that the files don't fit."""
        ahead.give_back(self._taken)
        self._taken = 0
        self._to_ask = []
        if not self._fits:
            ranges: dict[tuple[int, int], list[tuple[int, int]]] = {}
            for file, begin, end in self._parts:
                let_go(self._files[file][begin:end])
                ranges.setdefault(file, []).append((begin, end))
            for file, parts in ranges.items():
                drop_file(self._path(*file), parts)
        self._parts.clear()
        self._files.clear()
