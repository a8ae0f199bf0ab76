"""What stands around a user's function when blocks are handed to it; these travel to the ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..workers.kernels.returned import check_kept, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.grid import Grid

    Place = tuple[int, Grid, tuple[int | None, ...]]
    """An array among a function's arguments: its place, its chunks, the result's axes that its own run along."""


@dataclass(frozen=True)
class Packed:
    """A function whose results are put side by side in records; without a record it has one result."""

    function: Callable[..., Any]
    record: np.dtype[Any] | None
    several: bool

    def __call__(self, *blocks: Any, **keywords: Any) -> Any:
        """Call the function; put what it returns into records."""
        made = self.function(*blocks, **keywords)
        if self.record is None:
            return made[0] if self.several else made
        names = self.record.names or ()
        called = str(getattr(self.function, "__name__", "func"))
        parts = [plain(called, m) for m in made]
        if len(parts) != len(names):
            raise ValueError(f"the function returned {len(parts)} results; expected {len(names)}")
        cores = [self.record[name].shape for name in names]
        outer = np.broadcast_shapes(*(p.shape[: p.ndim - len(c)] for p, c in zip(parts, cores, strict=True)))
        found = np.empty(outer, self.record)
        for name, part in zip(names, parts, strict=True):
            check_kept(called, part, self.record[name].base)
            found[name] = part
        return found


@dataclass(frozen=True)
class Interleaved:
    """A function with other arguments between its blocks: for each argument whether it is a block, or its value."""

    function: Callable[..., Any]
    places: tuple[tuple[bool, Any], ...]

    def __call__(self, *blocks: Any, **keywords: Any) -> Any:
        """Call the function with all arguments in their order."""
        rest = iter(blocks)
        return self.function(*(next(rest) if block else value for block, value in self.places), **keywords)


@dataclass(frozen=True)
class Informed:
    """A function that is given `block_info`, in the form that dask gives it."""

    function: Any
    sources: tuple[Place, ...]
    grid: Grid
    dtype: np.dtype[Any] | None
    hands_on: bool

    def __call__(self, *blocks: Any, block_id: tuple[int, ...], **keywords: Any) -> Any:
        """Call the function with what is known about the block."""
        if self.hands_on:
            keywords["block_id"] = block_id
        return self.function(*blocks, block_info=self.about(block_id), **keywords)

    def about(self, block_id: tuple[int, ...]) -> dict[int | None, dict[str, Any]]:
        """Tell about the blocks of arguments and result."""
        found: dict[int | None, dict[str, Any]] = {}
        for place, grid, way in self.sources:
            found[place] = _about(grid, tuple(0 if to is None else block_id[to] for to in way))
        made = _about(self.grid, block_id)
        sizes = tuple(stop - start for start, stop in made["array-location"])
        return found | {None: made | {"chunk-shape": sizes, "dtype": self.dtype}}


def _about(grid: Grid, block: tuple[int, ...]) -> dict[str, Any]:
    return {
        "shape": grid.shape,
        "num-chunks": grid.counts,
        "array-location": [(int(a.start(k)), int(a.stop(k))) for a, k in zip(grid.axes, block, strict=True)],
        "chunk-location": block,
    }


@dataclass(frozen=True)
class Reduced:
    """A step of a reduction that keeps the reduced axes."""

    function: Callable[..., Any]
    axes: tuple[int, ...]

    def __call__(self, block: Any, **keywords: Any) -> Any:
        """Reduce a block."""
        return self.function(block, axis=self.axes, keepdims=True, **keywords)


@dataclass(frozen=True)
class Aggregate:
    """The last step of a reduction."""

    function: Callable[..., Any]
    axes: tuple[int, ...]
    keepdims: bool

    def __call__(self, block: Any, **keywords: Any) -> Any:
        """Finish."""
        return self.function(block, axis=self.axes, keepdims=self.keepdims, **keywords)


@dataclass(frozen=True)
class Along:
    """A function of lines, called for each line along an axis."""

    function: Callable[..., Any]
    axis: int
    extra: tuple[Any, ...]

    def __call__(self, block: Any, **keywords: Any) -> Any:
        """Call the function for each line of a block."""
        return np.apply_along_axis(self.function, self.axis, block, *self.extra, **keywords)
