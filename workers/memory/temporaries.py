"""Memory that temporaries of blocks leave behind is used again.

A user's NumPy function makes a temporary the size of its block for each operation. glibc maps memory anew for each of
more than 128 KiB, whose pages the kernel must clear at the first touch, and gives it back at once: that takes a quarter
of a stencil's time on blocks of 8 MB. Once a program has freed blocks of up to 32 MiB glibc itself takes them from its
heaps instead; so this only says from the beginning what it finds out in time, and keeps it from emptying the heaps
between two blocks.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

LARGEST = 32 << 20
"""Bytes from which memory is mapped anew: the most that glibc comes to by itself."""
KEPT = 2 * LARGEST
"""Bytes at the end of a heap that stay: glibc's own rule, twice as many."""
_TRIM, _MAP = -1, -3
_SET_BY_USER = (
    "GLIBC_TUNABLES",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_TOP_PAD_",
    "MALLOC_ARENA_MAX",
)


@cache
def keep_freed_memory() -> None:
    """Have glibc keep what blocks' temporaries free; users' own settings stay, and other C libraries as they are."""
    if any(name in os.environ for name in _SET_BY_USER):
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_MAP, LARGEST)
        set_option(_TRIM, KEPT)
