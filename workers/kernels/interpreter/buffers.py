"""Memory for arguments of functions of blocks that is used again: fresh pages take longer to come than a copy.

A thread computes one block after the other, so what it has lent is free again when the function has returned.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ....graph.expr import DType

Array = np.ndarray[Any, Any]
LEAST = 1 << 18
"""Bytes of smaller arrays come from memory that the C library has at hand."""
MOST = 1 << 25
"""Bytes that a thread keeps, at most."""


class _Rooms(threading.local):
    def __init__(self) -> None:
        self.kept: dict[int, Array] = {}


_rooms = _Rooms()


def room(number: int, shape: tuple[int, ...], dtype: DType) -> Array:
    """Return an array, not set to anything, that is valid until this thread asks for the same number again."""
    nbytes = math.prod(shape) * dtype.itemsize
    if not LEAST <= nbytes <= MOST or dtype.hasobject:
        return np.empty(shape, dtype)
    kept = _rooms.kept
    found = kept.pop(number, None)
    if found is None or found.nbytes < nbytes:
        found = None  # before what takes its place
        size = min(nbytes + nbytes // 8, MOST)  # blocks of irregular sizes are seldom of one size
        if size + sum(each.nbytes for each in kept.values()) > MOST:
            kept.clear()
        found = np.empty(size, np.uint8)
    kept[number] = found
    return found[:nbytes].view(dtype).reshape(shape)
