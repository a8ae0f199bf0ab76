"""A rank's compute threads. They take batches from a queue, one at a time, and tell what came of each.

What nobody wants any more is interrupted. A thread that takes no notice, since it is in a call that isn't Python, is
left to it, and another one takes its place: it computes nothing else, and ends with that call.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING

from ..wire.protocol import Left
from .interrupts import GRACE, forget, interrupt
from .output import COMPUTE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..wire.protocol import Event
    from ..wire.transport import Transport


@dataclass(eq=False, slots=True)
class ComputeThread:
    """A thread: its slot among those of the process, and the batch that it is at (-1: none)."""

    slot: int
    batch: int = -1
    thread: int = 0
    left: bool = False
    """Whether it ends with its present batch."""
    guard: threading.Lock = field(default_factory=threading.Lock)
    """Held while its batch ends, or is ended: of its own, so that no thread waits for another one."""


class ComputeThreads:
    """Threads that run batches.

    `run(batch, slot)` returns what came of a batch; None: it was given back before. `emit` takes events.
    """

    def __init__(
        self,
        transport: Transport,
        count: int,
        run: Callable[[int, int], Event | None],
        emit: Callable[[Event], None],
    ) -> None:
        self._transport, self._run, self._emit = transport, run, emit
        self._work: SimpleQueue[int | None] = SimpleQueue()
        self._workers: list[ComputeThread] = []
        self._strays: list[ComputeThread] = []
        self._ending: dict[ComputeThread, tuple[int, float]] = {}
        for _ in range(count):
            self._begin()

    @property
    def busy(self) -> bool:
        return any(worker.batch >= 0 for worker in [*self._workers, *self._strays])

    def put(self, batch: int) -> None:
        """Have a batch run."""
        self._work.put(batch)

    def end(self, batches: Iterable[int]) -> None:
        """Interrupt what runs of some batches, which nobody wants any more; on the I/O thread."""
        wanted = set(batches)
        interrupted = []
        for worker in [worker for worker in self._workers if worker not in self._ending]:
            with worker.guard:
                if worker.batch in wanted:
                    interrupt(worker.thread, worker.batch)
                    self._ending[worker] = worker.batch, time.monotonic() + GRACE
                    interrupted.append(worker)
        if interrupted:
            timer = threading.Timer(GRACE + 0.01, self._transport.wake)
            timer.daemon = True
            timer.start()

    def leave(self) -> None:
        """Leave threads that have been interrupted in vain to what they do; on the I/O thread, now and then."""
        for worker, (batch, deadline) in list(self._ending.items()):
            with worker.guard:
                if worker.batch == batch and time.monotonic() < deadline:
                    continue
                del self._ending[worker]
                if worker.batch == batch:
                    worker.left = True
                    self._workers.remove(worker)
                    self._strays.append(worker)
                    self._emit(Left(self._transport.rank, batch))
                    self._begin()

    def close(self) -> None:
        """End the threads once their present batch is through; users' functions are interrupted."""
        self.end([worker.batch for worker in self._workers if worker.batch >= 0])
        self._ending.clear()
        for _ in self._workers:
            self._work.put(None)

    def _begin(self) -> None:
        used = {worker.slot for worker in [*self._workers, *self._strays]}
        worker = ComputeThread(min(set(range(len(used) + 1)) - used))
        self._workers.append(worker)
        threading.Thread(target=self._loop, args=(worker,), name=f"{COMPUTE}{worker.slot}", daemon=True).start()

    def _loop(self, worker: ComputeThread) -> None:
        worker.thread = threading.get_ident()
        going = True
        while going and (batch := self._work.get()) is not None:
            worker.batch = batch
            going = self._end(worker, self._run(batch, worker.slot))

    def _end(self, worker: ComputeThread, event: Event | None) -> bool:
        """Tell what came of a worker's batch, behind `Left` if that was told; tell whether the worker goes on."""
        forget(worker.thread)
        with worker.guard:
            worker.batch = -1
            if worker.left:
                self._strays.remove(worker)
            if event is not None:
                self._emit(event)
            return not worker.left


def leave_calls_behind() -> None:
    """See to it that the process ends though threads are still in calls; to be called when all clusters are closed.

    Libraries end in C's own `exit`, where OpenBLAS waits for ever for a product that is under way in another thread.
    """
    deadline = time.monotonic() + GRACE
    threads = [thread for thread in threading.enumerate() if thread.name.startswith(COMPUTE)]
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        library = ctypes.CDLL(None)
        with contextlib.suppress(AttributeError):  # a C library that hasn't got it
            library.on_exit(library._exit, None)  # the first of what `exit` calls, with the status
