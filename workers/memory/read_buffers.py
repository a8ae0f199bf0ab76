"""Memory that files' chunks are decoded into, which is used again for the next ones.

What allocators map anew for each chunk the kernel must clear, and what they keep instead they keep for each thread that
decodes: several times what is read at once. Here it is kept for the process, and no more than `KEPT` bytes of it.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph.expr.expr import DType

LEAST, KEPT = 1 << 20, 1 << 26
"""Bytes below which allocators do as well, and that are kept at most."""
GRAIN = 1 << 18
LOOSE = 5 / 4
"""A buffer serves for what is smaller than it by so much."""

_guard = threading.Lock()
_free: list[mmap.mmap] = []
"""Those used last at the end, whose pages are the warmest."""
_returned: deque[mmap.mmap] = deque()
"""Those that came back since."""


def read_buffer(shape: Sequence[int], dtype: DType) -> np.ndarray[Any, Any]:
    """Return an array to read into, whatever is in it; its memory is used again when nothing refers to it."""
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes < LEAST:
        return np.empty(shape, dtype)
    memory = _take(nbytes)
    if memory is None:
        memory = mmap.mmap(-1, -(-nbytes // GRAIN) * GRAIN, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError):  # a kernel without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    array = np.ndarray(tuple(shape), dtype, memory)
    weakref.finalize(array, _give, memory).atexit = False
    return array


def drop_read_buffers() -> None:
    """Give the system back what is kept."""
    with _guard:
        _returned.clear()
        _free.clear()


def _take(nbytes: int) -> mmap.mmap | None:
    with _guard:
        _settle()
        for place in reversed(range(len(_free))):
            if nbytes <= len(_free[place]) <= max(nbytes * LOOSE, nbytes + GRAIN):
                return _free.pop(place)
        given_up = 0  # so that there is never more than was in use at a time
        while _free and given_up < nbytes:
            given_up += len(_free.pop(0))
    return None


def _give(memory: mmap.mmap) -> None:
    """Take memory back; a garbage collection may call this on a thread that has the guard, so nothing is waited for."""
    _returned.append(memory)
    if _guard.acquire(blocking=False):
        try:
            _settle()
        finally:
            _guard.release()


def _settle() -> None:
    while _returned:
        _free.append(_returned.popleft())
    while sum(map(len, _free)) > KEPT:
        del _free[0]


def _begin_anew() -> None:
    global _guard
    _guard = threading.Lock()


os.register_at_fork(after_in_child=_begin_anew)
