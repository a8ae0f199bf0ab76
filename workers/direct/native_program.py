"""Programs whose steps are calls of kernels, as far as kernels take them."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..kernels.compiled.fused.boxes import address_of
from ..kernels.compiled.llvm.text import NotCompilable
from .call_tables import CallTables

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ...graph.kinds.elementwise import Scalar
    from ..kernels.compiled.llvm.machine_code import Native
    from .call_tables import BoundCalls
    from .calls import NativeCall
    from .places import MemoryPlan
    from .step_runner import StepRunner

Array = np.ndarray[Any, Any]
AT_ONCE = 50_000_000
"""Work of the calls that are made at once: an interrupt waits as long."""
MOST_KEPT = 1 << 22
"""Bytes of memory that is kept from run to run."""
LARGE_WORK = 1 << 20
"""Work of a call that threads share: some hundred microseconds, where handing over takes some ten."""


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
        memory = [*inputs, *slots]
        for slot in self._fresh:
            memory[slot] = np.empty(self._plan.sizes[slot], np.uint8)
        bound.put(np.array([address_of(each) for each in memory], np.int64), self._changing)
        try:
            bound.put_numbers(scalars)
        except NotCompilable:
            self._free.append(workspace)
            raise
        steps = runner.with_numbers(scalars)
        for part in self._parts:
            if isinstance(part, _Calls):
                self._call(part, workspace, memory)
            elif (call := workspace.ready.get(part)) is not None:
                call()
            else:
                runner.run(steps, part, inputs, memory)
        if sum(each.nbytes for each in slots) <= MOST_KEPT:
            self._free.append(workspace)
        return memory

    def _call(self, part: _Calls, workspace: _Workspace, memory: list[Array]) -> None:
        """Make calls; several threads, where they share them. These hold the memory that they write to."""

        def share(k: int, held: object) -> None:
            workspace.calls.run(self._loop, part.first + k, 1)

        if not part.shared:
            workspace.calls.run(self._loop, part.first, part.many)
            return
        pool = _pool(self.threads - 1, os.getpid())
        others: list[Future[None]] = []
        mine = [0]
        for k in range(1, part.many):
            try:
                others.append(pool.submit(share, k, memory))
            except RuntimeError:  # the main thread has ended, and no other begins
                mine.append(k)
        for k in mine:
            share(k, memory)
        for other in others:
            other.result()

    def _make_workspace(self, inputs: list[Array], runner: StepRunner) -> _Workspace:
        """Return calls over memory of their own."""
        sizes, count = self._plan.sizes, self._plan.inputs
        slots = [np.empty(0 if slot in self._fresh else sizes[slot], np.uint8) for slot in range(count, len(sizes))]
        bound = self._tables.bind()
        bound.put(np.array([0] * count + [address_of(each) for each in slots], np.int64), self._staying)
        ready = {k: runner.prepare(k, inputs, [*inputs, *slots]) for k in self._fixed}
        return _Workspace(bound, slots, {k: call for k, call in ready.items() if call is not None})


@lru_cache(maxsize=2)
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Return threads of this process, which last: a call takes about as long as beginning one."""
    return ThreadPoolExecutor(threads, "windrow-share")
