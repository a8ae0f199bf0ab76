"""Kernels of sources: fill an array with the elements at given positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.kinds.source import Eye, Full, Ramp, Random, Source
from .randoms import fill_random

Array = np.ndarray[Any, Any]


def generate(source: Source, shape: tuple[int, ...], origin: Array, out: Array) -> None:
    """Fill `out` (blocks, *extents) with a source's elements.

    Parameters
    ----------
    source : Source
    shape : tuple of int
        The source's own shape.
    origin : array of int64, (blocks, ndim)
        Position of each block's first element.
    out : array
        C-contiguous; all blocks have one shape.
    """
    if isinstance(source, Full):
        out.fill(source.value)
    elif isinstance(source, Ramp):
        _ramp(source, shape, origin, out)
    elif isinstance(source, Eye):
        rows, columns = (_positions(origin, out.shape, axis) for axis in (0, 1))
        np.equal(columns - rows, source.k, out=out, casting="unsafe")
    else:
        assert isinstance(source, Random), source
        fill_random(source, shape, origin, out)


def _positions(origin: Array, shape: tuple[int, ...], axis: int) -> Array:
    """Positions along one axis, ready to broadcast against (blocks, *extents)."""
    local = np.arange(shape[axis + 1])
    grid = origin[:, axis, None] + local
    return grid.reshape([shape[0], *(shape[i + 1] if i == axis else 1 for i in range(len(shape) - 1))])


def _ramp(source: Ramp, shape: tuple[int, ...], origin: Array, out: Array) -> None:
    position = _positions(origin, out.shape, 0)
    if out.dtype.kind in "iu":
        np.copyto(out, position * int(source.step) + int(source.start), casting="unsafe")
    elif out.dtype.kind in "fc":
        scaled = position.astype(out.dtype) * out.dtype.type(source.step)
        np.add(scaled, out.dtype.type(source.start), out=out)
    else:
        np.copyto(out, position * source.step + source.start, casting="unsafe")
    if source.last is not None:
        np.copyto(out, source.last, where=position == shape[0] - 1, casting="unsafe")
