"""Rounds on shards: a task for each shard trains on its rows, and the states are averaged in the order of shards.

A round that a dead rank takes with it is run again from the last average, so that every row counts once in an epoch,
and the weights are the same to the bit on any number of ranks. Large states stay in the arenas: a stage reduces them
there, and the tasks of the next round read the average where it lies; the driver reads what the tasks tell, and the
average when it is asked for. Small ones it reads and averages itself, by the same function, to the same bits.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...arrays.creation.from_data import from_array
from ...graph.expr import names
from .reduction import UpdateStep, reduce_rows, update_state, whole
from .state import StateLayout
from .tasks import Task, Update, join_rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...arrays.array import Array
    from .progress import Progress
    from .shards import Shards
    from .tasks import RoundMetrics

__all__ = ["Rounds"]

Values = np.ndarray[Any, Any]
SMALL = 1 << 20
"""What a round's tasks make goes through the driver up to so many bytes: a stage of its own takes longer than these."""
KEPT_ROUNDS, KEPT_SECONDS = 16, 30.0
"""After so many rounds, or seconds, larger states come to the driver too, so that a loss costs no more of them."""


class Rounds:
    """Runs rounds of `work` (see `Task`) over shards, and averages after each.

    Parameters
    ----------
    work : callable
    state, own : nested arrays
        The averaged state, and what each shard keeps for itself, as they start.
    shards : Shards
    seed : int
    metrics : tuple of str
        Names of the means that `work` tells.
    sums : int
        How many sums it tells.
    update : Update, optional
        What becomes of the state when the mean is known; None: the mean is the state.
    """

    def __init__(
        self,
        work: Callable[..., Any],
        state: Any,
        own: Any,
        shards: Shards,
        seed: int,
        metrics: tuple[str, ...],
        sums: int = 0,
        update: Update | None = None,
    ) -> None:
        layout = StateLayout.of(state)
        mean = layout if update is None or update.mean is None else StateLayout.of(update.mean)
        self.task = Task(work, layout, StateLayout.of(own), seed, metrics, sums, len(shards.arrays), mean)
        self.shards = shards
        self._step = None if update is None else UpdateStep(update.function, layout, StateLayout.of(update.kept), mean)
        kept = [] if update is None or self._step is None else [self._step.kept.pack(update.kept)]
        self._state: Values | Array = np.concatenate([layout.pack(state), *kept])[None]
        self._own: Values | Array = np.repeat(self.task.own.pack(own)[None], len(shards), axis=0)
        self.small = len(shards) * self.task.width <= SMALL
        self._small_own = len(shards) * self.task.own.size <= SMALL
        self._rounds, self._since = 0, time.perf_counter()

    @property
    def state(self) -> Any:
        """The averaged state."""
        return self.task.layout.unpack(self._read()[: self.task.layout.size])

    @state.setter
    def state(self, value: Any) -> None:
        packed = self._read().copy()
        self.task.layout.pack(value, packed[: self.task.layout.size])
        self._state = packed[None]

    @property
    def kept(self) -> Any:
        """What the update keeps."""
        return () if self._step is None else self._step.kept.unpack(self._read()[self.task.layout.size :])

    @kept.setter
    def kept(self, value: Any) -> None:
        assert self._step is not None
        packed = self._read().copy()
        self._step.kept.pack(value, packed[self.task.layout.size :])
        self._state = packed[None]

    @property
    def owns(self) -> Values:
        """What the shards keep for themselves, packed: a row of bytes each."""
        self._own = _computed(self._own)
        return self._own

    @owns.setter
    def owns(self, value: Values) -> None:
        self._own = value

    def run(self, epoch: int, number: int) -> RoundMetrics:
        """Run one round; return what it tells of all shards."""
        return self._run_here(epoch, number) if self.small else self._run_on_ranks(epoch, number)

    def _run_here(self, epoch: int, number: int) -> RoundMetrics:
        """Run a round whose states the driver averages."""
        task, state = self.task, self._read()
        packed_round = from_array(task.pack_round(epoch, number, state[: task.layout.size], self.owns), chunks=-1)
        reports = task.graph(self.shards.arrays, packed_round, (), len(self.shards)).compute()
        metrics = task.read_metrics(reports)
        mean = task.mean.mean(task.read_given(reports), np.array([t.rows for t in metrics]))
        self._state = mean[None] if self._step is None else self._step(state[None], mean[None])
        self._own = task.read_own(reports).copy()
        return join_rounds(metrics)

    def _run_on_ranks(self, epoch: int, number: int) -> RoundMetrics:
        """Run a round whose states are reduced where they lie."""
        task, state, own = self.task, self._on_ranks(self._state), self._own
        here = [self.owns] if self._small_own else []
        packed_round = from_array(task.pack_round(epoch, number, *here), chunks=-1)
        kept = [whole(state[:, : task.layout.size]), *([] if here else [self._on_ranks(own)])]
        reports = task.graph(self.shards.arrays, packed_round, kept, len(self.shards)).persist()
        mean = reduce_rows(task, reports)
        self._state = (mean if self._step is None else update_state(self._step, state, mean)).persist()
        heads = reports[:, : task.begin if here else task.head].compute()
        self._own = task.read_own(heads).copy() if here else task.read_own(reports)
        self._cut_lineage()
        return join_rounds(task.read_metrics(heads))

    def _cut_lineage(self) -> None:
        self._rounds += 1
        late = not names.agreed() and time.perf_counter() - self._since > KEPT_SECONDS  # clocks differ between ranks
        if self._rounds % KEPT_ROUNDS == 0 or late:
            self._state, self._own = _computed(self._state), _computed(self._own)
            self._rounds, self._since = 0, time.perf_counter()

    def _read(self) -> Values:
        """Return the state as bytes, which stays on the ranks too."""
        packed: Values = _computed(self._state)[0]
        return packed

    def epoch(self, epoch: int, count: int, progress: Progress | None = None) -> RoundMetrics:
        """Run an epoch of so many rounds; return what they tell together."""
        metrics = []
        for number in range(count):
            metrics.append(self.run(epoch, number))
            if progress is not None:
                progress.advance(metrics[-1].rows)
        return join_rounds(metrics)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing runs between rounds."""

    @staticmethod
    def _on_ranks(value: Values | Array) -> Array:
        return from_array(value, chunks=(1, -1)) if isinstance(value, np.ndarray) else value


def _computed(value: Values | Array) -> Values:
    array: Values = value if isinstance(value, np.ndarray) else np.asarray(value.compute())
    return array
