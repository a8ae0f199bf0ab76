"""Checks of arguments: what training on shards can't do is refused at the call."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.execution.compute import compute
from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, BadValue, InWords, ShapeError, bad

if TYPE_CHECKING:
    from ..training.shards import Shards

__all__ = ["check_callbacks", "check_compiled", "check_labels", "check_model", "check_rows", "count_of", "held_out"]

BATCH = tuple(f"on_{part}batch_{end}" for part in ("", "train_") for end in ("begin", "end"))
BY_EPOCH = {"ModelCheckpoint": "save_freq", "TensorBoard": "update_freq", "TerminateOnNaN": ""}
"""Keras's callbacks with methods for batches, which they don't need if this argument is "epoch"."""


def count_of(name: str, value: Any, operation: str = "fit", *, least: int = 1) -> int:
    """Check and return an integer, positive or not negative."""
    return check_integer(operation, name, value, least)


def check_compiled(model: Any, operation: str) -> None:
    """Raise unless it is a compiled Keras model with one input, one output and a loss."""
    check_model(model, operation)
    expected = "a compiled Keras model, with a loss"
    if getattr(model, "optimizer", None) is None:
        raise ArgumentError(bad(operation, "model", InWords(f"{type(model).__name__} that isn't compiled"), expected))
    keras = importlib.import_module("keras")
    own = any(getattr(type(model), n) is not getattr(keras.Model, n) for n in ("train_step", "compute_loss"))
    if getattr(model, "loss", None) is None and not own:
        raise ArgumentError(
            bad(operation, "model", InWords(f"{type(model).__name__} compiled without a loss"), expected)
        )


def check_model(model: Any, operation: str = "distribute") -> None:
    """Raise unless it is a Keras model with one input and one output."""
    if not hasattr(model, "train_step"):
        raise ArgumentError(bad(operation, "model", type(model).__name__, "a Keras model"))
    for name in ("inputs", "outputs"):
        try:
            tensors = getattr(model, name, None)
        except (AttributeError, ValueError):  # not built yet
            continue
        if isinstance(tensors, list | tuple | dict) and len(tensors) > 1:
            came = InWords(f"{type(model).__name__} of {len(tensors)} {name}")
            raise ArgumentError(bad(operation, "model", came, "a model with one input and one output"))


def check_rows(name: str, value: Any) -> None:
    """Raise for several arrays where one is expected."""
    nested = isinstance(value, list | tuple) and any(np.ndim(one) > 1 for one in value)
    if isinstance(value, dict) or nested:
        keys = f" of {sorted(map(str, value))}" if isinstance(value, dict) else f" of {len(value)} arrays"
        expected = "one array with a row for each sample, for a model with one input and one output"
        raise ArgumentError(bad("fit", name, InWords(f"{type(value).__name__}{keys}"), expected))
    if value is None or not (hasattr(value, "shape") or isinstance(value, list | tuple)):
        expected = "an array: rows of generators and datasets are to be read into arrays first"
        raise ArgumentError(bad("fit", name, InWords(type(value).__name__), expected))
    if name == "x" and np.ndim(value) < 2:
        raise ShapeError(bad("fit", "x", np.shape(value), "a row for each sample"))


def check_labels(model: Any, parts: Shards) -> None:
    """Raise for labels for which a model has no output.

    TensorFlow raises only when it runs eagerly; in a compiled epoch they would make all weights NaN.
    """
    if importlib.import_module("keras").backend.backend() != "tensorflow":
        return
    loss = getattr(model, "loss", None)
    name = getattr(loss, "name", None) or getattr(loss, "__name__", None) or loss
    if name != "sparse_categorical_crossentropy" or getattr(loss, "ignore_class", None) is not None:
        return
    X, y = parts.arrays[:2]
    try:
        classes = model.compute_output_shape(X.shape)[-1]
    except NotImplementedError:  # a model of the user's own class needn't implement it
        return
    if y.dtype.kind not in "biuf":
        raise BadValue(bad("fit", "y", y.dtype, f"labels from 0 to {classes - 1}"))
    least, most = compute(y.min(), y.max())
    if not (least >= 0 and most < classes):
        raise BadValue(bad("fit", "y", InWords(f"labels from {least} to {most}"), f"labels from 0 to {classes - 1}"))


def held_out(value: Any) -> tuple[Any, Any, Any] | None:
    """Check `validation_data`, and return its rows, targets and weights."""
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) not in (2, 3):
        came = f"{type(value).__name__} of {len(value)}" if isinstance(value, list | tuple) else type(value).__name__
        raise ArgumentError(bad("fit", "validation_data", InWords(came), "a pair (x, y), or (x, y, sample_weight)"))
    check_rows("validation_data", value[0])
    return value[0], value[1], value[2] if len(value) == 3 else None


def check_callbacks(callbacks: Any) -> list[Any]:
    """Return callbacks as a list; raise for those that are called for each batch."""
    callback_list = (
        list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks] if callbacks is not None else []
    )
    base = importlib.import_module("keras.callbacks").Callback
    for callback in callback_list:
        if not isinstance(callback, base):
            raise ArgumentError(bad("fit", "callbacks", type(callback).__name__, "Keras's callbacks"))
        names = [n for n in BATCH if n in vars(callback) or getattr(type(callback), n) is not getattr(base, n)]
        frequency = BY_EPOCH.get(type(callback).__name__)
        if names and (frequency is None or getattr(callback, frequency, "epoch") != "epoch"):
            expected = "callbacks for epochs, since an epoch is one compiled function (Keras's own fit calls them)"
            came = InWords(f"{type(callback).__name__} with {', '.join(names)}")
            raise ArgumentError(bad("fit", "callbacks", came, expected))
    return callback_list
