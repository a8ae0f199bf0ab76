"""Keras models on shards: ways for models that can't be compiled whole, and what is refused at the call."""

from __future__ import annotations

import logging

import keras
import numpy as np
import pytest

import windrow as wr
from windrow.ml import distribute
from windrow.ml.keras.models.replicas import Replica

layers, callbacks = keras.layers, keras.callbacks
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*steps an epoch:UserWarning")
on_tensorflow = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="of TensorFlow's backend")


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(0)
    X = generator.random((514, 5), dtype="f4")
    return X, (X.astype(float) @ np.arange(1, 6) + 1).astype("f4")


def compiled(model, **more):
    model.compile(**{"optimizer": keras.optimizers.SGD(0.05), "loss": "mse"} | more)
    return model


def linear(**more):
    keras.utils.set_random_seed(1)
    return compiled(keras.Sequential([keras.Input((5,)), layers.Dense(1)]), **more)


def learns(model, data, **more):
    X, y = data
    told = distribute(model).fit(X, y, **{"batch_size": 32, "epochs": 3, "shards": 2} | more)
    losses = told.history["loss"]
    assert np.mean((model.predict(X, verbose=0)[:, 0] - y) ** 2) < np.var(y) / 2
    assert len(losses) == told.params["epochs"]
    return told


class Counted(keras.Model):
    """A train step of the user's own: it trains on twice the loss, and tells a metric more."""

    def __init__(self, **keywords):
        super().__init__(**keywords)
        self.dense = layers.Dense(1)
        self.built = True
        self.dense.build((None, 5))

    def call(self, x):
        return self.dense(x)

    def compute_loss(self, *args, **keywords):
        return 2 * super().compute_loss(*args, **keywords)


class Stepped(Counted):
    """A whole step of the user's own, in TensorFlow's words, which can't be traced where `eager`."""

    def train_step(self, rows):
        import tensorflow as tf

        x, y = rows
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x) - y) ** 2)
        if self.run_eagerly and float(loss) < 0:
            raise ValueError
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss, "root": tf.sqrt(loss)}


def way_of(model, data, caplog):
    """Train; return by which way, and what the log says."""
    replica = Replica(model)
    start = replica.variables.shared(), replica.variables.own()
    with caplog.at_level(logging.INFO, logger="windrow"):
        rows = data[0], data[1][:, None]
        replica.train(lambda: replica.variables.put(*start), rows, 32, np.arange(16), slice(512, 514))
    return replica, caplog.text


def test_a_loss_of_the_users_own(data):
    plain, doubled = linear(optimizer=keras.optimizers.SGD(0.02)), compiled(Counted())
    doubled.optimizer.learning_rate = 0.01
    doubled.set_weights(plain.get_weights())
    for model in (plain, doubled):
        distribute(model).fit(*data, batch_size=32, epochs=2, shards=2)
    for a, b in zip(plain.get_weights(), doubled.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@on_tensorflow
def test_a_step_of_the_users_own(data):
    told = learns(compiled(Stepped()), data)
    assert told.history.keys() == {"loss", "root"}


@on_tensorflow
def test_what_xla_can_not_compile_runs_as_a_graph(data, caplog):
    import tensorflow as tf

    class Foreign(layers.Layer):
        def call(self, x):
            return tf.ensure_shape(tf.numpy_function(lambda v: v * 1, [tf.stop_gradient(x)], tf.float32), x.shape)

        def compute_output_shape(self, shape):
            return shape

    keras.utils.set_random_seed(1)
    model = compiled(keras.Sequential([keras.Input((5,)), Foreign(), layers.Dense(1)]))
    replica, said = way_of(model, data, caplog)
    assert replica.mode == 1
    assert "training by xla is not for this model" in said
    plain = Replica(linear())
    start = plain.variables.shared(), plain.variables.own()
    plain.train(lambda: plain.variables.put(*start), (data[0], data[1][:, None]), 32, np.arange(16), slice(512, 514))
    for a, b in zip(model.get_weights(), plain.model.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)


@on_tensorflow
def test_convolutions_run_as_a_graph(data, caplog):
    stack = [keras.Input((5,)), layers.Reshape((5, 1)), layers.Conv1D(4, 2), layers.Flatten(), layers.Dense(1)]
    replica, said = way_of(compiled(keras.Sequential(stack)), data, caplog)
    assert replica.mode == 1
    assert "convolutions" in said


@on_tensorflow
def test_what_can_not_be_traced_runs_by_fit(data, caplog):
    model = compiled(Stepped(), run_eagerly=True)
    replica, _ = way_of(model, data, caplog)
    assert replica.mode == 2
    learns(model, data)


@on_tensorflow
def test_a_way_that_fails_halfway_leaves_nothing_behind(data, caplog):
    import tensorflow as tf

    class Failing(Stepped):
        def train_step(self, rows):
            told = super().train_step(rows)
            tf.debugging.assert_equal(tf.executing_eagerly(), True)
            return told

    model = compiled(Failing())
    model.run_eagerly = False
    plain = compiled(Stepped())
    plain.set_weights(model.get_weights())
    replica = Replica(model)
    start = replica.variables.shared(), replica.variables.own()
    rows = data[0], data[1][:, None]
    with pytest.raises(Exception, match="assert"):
        replica.train(lambda: replica.variables.put(*start), rows, 32, np.arange(2), None)
    replica.variables.put(*start)
    for a, b in zip(model.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


class PerBatch(callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        pass


@pytest.mark.parametrize(
    "callback",
    [
        PerBatch(),
        callbacks.LambdaCallback(on_train_batch_begin=print),
        callbacks.ModelCheckpoint("never.keras", save_freq=10),
    ],
)
def test_callbacks_for_batches_are_refused(data, callback):
    with pytest.raises(wr.ArgumentError, match=r"argument 'callbacks' is .*batch.*; expected callbacks for epochs"):
        distribute(linear()).fit(*data, callbacks=[callback])


def two_inputs():
    ends = [keras.Input((5,)), keras.Input((5,))]
    return compiled(keras.Model(ends, layers.Dense(1)(layers.Add()(ends))))


def two_outputs():
    begin = keras.Input((5,))
    return compiled(keras.Model(begin, [layers.Dense(1)(begin), layers.Dense(1)(begin)]), loss=["mse", "mse"])


def not_compiled():
    return keras.Sequential([keras.Input((5,)), layers.Dense(1)])


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (two_inputs, "Functional of 2 inputs.*; expected a model with one input and one output"),
        (two_outputs, "of 2 outputs.*; expected"),
        (not_compiled, "expected a compiled Keras model, with a loss"),
        (lambda: linear(loss=None), "compiled without a loss.*; expected"),
        (lambda: "model", "'model' is 'str'; expected a Keras model"),
    ],
)
def test_models_that_can_not_be_trained_are_refused(data, make, match):
    with pytest.raises(wr.ArgumentError, match=match):
        distribute(make()).fit(*data)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            {"x": {"a": np.ones((4, 5)), "b": np.ones((4, 5))}},
            r"'x' is .*dict of \['a', 'b'\].*; expected one",
        ),
        ({"x": [np.ones((4, 5)), np.ones((4, 5))]}, "argument 'x' is .*list of 2 arrays"),
        ({"y": {"out": np.ones(4)}}, "argument 'y' is .*dict"),
        ({"x": np.ones(4)}, "argument 'x' is .*; expected a row for each sample"),
        ({"y": np.ones(3)}, "equally many rows"),
        ({"validation_data": np.ones((4, 5))}, "expected a pair"),
        ({"validation_data": (1, 2, 3, 4)}, "tuple of 4.*; expected a pair"),
        ({"batch_size": "big"}, "'batch_size' is 'big'"),
        ({"batch_size": 0}, "'batch_size' is 0"),
        ({"average": "sometimes"}, "'average' is 'sometimes'"),
        ({"epochs": 1.5}, "'epochs' is 1.5"),
        ({"checkpoint_every": 0}, "'checkpoint_every' is 0"),
        ({"callbacks": [print]}, "'callbacks' is .*; expected Keras's callbacks"),
        ({"checkpoint": "model.h5"}, "ends in '.keras'"),
        ({"resume": "nowhere.keras"}, "'resume' is .*nowhere.keras.*; expected a checkpoint"),
        ({"average": "async", "outer_momentum": 0.5}, "'outer_momentum' is 0.5"),
    ],
)
def test_what_is_wrong_is_said_at_the_call(change, match):
    given = {"x": np.ones((4, 5), "f4"), "y": np.ones(4, "f4")} | change
    with pytest.raises((wr.ArgumentError, wr.ShapeError), match=match):
        distribute(linear()).fit(**given)


def test_a_model_that_can_not_be_copied_is_refused(data):
    class Closed(Counted):
        def __init__(self):
            super().__init__()

    with pytest.raises(wr.ArgumentError, match=r"(?s)can't make a copy.*; expected one that Keras can save and load"):
        distribute(compiled(Closed())).fit(*data)


@pytest.mark.parametrize("scale", ["auto", True, False])
def test_a_schedule_of_the_rate_is_taken(data, scale):
    rate = keras.optimizers.schedules.ExponentialDecay(0.05, 10, 0.9)
    learns(linear(optimizer=keras.optimizers.SGD(rate)), data, scale_learning_rate=scale)


def test_averages_without_waiting(data):
    learns(linear(), data, average="async", epochs=4)


def test_a_checkpoint_of_another_model_is_refused(data, tmp_path):
    path = tmp_path / "m.keras"
    distribute(linear()).fit(*data, checkpoint=path)
    for other in (linear(optimizer="adam"), compiled(keras.Sequential([keras.Input((5,)), layers.Dense(2)]))):
        with pytest.raises(wr.ArgumentError, match="checkpoint of this model"):
            distribute(other).fit(*data, resume=path)
    linear().save(path)
    with pytest.raises(wr.ArgumentError, match="that fit"):
        distribute(linear()).fit(*data, resume=path)


def test_checkpoints_have_a_place_before_training_begins(data, tmp_path):
    begun = []
    started = callbacks.LambdaCallback(on_train_begin=begun.append)
    for path in (tmp_path / "m.h5", tmp_path / "none" / "m.keras"):
        with pytest.raises(wr.ArgumentError, match="'checkpoint'"):
            distribute(linear()).fit(*data, checkpoint=path, callbacks=[started])
    assert not begun


@on_tensorflow
@pytest.mark.parametrize("label", [3, -1])
def test_labels_without_an_output_are_refused(data, label):
    model = keras.Sequential([keras.Input((5,)), layers.Dense(3, "softmax")])
    y = np.arange(514) % 3
    one = distribute(compiled(model, loss="sparse_categorical_crossentropy"))
    assert np.isfinite(one.fit(data[0], y, shards=2).history["loss"]).all()
    before = [w.copy() for w in model.get_weights()]
    y[300] = label
    with pytest.raises(wr.BadValue, match="labels from 0 to 2"):
        one.fit(data[0], y, shards=2)
    with pytest.raises(wr.BadValue, match="labels from 0 to 2"):
        one.fit(data[0], np.array(["a", "b"])[y % 2], shards=2)
    for mine, kept in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(mine, kept)


def test_seeds_are_integers(data):
    for seed in (-1, None, "a", 1.5):
        with pytest.raises(wr.ArgumentError, match="fit: argument 'seed'"):
            distribute(linear()).fit(*data, seed=seed)


def test_keras_own_spelling_of_prediction_and_evaluation(data):
    from windrow.ml import Sequential

    model = compiled(Sequential([keras.Input((5,)), layers.Dense(1)]))
    lazy = wr.from_array(data[0], chunks=(100, 5)), wr.from_array(data[1], chunks=(100,))
    model.fit(*data, 64, verbose=0)
    np.testing.assert_allclose(
        model.predict(lazy[0], 64, verbose=0).compute(), model.predict(data[0], 64, verbose=0), rtol=1e-5
    )
    assert model.evaluate(*lazy, 64, verbose=0) == pytest.approx(model.evaluate(*data, 64, verbose=0), rel=1e-4)
    with pytest.raises(wr.ShapeError, match=r"evaluate: argument 'x'.*at least one row"):
        distribute(model).evaluate(lazy[0][:0], lazy[1][:0])


class Whole(layers.Layer):
    """It says that its outputs are whole numbers, which they aren't."""

    def call(self, inputs):
        return inputs * 0.5

    def compute_output_spec(self, inputs):
        return keras.KerasTensor(inputs.shape, "int32")


def test_predictions_that_the_declared_dtype_cannot_hold_are_errors(data):
    model = compiled(keras.Sequential([keras.Input((5,)), Whole()]))
    made = distribute(model).predict(wr.from_array(data[0], chunks=(100, 5)))
    assert made.dtype == np.int32
    with pytest.raises(wr.DTypeError, match=r"predict: argument 'model' is .*float32.*; expected int32"):
        made.compute()


def test_a_model_that_was_evaluated_here_takes_targets_of_one_axis(data):
    model = linear()
    lazy = wr.from_array(data[0], chunks=(100, 5)), wr.from_array(data[1], chunks=(100,))
    expected = model.evaluate(*data, verbose=0)
    for pair in (data, lazy):
        assert distribute(model).evaluate(*pair) == pytest.approx(expected, rel=1e-4)
        assert model.evaluate(*data, verbose=0) == pytest.approx(expected)
    distribute(model).fit(*data, validation_data=data)
    model.evaluate(*data, verbose=0)


def lazily(*arrays):
    return tuple(wr.from_array(a, chunks=(100, *a.shape[1:])) for a in arrays)


def test_evaluating_again_sets_nothing_up_again(data, monkeypatch):
    model, lazy = linear(metrics=["mae"]), lazily(*data)
    wanted = model.evaluate(*data, verbose=0)
    weights = np.linspace(0, 2, 514, dtype="f4")
    weighted = model.evaluate(*data, verbose=0, sample_weight=weights)
    distribute(model).evaluate(*lazy)

    def slow(*args, **keywords):
        raise AssertionError

    monkeypatch.setattr(keras.Sequential, "evaluate", slow)
    for pair in (data, lazy):
        one = distribute(model)
        assert one.evaluate(*pair) == pytest.approx(wanted, rel=1e-4)
        assert one.evaluate(*pair, sample_weight=weights) == pytest.approx(weighted, rel=1e-4)
        assert one.evaluate(*pair, return_dict=True) == pytest.approx({"loss": wanted[0], "mae": wanted[1]}, rel=1e-4)


@on_tensorflow
def test_evaluation_that_can_not_be_compiled_is_keras_own(data):
    class Eager(Counted):
        def test_step(self, rows):
            return super().test_step(rows) | {"twice": 2 * float(np.asarray(rows[1]).sum())}

    model = compiled(Eager(), run_eagerly=True)
    assert distribute(model).evaluate(*data, return_dict=True)["twice"] == pytest.approx(2 * data[1].sum(), rel=1e-4)
