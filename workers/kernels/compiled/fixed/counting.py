"""Compiled loops that count elements in bins, for functions of whole blocks.

They count what NumPy's do. Four tables take turns, so that elements of one bin don't wait for each other.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..llvm.kernel_cache import ENTRY, ready
from ..llvm.text import Body, NotCompilable, Text, kind, register

Array = np.ndarray[Any, Any]

TABLES = 4
RUN = 1 << 12
"""Elements whose places are found before they are counted."""
MOST = 1 << 13
"""With more bins the tables would leave the cache."""

_HEAD = (
    f"define void @{ENTRY}({{inputs}}ptr noalias readonly %scalars, ptr noalias %out, "
    "i64 %n, i64 %length, i64 %c, i64 %d) {{\n"
)


def count_below(x: Array, length: int) -> Array | None:
    """Return how often each number below a length occurs, and at last how many lie beyond; None without a kernel."""
    if x.dtype.kind not in "iu" or length > MOST:
        return None
    kernel = ready(_text(x.dtype, even=False), 1, 4 * x.size)
    if kernel is None:
        return None
    tables = np.zeros((TABLES, length + 1), np.int64)
    kernel(x.ctypes.data, tables.ctypes.data, tables.ctypes.data, x.size, length, 0, 0)
    total: Array = np.add.reduce(tables, axis=0)
    return total


def count_even_bins(x: Array, edges: Array, scale: float, doubt: float) -> Array | None:
    """Return how many elements each bin of nearly one width has; None without a kernel.

    The formula `(x - edges[0]) * scale` may be off by `doubt`, less than a quarter: the edges are looked at then.
    """
    length = len(edges) - 1
    if length > MOST or x.dtype.kind not in "iuf":
        return None
    try:
        text = _text(x.dtype, even=True) if x.dtype.kind in "iu" else _even_text(x.dtype)
    except NotCompilable:
        return None
    kernel = ready(text, 2, 10 * x.size)
    if kernel is None:
        return None
    borders = edges.astype(np.float64)
    scalars = np.array([borders[0], borders[-1], scale, doubt, 1 - doubt])
    tables = np.zeros((TABLES, length + 1), np.int64)
    kernel(x.ctypes.data, borders.ctypes.data, scalars.ctypes.data, tables.ctypes.data, x.size, length, 0, 0)
    total: Array = np.add.reduce(tables, axis=0)[:-1]
    return total


@lru_cache(maxsize=64)
def _text(dtype: np.dtype[Any], *, even: bool) -> str:
    """Write the loop: four elements a turn, then those that are left."""
    names = ["%x", "%edges"] if even else ["%x"]
    lines = [_HEAD.format(inputs="".join(f"ptr noalias readonly {name}, " for name in names)).rstrip(), "entry:"]
    lines += ["  %row = add i64 %length, 1", "  %top = sub i64 %length, 1", f"  %whole = and i64 %n, {-TABLES}"]
    lines += [f"  %base{u} = mul i64 %row, {u}" for u in range(TABLES)]
    if even:
        for number, name in enumerate(("first", "last", "scale")):
            lines.append(f"  %at.{name} = getelementptr inbounds double, ptr %scalars, i64 {number}")
            lines.append(f"  %{name} = load double, ptr %at.{name}, align 8")
    lines += ["  %some = icmp sgt i64 %whole, 0", "  br i1 %some, label %four, label %rest", "four:"]
    lines.append("  %i = phi i64 [ 0, %entry ], [ %next, %four ]")
    for u in range(TABLES):
        lines.append(f"  %j{u} = add i64 %i, {u}")
        lines += _count(dtype, f"%j{u}", f"%base{u}", str(u), even=even)
    lines += [f"  %next = add i64 %i, {TABLES}", "  %more = icmp slt i64 %next, %whole"]
    lines += ["  br i1 %more, label %four, label %rest", "rest:"]
    lines += ["  %left = icmp slt i64 %whole, %n", "  br i1 %left, label %one, label %done", "one:"]
    lines.append("  %r = phi i64 [ %whole, %rest ], [ %after, %one ]")
    lines += _count(dtype, "%r", "0", "r", even=even)
    lines += ["  %after = add i64 %r, 1", "  %again = icmp slt i64 %after, %n"]
    lines += ["  br i1 %again, label %one, label %done", "done:", "  ret void", "}", ""]
    return "\n".join(lines)


@lru_cache(maxsize=8)
def _even_text(dtype: np.dtype[Any]) -> str:
    """Write the loop for floats: places of a run at once, by several elements an instruction; then they are counted.

    Those that the formula leaves in doubt, few of most data, are noted as such, and compared with the edges.
    """
    body, t, double = Body(), register(dtype), np.dtype(np.float64)
    text, entry = body.text, body.entry
    for number, name in enumerate(("first", "last", "scale", "doubt", "sure")):
        entry.lines.append(f"  %at.{name} = getelementptr inbounds double, ptr %scalars, i64 {number}")
        entry.lines.append(f"  %{name} = load double, ptr %at.{name}, align 8")
    entry.lines += [f"  %places = alloca [{RUN} x i32], align 64", "  %beyond = trunc i64 %length to i32"]
    entry.lines += ["  %row = add i64 %length, 1", "  %top = sub i64 %length, 1"]
    with body.loop("0", "%n", str(RUN)) as run:
        count = body.least(text.set(f"sub i64 %n, {run}"), str(RUN))
        with body.loop("0", count, "1") as i:
            value = text.load(dtype, "%x", text.set(f"add nsw nuw i64 {run}, {i}"))
            wide = value if dtype == double else text.set(f"fpext {t} {value} to double")
            inside = text.set(
                f"and i1 {text.set(f'fcmp oge double {wide}, %first')}, {text.set(f'fcmp ole double {wide}, %last')}"
            )
            kept = text.set(f"select i1 {inside}, double {wide}, double %first")
            place = text.set(f"fmul double {text.set(f'fsub double {kept}, %first')}, %scale")
            bin_ = text.set(f"fptosi double {place} to i32")
            part = text.set(f"fsub double {place}, {text.set(f'sitofp i32 {bin_} to double')}")
            low, high = text.set(f"fcmp olt double {part}, %doubt"), text.set(f"fcmp ogt double {part}, %sure")
            noted = text.set(f"xor i32 {bin_}, -1")
            bin_ = text.set(f"select i1 {text.set(f'or i1 {low}, {high}')}, i32 {noted}, i32 {bin_}")
            bin_ = text.set(f"select i1 {inside}, i32 {bin_}, i32 %beyond")
            text.store(np.dtype(np.int32), bin_, "%places", i)
        with body.loop("0", count, "1") as i:
            table = text.set(f"mul i64 {text.set(f'and i64 {i}, {TABLES - 1}')}, %row")
            bin_ = text.load(np.dtype(np.int32), "%places", i)
            text.lines += [f"  %doubtful = icmp slt i32 {bin_}, 0", "  br i1 %doubtful, label %edge, label %plain"]
            text.lines.append("plain:")
            _add_one(text, text.set(f"sext i32 {bin_} to i64"), table)
            text.lines += ["  br label %counted", "edge:"]
            value = text.load(dtype, "%x", text.set(f"add nsw nuw i64 {run}, {i}"))
            wide = value if dtype == double else text.set(f"fpext {t} {value} to double")
            doubtful_bin = body.least(text.set(f"sext i32 {text.set(f'xor i32 {bin_}, -1')} to i64"), "%top")
            above = text.load(double, "%edges", text.set(f"add i64 {doubtful_bin}, 1"))
            less = text.set(f"fcmp olt double {wide}, {text.load(double, '%edges', doubtful_bin)}")
            more = text.set(f"fcmp oge double {wide}, {above}")
            more = text.set(f"and i1 {more}, {text.set(f'icmp ne i64 {doubtful_bin}, %top')}")
            down, up = (text.set(f"zext i1 {flag} to i64") for flag in (less, more))
            _add_one(text, text.set(f"add i64 {text.set(f'sub i64 {doubtful_bin}, {down}')}, {up}"), table)
            text.lines += ["  br label %counted", "counted:"]
    inputs = "ptr noalias readonly %x, ptr noalias readonly %edges, "
    return body.whole(_HEAD.format(inputs=inputs).rstrip())


def _add_one(text: Text, place: str, table: str) -> None:
    number = np.dtype(np.int64)
    index = text.set(f"add i64 {place}, {table}")
    text.store(number, text.set(f"add i64 {text.load(number, '%out', index)}, 1"), "%out", index)


def _count(dtype: np.dtype[Any], index: str, base: str, u: str, *, even: bool) -> list[str]:
    """Write what counts one element in the table that begins at `base`; registers' names end with `u`."""
    t = register(dtype)
    lines = [
        f"  %a{u} = getelementptr inbounds {t}, ptr %x, i64 {index}",
        f"  %v{u} = load {t}, ptr %a{u}, align {dtype.itemsize}",
    ]
    lines += _even_place(dtype, u) if even else _place(dtype, u)
    return [
        *lines,
        f"  %p{u} = select i1 %in{u}, i64 %k{u}, i64 %length",
        f"  %q{u} = add i64 %p{u}, {base}",
        f"  %o{u} = getelementptr inbounds i64, ptr %out, i64 %q{u}",
        f"  %g{u} = load i64, ptr %o{u}, align 8",
        f"  %h{u} = add i64 %g{u}, 1",
        f"  store i64 %h{u}, ptr %o{u}, align 8",
    ]


def _place(dtype: np.dtype[Any], u: str) -> list[str]:
    """Write the place of a number: itself. What is negative is large without its sign."""
    wide = "or i64 0," if dtype.itemsize == 8 else f"{'sext' if dtype.kind == 'i' else 'zext'} {register(dtype)}"
    to = "" if dtype.itemsize == 8 else " to i64"
    return [f"  %k{u} = {wide} %v{u}{to}", f"  %in{u} = icmp ult i64 %k{u}, %length"]


def _even_place(dtype: np.dtype[Any], u: str) -> list[str]:
    """Write the place in bins of one width: by the formula, then one down or up where the edges say so."""
    t = register(dtype)
    wide = {"i": f"sitofp {t}", "u": f"uitofp {t}", "f": f"fpext {t}"}[kind(dtype)]
    convert = f"select i1 true, double %v{u}, double 0.0" if t == "double" else f"{wide} %v{u} to double"
    return [
        f"  %f{u} = {convert}",
        f"  %above{u} = fcmp oge double %f{u}, %first",
        f"  %below{u} = fcmp ole double %f{u}, %last",
        f"  %in{u} = and i1 %above{u}, %below{u}",
        f"  %s{u} = select i1 %in{u}, double %f{u}, double %first",
        f"  %m{u} = fsub double %s{u}, %first",
        f"  %y{u} = fmul double %m{u}, %scale",
        f"  %z{u} = fptosi double %y{u} to i64",
        f"  %c{u} = icmp slt i64 %z{u}, %top",
        f"  %t{u} = select i1 %c{u}, i64 %z{u}, i64 %top",
        f"  %l{u} = getelementptr inbounds double, ptr %edges, i64 %t{u}",
        f"  %le{u} = load double, ptr %l{u}, align 8",
        f"  %t1{u} = add i64 %t{u}, 1",
        f"  %r{u}p = getelementptr inbounds double, ptr %edges, i64 %t1{u}",
        f"  %re{u} = load double, ptr %r{u}p, align 8",
        f"  %lo{u} = fcmp olt double %s{u}, %le{u}",
        f"  %up{u} = fcmp oge double %s{u}, %re{u}",
        f"  %nt{u} = icmp ne i64 %t{u}, %top",
        f"  %hi{u} = and i1 %up{u}, %nt{u}",
        f"  %d{u} = zext i1 %lo{u} to i64",
        f"  %e{u} = zext i1 %hi{u} to i64",
        f"  %kd{u} = sub i64 %t{u}, %d{u}",
        f"  %k{u} = add i64 %kd{u}, %e{u}",
    ]
