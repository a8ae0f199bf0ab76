"""What a round is made of: a task for each shard, what it tells, and what becomes of the mean.

A round is an ordinary piece of the graph. A task takes the state, what its shard keeps for itself, and the shard's
rows, and gives a new state, or what is averaged in its place.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.base import make
from ...arrays.user_functions.travel.pickling import payload
from ...graph.chunks.grid import Axis, Grid
from ...graph.kinds.mapping import MapBlocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...arrays.array import Array
    from .state import StateLayout

__all__ = ["NEW", "Round", "RoundMetrics", "Task", "Update", "join_rounds", "only_reads"]

Values = np.ndarray[Any, Any]
HEAD = 32
"""Bytes that tell a task its round: epoch, number, the first shard."""
NEW = "state that the step gave"
LINE = 64
"""Bytes to which the parts of what a task makes are aligned."""


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


@contextlib.contextmanager
def _naming(at: Round) -> Iterator[None]:
    """Have an error say in which shard and epoch it came."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in shard {at.shard} of epoch {at.epoch}")
        raise


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


def join_rounds(rounds: Sequence[RoundMetrics]) -> RoundMetrics:
    """Return what several rounds tell of all their rows, in their order."""
    rows = sum(t.rows for t in rounds)
    seen = [t for t in rounds if t.rows]
    means = {n: sum(t.means[n] * (t.rows / rows) for t in seen) for n in rounds[0].means}
    return RoundMetrics(rows, means, np.add.reduce([t.sums for t in rounds], axis=0))


def only_reads(function: Callable[..., Any]) -> bool:
    """Tell whether a function, or the object whose method it is, writes to nothing that it is given, nor keeps it."""
    return bool(getattr(getattr(function, "__self__", function), "only_reads", False))


@dataclass(frozen=True)
class Update:
    """What becomes of a state when the shards' mean is known; without one the mean is the new state.

    `function(state, kept, mean) -> (state, kept)` is called once a round, in one place.

    Attributes
    ----------
    function : callable
    kept : nested arrays
        What it keeps from round to round beside the state, as it starts: speeds, an optimiser's slots.
    mean : nested arrays, optional
        Such as the shards give; None: states.
    """

    function: Callable[..., Any]
    kept: Any = ()
    mean: Any = None


@dataclass(frozen=True)
class Task:
    """One shard's round: bytes to state, the work, what it gives to bytes.

    `work(state, own, Round, *rows) -> (given, own, RoundMetrics)` works on one shard's rows. Averaged is what it gives,
    a state unless there is an `Update`; the shard keeps `own` (optimiser slots). Metrics have the means that `metrics`
    names, and as many `sums`. A shard without rows may give None. A task makes a row of bytes: what it tells, its own,
    what it gives.
    """

    work: Callable[..., Any]
    layout: StateLayout
    own: StateLayout
    seed: int
    metrics: tuple[str, ...]
    sums: int
    arrays: int
    mean: StateLayout

    @property
    def head(self) -> int:
        """Bytes of what a task tells, which come first in what it makes."""
        return _aligned(8 * (1 + len(self.metrics) + self.sums))

    @property
    def begin(self) -> int:
        """Where in what a task makes that begins which it gives."""
        return self.head + _aligned(self.own.size)

    @property
    def width(self) -> int:
        """Bytes that a task makes."""
        return self.begin + self.mean.size

    def pack_round(self, epoch: int, number: int, *more: Values, shard: int = 0) -> Values:
        """Return what is handed to the tasks of a round as one row of bytes: the state and their own may follow."""
        head = np.array([epoch, number, shard, 0], np.int64).view(np.uint8)
        return np.concatenate([head, *(m.reshape(-1) for m in more)])[None]

    def __call__(self, *blocks: Values, block_id: Any, out: Values | None = None) -> Values:
        rows, packed_round, kept = (
            blocks[: self.arrays],
            blocks[self.arrays][0],
            [b[0] for b in blocks[self.arrays + 1 :]],
        )
        epoch, number, first, _ = packed_round[:HEAD].view(np.int64).tolist()
        at, own_size = int(block_id[0]), self.own.size
        packed, rest = (kept.pop(0), packed_round[HEAD:]) if kept else np.split(packed_round[HEAD:], [self.layout.size])
        mine = kept[0] if kept else rest[at * own_size : (at + 1) * own_size]
        where = Round(epoch, number, first + at, self.seed)
        copy = not only_reads(self.work)
        state, mine = self.layout.unpack(packed, copy=copy), self.own.unpack(mine, copy=copy)
        out = np.empty((1, self.width), np.uint8) if out is None else out
        report = out[0]
        numbers, first_sum = report[: self.head].view(np.float64), 1 + len(self.metrics)
        numbers[:] = 0.0
        with _naming(where):
            trained, own, metrics = self.work(state, mine, where, *rows)
            if trained is None and not metrics.rows:  # of a shard without rows in this batch
                trained = self.mean.zeros()
            self.mean.pack(trained, report[self.begin :], NEW)
        numbers[:first_sum] = [metrics.rows, *(metrics.means.get(name, 0.0) for name in self.metrics)]
        if metrics.rows:
            numbers[first_sum : first_sum + self.sums] = metrics.sums
        self.own.pack(own, report[self.head : self.head + own_size])
        report[self.head + own_size : self.begin] = 0
        return out

    def read_metrics(self, made: Values) -> list[RoundMetrics]:
        """Return what tasks tell."""
        numbers, first = np.ascontiguousarray(made[:, : self.head]).view(np.float64), 1 + len(self.metrics)
        return [
            RoundMetrics(means[0], dict(zip(self.metrics, means[1:], strict=True)), sums.copy())
            for means, sums in zip(numbers[:, :first].tolist(), numbers[:, first : first + self.sums], strict=True)
        ]

    def read_own(self, made: Any) -> Any:
        """Return what shards keep, of the rows that tasks make."""
        return made[:, self.head : self.head + self.own.size]

    def read_given(self, made: Any) -> Any:
        """Return what shards give, of the rows that tasks make."""
        return made[:, self.begin :]

    @cached_property
    def _payload(self) -> Any:
        return payload("train", self, (), {})

    def graph(self, rows: Sequence[Array], given: Array, kept: Sequence[Array], count: int) -> Array:
        """Return the array that so many tasks make, a row for each; they run where their rows are.

        `kept` are the state and what the shards keep, as far as `given` hasn't got them.
        """
        grid = Grid([Axis.regular(count, 1), Axis.whole(self.width)])
        each = [(None, None), (0, None)][: len(kept)]
        operand_axes = (*((0, *(None,) * (a.ndim - 1)) for a in rows), (None, None), *each)
        op = MapBlocks(self._payload, operand_axes, ("block_id", "out"))
        return make(op, [*rows, given, *kept], grid, np.uint8)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_payload"}


def _aligned(size: int) -> int:
    return -(-size // LINE) * LINE
