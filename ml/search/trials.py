"""Trials on the ranks: the training of a trial is a chain of tasks, each for a few chunks of the training rows.

A model goes from task to task as bytes in a block of fixed room; should one need more, all blocks get more and the
epochs are run again. What a chunk's order of rows and the order of chunks draw from is the seed, the epoch and the
place alone, so that the models are the same on any ranks, in whatever order tasks end. With several shards each has
a chain of its own, and the models are averaged, in the order of shards, after each epoch.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.base import make
from ...arrays.chunking.rechunk import regrid
from ...arrays.creation.from_data import from_array
from ...arrays.execution.compute import compute
from ...arrays.user_functions.travel.pickling import payload
from ...graph.chunks.grid import Axis, Grid
from ...graph.kinds.mapping import MapBlocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...arrays.array import Array
    from .folds import Fold

__all__ = ["FoldMetrics", "Trials", "pack_failure", "failure"]

Values = np.ndarray[Any, Any]
HEAD = 32
"""Bytes before a model: its size, the rows it saw in this epoch, the seconds it was trained, and none."""
SPARE = 1 << 14
"""Bytes that a model may grow by before blocks must."""
FAILED, NOTE = b"failed:", 1024
"""How what stands for a model begins where its training raised, and the most bytes of what was raised."""
TEXT = 16
"""Numbers in which a test tells what was raised."""
STEPS, BYTES = 16, 1 << 26
"""Chunks that a task trains on, and their bytes, at most: what is lost with a rank is trained again from there."""


@dataclass(frozen=True)
class FoldMetrics:
    """What a trial told of one fold after some epochs.

    Attributes
    ----------
    score, loss, fit_time, score_time : float
    scores : dict of str to float
        By the names of scorers, or of a Keras model's metrics.
    error : str
        Of a trial that failed, what was raised.
    """

    score: float
    loss: float
    fit_time: float
    score_time: float
    scores: dict[str, float] = field(default_factory=dict)
    error: str = ""


def pack_failure(error: Exception) -> bytes:
    """Return what stands for a model whose training raised."""
    return FAILED + f"{type(error).__name__}: {error}".encode()[:NOTE]


def failure(packed: bytes) -> str:
    """Return what was raised in place of a model; nothing where it is one."""
    return packed[len(FAILED) :].decode(errors="replace") if packed.startswith(FAILED) else ""


@dataclass(frozen=True)
class _Packed:
    """A model's block: head and bytes."""

    room: int

    def read(self, block: Values) -> tuple[int, int, float]:
        """Return the size of a model, the rows it saw, and its seconds."""
        size, rows = np.ascontiguousarray(block[:16]).view(np.int64).tolist()
        return size, rows, float(np.ascontiguousarray(block[16:24]).view(np.float64)[0])

    def write(self, packed: bytes, rows: int, seconds: float) -> Values:
        """Return the block of a model; of one that has no room the size alone."""
        out = np.zeros(self.room, np.uint8)
        out[:16] = np.array([len(packed), rows], np.int64).view(np.uint8)
        out[16:24] = np.array([seconds]).view(np.uint8)
        if len(packed) <= self.room - HEAD:
            out[HEAD : HEAD + len(packed)] = np.frombuffer(packed, np.uint8)
        return out

    def fits(self, block: Values) -> bool:
        """Whether the model found room."""
        return self.read(block)[0] <= self.room - HEAD

    def model(self, block: Values) -> bytes:
        """Return a model's bytes."""
        return block[HEAD : HEAD + self.read(block)[0]].tobytes()


@dataclass(frozen=True)
class _Steps:
    """Trains on some chunks, one after the other."""

    learner: Any
    packed: _Packed
    seed: int
    catches: bool

    def __call__(self, block: Values, where: Values, *rows: Values, block_id: Any) -> Values:
        state = block[0]
        if not self.packed.fits(state):
            return block
        _, seen, seconds = self.packed.read(state)
        model = self.packed.model(state)
        if failure(model):
            return block
        begin = time.perf_counter()
        try:
            trained, seen = self._train(model, seen, where, rows, int(block_id[1]))
        except Exception as error:
            if not self.catches:
                raise
            trained, seen = pack_failure(error), 1
        return self.packed.write(trained, seen, seconds + time.perf_counter() - begin)[None]

    def _train(self, given: bytes, seen: int, where: Values, rows: tuple[Values, ...], shard: int) -> tuple[bytes, int]:
        model = self.learner.unpack(given)
        for fold, epoch, place, at in where.tolist():
            generator = np.random.Generator(np.random.Philox([self.seed, fold, epoch, place, shard]))
            model = self.learner.train(model, rows[2 * at], rows[2 * at + 1], generator)
            seen = (seen if place else 0) + len(rows[2 * at])
        return self.learner.pack(model), seen


@dataclass(frozen=True)
class _Mean:
    """Averages the shards' models, and gives each shard its own anew."""

    learner: Any
    packed: _Packed

    def __call__(self, blocks: Values) -> Values:
        each = blocks[0].reshape(-1, self.packed.room)
        if not all(self.packed.fits(b) for b in each):
            return blocks
        heads = [self.packed.read(b) for b in each]
        wrong = next((m for m in map(self.packed.model, each) if failure(m)), None)
        if wrong is not None:
            return np.concatenate([self.packed.write(wrong, h[1], h[2]) for h in heads])[None]
        models = self.learner.mean([self.learner.unpack(self.packed.model(b)) for b in each], [h[1] for h in heads])
        packed = [self.packed.write(self.learner.pack(m), h[1], h[2]) for m, h in zip(models, heads, strict=True)]
        return np.concatenate(packed)[None]


@dataclass(frozen=True)
class _Tell:
    """Tests a model on one chunk: the seconds, what the learner tells, and what was raised, as text."""

    learner: Any
    packed: _Packed
    width: int
    catches: bool

    def __call__(self, block: Values, X: Values, y: Values) -> Values:
        out = np.zeros(1 + self.width + TEXT)
        if self.packed.fits(block[0]) and not failure(self.packed.model(block[0])):
            begin = time.perf_counter()
            try:
                metrics = self.learner.tell(self.learner.unpack(self.packed.model(block[0])), X, y)
                out[1 : 1 + len(metrics)] = metrics
            except Exception as error:
                if not self.catches:
                    raise
                text = pack_failure(error)[len(FAILED) :][: 8 * TEXT]
                out[1 + self.width :].view(np.uint8)[: len(text)] = np.frombuffer(text, np.uint8)
            out[0] = time.perf_counter() - begin
        return out[None]


class Trials:
    """Trains many trials at once, and tests them.

    Parameters
    ----------
    learner
        Such as `PartialFit`.
    folds : list of Fold
    shards : int
        Of each trial.
    seed : int
    catches : bool
        Whether what a trial raises is told, and the others go on.
    """

    def __init__(self, learner: Any, folds: Sequence[Fold], shards: int, seed: int, *, catches: bool = False) -> None:
        self.learner, self.folds, self.shards, self.seed, self.catches = learner, folds, shards, seed, catches
        self.room = 1 << 12

    def advance(
        self, models: list[list[list[bytes]]], begin: int, end: int
    ) -> tuple[list[list[list[bytes]]], list[list[FoldMetrics]]]:
        """Train models from one epoch to another, and test them.

        Parameters
        ----------
        models : list of list of list of bytes
            A model for each trial, fold and shard.
        begin, end : int
            Epochs.

        Returns
        -------
        models : as they came in, after training
        told : list of list of FoldMetrics
            For each trial and fold; empty where a fold has nothing to test on.
        """
        least = max(len(p) for trial in models for fold in trial for p in fold) + HEAD + SPARE
        self.room = max(self.room, -(-least // 4096) * 4096)
        whole = [shard for trial in models for fold in trial for shard in fold if not failure(shard)]
        width = self.learner.width(whole)
        while True:
            by_fold = self._compute(models, begin, end, width)
            packed = _Packed(self.room)
            largest = max(packed.read(b)[0] for states, _ in by_fold for row in states for b in row)
            if largest <= self.room - HEAD:
                break
            self.room = -(-(2 * largest + HEAD) // 4096) * 4096
        trained = [
            [[packed.model(b) for b in states[t]] for states, _ in by_fold]  # a fold's states
            for t in range(len(models))
        ]
        metrics = [
            [self._read_metrics(packed, states[t], tests[t]) for states, tests in by_fold if tests is not None]
            for t in range(len(models))
        ]
        return trained, metrics

    def _read_metrics(self, packed: _Packed, states: Values, tests: Values) -> FoldMetrics:
        model = packed.model(states[0])
        spent = sum(packed.read(b)[2] for b in states), float(tests[:, 0].sum())
        texts = [bytes(np.ascontiguousarray(t[-TEXT:]).view(np.uint8)).rstrip(b"\0") for t in tests]
        wrong = failure(model) or next((t.decode(errors="replace") for t in texts if t), "")
        if wrong:
            return FoldMetrics(float("nan"), float("nan"), *spent, error=wrong)
        score, loss, scores = self.learner.merge_metrics(model, tests[:, 1:-TEXT])
        return FoldMetrics(score, loss, *spent, scores)

    def _compute(
        self, models: list[list[list[bytes]]], begin: int, end: int, width: int
    ) -> list[tuple[Values, Values | None]]:
        """Return each fold's models, (trials, shards, room), and what tests told, (trials, blocks, numbers)."""
        lazy: list[Array] = []
        for number, fold in enumerate(self.folds):
            states = self._train([trial[number] for trial in models], number, begin, end)
            lazy += [states] if fold.test is None else [states, self._test(states, fold.test, width)]
        computed = list(compute(*lazy))
        by_fold: list[tuple[Values, Values | None]] = []
        for fold in self.folds:
            states = computed.pop(0).reshape(len(models), self.shards, self.room)
            columns = 1 + width + TEXT
            tests = None if fold.test is None else computed.pop(0).reshape(len(models), -1, columns)
            by_fold.append((states, tests))
        return by_fold

    def _train(self, models: list[list[bytes]], number: int, begin: int, end: int) -> Array:
        packed, fold = _Packed(self.room), self.folds[number]
        first = np.stack([np.concatenate([packed.write(p, 0, 0.0) for p in trial]) for trial in models])
        grid = Grid([Axis.regular(len(models), 1), Axis.regular(self.shards * self.room, self.room)])
        states = from_array(first, chunks=(1, self.room))
        work = payload("search", _Steps(self.learner, packed, self.seed, self.catches), (), {})
        for steps in self._tasks(fold, number, begin, end):
            chosen = sorted({step[2] for step in steps})
            where = np.array([[number, epoch, place, chosen.index(at)] for epoch, place, at in steps])
            rows = [array for at in chosen for array in fold.steps[at]]
            operand_axes = ((0, 1), (None, None), *((1, *(None,) * (a.ndim - 1)) for a in rows))
            kind = MapBlocks(work, operand_axes, ("block_id",))
            states = make(kind, (states, from_array(where, chunks=-1), *rows), grid, np.uint8)
            if self.shards > 1 and steps[-1][1] == len(fold.steps) - 1:
                states = self._average(states, packed, grid)
        return states

    def _tasks(self, fold: Fold, number: int, begin: int, end: int) -> Iterator[list[tuple[int, int, int]]]:
        """Yield the chunks of each task: (epoch, place, chunk). With several shards a task ends with its epoch."""
        steps: list[tuple[int, int, int]] = []
        for epoch in range(begin, end):
            order = np.random.Generator(np.random.Philox([self.seed, number, epoch])).permutation(len(fold.steps))
            for place, at in enumerate(order.tolist()):
                size = sum(fold.steps[i][0].nbytes for i in {at, *(step[2] for step in steps)})
                if steps and (len(steps) == STEPS or size > BYTES * self.shards):
                    yield steps
                    steps = []
                steps.append((epoch, place, at))
            if self.shards > 1 and steps:
                yield steps
                steps = []
        if steps:
            yield steps

    def _average(self, states: Array, packed: _Packed, grid: Grid) -> Array:
        whole = Grid([grid.axes[0], Axis.whole(grid.shape[1])])
        mean = payload("search", _Mean(self.learner, packed), (), {})
        return regrid(make(MapBlocks(mean, ((0, 1),)), (regrid(states, whole),), whole, np.uint8), grid)

    def _test(self, states: Array, test: tuple[Array, Array], width: int) -> Array:
        X, y = test
        columns = 1 + width + TEXT
        blocks = X.expr.grid.axes[0].count
        first = regrid(states[:, : self.room], Grid([states.expr.grid.axes[0], Axis.whole(self.room)]))
        grid = Grid([first.expr.grid.axes[0], Axis.regular(blocks * columns, columns)])
        tell = payload("search", _Tell(self.learner, _Packed(self.room), width, self.catches), (), {})
        operand_axes = ((0, None), (1, None), (1, *(None,) * (y.ndim - 1)))
        return make(MapBlocks(tell, operand_axes), (first, X, y), grid, np.float64)
