"""Keras's `Input(5) -> Dense(1)`, SGD 0.005, mse, batches of 128 of 5,000,000 x 5 float32: seconds of an epoch."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from measured import Asked, Course, Measured, Values, kept, ranks

SIZE = 128
FIRST = 100 * SIZE


def _data(asked: Asked) -> tuple[Values, Values, Values, Values]:
    generator = np.random.default_rng(3)
    n, held = asked.rows(5_000_000), asked.rows(100_000)
    X = generator.random((n + held, 5), dtype=np.float32)
    y = (X @ np.arange(1, 6, dtype=np.float32) + 0.5)[:, None]
    return X[:n], y[:n], X[n:], y[n:]


def _model() -> Any:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    import keras

    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.005), "mse")
    return model


def _error(X: Values, y: Values) -> Any:
    def error(model: Any) -> float:
        kernel, bias = model.get_weights()
        return float(np.sqrt(((X @ kernel + bias - y) ** 2).mean()))

    return error


def fit(asked: Asked) -> Measured:
    """Keras's `fit`, with TensorFlow's threads on both cores: one epoch, after some batches that trace."""
    X, y, held_X, held_y = _data(asked)
    model = _model()
    start = model.get_weights()
    model.fit(X[:FIRST], y[:FIRST], batch_size=SIZE, verbose=0)
    model.set_weights(start)
    begin = time.perf_counter()
    model.fit(X, y, batch_size=SIZE, verbose=0)
    return Measured(time.perf_counter() - begin, _error(held_X, held_y)(model))


def windrow(asked: Asked) -> Measured:
    """On 2 ranks, averaged each epoch: the least of epochs after the first."""
    import keras

    X, y, held_X, held_y = _data(asked)
    with ranks() as wr:
        model = _model()
        rows, target = kept(wr, X, y)
        course = Course(_error(held_X, held_y))
        told = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: course.tell(model))
        wr.ml.distribute(model).fit(rows, target, batch_size=SIZE, epochs=6, callbacks=[told])
    return course.measured(first=course.points[0][0])


def same_weights(asked: Asked) -> Measured:
    """One shard in order beside `fit(shuffle=False)`: how far weights are apart after 100 steps, and after all."""
    X, y, held_X, held_y = _data(asked)
    told: dict[str, float] = {}
    with ranks() as wr:
        for name, n in (("after 100 steps", FIRST), ("after an epoch", len(X))):
            theirs, ours = _model(), _model()
            begin = time.perf_counter()
            theirs.fit(X[:n], y[:n], batch_size=SIZE, shuffle=False, verbose=0)
            seconds = time.perf_counter() - begin
            rows, target = kept(wr, X[:n], y[:n])
            wr.ml.distribute(ours).fit(rows, target, batch_size=SIZE, shards=1, shuffle=False)
            pairs = list(zip(theirs.get_weights(), ours.get_weights(), strict=True))
            told[name] = max(float(abs(a - b).max()) for a, b in pairs)
            told[f"{name}, relative"] = max(float((abs(a - b) / abs(a)).max()) for a, b in pairs)
    return Measured(seconds, _error(held_X, held_y)(ours), told=told)


SYSTEMS = {"keras-fit": fit, "windrow-ranks": windrow, "windrow-one-shard": same_weights}
