"""Margins of neighbouring elements around chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import is_integer
from ...graph.chunks.axismap import Halo, Slice
from ...graph.chunks.grid import Axis, Grid
from ...graph.errors import ArgumentError, ShapeError, bad
from ...graph.kinds.move import Move, Route
from ...workers.kernels.user_results import plain
from ..base import ArrayBase, check_axis, make
from ..values import assigned, hold

if TYPE_CHECKING:
    from ..array import Array

Depths = tuple[tuple[int, int], ...]
_BOUNDARIES = ("none", "periodic", "reflect", "nearest")


def read_depths(operation: str, depth: object, ndim: int, argument: str = "depth") -> Depths:
    """Return the elements before and after each chunk, for each axis."""
    pairs = []
    for spec in _each(operation, argument, depth, ndim, 0):
        pair = (spec, spec) if is_integer(spec) else spec
        if not isinstance(pair, tuple | list) or len(pair) != 2 or any(not is_integer(d) or d < 0 for d in pair):
            raise ShapeError(bad(operation, argument, depth, "integers from 0 on, or pairs of them, for each axis"))
        pairs.append((int(pair[0]), int(pair[1])))
    return tuple(pairs)


def read_boundaries(operation: str, boundary: object, of: ArrayBase) -> tuple[Any, ...]:
    """Return what is beyond the ends of each axis of an array: nothing where it has no elements."""
    ends: list[Any] = []
    for spec, length in zip(_each(operation, "boundary", boundary, of.ndim, "none"), of.shape, strict=True):
        spec = "none" if spec is None else spec
        if isinstance(spec, str) and spec not in _BOUNDARIES:
            raise ArgumentError(bad(operation, "boundary", spec, f"one of {', '.join(_BOUNDARIES)}, or a number"))
        if not isinstance(spec, str):  # NumPy's numbers are asked as Python's: nothing wraps
            number = spec.item() if isinstance(spec, np.generic) and spec.dtype.kind in "biufc" else spec
            spec = hold(operation, "boundary", number, of.dtype, assigned)[()]
        ends.append(spec if length else "none")
    return tuple(ends)


def _each(operation: str, argument: str, spec: object, ndim: int, default: object) -> list[Any]:
    if isinstance(spec, Mapping):
        entries = [default] * ndim
        for axis, value in spec.items():
            entries[check_axis(operation, axis, ndim, argument)] = value
        return entries
    if isinstance(spec, tuple | list):
        if len(spec) != ndim:
            raise ShapeError(bad(operation, argument, spec, f"one entry for each of {ndim} axes"))
        return list(spec)
    return [spec] * ndim


def with_halo(x: ArrayBase, depths: Depths, boundaries: tuple[Any, ...]) -> Array:
    """Return the array of chunks with their margins: at once, unless axes have other numbers beyond their ends."""
    array = x
    wide = [i for i in range(x.ndim) if depths[i] != (0, 0)]
    fills = {i: boundaries[i] for i in wide if not isinstance(boundaries[i], str)}
    together = [wide] if len({fill.tobytes() for fill in fills.values()}) < 2 else [
        [i for i in wide if i not in fills], *([i] for i in fills)
    ]  # fmt: skip
    for some in together:
        if not some:
            continue
        axes = list(array.expr.grid.axes)
        steps: list[Any] = [(i, Slice()) for i in range(array.ndim)]
        for i in some:
            before, after = depths[i]
            halo = Halo(before, after, "constant" if i in fills else boundaries[i])
            steps[i], axes[i] = (i, halo), halo.axis(axes[i])
        value = next((fills[i] for i in some if i in fills), None)
        array = make(Move("overlap", (Route(tuple(steps)),), value), (array,), Grid(axes), x.dtype)
    return array  # type: ignore[return-value]


@dataclass(frozen=True)
class Margin:
    """The margin of an axis's chunks; where the ends are open, there is none beyond them."""

    axis: Axis
    before: int
    after: int
    open_ends: bool

    def at(self, chunk: Any) -> tuple[Any, Any]:
        """Return the elements before and after a chunk, or many chunks."""
        if not self.open_ends:
            return self.before + 0 * chunk, self.after + 0 * chunk
        rest = self.axis.length - self.axis.stop(chunk)
        return np.minimum(self.before, self.axis.start(chunk)), np.minimum(self.after, rest)


@dataclass(frozen=True)
class Trimmed:
    """A function that takes off the margin of what another one returns, along axes of the result that have one."""

    function: Callable[..., Any]
    margins: tuple[tuple[int, Margin], ...]
    grid: Grid
    hands_on: bool

    def __call__(self, *args: Any, block_id: tuple[int, ...], **keywords: Any) -> Any:
        """Call the function, and cut its result."""
        if self.hands_on:
            keywords["block_id"] = block_id
        values = plain("map_overlap", self.function(*args, **keywords))
        expected = [int(a.size(k)) for a, k in zip(self.grid.axes, block_id, strict=True)]
        cut = [slice(None)] * len(expected)
        for axis, margin in self.margins:
            before, after = margin.at(block_id[axis])
            cut[axis] = slice(int(before), int(before) + expected[axis])
            expected[axis] += int(before + after)
        if values.shape != tuple(expected):
            raise ShapeError(
                f"map_overlap: the function returned shape {values.shape} for block {block_id}; expected "
                f"{tuple(expected)}, the chunk with its margin; where it takes the margin off itself, say trim=False, "
                "and where it makes others, chunks="
            )
        return values[tuple(cut)]
