"""Asynchronous averaging: where it goes, who waits for whom, what ends it, and what it leaves behind."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.linear_model import SGDRegressor
from sklearn.neural_network import MLPRegressor

import windrow as wr
from support.waiting import until
from windrow.ml import Averaged, train
from windrow.ml.training.asynchronous import Asynchronous
from windrow.ml.training.shards import cut_shards
from windrow.ml.training.tasks import RoundMetrics

pytestmark = pytest.mark.filterwarnings("ignore:.*steps an epoch:UserWarning")


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(3)
    X = generator.normal(size=(4001, 3))
    return X, X @ [1.0, -2.0, 0.5] + 1


def step(w, X, y):
    """One step of gradient descent."""
    off = X @ w["w"] + w["b"] - y
    rate = 0.1 / len(y)
    new = {"w": w["w"] - rate * (X.T @ off), "b": w["b"] - rate * off.sum(), "n": w["n"] + len(y)}
    return new, {"loss": float((off**2).mean())}


START = {"w": np.zeros(3), "b": np.zeros((), "f4"), "n": np.zeros((), np.int64)}


@pytest.fixture
def clean():
    """Fail when a test leaves threads or chunks."""

    def left():
        return sum(row["chunks"] for row in wr.cluster().info()), threading.active_count()

    before = left()
    yield

    def is_clean():
        gc.collect()  # what pytest keeps of an exception goes round in a circle
        return all(a <= b for a, b in zip(left(), before, strict=True))

    until(is_clean, lambda: (left(), before, threading.enumerate()), 5)


@pytest.mark.parametrize(("average", "shards"), [("async", 1), ("async", 3), (("async", 10), 5), (("async", 1000), 3)])
def test_it_comes_to_the_same_solution(data, clean, average, shards):
    X, y = data
    told = []
    state, history = train(
        step,
        START,
        wr.from_array(X, chunks=(500, 3)),
        y,
        epochs=20 if average == ("async", 1000) else 6,
        average=average,
        batch_size=32,
        shards=shards,
        callback=lambda epoch, state, metrics: told.append((epoch, metrics["loss"])),
    )
    np.testing.assert_allclose(state["w"], [1.0, -2.0, 0.5], atol=0.02)
    assert float(state["b"]) == pytest.approx(1.0, abs=0.02)
    assert state["b"].dtype == np.float32
    assert state["n"] >= 4001 // shards
    assert history.epoch == list(range(len(told)))
    assert history.history["loss"] == [loss for _, loss in told]
    assert history.history["loss"][-1] < 0.01 * history.history["loss"][0]


def test_one_shard_alone_does_what_the_synchronous_way_does(data, clean):
    X, y = data
    found = [
        train(step, START, X, y, epochs=2, average=average, batch_size=50, shards=1)[0]["w"]
        for average in (7, ("async", 7))
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def count(seen, X):
    """Note which rows come."""
    seen = seen.copy()
    seen[X[:, 0].astype(int)] += 1
    return seen


def test_each_row_counts_once_an_epoch(clean):
    X = np.arange(100.0)[:, None]
    state, _ = train(count, np.zeros(100), X, epochs=3, shards=4, batch_size=7, average=("async", 2))
    np.testing.assert_allclose(state, 3 / 4)  # moved by the rows' share of each shard


class Pace:
    """Work whose first shard is slow at first; what a shard keeps counts its rounds."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, state, own, at, X):
        time.sleep(self.seconds if at.shard == 0 and at.number == 0 else 0)
        return state + 1.0, own + 1, RoundMetrics(float(len(X)), {"loss": float(own)})


class Watch:
    """Stands in for a progress bar: notes the rounds that each shard has done, whenever one is through."""

    def __init__(self, rounds):
        self.rounds, self.seen = rounds, set()

    def advance(self, rows):
        self.seen.add(tuple(shard.clock for shard in self.rounds._shards))


def paced(seconds, staleness, rounds):
    parts = cut_shards("test", [np.ones((40, 2))], 4, False, 0)
    return Asynchronous(Pace(seconds), np.zeros(1), np.zeros((), int), parts, 0, ("loss",), range(2), rounds, staleness)


def test_a_slow_shard_holds_nobody_up():
    with wr.Cluster(threads=2), paced(1.0, 3, 6) as rounds:
        watch = Watch(rounds)
        told = rounds.epoch(0, 6, watch)
        assert (0, 4, 4, 4) in watch.seen  # they begin up to three ahead of the slowest, and end four ahead
        assert told.rows == 6 * 40
        assert told.means["loss"] == pytest.approx(2.5)  # what a shard keeps for itself goes from round to round
        assert rounds.epoch(1, 6).means["loss"] == pytest.approx(8.5)
        np.testing.assert_allclose(rounds.state, 12.0)


@pytest.mark.parametrize("staleness", [0, 1, 4])
def test_staleness_is_bounded(clean, staleness):
    with paced(0.1, staleness, 5) as rounds:
        watch = Watch(rounds)
        assert [rounds.epoch(e, 5, watch).rows for e in range(2)] == [5 * 40, 5 * 40]
        assert rounds.ahead == staleness
        assert max(max(clocks) - min(clocks) for clocks in watch.seen) == staleness + 1
        np.testing.assert_allclose(rounds.state, 10.0)


def test_estimators(data, clean):
    X, y = data
    model = Averaged(SGDRegressor(), epochs=6, shards=3, average="async").fit(wr.from_array(X, chunks=(500, 3)), y)
    np.testing.assert_allclose(model.estimator_.coef_, [1, -2, 0.5], atol=0.02)
    network = MLPRegressor(hidden_layer_sizes=(16,), random_state=0, learning_rate_init=0.01)
    assert Averaged(network, epochs=10, shards=3, average="async").fit(X, y).score(X, y) > 0.9
    assert Averaged(SGDRegressor(), epochs=2, shards=3, average="async").fit(X[:20], y[:20]).history_.epoch == [0, 1]
    with pytest.raises(wr.ArgumentError, match="average"):
        Averaged(SGDRegressor(), average="sometimes").fit(X, y)


def test_an_exception_of_the_step_arrives(data, clean):
    X, y = data
    rows = itertools.count()

    def broken(w, X, y):
        if next(rows) > 3:
            raise ZeroDivisionError("of my own")
        return step(w, X, y)

    with pytest.raises(ZeroDivisionError, match="of my own") as caught:
        train(broken, START, X, y, epochs=50, average=("async", 2), shards=4)
    assert any("test_async.py" in note for note in caught.value.__notes__)


def test_a_callback_ends_it_early(data, clean):
    X, y = data
    state, history = train(
        step, START, X, y, epochs=500, average="async", shards=3, callback=lambda epoch, state, metrics: epoch == 1
    )
    assert history.epoch == [0, 1]
    assert np.isfinite(state["w"]).all()


def test_an_exception_of_the_callback_ends_it(data, clean):
    def callback(epoch, state, metrics):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        train(step, START, *data, epochs=500, average="async", shards=3, callback=callback)


def test_refusals(data):
    for average in (("async", 0), ("async", 1.5), ("async",), ("epoch", 3), "asynchronous", True):
        with pytest.raises(wr.ArgumentError, match="average"):
            train(step, START, *data, average=average)
    for staleness in (-1, 1.5, True, None):
        with pytest.raises(wr.ArgumentError, match="staleness"):
            train(step, START, *data, average="async", staleness=staleness)


INTERRUPTED = """
import time
import numpy as np
import windrow as wr
from windrow.ml import train
def step(w, X):
    time.sleep(0.02)
    return w + 1
try:
    train(step, np.zeros(2), np.ones((100_000, 2)), epochs=100, average="async", shards=3,
          callback=lambda *_: print("epoch", flush=True) or None, batch_size=10_000)
except KeyboardInterrupt:
    wr.cluster().info()  # the engine has heard of it
    print("interrupted", len(wr.cluster()._session.engine.jobs), float(wr.ones(10).sum()), flush=True)
"""


def test_ctrl_c(tmp_path, programs):
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        env=programs.environment(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert child.stdout.readline() == "epoch\n"
        begin = time.monotonic()
        os.kill(child.pid, signal.SIGINT)
        out, _ = child.communicate(timeout=30)
    finally:
        child.kill()
    assert out.strip().splitlines()[-1] == "interrupted 0 10.0"
    assert time.monotonic() - begin < 10
    assert child.returncode == 0


SCRIPT = """
import sys
import numpy as np
import windrow as wr
from support.ranks import kill_a_rank
from windrow.ml import train
X = wr.random.default_rng(1).normal(size=(60_000, 4), chunks=(5000, 4))
y = X[:, 0] - 2 * X[:, 1]
def step(w, X, y):
    off = X @ w - y
    return w - 0.1 * X.T @ off / len(y), {"loss": float((off**2).mean())}
def kill(epoch, state, metrics):
    if epoch == 1 and "kill" in sys.argv:
        kill_a_rank()
# Epochs enough that what begins late, up to the bound of staleness, has long been evened out.
w, history = train(step, np.zeros(4), X, y, epochs=20, average=("async", 200), shards=4, callback=kill)
wr.cluster().info()  # the engine has heard all
cluster = wr.cluster()
print(abs(w - [1, -2, 0, 0]).max() < 1e-3, len(history.epoch), len(cluster._session.engine.jobs), len(cluster.losses))
"""


@pytest.mark.ranks
def test_ranks_and_a_kill(launch, tmp_path):
    script = tmp_path / "s.py"
    script.write_text(SCRIPT)
    plain, killed = launch(3, script), launch(3, script, "kill")
    assert plain.status == killed.status == 0, (plain.err, killed.err)
    assert plain.last == "True 20 0 0"
    assert killed.last == "True 20 0 1"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # TensorFlow's own
def test_keras(data):
    import keras

    from windrow.ml import distribute

    X, y = (a.astype("f4") for a in data)
    model = keras.Sequential([keras.Input((3,)), keras.layers.BatchNormalization(), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.02), "mse")
    stop = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: setattr(model, "stop_training", epoch == 7))
    history = distribute(model).fit(
        X, y, batch_size=16, epochs=50, shards=3, average="async", validation_data=(X[:50], y[:50]), callbacks=[stop]
    )
    assert history.epoch == list(range(8))
    assert history.history["val_loss"][-1] < 0.3  # of a variance of 5
    with pytest.raises(wr.ArgumentError, match="outer_momentum"):
        distribute(model).fit(X, y, average="async", outer_momentum=0.5)
