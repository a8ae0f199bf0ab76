"""Single elements of what is at hand, without the engine.

`float(x[i])` asks for one element. Where moves alone lead from it to the user's own array, to a constant, or to a
small array that was looked at before, it is read there: the same bits, hundreds of times sooner. An array is small
when all that it is made from is; its values are kept, as long as there is room for them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.chunks.axismap import Fixed, Slice
from ...graph.expr import names
from ...graph.expr.expr import Expr, walk
from ...graph.kinds.mapping import MapBlocks
from ...graph.kinds.move import Move
from ...graph.kinds.reshape import Reshape
from ...graph.kinds.source import Full, Host
from .deferred import evaluate

if TYPE_CHECKING:
    from ..base import ArrayBase

SMALL = 1 << 16
"""Bytes of an array whose values are kept, and of each of those that it is made from."""
MANY = 64
"""Nodes of its expression, and arrays kept."""

_kept: OrderedDict[str, np.ndarray[Any, Any]] = OrderedDict()
_lock = threading.Lock()


def element(x: ArrayBase) -> Any:
    """Return the single element of an array where it is at hand; else None."""
    expr, at = x.expr, (0,) * x.ndim
    moved = False
    while isinstance(expr.op, Move | Reshape) and expr.pin is None:
        source = _before(expr, at)
        if source is None:
            return None
        (expr, at), moved = source, True
    op = expr.op
    if isinstance(op, Full):
        return np.asarray(op.value).astype(expr.dtype)[()]
    if isinstance(op, Host):
        if not op.data.in_place or op.data.file is not None:
            return None
        return np.asarray(op.data.array)[at]
    values = _small(expr) if moved else None
    return None if values is None else values[at]


def _before(expr: Expr, at: tuple[int, ...]) -> tuple[Expr, tuple[int, ...]] | None:
    """Return the operand that has the element at a position of a move's result, and its position there."""
    op = expr.op
    if isinstance(op, Reshape):
        (source,) = expr.operands
        flat = int(np.ravel_multi_index(at, expr.shape)) if at else 0
        return source, tuple(int(i) for i in np.unravel_index(flat, source.shape)) if source.shape else ()
    assert isinstance(op, Move)
    if len(op.routes) != 1:
        return None
    (source,) = expr.operands
    place = []
    for (target, how), n in zip(op.routes[0].axes, source.shape, strict=True):
        if isinstance(how, Fixed):
            i = how.index
        elif isinstance(how, Slice) and target is not None:
            i = how.start + how.step * at[target]
        else:
            return None
        if not 0 <= i < n:
            return None
        place.append(i)
    return source, tuple(place)


def _small(expr: Expr) -> np.ndarray[Any, Any] | None:
    """Return the values of a small array, computed now or before."""
    with _lock:
        values = _kept.get(expr.token)
        if values is not None:
            if not names.agreed():  # else what was looked at last may differ between ranks, and so what is kept
                _kept.move_to_end(expr.token)
            return values
    for number, node in enumerate(walk([expr])):
        own = isinstance(node.op, MapBlocks) or (isinstance(node.op, Host) and not _ours(node.op))
        if own or node.nbytes > SMALL or number >= MANY:
            return None
    (values,) = evaluate([expr])
    if names.acting():
        return values
    with _lock:
        _kept[expr.token] = values
        while len(_kept) > MANY:
            _kept.popitem(last=False)
    return values


def _ours(op: Host) -> bool:
    """Whether the data lies in memory, where it doesn't change."""
    return op.data.in_place and op.data.file is None
