"""What stands around a user's function when blocks are handed to it; these travel to the ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import ArgumentError, BadValue, DTypeError
from ....workers.kernels.user_results import check_kept, plain
from ....workers.sources.arrow import give_block, is_arrow, pieces_of, to_numpy
from ....workers.sources.arrow_nulls import settle_nulls

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....graph.chunks.grid import Grid

    Place = tuple[int, Grid, tuple[int | None, ...]]
    """An array among a function's arguments: its place, its chunks, the result's axes that its own run along."""


@dataclass(frozen=True)
class RecordFunction:
    """A function whose results are put side by side in records; without a record it has one result."""

    function: Callable[..., Any]
    record: np.dtype[Any] | None
    several: bool

    def __call__(self, *blocks: Any, **keywords: Any) -> Any:
        """Call the function; put what it returns into records."""
        returned = self.function(*blocks, **keywords)
        if self.record is None:
            return returned[0] if self.several else returned
        names = self.record.names or ()
        called = str(getattr(self.function, "__name__", "func"))
        parts = [plain(called, m) for m in returned]
        if len(parts) != len(names):
            raise ValueError(f"the function returned {len(parts)} results; expected {len(names)}")
        cores = [self.record[name].shape for name in names]
        outer = np.broadcast_shapes(*(p.shape[: p.ndim - len(c)] for p, c in zip(parts, cores, strict=True)))
        records = np.empty(outer, self.record)
        for name, part in zip(names, parts, strict=True):
            check_kept(called, part, self.record[name].base)
            records[name] = part
        return records


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
class ArrowBlocks:
    """A function that takes its first so many arguments as Arrow and returns Arrow or NumPy arrays.

    Nulls in a result become NaN or NaT where the result's dtype has these; without a dtype, one that has is chosen.
    """

    function: Callable[..., Any]
    name: str
    count: int
    ndim: int
    dtype: np.dtype[Any] | None

    def __call__(self, *blocks: Any, **keywords: Any) -> Any:
        """Call the function; return a NumPy array, over the same bytes where it can be."""
        try:
            arrow_blocks = [give_block(np.asarray(block)) for block in blocks[: self.count]]
        except BadValue as error:
            raise BadValue(f"map_blocks: argument 'blocks' is 'arrow', and {error}; expected 'numpy'") from error
        returned = self.function(*arrow_blocks, *blocks[self.count :], **keywords)
        if isinstance(returned, np.ndarray | np.generic) or not is_arrow(returned):
            return returned
        missing = "nan" if self.dtype is None or self.dtype.kind in "fcmMV" else "raise"
        try:
            pieces = [to_numpy(piece) for piece in settle_nulls(pieces_of(returned), missing)]
        except (TypeError, ValueError) as error:
            raise DTypeError(f"map_blocks: {self.name} returned what no array can be made of: {error}") from error
        array = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        if self.dtype is None and array.dtype.kind in "SUV":  # Arrow's texts have no common length
            array = array.astype(np.result_type(array, *(b for b in blocks if same_kind(b, array))))
        if self.dtype is not None and self.dtype.kind == "c":
            array = join_parts(array, self.ndim)
        return array.reshape(()) if self.ndim == 0 and array.shape == (1,) else array


def same_kind(block: Any, found: np.ndarray[Any, Any]) -> bool:
    """Tell whether a block has texts, bytes, or records of the same fields, as what was found has."""
    if not isinstance(block, np.ndarray) or block.dtype.kind != found.dtype.kind:
        return False
    return bool(block.dtype.names == found.dtype.names)


def join_parts(found: np.ndarray[Any, Any], ndim: int) -> np.ndarray[Any, Any]:
    """Return real and imaginary parts along a last axis too many as complex numbers."""
    if found.ndim != ndim + 1 or found.shape[-1] != 2:
        return found
    return np.ascontiguousarray(found).view(np.result_type(found, np.complex64))[..., 0]


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
        return self.function(*blocks, block_info=self.describe_blocks(block_id), **keywords)

    def describe_blocks(self, block_id: tuple[int, ...]) -> dict[int | None, dict[str, Any]]:
        """Tell about the blocks of arguments and result."""
        block_info: dict[int | None, dict[str, Any]] = {}
        for place, grid, operand_axes in self.sources:
            block_info[place] = _describe_block(grid, tuple(0 if to is None else block_id[to] for to in operand_axes))
        result_info = _describe_block(self.grid, block_id)
        sizes = tuple(stop - start for start, stop in result_info["array-location"])
        return block_info | {None: result_info | {"chunk-shape": sizes, "dtype": self.dtype}}


def _describe_block(grid: Grid, block: tuple[int, ...]) -> dict[str, Any]:
    return {
        "shape": grid.shape,
        "num-chunks": grid.counts,
        "array-location": [(int(a.start(k)), int(a.stop(k))) for a, k in zip(grid.axes, block, strict=True)],
        "chunk-location": block,
    }


@dataclass(frozen=True)
class Partial:
    """A step of a reduction: of a chunk, or of partial results side by side.

    Partial results that are dicts of arrays lie in records: `record` where the function gives such, `fields` where it
    takes them. With `listed` it takes lists of partial results, each of that many positions, nested as axes are.
    """

    function: Callable[..., Any]
    axes: tuple[int, ...]
    keepdims: bool
    record: np.dtype[Any] | None = None
    fields: tuple[str, ...] = ()
    listed: int | None = None

    def __call__(self, block: Any, *more: Any, **keywords: Any) -> Any:
        """Take a step."""
        operand = block if self.listed is None else self._split(block, self.axes, self.listed)
        operand = self._map_records(operand) if self.fields else operand
        reduced = self.function(operand, *more, axis=self.axes, keepdims=self.keepdims, **keywords)
        return reduced if self.record is None else self.pack_records(reduced, self.record)

    def _split(self, block: Any, axes: tuple[int, ...], size: int) -> Any:
        if not axes:
            return block
        parts = np.split(block, block.shape[axes[0]] // size, axes[0])
        return [self._split(part, axes[1:], size) for part in parts]

    def _map_records(self, given: Any) -> Any:
        if isinstance(given, list):
            return [self._map_records(part) for part in given]
        return {name: np.ascontiguousarray(given[name]) for name in self.fields}

    @staticmethod
    def pack_records(parts: Any, record: np.dtype[Any]) -> Any:
        """Put the arrays of a dict into records."""
        names = record.names or ()
        if not isinstance(parts, dict) or set(parts) != set(names):
            came = sorted(parts) if isinstance(parts, dict) else type(parts).__name__
            raise ArgumentError(f"reduction: a function returned {came}; expected a dict of {', '.join(names)}")
        arrays = {name: plain("reduction", parts[name]) for name in names}
        records = np.empty(np.broadcast_shapes(*(a.shape for a in arrays.values())), record)
        for name, array in arrays.items():
            check_kept("reduction", array, record[name])
            records[name] = array
        return records


@dataclass(frozen=True)
class Added:
    """What a chunk adds along an axis: what a function gives, or what is there last."""

    function: Callable[..., Any] | None
    axis: int

    def __call__(self, block: Any) -> Any:
        """Return it as an array of length one along the axis."""
        if self.function is not None:
            return self.function(block, axis=self.axis, keepdims=True)
        return block[(slice(None),) * self.axis + (slice(-1, None),)]


@dataclass(frozen=True)
class Before:
    """What all chunks before each have added, by a function of two."""

    function: Callable[..., Any]
    axis: int
    ident: Any

    def __call__(self, block: Any) -> Any:
        """Go through what each chunk adds."""
        prefixes = np.empty_like(block)
        before = np.full_like(block[(slice(None),) * self.axis + (slice(0, 1),)], self.ident)
        for k in range(block.shape[self.axis]):
            at = (slice(None),) * self.axis + (slice(k, k + 1),)
            prefixes[at] = before
            before = self.function(before, block[at])
        return prefixes


@dataclass(frozen=True)
class Listed:
    """A function that takes lists of blocks along axes that its result lacks: the chunks' sizes for each operand."""

    function: Callable[..., Any]
    sizes: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]

    def __call__(self, *blocks: Any, **keywords: Any) -> Any:
        """Call the function with lists in place of joined blocks."""
        lists = [self._split(block, axes) for block, axes in zip(blocks, self.sizes, strict=True)]
        return self.function(*lists, **keywords)

    def _split(self, block: Any, axes: tuple[tuple[int, tuple[int, ...]], ...]) -> Any:
        if not axes:
            return block
        (axis, sizes), *rest = axes
        if block.shape[axis] == sum(sizes):
            parts = np.split(block, np.cumsum(sizes)[:-1], axis)
        else:  # of length one, which goes with every chunk
            parts = [block] * len(sizes)
        return [self._split(part, tuple(rest)) for part in parts]


@dataclass(frozen=True)
class Coarse:
    """A function of groups of neighbours: how many there are in one along each axis."""

    function: Callable[..., Any]
    factors: tuple[int, ...]

    def __call__(self, block: Any, **keywords: Any) -> Any:
        """Call the function with the axes that groups run along."""
        split = [n for pair in zip(block.shape, self.factors, strict=True) for n in (pair[0] // pair[1], pair[1])]
        return self.function(block.reshape(split), axis=tuple(range(1, 2 * block.ndim, 2)), **keywords)


@dataclass(frozen=True)
class LineFunction:
    """A function of lines, called for each line along an axis."""

    function: Callable[..., Any]
    axis: int
    extra: tuple[Any, ...]

    def __call__(self, block: Any, **keywords: Any) -> Any:
        """Call the function for each line of a block."""
        return np.apply_along_axis(self.function, self.axis, block, *self.extra, **keywords)
