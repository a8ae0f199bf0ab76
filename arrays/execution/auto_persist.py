"""What is computed again and again is kept from then on: for loops that look at values.

`while float(error) > eps: …` asks in each turn for what follows from all turns before, and an array that isn't
persisted is computed from its beginning each time. So whenever Python asks for a value (`float`, `bool`, `np.asarray`;
not `compute`, which says what is wanted) it is noted which arrays, that the program still refers to, were computed on
the way. When one of them is below what is asked for another time, the arrays that are referred to now are persisted:
every other turn at most is computed twice. Arrays of more than a small part of the memory aren't kept, and none in SPMD
mode, where ranks' references may differ. The last small value itself is remembered: `a[i] = b[i] = value` asks one
array for it twice. What users' functions give and what users hold, in memory or in files, may be another the next
time, and is computed again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ...graph.expr.expr import walk
from ...graph.kinds.source import Host
from ...scheduler.session.cluster import session
from ..base import wrap
from .compute import compute_array, persist

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph.expr.expr import Expr
    from ..base import ArrayBase
    from ..storage import Storage

PART = 8
"""One such part of the smallest arena may be kept."""
MANY = 1 << 14
"""Nodes that are looked at."""
NOTED = 1 << 12
"""Names that are remembered."""
LITTLE = 1 << 22
"""Bytes of the largest value that is remembered."""

_last: list[tuple[ref[ArrayBase], str, np.ndarray[Any, Any]]] = []
"""The array that was asked last, the name of what it stood for, and its value: nothing that keeps chunks."""
_noted: OrderedDict[str, None] = OrderedDict()
_lock = threading.Lock()


def compute_value(array: ArrayBase) -> np.ndarray[Any, Any]:
    """Return an array's values, for Python; keep what is computed on the way where that was so before."""
    active = session()
    alone, expr = active.place[1] == 1, array.expr
    for asked, was, value in tuple(_last) if alone else ():
        if asked() is array and was == expr.token:
            return value.copy()
    if alone:
        nodes = list(islice(walk([expr], lambda node: active.is_stored(node.token)), MANY))
        held = [node for node in nodes if node.operands and node.pin is None and node.holder is not None]
        with _lock:
            again = any(node.token in _noted and not active.is_stored(node.token) for node in nodes)
            _noted.update(dict.fromkeys(node.token for node in held))
            while len(_noted) > NOTED:
                _noted.popitem(last=False)
        if again:
            _keep(held, active.room // PART)
    values = np.asarray(compute_array(array))
    if alone and values.nbytes <= LITTLE and _lasts(expr):
        _last[:] = [(ref(array), expr.token, values.copy())]
    return values


def _lasts(expr: Expr) -> bool:
    """Whether an expression has the same value whenever it is computed, as far as that is told quickly."""
    if expr.foreign or expr.deferred:
        return False
    nodes = list(islice(walk([expr], lambda node: node.pin is not None), MANY))
    return len(nodes) < MANY and not any(isinstance(node.op, Host) for node in nodes)


def _keep(held: Sequence[Expr], room: int) -> None:
    """Persist arrays that somebody refers to, the latest first, as far as there is room."""
    chosen: list[tuple[ArrayBase | Storage, Expr]] = []
    for node in reversed(held):
        array: Any = node.holder
        if array is not None and node.nbytes <= room:
            room -= node.nbytes
            chosen.append((array, node))
    if not chosen:
        return
    persisted = persist(*(wrap(node) for _, node in chosen))
    for (array, node), kept in zip(chosen, persisted, strict=True):
        array._replace(node, kept.expr)
