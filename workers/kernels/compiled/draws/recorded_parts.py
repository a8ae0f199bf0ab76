"""Functions that the compiled loops of recorded kernels share: draws, choices of elements, what goes over runs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..llvm.kernel_cache import ENTRY
from ..llvm.text import Body, cast, memory
from .drawing import WIDE, rounds, unit

PIECE = 1 << 10
"""Elements of a piece."""
LONG = 1 << 8
"""Runs from so many draws on are cut into pieces of their own; several shorter ones are a piece."""
DOUBLE, WORD = np.dtype(np.float64), np.dtype(np.uint64)


def draw_name(words: int, wanted: list[int], is_run: bool) -> str:
    return f"draw{words}_{'_'.join(map(str, wanted))}_{'run' if is_run else 'at'}"


@lru_cache(maxsize=32)
def draw_text(words: int, wanted: tuple[int, ...], is_run: bool) -> str:
    """Write the loop that draws words of each element: at positions, or of those that follow the first one."""
    body, each = Body(), 4 // words
    entry, text = body.entry, body.text
    stream = [entry.load(WORD, "%name", str(k)) for k in range(5)]
    shift = {1: 2, 2: 1, 4: 0}[words]
    if is_run:
        first = entry.load(WORD, "%positions", "0")
        block = entry.set(f"add i64 {entry.set(f'lshr i64 {first}, {shift}')}, 1")
        cut = entry.set(f"and i64 {first}, {each - 1}")
        count = entry.set(f"add i64 {entry.set(f'add i64 {cut}, %n')}, {each - 1}")
        with body.loop("0", entry.set(f"lshr i64 {count}, {shift}"), "1", together=2) as i:
            drawn = rounds(body, text.set(f"add i64 {block}, {i}"), stream)
            begin = text.set(f"shl nsw nuw i64 {i}, {shift}")
            for k in range(each):
                at = text.set(f"add nsw nuw i64 {begin}, {k}")
                for word in wanted:
                    text.store(DOUBLE, unit(text, drawn[k * words + word], DOUBLE), f"%out{word}", at)
    else:
        with body.loop("0", "%n", "1", together=2) as i:
            position = text.load(WORD, "%positions", i)
            drawn = rounds(body, text.set(f"add i64 {text.set(f'lshr i64 {position}, {shift}')}, 1"), stream)
            for bit in range(shift):  # of each two halves the one where the position lies
                odd = text.set(f"icmp ne i64 {text.set(f'and i64 {position}, {each >> (bit + 1)}')}, 0")
                half = len(drawn) // 2
                drawn = [text.set(f"select i1 {odd}, i64 {drawn[half + k]}, i64 {drawn[k]}") for k in range(half)]
            for word in wanted:
                text.store(DOUBLE, unit(text, drawn[word], DOUBLE), f"%out{word}", i)
    outputs = ", ".join(f"ptr noalias %out{word}" for word in wanted)
    return body.whole(
        f"define private void @{draw_name(words, list(wanted), is_run)}(ptr noalias readonly %positions, "
        f"ptr noalias readonly %name, {outputs}, i64 %n) noinline {WIDE} {{"
    )


@lru_cache(maxsize=1)
def climb_text() -> str:
    """Write the loop that counts steps of a distribution function below each number; see `RecordedValue.climb`."""
    return """define private void @climb(
  ptr %u, ptr noalias %left, ptr noalias %out, ptr %heights, i64 %steps, i64 %n) {
entry:
  %nbytes = mul i64 %n, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %left, ptr %u, i64 %nbytes, i1 false)
  call void @llvm.memset.p0.i64(ptr %out, i8 0, i64 %nbytes, i1 false)
  br label %outer
outer:
  %k = phi i64 [ 0, %entry ], [ %k.next, %climbed ]
  %more = icmp slt i64 %k, %steps
  br i1 %more, label %begin, label %end
begin:
  %at = getelementptr double, ptr %heights, i64 %k
  %height = load double, ptr %at
  br label %inner
inner:
  %i = phi i64 [ 0, %begin ], [ %i.next, %inner ]
  %count = phi i64 [ 0, %begin ], [ %count.next, %inner ]
  %l = getelementptr double, ptr %left, i64 %i
  %o = getelementptr double, ptr %out, i64 %i
  %have = load double, ptr %l
  %level = load double, ptr %o
  %above = fcmp oge double %have, %height
  %rest = fsub double %have, %height
  %rest.kept = select i1 %above, double %rest, double -1.0
  %up = select i1 %above, double 1.0, double 0.0
  %level.next = fadd double %level, %up
  store double %rest.kept, ptr %l
  store double %level.next, ptr %o
  %one = zext i1 %above to i64
  %count.next = add i64 %count, %one
  %i.next = add nsw nuw i64 %i, 1
  %on = icmp slt i64 %i.next, %n
  br i1 %on, label %inner, label %climbed
climbed:
  %k.next = add i64 %k, 1
  %some = icmp sgt i64 %count.next, 0
  br i1 %some, label %outer, label %end
end:
  ret void
}
"""


def choose_text() -> str:
    """Write the loop that lists the elements of which a mask holds, or doesn't; it returns how many these are."""
    return """define private i64 @choose(ptr noalias readonly %mask, ptr noalias %index, i1 %wanted, i64 %n) noinline {
entry:
  %want = zext i1 %wanted to i8
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %count = phi i64 [ 0, %entry ], [ %count.next, %loop ]
  %m = getelementptr i8, ptr %mask, i64 %i
  %holds = load i8, ptr %m
  %to = getelementptr i64, ptr %index, i64 %count
  store i64 %i, ptr %to
  %is = icmp eq i8 %holds, %want
  %one = zext i1 %is to i64
  %count.next = add i64 %count, %one
  %i.next = add nsw nuw i64 %i, 1
  %on = icmp slt i64 %i.next, %n
  br i1 %on, label %loop, label %end
end:
  ret i64 %count.next
}
"""


def drop_text() -> str:
    """Write the loop that drops from a list the elements that hold; it returns how many are left."""
    return """define private i64 @drop(ptr noalias readonly %mask, ptr noalias %index, i64 %n) noinline {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %count = phi i64 [ 0, %entry ], [ %count.next, %loop ]
  %m = getelementptr i8, ptr %mask, i64 %i
  %holds = load i8, ptr %m
  %from = getelementptr i64, ptr %index, i64 %i
  %element = load i64, ptr %from
  %to = getelementptr i64, ptr %index, i64 %count
  store i64 %element, ptr %to
  %is = icmp eq i8 %holds, 0
  %one = zext i1 %is to i64
  %count.next = add i64 %count, %one
  %i.next = add nsw nuw i64 %i, 1
  %on = icmp slt i64 %i.next, %n
  br i1 %on, label %loop, label %end
end:
  ret i64 %count.next
}
"""


def moving_text(name: str, size: int) -> str:
    """Write the loop that gathers elements of so many bytes, or scatters them."""
    body, dtype = Body(), np.dtype(f"u{size}")
    with body.loop("0", "%n", "1") as i:
        text = body.text
        at = text.load(np.dtype(np.int64), "%index", i)
        source, to = (at, i) if name == "gather" else (i, at)
        text.store(dtype, text.load(dtype, "%source", source), "%to", to)
    return body.whole(
        f"define private void @{name}{size}(ptr noalias readonly %source, ptr noalias readonly %index, "
        "ptr noalias %to, i64 %n) noinline {"
    )


def whole_text(dtype: np.dtype[Any], made: int, positions: int) -> str:
    """Write the function that goes over runs of draws, piece by piece."""
    body = Body()
    entry, text = body.entry, body.text
    made_at, pos = (entry.set(f"getelementptr i8, ptr %frame, i64 {place}") for place in (made, positions))
    entry.lines += ["  %run = alloca i64", "  %at = alloca i64"]
    total = entry.set("mul i64 %runs, %length")
    is_long = entry.set(f"icmp sge i64 %length, {LONG}")
    outer = entry.set(f"select i1 {is_long}, i64 %runs, i64 1")
    inner = entry.set(f"select i1 {is_long}, i64 %length, i64 {total}")
    text.lines += ["  store i64 0, ptr %run", "  store i64 0, ptr %at"]
    with body.loop("0", outer, "1") as turn, body.loop("0", inner, str(PIECE)) as begin:
        left = text.set(f"sub i64 {inner}, {begin}")
        n = body.least(left, str(PIECE))
        with body.loop("0", n, "1") as i:
            run, at = text.set("load i64, ptr %run"), text.set("load i64, ptr %at")
            start = text.load(WORD, "%starts", run)
            text.store(WORD, text.set(f"add i64 {start}, {at}"), pos, i)
            after = text.set(f"add i64 {at}, 1")
            is_over = text.set(f"icmp eq i64 {after}, %length")
            run = text.set(f"add i64 {run}, {text.set(f'zext i1 {is_over} to i64')}")
            text.lines += [
                f"  store i64 {run}, ptr %run",
                f"  store i64 {text.set(f'select i1 {is_over}, i64 0, i64 {after}')}, ptr %at",
            ]
        text.lines.append(f"  call void @region0(ptr %frame, ptr %table, ptr {pos}, i64 {n}, i64 0, i1 {is_long})")
        first = text.set(f"add i64 {text.set(f'mul i64 {turn}, %length')}, {begin}")
        with body.loop("0", n, "1") as i:
            value = text.load(DOUBLE, made_at, i)
            if dtype.kind == "f":
                value = cast(text, value, DOUBLE, dtype)
            else:
                value = text.set(f"fptosi double {value} to {memory(dtype)}")
            text.store(dtype, value, "%out", text.set(f"add nsw nuw i64 {first}, {i}"))
    return body.whole(
        f"define void @{ENTRY}(ptr noalias readonly %starts, ptr noalias %frame, ptr noalias readonly %table, "
        "ptr noalias %out, i64 %runs, i64 %length, i64 %c, i64 %d) {"
    )
