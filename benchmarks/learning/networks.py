"""Networks on Keras: 30-64-4 on 160,000 rows, and 784-528-528-10 on 60,000: seconds of an epoch, accuracy over time.

The metric is the accuracy on further rows. Peers train some epochs; Windrow trains for as long as the slowest of them.
Imports are over when the clock starts, on the ranks too; compiling is on the clock.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from measured import Asked, Course, Measured, Values, kept, ranks

if TYPE_CHECKING:
    from collections.abc import Callable

HELD = 10_000


@dataclass(frozen=True)
class Network:
    """A network and its data: rows, widths of its layers, activation, batch, rate and momentum, the peers' epochs."""

    rows: int
    widths: tuple[int, ...]
    activation: str
    batch: int
    rate: float
    momentum: float
    epochs: int
    noise: float


SMALL = Network(160_000, (30, 64, 4), "relu", 128, 0.05, 0.9, 20, 0.5)
IMAGES = Network(60_000, (784, 528, 528, 10), "sigmoid", 100, 0.05, 0.0, 6, 0.35)


def _data(network: Network, asked: Asked) -> tuple[Values, Values, Values, Values]:
    """Return rows scattered about eight centres a class, and their classes."""
    generator = np.random.default_rng(4)
    n, held = asked.rows(network.rows), HELD // (100 if asked.quick else 1)
    first, *_, classes = network.widths
    centres = generator.random((8 * classes, first), dtype=np.float32)
    picked = generator.integers(0, len(centres), n + held)
    X = centres[picked]
    X += network.noise * generator.standard_normal(X.shape, dtype=np.float32)
    y = (picked % classes).astype(np.int32)
    return X[:n], y[:n], X[n:], y[n:]


def _keras(network: Network) -> Any:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    import keras

    keras.utils.set_random_seed(0)
    first, *inner, classes = network.widths
    hidden = [keras.layers.Dense(w, activation=network.activation) for w in inner]
    model = keras.Sequential([keras.Input((first,)), *hidden, keras.layers.Dense(classes)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(network.rate, momentum=network.momentum), loss)
    return model


def _accuracy(X: Values, y: Values) -> Any:
    def accuracy(model: Any) -> float:
        told = model.predict_on_batch(X)
        return float((np.argmax(told, axis=1) == y).mean())

    return accuracy


def fit(network: Network, asked: Asked) -> Measured:
    """Keras's `fit` with TensorFlow's threads on both cores."""
    X, y, *held = _data(network, asked)
    model = _keras(network)
    import keras

    course = Course(_accuracy(*held))
    told = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: course.tell(model))
    model.fit(X, y, batch_size=network.batch, epochs=network.epochs, verbose=0, callbacks=[told])
    return course.measured()


def torch_eager(network: Network, asked: Asked) -> Measured:
    """PyTorch's usual loop with its tensors in memory, a new order each epoch, 2 threads."""
    import torch

    torch.set_num_threads(2)
    torch.manual_seed(0)
    X, y, held_X, held_y = _data(network, asked)
    rows, target, held = torch.from_numpy(X), torch.from_numpy(y.astype(np.int64)), torch.from_numpy(held_X)
    layers: list[Any] = []
    for before, after in zip(network.widths, network.widths[1:], strict=False):
        layers += [
            torch.nn.Linear(before, after),
            torch.nn.Sigmoid() if network.activation == "sigmoid" else torch.nn.ReLU(),
        ]
    model = torch.nn.Sequential(*layers[:-1])
    for layer in model:
        if isinstance(layer, torch.nn.Linear):  # Keras's start
            torch.nn.init.xavier_uniform_(layer.weight)
            torch.nn.init.zeros_(layer.bias)
    optimiser = torch.optim.SGD(model.parameters(), lr=network.rate, momentum=network.momentum)
    loss = torch.nn.CrossEntropyLoss()

    def accuracy(_: Any) -> float:
        with torch.no_grad():
            return float((model(held).argmax(1).numpy() == held_y).mean())

    course = Course(accuracy)
    for _ in range(network.epochs):
        order = torch.randperm(len(rows))
        for at in range(0, len(rows), network.batch):
            mine = order[at : at + network.batch]
            optimiser.zero_grad()
            loss(model(rows[mine]), target[mine]).backward()
            optimiser.step()
        course.tell(model)
    return course.measured()


def windrow(network: Network, asked: Asked) -> Measured:
    """On 2 ranks, averaged each epoch, until the peers' time is over."""
    import keras

    X, y, *held = _data(network, asked)
    with ranks() as wr:
        few = network.batch * 4
        other = keras.Sequential([keras.Input(X.shape[1:]), keras.layers.Dense(1)])
        other.compile("sgd", "mse")
        wr.ml.distribute(other).fit(*kept(wr, X[:few], y[:few].astype(np.float32)))  # imports Keras on the ranks
        model = _keras(network)
        rows, target = kept(wr, X, y)
        course = Course(_accuracy(*held))

        class Told(keras.callbacks.Callback):  # type: ignore[misc]
            def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
                self.model.stop_training = course.tell(self.model) > asked.until and epoch >= 2

        wr.ml.distribute(model).fit(rows, target, batch_size=network.batch, epochs=1000, callbacks=[Told()])
    return course.measured(first=course.points[0][0])


def systems(network: Network) -> dict[str, Callable[[Asked], Measured]]:
    """Return the systems of a network, peers first."""
    return {
        "keras-fit": partial(fit, network),
        "torch": partial(torch_eager, network),
        "windrow-ranks": partial(windrow, network),
    }
