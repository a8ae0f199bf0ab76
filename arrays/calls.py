"""What stands around a user's function when blocks are handed to it; these travel to the ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


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
        parts = [np.asarray(m) for m in made]
        if len(parts) != len(names):
            raise ValueError(f"the function returned {len(parts)} results; expected {len(names)}")
        cores = [self.record[name].shape for name in names]
        outer = np.broadcast_shapes(*(p.shape[: p.ndim - len(c)] for p, c in zip(parts, cores, strict=True)))
        found = np.empty(outer, self.record)
        for name, part in zip(names, parts, strict=True):
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
