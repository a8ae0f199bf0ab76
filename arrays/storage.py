"""Views: arrays that look at the elements of one storage, as NumPy's views look at one memory.

Expressions never change, so what aliases are *names*. An array that a view was taken of has a storage, which is an
expression, too; the view knows the storage, and the steps that lead from it to the view's own elements. Whoever sets
elements, through whatever name, gives the storage a new expression (`arrays.indexing.writes.through`), and all other
names are found anew from it when they are next looked at. So reading costs nothing more, and an array of which no
view was taken has no storage.

Which results are views is NumPy's own answer: functions that give views there say so (`views.gives_view`), and where
that depends on strides, NumPy is asked for an array of the same strides without any memory (`copies`).

While a function is traced it is given arrays that stand for others. An array that was there before must keep nothing
that is made of these, nor may other threads see any: who is about to write to it is stopped (`OuterWrites`).
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..graph.chunks.axismap import Fixed, Slice
from ..graph.expr import origin
from ..graph.expr.expr import DType, Expr, Op
from ..graph.kinds.elementwise import Elementwise
from ..graph.kinds.mapping import BlockFunction
from ..graph.kinds.move import Move
from ..graph.kinds.reshape import Reshape
from ..workers.forks import hold_while_forking

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ..graph.chunks.grid import Grid

CHANGES = threading.RLock()
"""Held while an array, or a storage, takes another expression; what is collected meanwhile may take it, too."""

MANY = 64
"""So many references to arrays that are gone are kept at most, beside as many as there are arrays."""

_PARTS = ("real", "imag", "view")
"""Elementwise functions that show bytes as they lie in memory."""

_FIELD = "elements.picking:field"

_FUNCTIONS = (_FIELD, "elements.unbuffered:view_as")
"""Functions of blocks that do."""


class ViewStep(NamedTuple):
    """One operation of those that lead from a storage to a view."""

    op: Op
    grid: Grid
    dtype: DType
    writable: bool = True
    key: Any = None
    """The plain key that it is, if it is one: see `arrays.indexing.keys`."""


Steps = tuple[ViewStep, ...]


class Storage:
    """The elements that an array and its views share."""

    __slots__ = ("__weakref__", "_arrays", "_current", "_expr", "_most")

    def __init__(self, expr: Expr) -> None:
        self._expr = expr
        self._arrays: list[ref[Any]] = []  # all that show its elements
        self._current: list[ref[Any]] = []  # those that have an expression of what is stored now
        self._most = MANY

    @property
    def expr(self) -> Expr:
        """The expression of all elements."""
        return self._expr

    def join(self, array: Any) -> None:
        """Note that an array shows its elements from now on; `CHANGES` is held."""
        if len(self._arrays) >= self._most:
            self._drop_dead()
        self._arrays.append(ref(array))
        self._current.append(ref(array))

    def add(self, array: Any) -> None:
        """Note that an array has an expression of what is stored now; `CHANGES` is held."""
        self._current.append(ref(array))

    def _drop_dead(self) -> None:
        self._arrays = [each for each in self._arrays if each() is not None]
        self._current = [each for each in self._current if each() is not None]
        self._most = 2 * len(self._arrays) + MANY

    def arrays(self) -> list[Any]:
        """Return the arrays that show its elements."""
        return [array for each in self._arrays if (array := each()) is not None]

    def is_shared(self, array: Any) -> bool:
        """Whether another array than this one shows its elements; `CHANGES` is held."""
        for dead, each in enumerate(self._arrays):
            other = each()
            if other is not None and other is not array:
                if dead > MANY:
                    self._drop_dead()
                return True
        return False

    def set(self, value: Expr) -> None:
        """Take an expression of other elements: all arrays are found anew; `CHANGES` is held."""
        current, self._current, self._expr = self._current, [], value
        for each in current:
            array = each()
            if array is not None:
                array._expr = None
        value.note_holder(self)

    def _replace(self, known: Expr, value: Expr) -> bool:
        """Take another expression of the same elements, unless they were changed."""
        with CHANGES:
            if self._expr is not known:
                return False
            self._expr = value
            for each in self._current:
                array = each()
                if array is not None and array._expr is known:
                    array._expr = value
            value.note_holder(self)
            return True


def follow(expr: Expr, steps: Steps) -> Expr:
    """Return what steps lead to."""
    for step in steps:
        expr = Expr(step.op, (expr,), step.grid, step.dtype, origin.find_origin())
    return expr


def find_steps(expr: Expr, below: Expr, writable: bool) -> Steps | None:
    """Return the steps that lead from one expression to another; None where something else than a view is made."""
    if expr is below:
        return ()
    steps: list[ViewStep] = []
    while expr is not below:
        if len(expr.operands) != 1 or (writable and not _shows_elements(expr)):
            return None
        steps.append(ViewStep(expr.op, expr.grid, expr.dtype, writable))
        (expr,) = expr.operands
    return tuple(reversed(steps))


def _shows_elements(expr: Expr) -> bool:
    """Whether a node shows elements of its operand, each at one place."""
    op = expr.op
    if isinstance(op, Move):
        if len(op.routes) != 1 or op.fill is not None:
            return False
        route = op.routes[0]
        lengths = (n for axis, n in enumerate(expr.grid.shape) if axis not in route.targets)
        return all(isinstance(axis_map, Slice | Fixed) for _, axis_map in route.axes) and all(n == 1 for n in lengths)
    if isinstance(op, Elementwise):
        zeros = op.function == "imag" and expr.operands[0].dtype.kind != "c"
        return op.function in _PARTS and not zeros
    return isinstance(op, Reshape) or (isinstance(op, BlockFunction) and op.function in _FUNCTIONS)


def copies(expr: Expr, before: Steps, steps: Steps) -> bool:
    """Whether NumPy would copy in some steps: elements that are reshaped don't lie one stride apart."""
    if len(before) + len(steps) == 1 or not any(isinstance(step.op, Reshape) for step in steps):
        return False
    return find_layout(expr, before + steps) is None


def overlap(a: Any, b: Any, tell: Callable[[Any, Any], bool]) -> bool:
    """Whether two arrays share elements; `tell` is NumPy's function that finds it of strides."""
    storage = a._storage
    if a is b or storage is None or storage is not b._storage:
        return a is b and bool(a.size)
    sample = np.empty(1, storage.expr.dtype)
    layouts = [find_layout(storage.expr, each._steps, sample) for each in (a, b)]
    return any(layout is None for layout in layouts) or tell(*layouts)


def find_layout(expr: Expr, steps: Steps, sample: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any] | None:
    """Return an array of the strides that a view of a storage has in NumPy; None where that would be a copy.

    It has a single element, the sample, which nobody reads. A storage's elements lie in C order.
    """
    shape, sample = expr.grid.shape, np.empty(1, expr.dtype) if sample is None else sample
    strides = np.cumprod((sample.itemsize, *shape[:0:-1]), dtype=object)[::-1][: len(shape)]
    try:
        layout = as_strided(sample, shape, tuple(map(int, strides)), writeable=False)
        for step in steps:
            op = step.op
            if not step.writable:
                return None  # it may be anything that takes elements
            if isinstance(op, Move):
                layout = _lay(layout, op, step.grid.shape)
            elif isinstance(op, Reshape):
                layout = layout.reshape(step.grid.shape, copy=False)
            elif isinstance(op, Elementwise) and op.function in ("real", "imag"):
                layout = getattr(layout, op.function)
            elif isinstance(op, BlockFunction) and op.function == _FIELD:
                layout = layout[op.params[0]]
            else:
                layout = layout.view(step.dtype)
    except (ValueError, OverflowError):
        return None
    return layout


def _lay(layout: np.ndarray[Any, Any], op: Move, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return the layout of what a move takes."""
    key: list[Any] = []
    order: list[int] = []
    for target, axis_map in op.routes[0].axes:
        if isinstance(axis_map, Fixed):
            key.append(axis_map.index)
        elif isinstance(axis_map, Slice) and target is not None:
            count = shape[target]
            stop = axis_map.start + axis_map.step * count
            key.append(slice(axis_map.start, stop if stop >= 0 else None, axis_map.step) if count else slice(0, 0))
            order.append(target)
    part: np.ndarray[Any, Any] = layout[(*key, ...)]
    part = part.transpose(np.argsort(order))
    return part[(*[slice(None) if axis in order else None for axis in range(len(shape))], ...)]


class OuterWrites:
    """What refuses that one thread writes to arrays that others than the function that it traces have made.

    Parameters
    ----------
    refusal : callable
        Returns what is raised, for the user's line.
    """

    def __init__(self, refusal: Callable[[str], BaseException]) -> None:
        self.thread = threading.get_ident()
        self.where = ""
        """The user's line that wanted to write first; empty: none did."""
        self._refusal = refusal
        self._made: dict[int, ref[Any]] = {}

    def note_made(self, array: Any) -> None:
        """Note that the function has made an array."""
        self._made[id(array)] = ref(array)

    def note_write(self, array: Any) -> None:
        """Raise where an array is about to be written to that isn't the function's own; `CHANGES` is held."""
        storage = array._storage
        shown = [array, *(() if storage is None else storage.arrays())]
        if not all(map(self._is_made, shown)):
            self.where = self.where or origin.find_origin().where or "an unknown line"
            raise self._refusal(self.where)

    def _is_made(self, array: Any) -> bool:
        own = self._made.get(id(array))
        return own is not None and own() is array


TRACED: list[OuterWrites] = []
"""Of functions that are being traced, the innermost last."""


def traced_here() -> list[OuterWrites]:
    """Return those of the functions that this thread traces."""
    if not TRACED:
        return []
    thread = threading.get_ident()
    return [each for each in TRACED if each.thread == thread]


def note_made(array: Any) -> None:
    """Note that an array is made."""
    for each in traced_here():
        each.note_made(array)


def note_write(array: Any) -> None:
    """Note that an array is about to be written to; `CHANGES` is held."""
    for each in traced_here():
        each.note_write(array)


@contextmanager
def refusing_outer_writes(refusal: Callable[[str], BaseException]) -> Generator[OuterWrites]:
    """While a function is traced by this thread: it is left where it is about to write to an array from outside."""
    writes = OuterWrites(refusal)
    TRACED.append(writes)
    try:
        yield writes
    finally:
        TRACED.remove(writes)


def _forked() -> None:
    TRACED[:] = traced_here()  # other threads are gone, and later ones may have their numbers


os.register_at_fork(after_in_child=_forked)
hold_while_forking(CHANGES)
