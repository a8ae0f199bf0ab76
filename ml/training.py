"""The training stage: rounds on shards, and the average of their states after each round.

A round is an ordinary piece of the graph: a task for each shard takes the averaged state, the shard's own state and
its rows, and gives new states; a second stage averages these in the order of shards. So a round that a dead rank
takes with it is run again from the last average, every row counts once in an epoch, and the weights are the same to
the bit on any number of ranks. The average comes to the driver after each round (it is what callbacks see), which
also ends its lineage.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.align import regrid
from ..arrays.core import make
from ..arrays.handed import from_array
from ..arrays.payload import payload
from ..arrays.verbs import compute, persist
from ..graph.errors import ArgumentError, bad
from ..graph.grid import Axis, Grid
from ..graph.kinds.mapping import MapBlocks
from .shards import Shards, sharded
from .state import Layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..arrays.array import Array
    from ..graph.kinds.mapping import Payload

__all__ = ["History", "train"]

Values = np.ndarray[Any, Any]
KEPT_ROUNDS = 16
"""After so many rounds the shards' own states come to the driver too, so that a loss costs no more rounds."""


@dataclass
class History:
    """What training told after each epoch.

    Attributes
    ----------
    epoch : list of int
    history : dict of str to list of float
        Means over rows of what the step tells, such as "loss".
    """

    epoch: list[int] = field(default_factory=list)
    history: dict[str, list[float]] = field(default_factory=dict)

    def add(self, epoch: int, values: dict[str, float]) -> None:
        """Enter an epoch."""
        self.epoch.append(epoch)
        for name, value in values.items():
            self.history.setdefault(name, []).append(value)


@dataclass(frozen=True)
class Round:
    """Where a round stands: its epoch, its number within it, and the numbers that a step may draw from."""

    epoch: int
    number: int
    shard: int
    seed: int

    def generator(self) -> np.random.Generator:
        """Return the random numbers of this shard's epoch, the same in each of its rounds."""
        return np.random.Generator(np.random.Philox([self.seed, self.epoch, self.shard]))


class Rounds:
    """Runs rounds of `work` over shards.

    Parameters
    ----------
    work : callable
        `work(state, own, Round, *rows) -> (state, own, metrics)`: trains on one shard. `metrics` is a dict of
        means over the rows it saw, and "rows", their number.
    state, own : nested arrays
        The averaged state, and what each shard keeps for itself (optimiser slots), as they start.
    metrics : tuple of str
        Names that `work` tells.
    """

    def __init__(
        self, work: Callable[..., Any], state: Any, own: Any, shards: Shards, seed: int, metrics: tuple[str, ...]
    ) -> None:
        self.layout, self.own = Layout.of(state), Layout.of(own)
        self.shards, self.metrics = shards, metrics
        task = _Task(work, self.layout, self.own, seed, metrics)
        self._task: Payload = payload("train", task, (), {}, "epoch")
        self._mean: Payload = payload("train", _Mean(self.layout, len(metrics)), (), {}, "average")
        self._average = self.layout.pack(state)[None]
        self._states: Array = from_array(np.repeat(self.own.pack(own)[None], len(shards), axis=0), chunks=(1, -1))
        self._rounds = 0

    @property
    def state(self) -> Any:
        """The averaged state."""
        return self.layout.unpack(self._average[0])

    @state.setter
    def state(self, value: Any) -> None:
        self._average = self.layout.pack(value)[None]

    def run(self, epoch: int, number: int) -> dict[str, float]:
        """Run one round; return the means of its metrics over rows, and how many "rows" there were."""
        head = 8 * (1 + len(self.metrics))
        begin = head + self.layout.size
        width = begin + self.own.size
        count = len(self.shards)
        grid = Grid([Axis.regular(count, 1), Axis.regular(width, width)])
        where = from_array(np.array([[epoch, number]]), chunks=-1)
        operands = [from_array(self._average, chunks=-1), self._states, where, *self.shards.arrays]
        ways = ((None, None), (0, None), (None, None), *((0, *(None,) * (a.ndim - 1)) for a in self.shards.arrays))
        made = persist(make(MapBlocks(self._task, ways, ("block_id",)), operands, grid, np.uint8))
        whole = regrid(made[:, :begin], Grid([Axis.regular(count, count), Axis.regular(begin, begin)]))
        one = Grid([Axis.regular(1, 1), Axis.regular(begin, begin)])
        mean = compute(make(MapBlocks(self._mean, ((None, None),)), (whole,), one, np.uint8))
        self._average = np.ascontiguousarray(mean[:, head:])
        self._keep(made[:, begin:])
        told = np.ascontiguousarray(mean[0, :head]).view(np.float64)
        return {"rows": float(told[0]), **dict(zip(self.metrics, map(float, told[1:]), strict=True))}

    def _keep(self, own: Array) -> None:
        self._rounds += 1
        if self._rounds % KEPT_ROUNDS == 0 and self.own.leaves:
            self._states = from_array(own.compute(), chunks=(1, -1))
        else:
            self._states = own


@dataclass(frozen=True)
class _Task:
    """One shard's round: bytes to state, the work, state to bytes."""

    work: Callable[..., Any]
    layout: Layout
    own: Layout
    seed: int
    metrics: tuple[str, ...]

    def __call__(self, average: Values, own: Values, where: Values, *rows: Values, block_id: Any) -> Values:
        at = Round(int(where[0, 0]), int(where[0, 1]), int(block_id[0]), self.seed)
        state, mine, told = self.work(self.layout.unpack(average[0]), self.own.unpack(own[0]), at, *rows)
        head = np.array([told["rows"], *(told.get(name, 0.0) for name in self.metrics)], np.float64).view(np.uint8)
        return np.concatenate([head, self.layout.pack(state), self.own.pack(mine)])[None]


@dataclass(frozen=True)
class _Mean:
    """The average of the shards' states by the rows they saw, and of their metrics."""

    layout: Layout
    metrics: int

    def __call__(self, states: Values) -> Values:
        head = 8 * (1 + self.metrics)
        told = np.ascontiguousarray(states[:, :head]).view(np.float64)
        rows = told[:, 0]
        out = np.zeros(1 + self.metrics)
        out[0] = rows.sum()
        for number, values in zip(rows, told[:, 1:], strict=True):
            if number:
                out[1:] += values * (number / out[0])
        return np.concatenate([out.view(np.uint8), self.layout.mean(states[:, head:], rows)])[None]


def train(
    step: Callable[..., Any],
    state: Any,
    X: Any,
    y: Any = None,
    *,
    epochs: int = 1,
    average: str | int = "epoch",
    batch_size: int = 32,
    shards: int | None = None,
    shuffle: bool = True,
    seed: int = 0,
    callback: Callable[[int, Any, dict[str, float]], Any] | None = None,
) -> tuple[Any, History]:
    """Train any model on the chunks: a step of the user's on batches of each shard, states averaged.

    Parameters
    ----------
    step : callable
        `step(state, X, y) -> state` or `(state, metrics)`: takes a batch of rows as NumPy arrays (without y where there
        is none), returns the new state and means over the batch, such as {"loss": 0.5}. It may use any library.
    state : nested dict, list or tuple of arrays
        At the start. Floats are averaged by the rows that each shard saw; of integers the greatest is taken.
    X, y : array
        A row for each sample.
    epochs : int
    average : {"epoch", "batch"} or int
        When states are averaged: after each epoch, each batch, or so many batches.
    batch_size : int
        Rows of a batch; the last one of a shard may have fewer.
    shards : int, optional
        None: the number of ranks (of threads, on the embedded engine).
    shuffle : bool
        Whether rows are shuffled over all shards at first, and within shards in each epoch.
    seed : int
    callback : callable, optional
        `callback(epoch, state, metrics)` after each epoch; training ends early when it returns True.

    Returns
    -------
    state : as it came in
    history : History

    Examples
    --------
    >>> import numpy as np
    >>> import windrow as wr
    >>> from windrow.ml import train
    >>> def step(w, X, y):
    ...     off = X @ w - y
    ...     return w - 0.1 * X.T @ off / len(y), {"loss": float((off**2).mean())}
    >>> X = wr.random.default_rng(1).normal(size=(4000, 2), chunks=(1000, 2))
    >>> w, history = train(step, np.zeros(2), X, X[:, 0] * 2 - X[:, 1], epochs=3, shards=2)
    >>> w.round(3)
    array([ 2., -1.])
    """
    for name, value in (("epochs", epochs), ("batch_size", batch_size)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ArgumentError(bad("train", name, value, "a positive integer"))
    made = sharded("train", [X] if y is None else [X, y], shards, shuffle, seed)
    batches = [-(-n // batch_size) for n in made.sizes]
    period = _period(average, max(batches))
    names = _told(step, state, made, batch_size)
    work = _Batches(step, int(batch_size), period, shuffle, names)
    rounds = Rounds(work, state, (), made, seed, names)
    history = History()
    for epoch in range(epochs):
        told = [rounds.run(epoch, k) for k in range(-(-max(batches) // period))]
        rows = sum(t["rows"] for t in told)
        means = {n: sum(t[n] * t["rows"] for t in told) / rows for n in names}
        history.add(epoch, means)
        if callback is not None and callback(epoch, rounds.state, means):
            break
    return rounds.state, history


def _period(average: str | int, batches: int) -> int:
    if average == "epoch":
        return batches
    if average == "batch":
        return 1
    if isinstance(average, bool) or not isinstance(average, int | np.integer) or average < 1:
        raise ArgumentError(bad("train", "average", average, "'epoch', 'batch' or a positive number of batches"))
    return int(average)


def _told(step: Callable[..., Any], state: Any, shards: Shards, batch_size: int) -> tuple[str, ...]:
    """Return the names of what a step tells, by one step on a batch whose result is dropped."""
    some = compute(*(a[: min(batch_size, shards.sizes[0])] for a in shards.arrays))
    some = some if isinstance(some, tuple) else (some,)
    layout = Layout.of(state)
    found = step(layout.unpack(layout.pack(state)), *some)
    return tuple(found[1]) if _has_metrics(found) else ()


def _has_metrics(found: Any) -> bool:
    return isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict)


@dataclass(frozen=True)
class _Batches:
    """Runs a user's step over the batches of one round."""

    step: Callable[..., Any]
    size: int
    period: int
    shuffle: bool
    names: tuple[str, ...]

    def __call__(self, state: Any, own: Any, at: Round, *rows: Values) -> tuple[Any, Any, dict[str, float]]:
        count = len(rows[0])
        order = at.generator().permutation(count) if self.shuffle else np.arange(count)
        begin, end = at.number * self.period * self.size, min((at.number + 1) * self.period * self.size, count)
        sums = dict.fromkeys(self.names, 0.0)
        for lo in range(begin, end, self.size):
            mine = order[lo : min(lo + self.size, end)]
            found = self.step(state, *(np.take(r, mine, axis=0) for r in rows))
            state, told = found if _has_metrics(found) else (found, {})
            for name in self.names:
                sums[name] += float(told[name]) * len(mine)
        seen = max(0, end - begin)
        return state, own, {"rows": float(seen), **{n: v / max(1, seen) for n, v in sums.items()}}
