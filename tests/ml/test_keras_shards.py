"""Keras models on many shards: more of them must not make a worse model."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import windrow as wr
from windrow.ml import distribute

layers = keras.layers
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*steps an epoch:UserWarning")


@pytest.fixture(scope="module")
def waves():
    """Rows of three classes, each a wave of another length; the last third isn't trained on."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 3072)
    X = np.sin((y[:, None] + 1) * np.linspace(0, 3, 12) + rng.uniform(0, 3, (3072, 1))) + rng.normal(0, 0.3, (3072, 12))
    return (5 * X + 3).astype("f4"), y


def compiled(stack, optimizer=None, loss="sparse_categorical_crossentropy"):
    keras.utils.set_random_seed(1)
    model = keras.Sequential(stack())
    model.compile(optimizer or keras.optimizers.Adam(0.003), loss, metrics=["accuracy"])
    return model


def normalised():
    return compiled(
        lambda: [
            keras.Input((12,)),
            layers.Dense(16),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Dense(3, "softmax"),
        ]
    )


def recurrent():
    return compiled(lambda: [keras.Input((12,)), layers.Reshape((12, 1)), layers.GRU(8), layers.Dense(3, "softmax")])


@pytest.mark.parametrize(("make", "most"), [(normalised, 1.5), pytest.param(recurrent, 1.35, marks=pytest.mark.slow)])
def test_shards_make_no_worse_a_model(waves, make, most):
    X, y = waves

    def loss(shards, **more):
        model = make()
        distribute(model).fit(X[:2048], y[:2048], batch_size=16, epochs=6, shards=shards, verbose=0, **more)
        return model.evaluate(X[2048:], y[2048:], verbose=0)[0]

    alone = loss(1)
    assert loss(8) < most * alone < loss(8, scale_learning_rate=False)


@pytest.mark.parametrize("average", ["epoch", 2, "async"])
def test_moving_moments_see_the_steps_of_all_shards(waves, average):
    X, y = waves
    found = []
    for shards in (1, 8):
        norm = layers.BatchNormalization(momentum=0.95)
        model = compiled(lambda: [keras.Input((12,)), norm, layers.Dense(3, "softmax")], keras.optimizers.SGD(0.0))  # noqa: B023
        distribute(model).fit(X[:2048], y[:2048], batch_size=32, shards=shards, average=average)
        found.append([np.asarray(v) for v in (norm.moving_mean, norm.moving_variance)])
    (mean, variance), (other_mean, other_variance) = found
    assert mean.min() > 1  # of all rows, by .96 of the way
    np.testing.assert_allclose(other_mean, mean, rtol=0.2)  # the order of batches differs
    np.testing.assert_allclose(other_variance, variance, rtol=0.2)


@keras.saving.register_keras_serializable("tests")
class Centred(layers.Layer):
    """A normalisation of a user's own, whose moments decay by a number in its code."""

    def build(self, shape):
        self.moving_mean, self.moving_variance = (
            self.add_weight(shape=shape[-1:], initializer=name, trainable=False) for name in ("zeros", "ones")
        )

    def call(self, x, training=None):
        if training:
            self.moving_mean.assign(0.9 * self.moving_mean + 0.1 * keras.ops.mean(x, axis=0))
        return x - self.moving_mean


def test_a_normalisation_of_ones_own_is_trained_on_shards(waves):
    X, y = waves
    norm = Centred()
    model = compiled(lambda: [keras.Input((12,)), norm, layers.Dense(3, "softmax")])
    distribute(model).fit(X[:512], y[:512], batch_size=32, shards=2)
    assert np.asarray(norm.moving_mean).min() > 0.5


def test_a_schedule_of_the_rate_goes_by_the_steps_of_all_shards(waves):
    X, y = waves

    class Falling(keras.optimizers.schedules.LearningRateSchedule):
        """Nothing from the 32nd step on."""

        def __call__(self, step):
            return keras.ops.where(keras.ops.cast(step, "float32") < 32, 0.01, 0.0)

        def get_config(self):
            return {}

    kept = {}
    for epochs in (1, 2):
        for shards in (1, 4):
            model = compiled(lambda: [keras.Input((12,)), layers.Dense(3, "softmax")], keras.optimizers.SGD(Falling()))
            how = {"batch_size": 16, "shards": shards, "scale_learning_rate": False}
            distribute(model).fit(X[:512], y[:512], epochs=epochs, **how)
            kept[epochs, shards] = model.get_weights()[0]
    for shards in (1, 4):
        np.testing.assert_array_equal(kept[1, shards], kept[2, shards])


def test_larger_rates_stay_where_training_converges():
    X = np.random.default_rng(1).random((2048, 5), dtype="f4")
    y = (X @ np.arange(1, 6, dtype="f4") + 1)[:, None]
    for shards in (8, 64):
        model = compiled(lambda: [keras.Input((5,)), layers.Dense(1)], keras.optimizers.SGD(0.1), "mse")
        distribute(model).fit(X, y, batch_size=8, epochs=4, shards=shards)
        assert model.evaluate(X, y, verbose=0)[0] < y.var() / 4
    with pytest.raises(wr.ArgumentError, match="'scale_learning_rate' is 2; expected True, False or 'auto'"):
        distribute(model).fit(X, y, scale_learning_rate=2)


def test_few_steps_of_shards_are_warned_of(waves):
    X, y = waves
    with pytest.warns(UserWarning, match="fit: each of 8 shards takes only 4 steps an epoch.*smaller batch_size"):
        distribute(averaging()).fit(X[:1024], y[:1024], shards=8)


def averaging():
    optimizer = keras.optimizers.SGD(0.05, use_ema=True, ema_momentum=0.9)
    return compiled(lambda: [keras.Input((12,)), layers.Dense(3, "softmax")], optimizer)


def test_moving_averages_of_the_weights_are_those_of_keras(waves):
    X, y = waves
    ours, theirs = averaging(), averaging()
    distribute(ours).fit(X[:512], y[:512], shards=1, epochs=2, shuffle=False)
    theirs.fit(X[:512], y[:512], epochs=2, shuffle=False, verbose=0)
    for a, b in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def minus(y, found):
    return -found


def lagging(shards, average):
    """Return a weight that grows by .01 a step, in all, and its moving average."""
    layer = layers.Dense(1, use_bias=False, kernel_initializer="ones")
    optimizer = keras.optimizers.SGD(0.01, use_ema=True, ema_momentum=0.9)
    model = compiled(lambda: [keras.Input((1,)), layer], optimizer, minus)
    raw = []
    look = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: raw.append(model.get_weights()[0].item()))
    how = {"batch_size": 4, "shards": shards, "average": average, "scale_learning_rate": True}
    distribute(model).fit(np.ones((512, 1), "f4"), np.ones((512, 1), "f4"), callbacks=[look], **how)
    return raw[-1], model.get_weights()[0].item()


@pytest.mark.parametrize("average", ["epoch", "batch"])
def test_moving_averages_of_the_weights_lag_by_as_many_steps_of_all_shards(average):
    alone, together = lagging(1, average), lagging(4, average)
    assert alone[0] == pytest.approx(1 + 128 * 0.01, rel=1e-4) == together[0]
    assert alone[1] == pytest.approx(alone[0] - 9 * 0.01, rel=1e-3)
    assert together[1] == pytest.approx(together[0] - 9 * 0.01, abs=0.03)


def test_callbacks_swap_moving_averages_in(waves, tmp_path):
    X, y = waves
    model, seen = averaging(), []
    look = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(model.get_weights()[0]))
    swap = keras.callbacks.SwapEMAWeights(swap_on_epoch=True)
    path = tmp_path / "m.keras"
    distribute(model).fit(X[:512], y[:512], shards=2, epochs=2, callbacks=[swap, look], checkpoint=path)
    np.testing.assert_allclose(seen[1], model.get_weights()[0], rtol=1e-5)
    again = averaging()
    distribute(again).fit(X[:512], y[:512], shards=2, epochs=2)
    np.testing.assert_allclose(again.get_weights()[0], model.get_weights()[0], rtol=1e-4, atol=1e-5)
    one, other = averaging(), averaging()
    distribute(one).fit(X[:512], y[:512], shards=2, epochs=3, resume=path)
    distribute(other).fit(X[:512], y[:512], shards=2, epochs=3)
    np.testing.assert_array_equal(one.get_weights()[0], other.get_weights()[0])
