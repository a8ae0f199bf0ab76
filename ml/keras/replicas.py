"""A rank's copies of a Keras model, and an epoch of one as a single compiled function.

The whole epoch is one `tf.function(jit_compile=True)` around the model's own `train_step`: hundreds of times less a
batch than `fit`, which goes back to Python for each. Where XLA can't compile a model the same loop runs uncompiled,
and where that can't be traced either, `fit`. A copy is a cache: it is made again wherever it is missing.
"""

from __future__ import annotations

import importlib
import json
import logging
import pickle
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

__all__ = ["Recipe", "Replica", "replica"]

Values = np.ndarray[Any, Any]
_log = logging.getLogger("windrow")
_building = threading.RLock()
_replicas: OrderedDict[tuple[bytes, int], Replica] = OrderedDict()
MOST = 64
"""Copies that a rank keeps."""


@dataclass(eq=False)
class Replica:
    """A copy of a model for one shard, with its rows as tensors and its compiled functions."""

    model: Any
    lock: threading.Lock = field(default_factory=threading.Lock)
    compiled: dict[tuple[int, int], Any] = field(default_factory=dict)
    level: int = 0
    """How an epoch runs: 0 compiled by XLA, 1 traced, 2 by `fit`."""
    rows: tuple[Any, Any] | None = None

    def tensors(self, rows: tuple[Values, ...]) -> tuple[Any, ...]:
        """Return the shard's rows as tensors, made once as long as they are the same memory."""
        tf = importlib.import_module("tensorflow")
        key = tuple(r.__array_interface__["data"][0] for r in rows), tuple(r.shape for r in rows)
        if self.rows is None or self.rows[0] != key:
            self.rows = key, tuple(tf.constant(r) for r in rows)
        return self.rows[1]

    def train(self, rows: tuple[Values, ...], size: int, blocks: Values, rest: slice | None) -> dict[str, float]:
        """Train on batches: blocks of `size` rows by their numbers, then a rest; return the means of the metrics."""
        self.model.reset_metrics()
        logs: dict[str, Any] = {}
        data = self.tensors(rows)
        if len(blocks):
            logs = self._blocks(data, size, blocks)
        if rest is not None:
            logs = self._rest(tuple(d[rest] for d in data))
        return {name: float(value) for name, value in logs.items()}

    def _rest(self, data: tuple[Any, ...]) -> dict[str, Any]:
        tf = importlib.import_module("tensorflow")
        key = len(data[0]), -1
        if key not in self.compiled:
            self.compiled[key] = self.model.train_step if self.level == 2 else tf.function(self.model.train_step)
        found: dict[str, Any] = self.compiled[key](data)
        return found

    def _blocks(self, data: tuple[Any, ...], size: int, blocks: Values) -> dict[str, Any]:
        room = 1 << (len(blocks) - 1).bit_length()  # rounds of about as many batches share a function
        order = np.zeros(room, np.int32)
        order[: len(blocks)] = blocks
        while self.level < 2:
            key = room, size
            try:
                if key not in self.compiled:
                    self.compiled[key] = _epoch(self.model, size, jit=self.level == 0)
                found: dict[str, Any] = self.compiled[key](data, order, np.int32(len(blocks)))
                return found
            except Exception as error:
                _log.info("an epoch can't be compiled (%s), a slower way is taken", str(error).splitlines()[0])
                self.level += 1
                self.compiled.clear()
        rows = (blocks[:, None] * size + np.arange(size)).ravel()
        picked = [d.numpy()[rows] for d in data]
        weights = {"sample_weight": picked[2]} if len(picked) > 2 else {}
        told = self.model.fit(*picked[:2], **weights, batch_size=size, epochs=1, shuffle=False, verbose=0)
        return {name: values[-1] for name, values in told.history.items()}


def _epoch(model: Any, size: int, *, jit: bool) -> Any:
    tf: Any = importlib.import_module("tensorflow")

    def epoch(data: Any, blocks: Any, count: Any) -> Any:
        # Gathered by its number: XLA takes the begin of a slice for a constant, and compiles again for each order.
        cut = [tf.reshape(d[: d.shape[0] // size * size], [-1, size, *d.shape[1:]]) for d in data]

        def batch(i: Any) -> Any:
            return tuple(tf.gather(c, blocks[i]) for c in cut)

        logs = model.train_step(batch(0))
        for i in tf.range(1, count):
            logs = model.train_step(batch(i))
        return logs

    return tf.function(epoch, jit_compile=jit)


@dataclass(frozen=True)
class Recipe:
    """A model as it travels: pickled, under a name that its weights have no part in, so that copies serve again."""

    name: bytes
    pickled: bytes

    @classmethod
    def of(cls, model: Any) -> Recipe:
        """Return the recipe of a compiled model."""
        saving = importlib.import_module("keras.saving")
        told = json.dumps(saving.serialize_keras_object(model), sort_keys=True, default=repr)
        name = blake2b(told.encode(), digest_size=16).digest()
        return cls(name, pickle.dumps(model))


def replica(recipe: Recipe, shard: int) -> Replica:
    """Return this rank's copy of a model for a shard; its weights are those of its last use."""
    key = recipe.name, shard
    with _building:
        found = _replicas.get(key)
        if found is None:
            found = _replicas[key] = Replica(_load(recipe.pickled))
            while len(_replicas) > MOST:
                _replicas.popitem(last=False)
        _replicas.move_to_end(key)
        return found


def _load(pickled: bytes) -> Any:
    tf = importlib.import_module("tensorflow")
    try:  # a rank's threads are its tasks
        tf.config.threading.set_intra_op_parallelism_threads(1)
    except RuntimeError:
        _log.debug("TensorFlow runs already; its threads stay as they are")
    tf.get_logger().addFilter(_not_retracing)
    model = pickle.loads(pickled)
    if model.optimizer is not None and not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    return model


def _not_retracing(record: logging.LogRecord) -> bool:
    """Leave out the warning that a function is traced often: each shard's copy has one of its own."""
    return "triggered tf.function retracing" not in record.getMessage()
