"""Where slabs lie: the ranges of all arenas, and the spill files, by whose slabs they are still needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...graph.few import ascending
from .arena import ArenaAllocator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...graph.chunks.grid import Index
    from .stage_record import StageRecord


class Slabs:
    """Places slabs and takes them back."""

    def __init__(self, arenas: Sequence[int]) -> None:
        self.arenas = [ArenaAllocator(size) for size in arenas]
        self.dropped: list[tuple[int, int]] = []
        """Files that nothing is left in: (rank, number)."""
        self.doomed: list[tuple[set[int], int, int, int]] = []
        """Ranges that are taken back when batches have ended: (these, rank, offset, bytes)."""
        self._files: dict[tuple[int, int], int] = {}
        self._lent: dict[tuple[int, int], set[int]] = {}
        self._strays: dict[int, list[tuple[int, int]]] = {}

    def place(self, rank: int, sizes: Index) -> Index:
        """Return where slabs go in a rank's arena: as many of them, the first ones, as fit."""
        arena = self.arenas[rank]
        if len(sizes) > 1 and not np.ptp(sizes) and (base := arena.take_run(int(sizes[0]), len(sizes))) is not None:
            return base + ascending(0, len(sizes)) * ArenaAllocator.pad_size(int(sizes[0]))
        offsets: list[int] = []
        for nbytes in sizes.tolist():
            offset = arena.take(nbytes)
            if offset is None:
                break
            offsets.append(offset)
        return np.array(offsets, np.int64)

    def give(self, rank: int, offsets: Index, sizes: Index) -> None:
        """Take ranges of an arena back."""
        for offset, nbytes in zip(offsets.tolist(), sizes.tolist(), strict=True):
            self.arenas[rank].give(offset, nbytes)

    def free(self, record: StageRecord, tasks: Index) -> None:
        """Take back what tasks are stored in."""
        columns = (record.owner[tasks], record.offset[tasks], record.source[tasks], record.bytes[tasks])
        for rank, offset, source, nbytes in zip(*(c.tolist() for c in columns), strict=True):
            if source >= 0:
                self._leave(rank, source)
            elif (rank, offset) in self._lent:
                self.doomed.append((set(self._lent[rank, offset]), rank, offset, nbytes))
            else:
                self.arenas[int(rank)].give(offset, nbytes)

    def lend(self, number: int, read: Iterable[tuple[int, int]], own: Iterable[tuple[int, int, int]]) -> None:
        """Keep what batch `number` reads and writes until it has ended, though nobody waits for it: `restore` is told.

        `read` has ranks and offsets of slabs in arenas; what is in files stays as long as it is mapped. `own` has
        ranks, offsets and bytes of what it writes.
        """
        self._strays[number] = places = list(read)
        for place in places:
            self._lent.setdefault(place, set()).add(number)
        self.doomed += [({number}, *each) for each in own]

    def restore(self, number: int, batches: Mapping[int, object]) -> None:
        """Take back what was lent to a batch: it has ended."""
        for place in self._strays.pop(number, ()):
            self._lent[place].discard(number)
            if not self._lent[place]:
                del self._lent[place]
        self.bury(batches, number)

    def expel(self, record: StageRecord, tasks: Index, readers: set[int]) -> None:
        """Have what tasks are stored in taken back by `bury` when those batches have ended that may read it."""
        columns = (record.owner[tasks], record.offset[tasks], record.source[tasks], record.bytes[tasks])
        for rank, offset, source, nbytes in zip(*(c.tolist() for c in columns), strict=True):
            if source < 0:
                self.doomed.append((set(readers), rank, offset, nbytes))
            else:
                self._leave(rank, source)

    def _leave(self, rank: int, source: int) -> None:
        self._files[rank, source] -= 1
        if not self._files[rank, source]:
            del self._files[rank, source]
            self.dropped.append((rank, source))

    def move(self, rank: int, offsets: Index, sizes: Index, source: int, readers: set[int]) -> None:
        """Note that slabs have gone to a file; `bury` takes their ranges back when their readers have ended."""
        if len(offsets):
            self._files[rank, source] = len(offsets)
        else:
            self.dropped.append((rank, source))
        for offset, nbytes in zip(offsets.tolist(), sizes.tolist(), strict=True):
            self.doomed.append((set(readers), rank, offset, nbytes))

    def bury(self, batches: Mapping[int, object], number: int = -1) -> None:
        """Take back the ranges that no batch reads any more, now that one has ended."""
        rest: list[tuple[set[int], int, int, int]] = []
        for readers, rank, offset, nbytes in self.doomed:
            readers.discard(number)
            readers &= batches.keys() | self._strays.keys()
            if readers:
                rest.append((readers, rank, offset, nbytes))
            else:
                self.arenas[rank].give(offset, nbytes)
        self.doomed = rest

    def lose(self, rank: int, batches: Mapping[int, object]) -> None:
        self.doomed = [d for d in self.doomed if d[1] != rank]
        self._files = {k: n for k, n in self._files.items() if k[0] != rank}
        self.bury(batches)
