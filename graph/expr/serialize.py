"""Expressions on their way to another process, with the arrays in memory that they begin with: what tasks return."""

from __future__ import annotations

import pickle
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import ArgumentError
from .expr import Expr, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ..chunks.grid import Grid
    from .expr import DType
    from .origin import Origin

_threads = threading.local()
_Packed = tuple[bytes, list[pickle.PickleBuffer]]
_Row = tuple[_Packed, tuple[int, ...], "Grid", "DType", "Origin", str]


@contextmanager
def travelling() -> Generator[None]:
    """While something is pickled that this thread sends to another rank: lazy arrays in it go along."""
    before, _threads.on = is_travelling(), True
    try:
        yield
    finally:
        _threads.on = before


def is_travelling() -> bool:
    """Tell whether lazy arrays may be pickled now."""
    return getattr(_threads, "on", False)


def dump(value: object, buffer_callback: Callable[[pickle.PickleBuffer], object] | None = None) -> bytes:
    """Return a pickle of what other threads may look at meanwhile.

    What follows from an immutable object is found when it is first asked for, and kept with it. Where another thread
    does so while the object is pickled, `pickle` gives up; then it is begun anew.
    """
    while True:
        buffers: list[pickle.PickleBuffer] = []
        try:
            packed = pickle.dumps(value, 5, buffer_callback=None if buffer_callback is None else buffers.append)
        except RuntimeError as error:
            if "changed size during iteration" not in str(error):
                raise
        else:
            if buffer_callback is not None:
                for each in buffers:
                    buffer_callback(each)
            return packed


def pack(root: Expr) -> list[_Row]:
    """Return an expression as plain rows, operands before their users: chains may be longer than Python's stack.

    A part that lives in this process alone is an ArgumentError.
    """
    rows: list[_Row] = []
    at: dict[str, int] = {}
    for node in walk([root]):
        at[node.token] = len(rows)
        operands = tuple(at[each.token] for each in node.operands)
        rows.append((_pack_op(node), operands, node.grid, node.dtype, node.origin, node.token))
    return rows


def _pack_op(node: Expr) -> _Packed:
    """Return an operation's pickle; arrays' memory stays where it is until the whole is pickled."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        if node.pin is not None:
            raise TypeError("its chunks are kept")
        return dump(node.op, buffers.append), buffers
    except Exception as error:
        raise ArgumentError(
            f"a lazy array ({node.label}) is known to one process alone; expected an array of NumPy's in its place"
        ) from error


def unpack(rows: list[_Row]) -> Expr:
    nodes: list[Expr] = []
    for (head, buffers), operands, grid, dtype, origin, token in rows:
        op = pickle.loads(head, buffers=buffers)
        nodes.append(Expr(op, tuple(nodes[each] for each in operands), grid, dtype, origin, None, token))
    return nodes[-1]
