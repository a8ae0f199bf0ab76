"""Strided regions of memory: packed into a row of bytes, or described to MPI as datatypes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI

if TYPE_CHECKING:
    from ...wire.transport import Bytes, Region


def pack(memory: Bytes, region: Region) -> Bytes | None:
    """Return a region of a piece of memory, its bytes in C order; None when it reaches beyond the memory."""
    ends = [(n - 1) * s for n, s in zip(region.shape, region.strides, strict=True)]
    if 0 in region.shape:
        return np.empty(0, np.uint8)
    low = region.offset + sum(x for x in ends if x < 0)
    high = region.offset + sum(x for x in ends if x > 0) + region.itemsize
    if low < 0 or high > memory.size:
        return None
    shape, strides = (*region.shape, region.itemsize), (*region.strides, 1)
    view = np.lib.stride_tricks.as_strided(memory[region.offset :], shape, strides, writeable=False)
    return np.ascontiguousarray(view).reshape(-1)


def pieces(region: Region) -> int:
    """Count the separate runs of bytes in a region."""
    run, pieces = region.itemsize, math.prod(region.shape)
    for n, stride in zip(reversed(region.shape), reversed(region.strides), strict=True):
        if n > 1 and stride != run:
            break
        run *= n
        pieces //= max(n, 1)
    return pieces


def datatypes(region: Region) -> list[MPI.Datatype]:
    """Return the datatypes of a region, each made of the one before; the last is committed."""
    types = [MPI.BYTE.Create_contiguous(region.itemsize)]
    run: int | None = region.itemsize  # as long as the bytes follow on each other
    for n, stride in zip(reversed(region.shape), reversed(region.strides), strict=True):
        inner = types[-1]
        dense = stride == run
        types.append(inner.Create_contiguous(n) if dense else inner.Create_hvector(n, 1, stride))
        run = run * n if run is not None and dense else None
    types[-1].Commit()
    return types
