"""Margins of neighbouring elements around chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.axismap import Halo, Slice
from ..graph.errors import ArgumentError, ShapeError, bad
from ..graph.grid import Grid
from ..graph.kinds.move import Move, Route
from .core import Node, check_axis, make

if TYPE_CHECKING:
    from .array import Array

Depths = tuple[tuple[int, int], ...]
_BOUNDARIES = ("none", "periodic", "reflect", "nearest")


def read_depths(depth: Any, boundary: Any, ndim: int) -> tuple[Depths, tuple[Any, ...]]:
    """Return (before, after) and the boundary for each axis."""
    pairs = []
    for spec in _each("depth", depth, ndim, 0):
        pair = (spec, spec) if isinstance(spec, int | np.integer) else spec
        if (
            not isinstance(pair, tuple | list)
            or len(pair) != 2
            or any(isinstance(d, bool) or int(d) != d or d < 0 for d in pair)
        ):
            raise ShapeError(bad("map_overlap", "depth", depth, "integers from 0 on, or pairs of them, for each axis"))
        pairs.append((int(pair[0]), int(pair[1])))
    ends = []
    for spec in _each("boundary", boundary, ndim, "none"):
        spec = "none" if spec is None else spec
        if isinstance(spec, str) and spec not in _BOUNDARIES:
            raise ArgumentError(bad("map_overlap", "boundary", spec, f"one of {', '.join(_BOUNDARIES)}, or a number"))
        ends.append(spec)
    return tuple(pairs), tuple(ends)


def _each(argument: str, spec: Any, ndim: int, default: Any) -> list[Any]:
    if isinstance(spec, Mapping):
        found = [default] * ndim
        for axis, value in spec.items():
            found[check_axis("map_overlap", axis, ndim, argument)] = value
        return found
    if isinstance(spec, tuple | list):
        if len(spec) != ndim:
            raise ShapeError(bad("map_overlap", argument, spec, f"one entry for each of {ndim} axes"))
        return list(spec)
    return [spec] * ndim


def with_halo(x: Node, depths: Depths, boundaries: tuple[Any, ...]) -> Array:
    """Return the array of chunks with their margins; axes with numbers beyond the ends go one by one."""
    found = x
    numbers = [i for i, b in enumerate(boundaries) if not isinstance(b, str) and depths[i] != (0, 0)]
    plain = [i for i, b in enumerate(boundaries) if isinstance(b, str) and depths[i] != (0, 0)]
    for some, fill in [(plain, None), *(([i], boundaries[i]) for i in numbers)]:
        if not some:
            continue
        axes = list(found.expr.grid.axes)
        steps: list[Any] = [(i, Slice()) for i in range(found.ndim)]
        for i in some:
            before, after = depths[i]
            halo = Halo(before, after, "constant" if fill is not None else boundaries[i])
            steps[i], axes[i] = (i, halo), halo.axis(axes[i])
        value = None if fill is None else np.asarray(fill).astype(x.dtype)[()]
        found = make(Move("overlap", (Route(tuple(steps)),), value), (found,), Grid(axes), x.dtype)
    return found  # type: ignore[return-value]


@dataclass(frozen=True)
class Trimmed:
    """A function that takes off the margin of what another one returns."""

    function: Callable[..., Any]
    depths: Depths
    open_ends: tuple[bool, ...]
    axes: tuple[tuple[int, int], ...]
    sizes: tuple[tuple[int, ...], ...]
    hands_on: bool

    def __call__(self, *args: Any, block_id: tuple[int, ...], **keywords: Any) -> Any:
        """Call the function, and cut its result."""
        if self.hands_on:
            keywords["block_id"] = block_id
        made = np.asarray(self.function(*args, **keywords))
        blocks = [a for a in args if isinstance(a, np.ndarray)]
        if made.shape != blocks[0].shape:
            raise ShapeError(
                f"map_overlap: the function returned shape {made.shape} for a chunk of {blocks[0].shape} "
                "with its margin; expected the same shape (or trim=False)"
            )
        cut = []
        for axis, k in enumerate(block_id):
            before, after = self._margin(axis, k)
            cut.append(slice(before, made.shape[axis] - after))
        return made[tuple(cut)]

    def _margin(self, axis: int, k: int) -> tuple[int, int]:
        before, after = self.depths[axis]
        if not self.open_ends[axis]:
            return before, after
        start = sum(self.sizes[axis][:k])
        rest = self.axes[axis][0] - start - self.sizes[axis][k]
        return min(before, start), min(after, rest)
