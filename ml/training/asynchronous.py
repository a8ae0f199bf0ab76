"""Asynchronous training: shards that don't wait for each other, and one state that all of them move.

The shared state lies with the driver. Each shard's round is a graph of its own, which takes the state as it is when
the round begins and runs where the shard's rows are. When a round arrives, the shared state is moved by what the round
has changed, weighted by the shard's rows, and the shard begins the next one. When all shards keep step, the moves of
a round together are the average of the synchronous way; when one is slow, the others run on, up to `staleness` rounds
ahead of it. Rounds travel as all chunks do, so a dead rank costs the rounds that ran there, which are run again from
the states they began with.

J. Dean et al.: Large scale distributed deep networks (Downpour SGD), NIPS (2012). S. Zhang, A. Choromanska, Y. LeCun:
Deep learning with elastic averaging SGD, NIPS (2015). Q. Ho et al.: More effective distributed ML via a stale
synchronous parallel parameter server, NIPS (2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...arrays.creation.from_data import from_array
from ...graph.arguments import check_integer
from ...graph.errors import ClusterError
from ...scheduler.session.cluster import session
from .state import StateLayout
from .tasks import RoundMetrics, Task, join_rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...arrays.array import Array
    from ...scheduler.session.job import Arrival, Job
    from ...scheduler.session.result_collector import ResultCollector
    from .progress import Progress
    from .shards import Shards

__all__ = ["STALENESS", "Asynchronous"]

Values = np.ndarray[Any, Any]
TICK = 0.1
STALENESS = 4


@dataclass
class _Shard:
    """Where a shard is: its rows, what it keeps, the rounds it has done; the one that runs, and what it began with."""

    rows: tuple[Array, ...]
    share: float
    own: Values
    clock: int = 0
    pulled: Values | None = None
    gather: ResultCollector | None = None


class Asynchronous:
    """Runs epochs over shards, each at its own pace.

    Use it in a `with` statement, which cancels what still runs. Rounds begin while `epoch` waits; between its calls
    the shared state stays as it is, and those that run come to their ends.

    Parameters
    ----------
    work, state, own, shards, seed, metrics, sums
        As for `Rounds`.
    epochs : range
        Which will be run.
    rounds : int
        In each epoch.
    staleness : int
        How many rounds a shard may be ahead of the slowest when it begins one.
    """

    kept: Any = ()
    """Of the shared state's moves nothing is kept, see `Rounds.kept`."""

    def __init__(
        self,
        work: Callable[..., Any],
        state: Any,
        own: Any,
        shards: Shards,
        seed: int,
        metrics: tuple[str, ...],
        epochs: range,
        rounds: int,
        staleness: int = STALENESS,
        sums: int = 0,
    ) -> None:
        staleness = check_integer("train", "staleness", staleness, 0, expected="a number of rounds, not negative")
        layout = StateLayout.of(state)
        self.task = Task(work, layout, StateLayout.of(own), seed, metrics, sums, len(shards.arrays), layout)
        self.staleness = int(staleness)
        self.ahead = 0
        """The most rounds that a shard was ahead of the slowest when it began one."""
        self._epochs, self._rounds = epochs, rounds
        self._shared = self.task.layout.pack(state)
        mine, ends = self.task.own.pack(own), np.cumsum(shards.sizes).tolist()
        self._shards = [
            _Shard(tuple(a[end - size : end] for a in shards.arrays), size / ends[-1], mine)
            for size, end in zip(shards.sizes, ends, strict=True)
        ]
        self._told: dict[int, list[RoundMetrics]] = {}
        self._arrived: SimpleQueue[tuple[Job, Arrival | None]] = SimpleQueue()
        self._running: dict[Job, tuple[int, ResultCollector]] = {}

    @property
    def state(self) -> Any:
        """The shared state."""
        return self.task.layout.unpack(self._shared)

    @state.setter
    def state(self, value: Any) -> None:
        """Replace it; what shards are at work on will move the new one."""
        self._shared = self.task.layout.pack(value)

    @property
    def owns(self) -> Values:
        """What the shards keep for themselves, packed: a row of bytes each."""
        return np.stack([shard.own for shard in self._shards])

    @owns.setter
    def owns(self, value: Values) -> None:
        for shard, own in zip(self._shards, value, strict=True):
            shard.own = own

    @property
    def slowest(self) -> int:
        """Rounds that every shard has done."""
        return min(shard.clock for shard in self._shards)

    def epoch(self, epoch: int, count: int, progress: Progress | None = None) -> RoundMetrics:
        """Go on until every shard has done an epoch; return what its rounds tell together.

        Others may be further. `count`, the rounds of an epoch, is the same for all.
        """
        goal = (self._epochs.index(epoch) + 1) * count
        while self.slowest < goal:
            self._begin()
            try:
                job, arrival = self._arrived.get(timeout=TICK)
            except Empty:
                if session().engine.over:
                    raise ClusterError("the cluster was closed, or its engine ended, while it trained") from None
                rows = 0.0
            else:
                rows = self._took(job, arrival)
            if progress is not None:
                progress.advance(rows)
        return join_rounds(self._told.pop(epoch))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Cancel the rounds that run; what they gave is dropped."""
        for _, gather in self._running.values():
            gather.cancel()
        self._running.clear()

    def _begin(self) -> None:
        """Begin a round of each shard that is near enough to the slowest."""
        slowest = self.slowest
        for number, shard in enumerate(self._shards):
            ahead = shard.clock - slowest
            if shard.gather is not None or ahead > self.staleness or shard.clock == len(self._epochs) * self._rounds:
                continue
            epoch, part = divmod(shard.clock, self._rounds)
            packed_round = self.task.pack_round(self._epochs[epoch], part, self._shared, shard.own, shard=number)
            report = self.task.graph(shard.rows, from_array(packed_round, chunks=-1), (), 1)
            shard.pulled = self._shared
            shard.gather = session().prepare(report.expr, self._arrived)
            self._running[shard.gather.job] = (
                number,
                shard.gather,
            )  # known before it runs: an interrupt may come between
            shard.gather.start()
            self.ahead = max(self.ahead, ahead)

    def _took(self, job: Job, arrival: Arrival | None) -> float:
        """Take what arrived of a round; when it is whole, move the shared state. Return the rows it saw."""
        if job not in self._running:
            return 0.0
        number, gather = self._running[job]
        shard, pulled = self._shards[number], self._shards[number].pulled
        assert pulled is not None
        if not gather.took(arrival) and job.error is None:
            return 0.0
        gather.finish()
        del self._running[job]
        shard.gather = None
        report = next(iter(gather.results.values()))
        metrics = self.task.read_metrics(report)[0]
        if metrics.rows:
            state = self.task.read_given(report)[0]
            self._shared = self.task.layout.move(self._shared, pulled, state, shard.share)
        shard.own = self.task.read_own(report)[0].copy()
        self._told.setdefault(self._epochs[shard.clock // self._rounds], []).append(metrics)
        shard.clock += 1
        return metrics.rows
