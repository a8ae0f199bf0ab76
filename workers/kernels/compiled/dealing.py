"""Compiled loops that deal elements into buckets between splitters, in their order, for sorting.

A table of equal cells between the first splitter and the last tells at which one to begin to look, and the splitters
from there on are searched. First the bucket of each element is noted and counted, then elements go to their places.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .counting import ready
from .fused import ENTRY
from .text import Text, Untaken, kind, register

Array = np.ndarray[Any, Any]

BUCKETS = 256
CELLS = 1 << 11
TABLES = 4
"""Elements are counted in tables by turns, so that those of one bucket don't wait for each other."""

STEPS = (2, 4, 8)
"""So many halvings find a bucket among those that begin in a cell; the least that do are taken."""

WORK = 20
"""An element's work, as NumPy's sort has it."""


def dealt(x: Array, splitters: Array, out: Array) -> Array | None:
    """Fill `out` with the elements, bucket by bucket; return how many each has; None without a kernel.

    An element's bucket is the number of splitters that aren't greater than it; NaN goes into the last.
    """
    if not out.flags.c_contiguous or not out.flags.aligned or x.dtype != out.dtype or not 1 < len(splitters) < BUCKETS:
        return None
    found = _table(splitters)
    if found is None:
        return None
    first, scalars, steps = found
    try:
        texts = _text(x.dtype, steps), _placing(x.dtype)
    except Untaken:
        return None
    find, place = (ready(text, 3, WORK * x.size // 2) for text in texts)
    if find is None or place is None:
        return None
    x = np.require(x, requirements=["C", "A"])
    edges = np.concatenate([splitters, np.repeat(splitters[-1:], 2 * BUCKETS - len(splitters))])
    tables, buckets = np.zeros((TABLES, BUCKETS), np.int64), np.empty(len(x), np.uint8)
    find(*_addresses(x, edges, first, scalars, tables), len(x), buckets.ctypes.data, len(splitters), 0)
    counts: Array = tables.sum(0)
    ends = np.cumsum(counts)
    at = ends - counts
    place(*_addresses(x, buckets, at, at, out), len(x), 0, 0, 0)
    return counts[: len(splitters) + 1]


def _addresses(*arrays: Array) -> list[int]:
    return [a.ctypes.data for a in arrays]


def _table(splitters: Array) -> tuple[Array, Array, int] | None:
    """Return for each cell the splitters before it, what tells an element's cell, and the steps to search."""
    values = splitters.astype(np.float64)
    with np.errstate(all="ignore"):
        scale = CELLS / (values[-1] - values[0])
        if not 0 < scale < np.inf:
            return None
        cells = np.clip((values - values[0]) * scale, 0, CELLS - 1).astype(np.int64)
    first = np.searchsorted(cells, np.arange(CELLS))
    most = int(np.bincount(cells).max())
    return first, np.array([values[0], scale]), next(s for s in STEPS if most < 1 << s)


@lru_cache(maxsize=64)
def _text(dtype: np.dtype[Any], steps: int) -> str:
    """Write the loop that finds buckets and counts them."""
    t, k, body = register(dtype), kind(dtype), Text()
    double, number = np.dtype(np.float64), np.dtype(np.int64)
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
    bucket = body.load(number, "%first", body.set(f"fptosi double {cell} to i64"))
    compare = {"i": "icmp sge", "u": "icmp uge", "f": "fcmp uge"}[k]
    for step in reversed(range(steps)):
        edge = body.load(dtype, "%edges", body.set(f"add i64 {bucket}, {(1 << step) - 1}"))
        over = body.set(f"zext i1 {body.set(f'{compare} {t} {value}, {edge}')} to i64")
        bucket = body.set(f"add i64 {bucket}, {body.set(f'shl i64 {over}, {step}')}")
    bucket = body.set(f"select i1 {body.set(f'icmp slt i64 {bucket}, %last')}, i64 {bucket}, i64 %last")
    at = body.set(f"getelementptr inbounds i8, ptr %buckets, i64 {'%i'}")
    body.lines.append(f"  store i8 {body.set(f'trunc i64 {bucket} to i8')}, ptr {at}, align 1")
    row = body.set(f"mul i64 {body.set(f'and i64 %i, {TABLES - 1}')}, {BUCKETS}")
    place = body.set(f"add i64 {row}, {bucket}")
    body.store(number, body.set(f"add i64 {body.load(number, '%out', place)}, 1"), "%out", place)
    head = "ptr noalias readonly %x, ptr noalias readonly %edges, ptr noalias readonly %first"
    tail = "ptr noalias readonly %scalars, ptr noalias %out, i64 %n, i64 %there, i64 %last, i64 %d"
    start = [*before, "  %buckets = inttoptr i64 %there to ptr"]
    return _looped(f"define void @{ENTRY}({head}, {tail}) {{", start, body.lines)


@lru_cache(maxsize=64)
def _placing(dtype: np.dtype[Any]) -> str:
    """Write the loop that puts elements, by their bits, where their buckets have come to."""
    bits, number, body = np.dtype(f"u{dtype.itemsize}"), np.dtype(np.int64), Text()
    if kind(dtype) == "b":
        raise Untaken("truth values")
    bucket = body.set(f"zext i8 {body.load(np.dtype(np.uint8), '%buckets', '%i')} to i64")
    place = body.load(number, "%at", bucket)
    body.store(bits, body.load(bits, "%x", "%i"), "%out", place)
    body.store(number, body.set(f"add i64 {place}, 1"), "%at", bucket)
    head = "ptr noalias readonly %x, ptr noalias readonly %buckets, ptr noalias %at, ptr %scalars, ptr noalias %out"
    return _looped(f"define void @{ENTRY}({head}, i64 %n, i64 %b, i64 %c, i64 %d) {{", [], body.lines)


def _looped(head: str, start: list[str], body: list[str]) -> str:
    """Write a function of one loop over %i."""
    lines = [head, "entry:", *start, "  %some = icmp sgt i64 %n, 0", "  br i1 %some, label %loop, label %done", "loop:"]
    lines += ["  %i = phi i64 [ 0, %entry ], [ %next, %loop ]", *body, "  %next = add i64 %i, 1"]
    lines += ["  %more = icmp slt i64 %next, %n", "  br i1 %more, label %loop, label %done", "done:", "  ret void", "}"]
    return "\n".join([*lines, ""])
