"""Asynchronous training: shards that don't wait for each other, and one state that all of them move.

The shared state lies with the driver. Each shard's round is a call on a rank, which takes the state as it is when the
round begins and looks at the shard's rows where they lie. When its future is done, the shared state is moved by what
the round has changed, weighted by the shard's rows, and the shard begins the next one. When all shards keep step, the
moves of a round together are the average of the synchronous way; when one is slow, the others run on, up to
`staleness` rounds ahead of it. A dead rank costs the rounds that ran there, which are run again from the states they
began with. What a shard keeps comes to the driver after each round: a chain of rounds would hold all states before.

J. Dean et al.: Large scale distributed deep networks (Downpour SGD), NIPS (2012). S. Zhang, A. Choromanska, Y. LeCun:
Deep learning with elastic averaging SGD, NIPS (2015). Q. Ho et al.: More effective distributed ML via a stale
synchronous parallel parameter server, NIPS (2013).
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...arrays.tasks.calls import InPlace
from ...arrays.tasks.submit import Executor, scatter
from ...graph.arguments import check_integer
from ...graph.errors import ClusterError
from ...scheduler.session.cluster import session
from ...workers.rank.blas import limit_threads
from .state import StateLayout
from .tasks import RoundMetrics, Task, join_rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from .progress import Progress
    from .shards import Shards

__all__ = ["STALENESS", "Asynchronous"]

Values = np.ndarray[Any, Any]
TICK = 0.1
"""Seconds after which progress is shown, though no round has ended."""
STALENESS = 4


@dataclass
class _Shard:
    """Where a shard is: its rows, what it keeps, the rounds it has done; the one at work, and what it began with."""

    rows: tuple[InPlace, ...]
    share: float
    own: Values
    clock: int = 0
    round: Future[Values] | None = None
    pulled: Values | None = None


class _ShardRound:
    """Makes of a shard's rows what a task makes of them, and is called as what the task does for the user."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, task: Task, packed_round: Values, *rows: Values) -> Values:
        with limit_threads(1):
            return task(*rows, packed_round, block_id=(0, 0))


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
        if session().place[1] > 1:
            raise ClusterError(
                "train: average='async' goes on with what arrives first, and that differs by rank; "
                "expected another way in SPMD mode, or a script that runs on rank 0, without --spmd"
            )
        layout = StateLayout.of(state)
        self.task = Task(work, layout, StateLayout.of(own), seed, metrics, sums, len(shards.arrays), layout)
        self.staleness = int(staleness)
        self.ahead = 0
        """The most rounds that a shard was ahead of the slowest when it began one."""
        self._epochs, self._rounds = epochs, rounds
        self._shared = self.task.layout.pack(state)
        mine, rows = self.task.own.pack(own), sum(shards.sizes)
        self._shards = [
            _Shard(tuple(InPlace(a.blocks[number]) for a in shards.arrays), size / rows, mine)
            for number, size in enumerate(shards.sizes)
        ]
        self._metrics: dict[int, list[RoundMetrics]] = {}
        self._executor, self._sent = Executor(), scatter(self.task)
        self._run_round = _ShardRound(getattr(work, "name", "train"))

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
            wait([s.round for s in self._shards if s.round is not None], TICK, FIRST_COMPLETED)
            rows = sum(self._move(s) for s in self._shards if s.round is not None and s.round.done())
            if progress is not None:
                progress.advance(rows)
        return join_rounds(self._metrics.pop(epoch))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Cancel the rounds that run; what they gave is dropped."""
        self._executor.give_up()
        for shard in self._shards:
            shard.round = None  # an error of one is kept with it, and its traceback has all shards

    def _begin(self) -> None:
        """Begin a round of each shard that is near enough to the slowest."""
        slowest = self.slowest
        for number, shard in enumerate(self._shards):
            ahead = shard.clock - slowest
            if shard.round is not None or ahead > self.staleness or shard.clock == len(self._epochs) * self._rounds:
                continue
            epoch, part = divmod(shard.clock, self._rounds)
            packed_round = self.task.pack_round(self._epochs[epoch], part, self._shared, shard.own, shard=number)
            shard.pulled = self._shared
            shard.round = self._executor.submit(self._run_round, self._sent, packed_round, *shard.rows)
            self.ahead = max(self.ahead, ahead)

    def _move(self, shard: _Shard) -> float:
        """Move the shared state by what a shard's round has changed. Return the rows that it saw."""
        assert shard.round is not None
        assert shard.pulled is not None
        report = shard.round.result()
        metrics = self.task.read_metrics(report)[0]
        if metrics.rows:
            state = self.task.read_given(report)[0]
            self._shared = self.task.layout.move(self._shared, shard.pulled, state, shard.share)
        shard.own, shard.round, shard.pulled = self.task.read_own(report)[0].copy(), None, None
        self._metrics.setdefault(self._epochs[shard.clock // self._rounds], []).append(metrics)
        shard.clock += 1
        return metrics.rows
