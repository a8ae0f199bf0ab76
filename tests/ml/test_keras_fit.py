"""What users of Keras's `fit` and `predict` expect of them on shards."""

from __future__ import annotations

import importlib

import keras
import numpy as np
import pytest

import windrow as wr
from windrow.ml import Sequential, distribute

layers, callbacks = keras.layers, keras.callbacks
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*steps an epoch:UserWarning")
on_tensorflow = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="of TensorFlow's backend")


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).random((512, 3), dtype="f4")
    return X, (X[:, 0] > 0.5).astype("i4")


def classifier(cls=keras.Model, **more):
    begin = keras.Input((3,))
    model = cls(begin, layers.Dense(2, "softmax")(begin))
    model.compile(**{"optimizer": "adam", "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]} | more)
    return model


def test_callbacks_know_whether_more_of_a_metric_is_better(data, tmp_path):
    X, y = data
    model = classifier(optimizer=keras.optimizers.SGD(0.0))
    stop = callbacks.EarlyStopping(monitor="val_accuracy", patience=0)
    best = callbacks.ModelCheckpoint(tmp_path / "best.keras", monitor="val_accuracy", save_best_only=True)
    told = distribute(model).fit(X, y, validation_data=(X, y), epochs=5, shards=2, callbacks=[stop, best])
    assert told.epoch == [0, 1]
    assert stop.monitor_op(2, 1)
    model.evaluate(X, y, verbose=0)  # targets of one axis, after columns
    assert (tmp_path / "best.keras").exists()


@pytest.mark.filterwarnings("ignore:fit. the loss of epoch:RuntimeWarning")
def test_training_ends_at_a_loss_that_is_no_number(data):
    X, y = data
    X = np.where(np.arange(512)[:, None] == 3, np.float32(np.nan), X)
    told = distribute(classifier()).fit(X, y, epochs=5, shards=2, callbacks=[callbacks.TerminateOnNaN()])
    assert told.epoch == [0]
    with pytest.raises(RuntimeError, match="NaN or Inf loss"):
        distribute(classifier()).fit(X, y, epochs=5, shards=2, callbacks=callbacks.TerminateOnNaN(raise_error=True))


class Stepped(keras.Model):
    """A train step as in Keras's guides, which tells each of the metrics, and a dict."""

    def train_step(self, data):
        tf = pytest.importorskip("tensorflow")
        x, y = data
        with tf.GradientTape() as tape:
            found = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=found)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, found)
        return {m.name: m.result() for m in self.metrics} | {"more": {"rows": keras.ops.sum(y * 0 + 1)}}


@on_tensorflow
@pytest.mark.parametrize("average", ["epoch", "gradient"])
def test_metrics_of_a_step_of_ones_own_have_their_names(data, average):
    X, y = data
    model = classifier(Stepped, optimizer=keras.optimizers.SGD(0.0))
    history = distribute(model).fit(X, y, shards=2, average=average).history
    assert {name: len(values) for name, values in history.items()} == {"loss": 1, "accuracy": 1, "rows": 1}
    assert history["rows"] == [32]
    assert history["accuracy"][0] == pytest.approx(model.evaluate(X, y, verbose=0, return_dict=True)["accuracy"])


def test_a_model_that_is_not_compiled_predicts(data):
    X, _ = data
    lazy = wr.from_array(X, chunks=(100, 3))
    plain = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
    for ours in (distribute(plain), Sequential(plain.layers)):
        found = ours.predict(lazy)
        assert found.chunks[0] == lazy.chunks[0]
        np.testing.assert_allclose(found.compute(), plain.predict(X, verbose=0), rtol=1e-5)
        for name in ("fit", "evaluate"):
            with pytest.raises(
                wr.ArgumentError, match=rf"{name}: argument 'model' is .*isn't compiled.*expected a comp"
            ):
                getattr(ours, name)(lazy, X[:, 0])


@on_tensorflow
@pytest.mark.parametrize("dtype", [str, bytes])
def test_words_are_rows(dtype):
    words = np.array([["cat dog"], ["dog"], ["bird cat"], ["fish"]] * 64).astype(dtype)
    keras.utils.set_random_seed(1)
    text = layers.TextVectorization(max_tokens=20, output_sequence_length=4)
    text.adapt(words[:, 0])
    stack = [keras.Input((1,), dtype="string"), text, layers.Embedding(20, 4), layers.Flatten(), layers.Dense(1)]
    model = keras.Sequential(stack)
    model.compile(keras.optimizers.Adam(0.05), "mse", metrics=["mae"])
    target = np.char.str_len(words[:, 0]).astype("f4") / 4
    lazy = wr.from_array(words, chunks=(50, 1))
    distribute(model).fit(lazy, target, epochs=8, shards=2, validation_data=(lazy, target), verbose=0)
    found = distribute(model).predict(lazy)
    wanted = model.predict(importlib.import_module("tensorflow").constant(words), verbose=0)
    np.testing.assert_allclose(found.compute(), wanted, rtol=1e-5)
    assert distribute(model).evaluate(lazy, target, return_dict=True)["mae"] < 0.3
    # XLA compiles models of numbers in the same process afterwards.
    classifier().fit(np.ones((64, 3)), np.zeros(64), verbose=0)
    distribute(classifier()).fit(np.ones((64, 3), "f4"), np.zeros(64), shards=2, verbose=0)
