"""A network of 10.5 million weights with `average="gradient"` beside Keras's `fit` with batches of all shards together.

Seconds and processor time of an epoch of 8 batches, the least of some, and page faults of a batch:

    python benchmarks/learning/gradient_steps.py [keras] [adam|sgd]      Keras, or threads of one process
    mpirun … -n 2 python -m windrow benchmarks/learning/gradient_steps.py [adam|sgd]     ranks
"""

from __future__ import annotations

import os
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

STEPS, ROWS, SHARDS, EPOCHS = 8, 32, 2, 6
WIDTHS = (1024, 2048, 2048, 2048, 10)


def model_of(optimizer: str) -> Any:
    """Return the network."""
    import keras

    keras.utils.set_random_seed(0)
    first, *inner, classes = WIDTHS
    hidden = [keras.layers.Dense(w, activation="relu") for w in inner]
    model = keras.Sequential([keras.Input((first,)), *hidden, keras.layers.Dense(classes)])
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def used(pids: list[int]) -> np.ndarray[Any, Any]:
    """Return minor faults, and seconds in user and system, of processes."""
    stats = [Path(f"/proc/{p}/stat").read_text().rpartition(")")[2].split() for p in pids]
    ticks = os.sysconf("SC_CLK_TCK")
    return np.array([[int(s[7]), int(s[11]) / ticks, int(s[12]) / ticks] for s in stats]).sum(axis=0)


def main() -> None:
    """Print a line for each epoch."""
    plain, optimizer = "keras" in sys.argv, "sgd" if "sgd" in sys.argv else "adam"
    generator = np.random.default_rng(1)
    X = generator.random((STEPS * ROWS * SHARDS, WIDTHS[0]), dtype=np.float32)
    y = (X.sum(axis=1) > X.shape[1] / 2).astype(np.int32)
    if not plain:
        import windrow as wr
        import windrow.ml
    import keras

    model = model_of(optimizer)
    pids = [os.getpid()] if plain else [row["pid"] for row in wr.cluster().info()]
    points: list[tuple[float, Any]] = []

    class Times(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            points.append((time.perf_counter(), used(pids)))

        def on_train_end(self, logs: Any = None) -> None:
            points.append((time.perf_counter(), used(pids)))

    begin = time.perf_counter()
    if plain:
        model.fit(X, y, batch_size=ROWS * SHARDS, epochs=EPOCHS, verbose=0, callbacks=[Times()])
    else:
        how = {"shards": SHARDS, "average": "gradient", "callbacks": [Times()], "verbose": 0}
        wr.ml.distribute(model).fit(wr.asarray(X), wr.asarray(y), batch_size=ROWS, epochs=EPOCHS, **how)
    print(f"{optimizer}, fit: {time.perf_counter() - begin:.1f} s")
    for (at, before), (end, after) in pairwise(points):
        faults, user, system = after - before
        text = f"epoch {end - at:6.2f} s, user {user:6.2f} s, system {system:6.2f} s"
        print(f"{text}, faults a batch {faults / STEPS:9,.0f}", flush=True)


if __name__ == "__main__":
    main()
