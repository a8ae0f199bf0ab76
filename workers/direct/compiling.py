"""When a program is compiled: once it has run often, or before its first run if it has many steps."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from ..config import config
from ..kernels.compiled.llvm.kernel_cache import ENOUGH_WORK, KEPT_WORK, WAITED_WORK
from .call_tables import driver
from .calls import CallMaker, work_of
from .native_program import NativeProgram

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..kernels.compiled.llvm.kernel_cache import Kernel
    from .calls import NativeCall
    from .places import MemoryPlan

FIRST_TIME, KERNEL_TIME = 1.0, 60.0
"""Milliseconds that a step takes in its first run, when nothing is known of it, and that making a kernel takes."""


class Compiling:
    """Looks after the compiled form of a program.

    Parameters
    ----------
    plan : MemoryPlan
    fresh : collection of int
        Slots whose memory is the caller's after a run.
    holes : mapping of int to int
        See `CallMaker`.
    """

    def __init__(self, plan: MemoryPlan, fresh: Collection[int], holes: Mapping[int, int]) -> None:
        self._plan, self._fresh, self._holes = plan, fresh, holes
        self._each = sum(work_of(step.stage) for step in plan.steps)
        self._work = 0
        self._calls: list[list[NativeCall] | None] | None = None
        self._waiting: Counter[Kernel] = Counter()
        self._native: NativeProgram | None = None
        self._is_open = True

    def get(self, threads: int) -> NativeProgram | None:
        """Return the compiled program, for so many threads, if it is there; else see to it that it will be."""
        if config.jit == "off" or not self._is_open:
            return None
        if self._native is not None and self._native.threads == threads:
            return self._native
        before, self._work = self._work, self._work + self._each
        is_long = FIRST_TIME * len(self._plan.steps) > KERNEL_TIME
        if self._calls is None and (is_long or self._work >= KEPT_WORK or config.jit == "on"):
            self._begin(before == 0)
        missing = [kernel for kernel, work in list(self._waiting.items()) if not _is_made(kernel, work)]
        if missing and before < ENOUGH_WORK <= self._work:
            with suppress(RuntimeError):  # the process goes down already
                threading.Thread(target=_make_all, args=(missing,), name="windrow-compile", daemon=False).start()
        calls = self._calls
        if missing or calls is None:
            return None
        loop = driver() if any(kernel.function for kernel in self._waiting) else None
        if loop is None:
            self._is_open, self._calls = False, None
        else:
            self._native = NativeProgram(self._plan, calls, self._fresh, loop, threads)
        return self._native

    def _begin(self, first: bool) -> None:
        """Find the calls of the steps; make their kernels where that takes less time than the first run."""
        maker = CallMaker(self._plan.places, self._holes)
        self._calls = [maker.calls(step) for step in self._plan.steps]
        for call in (call for several in self._calls for call in several or ()):
            self._waiting[call.kernel] += call.work
        missing = [kernel for kernel in self._waiting if kernel.after(0) is None]
        if self._work >= WAITED_WORK or (first and FIRST_TIME * len(self._calls) > KERNEL_TIME * len(missing)):
            _make_all(missing)


def _make_all(kernels: list[Kernel]) -> None:
    """Have kernels made one after the other, as long as the process doesn't go down."""
    for kernel in kernels:
        if threading.main_thread().is_alive():
            kernel.ask(wait=True)


def _is_made(kernel: Kernel, work: int) -> bool:
    """Whether a kernel is there, or will never be; or else see to it that it is made."""
    return kernel.after(work) is not None or kernel.finished.is_set()
