"""Writing through views: the expression of a storage after elements of one of its views were set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....graph.chunks.axismap import Fixed
from ....graph.kinds.elementwise import Elementwise
from ....graph.kinds.mapping import BlockFunction
from ....graph.kinds.move import Move
from ....graph.kinds.reshape import Reshape
from ...base import wrap
from ...chunking.rechunk import regrid
from ...ops.moves import views
from ...storage import follow
from ..keys import NEW, Selection, pick_plain
from .setitem import fit_shape, set_field, set_selected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....graph.expr.expr import Expr
    from ...array import Array
    from ...storage import Steps, ViewStep
    from ..keys import Entry


def put(root: Expr, steps: Steps, value: Expr) -> Expr:
    """Return a storage's expression after what steps lead to became `value`, which may broadcast to it."""
    if steps and steps[-1].grid.size == 0:
        fit_shape(wrap(value), steps[-1].grid.shape)
        return root
    return _put(wrap(root), steps, wrap(value)).expr


def _put(base: Array, steps: Steps, value: Array) -> Array:
    if not steps:
        return regrid(value, base.expr.grid)
    shape = base.expr.grid.shape
    if len(steps) == 1 and steps[0].key is not None:
        return set_selected(base, pick_plain(shape, steps[0].key), value, steps[0].key)
    count, chosen = _select(shape, steps)
    first = max(count, 1)
    if first < len(steps):
        value = _put(wrap(follow(base.expr, steps[:first])), steps[first:], value)
    return set_selected(base, chosen, value) if count else _put_back(base, steps[0], value)


def _put_back(base: Array, step: ViewStep, value: Array) -> Array:
    """Return an array whose reshaped elements, bytes, parts or fields have become `value`."""
    op = step.op
    if isinstance(op, Reshape):
        return regrid(value.reshape(base.shape), base.expr.grid)
    if isinstance(op, Elementwise) and op.function in ("real", "imag"):
        return views.with_real(base, value) if op.function == "real" else views.with_imag(base, value)
    if isinstance(op, BlockFunction) and op.function == "elements.picking:field":
        return set_field(base, op.params[0], value)
    return regrid(views.view_as(value, base.dtype), base.expr.grid)


def _select(shape: Sequence[int], steps: Steps) -> tuple[int, Selection]:
    """Return how many moves come first, and what they select together."""
    entries: list[Entry] = [slice(0, n, 1) for n in shape]
    layout = list(range(len(shape)))
    count = 0
    for step in steps:
        if not isinstance(step.op, Move):
            break
        new_layout = [NEW] * step.grid.ndim
        for axis, (target, axis_map) in zip(layout, step.op.routes[0].axes, strict=True):
            if axis != NEW:
                entry = entries[axis]
                assert isinstance(entry, slice)
                if isinstance(axis_map, Fixed):
                    entries[axis] = entry.start + entry.step * axis_map.index
                else:
                    start = entry.start + entry.step * axis_map.start  # type: ignore[attr-defined]
                    entries[axis] = slice(start, step.grid.shape[target], entry.step * axis_map.step)  # type: ignore
            if target is not None:
                new_layout[target] = axis
        layout = new_layout
        count += 1
    return count, Selection(entries, None, layout)
