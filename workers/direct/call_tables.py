"""Tables of calls in one memory, and the compiled loop that makes the calls one after the other.

A run of a program puts in the addresses of its inputs and results, and the loop goes over the records of the calls: a
step of a few elements takes as long as a call in C.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.compiled.fused.boxes import address_of
from ..kernels.compiled.llvm.kernel_cache import ENTRY, WAITED_WORK, ready
from .calls import CONSTANT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...graph.kinds.elementwise import Scalar
    from ..kernels.compiled.llvm.kernel_cache import Kernel
    from ..kernels.compiled.llvm.machine_code import Native
    from .calls import NativeCall

Array = np.ndarray[Any, Any]
WORDS = 7
"""Of the record of a call: the function, its table and scalars, how many boxes of which width, two more numbers."""


class CallTables:
    """Tables of calls in one memory, but for where slots begin: a template of what is run.

    Parameters
    ----------
    calls : sequence of NativeCall
        Whose kernels are all there.
    """

    def __init__(self, calls: Sequence[NativeCall]) -> None:
        sizes = np.array([call.rows.size for call in calls], np.int64)
        begins = np.cumsum(sizes) - sizes
        self._records = int(sizes.sum())
        lengths = np.array([max(8, len(call.scalars)) for call in calls], np.int64)
        scalars_at = np.cumsum(lengths) - lengths
        self.calls = len(calls)
        self.scalars = np.frombuffer(b"".join([c.scalars.ljust(8, b"\0") for c in calls]), np.uint8)
        records = np.zeros((len(calls), WORDS), np.int64)
        for row, call in zip(records, calls, strict=True):
            row[[0, 3, 4, 5, 6]] = _address(call.kernel), len(call.rows), call.rows.shape[1], call.beside, call.together
        records[:, 1], records[:, 2] = begins * 8, scalars_at
        self.words = np.concatenate([*(call.rows.ravel() for call in calls), records.ravel()])
        cells = [
            (begin + np.arange(len(call.rows))[:, None] * call.rows.shape[1] + np.arange(call.slots.shape[1])).ravel()
            for begin, call in zip(begins.tolist(), calls, strict=True)
        ]
        slots = np.concatenate([call.slots.ravel() for call in calls])
        moving = slots != CONSTANT
        self.cells, self.slots = np.concatenate(cells)[moving], slots[moving]
        self.offsets = self.words[self.cells]
        holes = [
            (at + 8 * hole.at, hole) for at, call in zip(scalars_at.tolist(), calls, strict=True) for hole in call.holes
        ]
        self.holes = tuple(holes)
        self._kept = [(call.kernel, call.held) for call in calls]

    def bind(self) -> BoundCalls:
        """Return calls in memory of their own, which one thread may run at a time."""
        words, scalars = self.words.copy(), self.scalars.copy()
        records = words[self._records :].reshape(-1, WORDS)
        records[:, 1] += address_of(words)
        records[:, 2] += address_of(scalars)
        return BoundCalls(self, words, scalars, address_of(records))


@dataclass(frozen=True, eq=False)
class BoundCalls:
    """Calls of which it is known where slots begin, once that is put in."""

    tables: CallTables
    words: Array
    scalars: Array
    at: int

    def put(self, begins: Array, chosen: Array) -> None:
        """Put in where slots begin: `chosen` tells in which of the tables' cells."""
        tables = self.tables
        self.words[tables.cells[chosen]] = tables.offsets[chosen] + begins[tables.slots[chosen]]

    def put_numbers(self, numbers: Mapping[int, Scalar]) -> None:
        """Put in the scalars that are holes.

        Raises
        ------
        NotCompilable
            When one doesn't fit.
        """
        for at, hole in self.tables.holes:
            self.scalars[at : at + 8] = np.frombuffer(hole.scalar.bytes_of(numbers[hole.number].value), np.uint8)

    def run(self, loop: Native, first: int, count: int) -> None:
        """Make so many calls from one on."""
        loop(self.at + 8 * WORDS * first, self.at, count, 0, 0, 0)


def driver() -> Native | None:
    """Return the loop that goes over records; None where nothing can be compiled."""
    loop: Native | None = ready(_text(), 0, WAITED_WORK, waits=WAITED_WORK)
    return loop


@cache
def _text() -> str:
    types = ["ptr", "ptr", "ptr", "i64", "i64", "i64", "i64"]
    lines = [f"define void @{ENTRY}(ptr %records, ptr %none, i64 %count, i64 %a, i64 %b, i64 %c) {{", "entry:"]
    lines += ["  br label %head", "head:", "  %i = phi i64 [ 0, %entry ], [ %next, %body ]"]
    lines += ["  %more = icmp slt i64 %i, %count", "  br i1 %more, label %body, label %done", "body:"]
    lines += [f"  %at = mul i64 %i, {WORDS}", "  %r = getelementptr i64, ptr %records, i64 %at"]
    for k, kind in enumerate(types):
        lines += [f"  %w{k} = getelementptr i64, ptr %r, i64 {k}", f"  %v{k} = load {kind}, ptr %w{k}, align 8"]
    arguments = ", ".join(f"{kind} %v{k}" for k, kind in enumerate(types) if k)
    lines += [f"  call void %v0({arguments})", "  %next = add i64 %i, 1", "  br label %head"]
    return "\n".join([*lines, "done:", "  ret void", "}", ""])


def _address(kernel: Kernel) -> int:
    return ctypes.cast(kernel.function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
