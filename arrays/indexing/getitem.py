"""Indexing: slices, integers, new axes, arrays of integers, boolean masks – NumPy's semantics, lazily.

Slices keep the chunks' borders; arrays of positions are read from the blocks that they lie in. Lazy integers are
computed when the result is (`defer`); a lazy mask alone is counted chunk by chunk when something needs the size of
the result, and what else depends on lazy masks needs their values then (`defer_unsized`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.axismap import AxisMap, Fixed, Slice
from ...graph.chunks.grid import Axis, Grid, merge_tiny_chunks
from ...graph.chunks.positions import Take
from ...graph.errors import IndexingError, bad
from ...graph.expr.interned import BLOCKS, recurs
from ...graph.kinds.mapping import BlockFunction
from ...graph.kinds.move import Move, Route
from ...graph.kinds.points import TakePoints
from ...graph.kinds.source import Full
from ...workers.kernels.blocks.elements.picking import field
from ..base import ArrayBase, alias, as_array, make, wrap
from ..chunking.rechunk import regrid
from ..execution.deferred import Chosen, defer, defer_unsized
from ..execution.scalar_results import SUBARRAY
from ..ops.moves.axis_moves import Step, move, moveaxis, slice_axis
from ..ops.moves.broadcasting import broadcast_to
from ..ops.moves.taking import points_step
from ..storage import ViewStep, find_steps
from .boolean import LARGE_MASK, select, select_known
from .keys import (
    NEW,
    POINTS,
    Selection,
    check_mask,
    count_axes,
    expand_ellipsis,
    fill_template,
    find_layout,
    masks_checked,
    names_fields,
    pick_plain,
    read_key,
    read_plain,
    selection,
    template_of,
    trivial,
)
from .writes.setitem_reads import beneath

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from ...graph.expr.expr import Expr
    from ..array import Array
    from ..storage import Steps
    from ..typing import KeyLike
    from .keys import Plain

TABLE_BYTES = 1 << 20
"""An array of at most this many bytes is brought into one chunk to look lazy positions up in it."""


def getitem(x: Array, key: Any) -> Array:
    """Return `x[key]`, as an array of its own."""
    return pick(x, key)[0]


def pick(x: Array, key: Any) -> tuple[Array, Steps | None]:
    """Return `x[key]`, and the steps that lead to it, if it is a view in NumPy."""
    if names_fields(key):
        part = pick_field(x, key)
        return part, find_steps(part.expr, x.expr, writable=True)
    plain = read_plain(key)
    if plain is not None:
        return _pick_plain(x, plain)
    items = read_key(key)
    if any(isinstance(i, ArrayBase) for i in items):
        return _by_lazy(x, items), None
    plain = read_plain(tuple(items))
    if plain is not None:  # integers of NumPy's; for 0-d arrays of them it copies
        part, steps = _pick_plain(x, plain)
        copied = any(isinstance(i, np.ndarray) for i in (key if isinstance(key, tuple) else (key,)))
        return part, None if copied else steps
    first = items[0] if items else None
    if isinstance(first, np.ndarray) and first.dtype == bool and first.size >= LARGE_MASK and trivial(items[1:]):
        check_mask(first, x.expr.grid.shape, 0)
        return select_known(x, first), None
    part = pick_selection(x, selection(x.expr.grid.shape, items))
    return (part if part.ndim else _single(part, items, x)), None


def _pick_plain(x: Array, plain: Plain) -> tuple[Array, Steps | None]:
    expr = x.expr
    chosen, op, grid = pick_basic(expr.grid, plain, expr.dtype.itemsize)
    part = _basic(x, chosen, op, grid)
    steps = () if op is None else (ViewStep(op, grid, expr.dtype, key=plain),)
    if part.ndim:
        return part, steps
    if Ellipsis in plain:
        steps = (*steps, ViewStep(SINGLE, grid, expr.dtype))
    elif op is None or expr.dtype.names is None:  # a scalar, other than a record, is a copy
        return _single(part, plain, x), None
    return _single(part, plain, x), steps


def steps_to(of: Expr, key: KeyLike) -> Steps | None:
    """Return the steps that lead to the view that a key of slices and integers gives; None for other keys."""
    plain = read_plain(key)
    if plain is None:
        return None
    _, op, grid = pick_basic(of.grid, plain, of.dtype.itemsize)
    return () if op is None else (ViewStep(op, grid, of.dtype, key=plain),)


SINGLE = Move(SUBARRAY, (Route(()),))
"""The element of a 0-d array, as an array."""


def _single(found: Array, items: Sequence[Any], x: Array) -> Array:
    """Return an element as a scalar, or with an ellipsis in the key as a 0-d array: see `scalar_results`."""
    if any(i is Ellipsis for i in items):
        return make(SINGLE, (found,), found.expr.grid, found.dtype)
    return move("getitem", found, [], []) if found.expr is x.expr else found


def pick_field(x: ArrayBase, names: str | list[str]) -> Array:
    """Return a field of a structured array, or a structured array of some of them."""
    if x.dtype.names is None:
        raise IndexingError(bad("indexing", "key", names, f"no names, since {x.dtype} has no fields"))
    try:
        sample = field(np.empty(1, x.dtype), names)
    except (KeyError, ValueError) as error:
        raise IndexingError(bad("indexing", "key", names, f"names among {x.dtype.names}")) from error
    axes = [*x.expr.grid.axes, *(Axis.whole(n) for n in sample.shape[1:])]
    op = BlockFunction("elements.picking:field", (names,), (tuple(range(x.ndim)),))
    return make(op, (x,), Grid(axes), sample.dtype)


def pick_selection(x: ArrayBase, chosen: Selection) -> Array:
    """Return what is selected."""
    chosen = chosen.simplify()
    if chosen.wide is None:
        return _basic(x, chosen, *_slicing(x.expr.grid, chosen, x.dtype.itemsize))
    if math.prod(chosen.shape) == 0:
        axes = [Axis.whole(n) for n in chosen.shape]
        return make(Full(np.zeros((), x.dtype)[()]), (), Grid(axes), x.dtype)
    part = _take(x, chosen) if len(chosen.arrays) == 1 else _gather_points(x, chosen)
    return part if part.shape == chosen.shape else part.reshape(chosen.shape)


def _basic(x: ArrayBase, chosen: Selection, op: Move | None, grid: Grid) -> Array:
    """Slices, integers and new axes, in one move; of what was set, or of what was there before, if all is there."""
    own = x.expr.op
    if not (isinstance(own, Move) and own.sets_elements) or grid.size == 0 or op is None:
        return _moved(x, op, grid)
    expr, entries = beneath(x.expr, chosen.entries)
    if expr is x.expr:
        return _moved(x, op, grid)
    below = wrap(expr)
    part = _moved(below, *_slicing(expr.grid, Selection(entries, None, chosen.layout), x.dtype.itemsize))
    return regrid(part if part.shape == grid.shape else broadcast_to(part, grid.shape), grid)


def _moved(x: ArrayBase, op: Move | None, grid: Grid) -> Array:
    return alias(x) if op is None else make(op, (x,), grid, x.dtype)


def pick_basic(grid: Grid, plain: Plain, itemsize: int) -> tuple[Selection, Move | None, Grid]:
    """Return what slices, integers and new axes select, the move that takes it (None takes all), and its grid."""
    return _known_basic(grid, plain, itemsize) if grid.nblocks <= BLOCKS else _find_basic(grid, plain, itemsize)


def _find_basic(grid: Grid, plain: Plain, itemsize: int) -> tuple[Selection, Move | None, Grid]:
    chosen = pick_plain(grid.shape, plain)
    op, out_grid = _slicing(grid, chosen, itemsize)
    return chosen, op if op is None else recurs(op), out_grid


_known_basic = lru_cache(1024)(_find_basic)


def _slicing(grid: Grid, chosen: Selection, itemsize: int) -> tuple[Move | None, Grid]:
    """Return the move that takes slices and integers, None where they take all, and the grid of what it makes."""
    steps: list[Step] = []
    axes = [Axis.whole(1)] * len(chosen.layout)
    same = len(chosen.layout) == grid.ndim
    for i, (entry, own) in enumerate(zip(chosen.entries, grid.axes, strict=True)):
        if isinstance(entry, slice):
            at = chosen.layout.index(i)
            axis_map = Slice(entry.start, entry.step) if entry.stop else Slice()
            steps.append((at, axis_map))
            axes[at] = slice_axis(own, entry.start, entry.step, entry.stop)
            same = same and axis_map == Slice() and axes[at] == own
        else:
            steps.append((None, Fixed(entry)))  # type: ignore[arg-type]
            same = False
    if same:
        return None, grid
    return Move("getitem", (Route(tuple(steps)),)), Grid(_tidy(grid, itemsize, chosen, axes))


def _tidy(grid: Grid, itemsize: int, chosen: Selection, axes: list[Axis]) -> list[Axis]:
    """Merge the small chunks that a slice with a step leaves, up to the size that chunks had before."""
    new_axes = list(axes)
    for i, (entry, own) in enumerate(zip(chosen.entries, grid.axes, strict=True)):
        if isinstance(entry, slice) and abs(entry.step) > 1:
            at = chosen.layout.index(i)
            unit = math.prod(a.largest for k, a in enumerate(axes) if k != at) * itemsize
            new_axes[at] = merge_tiny_chunks(axes[at], own.largest, unit)
    return new_axes


def _take(x: ArrayBase, chosen: Selection) -> Array:
    """Positions along one axis, in one move with slices and integers; the axes of positions are one here."""
    (indexed,) = chosen.arrays
    grid = x.expr.grid
    steps: list[Step] = []
    axes = [Axis.whole(1)] * len(chosen.layout)
    for i, (entry, own) in enumerate(zip(chosen.entries, grid.axes, strict=True)):
        if isinstance(entry, slice):
            at = chosen.layout.index(i)
            steps.append((at, Slice(entry.start, entry.step)))
            axes[at] = slice_axis(own, entry.start, entry.step, entry.stop)
        elif isinstance(entry, int):
            steps.append((None, Fixed(entry)))
        else:
            at = chosen.layout.index(POINTS)
            steps.append((at, Take(entry)))
    count = len(chosen.entries[indexed])  # type: ignore[arg-type]
    at = chosen.layout.index(POINTS)
    axes[at] = Axis.regular(count, points_step(x, [indexed], axes, at, count))
    return move("getitem", x, steps, axes)


def _gather_points(x: ArrayBase, chosen: Selection) -> Array:
    """Points along several axes; integers among them are points too. New axes are left out."""
    grid = x.expr.grid
    count = math.prod(chosen.wide or ())
    layout = [a for a in chosen.layout if a != NEW]
    at = layout.index(POINTS)
    rest: list[AxisMap] = []
    axes = [Axis.whole(1)] * len(layout)
    pointed, index = [], []
    for i, (entry, own) in enumerate(zip(chosen.entries, grid.axes, strict=True)):
        if isinstance(entry, slice):
            rest.append(Slice(entry.start, entry.step))
            axes[layout.index(i)] = slice_axis(own, entry.start, entry.step, entry.stop)
        else:
            pointed.append(i)
            index.append(np.full(count, entry, np.int64) if isinstance(entry, int) else entry)
    axes[at] = Axis.regular(count, points_step(x, pointed, axes, at, count))
    op = TakePoints(tuple(pointed), tuple(index), tuple(rest), at)
    return make(op, (x,), Grid(axes), x.dtype)


# ---------------------------------------------------------------- lazy items


def _by_lazy(x: Array, items: list[Any]) -> Array:
    """Some of the items are lazy."""
    shape = x.expr.grid.shape
    items = expand_ellipsis(len(shape), items)
    items = masks_checked(items, shape)
    lazy = [i for i in items if isinstance(i, ArrayBase)]
    if not lazy:
        return pick_selection(x, selection(shape, items))
    if len(lazy) == 1:
        alone = _by_mask(x, items) if lazy[0].dtype == bool else _look_up(x, items, lazy[0])
        if alone is not None:
            return alone
    template, operands = template_of(items)
    if all(i.dtype != bool and i._unsized is None for i in lazy):
        plan = pick_selection(x, selection(shape, stand_ins(items)))
        return defer("getitem", _index_computed, (x, *operands), (template,), plan.expr.grid, x.dtype)
    wide = max(1 if i.dtype == bool else i.ndim for i in items if isinstance(i, ArrayBase | np.ndarray))
    known = selection(shape, [i if isinstance(i, slice) or i is None else slice(None) for i in _expand_items(items)])
    lengths: list[int | None] = []
    for axis in find_layout(items):
        entry = known.entries[axis] if axis >= 0 else None
        lengths += [None] * wide if axis == POINTS else [entry.stop if isinstance(entry, slice) else 1]
    return defer_unsized("getitem", _index_computed, (x, *operands), (template,), tuple(lengths), x.dtype)


def stand_ins(items: list[Any]) -> list[Any]:
    """Return items with lazy integers replaced by zeros of their shape."""
    return [np.zeros(i.shape, np.int64) if isinstance(i, ArrayBase) else i for i in items]


def _expand_items(items: list[Any]) -> list[Any]:
    """Return one item for each axis, and new axes."""
    return [each for i in items for each in ([i] if i is None else [i] * count_axes(i))]


def _index_computed(x: Array, *given: Any) -> Generator[Any, Any, Array]:
    """Recipe: compute what is lazy among the items, then index."""
    *lazy, template = given
    values = yield tuple(lazy)
    return getitem(x, fill_template(template, [np.asarray(v) for v in values]))


@dataclass(frozen=True)
class Masked:
    """What a key with one mask selects: from `part`, which the `others` do, where the mask from `axis` on holds."""

    part: Array
    mask: Array
    axis: int
    others: tuple[Any, ...]

    @property
    def fits(self) -> bool:
        """Whether the mask has the shape of its axes, which one without elements needn't have."""
        return self.mask.shape == self.part.shape[self.axis : self.axis + self.mask.ndim]


def read_mask(x: Array, items: list[Any]) -> Masked | None:
    """Read a key in which nothing but one mask is an array; None where it is another key."""
    items = [i for i in items if i is not Ellipsis]
    arrays = [k for k, i in enumerate(items) if isinstance(i, ArrayBase | np.ndarray)]
    if len(arrays) != 1 or items[arrays[0]].dtype != bool or not items[arrays[0]].ndim:
        return None
    (place,) = arrays
    mask = items[place]
    others = (*items[:place], *[slice(None)] * mask.ndim, *items[place + 1 :])
    if place and any(not isinstance(i, slice) for i in others):
        return None  # the positions of the result's axes need more care
    part = x if trivial(others) else getitem(x, others)
    return Masked(part, as_array("indexing", "key", mask), place, others)


def _by_mask(x: Array, items: list[Any]) -> Array | None:
    """Apply a lazy mask chunk by chunk, where nothing else among the items is an array of positions."""
    masked = read_mask(x, items)
    if masked is None:
        return None
    part, mask, axis = masked.part, masked.mask, masked.axis
    if not axis:
        return select(part, mask)
    front = moveaxis(part, range(axis, axis + mask.ndim), range(mask.ndim))
    chosen = Chosen(alias(part), alias(mask), axis)
    return defer_unsized("getitem", _move_axis, (select(front, mask),), (axis,), chosen.shape, x.dtype, chosen)


def _move_axis(found: Array, place: int) -> Generator[Any, Any, Array]:
    yield from ()
    return moveaxis(found, 0, place)


def _look_up(x: Array, items: list[Any], index: ArrayBase) -> Array | None:
    """Look lazy positions up block by block, where the indexed axis is one chunk or the array is small."""
    place = next(k for k, i in enumerate(items) if i is index)
    others = [i for i in items if i is not index]
    if not index.ndim or index._unsized is not None or any(not isinstance(i, slice) for i in others):
        return None
    if x.expr.grid.axes[place].count > 1 and x.expr.nbytes > TABLE_BYTES:
        return None
    table = getitem(x, (*items[:place], slice(None), *items[place + 1 :]))
    own = as_array("indexing", "key", index)
    return look_up("getitem", table, own, place)


def look_up(name: str, table: Array, index: Array, axis: int) -> Array:
    """Return the elements at lazy positions along an axis, which is brought into one chunk."""
    axes = list(table.expr.grid.axes)
    n = axes[axis].length
    axes[axis] = Axis.whole(n)
    table = regrid(table, Grid(axes))
    wide = index.ndim
    operand_axes = (
        tuple(None if i == axis else i if i < axis else i - 1 + wide for i in range(table.ndim)),
        tuple(range(axis, axis + wide)),
    )
    axes[axis : axis + 1] = index.expr.grid.axes
    op = BlockFunction("elements.picking:look_up", (name, axis), axes=operand_axes)
    return make(op, (table, index), Grid(axes), table.dtype)
