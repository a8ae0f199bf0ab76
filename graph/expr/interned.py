"""What recurs is the same object: operations and grids that a program makes over and over, as a loop does each turn.

What follows from such an object is then found once. An operation that recurs is marked; only small grids count.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from .token import token_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from ..chunks.grid import Grid
    from .expr import DType, Op

    Marked = TypeVar("Marked", bound=Op)
    Result = TypeVar("Result")

BLOCKS = 256
"""Blocks of the largest grid that is remembered: the bounds of its chunks are held."""
MOST = 4096
"""Names, moves and boxes that follow from what recurs, that are remembered."""

_recalled: dict[tuple[object, ...], tuple[tuple[object, ...], Any]] = {}


@lru_cache(MOST)
def _first(grid: Grid, free: tuple[bool, ...]) -> Grid:
    return grid


def same_grid(grid: Grid) -> Grid:
    """Return the first grid that was equal to this one, in marks too, if it remembers nothing of joins."""
    if "recurring" in grid.__dict__:
        return grid
    if grid.nblocks > BLOCKS or any(axis.is_marked for axis in grid.axes):
        return grid
    interned = _first(grid, tuple([axis.is_free for axis in grid.axes]))
    interned.__dict__["recurring"] = True
    return interned


def recurs(op: Marked) -> Marked:
    """Mark an operation that is remembered where it was made, and return it."""
    op.__dict__["recurring"] = True
    return op


def recall(kind: Hashable, parts: tuple[object, ...], make: Callable[[], Result]) -> Result:
    """Return what was made of these very objects before, or what is made now: it follows from them alone."""
    key = (kind, *map(id, parts))
    entry = _recalled.get(key)
    if entry is None:
        if len(_recalled) >= MOST:
            _recalled.clear()
        entry = _recalled[key] = parts, make()  # held: their identities stay their own
    result: Result = entry[1]
    return result


def name_form(op: Op, grid: Grid, dtype: DType) -> str:
    """Return the name of what an operation does to whatever operands; see `Op.form`."""
    form, kind = op.form, type(op).__name__
    name, like = partial(token_of, kind, form, grid, dtype), (kind, form, dtype)
    if grid.nblocks <= BLOCKS and type(form) is tuple:
        return recall(like, (grid,), name)
    if grid.nblocks <= BLOCKS and form is op and op.recurring:
        return recall(("form", dtype), (op, grid), name)
    return name()
