"""Who has which bytes of a rank's arena: a pure allocator, run by the scheduler for every rank.

Since the scheduler places every slab itself, a rank needs no word about what is freed, and free bytes are
known exactly. Freed ranges of one size are reused at once, hot; when none fits, neighbours are merged.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ...graph.lowering.stage import ALIGN

STAGGER = 4160
LARGE = 1 << 16


class ArenaAllocator:
    """Allocates byte ranges in [0, size)."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.used = 0
        self._top = 0
        self._loose = 0
        self._free: defaultdict[int, list[int]] = defaultdict(list)

    @property
    def free(self) -> int:
        """Bytes not in use."""
        return self.size - self.used

    def take(self, nbytes: int) -> int | None:
        """Return the offset of a new range, or None when no range of this size is left."""
        return self._take(self.pad_size(nbytes))

    def take_run(self, nbytes: int, count: int) -> int | None:
        """Return the offset of `count` small ranges that follow each other; each is given back on its own."""
        return self._take(self.pad_size(nbytes) * count) if nbytes < LARGE else None

    def _take(self, nbytes: int) -> int | None:
        if nbytes > self.free:
            return None
        stack = self._free.get(nbytes)
        offset = stack.pop() if stack else -1
        # Used memory is better than fresh, whose pages the kernel must clear first.
        if offset < 0 and nbytes >= LARGE:
            offset = self._split(nbytes)
        if offset < 0 and self._loose >= max(nbytes, self._top // 4):
            self._merge()
            offset = self._split(nbytes)
        if offset < 0 and self._top + nbytes <= self.size:
            offset = self._top
            self._top += nbytes
        if offset < 0:
            offset = self._split(nbytes)
        if offset < 0:
            self._merge()
            offset = self._split(nbytes)
        if offset < 0 and self._top + nbytes <= self.size:
            offset = self._top
            self._top += nbytes
        if offset < 0:
            return None
        self.used += nbytes
        return offset

    def give(self, offset: int, nbytes: int) -> None:
        nbytes = self.pad_size(nbytes)
        self.used -= nbytes
        self._loose += nbytes
        self._free[nbytes].append(offset)

    def holes(self) -> list[tuple[int, int]]:
        """Return the ranges that nothing lies in, also behind the last in use, as offsets and sizes."""
        self._merge()
        holes = [(offset, size) for size, stack in self._free.items() if size >= LARGE for offset in stack]
        return [*holes, (self._top, self.size - self._top)]

    @staticmethod
    def pad_size(nbytes: int) -> int:
        """Return what a range really takes.

        Large ones are rounded up to one of 64 sizes between powers of two, so that one serves for another; a little
        more than a round size takes what that takes. They are staggered, against shared cache sets.
        """
        if nbytes < LARGE:
            return max(ALIGN, -(-nbytes // ALIGN) * ALIGN)
        grain = 1 << (nbytes.bit_length() - 7)
        return -(-(nbytes + grain // 4) // grain) * grain + STAGGER

    def _split(self, nbytes: int) -> int:
        fitting = [size for size, stack in self._free.items() if stack and size >= nbytes]
        if not fitting:
            return -1
        size = min(fitting)
        offset = self._free[size].pop()
        if size > nbytes:
            self._free[size - nbytes].append(offset + nbytes)
        return offset

    def _merge(self) -> None:
        self._loose = 0
        ranges = [(offset, size) for size, stack in self._free.items() for offset in stack]
        self._free.clear()
        if not ranges:
            return
        array = np.array(sorted(ranges), np.int64)
        begin, end = array[:, 0], array[:, 0] + array[:, 1]
        heads = np.concatenate([[True], begin[1:] != end[:-1]])
        first = begin[heads]
        last = end[np.concatenate([np.flatnonzero(heads)[1:] - 1, [len(end) - 1]])]
        for lo, hi in zip(first.tolist(), last.tolist(), strict=True):
            if hi == self._top:
                self._top = lo
            else:
                self._free[hi - lo].append(lo)
