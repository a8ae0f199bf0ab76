"""What a Keras model is made of and travels with: mixed precision, models without variables yet, lambdas."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import windrow as wr
from windrow.arrays.user_functions.travel.pickling import payload
from windrow.ml import distribute
from windrow.ml.keras.models.state import Variables
from windrow.ml.training import reduction, tasks
from windrow.ml.training.state import StateLayout

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*steps an epoch:UserWarning")
SCALE = 2.0


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).random((600, 5), dtype="f4")
    return X, X.sum(axis=1)


@pytest.fixture
def half():
    keras.mixed_precision.set_dtype_policy("mixed_float16")
    yield
    keras.mixed_precision.set_dtype_policy("float32")


def test_mixed_precision_on_several_shards(data, half):
    X, y = data
    keras.utils.set_random_seed(1)
    layers = [keras.Input((5,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1, dtype="float32")]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.Adam(0.02), "mse")
    lazy = wr.from_array(X, chunks=(100, 5))
    told = distribute(model).fit(lazy, y, shards=3, epochs=3, batch_size=16, scale_learning_rate=True).history
    assert told["loss"][-1] < told["loss"][0] / 2
    assert type(model.optimizer).__name__ == "LossScaleOptimizer"
    steps = int(np.asarray(model.optimizer.inner_optimizer.iterations))
    assert 3 * 13 - 3 <= steps <= 3 * 13  # of a shard of 200 rows; a first one whose gradients overflow is left out
    assert float(np.asarray(model.optimizer.inner_optimizer.learning_rate)) == pytest.approx(0.02)
    made = distribute(model).predict(lazy)
    assert made.dtype == np.float32  # the last layer's, not the one it computes with
    np.testing.assert_allclose(made.compute(), model.predict(X, verbose=0), rtol=1e-2, atol=1e-2)


def test_predictions_in_bfloat16_are_float32(data):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(2, dtype="bfloat16")])
    model.compile("sgd", "mse")
    made = distribute(model).predict(wr.from_array(data[0], chunks=(100, 5)))
    assert made.dtype == np.float32
    expected = np.asarray(model(data[0])).astype("f4")
    np.testing.assert_allclose(made.compute(), expected, rtol=1e-2, atol=1e-2)


class Bare(keras.Model):
    """A model that has no variables before its first batch."""

    def __init__(self, **keywords):
        super().__init__(**keywords)
        self.one, self.two = keras.layers.Dense(4, "relu"), keras.layers.Dense(1)

    def call(self, x):
        return self.two(self.one(x))


def bare(kind):
    keras.utils.set_random_seed(1)
    model = Bare() if kind == "subclass" else keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    return model


@pytest.mark.parametrize("kind", ["subclass", "sequential"])
def test_models_without_variables_get_them(data, kind):
    X, y = data
    lazy = wr.from_array(X, chunks=(100, 5))
    history = distribute(bare(kind)).fit(lazy, y, shards=2, epochs=2)
    told = history.history
    assert len(history.seconds) == 2
    assert min(history.seconds) > 0
    assert told["loss"][1] < told["loss"][0]
    wanted = bare(kind)
    np.testing.assert_allclose(
        distribute(bare(kind)).evaluate(lazy, y), wanted.evaluate(X, y[:, None], verbose=0), rtol=1e-5
    )
    np.testing.assert_allclose(
        distribute(bare(kind)).predict(lazy).compute(), wanted.predict(X, verbose=0), rtol=1e-5, atol=1e-6
    )


def doubled(x):
    return x * SCALE


@keras.saving.register_keras_serializable("tests")
def bent(x):
    return keras.ops.relu(x) * SCALE


def with_functions():
    less = 0.5
    keras.utils.set_random_seed(1)
    layers = [
        keras.Input((5,)),
        keras.layers.Lambda(lambda x: x * SCALE - less),
        keras.layers.Lambda(lambda x: x + less),
        keras.layers.Lambda(doubled),
        keras.layers.Dense(3, bent, bias_initializer=lambda shape, dtype=None: keras.ops.ones(shape, dtype) * less),
        keras.layers.Activation(lambda x: keras.ops.tanh(x) * SCALE),
        keras.layers.Dense(1),
    ]
    model = keras.Sequential(layers)
    model.compile(
        "sgd",
        lambda truth, found: keras.ops.mean((truth - found) ** 2, axis=-1) * SCALE,
        metrics=[lambda truth, found: keras.ops.abs(truth - found) * less],
    )
    return model


def test_functions_travel_with_what_they_use(data, tmp_path):
    X, y = data
    model, lazy = with_functions(), wr.from_array(X, chunks=(100, 5))
    names = [layer.function.__name__ for layer in model.layers if hasattr(layer, "function")]
    wanted = model.evaluate(X, y[:, None], verbose=0, return_dict=True)
    found = distribute(model).evaluate(lazy, y, return_dict=True)
    assert found.keys() == wanted.keys()
    assert found == pytest.approx(wanted, rel=1e-5)
    path = tmp_path / "m.keras"
    told = distribute(model).fit(lazy, y, shards=2, epochs=2, checkpoint=path).history
    assert told["loss"][1] < told["loss"][0]
    np.testing.assert_allclose(
        distribute(model).predict(lazy).compute(), model.predict(X, verbose=0), rtol=1e-5, atol=1e-6
    )
    assert [layer.function.__name__ for layer in model.layers if hasattr(layer, "function")] == names
    again = with_functions()
    distribute(again).fit(lazy, y, shards=2, epochs=2, resume=path)
    for a, b in zip(again.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


SCRIPT = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
import windrow as wr
from windrow.ml import distribute

SCALE = 0.5
X = np.sort(np.random.default_rng(1).random((640, 4), dtype="f4"), axis=0)
y = (X[:, :1] > 0.6).astype("f4")
lazy = wr.from_array(X, chunks=(100, 4))


@keras.saving.register_keras_serializable("script")
def halved(x):
    return keras.ops.sigmoid(x) * SCALE


keras.mixed_precision.set_dtype_policy("mixed_float16")
keras.utils.set_random_seed(1)
layers = [keras.Input((4,)), keras.layers.Lambda(lambda x: x * SCALE), keras.layers.Dense(8, halved)]
model = keras.Sequential([*layers, keras.layers.Dense(1, "sigmoid", dtype="float32")])
model.compile("adam", "binary_crossentropy", metrics=[keras.metrics.AUC(name="auc")])
wanted = model.evaluate(X, y, verbose=0)
np.testing.assert_allclose(distribute(model).evaluate(lazy, y), wanted, rtol=2e-3)
told = distribute(model).fit(lazy, y, shards=3, epochs=2, batch_size=16, verbose=0, validation_data=(lazy, y)).history
np.testing.assert_allclose(told["val_auc"][-1], model.evaluate(X, y, verbose=0)[1], rtol=5e-3)
print("well")
"""


@pytest.mark.ranks
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_on_ranks(launch, tmp_path):
    script = tmp_path / "s.py"
    script.write_text(SCRIPT)
    done = launch(3, script, limit=240)
    assert done.status == 0, done.err
    assert done.last == "well"


@pytest.mark.parametrize("average", ["batch", "gradient"])
def test_large_models_are_not_pickled_with_each_round(average, monkeypatch):
    """The pickle of the model would go to every rank with every batch."""
    pickled = []

    def note(*given):
        pickled.append(payload(*given))
        return pickled[-1]

    for module in (tasks, reduction):
        monkeypatch.setattr(module, "payload", note)
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((200,)), keras.layers.Dense(800), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    X = np.random.default_rng(0).random((128, 200), dtype="f4")
    told = distribute(model).fit(X, X[:, 0], batch_size=16, epochs=2, shards=2, average=average).history["loss"]
    assert told[1] < told[0]
    assert len(pickled) == (2 if average == "gradient" else 1)  # of 8 rounds
    assert max(len(p.pickled) for p in pickled) < 1 << 14


def test_states_are_packed_where_they_go_and_tell_nothing_of_what_was_there():
    state = {"a": np.arange(3, dtype="f4"), "b": np.float64(2), "c": np.ones(2, bool)}
    layout = StateLayout.of(state)
    dirty = np.full(layout.size, 255, np.uint8)
    assert layout.pack(state, dirty) is dirty
    assert dirty.tobytes() == layout.pack(state).tobytes()
    seen = layout.unpack(dirty, copy=False)
    assert np.shares_memory(seen["a"], dirty)
    assert not np.shares_memory(layout.unpack(dirty)["a"], dirty)
    shifted = np.concatenate([np.zeros(1, np.uint8), dirty])[1:]
    assert layout.unpack(shifted, copy=False)["a"].flags.aligned


@pytest.mark.parametrize("average", ["batch", "gradient"])
def test_rounds_of_large_models_are_written_straight_to_their_chunks(average, monkeypatch):
    """What is told is that no task made memory of its own for what it gives."""
    filled = []
    call = tasks.Task.__call__

    def note(self, *blocks, **more):
        made = call(self, *blocks, **more)
        filled.append(more.get("out") is made)
        return made

    monkeypatch.setattr(tasks.Task, "__call__", note)
    X = np.random.default_rng(0).random((128, 5), dtype="f4")
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    distribute(model).fit(X, X[:, 0], batch_size=16, shards=2, average=average)
    assert len(filled) == 8
    assert all(filled)


def test_variables_keep_none_of_the_memory_that_they_are_set_from():
    model = keras.Sequential([keras.Input((200,)), keras.layers.Dense(200)])
    model.compile("adam", "mse")
    variables = Variables(model)
    layout = StateLayout.of(variables.shared())
    packed = layout.pack(variables.shared())
    variables.put(layout.unpack(packed, copy=False))
    before = [w.copy() for w in model.get_weights()]
    packed[:] = 255
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), before, strict=True))
