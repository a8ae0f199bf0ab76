"""Compiled loops that deal elements into buckets between splitters, in their order, for sorting.

A table of equal cells between the first splitter and the last tells at which one to begin to look, and the splitters
from there on are searched. First the bucket of each element is noted, and nothing else, so that LLVM can take several
elements at once; then buckets are counted, and elements go to their places.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...buffers import ARGUMENTS
from ..llvm.kernel_cache import ENTRY, ready
from ..llvm.text import NotCompilable, Text, kind, register

Array = np.ndarray[Any, Any]

BUCKETS = 256
CELLS = 1 << 11
TABLES = 4
"""Elements are counted in tables by turns, so that those of one bucket don't wait for each other."""

TURNS = 4
"""So many turns of a loop are begun together: LLVM's code for a comparison lets one turn wait for the one before."""

STEPS = (1, 2, 4, 8)
"""So many halvings find a bucket among those that begin in a cell; the least that do are taken."""

AHEAD = 128
"""Bytes behind its place that are asked for when an element is written: buckets are too many to be foreseen."""

ROOM = -1
"""The number of the scratch memory in which buckets are noted."""

WORK = 20
"""An element's work, as NumPy's sort has it."""


def deal_numbers(x: Array, splitters: Array, total: int, out: Array) -> Array | None:
    """Fill `out` with the elements, bucket by bucket; return how many each has; None without a kernel.

    An element's bucket is the number of splitters that aren't greater than it; NaN goes into the last. A kernel is made
    at once where the whole array, of so many elements, is worth it.
    """
    if not out.flags.c_contiguous or not out.flags.aligned or x.dtype != out.dtype:
        return None
    try:
        texts = _counting(), _placing(x.dtype)
    except NotCompilable:
        return None
    x = np.require(x, requirements=["C", "A"])
    buckets = find_buckets(x, splitters, total)
    count, place = (ready(text, 3, WORK * x.size, WORK * (total - x.size)) for text in texts)
    if buckets is None or count is None or place is None:
        return None
    tables = np.zeros((TABLES, BUCKETS), np.int64)
    count(*_addresses(buckets, buckets, buckets, buckets, tables), len(x), 0, 0, 0)
    counts: Array = tables.sum(0)
    at = np.cumsum(counts) - counts
    place(*_addresses(x, buckets, at, at, out), len(x), 0, 0, 0)
    return counts[: len(splitters) + 1]


def find_buckets(x: Array, splitters: Array, total: int) -> Array | None:
    """Return the bucket of each element, in scratch memory; as `deal_numbers`."""
    table = _table(splitters.tobytes(), splitters.dtype) if 1 < len(splitters) < BUCKETS else None
    if table is None:
        return None
    edges, first, scalars, steps = table
    try:
        find = ready(_finding(x.dtype, steps), 3, WORK * x.size, WORK * (total - x.size))
    except NotCompilable:
        return None
    if find is None:
        return None
    x = np.require(x, requirements=["C", "A"])
    buckets = ARGUMENTS.lend(ROOM, x.shape, np.dtype(np.uint8))
    find(*_addresses(x, edges, first, scalars, buckets), len(x), len(splitters), 0, 0)
    return buckets


def _addresses(*arrays: Array) -> list[int]:
    return [a.ctypes.data for a in arrays]


@lru_cache(maxsize=8)
def _table(told: bytes, dtype: np.dtype[Any]) -> tuple[Array, Array, Array, int] | None:
    """Return splitters with room behind them, for each cell those before it, what tells a cell, the steps to search.

    It is the same for all blocks of an array.
    """
    splitters = np.frombuffer(told, dtype)
    edges = np.concatenate([splitters, np.repeat(splitters[-1:], 2 * BUCKETS - len(splitters))])
    values = splitters.astype(np.float64)
    with np.errstate(all="ignore"):
        scale = CELLS / (values[-1] - values[0])
        if not 0 < scale < np.inf:
            return None
        cells = np.clip((values - values[0]) * scale, 0, CELLS - 1).astype(np.int64)
    cell_counts = np.bincount(cells, minlength=CELLS)
    first, most = (np.cumsum(cell_counts) - cell_counts).astype(np.int32), int(cell_counts.max())
    return edges, first, np.array([values[0], scale]), next(s for s in STEPS if most < 1 << s)


@lru_cache(maxsize=64)
def _finding(dtype: np.dtype[Any], steps: int) -> str:
    """Write the loop that notes the bucket of each element."""
    t, k, body = register(dtype), kind(dtype), Text()
    double = np.dtype(np.float64)
    lo, scale = body.load(double, "%scalars", "0"), body.load(double, "%scalars", "1")
    before, body.lines = body.lines, []
    value = body.load(dtype, "%x", "%i")
    wide = value
    if t != "double":
        wide = body.set(f"{ {'i': 'sitofp', 'u': 'uitofp', 'f': 'fpext'}[k] } {t} {value} to double")
    cell = body.set(f"fmul double {body.set(f'fsub double {wide}, {lo}')}, {scale}")
    top = f"{float(CELLS - 1):.1f}"
    cell = body.set(f"select i1 {body.set(f'fcmp olt double {cell}, {top}')}, double {cell}, double {top}")
    cell = body.set(f"select i1 {body.set(f'fcmp olt double {cell}, 0.0')}, double 0.0, double {cell}")
    place = body.set(f"sext i32 {body.set(f'fptosi double {cell} to i32')} to i64")
    bucket = body.load(np.dtype(np.int32), "%first", place)
    compare = {"i": "icmp sge", "u": "icmp uge", "f": "fcmp uge"}[k]
    for step in reversed(range(steps)):
        place = body.set(f"sext i32 {body.set(f'add nsw nuw i32 {bucket}, {(1 << step) - 1}')} to i64")
        edge = body.load(dtype, "%edges", place)
        over = body.set(f"zext i1 {body.set(f'{compare} {t} {value}, {edge}')} to i32")
        bucket = body.set(f"add nsw nuw i32 {bucket}, {body.set(f'shl i32 {over}, {step}')}")
    bucket = body.set(f"select i1 {body.set(f'icmp slt i32 {bucket}, %last')}, i32 {bucket}, i32 %last")
    body.store(np.dtype(np.uint8), body.set(f"trunc i32 {bucket} to i8"), "%out", "%i")
    return write_loop(("%x", "%edges", "%first"), [*before, "  %last = trunc i64 %b to i32"], body.lines)


@lru_cache(maxsize=1)
def _counting() -> str:
    """Write the loop that counts elements by their bucket."""
    body, number = Text(), np.dtype(np.int64)
    bucket = body.set(f"zext i8 {body.load(np.dtype(np.uint8), '%buckets', '%i')} to i64")
    table = body.set(f"mul i64 {body.set(f'and i64 %i, {TABLES - 1}')}, {BUCKETS}")
    place = body.set(f"add i64 {table}, {bucket}")
    body.store(number, body.set(f"add i64 {body.load(number, '%out', place)}, 1"), "%out", place)
    return write_loop(("%buckets", "%y", "%z"), [], body.lines)


@lru_cache(maxsize=64)
def _placing(dtype: np.dtype[Any]) -> str:
    """Write the loop that puts elements, by their bits, where their buckets have come to."""
    bits, number, body = np.dtype(f"u{dtype.itemsize}"), np.dtype(np.int64), Text()
    bucket = body.set(f"zext i8 {body.load(np.dtype(np.uint8), '%buckets', '%i')} to i64")
    place = body.load(number, "%at", bucket)
    soon = body.set(f"add i64 {place}, {AHEAD // dtype.itemsize}")
    soon = body.set(f"getelementptr {register(bits)}, ptr %out, i64 {soon}")
    body.lines.append(f"  call void @llvm.prefetch.p0(ptr {soon}, i32 1, i32 3, i32 1)")
    body.store(bits, body.load(bits, "%x", "%i"), "%out", place)
    body.store(number, body.set(f"add i64 {place}, 1"), "%at", bucket)
    return (
        write_loop(("%x", "%buckets", "%at"), [], body.lines) + "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"
    )


def write_loop(inputs: tuple[str, ...], start: list[str], body: list[str], turns: int = TURNS) -> str:
    """Write a function of one loop over %i."""
    pointers = ", ".join(f"ptr noalias {name}" for name in (*inputs, "%scalars", "%out"))
    lines = [f"define void @{ENTRY}({pointers}, i64 %n, i64 %b, i64 %c, i64 %d) {{", "entry:", *start]
    lines += ["  %some = icmp sgt i64 %n, 0", "  br i1 %some, label %loop, label %done", "loop:"]
    lines += ["  %i = phi i64 [ 0, %entry ], [ %next, %loop ]", *body, "  %next = add i64 %i, 1"]
    lines += ["  %more = icmp slt i64 %next, %n", "  br i1 %more, label %loop, label %done, !llvm.loop !0", "done:"]
    return "\n".join(
        [
            *lines,
            "  ret void",
            "}",
            "!0 = distinct !{!0, !1}",
            f'!1 = !{{!"llvm.loop.interleave.count", i32 {turns}}}',
            "",
        ]
    )
