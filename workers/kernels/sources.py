"""Kernels of sources: fill an array with the elements at given positions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...graph.kinds.move import Move
from ...graph.kinds.source import Eye, Full, Inside, Ramp, Random, Source
from ...graph.kinds.view import View, shift_of

Array = np.ndarray[Any, Any]


def generate(source: Source, shape: tuple[int, ...], origin: Array, out: Array) -> None:
    """Fill `out` (blocks, *extents), C-contiguous, with a source's elements; `shape` is the source's own.

    `origin` (blocks, ndim) has the position of each block's first element.
    """
    source, shape, origin, extents = unshift(source, shape, origin, out.shape[1:])
    out = out.reshape(len(out), *extents)
    seen = source
    while isinstance(seen, View):
        seen = seen.source
    if isinstance(seen, Full):
        out.fill(seen.value)
    elif isinstance(source, Random):  # whole runs are quicker than single positions
        from .randoms import fill_random

        fill_random(source, shape, origin, out)
    else:
        _fill(source, shape, [_positions(origin, out.shape, axis) for axis in range(len(shape))], out)


def unshift(
    source: Source, shape: tuple[int, ...], origin: Array, extents: tuple[int, ...]
) -> tuple[Source, tuple[int, ...], Array, tuple[int, ...]]:
    """Return what a view that only shifts is of, its shape, and where the blocks of it begin and how long they are."""
    while isinstance(source, View):
        view = source
        shifts = shift_of(view.op) if isinstance(view.op, Move) else None
        if shifts is None:
            break
        lengths = tuple([1 if a is None else extents[a] for a, _ in shifts])
        if math.prod(lengths) != math.prod(extents):  # along other axes it is repeated
            break
        still = np.zeros(len(origin), np.int64)
        columns = [(still if a is None else origin[:, a]) + by for a, by in shifts]
        origin = np.stack(columns, axis=1) if columns else origin[:, :0]
        source, shape, extents = view.source, view.shape, lengths
    return source, shape, origin, extents


def _fill(source: Source, shape: tuple[int, ...], positions: list[Array], out: Array) -> None:
    """Fill `out` with the elements at positions along each of a source's axes, which broadcast to it."""
    if isinstance(source, View):
        _fill(source.source, source.shape, source.inner(shape, positions), out)
    elif isinstance(source, Ramp):
        _ramp(source, shape, positions[0], out)
    elif isinstance(source, Eye):
        np.equal(positions[1] - positions[0], source.k, out=out, casting="unsafe")
    elif isinstance(source, Inside):
        out.fill(True)
        for (lo, hi), position in zip(source.box, positions, strict=True):
            np.logical_and(out, (position >= lo) & (position < hi), out=out)
    else:
        assert isinstance(source, Random), source
        from .randoms import fill_random_at

        flat = np.zeros((1,) * out.ndim, np.int64)
        for n, p in zip(shape, positions, strict=True):
            flat = flat * n + p
        fill_random_at(source, np.broadcast_to(flat, out.shape), out)


def _positions(origin: Array, shape: tuple[int, ...], axis: int) -> Array:
    """Positions along one axis, ready to broadcast against (blocks, *extents)."""
    local = np.arange(shape[axis + 1])
    grid = origin[:, axis, None] + local
    return grid.reshape([shape[0], *(shape[i + 1] if i == axis else 1 for i in range(len(shape) - 1))])


def _ramp(source: Ramp, shape: tuple[int, ...], position: Array, out: Array) -> None:
    if out.dtype.kind in "iu":
        np.copyto(out, position * int(source.step) + int(source.start), casting="unsafe")
    elif out.dtype.kind in "fc":
        scaled = position.astype(out.dtype) * out.dtype.type(source.step)
        np.add(scaled, out.dtype.type(source.start), out=out)
    else:
        np.copyto(out, position * source.step + source.start, casting="unsafe")
    if source.last is not None:
        np.copyto(out, source.last, where=position == shape[0] - 1, casting="unsafe")
