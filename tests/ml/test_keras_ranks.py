"""Keras models on ranks: the same bits on any of them, and with one killed in the middle of an epoch."""

from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras isn't installed", allow_module_level=True)
BACKENDS = [b for b in ("tensorflow", "jax") if importlib.util.find_spec(b) is not None]

SCRIPT = """
import os, sys, threading
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
import windrow as wr
from support.ranks import kill_a_rank
from windrow.ml import distribute

SHARDS, ROWS, EPOCHS = 4, 8192, 4


class Seen(keras.layers.Layer):
    '''Counts the rows that it has seen in training.'''

    def build(self, shape):
        self.seen = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, x, training=False):
        if training:
            self.seen.assign_add(float(x.shape[0]))
        return x


X = wr.random.default_rng(1).random((ROWS, 4), dtype="float32", chunks=(500, 4))
y = X[:, 0] - 2 * X[:, 1]
keras.utils.set_random_seed(1)
layers = [keras.Input((4,)), Seen(), keras.layers.Dense(8, "relu"), keras.layers.Dense(1)]
model = keras.Sequential(layers)
model.compile(keras.optimizers.Adam(0.01), "mse")
began = []


class Kill(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        began.append(epoch)
        if "kill" in sys.argv and epoch == 1:
            threading.Timer(0.05, self.kill).start()

    def kill(self):
        kill_a_rank()
        print("killed in epoch", began[-1], flush=True)


distribute(model).fit(X, y, batch_size=32, epochs=EPOCHS, shards=SHARDS, average=2, callbacks=[Kill()], verbose=0)
seen = [w for w in model.get_weights() if w.ndim == 0]
assert seen == [EPOCHS * ROWS / SHARDS], seen
print(b"".join(w.tobytes() for w in model.get_weights()).hex(), len(wr.cluster().losses))
"""


@pytest.mark.ranks
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("backend", BACKENDS)
def test_ranks_and_a_kill_give_the_same_weights(launch, tmp_path, backend):
    script = tmp_path / "s.py"
    script.write_text(SCRIPT)
    more = {"limit": 180, "KERAS_BACKEND": backend}
    plain, ranks, killed = launch(0, script, **more), launch(3, script, **more), launch(3, script, "kill", **more)
    assert plain.status == ranks.status == killed.status == 0, (plain.err, ranks.err, killed.err)
    (a, _), (b, _), (c, losses) = (done.last.split() for done in (plain, ranks, killed))
    assert a == b == c
    assert losses == "1"
    assert "killed in epoch 1" in killed.out


GRADIENTS = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import windrow as wr
from support.ranks import kill_a_rank
from windrow.ml import distribute
import keras

keras.utils.set_random_seed(1)
layers = keras.layers
stack = [layers.Dense(600, "relu"), layers.BatchNormalization(), layers.Dropout(0.2)]
stack += [layers.Dense(400), layers.Dense(1)]
model = keras.Sequential([keras.Input((200,)), *stack])
model.compile(keras.optimizers.Adam(0.01), "mse")
X = np.random.default_rng(1).random((384, 200), dtype="f4")


class Kill(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if "kill" in sys.argv and epoch == 1:
            kill_a_rank()


how = {"shards": 3, "average": "gradient", "callbacks": [Kill()], "verbose": 0}
distribute(model).fit(X, X[:, 0], batch_size=32, epochs=3, **how)
found = [*model.get_weights(), *(np.asarray(v) for v in model.optimizer.variables)]
print(b"".join(w.tobytes() for w in found).__hash__(), len(wr.cluster().losses))
"""


@pytest.mark.ranks
@pytest.mark.skipif("tensorflow" not in BACKENDS, reason="one backend shows it")
@pytest.mark.timeout(320)
def test_gradients_of_large_models_give_the_same_bits_anywhere(launch, tmp_path):
    script = tmp_path / "s.py"
    script.write_text(GRADIENTS)
    more = {"limit": 150, "PYTHONHASHSEED": "1"}
    ended = [launch(0, script, **more), launch(2, script, **more), launch(3, script, "kill", **more)]
    assert [done.status for done in ended] == [0, 0, 0], [done.err for done in ended]
    (a, none), (b, _), (c, losses) = (done.last.split() for done in ended)
    assert a == b == c
    assert (none, losses) == ("0", "1")


CONVOLVES = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import windrow.ml

layers = keras.layers
X = np.random.default_rng(1).random((128, 12, 12, 1), dtype="f4")
keras.utils.set_random_seed(1)
stack = [layers.Conv2D(16, 3, activation="relu"), layers.Conv2D(16, 3), layers.Flatten(), layers.Dense(1)]
model = keras.Sequential([keras.Input((12, 12, 1)), *stack])
model.compile("adam", "mse")
windrow.ml.distribute(model).fit(X, X.mean((1, 2, 3)), batch_size=8, shards=2, verbose=0)
levels = windrow.zeros(8, chunks=1).map_blocks(lambda b: b + float(os.environ.get("TF_CPP_MIN_LOG_LEVEL", -1)))
print(b"".join(w.tobytes() for w in model.get_weights()).hex(), set(levels.compute().tolist()))
"""


@pytest.mark.ranks
@pytest.mark.skipif("tensorflow" not in BACKENDS, reason="of TensorFlow's threads")
@pytest.mark.timeout(320)
def test_convolutions_have_the_same_bits_in_one_process_and_on_ranks(launch, tmp_path):
    script = tmp_path / "s.py"
    script.write_text(CONVOLVES)
    ended = [launch(0, script, limit=120), launch(2, script, limit=180)]
    assert [done.status for done in ended] == [0, 0], [done.err for done in ended]
    assert len({done.last for done in ended}) == 1
    assert ended[1].last.endswith(" {3.0}")  # the script's level of messages


LATE = """
import keras
import numpy as np
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
import windrow.ml
windrow.ml.distribute(model).fit(np.ones((64, 3), "f4"), np.ones(64, "f4"), verbose=0)
"""


@pytest.mark.ranks
@pytest.mark.skipif("tensorflow" not in BACKENDS, reason="of TensorFlow's threads")
def test_tensorflow_that_began_before_is_warned_of(launch, tmp_path):
    script = tmp_path / "s.py"
    script.write_text(LATE)
    done = launch(0, script, limit=120, TF_NUM_INTRAOP_THREADS="0")  # windrow.ml has set it here
    assert done.status == 0, done.err
    assert "import windrow.ml before the first model" in done.err


SPMD = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import windrow as wr
from windrow.ml import Sequential

if "seed" in sys.argv:
    keras.utils.set_random_seed(1)
X = wr.random.default_rng(1).random((400, 3), dtype="float32", chunks=(100, 3))
y = X[:, 0] - X[:, 1]


class Twice(keras.layers.Layer):
    def call(self, x):
        return 2 * x


layers = [keras.Input((3,)), Twice(), keras.layers.Dense(4, lambda x: keras.ops.tanh(x)), keras.layers.Dense(1)]
model = Sequential(layers)
model.compile("sgd", "mse", metrics=["mae"])
history = model.fit(X, y, epochs=2, shards=2, batch_size=16, verbose=0).history
bits = b"".join(w.tobytes() for w in model.get_weights()).hex()
print("end", wr.rank(), bits, float(model.predict(X).sum()), history, model.evaluate(X, y), flush=True)
"""


@pytest.mark.ranks
@pytest.mark.timeout(320)
@pytest.mark.parametrize("ranks", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 3, 4))])
def test_spmd_scripts_train_and_predict(launch, tmp_path, ranks):
    script = tmp_path / "s.py"
    script.write_text(SPMD)
    alone, together = launch(0, script, "seed", limit=120), launch(ranks, "--spmd", script, "seed", limit=180)
    assert alone.status == together.status == 0, (alone.err, together.err)
    lines = [line for line in (alone.out + together.out).splitlines() if line.startswith("end")]
    assert len(lines) == 1 + ranks
    assert len({line.split(maxsplit=2)[2] for line in lines}) == 1


@pytest.mark.ranks
def test_spmd_scripts_are_told_of_weights_that_differ(launch, tmp_path):
    script = tmp_path / "s.py"
    script.write_text(SPMD)
    done = launch(2, "--spmd", script, limit=120)
    assert done.status != 0
    assert "weights are others than on rank 0" in done.err
    assert "set_random_seed" in done.err
