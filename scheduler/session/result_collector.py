"""The calling thread's side of a job: wait, copy what arrives into the results or hand it over, show progress."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import sys
import threading
import time
from contextvars import ContextVar
from queue import Empty
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.errors import ClusterError
from ...graph.few import put
from ...workers.config import config
from ...workers.sources.stores.zarr_loop import check_loop
from .job import Arrival, EndJob, Gathered, Job, Submit, WatchRequest
from .progress import Bar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...graph.chunks.grid import Grid, Index
    from ...graph.lowering.stage import Stage
    from ..engine.engine import Engine

Array = np.ndarray[Any, Any]
TICK = 0.1
SINK_BYTES = 1 << 16
"""Bytes of a stage's largest block from which on kernels of the same process write into the user's result."""
given_up: ContextVar[threading.Event | None] = ContextVar("windrow_given_up", default=None)
"""What ends the computations of a context from outside: those of a thread that somebody awaits."""


PATIENCE = 1.0
"""Seconds for which the script's main thread may be at its Ctrl-C; then it waits for what other threads compute."""


class HeldUp:
    """Finds whether the main thread was interrupted, and can't go on since it waits for this thread.

    A Ctrl-C comes to the main thread alone. Where that leaves `with ThreadPoolExecutor()`, it waits for the pool's
    threads, and so for what they compute, for ever where rank programs wait for each other.
    """

    def __init__(self) -> None:
        self._main = threading.main_thread().ident
        self._beside = threading.get_ident() != self._main
        self._error: BaseException | None = None
        self._since = 0.0

    def __call__(self) -> bool:
        """Look, and tell."""
        if not self._beside:
            return False
        error: Any = sys._current_exceptions().get(self._main or 0)  # the one that it handles
        if sys.version_info < (3, 12):
            error = error and error[1]
        if not isinstance(error, KeyboardInterrupt):
            self._error = None
        elif error is not self._error:
            self._error, self._since = error, time.monotonic()
        return self._error is not None and time.monotonic() - self._since > PATIENCE


def insist(act: Callable[[], None]) -> None:
    """Do what may be done twice until it is done, whatever Ctrl-C comes at this moment."""
    while True:
        try:
            act()
            return
        except KeyboardInterrupt:
            continue


def writes_results(stage: Stage) -> bool:
    """Tell whether kernels of this process write a stage's blocks straight into the user's result, if they can."""
    large = stage.grid.largest * stage.dtype.itemsize >= SINK_BYTES
    return large and stage.data is None and stage.blocks_per_task == 1


class ResultCollector:
    """Brings a job's results together; a keyboard interrupt cancels the job.

    With `take` there are no whole results: `take(number, grid, block, values)` is called with each block of a target,
    once, in whatever order. The values aren't there any longer when it returns.
    """

    def __init__(
        self,
        engine: Engine,
        job: Job,
        names: list[str],
        relied: Sequence[object] = (),
        take: Callable[[int, Grid, int, Array], None] | None = None,
    ) -> None:
        self.engine, self.job, self._take = engine, job, take
        self._relied = relied
        self.results: dict[str, Array] = dict(zip(names, job.results or [], strict=True)) if names else {}
        self._open = dict.fromkeys(range(len(names)))
        self._seen: dict[int, Array] = {}

    def start(self) -> None:
        """Hand the job to the engine. What it relies on may be released from then on: it has what it needs."""
        self.engine.request(Submit((self.job,)))
        self._relied = ()

    def run(self, deadline: float | None = None) -> bool:
        """Wait until all results are complete (or all chunks stored), or for the deadline; tell whether they are.

        What stopped the job is raised.
        """
        job, ending, held_up = self.job, given_up.get(), HeldUp()
        check_loop()
        bar = Bar(config.progress, self.engine, job)
        if job.results is None and not job.finished:
            self.engine.request(WatchRequest(job))
        try:
            while not job.finished or (job.error is None and self._open):
                idle, arrival = False, None
                if ending is not None and ending.is_set():
                    raise ClusterError("the computation was cancelled")
                left = TICK if deadline is None else deadline - time.monotonic()
                if left <= 0:
                    return False
                try:
                    arrival = job.arrivals.get(timeout=min(TICK, left))
                except Empty:
                    idle = True
                if idle:  # outside of except, so that what is raised here doesn't tell of Empty
                    if held_up():
                        raise ClusterError("the computation was cancelled by Ctrl-C: the main thread waits for it")
                    if self.engine.over:
                        job.fail(ClusterError("the cluster was closed, or its engine ended, while it computed"))
                    bar.update()
                    continue
                if self._accept(arrival):
                    break
                if arrival is not None:
                    bar.update()
        except BaseException:
            if job.results is not None:  # who waits for a persisted array only stops waiting
                self.cancel()
            raise
        finally:
            bar.close()
        self._finish()
        return True

    def _accept(self, arrival: Arrival | None) -> bool:
        """Copy what has arrived; tell whether all results are complete."""
        if arrival is not None:
            self._copy(arrival)
        return bool(self.results) and not self._open

    def _finish(self) -> None:
        """Raise what stopped the job, or end it: its results are complete."""
        error = self.job.error
        if error is not None:
            try:
                raise error
            finally:  # no circle of the exception, its traceback, and what that holds
                self.job.error = None if self.results else error
                error = None
        if self.results:
            self.job.finished = True
            self.engine.request(EndJob(self.job))

    def cancel(self) -> None:
        """Cancel the job; a second Ctrl-C at this moment must not leave it running."""

        def ask() -> None:
            self.job.cancelled = True  # seen by the engine while it plans
            self.engine.request(EndJob(self.job))

        insist(ask)

    def _copy(self, arrival: Arrival) -> None:
        stage, number, tasks = arrival.stage, arrival.target, arrival.tasks
        seen = self._seen.setdefault(number, np.zeros(stage.ntasks, bool))
        if arrival.slabs is not None and (stage.gang is None or stage.gang.outs):  # else nobody looks at them
            assert self.job.results is not None
            result = self.job.results[number]
            together = isinstance(arrival.slabs, np.ndarray) and stage.grid.ndim == 1 and not seen[tasks].any()
            if together and self._take is None and int(np.ptp(tasks)) == len(tasks) - 1:
                assert isinstance(arrival.slabs, np.ndarray)
                self._copy_run(stage, result, tasks, arrival.slabs)
            else:
                for task, slab in zip(tasks.tolist(), arrival.slabs, strict=True):
                    if not seen[task]:  # computed again: what we have seen is not kept for us
                        self._copy_task(stage, number, result, task, slab)
        seen[tasks] = True
        self.engine.request(Gathered(self.job, stage.token, tasks))
        if seen.all():
            self._open.pop(number, None)

    @staticmethod
    def _copy_run(stage: Stage, result: Array, tasks: Index, slabs: Array) -> None:
        """Copy small blocks that follow each other, and lie at equal distances, at once."""
        axis = stage.grid.axes[0]
        part = result[axis.start(int(tasks[0])) : axis.stop(int(tasks[-1]))]
        np.copyto(part.reshape(len(tasks), -1).view(np.uint8), slabs)

    def _copy_task(self, stage: Stage, number: int, result: Array, task: int, slab: Array) -> None:
        offsets = stage.offsets(task)
        for i, block in enumerate(stage.blocks(task)):
            shape = stage.grid.block_shape(block)
            content = slab[int(offsets[i]) : int(offsets[i + 1])].view(stage.dtype).reshape(shape)
            if self._take is None:
                put(stage.grid.view(result, block), content)
            else:
                self._take(number, stage.grid, int(block), content)
