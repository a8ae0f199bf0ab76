"""Keras on TensorFlow: a round is one `tf.function` around the model's own `train_step`.

Compiled by XLA, a batch takes hundreds of times less than in `fit`, which returns to Python for each batch.
"""

from __future__ import annotations

import ctypes
import importlib
import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from .compiled_rounds import Backend, replace_step, take_gradients

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BACKEND"]

Values = np.ndarray[Any, Any]
ALIGNED = 64
_log = logging.getLogger("windrow")


class TensorFlow(Backend):
    """XLA, or a plain graph for models that XLA can't compile or compiles badly."""

    modes = ("xla", "graph")

    def prepare(self) -> None:
        """Set one thread for each task, if TensorFlow isn't initialised yet; see `windrow.ml.threads`."""
        tf = importlib.import_module("tensorflow")
        try:
            tf.config.threading.set_intra_op_parallelism_threads(1)
        except RuntimeError:
            _log.debug("TensorFlow runs already; its threads stay as they are")
        tf.get_logger().addFilter(_not_retracing)

    def take(self, rows: Values) -> Any:
        """See `Backend.take`."""
        return importlib.import_module("tensorflow").constant(rows) if rows.dtype.kind in "SU" else rows

    def read(self, value: Any) -> Values:
        """See `Backend.read`; arrays made by TensorFlow or NumPy's `asarray` are copies."""
        tensor = importlib.import_module("tensorflow").convert_to_tensor(value)
        if tensor.dtype.name in ("float32", "float64") and "CPU" in tensor.device:
            return np.from_dlpack(tensor)
        return np.asarray(tensor)

    def unfit(self, model: Any, rows: tuple[Values, ...], mode: str) -> str | None:
        """Avoid XLA for strings and for convolutions.

        A failed attempt with strings ends the process at a later compilation. The gradients of convolutions take XLA 5
        to 20 times as long on CPUs as TensorFlow.
        """
        if mode != "xla":
            return None
        if any(r.dtype.kind in "SU" for r in rows):
            return "XLA takes no texts"
        layers = importlib.import_module("keras.layers")
        kinds = tuple(getattr(layers, n) for n in dir(layers) if "Conv" in n and not n.startswith("ConvLSTM"))
        convolves = any(isinstance(layer, kinds) for layer in model._flatten_layers(recursive=True))
        return "XLA is slow at the gradients of convolutions" if convolves else None

    def batches(self, model: Any, size: int, mode: str) -> Callable[..., dict[str, Any]]:
        """See `Backend.batches`."""
        tf: Any = importlib.import_module("tensorflow")

        def loop(rows: Any, order: Any, count: Any) -> Any:
            # Gathered by index: XLA treats the begin of a slice as a constant, and would compile again for each order.
            cut = [tf.reshape(r[: r.shape[0] // size * size], [-1, size, *r.shape[1:]]) for r in rows]

            def step(i: Any) -> Any:
                return model.train_step(tuple(tf.gather(c, order[i]) for c in cut))

            return tf.while_loop(lambda i, _: i < count, lambda i, _: (i + 1, step(i)), (tf.constant(1), step(0)))[1]

        # Without autograph, as in Keras itself: its files in /tmp would be left behind by a killed rank.
        compiled = tf.function(loop, jit_compile=mode == "xla", autograph=False)

        def train(rows: tuple[Values, ...], order: Values, count: int) -> dict[str, Any]:
            logs: dict[str, Any] = compiled(tuple(_tensor(r) for r in rows), order, np.int32(count))
            return logs

        return train

    def batch(self, model: Any, mode: str) -> Callable[..., dict[str, Any]]:
        """See `Backend.batch`."""
        tf: Any = importlib.import_module("tensorflow")
        # It runs once an epoch: XLA would take longer to compile it than it saves.
        compiled = tf.function(model.train_step, autograph=False)

        def train(rows: tuple[Values, ...]) -> dict[str, Any]:
            logs: dict[str, Any] = compiled(tuple(tf.constant(r) for r in rows))
            return logs

        return train

    def gradients(self, model: Any) -> Callable[..., tuple[dict[str, Any], list[Any]]]:
        """See `Backend.gradients`."""
        tf: Any = importlib.import_module("tensorflow")

        def step(rows: Any) -> Any:
            collected: list[list[Any]] = []
            with replace_step(model.optimizer, "apply", lambda given, variables=None: collected.append(list(given))):
                logs = model.train_step(rows)
            pairs = zip(take_gradients(collected), model.trainable_variables, strict=True)
            return logs, [tf.zeros(v.shape, v.dtype) if g is None else tf.convert_to_tensor(g) for g, v in pairs]

        compiled = tf.function(step, autograph=False)

        def gradients(rows: tuple[Values, ...]) -> tuple[dict[str, Any], list[Any]]:
            logs_and_gradients: tuple[dict[str, Any], list[Any]] = compiled(tuple(tf.constant(r) for r in rows))
            return logs_and_gradients

        return gradients

    def apply(self, model: Any) -> Callable[..., None]:
        """See `Backend.apply`."""
        tf: Any = importlib.import_module("tensorflow")

        def step(found: Any) -> None:
            model.optimizer.apply(found, model.trainable_variables)

        compiled = tf.function(step, autograph=False)

        def apply(found: list[Values]) -> None:
            compiled([_tensor(g) for g in found])

        return apply

    def test(self, model: Any) -> Callable[..., dict[str, Any]]:
        """See `Backend.test`."""
        tf: Any = importlib.import_module("tensorflow")
        # Chunks may have any number of rows.
        compiled = tf.function(model.test_step, reduce_retracing=True, autograph=False)

        def test(rows: tuple[Values, ...]) -> dict[str, Any]:
            logs: dict[str, Any] = compiled(tuple(tf.constant(r) for r in rows))
            return logs

        return test

    def find_metrics(self, model: Any, rows: tuple[Values, ...]) -> dict[str, Any]:
        """See `Backend.find_metrics`."""
        tf: Any = importlib.import_module("tensorflow")
        logs: dict[str, Any] = model.train_step(tuple(tf.constant(r) for r in rows))
        return logs


BACKEND = TensorFlow()


def _tensor(rows: Values) -> Any:
    """Return an array as a tensor, without a copy if its memory is aligned as TensorFlow needs it.

    A tensor over the memory of a chunk is valid until the task ends.
    """
    tf = importlib.import_module("tensorflow")
    address = rows.__array_interface__["data"][0]
    if address % ALIGNED or not rows.flags.c_contiguous or not rows.size or rows.dtype.kind in "SU":
        return tf.constant(rows)
    # NumPy exports only writable memory in the form that TensorFlow takes. Nothing writes to it.
    memory: Any = (ctypes.c_char * rows.nbytes).from_address(address)
    writable = np.frombuffer(memory, rows.dtype).reshape(rows.shape)
    return tf.experimental.dlpack.from_dlpack(writable.__dlpack__())


def _not_retracing(record: logging.LogRecord) -> bool:
    """Suppress the warning that a function is traced often: each copy of a model has a function of its own."""
    return "triggered tf.function retracing" not in record.getMessage()
