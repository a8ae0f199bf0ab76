"""Compiled loops that put a row of numbers in order by spreading it over cells, whatever vectors the processor has.

Between the least and the greatest element lie several times as many equal cells as there are elements. A cell's number
is two digits long, and elements are dealt out by one, then by the other. What came into the same cell, few elements
mostly, is put in order by insertion; so cells need only rise with elements, however they round. All of it is stable:
zeros of both signs keep their order.

A row of which most lies in few cells isn't ended: whoever asked is told so after some work.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...buffers import ARGUMENTS
from ..llvm.kernel_cache import ENTRY, ready
from ..llvm.text import Body, NotCompilable, Text, kind, register

Array = np.ndarray[Any, Any]

DIGIT = 11
"""The most bits of a digit: with more, counts and the places to write to leave the nearest caches."""

LEAST, MOST = 1 << 5, 1 << 20
"""Rows of fewer elements aren't worth a call; more take less time in buckets, which fit a cache."""

ROOM = -3
"""The number of the first scratch memory that elements are dealt into."""

WORK = 40
"""An element's work, as NumPy's sort has it without wide vectors."""

MOVES = 8
"""An element is moved so many places, on the average, before insertion is given up."""

DONE, LOST, UNENDED = range(3)
"""What a kernel tells: the row is in order; it has NaN, and nothing was done; or it isn't ended."""

_NUMBER, _COUNT = np.dtype(np.int64), np.dtype(np.int32)


def takes(dtype: np.dtype[Any]) -> bool:
    """Tell whether there are functions for a dtype."""
    return dtype.kind in "iuf" and dtype.itemsize in (4, 8) and dtype.isnative


def kernel(dtype: np.dtype[Any], count: int, ahead: int = 0, *, places: bool = False) -> Any:
    """Return the function for a dtype if it is there, or else see to it that it will be.

    So many elements are to be sorted, and `ahead` are known to come later; with `places`, their positions are.
    """
    return ready(_text(dtype, places=places), 4 if places else 2, WORK * count, WORK * ahead)


def sort_numbers(run: Any, x: Array, out: Array) -> int:
    """Fill `out`, which may be `x`, with a row's elements in order; tell how it went.

    Where it isn't done, `out` is as it was, or has the elements, equal ones in their order.
    """
    return _call(run, x, [ARGUMENTS.lend(ROOM, x.shape, x.dtype)], out)


def order_numbers(run: Any, x: Array, out: Array) -> int:
    """Fill `out` with the positions that put a row in order; tell how it went."""
    if len(x) > MOST:
        return UNENDED
    return _call(run, x, [ARGUMENTS.lend(ROOM - i, x.shape, d) for i, d in enumerate((x.dtype, x.dtype, _NUMBER))], out)


def _call(run: Any, x: Array, rooms: list[Array], out: Array) -> int:
    status = np.empty(1, np.int64)
    digit = min(len(x).bit_length() // 2 + 1, DIGIT)
    run(*(a.ctypes.data for a in (x, *rooms, status, out)), len(x), digit, MOVES * len(x), 0)
    return int(status[0])


@lru_cache(maxsize=16)
def _text(dtype: np.dtype[Any], *, places: bool) -> str:
    """Write the function; with `places`, elements' positions go along, and are what is asked for."""
    return _Row(dtype, places).write()


class _Row:
    """The text for a dtype: `%x` is dealt into `%room`, and from there into `%end`."""

    def __init__(self, dtype: np.dtype[Any], places: bool) -> None:
        if kind(dtype) not in "iuf":
            raise NotCompilable(f"dtype {dtype}")
        self.dtype, self.places, self.body = dtype, places, Body()
        self.type, self.bits = register(dtype), 8 * dtype.itemsize
        self.set, self.lines = self.body.text.set, self.body.text.lines
        self.end, self.sign = "%values" if places else "%out", "u" if dtype.kind == "u" else "s"

    def write(self) -> str:
        entry = self.body.entry.lines
        entry += [f"  %{name} = alloca [{1 << DIGIT} x i32], align 64" for name in ("lows", "highs")]
        entry += ["  %radix = shl i64 1, %digit", "  %mask = sub i64 %radix, 1"]
        self._bounds()
        self._count()
        self._deal("%x", "%room", "%lows", "and i64 {}, %mask", "%i", "%order")
        self._deal("%room", self.end, "%highs", "lshr i64 {}, %digit", None, "%out")
        self._insert()
        self._tell(DONE)
        more = ["ptr noalias %values", "ptr noalias %order"] if self.places else []
        pointers = ", ".join(["ptr %x", "ptr noalias %room", *more, "ptr noalias %told", "ptr %out"])
        head = f"define void @{ENTRY}({pointers}, i64 %n, i64 %digit, i64 %moves, i64 %d) {{"
        t, lines = f"i{self.bits}", ["declare i64 @llvm.ctlz.i64(i64, i1)", ""]
        lines = [f"declare {t} @llvm.{self.sign}{name}.{t}({t}, {t})" for name in ("min", "max")] + lines
        return self.body.whole(head) + "\n".join(lines)

    def _tell(self, what: int) -> None:
        self.lines.append(f"  store i64 {what}, ptr %told, align 8")

    def _leave(self, condition: str, what: int) -> None:
        """Write what ends the function on a condition."""
        name = self.body.text.name("leave")
        self.lines += [f"  br i1 {condition}, label %{name}.yes, label %{name}.no", f"{name}.yes:"]
        self._tell(what)
        self.lines += ["  ret void", f"{name}.no:"]

    def _key(self, text: Text, bits: str) -> str:
        """Write the integer that has a number's place in order for its bits, and back: it is its own inverse."""
        if self.dtype.kind != "f":
            return bits
        t = f"i{self.bits}"
        spread = text.set(f"ashr {t} {bits}, {self.bits - 1}")
        return text.set(f"xor {t} {bits}, {text.set(f'lshr {t} {spread}, 1')}")

    def _bounds(self) -> None:
        """Write the least and the greatest element, and what leads from an element to its cell."""
        t, text, entry = f"i{self.bits}", self.body.text, self.body.entry
        bits = np.dtype(f"u{self.dtype.itemsize}")
        entry.lines += [f"  %{name} = alloca {t}" for name in ("least", "most")]
        first = self._key(entry, entry.load(bits, "%x", "0"))
        entry.lines += [f"  store {t} {first}, ptr %{name}" for name in ("least", "most")]
        with self.body.loop("0", "%n", "1") as i:
            key = self._key(text, text.load(bits, "%x", i))
            for name, function in (("least", "min"), ("most", "max")):
                old = self.set(f"load {t}, ptr %{name}")
                new = self.set(f"call {t} @llvm.{self.sign}{function}.{t}({t} {old}, {t} {key})")
                self.lines.append(f"  store {t} {new}, ptr %{name}")
        low, high = (self.set(f"load {t}, ptr %{name}") for name in ("least", "most"))
        if self.dtype.kind == "f":
            self._scale_floats(low, high)
        else:
            self._shift_integers(low, high)

    def _shift_integers(self, low: str, high: str) -> None:
        """Write by how many bits an integer's distance from the least is more than a cell's number."""
        span = self._unsigned(self.set(f"sub {self.type} {high}, {low}"))
        zeros = self.set(f"call i64 @llvm.ctlz.i64(i64 {span}, i1 false)")
        over = self.set(f"sub i64 {self.set(f'sub i64 64, {zeros}')}, {self.set('shl i64 %digit, 1')}")
        self.low, self.shift = low, self.set(f"select i1 {self.set(f'icmp slt i64 {over}, 0')}, i64 0, i64 {over}")

    def _scale_floats(self, low: str, high: str) -> None:
        """Write the cells between the bounds, of floats, to a unit; what leaves where there is no such number."""
        t, infinite = f"i{self.bits}", int(np.array(np.inf, self.dtype).view(f"i{self.dtype.itemsize}"))
        beyond, before = f"icmp sgt {t} {high}, {infinite}", f"icmp slt {t} {low}, {-infinite - 1}"
        self._leave(self.set(f"or i1 {self.set(beyond)}, {self.set(before)}"), LOST)
        keys = (self._key(self.body.text, key) for key in (low, high))
        low, high = (self._wide(self.set(f"bitcast {t} {key} to {self.type}")) for key in keys)
        span = self.set(f"fsub double {high}, {low}")
        square = self.set("mul i64 %radix, %radix")
        cells = self.set(f"uitofp i64 {self.set(f'sub i64 {square}, 1')} to double")
        scale, even = self.set(f"fdiv double {cells}, {span}"), self.set(f"fcmp oeq double {span}, 0.0")
        self.low, self.scale = low, self.set(f"select i1 {even}, double 0.0, double {scale}")
        tiny = self.set(f"fcmp oeq double {self.scale}, 0x7FF0000000000000")
        endless = self.set(f"fcmp ueq double {span}, 0x7FF0000000000000")
        self._leave(self.set(f"or i1 {tiny}, {endless}"), UNENDED)

    def _unsigned(self, value: str) -> str:
        return value if self.bits == 64 else self.set(f"zext {self.type} {value} to i64")

    def _wide(self, value: str) -> str:
        return value if self.type == "double" else self.set(f"fpext {self.type} {value} to double")

    def _cell(self, value: str) -> str:
        if self.dtype.kind == "f":
            far = self.set(f"fsub double {self._wide(value)}, {self.low}")
            return self.set(f"fptosi double {self.set(f'fmul double {far}, {self.scale}')} to i64")
        far = self._unsigned(self.set(f"sub {self.type} {value}, {self.low}"))
        return self.set(f"lshr i64 {far}, {self.shift}")

    def _count(self) -> None:
        """Write how many elements each digit has, and then where they begin."""
        body, text = self.body, self.body.text
        with body.loop("0", "%radix", "1") as i:
            for table in ("%lows", "%highs"):
                text.store(_COUNT, "0", table, i)
        with body.loop("0", "%n", "1") as i:
            cell = self._cell(text.load(self.dtype, "%x", i))
            for table, digit in (("%lows", f"and i64 {cell}, %mask"), ("%highs", f"lshr i64 {cell}, %digit")):
                place = self.set(digit)
                text.store(_COUNT, self.set(f"add i32 {text.load(_COUNT, table, place)}, 1"), table, place)
        body.entry.lines += ["  %sum.lows = alloca i32", "  %sum.highs = alloca i32"]
        body.entry.lines += [f"  store i32 0, ptr %sum.{name}" for name in ("lows", "highs")]
        with body.loop("0", "%radix", "1") as i:
            for name in ("lows", "highs"):
                sum_ = self.set(f"load i32, ptr %sum.{name}")
                new = self.set(f"add i32 {sum_}, {text.load(_COUNT, f'%{name}', i)}")
                text.store(_COUNT, sum_, f"%{name}", i)
                self.lines.append(f"  store i32 {new}, ptr %sum.{name}")

    def _deal(self, source: str, target: str, table: str, digit: str, first: str | None, order: str) -> None:
        """Write how elements, and places, go where their digit has come to."""
        text = self.body.text
        with self.body.loop("0", "%n", "1") as i:
            value = text.load(self.dtype, source, i)
            place = self.set(digit.format(self._cell(value)))
            at = text.load(_COUNT, table, place)
            text.store(_COUNT, self.set(f"add i32 {at}, 1"), table, place)
            at = self.set(f"zext i32 {at} to i64")
            text.store(self.dtype, value, target, at)
            if self.places:
                text.store(_NUMBER, i if first else text.load(_NUMBER, "%order", i), order, at)

    def _insert(self) -> None:
        """Write how each element goes before those in its cell that are greater."""
        text, lines = self.body.text, self.lines
        self.body.entry.lines += ["  %at = alloca i64", "  %left = alloca i64", "  store i64 %moves, ptr %left"]
        compare = {"f": "fcmp ogt", "i": "icmp sgt", "u": "icmp ugt"}[self.dtype.kind]
        with self.body.loop("1", "%n", "1") as i:
            value = text.load(self.dtype, self.end, i)
            before = text.load(self.dtype, self.end, self.set(f"sub i64 {i}, 1"))
            worse = self.set(f"{compare} {self.type} {before}, {value}")
            lines += [f"  br i1 {worse}, label %move, label %stay", "move:"]
            held = text.load(_NUMBER, "%out", i) if self.places else ""
            lines += [f"  store i64 {i}, ptr %at", "  br label %again", "again:", "  %now = load i64, ptr %at"]
            lines.append("  %prior = sub i64 %now, 1")
            text.store(self.dtype, text.load(self.dtype, self.end, "%prior"), self.end, "%now")
            if self.places:
                text.store(_NUMBER, text.load(_NUMBER, "%out", "%prior"), "%out", "%now")
            lines += ["  store i64 %prior, ptr %at", "  %some = icmp sgt i64 %prior, 0"]
            lines += ["  br i1 %some, label %look, label %there", "look:"]
            next_ = text.load(self.dtype, self.end, self.set("sub i64 %prior, 1"))
            more = self.set(f"{compare} {self.type} {next_}, {value}")
            lines += [f"  br i1 {more}, label %again, label %there", "there:"]
            text.store(self.dtype, value, self.end, "%prior")
            if self.places:
                text.store(_NUMBER, held, "%out", "%prior")
            moved = self.set(f"sub i64 {i}, %prior")
            left = self.set(f"sub i64 {self.set('load i64, ptr %left')}, {moved}")
            lines.append(f"  store i64 {left}, ptr %left")
            self._leave(self.set(f"icmp slt i64 {left}, 0"), UNENDED)
            lines += ["  br label %stay", "stay:"]
