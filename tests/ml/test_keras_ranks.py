"""Keras models on ranks: the same bits on any of them, and with one killed in the middle of an epoch."""

from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras isn't installed", allow_module_level=True)
BACKENDS = [b for b in ("tensorflow", "jax") if importlib.util.find_spec(b) is not None]

SCRIPT = """
import os, signal, sys, threading
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
import windrow as wr
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
        victim = [row for row in wr.cluster().info() if row["rank"]][-1]
        os.kill(victim["pid"], signal.SIGKILL)
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
