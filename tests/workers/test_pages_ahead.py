"""Pages of an arena are made beyond what is in use, and no further than that much again."""

from __future__ import annotations

import ctypes
import mmap
import time

import numpy as np

from support.waiting import until
from windrow.workers.memory.arena_prefault import LEAST, STEP, PagesAhead


def resident(memory, arena):
    """How many bytes of a mapping have pages, and up to where."""
    count = arena.nbytes // mmap.PAGESIZE
    found = np.zeros(count, np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    assert (
        libc.mincore(
            ctypes.c_void_p(arena.ctypes.data), ctypes.c_size_t(arena.nbytes), found.ctypes.data_as(ctypes.c_void_p)
        )
        == 0
    )
    there = np.flatnonzero(found & 1)
    return len(there) * mmap.PAGESIZE, (int(there[-1]) + 1) * mmap.PAGESIZE if len(there) else 0


def test_as_much_again_is_made():
    memory = mmap.mmap(-1, 16 * LEAST)
    arena = np.frombuffer(memory, np.uint8)
    idle = [False]
    ahead = PagesAhead(arena, lambda: idle[0])
    ahead.note(LEAST // 2)
    time.sleep(0.05)
    assert resident(memory, arena)[0] == 0, "what needs little gets nothing"
    high = LEAST + 3 * mmap.PAGESIZE + 7
    ahead.note(high)
    time.sleep(0.05)
    assert resident(memory, arena)[0] == 0, "not while something is computed"
    idle[0] = True
    until(lambda: resident(memory, arena)[1] >= 2 * high - STEP, "the pages are there")
    made, end = resident(memory, arena)
    assert 2 * high - STEP <= end <= 2 * high + STEP
    assert made <= high + STEP
    ahead.note(15 * LEAST)
    time.sleep(0.1)
    assert resident(memory, arena)[1] <= 8 * LEAST + STEP, "half of it at most"
    assert not arena.any()
