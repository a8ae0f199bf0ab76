"""Compiled loops that give rows to the nearest of some centres, and add them up by centre.

They give the bits of what stands for them until they are there (ml/estimators/lloyd.py): comparisons, and
additions row after row.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...buffers import Buffers
from ..llvm.kernel_cache import ENTRY, ready
from ..llvm.text import Body, DType, cast, register

Array = np.ndarray[Any, Any]

SPAN = 1024
"""So many rows are compared with one centre after the other: what is least so far stays in the nearest cache."""
_DOUBLE, _LABEL = np.dtype(np.float64), np.dtype(np.int32)
_least = Buffers(1 << 20)


def find_least(lines: Array, labels: Array) -> bool:
    """Write the number of the line that is least at each place, the first of several; tell whether there was a kernel.

    Lines (k, n) have no NaN, in C order, float32 or float64; labels (n,) are int32.
    """
    count, length = lines.shape
    run = ready(_finding(lines.dtype), 1, 2 * lines.size) if _is_plain(lines) else None
    if run is None:
        return False
    least = _least.lend("least", (length,), lines.dtype)
    run(*_addresses(lines, least, labels), length, count, 0, 0)
    return True


def add_by_label(rows: Array, labels: Array, weights: Array | None, out: Array) -> bool:
    """Add rows, times their weights, to lines of `out`, and weights to its last column, in the order of rows.

    Rows (n, d) are float32 or float64, their lines int32, weights and `out` (lines, d + 1) float64, all in C order.
    Tell whether there was a kernel; else nothing was added.
    """
    plain = _is_plain(rows) and (weights is None or _is_plain(weights))
    weighted = weights is not None
    run = ready(_adding(rows.dtype, weighted), 2 + weighted, 2 * rows.size) if plain else None
    if run is None:
        return False
    inputs = (rows, labels) if weights is None else (rows, labels, weights)
    run(*_addresses(*inputs, labels, out), *rows.shape, 0, 0)
    return True


def _is_plain(x: Array) -> bool:
    plain = x.dtype.kind == "f" and x.dtype.itemsize in (4, 8) and x.dtype.isnative
    return plain and x.flags.c_contiguous and x.flags.aligned and x.size > 0


def _addresses(*arrays: Array) -> list[int]:
    return [x.__array_interface__["data"][0] for x in arrays]


@lru_cache(maxsize=2)
def _finding(dtype: DType) -> str:
    body = Body()
    text, t = body.text, register(dtype)
    with body.loop("0", "%n", str(SPAN)) as begin:
        end = body.least(text.set(f"add nsw nuw i64 {begin}, {SPAN}"), "%n")
        with body.loop(begin, end, "1") as i:
            text.store(dtype, text.load(dtype, "%lines", i), "%least", i)
            text.store(_LABEL, "0", "%labels", i)
        with body.loop("1", "%count", "1") as line:
            first = text.set(f"mul i64 {line}, %n")
            number = text.set(f"trunc i64 {line} to i32")
            with body.loop(begin, end, "1") as i:
                value = text.load(dtype, "%lines", text.set(f"add nsw nuw i64 {first}, {i}"))
                old = text.load(dtype, "%least", i)
                less = text.set(f"fcmp olt {t} {value}, {old}")
                label = text.load(_LABEL, "%labels", i)
                text.store(dtype, text.set(f"select i1 {less}, {t} {value}, {t} {old}"), "%least", i)
                text.store(_LABEL, text.set(f"select i1 {less}, i32 {number}, i32 {label}"), "%labels", i)
    pointers = "ptr noalias readonly %lines, ptr noalias %least, ptr noalias %labels"
    return body.whole(f"define void @{ENTRY}({pointers}, i64 %n, i64 %count, i64 %none, i64 %other) {{")


@lru_cache(maxsize=4)
def _adding(dtype: DType, weighted: bool) -> str:
    body = Body()
    text = body.text

    def add(value: str, at: str) -> None:
        text.store(_DOUBLE, text.set(f"fadd double {text.load(_DOUBLE, '%out', at)}, {value}"), "%out", at)

    length = body.entry.set("add i64 %width, 1")
    with body.loop("0", "%n", "1") as row:
        label = text.set(f"sext i32 {text.load(_LABEL, '%labels', row)} to i64")
        line = text.set(f"mul i64 {label}, {length}")
        first = text.set(f"mul i64 {row}, %width")
        weight = text.load(_DOUBLE, "%weights", row) if weighted else "1.0"
        with body.loop("0", "%width", "1", together=1) as i:
            value = text.load(dtype, "%rows", text.set(f"add nsw nuw i64 {first}, {i}"))
            value = cast(text, value, dtype, _DOUBLE)
            value = text.set(f"fmul double {weight}, {value}") if weighted else value
            add(value, text.set(f"add nsw nuw i64 {line}, {i}"))
        add(weight, text.set(f"add nsw nuw i64 {line}, %width"))
    inputs = ["%rows", "%labels", *(["%weights"] if weighted else [])]
    pointers = ", ".join([*(f"ptr noalias readonly {p}" for p in inputs), "ptr readonly %none", "ptr noalias %out"])
    return body.whole(f"define void @{ENTRY}({pointers}, i64 %n, i64 %width, i64 %other, i64 %last) {{")
