"""When a program is compiled: once it has had work enough, and then step by step, as far as kernels take steps."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..config import config
from ..kernels.compiled.fused.boxes import address_of
from ..kernels.compiled.llvm.kernel_cache import ENOUGH_WORK, KEPT_WORK, WAITED_WORK
from .native import CallMaker, CallTables, driver, work_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ...graph.kinds.elementwise import Scalar
    from ..kernels.compiled.llvm.kernel_cache import Kernel
    from ..kernels.compiled.llvm.machine_code import Native
    from .native import BoundCalls, NativeCall
    from .places import MemoryPlan
    from .step_runner import StepRunner

Array = np.ndarray[Any, Any]
FIRST_TIME, KERNEL_TIME = 1.0, 60.0
"""Milliseconds that a step takes in its first run, when nothing is known of it, and that making a kernel takes."""
AT_ONCE = 50_000_000
"""Work of the calls that are made at once: an interrupt waits as long."""
MOST_KEPT = 1 << 26
"""Bytes of memory that is kept from run to run."""
LARGE_WORK = 1 << 20
"""Work of a call that threads share: some hundred microseconds, where handing over takes some ten."""


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
        self._work += self._each
        is_long = FIRST_TIME * len(self._plan.steps) > KERNEL_TIME
        if self._calls is None and (is_long or self._work >= KEPT_WORK or config.jit == "on"):
            self._begin(self._work // max(1, self._each))
        if self._calls is None or any(not _is_made(kernel, work) for kernel, work in list(self._waiting.items())):
            return None
        loop = driver()
        if loop is None:
            self._is_open = False
        else:
            self._native = NativeProgram(self._plan, self._calls, self._fresh, loop, threads)
        return self._native

    def _begin(self, runs: int) -> None:
        """Find the calls of the steps, and have their kernels made; wait for these where that takes less than a run."""
        maker = CallMaker(self._plan.places, self._holes)
        calls = [maker.calls(step) for step in self._plan.steps]
        for call in (call for several in calls for call in several or ()):
            self._waiting[call.kernel] += call.work
        self._calls, self._is_open = calls, bool(self._waiting)
        missing = [kernel for kernel in self._waiting if kernel.after(0) is None]
        first = runs == 1 and FIRST_TIME * len(calls) > KERNEL_TIME * len(missing)
        if first or self._work >= WAITED_WORK:
            _make_all(missing)
        elif self._work >= ENOUGH_WORK:
            with suppress(RuntimeError):  # the process goes down already
                threading.Thread(target=_make_all, args=(missing,), name="windrow-compile", daemon=False).start()


def _make_all(kernels: list[Kernel]) -> None:
    """Have kernels made one after the other, as long as the process doesn't go down."""
    for kernel in kernels:
        if threading.main_thread().is_alive():
            kernel.ask(wait=True)


def _is_made(kernel: Kernel, work: int) -> bool:
    """Whether a kernel is there, or will never be; or else see to it that it is made."""
    return kernel.after(work) is not None or kernel.finished.is_set()


class _Calls(NamedTuple):
    """Calls of the table, from which one on and how many; if they are `shared`, each is made by a thread of its own."""

    first: int
    many: int
    shared: bool


class _Workspace(NamedTuple):
    """What one run at a time uses: calls, memory but for inputs and results, and steps that are ready to be called."""

    calls: BoundCalls
    slots: list[Array]
    ready: dict[int, Callable[[], object]]


class NativeProgram:
    """A program whose steps are calls of kernels, as far as kernels take them."""

    def __init__(
        self,
        plan: MemoryPlan,
        calls: Sequence[list[NativeCall] | None],
        fresh: Collection[int],
        loop: Native,
        threads: int,
    ) -> None:
        self._plan, self._loop, self.threads = plan, loop, threads
        self._parts: list[int | _Calls] = []
        every: list[NativeCall] = []
        work = 0
        for k, several in enumerate(calls):
            if several is None or any(call.kernel.function is None for call in several):
                self._parts.append(k)
                continue
            for call in several:
                shares = call.shares(threads) if threads > 1 and call.work >= LARGE_WORK else [call]
                last = self._parts[-1] if self._parts else k
                if len(shares) == 1 and isinstance(last, _Calls) and not last.shared and work < AT_ONCE:
                    self._parts[-1] = last._replace(many=last.many + 1)
                else:
                    self._parts.append(_Calls(len(every), len(shares), len(shares) > 1))
                    work = 0
                work += call.work
                every += shares
        self._has_shared = any(isinstance(part, _Calls) and part.shared for part in self._parts)
        self._tables = CallTables(every)
        changing = np.isin(self._tables.slots, [*range(plan.inputs), *fresh])
        self._changing, self._staying = np.flatnonzero(changing), np.flatnonzero(~changing)
        self._fresh = sorted(slot for slot in fresh if slot >= plan.inputs)
        self._free: list[_Workspace] = []
        fixed = set(range(plan.inputs, len(plan.sizes))) - set(self._fresh)
        self._fixed = [k for k in self._parts if isinstance(k, int) and fixed.issuperset(plan.slots(plan.steps[k]))]

    def run(self, inputs: list[Array], scalars: Mapping[int, Scalar], runner: StepRunner) -> list[Array]:
        """Return slots of memory in which the results are; `runner` does what isn't compiled.

        Raises
        ------
        NotCompilable
            When a number doesn't fit.
        """
        try:
            workspace = self._free.pop()
        except IndexError:
            workspace = self._make_workspace(inputs, runner)
        bound, slots, _ = workspace
        bound.put_numbers(scalars)
        memory = [*inputs, *slots]
        for slot in self._fresh:
            memory[slot] = np.empty(self._plan.sizes[slot], np.uint8)
        begins = np.array([address_of(each) for each in memory], np.int64)
        bound.put(begins, self._changing)
        with ThreadPoolExecutor(self.threads - 1) if self._has_shared else nullcontext() as pool:
            self._make(workspace, pool, inputs, memory, scalars, runner)
        if sum(each.nbytes for each in slots) <= MOST_KEPT:
            self._free.append(workspace)
        return memory

    def _make(
        self,
        workspace: _Workspace,
        pool: ThreadPoolExecutor | None,
        inputs: list[Array],
        memory: list[Array],
        scalars: Mapping[int, Scalar],
        runner: StepRunner,
    ) -> None:
        bound, _, ready = workspace
        for part in self._parts:
            if isinstance(part, _Calls) and part.shared:
                assert pool is not None
                others = [pool.submit(bound.run, self._loop, part.first + k, 1) for k in range(1, part.many)]
                bound.run(self._loop, part.first, 1)
                for other in others:
                    other.result()
            elif isinstance(part, _Calls):
                bound.run(self._loop, part.first, part.many)
            elif (call := ready.get(part)) is not None:
                call()
            else:
                runner.run(part, inputs, memory, scalars)

    def _make_workspace(self, inputs: list[Array], runner: StepRunner) -> _Workspace:
        """Return calls over memory of their own."""
        sizes, count = self._plan.sizes, self._plan.inputs
        slots = [np.empty(0 if slot in self._fresh else sizes[slot], np.uint8) for slot in range(count, len(sizes))]
        bound = self._tables.bind()
        bound.put(np.array([0] * count + [address_of(each) for each in slots], np.int64), self._staying)
        ready = {k: runner.prepare(k, inputs, [*inputs, *slots]) for k in self._fixed}
        return _Workspace(bound, slots, {k: call for k, call in ready.items() if call is not None})
