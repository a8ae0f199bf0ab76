"""A kernel's text as it is written: dtypes as LLVM has them, loads and stores, conversions, loops."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

DType = np.dtype[Any]
_FLOATS = {4: "float", 8: "double"}


class NotCompilable(Exception):
    """A program that compiled kernels don't take."""


def kind(dtype: DType) -> str:
    """Return "b", "i", "u" or "f".

    Raises
    ------
    NotCompilable
        For a dtype that isn't taken.
    """
    if not dtype.isnative or dtype.kind not in "biuf" or (dtype.kind == "f" and dtype.itemsize not in _FLOATS):
        raise NotCompilable(f"dtype {dtype}")
    return dtype.kind


def register(dtype: DType) -> str:
    """Return LLVM's type of a value between its load and its store."""
    k = kind(dtype)
    return "i1" if k == "b" else _FLOATS[dtype.itemsize] if k == "f" else f"i{8 * dtype.itemsize}"


def memory(dtype: DType) -> str:
    """Return LLVM's type of a value in memory."""
    return "i8" if kind(dtype) == "b" else register(dtype)


class Text:
    """Lines of a part of a function; its registers have a prefix and a number."""

    def __init__(self, prefix: str = "v") -> None:
        self.lines: list[str] = []
        self._prefix, self._count = prefix, 0

    def name(self, hint: str = "") -> str:
        """Return a name that isn't used yet."""
        self._count += 1
        return f"{self._prefix}{hint}{self._count}"

    def set(self, instruction: str) -> str:
        """Write an instruction; return the register that holds its result."""
        register_name = "%" + self.name()
        self.lines.append(f"  {register_name} = {instruction}")
        return register_name

    def load(self, dtype: DType, pointer: str, index: str) -> str:
        """Write the load of an array's element."""
        at = self.set(f"getelementptr inbounds {memory(dtype)}, ptr {pointer}, i64 {index}")
        element = self.set(f"load {memory(dtype)}, ptr {at}, align {dtype.itemsize}")
        return self.set(f"icmp ne i8 {element}, 0") if kind(dtype) == "b" else element

    def store(self, dtype: DType, value: str, pointer: str, index: str) -> None:
        """Write the store of an array's element."""
        at = self.set(f"getelementptr inbounds {memory(dtype)}, ptr {pointer}, i64 {index}")
        if kind(dtype) == "b":
            value = self.set(f"zext i1 {value} to i8")
        self.lines.append(f"  store {memory(dtype)} {value}, ptr {at}, align {dtype.itemsize}")


class Body:
    """A function's text: its entry, which runs once, and what follows, with loops."""

    def __init__(self) -> None:
        self.entry, self.text = Text("e"), Text()
        self._loops: list[int | None] = []

    @contextmanager
    def loop(self, start: str, stop: str, step: str, together: int | None = None) -> Iterator[str]:
        """Write a loop around what is written inside; gives the register that counts.

        Unrolling is left to the vectoriser: done in full, it takes half a second. `together` are the vectors that it
        has under way at once, where it shouldn't choose.
        """
        name, lines = self.text.name("loop"), self.text.lines
        self.entry.lines.append(f"  %{name}.p = alloca i64")
        lines += [f"  store i64 {start}, ptr %{name}.p", f"  br label %{name}.head", f"{name}.head:"]
        lines += [f"  %{name} = load i64, ptr %{name}.p", f"  %{name}.more = icmp slt i64 %{name}, {stop}"]
        lines += [f"  br i1 %{name}.more, label %{name}.body, label %{name}.end", f"{name}.body:"]
        yield f"%{name}"
        lines += [
            f"  %{name}.next = add nsw nuw i64 %{name}, {step}",
            f"  store i64 %{name}.next, ptr %{name}.p",
        ]
        lines += [f"  br label %{name}.head, !llvm.loop !{len(self._loops) + 1}", f"{name}.end:"]
        self._loops.append(together)

    def least(self, a: str, b: str) -> str:
        return self.text.set(f"select i1 {self.text.set(f'icmp slt i64 {a}, {b}')}, i64 {a}, i64 {b}")

    def whole(self, head: str) -> str:
        """Return the function's text."""
        lines = [
            head,
            "entry:",
            *self.entry.lines,
            "  br label %start",
            "start:",
            *self.text.lines,
            "  ret void",
            "}",
        ]
        return "\n".join([*lines, self.metadata()])

    def metadata(self) -> str:
        """Return what tells LLVM of the loops; it follows the functions."""
        lines = ['!0 = !{!"llvm.loop.unroll.disable"}']
        for i, together in enumerate(self._loops, 1):
            more = "" if together is None else f', !{{!"llvm.loop.interleave.count", i32 {together}}}'
            lines.append(f"!{i} = distinct !{{!{i}, !0{more}}}")
        return "\n".join([*lines, ""])


def cast(text: Text, value: str, source: DType, target: DType) -> str:
    """Write a conversion as NumPy's unsafe casting has it.

    Raises
    ------
    NotCompilable
        For floats to integers.
    """
    have, want, a, b = kind(source), kind(target), register(source), register(target)
    if a == b:
        return value
    if want == "b":
        return text.set(f"fcmp une {a} {value}, 0.0" if have == "f" else f"icmp ne {a} {value}, 0")
    if have == "f":
        if want != "f":
            raise NotCompilable("floats to integers")
        return text.set(f"{'fpext' if target.itemsize > source.itemsize else 'fptrunc'} {a} {value} to {b}")
    if want == "f":
        return text.set(f"{'sitofp' if have == 'i' else 'uitofp'} {a} {value} to {b}")
    if have != "b" and target.itemsize < source.itemsize:
        return text.set(f"trunc {a} {value} to {b}")
    return text.set(f"{'sext' if have == 'i' else 'zext'} {a} {value} to {b}")
