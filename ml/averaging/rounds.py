"""Rounds on shards: a task for each shard trains on its rows, and the states are averaged in the order of shards.

A round is an ordinary piece of the graph. A task takes the average, what its shard keeps for itself, and the shard's
rows, and gives both anew; so a round that a dead rank takes with it is run again from the last average, every row
counts once in an epoch, and the weights are the same to the bit on any number of ranks. The driver reads the states
where they lie in the arenas and averages them there, which also ends their lineage.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...arrays.base import wrap
from ...arrays.creation.from_data import from_array
from ...arrays.execution.compute import compute, persist
from ...arrays.user_functions.pickling import payload
from ...graph import origin
from ...graph.expr import Expr
from ...graph.grid import Axis, Grid
from ...graph.kinds.mapping import MapBlocks
from .state import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...arrays.array import Array
    from ..progress import Progress
    from .shards import Shards

__all__ = ["NEW", "Round", "Rounds", "Task", "RoundMetrics", "join_rounds"]

Values = np.ndarray[Any, Any]
HEAD = 32
"""Bytes that tell a task its round: epoch, number, the first shard."""
SMALL = 1 << 20
"""What shards keep for themselves goes through the driver up to so many bytes: a chunk kept costs more than that."""
NEW = "state that the step gave"
KEPT_ROUNDS = 16
"""After so many rounds larger states come to the driver too, so that a loss costs no more rounds."""


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


def _none() -> Values:
    return np.zeros(0)


@dataclass(frozen=True)
class RoundMetrics:
    """What a round tells.

    Attributes
    ----------
    rows : float
        That it saw.
    means : dict of str to float
        Over these rows.
    sums : numpy.ndarray
        Numbers that are added up over rounds and shards, such as the states of metrics.
    """

    rows: float
    means: dict[str, float] = field(default_factory=dict)
    sums: Values = field(default_factory=_none)


def join_rounds(told: Sequence[RoundMetrics]) -> RoundMetrics:
    """Return what several rounds tell of all their rows, in their order."""
    rows = sum(t.rows for t in told)
    seen = [t for t in told if t.rows]
    means = {n: sum(t.means[n] * (t.rows / rows) for t in seen) for n in told[0].means}
    return RoundMetrics(rows, means, np.add.reduce([t.sums for t in told], axis=0))


@dataclass(frozen=True)
class Task:
    """One shard's round: bytes to state, the work, state to bytes.

    `work(state, own, Round, *rows) -> (state, own, Told)` trains on one shard's rows. Averaged is the state; the shard
    keeps `own` (optimiser slots). Told are the means that `metrics` names, and as many `sums`.
    """

    work: Callable[..., Any]
    layout: Layout
    own: Layout
    seed: int
    metrics: tuple[str, ...]
    sums: int
    arrays: int

    @property
    def head(self) -> int:
        """Bytes of what a task tells, which come first in what it makes."""
        return 8 * (1 + len(self.metrics) + self.sums)

    @property
    def begin(self) -> int:
        """Where in what a task makes the shard's own state begins."""
        return self.head + self.layout.size

    @property
    def width(self) -> int:
        """Bytes that a task makes."""
        return self.begin + self.own.size

    def pack_round(self, epoch: int, number: int, average: Values, own: Values | None, shard: int = 0) -> Values:
        """Return what is handed to the tasks of a round, as one row of bytes."""
        head = np.array([epoch, number, shard, 0], np.int64).view(np.uint8)
        return np.concatenate([head, average, *([] if own is None else [own.reshape(-1)])])[None]

    def __call__(self, *blocks: Values, block_id: Any) -> Values:
        rows, given, kept = blocks[: self.arrays], blocks[self.arrays][0], blocks[self.arrays + 1 :]
        epoch, number, first, _ = given[:HEAD].view(np.int64).tolist()
        at, end = int(block_id[0]), HEAD + self.layout.size
        size = self.own.size
        mine = kept[0][0, -size:] if kept else given[end + at * size : end + (at + 1) * size]
        where = Round(epoch, number, first + at, self.seed)
        state, own, told = self.work(self.layout.unpack(given[HEAD:end]), self.own.unpack(mine), where, *rows)
        out = np.zeros(self.width, np.uint8)
        numbers, first_sum = out[: self.head].view(np.float64), 1 + len(self.metrics)
        numbers[:first_sum] = [told.rows, *(told.means.get(name, 0.0) for name in self.metrics)]
        if told.rows:
            numbers[first_sum:] = told.sums
        self.layout.pack(state, out[self.head : self.begin], NEW)
        self.own.pack(own, out[self.begin :])
        return out[None]

    def read_metrics(self, made: Values) -> list[RoundMetrics]:
        """Return what tasks tell."""
        numbers, first = np.ascontiguousarray(made[:, : self.head]).view(np.float64), 1 + len(self.metrics)
        return [
            RoundMetrics(means[0], dict(zip(self.metrics, means[1:], strict=True)), sums.copy())
            for means, sums in zip(numbers[:, :first].tolist(), numbers[:, first:], strict=True)
        ]

    def mean(self, made: Values) -> tuple[Values, RoundMetrics]:
        """Return the average of the shards' states by the rows they saw, and what they tell."""
        told = self.read_metrics(made)
        average = self.layout.mean(made[:, self.head : self.begin], np.array([t.rows for t in told]))
        return average, join_rounds(told)

    @cached_property
    def _payload(self) -> Any:
        return payload("train", self, (), {})

    def graph(self, rows: Sequence[Array], given: Array, kept: Array | None, count: int) -> Array:
        """Return the array that so many tasks make, a row for each; they run where their rows are."""
        grid = Grid([Axis.regular(count, 1), Axis.whole(self.width)])
        operand_axes = (
            *((0, *(None,) * (a.ndim - 1)) for a in rows),
            (None, None),
            *([] if kept is None else [(0, None)]),
        )
        operands = [*rows, given, *([] if kept is None else [kept])]
        op = MapBlocks(self._payload, operand_axes, ("block_id",))
        return wrap(Expr(op, tuple(o.expr for o in operands), grid, np.dtype(np.uint8), origin.find_origin()))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_payload"}


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
    ) -> None:
        self.task = Task(work, Layout.of(state), Layout.of(own), seed, metrics, sums, len(shards.arrays))
        self.shards = shards
        self._average = self.task.layout.pack(state)
        self._own: Values | Array = np.repeat(self.task.own.pack(own)[None], len(shards), axis=0)
        self._rounds = 0

    @property
    def state(self) -> Any:
        """The averaged state."""
        return self.task.layout.unpack(self._average)

    @state.setter
    def state(self, value: Any) -> None:
        self._average = self.task.layout.pack(value)

    @property
    def owns(self) -> Values:
        """What the shards keep for themselves, packed: a row of bytes each."""
        own = self._own if isinstance(self._own, np.ndarray) else self._own[:, -self.task.own.size :].compute()
        return np.asarray(own)

    @owns.setter
    def owns(self, value: Values) -> None:
        self._own = value

    def run(self, epoch: int, number: int) -> RoundMetrics:
        """Run one round; return what it tells of all shards."""
        task, count, own = self.task, len(self.shards), self._own
        small = count * task.own.size <= SMALL
        here = own if isinstance(own, np.ndarray) and small else None
        given = from_array(task.pack_round(epoch, number, self._average, here), chunks=-1)
        if small:
            found = compute(task.graph(self.shards.arrays, given, None, count))
            self._own = found[:, task.begin :].copy()
        else:
            kept = from_array(own, chunks=(1, -1)) if isinstance(own, np.ndarray) else own
            made = persist(task.graph(self.shards.arrays, given, kept, count))
            found = compute(made[:, : task.begin])
            self._keep(made)
        self._average, told = task.mean(found)
        return told

    def epoch(self, epoch: int, count: int, progress: Progress | None = None) -> RoundMetrics:
        """Run an epoch of so many rounds; return what they tell together."""
        told = []
        for number in range(count):
            told.append(self.run(epoch, number))
            if progress is not None:
                progress.advance(told[-1].rows)
        return join_rounds(told)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing runs between rounds."""

    def _keep(self, made: Array) -> None:
        self._rounds += 1
        self._own = made[:, self.task.begin :].compute() if self._rounds % KEPT_ROUNDS == 0 else made
