"""Keras models trained on shards: `distribute(model).fit(X, y)`."""

from __future__ import annotations

import importlib
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.align import regrid
from ...arrays.core import Node, as_array, make
from ...arrays.payload import payload
from ...graph.errors import ArgumentError, ShapeError, bad
from ...graph.grid import Axis, Grid
from ...graph.kinds.mapping import MapBlocks
from ..shards import Shards, sharded
from ..training import Round, Rounds
from .checkpoints import read_checkpoint, write_checkpoint
from .outer import Outer
from .replicas import Recipe, replica
from .state import own, put, reseed, shared

if TYPE_CHECKING:
    from pathlib import Path

    from ...arrays.array import Array

__all__ = ["Distributed", "distribute"]

Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Epoch:
    """One round of a shard: some of its batches in this epoch's order, through `train_step`."""

    recipe: Recipe
    size: int
    period: int
    shuffle: bool

    def __call__(self, state: Any, mine: Any, at: Round, *rows: Values) -> tuple[Any, Any, dict[str, float]]:
        copy = replica(self.recipe, at.shard)
        count, size = len(rows[0]), self.size
        whole = count // size
        order = at.generator().permutation(whole) if self.shuffle else np.arange(whole)
        blocks = order[at.number * self.period : (at.number + 1) * self.period]
        last = (at.number + 1) * self.period >= whole and at.number * self.period <= max(whole - 1, 0)
        rest = slice(whole * size, count) if last and count % size else None
        with copy.lock:
            put(copy.model, state, mine)
            if at.epoch == 0 and at.number == 0:
                reseed(copy.model, at.shard)
            logs = copy.train(rows, size, blocks, rest)
            seen = len(blocks) * size + (count % size if rest is not None else 0)
            return shared(copy.model), own(copy.model), {**logs, "rows": float(seen)}


class Distributed:
    """A compiled Keras model that trains where the chunks are.

    The model itself has the averaged weights after `fit`, and after each epoch while callbacks run. What isn't named
    here is the model's own.

    Parameters
    ----------
    model : keras.Model
        Compiled, and built.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def __getattr__(self, name: str) -> Any:
        if name == "model":
            raise AttributeError(name)
        return getattr(self.model, name)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        batch_size: int = 32,
        epochs: int = 1,
        validation_data: Any = None,
        callbacks: Any = None,
        sample_weight: Any = None,
        average: str | int = "epoch",
        shards: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        outer_momentum: float = 0.0,
        scale_learning_rate: bool = False,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 1,
        resume: str | Path | None = None,
        verbose: int = 0,
    ) -> Any:
        """Train, and return Keras's `History`.

        Parameters
        ----------
        X, y : array
            A row for each sample; y of one axis becomes a column, as Keras's losses expect.
        batch_size : int
            Rows of a batch on each shard.
        epochs : int
        validation_data : (X, y), optional
            Evaluated after each epoch with the averaged weights.
        callbacks : list of keras.callbacks.Callback, optional
            Their methods for epochs and for training are called on the driver, with the metrics over all rows; those
            for batches are not, since an epoch is one compiled function.
        sample_weight : array, optional
        average : {"epoch", "batch"} or int
            When weights are averaged: after each epoch, each batch, or so many batches. For plain SGD "batch" is the
            same as averaging gradients. Optimiser slots stay with their shard.
        shards : int, optional
            None: the number of ranks (of threads, on the embedded engine).
        shuffle : bool
            Rows are shuffled over all shards once, then whole batches in each epoch.
        seed : int
        outer_momentum : float
            Momentum of the averages (BMUF with zeta 1; Chen and Huo, 2016). It wants a short period: over whole epochs
            it tends to oscillate.
        scale_learning_rate : bool
            Multiply the learning rate by the number of shards, each of which takes so many times fewer steps.
        checkpoint : path, optional
            File ending in ".keras", written every `checkpoint_every` epochs and at the end.
        resume : path, optional
            Such a file: its weights are taken, and training goes on with the epoch after its last.
        verbose : int
            1 prints a line an epoch.

        Returns
        -------
        keras.callbacks.History
        """
        epochs, size = _count("epochs", epochs), _count("batch_size", batch_size)
        done = read_checkpoint(self.model, resume) if resume is not None else 0
        parts = _shards(X, y, sample_weight, shards, shuffle, seed)
        whole = max(max(parts.sizes) // size, 1)
        period = {"epoch": whole, "batch": 1}.get(average, average) if isinstance(average, str) else average
        if isinstance(period, str):
            raise ArgumentError(bad("fit", "average", average, "'epoch', 'batch' or a positive number of batches"))
        _built(self.model, parts)
        if scale_learning_rate:
            self.model.optimizer.learning_rate = float(self.model.optimizer.learning_rate) * len(parts)
        work = _Epoch(Recipe.of(self.model), size, _count("average", period), shuffle)
        names = _names(self.model, parts, size)
        rounds = Rounds(work, shared(self.model), own(self.model), parts, seed, names)
        outer = Outer(rounds, outer_momentum)
        listeners = _listeners(callbacks, self.model, epochs, verbose)
        listeners.on_train_begin()
        try:
            for epoch in range(done, epochs):
                listeners.on_epoch_begin(epoch)
                _take_rate(rounds, self.model)
                logs = _epoch(outer, epoch, -(-whole // work.period), names)
                put(self.model, rounds.state)
                if validation_data is not None:
                    held_X, held_y = validation_data
                    held = self.evaluate(held_X, held_y, batch_size=size)
                    logs |= {f"val_{name}": value for name, value in held.items()}
                listeners.on_epoch_end(epoch, logs)
                _take_rate(rounds, self.model)
                if checkpoint is not None and ((epoch + 1) % checkpoint_every == 0 or epoch + 1 == epochs):
                    write_checkpoint(self.model, checkpoint, epoch + 1)
                if self.model.stop_training:
                    break
        finally:
            listeners.on_train_end()
        return self.model.history

    def predict(self, X: Any, batch_size: int = 4096) -> Any:
        """Return the model's predictions: for a Windrow array a lazy one, block by block of rows."""
        if not isinstance(X, Node):
            return self.model.predict(X, batch_size=batch_size, verbose=0)
        rows = _rows(X)
        shape = self.model.compute_output_shape(rows.shape)[1:]
        dtype = np.dtype(str(getattr(self.model, "compute_dtype", "float32")))
        packed = payload(
            "predict", _Predict(Recipe.of(self.model), _weights(self.model), batch_size, dtype), (), {}, "predict"
        )
        grid = Grid([rows.expr.grid.axes[0], *(Axis.regular(n, n) for n in shape)])
        return make(MapBlocks(packed, ((0, *(None,) * (rows.ndim - 1)),)), (rows,), grid, dtype)

    def evaluate(self, X: Any, y: Any, batch_size: int = 4096) -> dict[str, float]:
        """Return loss and metrics: of each block of rows, averaged by rows, for Windrow arrays."""
        if not isinstance(X, Node) and not isinstance(y, Node):
            found: dict[str, float] = self.model.evaluate(
                X, _column(y), batch_size=batch_size, verbose=0, return_dict=True
            )
            return found
        rows = _rows(X)
        target = _column(as_array("evaluate", "y", y))
        target = regrid(target, Grid([rows.expr.grid.axes[0], *(Axis.regular(n, n) for n in target.shape[1:])]))
        few = [np.zeros((1, *a.shape[1:]), a.dtype) for a in (rows, target)]
        names = tuple(self.model.evaluate(*few, verbose=0, return_dict=True))
        task = _Evaluate(Recipe.of(self.model), _weights(self.model), batch_size, names)
        packed = payload("evaluate", task, (), {}, "evaluate")
        count = len(names) + 1
        grid = Grid([Axis.regular(rows.numblocks[0], 1), Axis.regular(count, count)])
        ways = tuple((0, *(None,) * (a.ndim - 1)) for a in (rows, target))
        sums = make(MapBlocks(packed, ways), (rows, target), grid, np.float64).sum(axis=0).compute()
        return {name: float(v / sums[0]) for name, v in zip(names, sums[1:], strict=True)}


def distribute(model: Any) -> Distributed:
    """Return a Keras model that trains, predicts and evaluates where the chunks are.

    Parameters
    ----------
    model : keras.Model
        Compiled; on TensorFlow's backend an epoch is one compiled function.

    Returns
    -------
    Distributed
    """
    if not hasattr(model, "train_step") or getattr(model, "optimizer", None) is None:
        raise ArgumentError(bad("distribute", "model", type(model).__name__, "a compiled Keras model"))
    return Distributed(model)


@dataclass(frozen=True)
class _Predict:
    recipe: Recipe
    weights: dict[str, Any]
    size: int
    dtype: np.dtype[Any]

    def __call__(self, rows: Values) -> Values:
        copy = replica(self.recipe, -1)
        with copy.lock:
            put(copy.model, self.weights)
            parts = [
                np.asarray(copy.model(rows[i : i + self.size], training=False), self.dtype)
                for i in range(0, max(len(rows), 1), self.size)
            ]
        return np.concatenate(parts)


@dataclass(frozen=True)
class _Evaluate:
    recipe: Recipe
    weights: dict[str, Any]
    size: int
    names: tuple[str, ...]

    def __call__(self, rows: Values, target: Values) -> Values:
        copy = replica(self.recipe, -1)
        if not len(rows):
            return np.zeros((1, len(self.names) + 1))
        with copy.lock:
            put(copy.model, self.weights)
            found = copy.model.evaluate(rows, target, batch_size=self.size, verbose=0, return_dict=True)
        return np.array([[1.0, *(found[name] for name in self.names)]]) * len(rows)


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ArgumentError(bad("fit", name, value, "a positive integer"))
    return int(value)


def _rows(X: Any) -> Array:
    array = as_array("predict", "X", X)
    first, *rest = array.expr.grid.axes
    return regrid(array, Grid([first, *(Axis.regular(a.length, max(1, a.length)) for a in rest)]))


def _column(y: Any) -> Any:
    return y[:, None] if np.ndim(y) == 1 else y


def _shards(X: Any, y: Any, weight: Any, shards: int | None, shuffle: bool, seed: int) -> Shards:
    arrays = [as_array("fit", "X", X), _column(as_array("fit", "y", y))]
    if arrays[0].ndim < 2:
        raise ShapeError(bad("fit", "X", arrays[0].shape, "a row for each sample"))
    if weight is not None:
        arrays.append(as_array("fit", "sample_weight", weight))
    return sharded("fit", arrays, shards, shuffle, seed)


def _weights(model: Any) -> dict[str, Any]:
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    return shared(model)


def _built(model: Any, parts: Shards) -> None:
    if not model.built:
        model.build((None, *parts.arrays[0].shape[1:]))
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)


def _names(model: Any, parts: Shards, size: int) -> tuple[str, ...]:
    """Return the names of the metrics, by a step of a copy that is thrown away."""
    copy = pickle.loads(pickle.dumps(model))
    few = tuple(np.asarray(a[: min(size, parts.sizes[0])].compute()) for a in parts.arrays)
    return tuple(copy.train_on_batch(*few, return_dict=True))


def _epoch(outer: Outer, epoch: int, count: int, names: tuple[str, ...]) -> dict[str, float]:
    told = [outer.run(epoch, k) for k in range(count)]
    rows = sum(t["rows"] for t in told)
    return {n: sum(t[n] * t["rows"] for t in told) / rows for n in names}


def _take_rate(rounds: Rounds, model: Any) -> None:
    """Hand on a learning rate that a callback has set."""
    state = rounds.state
    rate = float(model.optimizer.learning_rate)
    if rate != float(state["rate"]):
        rounds.state = {**state, "rate": np.float64(rate)}


def _listeners(callbacks: Any, model: Any, epochs: int, verbose: int) -> Any:
    callback: Any = importlib.import_module("keras.callbacks")
    model.stop_training = False
    params = {"epochs": epochs, "steps": None, "verbose": verbose}
    given = [*(callbacks if isinstance(callbacks, list | tuple) else [callbacks] if callbacks else [])]
    if verbose:
        given.append(callback.LambdaCallback(on_epoch_end=_say(epochs)))
    return callback.CallbackList(given, add_history=True, add_progbar=False, model=model, **params)


def _say(epochs: int) -> Any:
    def line(epoch: int, logs: Any) -> None:
        told = " - ".join(f"{name}: {value:.4g}" for name, value in (logs or {}).items())
        print(f"Epoch {epoch + 1}/{epochs} - {told}", flush=True)

    return line
