"""Trials on the ranks: the training of a trial is a chain of tasks, each for a few blocks of the training rows.

A large model stays on the rank that has trained it, and that rank takes the next task of the chain, unless another rank
is idle. The orders of blocks, and of rows within a block, are drawn by the seed, the epoch and the place in it alone,
so models are the same on any ranks, in whatever order tasks end. Each of several shards has a chain of its own; models
are averaged, in the order of shards, after each epoch. An exception of a task ends its chain; the other trials go on.
"""

from __future__ import annotations

import operator
import pickle
import time
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...arrays.tasks.calls import InPlace
from ...arrays.tasks.submit import Executor, Future, scatter
from ...graph.errors import ClusterError
from ...workers.rank.blas import limit_threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .folds import Fold, Rows

__all__ = ["FoldMetrics", "State", "Trials", "begin_trial", "read_model"]

T = TypeVar("T")
Values = np.ndarray[Any, Any]
State = tuple[bytes, int, float]
"""What a task passes to the next one: a pickled model, its rows of this epoch so far, its seconds of training."""
STEPS, BYTES = 16, 1 << 26
"""Blocks of a task, and their bytes, at most.

A small state that is lost with a rank is trained again from the previous task, a large one from the trial's beginning.
"""


@dataclass(frozen=True)
class FoldMetrics:
    """Metrics of one fold of a trial after some epochs.

    Attributes
    ----------
    score, loss, fit_time, score_time : float
    scores : dict of str to float
        By the names of scorers, or of a Keras model's metrics.
    error : str
        The exception of a trial that failed, as text.
    """

    score: float
    loss: float
    fit_time: float
    score_time: float
    scores: dict[str, float] = field(default_factory=dict)
    error: str = ""

    @classmethod
    def of_failed(cls, error: Exception) -> FoldMetrics:
        """Return the metrics of a trial that failed; its times are unknown."""
        return cls(np.nan, np.nan, 0.0, 0.0, error=f"{type(error).__name__}: {error}")


def begin_trial(model: Any) -> tuple[Future, int, float]:
    """Return the initial state of a model; it is sent to each rank once."""
    return scatter(pickle.dumps(model, protocol=5)), 0, 0.0


def read_model(state: Future) -> Any:
    """Wait for a state, and return its model."""
    packed, _, _ = state.result()
    return pickle.loads(packed)


def _train(learner: Any, state: State, goes_on: bool, steps: list[tuple[list[int], Values, Values]]) -> State:
    """Train a model on blocks, one after the other; each comes with the key by which its order of rows is drawn."""
    packed, seen, seconds = state
    begin = time.perf_counter()
    with limit_threads(1):
        model = pickle.loads(packed)
        for key, X, y in steps:
            place = key[3]
            model = learner.train(model, X, y, np.random.Generator(np.random.Philox(key)))
            seen = (seen if place else 0) + len(X)
        packed = pickle.dumps(model, protocol=5)
    return packed, seen, (seconds if goes_on else 0.0) + time.perf_counter() - begin


def _average(learner: Any, states: list[State]) -> list[State]:
    """Return each shard's state with the averaged model; the first one has the seconds of all."""
    packed, rows, seconds = zip(*states, strict=True)
    with limit_threads(1):
        models = learner.mean([pickle.loads(each) for each in packed], list(rows))
    spent = [sum(seconds), *[0.0] * (len(states) - 1)]
    return [(pickle.dumps(m, protocol=5), seen, s) for m, seen, s in zip(models, rows, spent, strict=True)]


def _test(learner: Any, state: State, blocks: list[Rows]) -> tuple[float, list[Values]]:
    """Return the seconds that testing a model on blocks takes, and the test sums of each block."""
    begin = time.perf_counter()
    with limit_threads(1):
        model = pickle.loads(state[0])
        tests = [learner.test(model, X, y) for X, y in blocks]
    return time.perf_counter() - begin, tests


def _merge(learner: Any, state: State, tests: list[tuple[float, list[Values]]]) -> tuple[Any, ...]:
    """Return the fields of `FoldMetrics` for a state, from the test sums of all blocks."""
    rows = np.stack([row for _, part in tests for row in part])
    score, loss, scores = learner.merge_metrics(pickle.loads(state[0]), rows)
    return score, loss, state[2], sum(seconds for seconds, _ in tests), scores


class Trials:
    """Trains many trials at once, and tests them.

    Parameters
    ----------
    learner
        A `PartialFit` or `KerasBuilder`.
    folds : list of Fold
    shards : int
        Shards of each trial.
    seed : int
    catches : bool
        Whether an exception of a trial is caught and recorded, and the others go on.
    """

    def __init__(self, learner: Any, folds: Sequence[Fold], shards: int, seed: int, *, catches: bool = False) -> None:
        self.folds, self.shards, self.seed, self.catches = folds, shards, seed, catches
        self._learner = scatter(learner)

    def advance(
        self, states: list[list[list[Any]]], begin: int, end: int
    ) -> tuple[list[list[list[Future]]], list[list[FoldMetrics]]]:
        """Train trials from one epoch to another, and test them.

        Parameters
        ----------
        states : list of list of list
            Returned by `begin_trial` or by this method, for each trial, fold and shard.
        begin, end : int
            Epochs.

        Returns
        -------
        states : list of list of list of Future
            After training.
        metrics : list of list of FoldMetrics
            For each trial and fold; empty where a fold has nothing to test on.
        """
        trained: list[list[list[Future]]] = []
        tests: list[list[Future]] = []
        executor = Executor()
        try:
            for trial in states:  # trial by trial: one that has begun is finished before others begin
                trained.append([])
                tests.append([])
                for number, fold in enumerate(self.folds):
                    after = self._train(executor, trial[number], number, begin, end)
                    trained[-1].append(after)
                    if fold.test is not None:
                        tests[-1].append(self._test(executor, after[0], fold.test))
            return trained, [[self._metrics(test) for test in trial] for trial in tests]
        except BaseException:
            executor.give_up()
            raise

    def _train(self, executor: Executor, states: list[Any], number: int, begin: int, end: int) -> list[Future]:
        """Submit the training of one fold's shards; return their states."""
        fold, goes_on = self.folds[number], False
        for steps in self._tasks(fold, number, begin, end):
            states = [
                executor.submit(
                    _train,
                    self._learner,
                    state,
                    goes_on,
                    [
                        ([self.seed, number, epoch, place, shard], *_in_place(fold.steps[at][shard]))
                        for epoch, place, at in steps
                    ],
                )
                for shard, state in enumerate(states)
            ]
            goes_on = True
            if self.shards > 1 and steps[-1][1] == len(fold.steps) - 1:
                average = executor.submit(_average, self._learner, states)
                states = [executor.submit(operator.getitem, average, shard) for shard in range(self.shards)]
        return states

    def _tasks(self, fold: Fold, number: int, begin: int, end: int) -> Iterator[list[tuple[int, int, int]]]:
        """Yield the steps of each task: (epoch, place, step). With several shards a task ends with its epoch."""
        epochs = []
        for epoch in range(begin, end):
            order = np.random.Generator(np.random.Philox([self.seed, number, epoch])).permutation(len(fold.steps))
            epochs.append([(epoch, place, at) for place, at in enumerate(order.tolist())])
        sizes = [max(map(_nbytes, step)) for step in fold.steps]
        for run in epochs if self.shards > 1 else [[step for epoch in epochs for step in epoch]]:
            yield from _cut(run, [sizes[at] for _, _, at in run])

    def _test(self, executor: Executor, state: Future, blocks: Sequence[Any]) -> Future:
        parts = _cut(blocks, [_nbytes(rows) for rows in blocks])
        tests = [executor.submit(_test, self._learner, state, [*map(_in_place, part)]) for part in parts]
        return executor.submit(_merge, self._learner, state, tests)

    def _metrics(self, test: Future) -> FoldMetrics:
        try:
            return FoldMetrics(*test.result())
        except (ClusterError, CancelledError):  # an error of the cluster, not of the trial: the search may be resumed
            raise
        except Exception as error:
            if not self.catches:
                raise
            return FoldMetrics.of_failed(error)


def _in_place(rows: Rows) -> tuple[InPlace, InPlace]:
    """Return a block of rows for tasks that only look at it: many trials do, and none has a copy of it."""
    X, y = rows
    return InPlace(X), InPlace(y)


def _nbytes(rows: Rows) -> int:
    X, y = rows
    return int(X.nbytes + y.nbytes)


def _cut(items: Sequence[T], sizes: Sequence[int]) -> list[list[T]]:
    """Return the items of each task, in order: as many as its bytes allow, and one at least."""
    parts: list[list[T]] = []
    room = -1
    for item, size in zip(items, sizes, strict=True):
        if size > room or len(parts[-1]) == STEPS:
            parts.append([])
            room = BYTES
        parts[-1].append(item)
        room -= size
    return parts
