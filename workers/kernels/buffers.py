"""Memory that a thread uses again: fresh pages take longer to come than a copy.

A thread computes one block after the other, so what one of its kernels has been lent is free again when the kernel
asks for the same name the next time.
"""

from __future__ import annotations

import math
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ...graph.expr.expr import DType

Array = np.ndarray[Any, Any]
LEAST = 1 << 18
"""Bytes of smaller arguments of functions of blocks come from memory that the C library has at hand."""
_OURS = 3
"""References to a buffer that isn't lent: ours, the looking variable, the count's argument."""
MOST = 1 << 25
"""Bytes that a thread keeps for arguments of functions of blocks, at most."""


class Buffers(threading.local):
    """Each thread's buffers, by names: of `least` to `most` bytes each, `total` in all, and none below `begin`."""

    def __init__(self, most: int, least: int = 0, total: int | None = None, begin: int = 0) -> None:
        self.most, self.least, self.total, self.begin = most, least, total, begin
        self.kept: dict[Hashable, Array] = {}

    def lend(self, name: Hashable, shape: tuple[int, ...], dtype: DType) -> Array:
        """Return an array, not set to anything, that is valid until this thread asks for the same name again."""
        nbytes = math.prod(shape) * dtype.itemsize
        held = self.kept.get(name)
        if held is None or held.nbytes < nbytes:
            if not self.least <= nbytes <= self.most or dtype.hasobject:
                return np.empty(shape, dtype)
            held = self._grow(name, nbytes)
        return held[:nbytes].view(dtype).reshape(shape)

    def lend_free(self, name: Hashable, shape: tuple[int, ...], dtype: DType) -> Array:
        """Return an array as `lend` does, for what may be kept: what someone still refers to isn't lent again."""
        held = self.kept.get(name)
        if held is not None and sys.getrefcount(held) > _OURS:  # all views refer to the array that they are of
            del self.kept[name]
        del held
        return self.lend(name, shape, dtype)

    def _grow(self, name: Hashable, nbytes: int) -> Array:
        self.kept.pop(name, None)  # before what takes its place
        size = min(max(nbytes + nbytes // 8, self.begin), self.most)  # irregular blocks are seldom of one size
        if self.total is not None and size + sum(each.nbytes for each in self.kept.values()) > self.total:
            self.kept.clear()
        self.kept[name] = held = np.empty(size, np.uint8)
        return held


ARGUMENTS = Buffers(MOST, LEAST, MOST)
"""What functions of blocks are given, and what they need besides."""
