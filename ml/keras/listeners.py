"""Keras callbacks, called for each epoch on the driver."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import numpy as np

from .backends.compiled_rounds import backend

__all__ = ["build_metrics", "listen", "watch_loss"]

Values = np.ndarray[Any, Any]


def listen(given: list[Any], model: Any, epochs: int, verbose: int | str) -> Any:
    """Return the list that calls the user's callbacks and the model's history."""
    callback: Any = importlib.import_module("keras.callbacks")
    model.stop_training = False
    params = {"epochs": epochs, "steps": None, "verbose": verbose}
    lines = [callback.LambdaCallback(on_epoch_end=_say(epochs))] if verbose == 2 else []
    return callback.CallbackList([*given, *lines], add_history=True, add_progbar=False, model=model, **params)


def build_metrics(model: Any, some: tuple[Values, ...]) -> None:
    """Build a model's metrics: by their names callbacks decide whether greater is better."""
    with contextlib.suppress(Exception):  # if that fails, callbacks must be told by their argument `mode`
        model._symbolic_build(data_batch=tuple(backend().take(rows) for rows in some))


def watch_loss(given: list[Any], logs: dict[str, Any], batches: int) -> None:
    """Pass the epoch's loss to TerminateOnNaN, as that of its last batch."""
    kind: Any = importlib.import_module("keras.callbacks").TerminateOnNaN
    for callback in given:
        if isinstance(callback, kind):
            callback.on_batch_end(batches - 1, logs)


def _say(epochs: int) -> Any:
    def line(epoch: int, logs: Any) -> None:
        text = " - ".join(f"{name}: {value:.4g}" for name, value in (logs or {}).items())
        print(f"Epoch {epoch + 1}/{epochs} - {text}", flush=True)

    return line
