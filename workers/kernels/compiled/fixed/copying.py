"""Copying many boxes by one compiled loop that goes over a table of them, whatever they hold.

A piece costs the interpreter some ten microseconds under Python's lock, and this loop some ten nanoseconds without.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..llvm.kernel_cache import ENTRY, WAITED_WORK, compiled, ready
from ..llvm.text import Body

if TYPE_CHECKING:
    from ..llvm.machine_code import Native
    from ..llvm.text import Text

Array = np.ndarray[Any, Any]
WORK = 10_000
"""A piece's work, in loops of NumPy's over elements: what the interpreter needs for it."""
AXES = 6
"""Of a box, at most: those that lie in one piece on both sides are one, and strings and records have one more."""
SEVERAL = 4
"""Rows; NumPy puts together pieces of fewer."""
_NUMBER = np.dtype(np.int64)
_ROW = np.array([[0, 0] + [1] * 3 * AXES])
"""A box's part of the table: one byte, goes from nowhere to nowhere."""
_COPY = "llvm.memcpy.p0.p0.i64"


class Copies(NamedTuple):
    """Boxes to copy: where each begins and goes to, its extents, and how far neighbours are apart, all in bytes.

    Addresses are (boxes,), the rest is (boxes, axes); what is the same for all boxes may be (1, axes).
    """

    at: Array
    to: Array
    extent: Array
    apart: Array
    apart_there: Array


def find_loop(count: int, total: int) -> Native | None:
    """Return the loop for some pieces of so many, where it is there or worth waiting for; else have it made."""
    worth = total * WORK >= WAITED_WORK
    loop: Native | None = compiled(_text(), 1, True) if worth else ready(_text(), 1, count * WORK)
    return loop


def copy(loop: Native, copies: Copies, itemsize: int) -> None:
    """Copy boxes of elements of a size, one after the other."""
    if not len(copies.at):
        return
    extent, strides, unit = _merge(copies, itemsize)
    if (strides[:, :, -1] == unit).all():
        extent[:, -1] *= unit
        unit = 0
    table = np.ones((len(extent), 2 + 3 * AXES), np.int64)
    table[:, 0], table[:, 1] = copies.at, copies.to
    for k, part in enumerate((extent, *strides)):
        last = 2 + (k + 1) * AXES
        table[:, last - extent.shape[1] : last] = part
    address = table.__array_interface__["data"][0]
    loop(address, address, address, len(table), unit, 0, 0)


class RowParts:
    """Parts of rows, (parts, rows), of which the first, the second, and so on are put together in one call each.

    `begin` and `end` are positions in the rows, which must live as long as this. NumPy would let go of Python's lock
    for each piece.
    """

    def __init__(self, loop: Native, rows: list[Array], begin: Array, end: Array) -> None:
        self._loop, size = loop, rows[0].itemsize
        table = _ROW.repeat(begin.size, 0).reshape(*begin.shape, -1)  # as no copy does, it keeps the lock
        stop = np.cumsum(end - begin, 1)
        table[:, :, 0] = begin * size + [row.__array_interface__["data"][0] for row in rows]
        table[:, :, 1] = (stop - (end - begin)) * size
        table[:, :, 1 + AXES] = (end - begin) * size
        self._table = table

    @staticmethod
    def of(rows: list[Array], begin: Array, end: Array) -> RowParts | None:
        """Return the parts; None where rows are few, or don't lie in one piece, and as long as there is no loop."""
        if len(rows) < SEVERAL or not all(row.flags.c_contiguous and row.dtype == rows[0].dtype for row in rows):
            return None
        loop = find_loop(begin.size, begin.size)
        return None if loop is None else RowParts(loop, rows, begin, end)

    def put(self, number: int, out: Array) -> None:
        """Put a part's pieces one after the other into a row, which lies in one piece, once."""
        part = self._table[number]
        part[:, 1] += out.__array_interface__["data"][0]
        address = part.__array_interface__["data"][0]
        self._loop(address, address, address, len(part), 0, 0, 0)


def _merge(copies: Copies, itemsize: int) -> tuple[Array, Array, int]:
    """Return extents, both strides, and the bytes of what is copied at once; with as few axes as there can be.

    The last axis is the one along which the target's neighbours are nearest.
    """
    unit = next(size for size in (8, 4, 2, 1) if itemsize % size == 0)
    shape = (len(copies.at), copies.extent.shape[1])
    extent = np.broadcast_to(copies.extent, shape)
    strides = np.stack([np.broadcast_to(s, shape) for s in (copies.apart, copies.apart_there)])
    kept = np.flatnonzero((extent != 1).any(0))
    kept = kept[np.argsort(-np.abs(strides[1][:, kept]).max(0), kind="stable")]
    extents, steps = [extent[:, a] for a in kept], [strides[:, :, a] for a in kept]
    if itemsize != unit or not extents:
        extents.append(np.full(shape[0], itemsize // unit))
        steps.append(np.full((2, shape[0]), unit))
    for axis in range(len(extents) - 2, -1, -1):
        if (steps[axis] == steps[axis + 1] * extents[axis + 1]).all():
            extents[axis + 1] = extents[axis] * extents[axis + 1]
            del extents[axis], steps[axis]
    return np.stack(extents, 1), np.stack(steps, 2), unit


@lru_cache(maxsize=1)
def _text() -> str:
    """Write the loop over boxes: of elements of a size, or of rows of bytes (0)."""
    body = Body()
    text = body.text
    with ExitStack() as stack:
        box = stack.enter_context(body.loop("0", "%boxes", "1"))
        row = text.set(f"getelementptr i64, ptr %a, i64 {text.set(f'mul i64 {box}, {2 + 3 * AXES}')}")
        columns = [text.load(_NUMBER, row, str(k)) for k in range(2 + 3 * AXES)]
        extents, steps = columns[2 : 2 + AXES], (columns[2 + AXES : 2 + 2 * AXES], columns[2 + 2 * AXES :])
        at = [text.set(f"inttoptr i64 {column} to ptr") for column in columns[:2]]
        for axis in range(AXES - 1):
            index = stack.enter_context(body.loop("0", extents[axis], "1"))
            at = _move_on(text, at, index, [side[axis] for side in steps])
        for size in (0, 1, 2, 4, 8):
            text.lines += [f"  %is{size} = icmp eq i64 %size, {size}"]
            text.lines += [f"  br i1 %is{size}, label %of{size}, label %not{size}", f"of{size}:"]
            if size:
                with body.loop("0", extents[-1], "1") as index:
                    source, target = _move_on(text, at, index, [side[-1] for side in steps])
                    value = text.set(f"load i{8 * size}, ptr {source}, align 1")
                    text.lines.append(f"  store i{8 * size} {value}, ptr {target}, align 1")
            else:
                text.lines.append(f"  call void @{_COPY}(ptr {at[1]}, ptr {at[0]}, i64 {extents[-1]}, i1 false)")
            text.lines += ["  br label %copied", f"not{size}:"]
        text.lines += ["  br label %copied", "copied:"]
    parameters = "ptr %a, ptr %scalars, ptr %out, i64 %boxes, i64 %size, i64 %x, i64 %y"
    return body.whole(f"define void @{ENTRY}({parameters}) {{") + f"declare void @{_COPY}(ptr, ptr, i64, i1)\n"


def _move_on(text: Text, at: list[str], index: str, strides: list[str]) -> list[str]:
    """Write the addresses of an element of a row on both sides."""
    moved = [text.set(f"mul i64 {index}, {stride}") for stride in strides]
    return [text.set(f"getelementptr i8, ptr {p}, i64 {by}") for p, by in zip(at, moved, strict=True)]
