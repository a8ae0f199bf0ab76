"""Atomic operations on mapped memory, compiled by LLVM: one element, or a batch of positions, in one call.

A batch names elements by their positions in the whole array, which lies in runs of equal length: `bases` has the
address of each run. Memory is fetched some positions ahead, since a locked instruction waits for all that was begun
before it.

Calls for one element keep Python's lock: to hand it over would take longer than they do. Batches let go of it.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ....graph.errors import ClusterError
from ...kernels.compiled.llvm.machine_code import load

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

BITWISE = ("or", "and", "xor")
_AHEAD = 24
_TYPES: dict[str, tuple[str, Any]] = {
    "b1": ("i8", ctypes.c_uint8),
    "i1": ("i8", ctypes.c_int8),
    "u1": ("i8", ctypes.c_uint8),
    "i2": ("i16", ctypes.c_int16),
    "u2": ("i16", ctypes.c_uint16),
    "i4": ("i32", ctypes.c_int32),
    "u4": ("i32", ctypes.c_uint32),
    "i8": ("i64", ctypes.c_int64),
    "u8": ("i64", ctypes.c_uint64),
    "f4": ("float", ctypes.c_float),
    "f8": ("double", ctypes.c_double),
}
_BITS = {"float": "i32", "double": "i64"}

_BATCH = """
define void @{name}(ptr %bases, i64 %run, ptr %places, i64 %n, ptr %values, i64 %step, ptr %others,
                    i64 %other_step, ptr %out) {{
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %k = phi i64 [0, %entry], [%next, %body]
  %soon = add i64 %k, {ahead}
  %within = icmp slt i64 %soon, %n
  %later = select i1 %within, i64 %soon, i64 %k
  %lp = getelementptr i64, ptr %places, i64 %later
  %lplace = load i64, ptr %lp
  %laddress = call i64 @address(ptr %bases, i64 %run, i64 %lplace)
  %lpointer = inttoptr i64 %laddress to ptr
  call void @llvm.prefetch.p0(ptr %lpointer, i32 {write}, i32 1, i32 1)
  br label %body
body:
  %pp = getelementptr i64, ptr %places, i64 %k
  %place = load i64, ptr %pp
  %address = call i64 @address(ptr %bases, i64 %run, i64 %place)
  %p = inttoptr i64 %address to ptr
{read}
{step}
{write_out}
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
_VALUE = """  %vk = mul i64 %k, %step
  %vp = getelementptr {type}, ptr %values, i64 %vk
  %v = load {type}, ptr %vp"""
_OTHER = """
  %ek = mul i64 %k, %other_step
  %ep = getelementptr {type}, ptr %others, i64 %ek
  %e = load {type}, ptr %ep"""
_OUT = """  %op = getelementptr {type}, ptr %out, i64 %k
  store {type} %old, ptr %op"""
_ADDRESS = """
define internal i64 @address(ptr %bases, i64 %run, i64 %place) alwaysinline {{
  %part = udiv i64 %place, %run
  %bp = getelementptr i64, ptr %bases, i64 %part
  %base = load i64, ptr %bp
  %before = mul i64 %part, %run
  %within = sub i64 %place, %before
  %bytes = mul i64 %within, {size}
  %at = add i64 %base, %bytes
  ret i64 %at
}}
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
"""


def _step(name: str, kind: str) -> str:
    """Return what is done to one element at %p with %v, and %e; %old is what was there."""
    align = f"align {_size(kind)}"
    if name == "get":
        return f"  %old = load atomic {kind}, ptr %p acquire, {align}"
    if name == "set":
        return f"  store atomic {kind} %v, ptr %p release, {align}"
    if name == "compare_and_swap":
        bits = _BITS.get(kind, kind)
        cast = "bitcast {0} %{1} to {2}"
        casts = [f"  %{x}b = " + cast.format(kind, x, bits) for x in "ev"] if bits != kind else []
        e, v = ("%eb", "%vb") if casts else ("%e", "%v")
        pair = f"  %pair = cmpxchg ptr %p, {bits} {e}, {bits} {v} seq_cst seq_cst, {align}"
        out = f"  %old = extractvalue {{{bits}, i1}} %pair, 0"
        if casts:
            out = out.replace("%old", "%found") + f"\n  %old = bitcast {bits} %found to {kind}"
        return "\n".join([*casts, pair, out])
    operation = name.removeprefix("fetch_")
    if operation == "add" and kind in _BITS:
        operation = "fadd"
    return f"  %old = atomicrmw {operation} ptr %p, {kind} %v seq_cst, {align}"


def _size(kind: str) -> int:
    return {"i8": 1, "i16": 2, "i32": 4, "float": 4}.get(kind, 8)


def _names(kind: str) -> list[str]:
    names = ["get", "set", "compare_and_swap", "add", "fetch_add"]
    return names if kind in _BITS else [*names, *BITWISE, *(f"fetch_{x}" for x in BITWISE)]


def _text(kind: str) -> str:
    parts = [_ADDRESS.format(size=_size(kind))]
    for name in _names(kind):
        step = _step(name, kind)
        gives = name in ("get", "compare_and_swap") or name.startswith("fetch_")
        read = "" if name == "get" else _VALUE.format(type=kind)
        read += _OTHER.format(type=kind) if name == "compare_and_swap" else ""
        out = _OUT.format(type=kind) if gives else ""
        parts.append(
            _BATCH.format(
                name=f"many_{name}", read=read, step=step, write_out=out, ahead=_AHEAD, write=int(name != "get")
            )
        )
        parameters = ["i64 %address"] if name == "get" else ["i64 %address", f"{kind} %v"]
        if name == "compare_and_swap":
            parameters = ["i64 %address", f"{kind} %e", f"{kind} %v"]
        end = f"  ret {kind} %old" if gives else "  ret void"
        parts.append(
            f"define {kind if gives else 'void'} @one_{name}({', '.join(parameters)}) {{\n"
            f"  %p = inttoptr i64 %address to ptr\n{step}\n{end}\n}}\n"
        )
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class Atomics:
    """The operations on one dtype, by name: `one[name](address, …)`, `many[name](…)` as `apply` calls it."""

    dtype: np.dtype[Any]
    one: dict[str, Callable[..., Any]]
    many: dict[str, Callable[..., None]]


@lru_cache(maxsize=32)
def atomics(dtype: np.dtype[Any]) -> Atomics:
    """Return the operations on a dtype; a ClusterError without llvmlite."""
    kind, number = _TYPES[dtype.str[1:]]
    names = _names(kind)
    try:
        addresses = load(_text(kind), [f"{much}_{name}" for much in ("one", "many") for name in names])
    except ImportError as error:
        raise ClusterError(
            f"arrays with atomic operations need llvmlite, which pip install 'windrow[jit]' brings: {error}"
        ) from error
    one: dict[str, Callable[..., Any]] = {}
    many: dict[str, Callable[..., None]] = {}
    for name in names:
        gives = name in ("get", "compare_and_swap") or name.startswith("fetch_")
        operand_count = {"get": 0, "compare_and_swap": 2}.get(name, 1)
        form = ctypes.PYFUNCTYPE(number if gives else None, ctypes.c_uint64, *[number] * operand_count)
        one[name] = form(addresses[f"one_{name}"])
        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        words = [pointer, integer, pointer, integer, pointer, integer, pointer, integer, pointer]
        many[name] = ctypes.CFUNCTYPE(None, *words)(addresses[f"many_{name}"])
    return Atomics(dtype, one, many)


def supports(dtype: np.dtype[Any]) -> bool:
    """Tell whether elements of a dtype can be read and written atomically."""
    return dtype.isnative and dtype.str[1:] in _TYPES
