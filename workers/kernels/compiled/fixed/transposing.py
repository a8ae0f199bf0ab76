"""Tiles that are read across their rows, brought to C order by squares of eight by eight elements.

Those of 4 and 8 bytes are exchanged in registers; of 16 bytes, as complex numbers have them, a vector holds one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..llvm.kernel_cache import ENTRY, ready
from ..llvm.text import Body, Text

Array = np.ndarray[Any, Any]
COLUMNS = 500
EDGE = 8
STRIP = 32
"""Rows that are brought to order together: their pages and lines are at hand until the next squares beside them."""
WORK = 4
"""An element's work, in loops of NumPy's over elements that lie side by side."""
PAGE = 1 << 12
"""Columns that lie such distances apart share few lines of a cache, and take NumPy much longer."""


def copy_tile(out: Array, part: Array) -> None:
    """Bring a tile to C order; one that is read across its rows by squares, or else in strips, which stay in cache."""
    columns = part.shape[-1]
    if part.ndim > 1 and abs(part.strides[-1]) > abs(part.strides[-2]):
        if _transpose(out, part):
            return
        for begin in range(0, columns, COLUMNS):
            np.copyto(out[..., begin : begin + COLUMNS], part[..., begin : begin + COLUMNS])
    else:
        np.copyto(out, part)


def _transpose(out: Array, part: Array) -> bool:
    """Copy a matrix whose columns lie in one piece each by a compiled loop; tell whether there was one."""
    rows, columns = part.shape[-2:]
    size = part.dtype.itemsize
    plain = size in (4, 8, 16) and part.dtype == out.dtype and not part.dtype.hasobject and out.flags.c_contiguous
    if not plain or part.size != rows * columns or part.strides[-2] != size or min(rows, columns) < EDGE:
        return False
    work = WORK * part.size * (4 if part.strides[-1] % PAGE == 0 else 1)
    function = ready(turning_text(size), 1, work) if part.flags.aligned else None
    if function is None:
        return False
    at, to = (a.__array_interface__["data"][0] for a in (part, out))
    function(at, to, to, rows, columns, part.strides[-1], 0)
    return True


@lru_cache(maxsize=3)
def turning_text(size: int) -> str:
    """Write the loop over squares, column by column of the source, and the elements at the edges."""
    body = Body()
    text = body.text
    whole_rows, whole_columns = (text.set(f"and i64 {name}, {-EDGE}") for name in ("%rows", "%columns"))
    with (
        body.loop("0", whole_rows, str(STRIP)) as begin,
        body.loop("0", whole_columns, str(EDGE)) as j,
        body.loop(begin, body.least(text.set(f"add i64 {begin}, {STRIP}"), whole_rows), str(EDGE)) as i,
    ):
        _write_square(text, size, i, j)
    with body.loop("0", whole_columns, str(EDGE)) as j, body.loop(whole_rows, "%rows", "1") as i:
        for k in range(EDGE):
            _write_one(text, size, i, text.set(f"add nsw nuw i64 {j}, {k}"))
    with body.loop(whole_columns, "%columns", "1") as j, body.loop("0", "%rows", "1") as i:
        _write_one(text, size, i, j)
    pointers = "ptr noalias readonly %a, ptr readnone %scalars, ptr noalias %out"
    return body.whole(f"define void @{ENTRY}({pointers}, i64 %rows, i64 %columns, i64 %stride, i64 %none) {{")


def _source(text: Text, size: int, i: str, j: str) -> str:
    """Write the address of row i in column j of the source, whose columns are so many bytes apart."""
    at = text.set(f"add i64 {text.set(f'mul i64 {j}, %stride')}, {text.set(f'mul i64 {i}, {size}')}")
    return text.set(f"getelementptr inbounds i8, ptr %a, i64 {at}")


def _target(text: Text, size: int, i: str, j: str) -> str:
    at = text.set(f"add i64 {text.set(f'mul i64 {i}, %columns')}, {j}")
    return text.set(f"getelementptr inbounds {_element(size)}, ptr %out, i64 {at}")


def _element(size: int) -> str:
    return f"i{8 * size}" if size <= 8 else "<2 x i64>"


def _write_one(text: Text, size: int, i: str, j: str) -> None:
    t, align = _element(size), min(size, 8)
    value = text.set(f"load {t}, ptr {_source(text, size, i, j)}, align {align}")
    text.lines.append(f"  store {t} {value}, ptr {_target(text, size, i, j)}, align {align}")


def _write_square(text: Text, size: int, i: str, j: str) -> None:
    """Write a square: its columns are loaded, exchanged in pairs four, two and one apart, and stored as rows."""
    if size > 8:
        for k in range(EDGE * EDGE):
            row = text.set(f"add nsw nuw i64 {i}, {k // EDGE}")
            _write_one(text, size, row, text.set(f"add nsw nuw i64 {j}, {k % EDGE}"))
        return
    vector = f"<{EDGE} x i{8 * size}>"
    held = []
    for k in range(EDGE):
        at = _source(text, size, i, text.set(f"add nsw nuw i64 {j}, {k}"))
        held.append(text.set(f"load {vector}, ptr {at}, align {size}"))
    step = EDGE // 2
    while step:
        for k in range(EDGE):
            if not k & step:
                a, b = held[k], held[k + step]
                first = [EDGE + lane - step if lane & step else lane for lane in range(EDGE)]
                second = [EDGE + lane if lane & step else lane + step for lane in range(EDGE)]
                held[k], held[k + step] = (_shuffle(text, vector, a, b, mask) for mask in (first, second))
        step //= 2
    for k in range(EDGE):
        to = _target(text, size, text.set(f"add nsw nuw i64 {i}, {k}"), j)
        text.lines.append(f"  store {vector} {held[k]}, ptr {to}, align {size}")


def _shuffle(text: Text, vector: str, a: str, b: str, mask: list[int]) -> str:
    lanes = ", ".join(f"i32 {lane}" for lane in mask)
    return text.set(f"shufflevector {vector} {a}, {vector} {b}, <{EDGE} x i32> <{lanes}>")
