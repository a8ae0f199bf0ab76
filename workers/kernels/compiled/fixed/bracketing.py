"""Compiled loops that look at which side of a few borders elements lie, for selecting by rank, all in one pass.

A border is one of two kinds: equal elements lie after it, or before it. Each kind has a fixed number of places, so that
few kernels are made; those of no border count for nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...buffers import ARGUMENTS
from ..llvm.kernel_cache import ready
from ..llvm.text import Text, register
from .dealing import write_loop

Array = np.ndarray[Any, Any]

PLACES = (4, 8)
"""Borders of each kind that a kernel takes."""

TURNS = 2
"""So many turns of a loop are begun together: each has a register for every border."""

ROOM = -9
"""The number of the scratch memory for marks."""


def count_below(x: Array, values: Array, after: Array) -> Array | None:
    """Return how many elements lie before each border, which has equal ones before it where `after` holds."""
    borders = _take(x, values, after)
    run = borders and ready(_counting(x.dtype, len(borders[0]) // 2), 1, 2 * len(values) * x.size)
    if not borders or not run:
        return None
    counts = np.zeros(len(borders[0]), np.int64)
    run(*(a.ctypes.data for a in (x, borders[0], counts)), len(x), 0, 0, 0)
    return counts[borders[1]]


def mark_inside(x: Array, values: Array, after: Array, chosen: Array) -> Array | None:
    """Tell which elements lie in chosen parts, of those that end at borders; NaN lies in none."""
    borders = _take(x, values, after)
    run = borders and ready(_marking(x.dtype, len(borders[0]) // 2), 2, 5 * len(chosen) * x.size)
    if not borders or not run:
        return None
    weights = np.zeros(len(borders[0]), f"i{x.dtype.itemsize}")
    weights[borders[1]] = 1
    marks = ARGUMENTS.lend(ROOM, x.shape, np.dtype(bool))
    parts = sum(1 << int(part) for part in chosen)
    run(*(a.ctypes.data for a in (x, borders[0], weights, marks)), len(x), parts, 0, 0)
    return marks


def _take(x: Array, values: Array, after: Array) -> tuple[Array, Array] | None:
    """Return borders in their places, and where each one is; None where there is no kernel for them."""
    most = max(np.count_nonzero(after), np.count_nonzero(~after))
    plain = x.dtype.kind in "iuf" and x.dtype.itemsize in (4, 8) and x.dtype.isnative and x.dtype == values.dtype
    if not plain or not 0 < most <= PLACES[-1] or not x.flags.c_contiguous or not x.flags.aligned:
        return None
    places = next(n for n in PLACES if most <= n)
    at = np.where(after, places + np.cumsum(after), np.cumsum(~after)) - 1
    borders = np.repeat(values[:1], 2 * places)
    borders[at] = values
    return borders, at


@lru_cache(maxsize=32)
def _counting(dtype: np.dtype[Any], places: int) -> str:
    """Write the loop that counts elements before each border."""
    number, body = np.dtype(np.int64), Text()
    value = body.load(dtype, "%x", "%i")
    for place in range(2 * places):
        compare = _compare(dtype, "lt" if place < places else "le")
        before = body.set(f"{compare} {register(dtype)} {value}, {body.load(dtype, '%scalars', str(place))}")
        count = body.set(f"add i64 {body.load(number, '%out', str(place))}, {body.set(f'zext i1 {before} to i64')}")
        body.store(number, count, "%out", str(place))
    return write_loop(("%x",), [], body.lines, TURNS)


@lru_cache(maxsize=32)
def _marking(dtype: np.dtype[Any], places: int) -> str:
    """Write the loop that finds each element's part, by the borders before it, and looks it up in bits."""
    width, body = np.dtype(f"i{dtype.itemsize}"), Text()
    t, w = register(dtype), register(width)
    value, part = body.load(dtype, "%x", "%i"), "0"
    for place in range(2 * places):
        compare = _compare(dtype, "ge" if place < places else "gt")
        passed = body.set(f"{compare} {t} {value}, {body.load(dtype, '%borders', str(place))}")
        weight = body.set(f"select i1 {passed}, {w} {body.load(width, '%scalars', str(place))}, {w} 0")
        part = body.set(f"add {w} {part}, {weight}")
    chosen = body.set(f"trunc {w} {body.set(f'lshr {w} %parts, {part}')} to i1")
    if dtype.kind == "f":
        chosen = body.set(f"and i1 {chosen}, {body.set(f'fcmp ord {t} {value}, {value}')}")
    body.store(np.dtype(bool), chosen, "%out", "%i")
    parts = "or i64 0, %b" if w == "i64" else f"trunc i64 %b to {w}"
    return write_loop(("%x", "%borders"), [f"  %parts = {parts}"], body.lines, TURNS)


def _compare(dtype: np.dtype[Any], how: str) -> str:
    """Return the instruction that compares so; nothing compares with NaN."""
    return {"f": "fcmp o", "i": "icmp s", "u": "icmp u"}[dtype.kind] + how
