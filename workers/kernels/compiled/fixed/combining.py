"""Partial results combined by one compiled loop: those of variances and of positions, or of several reductions.

They are records, of which NumPy makes a pass for each field and step of a formula. Most have some thousand elements, so
that a pass takes less time than to let go of Python's lock for it, and to take it again.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..courses.course_moments import Number, merged
from ..courses.course_search import goes_before
from ..fused.loops import begin_of_sums
from ..llvm.instructions import UFUNCS
from ..llvm.kernel_cache import ENTRY, ready
from ..llvm.text import Body, NotCompilable, kind, register

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..llvm.text import DType

Array = np.ndarray[Any, Any]
LEAST = 1 << 10
"""Elements in all; of fewer NumPy's passes keep the lock."""
NARROW = 16
"""Results; NumPy adds up fewer in another order."""
WORK = 20
MOMENTS, EXTREMES = ("var", "std", "nanvar", "nanstd"), ("argmin", "argmax")
ROWS = {"sum": "add", "mean": "add", "prod": "multiply", "min": "minimum", "max": "maximum"}
"""Heads that go from row to row with a ufunc."""


def combine(stack: Array, heads: tuple[str, ...]) -> Array | None:
    """Combine partial results, as their heads do; None without a loop.

    A row of the stack is a partial result: of one head, or with a field for each.
    """
    rows, count = len(stack), stack[0].size
    if stack.size < LEAST or count < NARROW or not stack.flags.c_contiguous:
        return None
    try:
        text = _text(stack.dtype, heads)
    except NotCompilable:
        return None
    loop = ready(text, 1, WORK * stack.size)
    if loop is None:
        return None
    combined = np.empty_like(stack)
    at, to = (x.__array_interface__["data"][0] for x in (stack, combined))
    loop(at, at, to, rows, count, (rows - 1).bit_length(), 0)
    return np.asarray(combined[0])


def _fields(dtype: DType) -> list[tuple[DType, int]]:
    """Return a record's fields, and where each begins."""
    return [(field[0], field[1]) for field in (dtype.fields or {}).values()]


class _Part:
    """The text for one head: its fields in the records of `%out`."""

    def __init__(self, body: Body, head: str, dtype: DType, offset: int, size: int) -> None:
        self.body, self.text, self.head, self.dtype, self.offset, self.size = body, body.text, head, dtype, offset, size
        self.fields = _fields(dtype) or [(dtype, 0)]
        if any(kind(field) == "b" for field, _ in self.fields):
            raise NotCompilable("booleans")

    def write(self) -> None:
        """Write how rows become one."""
        if self.head in ROWS:
            self._go_down(UFUNCS[ROWS[self.head]].get(kind(self.dtype)))
        elif self.head in MOMENTS and len({field for field, _ in self.fields[1:]}) == 1:
            self._halve(self._merge_moments)
        elif self.head in EXTREMES and self.fields[0][0].kind in "iuf":
            self._halve(self._merge_extremes)
        else:
            raise NotCompilable(self.head)

    def _at(self, number: int, i: str) -> str:
        base = self.text.set(f"mul i64 {i}, {self.size}")
        base = self.text.set(f"add i64 {base}, {self.offset + self.fields[number][1]}")
        return self.text.set(f"getelementptr i8, ptr %out, i64 {base}")

    def _load(self, number: int, i: str) -> str:
        """Write the load of an element's field, which is packed as NumPy does it."""
        return self.text.set(f"load {register(self.fields[number][0])}, ptr {self._at(number, i)}, align 1")

    def _store(self, number: int, i: str, value: str) -> None:
        t = register(self.fields[number][0])
        self.text.lines.append(f"  store {t} {value}, ptr {self._at(number, i)}, align 1")

    def _go_down(self, write: Callable[..., str] | None) -> None:
        """Write a pass over all rows: NumPy's sums begin with their identity, all others with the first row."""
        if write is None:
            raise NotCompilable(self.head)
        t, text = register(self.dtype), self.text
        if self.head in ("sum", "mean") and self.dtype.kind == "f":
            with self.body.loop("0", "%count", "1") as i:
                self._store(0, i, write(text, t, [repr(float(begin_of_sums())), self._load(0, i)]))
        with (
            self.body.loop("1", "%rows", "1") as row,
            self.body.loop("0", "%count", "1") as i,
        ):
            other = text.set(f"add i64 {text.set(f'mul i64 {row}, %count')}, {i}")
            self._store(0, i, write(text, t, [self._load(0, i), self._load(0, other)]))

    def _halve(self, merge: Callable[[str, str], None]) -> None:
        """Write how the first half of the rows gets the second one, and so on; an odd row goes along."""
        text, left = self.text, f"%{self.text.name('left')}"
        self.body.entry.lines.append(f"  {left} = alloca i64")
        text.lines.append(f"  store i64 %rows, ptr {left}")
        with self.body.loop("0", "%levels", "1"):
            many = text.set(f"load i64, ptr {left}")
            half, odd = text.set(f"lshr i64 {many}, 1"), text.set(f"and i64 {many}, 1")
            width = text.set(f"mul i64 {half}, %count")
            with self.body.loop("0", width, "1") as i:
                merge(i, text.set(f"add i64 {width}, {i}"))
            with self.body.loop("0", text.set(f"mul i64 {odd}, %count"), "1") as i:
                to = text.set(f"add i64 {width}, {i}")
                source = text.set(f"add i64 {width}, {to}")
                for number in range(len(self.fields)):
                    self._store(number, to, self._load(number, source))
            text.lines.append(f"  store i64 {text.set(f'add i64 {half}, {odd}')}, ptr {left}")

    def _merge_moments(self, i: str, j: str) -> None:
        a, b = ([Number(self.text, self._load(k, x), self.fields[k][0]) for k in range(4)] for x in (i, j))
        both = a[0] + b[0]
        for k, value in enumerate([both, *merged(a[1:], b[1:], a[0], b[0] / both.at_least(1.0))]):
            self._store(k, i, value.name)

    def _merge_extremes(self, i: str, j: str) -> None:
        dtype, text = self.fields[0][0], self.text
        (a, at_a), (b, at_b) = ((self._load(0, x), self._load(1, x)) for x in (i, j))
        takes = goes_before(text, dtype, self.head == "argmax", (b, at_b), (a, at_a))
        t = register(dtype)
        self._store(0, i, text.set(f"select i1 {takes}, {t} {b}, {t} {a}"))
        self._store(1, i, text.set(f"select i1 {takes}, i64 {at_b}, i64 {at_a}"))


@lru_cache(maxsize=64)
def _text(dtype: DType, heads: tuple[str, ...]) -> str:
    """Write the loop: the stack is copied, and its first row gets the others."""
    body = Body()
    parts = [(dtype, 0)] if len(heads) == 1 else _fields(dtype)
    size = body.text.set(f"mul i64 %rows, {body.text.set(f'mul i64 %count, {dtype.itemsize}')}")
    body.text.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %x, i64 {size}, i1 false)")
    for head, (each, offset) in zip(heads, parts, strict=True):
        _Part(body, head, each, offset, dtype.itemsize).write()
    pointers = "ptr noalias readonly %x, ptr %none, ptr noalias %out"
    head = f"define void @{ENTRY}({pointers}, i64 %rows, i64 %count, i64 %levels, i64 %d) {{"
    return "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n" + body.whole(head)
