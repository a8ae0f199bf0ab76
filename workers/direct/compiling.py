"""When a program is compiled: once it has run often, or before its first run if it has many steps."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ..config import config
from ..kernels.compiled.llvm.kernel_cache import KEPT_WORK, WAITED_WORK, Kernel
from .call_tables import driver
from .calls import CallMaker, work_of
from .native_program import NativeProgram

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .calls import NativeCall
    from .places import MemoryPlan

FIRST_TIME, KERNEL_TIME = 1.0, 60.0
"""Milliseconds that a step takes in its first run, when nothing is known of it, and that making a kernel takes."""


class _Calls(NamedTuple):
    """The calls of each step, None where no kernel does it, and the work that each kernel has in a run."""

    of_steps: list[list[NativeCall] | None]
    work: Counter[Kernel]


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
        self._calls: _Calls | None = None
        self._by_threads: dict[int, NativeProgram] = {}
        self._is_open = True

    def get(self, threads: int) -> NativeProgram | None:
        """Return the compiled program, for so many threads, if it is there; else see to it that it will be."""
        if config.jit == "off" or not self._is_open:
            return None
        native = self._by_threads.get(threads)
        if native is not None:
            return native
        first, self._work = not self._work, self._work + self._each
        calls = self._calls
        if calls is None:
            is_long = FIRST_TIME * len(self._plan.steps) > KERNEL_TIME
            if not (is_long or self._work >= KEPT_WORK or config.jit == "on"):
                return None
            calls = self._calls = self._find_calls(first)
        missing = [kernel for kernel, work in calls.work.items() if not _is_made(kernel, work, self._work)]
        if missing:
            return None
        loop = driver() if any(kernel.function for kernel in calls.work) else None
        if loop is None:
            self._is_open = False
            return None
        native = self._by_threads[threads] = NativeProgram(self._plan, calls.of_steps, self._fresh, loop, threads)
        return native

    def _find_calls(self, first: bool) -> _Calls:
        """Find the calls of the steps; make their kernels where that takes less time than the first run."""
        maker = CallMaker(self._plan.places, self._holes)
        of_steps = [maker.calls(step) for step in self._plan.steps]
        work = Counter[Kernel]()
        for call in (call for several in of_steps for call in several or ()):
            work[call.kernel] += call.work
        missing = [kernel for kernel in work if kernel.after(0) is None]
        if self._work >= WAITED_WORK or (first and FIRST_TIME * len(of_steps) > KERNEL_TIME * len(missing)):
            for kernel in missing:
                kernel.ask(wait=True)
        return _Calls(of_steps, work)


def _is_made(kernel: Kernel, work: int, program: int) -> bool:
    """Whether a kernel is there, or will never be; or else have it made once it, or the whole program, works enough."""
    return kernel.after(work, ahead=program) is not None or kernel.finished.is_set()
