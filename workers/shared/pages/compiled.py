"""Loops over very many positions, compiled by LLVM: gather, check, and add between two positions.

Memory is fetched some positions ahead: a gather from a large array waits for nothing but memory. Each loop gives what
NumPy's functions give; these do the work for few positions, and without llvmlite.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.compiled.llvm.machine_code import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Array = np.ndarray[Any, Any]
MANY = 1 << 15
"""Positions from which on loops are compiled."""
_AHEAD = 24
_TYPES = {"i4": "i32", "u4": "i32", "i8": "i64", "u8": "i64", "f4": "float", "f8": "double"}

_LOOP = """
define i64 @{name}({given}) {{
entry:
  %taken = sub i64 %end, %begin
  %skip = sub i64 %width, %taken
  %fit = sdiv i64 {ahead}, %taken
  %none = icmp slt i64 %fit, 1
  %rowsahead = select i1 %none, i64 1, i64 %fit
  %distance = mul i64 %rowsahead, %width
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %k = phi i64 [%begin, %entry], [%next, %latch]
  %r = phi i64 [0, %entry], [%nextr, %latch]
  %c = phi i64 [%begin, %entry], [%nextc, %latch]
  %soon = add i64 %k, %distance
  %isin = icmp slt i64 %soon, %n
  %later = select i1 %isin, i64 %soon, i64 %k
  %lp = getelementptr {index}, ptr %places, i64 %later
  %lraw = load {index}, ptr %lp
  %lplace = {widen} {index} %lraw to i64
  %pp = getelementptr {index}, ptr %places, i64 %k
  %raw = load {index}, ptr %pp
  %place = {widen} {index} %raw to i64
{body}
latch:
  %k1 = add i64 %k, 1
  %c1 = add i64 %c, 1
  %turn = icmp eq i64 %c1, %end
  %r1 = add i64 %r, 1
  %ahead = add i64 %k1, %skip
  %next = select i1 %turn, i64 %ahead, i64 %k1
  %nextr = select i1 %turn, i64 %r1, i64 %r
  %nextc = select i1 %turn, i64 %begin, i64 %c1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i64 -1
}}
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
"""
_GATHER = """
  %later_at = getelementptr {type}, ptr %array, i64 %lplace
  call void @llvm.prefetch.p0(ptr %later_at, i32 0, i32 1, i32 1)
  %at = getelementptr {type}, ptr %array, i64 %place
  %v = load {type}, ptr %at
  %op = getelementptr {type}, ptr %out, i64 %k
  store {type} %v, ptr %op
  br label %latch
"""
_ADD = """
  %above = icmp sge i64 %place, %low
  %below = icmp slt i64 %place, %high
  %mine = and i1 %above, %below
  %labove = icmp sge i64 %lplace, %low
  %lbelow = icmp slt i64 %lplace, %high
  %lmine = and i1 %labove, %lbelow
  %fetched = select i1 %lmine, i64 %lplace, i64 %low
  %later_at = getelementptr {type}, ptr %array, i64 %fetched
  call void @llvm.prefetch.p0(ptr %later_at, i32 1, i32 1, i32 1)
  br i1 %mine, label %adds, label %latch
adds:
  %vr = mul i64 %r, %rows
  %vc = mul i64 %c, %columns
  %vk = add i64 %vr, %vc
  %vp = getelementptr {type}, ptr %values, i64 %vk
  %v = load {type}, ptr %vp
  %at = getelementptr {type}, ptr %array, i64 %place
  %old = load {type}, ptr %at
  %new = {add} {type} %old, %v
  store {type} %new, ptr %at
  br label %latch
"""
_NARROW = """
  %negative = icmp slt i64 %place, 0
  %wrapped = add i64 %place, %size
  %right = select i1 %negative, i64 %wrapped, i64 %place
  %inside = icmp ult i64 %right, %size
  br i1 %inside, label %keeps, label %wrong
wrong:
  ret i64 %k
keeps:
  %small = {narrow}
  %or = mul i64 %r, %rows
  %oc = mul i64 %c, %columns
  %o = add i64 %or, %oc
  %op = getelementptr {narrowed}, ptr %out, i64 %o
  store {narrowed} %small, ptr %op
  %page = lshr i64 %right, %shift
  %tp = getelementptr i8, ptr %touched, i64 %page
  store i8 1, ptr %tp
  br label %latch
"""


@lru_cache(maxsize=64)
def _function(name: str, kind: str, index: str) -> Callable[..., int] | None:
    """Return a compiled loop, or None without llvmlite."""
    body, extra = {
        "gather": (_GATHER, ("array", "out")),
        "add": (_ADD, ("array", "values")),
        "narrow": (_NARROW, ("out", "touched")),
    }[name]
    numbers = {"gather": (), "add": ("rows", "columns", "low", "high"), "narrow": ("size", "shift", "rows", "columns")}[
        name
    ]
    narrowed = kind if name == "narrow" else ""
    text = body.format(
        type=kind,
        add="fadd" if kind in ("float", "double") else "add",
        narrowed=narrowed,
        narrow="trunc i64 %right to i32" if narrowed == "i32" else "add i64 %right, 0",
    )
    parameters = [
        "ptr %places",
        "i64 %n",
        "i64 %width",
        "i64 %begin",
        "i64 %end",
        *(f"ptr %{x}" for x in extra),
        *(f"i64 %{x}" for x in numbers),
    ]
    widen = "sext" if index == "i32" else "bitcast"
    whole = _LOOP.format(name=name, given=", ".join(parameters), ahead=_AHEAD, index=index, widen=widen, body=text)
    try:
        address = load(whole, [name])[name]
    except (ImportError, RuntimeError):
        return None
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    words = [pointer, *[integer] * 4, *[pointer] * len(extra), *[integer] * len(numbers)]
    function: Callable[..., int] = ctypes.CFUNCTYPE(integer, *words)(address)
    return function


def _kind(dtype: np.dtype[Any]) -> str:
    return _TYPES.get(dtype.str[1:], "") if dtype.isnative else ""


def _found(name: str, kind: str, places: Array) -> Callable[..., int] | None:
    index = {"i4": "i32", "i8": "i64"}.get(places.dtype.str[1:]) if places.dtype.isnative else None
    if not kind or index is None or places.size < MANY or not (places.flags.c_contiguous or _by_columns(places)):
        return None
    return _function(name, kind, index)


def gather(array: Array, places: Array) -> Array | None:
    """Return elements at positions that lie in the array, none of them negative; None: that is for NumPy."""
    bits = {4: "i32", 8: "i64"}.get(array.itemsize, "")
    call = _found("gather", bits if array.dtype.kind in "iuf" else "", places)
    if call is None:
        return None
    out = np.empty(places.shape, array.dtype)
    call(places.ctypes.data, places.size, 1, 0, 1, array.ctypes.data, out.ctypes.data)
    return out


def narrow(places: Array, size: int, page: int) -> tuple[Array, Array] | None:
    """Return positions counted from the beginning, in few bytes, and which pages of so many elements they touch.

    Those with two axes come column by column, since columns often have ranges of their own. None: that is for NumPy;
    or a position lies outside.
    """
    small = size <= 1 << 31
    call = _found("narrow", "i32" if small else "i64", places) if page & (page - 1) == 0 else None
    if call is None or not places.flags.c_contiguous:
        return None
    width = places.shape[1] if places.ndim == 2 else 1
    out = np.empty(places.shape, np.int32 if small else np.int64, order="F" if places.ndim == 2 else "C")
    touched = np.zeros(-(-size // page), np.uint8)
    numbers = (size, page.bit_length() - 1, 1, places.size // width)
    wrong = call(places.ctypes.data, places.size, width, 0, width, out.ctypes.data, touched.ctypes.data, *numbers)
    return None if wrong >= 0 else (out, np.flatnonzero(touched))


def spans(places: Array) -> Array | None:
    """Return the least and the greatest position at each place of the last axis: features have ranges of their own."""
    if places.ndim < 2 or places.size < MANY:
        return None
    flat = places if places.ndim == 2 else places.reshape(-1, places.shape[-1])
    return np.stack([flat.min(axis=0), flat.max(axis=0)])


def are_apart(within: Array) -> bool:
    """Tell whether no position can lie in two columns, of which these are the spans: then any may go first."""
    order = np.argsort(within[0], kind="stable")
    return bool((within[1][order][:-1] < within[0][order][1:]).all())


def _by_columns(places: Array) -> bool:
    return places.ndim == 2 and places.flags.f_contiguous and not places.flags.c_contiguous


def add(
    array: Array, places: Array, values: Array, low: int, high: int, within: Array | None = None, column: int = -1
) -> bool:
    """Add values at those of some positions that lie between two, in their order; tell whether it was done.

    Values broadcast to the shape of the positions. `within` are the positions' `spans`. `column`: of the positions,
    which come column by column, one alone.
    """
    call = _found("add", _kind(array.dtype), places)
    if call is None or array.ndim != 1 or values.dtype != array.dtype:
        return False
    if low >= high:
        return True
    if _by_columns(places) and (column >= 0 or (within is not None and are_apart(within))):
        chosen = range(places.shape[1]) if column < 0 else range(column, column + 1)
        _add_columns(call, array, places, values, low, high, within, chosen)
        return True
    places = np.ascontiguousarray(places)
    shaped = np.broadcast_to(values, places.shape)
    flat = shaped.reshape(-1, 1) if places.ndim == 1 else shaped
    if flat.ndim > 2:
        flat = np.ascontiguousarray(flat).reshape(-1, flat.shape[-1])
    rows, columns = (step // values.itemsize for step in flat.strides)
    width = flat.shape[1]
    begin, end = 0, width
    if within is not None:
        touched = np.flatnonzero((within[0] < high) & (within[1] >= low))
        begin, end = (int(touched[0]), int(touched[-1]) + 1) if len(touched) else (0, 0)
    if begin < end:
        arguments = (array.ctypes.data, flat.ctypes.data, rows, columns, low, high)
        call(places.ctypes.data, places.size, width, begin, end, *arguments)
    return True


def _add_columns(
    call: Callable[..., int],
    array: Array,
    places: Array,
    values: Array,
    low: int,
    high: int,
    within: Array | None,
    columns: Iterable[int],
) -> None:
    shaped = np.broadcast_to(values, places.shape)
    down, across = shaped.strides
    rows = len(places)
    target, first, source = array.ctypes.data, places.ctypes.data, shaped.ctypes.data
    for k in columns:
        if within is None or (within[0, k] < high and within[1, k] >= low):
            begins = (first + k * rows * places.itemsize, rows, 1, 0, 1, target, source + k * across)
            call(*begins, down // values.itemsize, 0, low, high)
