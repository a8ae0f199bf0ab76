"""Setting elements: `x[key] = value` puts a new expression behind the name `x`; nothing is written anywhere.

What is a view of `x`, or of which `x` is one, follows (`arrays.storage`); other arrays made from `x` before keep what
they were. Slices and integers are a move with a route
for the old elements and one for the new; arrays of positions are scattered by block; one mask, over any axes, with
values that don't run along what it selects is `where`, fused into what follows; values that do are dealt out chunk by
chunk where it comes first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.chunks.axismap import AxisMap, Fixed, Slice, Spread, StridedPlace
from ....graph.chunks.grid import Axis, Grid
from ....graph.errors import DTypeError, ShapeError, bad
from ....graph.expr.interned import BLOCKS, recall, recurs
from ....graph.kinds.mapping import BlockFunction
from ....graph.kinds.move import Move, Route
from ....graph.kinds.points import PutPoints, last_by_block
from ....graph.kinds.source import Full
from ...base import ArrayBase, alias, as_array, make, snapshot, wrap
from ...chunking.rechunk import regrid
from ...execution.deferred import Chosen, defer
from ...ops.elementwise.functions import astype
from ...ops.elementwise.nodes import apply
from ...ops.moves.axis_moves import Step, move
from ...ops.moves.broadcasting import broadcast_to
from ...values import assigned, hold, read
from ..boolean import count_by_chunk, flatten_masked
from ..getitem import pick_field, read_mask, stand_ins
from ..keys import (
    NEW,
    POINTS,
    Selection,
    expand_ellipsis,
    fill_template,
    forward,
    masks_checked,
    names_fields,
    pick_plain,
    read_key,
    read_plain,
    selection,
    template_of,
    trivial,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from ...array import Array
    from ...values import Rule
    from ..getitem import Masked
    from ..keys import Plain

MOST_ROUTES = 32
"""Up to this many elements or slices set one after the other are one move; for more elements see
`graph.passes.merge_setitems`."""


def assign(x: Array, key: Any, value: Any) -> Array:
    """Return an array like `x` in which `x[key]` is `value`."""
    x = alias(x)
    if names_fields(key):
        return set_field(x, key, value)
    shape = x.expr.grid.shape
    plain = read_plain(key)
    if plain is not None:
        chosen = pick_plain(shape, plain)
        return set_selected(x, chosen, as_value(x, value, assigned), plain)
    items = expand_ellipsis(len(shape), read_key(key))
    items = masks_checked(items, shape)
    lazy = any(isinstance(i, ArrayBase) for i in items)
    at = read_mask(x, items)
    if at is not None and (lazy or trivial(at.others)) and at.fits:
        updated = _by_mask(at, value, lazy)
        if updated is not None:
            return (
                updated
                if trivial(at.others)
                else set_selected(x, selection(shape, list(at.others)).simplify(), updated)
            )
    new = as_value(x, value)
    if lazy:
        return _by_lazy(x, items, new)
    return set_selected(x, selection(shape, items).simplify(), new)


def as_value(x: ArrayBase, value: object, by: Rule = read) -> Array:
    """Return a value as an array of the dtype of the array that it is set in; numbers as constants.

    For numbers of a dtype NumPy has one rule where integers and slices say where they go, another for masks and arrays.
    """
    if isinstance(value, ArrayBase):
        source = as_array("setitem", "value", value)
        _check_cast(x, source.dtype)
        return astype(source, x.dtype)
    if isinstance(value, np.ndarray | np.generic):
        _check_cast(x, value.dtype)
        array: Any = value
        if isinstance(value, np.generic):
            array = hold("setitem", "value", value, x.dtype, by)
        elif value.dtype.kind in "SU" or value.ndim == 0:
            array = value.astype(x.dtype, copy=False)
    elif isinstance(value, (list, tuple)) and _holds_lazy(value):
        from ...ops.moves.joining import stack

        return as_value(x, stack([as_array("setitem", "value", v) for v in value]))
    else:
        array = hold("setitem", "value", snapshot(value), x.dtype)
    if array.ndim == 0:
        return make(Full(np.asarray(array)[()]), (), Grid([]), x.dtype)
    return astype(as_array("setitem", "value", array), x.dtype)


def set_field(x: Array, names: str | list[str], value: object) -> Array:
    """Return records with other values in a field, or in some of them."""
    part = pick_field(x, names)
    new = as_value(part, value, assigned)
    new = _reshape_value(new, fit_shape(new, part.shape))
    new = regrid(broadcast_to(new, part.shape), part.expr.grid)
    every = tuple(range(x.ndim))
    op = BlockFunction("elements.picking:set_field", (names,), (every, (*every, *(None,) * (part.ndim - x.ndim))))
    return make(op, (x, new), x.expr.grid, x.dtype)


def _holds_lazy(value: Any) -> bool:
    return any(isinstance(v, ArrayBase) or (isinstance(v, list | tuple) and _holds_lazy(v)) for v in value)


def _check_cast(x: ArrayBase, dtype: np.dtype[Any]) -> None:
    """Raise for complex values that would lose their imaginary parts."""
    if dtype.kind == "c" and x.dtype.kind != "c":
        raise DTypeError(bad("setitem", "value", dtype, f"a dtype that {x.dtype} can hold; take .real or abs()"))


def fit_shape(value: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the value's shape with as many axes as what is set; raise where it doesn't broadcast to it.

    As in NumPy, leading size-1 axes may be too many.
    """
    own = value.expr.grid.shape
    extra = max(0, len(own) - len(shape))
    lengths = (1,) * (len(shape) - len(own)) + own[extra:]
    if any(n != 1 for n in own[:extra]) or any(n not in (1, m) for n, m in zip(lengths, shape, strict=True)):
        raise ShapeError(f"setitem: argument 'value' has shape {own}; expected one that broadcasts to {shape}")
    return lengths


def set_selected(x: Array, chosen: Selection, value: Array, plain: Plain | None = None) -> Array:
    """Return an array like `x` in which what a key without lazy items selects is `value`.

    `plain` is that key, where it has no arrays either.
    """
    lengths = fit_shape(value, chosen.shape)
    if math.prod(chosen.shape) == 0:
        return x
    value = _reshape_value(value, lengths)
    if chosen.wide is None:
        return _basic(x, chosen, value, plain)
    return _scatter(x, chosen, value)


def _reshape_value(value: Array, lengths: Sequence[int]) -> Array:
    """Give a value another shape; size-1 axes are one chunk, a number stays a constant."""
    if isinstance(value.expr.op, Full):
        return make(value.expr.op, (), Grid.single(lengths), value.dtype)
    value = value.reshape(tuple(lengths))
    return regrid(value, Grid([Axis.whole(1) if a.length == 1 else a for a in value.expr.grid.axes]))


# ---------------------------------------------------------------- slices and integers


def _axis_maps(entry: Any, length: int) -> tuple[AxisMap, bool]:
    """Return where a value's axis of some length goes along the array's axis, and whether it goes backwards."""
    start, step, count = forward(entry)
    if length == 1:
        return Spread(start, step, count), False
    return StridedPlace(start, step), isinstance(entry, slice) and entry.step < 0


@dataclass(frozen=True)
class _Way:
    """How a value goes into slices and integers: the route of its axes, once `steps` have brought it to `axes`.

    `covers`: all elements are set. `steps` is None where the value's axes are the array's already.
    """

    covers: bool
    route: Route
    steps: tuple[Step, ...] | None
    axes: tuple[Axis, ...]


def _find_way(grid: Grid, chosen: Selection, value: Grid) -> _Way:
    covers = all(isinstance(e, slice) and e.stop == n for e, n in zip(chosen.entries, grid.shape, strict=True))
    steps: dict[int, Step] = {}
    axis_maps: list[tuple[int | None, AxisMap]] = []
    axes: list[Axis] = []
    own = dict(zip(chosen.layout, range(value.ndim), strict=False))
    straight = NEW not in chosen.layout
    for i, entry in enumerate(chosen.entries):
        k = own.get(i)
        length = value.shape[k] if k is not None else 1
        axis_map, back = _axis_maps(entry, length)
        axis_maps.append((i, axis_map))
        axes.append(value.axes[k] if k is not None else Axis.whole(1))
        straight = straight and k == i and not back
        if k is not None:
            steps[i] = (i, Slice(length - 1, -1) if back else Slice())
    placed = None if straight else tuple([steps[axis] for axis in chosen.layout if axis != NEW])
    return _Way(covers, Route(tuple(axis_maps)), placed, tuple(axes))


@lru_cache(1024)
def _known_way(grid: Grid, plain: Plain, value: Grid) -> _Way:
    return _find_way(grid, pick_plain(grid.shape, plain), value)


@lru_cache
def _old(ndim: int) -> tuple[Route, ...]:
    """Return the route of the elements that were there."""
    return (Route(tuple((i, Slice()) for i in range(ndim))),)


def _sets_alike(route: Route, of: ArrayBase, other: Route, value: ArrayBase) -> bool:
    """Whether two routes set the same elements."""
    return route is other or (route == other and of.expr.grid.shape == value.expr.grid.shape)


def _basic(x: Array, chosen: Selection, value: Array, plain: Plain | None) -> Array:
    """A move: the old elements, and over them the value."""
    grid = x.expr.grid
    small = plain is not None and max(grid.nblocks, value.expr.grid.nblocks) <= BLOCKS
    known = plain if small else None
    value_grid = value.expr.grid
    way = _find_way(grid, chosen, value_grid) if known is None else _known_way(grid, known, value_grid)
    if way.covers and isinstance(value.expr.op, Full):
        return make(value.expr.op, (), grid, x.dtype)
    if way.steps is not None:
        value = _place_axes(value, chosen.layout, way.steps, way.axes)
    if way.covers:
        return regrid(broadcast_to(value, grid.shape), grid)
    op = x.expr.op
    routes = _old(grid.ndim)
    earlier: tuple[ArrayBase, ...] = (x,)
    if isinstance(op, Move) and op.sets_elements and x.expr.pin is None and len(op.routes) < MOST_ROUTES:
        routes, earlier = op.routes, tuple(map(wrap, x.expr.operands))
    # Elements that are set again needn't have been set before.
    kept = [0, *(k for k in range(1, len(routes)) if not _sets_alike(routes[k], earlier[k], way.route, value))]
    now = (*[routes[k] for k in kept], way.route)

    def write() -> Move:
        return recurs(Move("setitem", now))

    earlier = tuple([earlier[k] for k in kept])
    move = Move("setitem", now) if known is None else recall("setitem", now, write)
    return make(move, (*earlier, value), grid, x.dtype)


def _place_axes(value: Array, layout: Sequence[int], steps: Sequence[Step], axes: Sequence[Axis]) -> Array:
    """Give a value the array's axes: size-1 axes for integers, without new ones; some run backwards."""
    if isinstance(value.expr.op, Full):
        return _reshape_value(value, [a.length for a in axes])
    todo = iter(steps)
    every: list[Step] = [(None, Fixed(0)) if axis == NEW else next(todo) for axis in layout]
    return move("value", value, every, axes)


# ---------------------------------------------------------------- arrays of positions


def _scatter(x: Array, chosen: Selection, value: Array) -> Array:
    """Points, by the blocks that they lie in; of several values for one place the last one stays."""
    grid = x.expr.grid
    arrays, wide = chosen.arrays, chosen.wide or ()
    lead = chosen.layout.index(POINTS)
    points = value.shape[lead : lead + len(wide)]
    lengths = _merge_points(chosen.layout, value.shape, len(wide))
    others = [a for a in range(grid.ndim) if a not in arrays]
    axis_maps, axes, steps = [], [Axis.whole(1)] * (1 + len(others)), []
    own = [a for a, _ in lengths]
    value = _reshape_value(value, [n for _, n in lengths])
    for a, n in lengths:
        target = 0 if a == POINTS else 1 + others.index(a)
        back = a != POINTS and _axis_maps(chosen.entries[a], n)[1]
        steps.append((target, Slice(n - 1, -1) if back else Slice()))
        axes[target] = value.expr.grid.axes[len(steps) - 1]
    for a in others:
        n = dict(lengths).get(a, 1)
        axis_maps.append(_axis_maps(chosen.entries[a], n)[0])
    if isinstance(value.expr.op, Full):
        value = _reshape_value(value, [a.length for a in axes])
    elif own != [POINTS, *others] or any(axis_map != Slice() for _, axis_map in steps):
        value = move("value", value, steps, axes)
    source = np.broadcast_to(np.arange(math.prod(points)).reshape(points), wide).reshape(-1)
    index = [e for e in chosen.entries if isinstance(e, np.ndarray)]
    kept, bounds = last_by_block([grid.axes[a] for a in arrays], index)
    op = PutPoints(tuple(arrays), tuple(i[kept] for i in index), source[kept], bounds, tuple(axis_maps))
    return make(op, (x, value), grid, x.dtype)


def _merge_points(layout: list[int], lengths: Sequence[int], width: int) -> list[tuple[int, int]]:
    """Return (axis, length) for each axis of a value, those of the points made one, new ones left out."""
    pairs, at = [], 0
    for axis in layout:
        n = math.prod(lengths[at : at + width]) if axis == POINTS else lengths[at]
        at += width if axis == POINTS else 1
        if axis != NEW:
            pairs.append((axis, n))
    return pairs


# ---------------------------------------------------------------- masks and lazy positions


def _by_mask(at: Masked, value: object, lazy: bool) -> Array | None:
    """One mask: `where`, or values dealt out chunk by chunk. None: positions serve better."""
    part, mask, axis = at.part, at.mask, at.axis
    whole = _choose(at, value)
    if whole is not None:
        return _where(at, whole)
    value = as_value(part, value)
    shape = part.shape
    before, behind = shape[:axis], shape[axis + mask.ndim :]
    if value.ndim > len(behind) and value.shape[-1 - len(behind)] != 1:
        if axis or not lazy:
            return None
        lengths = (value.shape[-1 - len(behind)], *behind)
        wide = value.reshape(fit_shape(value, lengths))
        return defer("setitem", _dealt, (part, mask, wide), (), part.expr.grid, part.dtype)
    lengths = fit_shape(value, (*before, 1, *behind))
    if value.ndim > len(behind):
        value = _reshape_value(value, (*lengths[:axis], *(1,) * mask.ndim, *lengths[axis + 1 :]))
    return _where(at, value)


def _where(at: Masked, value: Array) -> Array:
    """Return what a mask selects from, with elements of a value where the mask holds."""
    x, mask = at.part, at.mask
    condition = mask.reshape(mask.shape + (1,) * (x.ndim - at.axis - mask.ndim))
    scalar: Any = value
    if isinstance(value.expr.op, Full):
        scalar = x.dtype.type(value.expr.op.value) if x.dtype.kind in "biufc" else value
    return regrid(astype(apply("setitem", "where", (condition, scalar, x), np.where), x.dtype), x.expr.grid)


def _choose(at: Masked, value: object) -> Array | None:
    """Return the whole array of which a value is what a mask selects, where it goes back to the same places."""
    waiting = value._unsized if isinstance(value, ArrayBase) else None
    if waiting is None or waiting.chosen is None or not waiting.chosen.beside(Chosen(at.part, at.mask, at.axis)):
        return None
    _check_cast(at.part, waiting.chosen.whole.dtype)
    return astype(waiting.chosen.whole, at.part.dtype)


def _dealt(x: Array, mask: Array, value: Array) -> Generator[Any, Any, Array]:
    """Recipe: count what each chunk of a lazy mask takes, and hand each its run of the values."""
    shape = x.shape
    flat, mask = flatten_masked(x, mask)
    mask = regrid(mask, Grid(flat.expr.grid.axes[:1])).persist()
    counts = yield count_by_chunk(mask)
    total = int(counts.sum())
    if value.shape[0] != total:
        detail = f"argument 'value' has {value.shape[0]} elements along the first axis"
        raise ShapeError(f"setitem: {detail}; expected {total}, as many as the mask holds for")
    axes = flat.expr.grid.axes
    mine = [Axis.whole(1) if n == 1 else a for n, a in zip(value.shape[1:], axes[1:], strict=True)]
    value = regrid(value, Grid([Axis.of_sizes(counts), *mine]))
    every = tuple(range(flat.ndim))
    op = BlockFunction("elements.masks:deal_values", axes=(every, (0,), every))
    return make(op, (flat, mask, value), flat.expr.grid, x.dtype).reshape(shape)


def _by_lazy(x: Array, items: list[Any], value: Array) -> Array:
    """Lazy positions, and masks at any place: computed when the array is."""
    lazy = [i for i in items if isinstance(i, ArrayBase)]
    if all(i.dtype != bool and i._unsized is None for i in lazy):
        fit_shape(value, selection(x.expr.grid.shape, stand_ins(items)).shape)
    template, operands = template_of(items)
    return defer("setitem", _put, (x, value, *operands), (template,), x.expr.grid, x.dtype)


def _put(x: Array, value: Array, *given: Any) -> Generator[Any, Any, Array]:
    """Recipe: compute what is lazy among the items, then set."""
    *lazy, template = given
    values = yield tuple(lazy)
    return assign(x, fill_template(template, [np.asarray(v) for v in values]), value)
