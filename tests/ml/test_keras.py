"""Keras models on shards."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import windrow as wr
from windrow.ml import Sequential, distribute

ROWS = 2050
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*steps an epoch:UserWarning")


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(0)
    X = generator.random((ROWS, 5), dtype="f4")
    return X, (X.astype(float) @ np.arange(1, 6) + 1).astype("f4")


def linear(kind=keras.Sequential, rate=0.05, **more):
    keras.utils.set_random_seed(1)
    model = kind([keras.Input((5,)), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(rate, **more), loss="mse", metrics=["mae"])
    return model


def test_one_shard_is_fit(data):
    X, y = data
    ours, theirs = linear(momentum=0.9), linear(momentum=0.9)
    found = distribute(ours).fit(wr.from_array(X, chunks=(300, 5)), y, batch_size=64, epochs=3, shards=1, shuffle=False)
    wanted = theirs.fit(X, y[:, None], batch_size=64, epochs=3, shuffle=False, verbose=0)
    for a, b in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.history["loss"], wanted.history["loss"], rtol=1e-3)
    assert found.epoch == [0, 1, 2]


@pytest.mark.parametrize("average", ["epoch", "batch", 5])
def test_shards_learn(data, average):
    X, y = data
    model = linear()
    history = distribute(model).fit(X, y, batch_size=32, epochs=4, shards=3, average=average, seed=2)
    assert history.history["loss"][-1] < 1.0 < history.history["loss"][0]
    assert set(history.history) == {"loss", "mae"}


def test_the_same_seed_gives_the_same_bits(data):
    X, y = data
    runs = []
    for seed in (1, 1, 2):
        model = linear()
        distribute(model).fit(X, y, batch_size=50, epochs=2, shards=3, seed=seed)
        runs.append(b"".join(w.tobytes() for w in model.get_weights()))
    assert runs[0] == runs[1] != runs[2]


def test_layers_with_state_validation_and_callbacks(data, tmp_path):
    X, y = data
    lazy = wr.from_array(X, chunks=(500, 5))
    keras.utils.set_random_seed(1)
    layers = keras.layers
    stack = [keras.Input((5,)), layers.Dense(8, activation="relu"), layers.BatchNormalization(), layers.Dropout(0.1)]
    model = Sequential([*stack, layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
    seen = []
    rates = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5)
    ended = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append((epoch, dict(logs))))
    path = tmp_path / "m.keras"
    more = {"validation_data": (lazy[:200], y[:200]), "callbacks": [rates, ended], "checkpoint": path}
    model.fit(lazy, y, batch_size=64, epochs=2, shards=2, **more)
    assert [epoch for epoch, _ in seen] == [0, 1]
    assert {"loss", "val_loss"} <= set(seen[0][1])
    assert float(model.optimizer.learning_rate) == pytest.approx(0.0025)
    variance = np.asarray(model.layers[1].moving_variance)
    assert (variance > 0).all()
    history = model.fit(lazy, y, batch_size=64, epochs=3, shards=2, resume=path)
    assert history.epoch == [2]
    told = model.predict(lazy)
    assert isinstance(told, wr.Array)
    np.testing.assert_allclose(told.compute(), model.predict(X, verbose=0), rtol=1e-4, atol=1e-5)
    wanted = keras.Sequential.evaluate(model, X, y[:, None], verbose=0)
    assert model.evaluate(lazy, y) == pytest.approx(wanted, rel=1e-3)


def test_callbacks_are_told_of_validation_data(data):
    X, y = data
    seen = []
    watch = keras.callbacks.Callback()
    watch.on_test_begin = lambda logs=None: seen.append("begin")
    watch.on_test_end = lambda logs=None: seen.append(dict(logs))
    stop = keras.callbacks.EarlyStopping(monitor="val_loss", patience=0, min_delta=1e9)
    more = {"validation_data": (X[:100], y[:100]), "callbacks": [watch, stop]}
    history = distribute(linear()).fit(X, y, epochs=9, shards=2, **more)
    assert history.epoch == [0, 1]
    assert seen[::2] == ["begin", "begin"]
    assert [told["loss"] for told in seen[1::2]] == history.history["val_loss"]
    assert [told["mae"] for told in seen[1::2]] == history.history["val_mae"]


def test_early_stopping(data):
    X, y = data
    stop = keras.callbacks.EarlyStopping(monitor="loss", patience=0, min_delta=1e9)
    history = distribute(linear()).fit(X, y, epochs=9, shards=2, callbacks=[stop])
    assert len(history.epoch) == 2
