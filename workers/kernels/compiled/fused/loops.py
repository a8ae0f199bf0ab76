"""The loops of fused kernels: storing every element, reductions whose order can't be seen, sums on lanes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..llvm.text import Body, DType, NotCompilable, Text, cast, kind, register

if TYPE_CHECKING:
    from collections.abc import Callable

LANES = 512


@dataclass(frozen=True)
class Loops:
    """Writes loops around `element`, which writes the value at a position of the inputs."""

    body: Body
    element: Callable[[str], str]

    def store(self, dtype: DType) -> DType:
        """Store every element."""
        with self.body.loop("0", self.body.text.set("mul i64 %blocks, %size"), "1") as i:
            self.body.text.store(dtype, self.element(i), "%out", i)
        return dtype

    def reduce(self, head: str, source: DType, target: DType) -> DType:
        """Reduce each block to one element; return its dtype."""
        if sums_on_lanes(head, target):
            self._lanes(source, target)
        else:
            self._fold(head, source, target)
        return np.dtype(bool) if head in ("any", "all") else target

    def _fold(self, head: str, source: DType, target: DType) -> None:
        """Write a reduction whose order can't be seen."""
        text = self.body.text
        dtype, first, instruction = _order_free(head, source, target)
        t = register(dtype)
        self.body.entry.lines.append(f"  %state = alloca {t}")
        with self.body.loop("0", "%blocks", "1") as block:
            base = text.set(f"mul i64 {block}, %size")
            text.lines.append(f"  store {t} {first}, ptr %state")
            with self.body.loop("0", "%size", "1") as i:
                element = self.element(text.set(f"add nsw nuw i64 {base}, {i}"))
                if head in ("any", "all", "count_nonzero"):
                    element, source = cast(text, element, source, np.dtype(bool)), np.dtype(bool)
                value = cast(text, element, source, dtype)
                text.lines.append(f"  store {t} {_write_merge(text, instruction, t, value)}, ptr %state")
            text.store(dtype, text.set(f"load {t}, ptr %state"), "%out", block)

    def _lanes(self, source: DType, target: DType) -> None:
        """Write a sum on lanes. They begin with -0.0, which changes nothing, or as `np.add.reduce` begins.

        With `%blocks` zero it is one tile, whose lanes are wanted as they are.
        """
        text, t = self.body.text, register(target)
        folds = text.set("icmp ne i64 %blocks, 0")
        blocks = text.set(f"select i1 {folds}, i64 %blocks, i64 1")
        wanted = text.set(f"select i1 {folds}, i64 1, i64 {LANES}")
        self.body.entry.lines += [f"  %{name} = alloca [{LANES} x {t}], align 64" for name in ("sum", "part")]
        with self.body.loop("0", blocks, "1") as block:
            begin = text.set(f"mul i64 {block}, %size")
            end = text.set(f"add i64 {begin}, %size")
            self._clear("%sum", target, "-0.0")
            with self.body.loop(begin, end, "%group") as group:
                after = text.set(f"add i64 {group}, %group")
                with self.body.loop(group, after, "%tile") as tile:
                    stop = self.body.least(text.set(f"add i64 {tile}, %tile"), after)
                    rows = text.set(f"icmp sge i64 {text.set(f'sub i64 {stop}, {tile}')}, {2 * LANES}")
                    self._clear("%part", target, text.set(f"select i1 {rows}, {t} {begin_of_sums()}, {t} -0.0"))
                    with self.body.loop(tile, stop, str(LANES)) as row:
                        width = self.body.least(text.set(f"sub i64 {stop}, {row}"), str(LANES))
                        with self.body.loop("0", width, "1") as i:
                            element = self.element(text.set(f"add nsw nuw i64 {row}, {i}"))
                            self._add(target, "%part", i, cast(text, element, source, target))
                    with self.body.loop("0", str(LANES), "1") as i:
                        self._add(target, "%sum", i, text.load(target, "%part", i))
            self._halve(target, folds)
            with self.body.loop("0", wanted, "1") as i:
                text.store(target, text.load(target, "%sum", i), "%out", text.set(f"add nsw nuw i64 {block}, {i}"))

    def _clear(self, lanes: str, target: DType, value: str) -> None:
        with self.body.loop("0", str(LANES), "1") as i:
            self.body.text.store(target, value, lanes, i)

    def _add(self, target: DType, lanes: str, i: str, value: str) -> None:
        old = self.body.text.load(target, lanes, i)
        self.body.text.store(target, self.body.text.set(f"fadd {register(target)} {old}, {value}"), lanes, i)

    def _halve(self, target: DType, folds: str) -> None:
        """Write the fold of the lanes in halves, as `reductions.reduce_lanes` does it."""
        text = self.body.text
        self.body.entry.lines.append("  %width.p = alloca i64")
        width = text.set(f"select i1 {folds}, i64 {self.body.least('%tile', str(LANES))}, i64 1")
        text.lines.append(f"  store i64 {width}, ptr %width.p")
        # Ten halvings fold 512 lanes; those of one lane do nothing.
        with self.body.loop("0", str(LANES.bit_length()), "1"):
            width = text.set("load i64, ptr %width.p")
            half = text.set(f"lshr i64 {text.set(f'add i64 {width}, 1')}, 1")
            with self.body.loop("0", text.set(f"sub i64 {width}, {half}"), "1") as i:
                self._add(target, "%sum", i, text.load(target, "%sum", text.set(f"add i64 {half}, {i}")))
            text.lines.append(f"  store i64 {half}, ptr %width.p")


def sums_on_lanes(head: str, target: DType) -> bool:
    """Whether a reduction of whole blocks is one whose order is that of the lanes."""
    return head in ("sum", "mean") and kind(target) == "f"


@lru_cache(maxsize=1)
def begin_of_sums() -> float:
    """Return what NumPy's sum of several rows begins with, -0.0 or 0.0: seen where all of them are -0.0."""
    return -0.0 if np.signbit(np.add.reduce(np.full((1, 2, LANES), -0.0), axis=1)).all() else 0.0


def _write_merge(text: Text, instruction: str, t: str, value: str) -> str:
    old = text.set(f"load {t}, ptr %state")
    if instruction.startswith("icmp"):
        return text.set(f"select i1 {text.set(f'{instruction} {t} {value}, {old}')}, {t} {value}, {t} {old}")
    return text.set(f"{instruction} {t} {old}, {value}")


def _order_free(head: str, source: DType, target: DType) -> tuple[DType, str, str]:
    """Return the dtype of a reduction's state, what it begins with, and the instruction that merges."""
    k, bits = kind(target), 8 * target.itemsize
    if head in ("any", "all"):
        return np.dtype(bool), "false" if head == "any" else "true", "or" if head == "any" else "and"
    if head in ("sum", "count_nonzero") and k in "iu":
        return target, "0", "add"
    if head in ("min", "max") and k in "iu" and source == target:
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if k == "i" else (0, (1 << bits) - 1)
        test = "icmp " + ("s" if k == "i" else "u") + ("lt" if head == "min" else "gt")
        return target, str(high if head == "min" else low), test
    raise NotCompilable(head)
