"""Courses: all calls that make a block tile by tile, done one after the other without Python's lock.

A tile takes some tens of microseconds. If Python went from one call to the next, a thread would take the lock that
often, and 16 threads would wait for each other most of their time. So what is to be called is written into a table,
once for blocks that are alike: compiled loops, and NumPy's own by their addresses. A small compiled function goes over
the table for each tile, as the interpreter does: the same calls over the same tiles, so the bits are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..llvm.kernel_cache import ENTRY, ready
from ..llvm.text import Body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..llvm.machine_code import Native

Array = np.ndarray[Any, Any]
Counts = tuple[int, int, int]

LOOP, COPY = 0, 1
"""A call of a loop of NumPy's, and a copy of `counts[2]` bytes; other kinds are kernels of so many pointers."""
EVERY, FIRST_TILE, FIRST_GROUP, FIRST = 0, 1, 2, 3
"""At which tiles a call is made: all, the first of each group, all of the first group, the very first; or if negative
at all others."""
FULL, LAST = 1, 2
"""In which tiles of a group: those before the last one, and the last one, which may be shorter."""

MOST_ARGUMENTS = 12
_HEAD = 9
_FIELDS = ("base", "group", "tile", "outer", "row", "step", "operand")
WIDTH = _HEAD + len(_FIELDS) * MOST_ARGUMENTS
WORK = 50_000_000
"""A course's function is small and the same for all, so it is made early."""


@dataclass(frozen=True)
class Spot:
    """Where an argument lies: in an operand of the course, so many bytes from its begin, and how it goes on.

    `group` and `tile` are bytes from one group of tiles and one tile to the next, `outer`, `row` and `step` those of a
    call's three counts.
    """

    operand: int
    base: int = 0
    group: int = 0
    tile: int = 0
    outer: int = 0
    row: int = 0
    step: int = 0

    def at(self, offset: int) -> Spot:
        """Return the place so many bytes further."""
        return replace(self, base=self.base + offset)

    def going(self, outer: int = 0, row: int = 0, step: int = 0) -> Spot:
        """Return the place with other steps within a tile."""
        return replace(self, outer=outer, row=row, step=step)


@dataclass(frozen=True)
class LoopCall:
    """A call: for `counts[0]` times `counts[1]` rows a loop over `counts[2]` elements.

    A kernel is called `counts[0]` times, with the other counts, with `data`, and with `more` or else `data` again.
    """

    function: int
    spots: tuple[Spot, ...]
    counts: Counts
    kind: int = LOOP
    data: int = 0
    when: int = EVERY
    tiles: int = FULL | LAST
    more: int | None = None


class Course:
    """A table of calls over the tiles of blocks that are alike: each has groups, and these have tiles.

    What the calls name in memory must live as long as the course does: it is `kept`.
    """

    def __init__(self, calls: Sequence[LoopCall], groups: int, tiles: int, kept: Sequence[object]) -> None:
        self.groups, self.tiles, self._kept = groups, tiles, kept
        table = np.zeros((len(calls), WIDTH), np.int64)
        for row, call in zip(table, calls, strict=True):
            more = call.data if call.more is None else call.more
            row[:_HEAD] = call.kind, call.function, call.data, call.when, *call.counts, call.tiles, more
            fields = row[_HEAD:].reshape(len(_FIELDS), MOST_ARGUMENTS)
            for k, spot in enumerate(call.spots):
                fields[:, k] = [getattr(spot, name) for name in _FIELDS]
        self._table, self._at, self._calls = table, address_of(table), len(calls)

    def run(self, function: Native, places: Array) -> None:
        """Run the course over blocks, a row of `places` for each: the addresses of its operands."""
        size = np.array(places.shape[1], np.int64)
        function(self._at, address_of(places), address_of(size), self.groups, self.tiles, self._calls, len(places))


def address_of(x: Array) -> int:
    """Return where an array's elements lie."""
    address: int = x.__array_interface__["data"][0]
    return address


def conductor(elements: int) -> Native | None:
    """Return what goes over a course's table, if it is there; else see to it that it will be."""
    loop: Native | None = ready(_text(), 1, elements * 8)
    return loop


@lru_cache(maxsize=1)
def _text() -> str:
    """Write the function: for each block, group, tile and call, for each row, a call by its kind."""
    body, most = Body(), MOST_ARGUMENTS
    text = body.text
    body.entry.lines += [f"  %{name} = alloca [{most} x i64], align 64" for name in ("at", "now")]
    body.entry.lines += ["  %n = alloca i64"]
    final = body.entry.set("sub i64 %tiles, 1")
    operands = body.entry.load(np.dtype(np.int64), "%size", "0")
    with (
        body.loop("0", "%blocks", "1") as block,
        body.loop("0", "%groups", "1") as group,
        body.loop("0", "%tiles", "1") as tile,
        body.loop("0", "%calls", "1") as call,
    ):
        row = text.set(f"getelementptr i64, ptr %table, i64 {text.set(f'mul i64 {call}, {WIDTH}')}")
        mine = text.set(f"mul i64 {block}, {operands}")

        def word(index: int | str) -> str:
            return text.set(f"load i64, ptr {text.set(f'getelementptr i64, ptr {row}, i64 {index}')}")

        def cell(field: int, k: str) -> str:
            return word(text.set(f"add i64 {k}, {_HEAD + field * most}"))

        kind, function, data, when, outers, rows, n, tiles, other = (word(i) for i in range(_HEAD))
        at_last = text.set(f"icmp eq i64 {tile}, {final}")
        bit = text.set(f"and i64 {tiles}, {text.set(f'select i1 {at_last}, i64 {LAST}, i64 {FULL}')}")
        outers = text.set(f"select i1 {text.set(f'icmp ne i64 {bit}, 0')}, i64 {outers}, i64 0")
        outers = text.set(f"select i1 {_is_due(body, when, group, tile)}, i64 {outers}, i64 0")
        is_plain = text.set(f"icmp sle i64 {kind}, {COPY}")
        several = text.set(f"select i1 {is_plain}, i64 {rows}, i64 1")
        with body.loop("0", str(most), "1") as k:
            moved = text.set(f"add i64 {cell(0, k)}, {text.set(f'mul i64 {cell(1, k)}, {group}')}")
            moved = text.set(f"add i64 {moved}, {text.set(f'mul i64 {cell(2, k)}, {tile}')}")
            begin = text.load(np.dtype(np.int64), "%places", text.set(f"add i64 {mine}, {cell(6, k)}"))
            text.store(np.dtype(np.int64), text.set(f"add i64 {moved}, {begin}"), "%at", k)
        with body.loop("0", outers, "1") as i, body.loop("0", several, "1") as j:
            with body.loop("0", str(most), "1") as k:
                moved = text.load(np.dtype(np.int64), "%at", k)
                moved = text.set(f"add i64 {moved}, {text.set(f'mul i64 {cell(3, k)}, {i}')}")
                moved = text.set(f"add i64 {moved}, {text.set(f'mul i64 {cell(4, k)}, {j}')}")
                text.store(np.dtype(np.int64), moved, "%now", k)
            strides = text.set(f"getelementptr i64, ptr {row}, i64 {_HEAD + 5 * most}")
            callee, more = text.set(f"inttoptr i64 {function} to ptr"), text.set(f"inttoptr i64 {data} to ptr")
            places = [
                text.set(f"load ptr, ptr {text.set(f'getelementptr i64, ptr %now, i64 {k}')}") for k in range(most)
            ]
            text.lines += [
                f"  store i64 {n}, ptr %n",
                *_switch(kind, callee, places, (rows, n, data, other), strides, more),
            ]
    head = (
        f"define void @{ENTRY}(ptr %table, ptr %places, ptr %size, i64 %groups, i64 %tiles, i64 %calls, i64 %blocks) {{"
    )
    declared = "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)\ndeclare i64 @llvm.abs.i64(i64, i1)\n"
    return declared + body.whole(head)


def _switch(kind: str, callee: str, places: list[str], numbers: tuple[str, ...], strides: str, more: str) -> list[str]:
    """Return the lines that make a call by its kind."""
    kinds = {
        LOOP: f"{callee}(ptr %now, ptr %n, ptr {strides}, ptr {more})",
        COPY: f"@llvm.memmove.p0.p0.i64(ptr {places[0]}, ptr {places[1]}, i64 {numbers[1]}, i1 false)",
    }
    counts = ", ".join(f"i64 {number}" for number in numbers)
    for k in range(2, len(places) + 1):
        kinds[k] = f"{callee}({', '.join(f'ptr {place}' for place in places[:k])}, {counts})"
    lines = [f"  switch i64 {kind}, label %done [", *(f"    i64 {k}, label %kind{k}" for k in kinds), "  ]"]
    for k, call in kinds.items():
        lines += [f"kind{k}:", f"  call void {call}", "  br label %done"]
    return [*lines, "done:"]


def _is_due(body: Body, when: str, group: str, tile: str) -> str:
    """Write whether a call is to be made at a tile."""
    text = body.text
    size = text.set(f"call i64 @llvm.abs.i64(i64 {when}, i1 false)")
    first_tile, first_group = (text.set(f"icmp eq i64 {at}, 0") for at in (tile, group))
    asks = [text.set(f"icmp ne i64 {text.set(f'and i64 {size}, {bit}')}, 0") for bit in (FIRST_TILE, FIRST_GROUP)]
    holds = [
        text.set(f"or i1 {text.set(f'xor i1 {ask}, true')}, {is_first}")
        for ask, is_first in zip(asks, (first_tile, first_group), strict=True)
    ]
    is_first = text.set(f"and i1 {holds[0]}, {holds[1]}")
    others = text.set(f"icmp slt i64 {when}, 0")
    return text.set(f"xor i1 {others}, {is_first}")
