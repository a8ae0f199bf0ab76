"""Segments that hold pages, and arrays over the pages of several of them.

The driver writes; processes of its host map its segments and read in place. A version whose pages lie in several is one
range of addresses all the same: pages are mapped over each other.
"""

from __future__ import annotations

import itertools
import mmap
import os
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from ..segment import SharedSegment, punch

if TYPE_CHECKING:
    from ..segment import SegmentName

UNIT = mmap.ALLOCATIONGRANULARITY
"""Pages are multiples of it."""
MOST_PIECES = 8192
"""A process may have some 65,000 mappings; a version whose pages are strewn over more pieces is copied."""
_numbers = itertools.count()


class PageFile(SharedSegment):
    """A segment of pages of this process's own; its memory is given back when it goes, though others have mapped it."""

    own: ClassVar[WeakValueDictionary[bytes, PageFile]] = WeakValueDictionary()
    """Those of this process, by their tokens."""

    def __init__(self, name: SegmentName) -> None:
        super().__init__(name)
        self.number = next(_numbers)
        self.freed: np.ndarray[Any, Any] | None = None
        """Which pages have been given back."""
        self.own[name.token] = self

    @staticmethod
    def _let_go(name: SegmentName) -> None:
        if name.pid == os.getpid():  # a forked child has the descriptors, too, and not the say
            punch(name.descriptor, 0, max(name.nbytes, 1))
        os.close(name.descriptor)


def pieces(files: np.ndarray[Any, Any], slots: np.ndarray[Any, Any]) -> list[tuple[int, int, int, int]]:
    """Return runs of pages that follow each other in one file: (first page, number, file, first slot)."""
    if not len(files):
        return []
    breaks = np.flatnonzero((np.diff(files) != 0) | (np.diff(slots) != 1)) + 1
    first = np.concatenate([[0], breaks])
    count = np.diff(np.append(first, len(files)))
    return list(zip(first.tolist(), count.tolist(), files[first].tolist(), slots[first].tolist(), strict=True))


def runs(numbers: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """Return where numbers follow each other: place of the first one, and how many."""
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    first = np.concatenate([[0], breaks]) if len(numbers) else np.zeros(0, np.int64)
    return list(
        zip(first.astype(int).tolist(), np.diff(np.append(first, len(numbers))).astype(int).tolist(), strict=True)
    )
