"""What models have learnt after as many epochs on 1 to 64 shards: accuracy and log loss on rows that they haven't seen.

    python benchmarks/learning/shards.py [--shards 1 8 64] [--epochs 4] [--models sgd mlp cnn lstm]

Shards are simulated: they are trained one after the other in one process, to the weights that as many ranks give.
"""

from __future__ import annotations

import argparse
import os
import warnings
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier

import windrow as wr
from windrow.ml import Averaged, distribute

Rows = tuple[Any, Any, Any, Any]
ROWS, HELD_OUT, BATCH = 16_384, 4000, 32


def columns() -> Rows:
    """Return rows of ten classes in 40 columns, and others for the test."""
    how = {"n_informative": 20, "n_redundant": 0, "n_classes": 10, "class_sep": 1.5, "random_state": 1}
    X, y = make_classification(ROWS + HELD_OUT, 40, **how)
    return X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]


def images() -> Rows:
    """Return handwritten digits moved about, with noise; every fourth writer's are for the test."""
    rng, digits = np.random.default_rng(0), load_digits()
    held = np.arange(len(digits.target)) % 4 == 0

    def moved(which: Any) -> Any:
        found = rng.normal(0, 0.15, (len(which), 10, 10, 1))
        for at, (number, place) in enumerate(zip(which, rng.integers(0, 3, (len(which), 2)), strict=True)):
            found[at, place[0] : place[0] + 8, place[1] : place[1] + 8, 0] += digits.images[number] / 16
        return found.astype("f4")

    train, test = rng.choice(np.flatnonzero(~held), ROWS), np.flatnonzero(held)
    return moved(train), digits.target[train], moved(test), digits.target[test]


def learn(model: Any, rows: Rows, epochs: int, shards: int) -> tuple[float, float]:
    """Return accuracy and loss of one of scikit-learn's."""
    X, y, other, wanted = rows
    model = Averaged(model, epochs=epochs, shards=shards).fit(X, y)
    return float(model.score(other, wanted)), float(log_loss(wanted, model.predict_proba(other)))


def learn_keras(name: str, rows: Rows, epochs: int, shards: int) -> tuple[float, float]:
    """Return accuracy and loss of one of Keras's."""
    import keras

    layers = keras.layers
    keras.utils.set_random_seed(1)
    if name == "cnn":
        norms = [layers.BatchNormalization() for _ in range(2)]
        stack = [layers.Conv2D(8, 3), norms[0], layers.ReLU(), layers.MaxPooling2D(), layers.Flatten()]
        stack += [layers.Dense(32), norms[1], layers.ReLU()]
    else:
        stack = [layers.Reshape((10, 10)), layers.LSTM(24)]
    model = keras.Sequential([keras.Input((10, 10, 1)), *stack, layers.Dense(10, "softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    X, y, other, wanted = rows
    distribute(model).fit(X, y, batch_size=BATCH, epochs=epochs, shards=shards, verbose=0)
    loss, accuracy = model.evaluate(other, wanted, verbose=0)
    return accuracy, loss


def main() -> None:
    """Print a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--models", nargs="+", default=["sgd", "mlp", "cnn", "lstm"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| model |", " | ".join(map(str, given.shards)), "|")
    print("| --- |", " | ".join("---" for _ in given.shards), "|")
    with wr.Cluster(threads=1):
        for name in given.models:
            rows = images() if name in ("cnn", "lstm") else columns()
            found = []
            for shards in given.shards:
                if name == "sgd":
                    told = learn(SGDClassifier("log_loss", alpha=0.01, random_state=0), rows, given.epochs, shards)
                elif name == "mlp":
                    network = MLPClassifier((64,), batch_size=BATCH, random_state=0)
                    told = learn(network, rows, given.epochs, shards)
                else:
                    told = learn_keras(name, rows, given.epochs, shards)
                found.append(f"{told[0]:.3f} / {told[1]:.2f}")
            print(f"| {name} |", " | ".join(found), "|", flush=True)


if __name__ == "__main__":
    main()
