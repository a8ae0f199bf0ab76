"""Training on shards: averages, seeds, odd shards, what is refused, kills."""

from __future__ import annotations

import dataclasses
import gc
import threading
import time

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.tree import DecisionTreeClassifier

import windrow as wr
from windrow.ml import Averaged, train
from windrow.ml.linear_model import SGDRegressor as Ours
from windrow.ml.training import rounds as rounds_module
from windrow.ml.training.rounds import Rounds
from windrow.ml.training.shards import cut_shards
from windrow.ml.training.state import StateLayout
from windrow.ml.training.tasks import RoundMetrics


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(3)
    X = generator.normal(size=(4001, 3))
    return X, X @ [1.0, -2.0, 0.5] + 1, (X[:, 0] > X[:, 1]).astype(int)


def step(w, X, y):
    """One step of gradient descent."""
    off = X @ w["w"] + w["b"] - y
    rate = 0.1 / len(y)
    new = {"w": w["w"] - rate * (X.T @ off), "b": w["b"] - rate * off.sum(), "n": w["n"] + len(y)}
    return new, {"loss": float((off**2).mean())}


START = {"w": np.zeros(3), "b": np.zeros(()), "n": np.zeros((), np.int64)}


@pytest.mark.parametrize("average", ["epoch", "batch", 7])
def test_a_step_of_ones_own(data, average):
    X, y, _ = data
    told = []
    state, history = train(
        step,
        START,
        wr.from_array(X, chunks=(500, 3)),
        y,
        epochs=4,
        average=average,
        batch_size=64,
        shards=3,
        callback=lambda epoch, state, metrics: told.append((epoch, metrics["loss"])),
    )
    np.testing.assert_allclose(state["w"], [1.0, -2.0, 0.5], atol=0.02)
    assert float(state["b"]) == pytest.approx(1.0, abs=0.02)
    assert history.epoch == [0, 1, 2, 3]
    assert [loss for _, loss in told] == history.history["loss"]
    assert history.history["loss"][-1] < history.history["loss"][0]


def test_averaging_each_batch_of_equal_shards_is_one_large_batch(data):
    X, y, _ = data
    X, y = X[:4000], y[:4000]
    ours, _ = train(step, START, X, y, average="batch", batch_size=100, shards=4, shuffle=False)
    w = START
    parts = [slice(i * 1000, (i + 1) * 1000) for i in range(4)]
    for k in range(10):
        rows = np.concatenate([np.arange(p.start, p.stop)[k * 100 : (k + 1) * 100] for p in parts])
        w, _ = step(w, X[rows], y[rows])
    np.testing.assert_allclose(ours["w"], w["w"], rtol=1e-12)


def test_each_row_counts_once_an_epoch(data):
    X = np.arange(101.0)[:, None]

    def count(seen, X):
        seen = seen.copy()
        seen[X[:, 0].astype(int)] += 1
        return seen

    state, _ = train(count, np.zeros(101), X, epochs=3, shards=1, batch_size=7)
    assert (state == 3).all()
    state, _ = train(count, np.zeros(101), X, epochs=1, shards=4, batch_size=7)
    weights = [26, 25, 25, 25]
    assert sorted(np.round(state * 101)) == sorted(w for w in weights for _ in range(w))


def test_seeds(data):
    X, y, _ = data
    runs = [train(step, START, X, y, shards=3, seed=seed, batch_size=50)[0]["w"].tobytes() for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_more_shards_than_rows():
    state, _ = train(step, {**START, "w": np.zeros(1)}, np.ones((2, 1)), np.ones(2), shards=8)
    assert state["n"] == 1


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shards", [1, 3])
def test_sgd_regressor(data, dtype, shards):
    X, y, _ = data
    lazy = wr.from_array(X.astype(dtype), chunks=(700, 2))
    model = Averaged(SGDRegressor(), epochs=6, shards=shards).fit(lazy, y.astype(dtype))
    assert model.estimator_.coef_.dtype == dtype
    np.testing.assert_allclose(model.estimator_.coef_, [1, -2, 0.5], atol=0.01)
    assert float(model.score(lazy, y)) == pytest.approx(1.0, abs=1e-3)
    assert model.predict(X[:3]).shape == (3,)


def test_classifiers_see_all_classes_in_each_shard():
    generator = np.random.default_rng(1)
    y = np.repeat(np.arange(4), [500, 500, 500, 12])
    X = np.eye(4)[y] * 4 + generator.normal(size=(len(y), 4)) * 0.3
    model = Averaged(SGDClassifier(class_weight="balanced"), epochs=10, shards=5).fit(X, y)  # sorted by class
    assert model.score(X, y) > 0.97
    assert (model.classes_ == np.arange(4)).all()


@pytest.mark.parametrize(
    "estimator",
    [
        MLPClassifier((16,), random_state=0, learning_rate_init=0.01),
        MLPRegressor(hidden_layer_sizes=(16,), random_state=0, learning_rate_init=0.01),
    ],
)
def test_networks(data, estimator):
    X, y, labels = data
    target = labels if isinstance(estimator, MLPClassifier) else y
    model = Averaged(estimator, epochs=30, shards=2).fit(wr.from_array(X, chunks=(1000, 3)), target)
    assert model.score(X, target) > 0.95


def test_drop_in(data):
    X, y, _ = data
    lazy = wr.from_array(X, chunks=(1000, 3))
    model = Ours(max_iter=50, tol=1e-3, random_state=1).fit(lazy, y)
    assert model.n_iter_ < 50
    assert float(model.score(lazy, y)) > 0.999
    assert isinstance(model.predict(lazy), wr.Array)
    assert Ours(max_iter=50, random_state=1).fit(X, y).score(X, y) > 0.999  # scikit-learn's own


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (DecisionTreeClassifier(), "weights can be averaged"),
        (SGDRegressor(average=True), "argument 'average' is True"),
        (SGDRegressor(early_stopping=True), "early_stopping"),
        (SGDRegressor(learning_rate="adaptive"), "adaptive"),
        (MLPClassifier(solver="lbfgs"), "lbfgs"),
    ],
)
def test_what_cannot_be_averaged_is_refused(data, estimator, match):
    with pytest.raises(wr.ArgumentError, match=match):
        Averaged(estimator).fit(data[0], data[2])


@pytest.mark.parametrize("operation", ["fit", "partial_fit"])
def test_a_class_is_no_estimator(data, operation):
    with pytest.raises(
        wr.ArgumentError, match=rf"Averaged\.{operation}: .* is the class SGDClassifier; .*SGDClassifier\(\)"
    ):
        getattr(Averaged(SGDClassifier), operation)(data[0], data[2])


def test_refusals_name_the_argument(data):
    X, y, _ = data
    for keywords, match in (
        ({"epochs": 0}, "epochs"),
        ({"average": "never"}, "average"),
        ({"shards": -1}, "shards"),
        ({"batch_size": 1.5}, "batch_size"),
    ):
        with pytest.raises(wr.ArgumentError, match=match):
            train(step, START, X, y, **keywords)
    with pytest.raises(wr.ShapeError, match="equally many rows"):
        train(step, START, X, y[:-1])
    with pytest.raises(wr.DTypeError, match="state"):
        train(step, {"w": np.array(["a"])}, X, y)


ODD = [
    (lambda w, X: None, {"w": 0.0}, wr.ArgumentError, r"'state that the step gave' is None; expected dict"),
    (lambda w, X: {"v": w["w"]}, {"w": 0.0}, wr.ArgumentError, r"dict of .*v.*expected dict of .*w"),
    (lambda w, X: np.zeros(3), np.zeros(2), wr.ShapeError, r"shape \(3,\); expected one of shape \(2,\)"),
    (lambda w, X: w if w[0] < 3 else w[:1], np.ones(2) * 3, wr.ShapeError, r"shape \(1,\)"),
    (lambda w, X: w + 0.5, np.zeros(2, int), wr.DTypeError, r"float64; expected int64"),
    (lambda w, X: w + 1j, np.zeros(2), wr.DTypeError, r"complex128; expected float64"),
    (lambda w, X: (w, {"loss": "low"}), 0.0, wr.DTypeError, r"metrics of step\['loss'\].*'low'; expected a number"),
    (lambda w, X: (w, 0.5), np.zeros(2), wr.ArgumentError, "'metrics of step' is 0.5; expected a dict of numbers"),
    (lambda w, X: (w, None), {"w": 0.0}, wr.ArgumentError, "'metrics of step' is None; expected a dict of numbers"),
    (
        lambda w, X: (w[0], w[1][:1]),
        (np.zeros(2), np.zeros(2)),
        wr.ShapeError,
        r"shape \(1,\); expected one of shape \(2,\)",
    ),
    (lambda w, X: (w, {"rows": 1.0}), 0.0, wr.ArgumentError, r"none of them 'rows'"),
    (lambda w, X: (w + 1, {"a" if w < 2 else "b": 1.0}), 0.0, wr.ArgumentError, r"\['b'\]; expected \['a'\]"),
    (lambda w, X: (w + 1, {"a": 1.0}) if w < 2 else w + 1, 0.0, wr.ArgumentError, r"result of step.*expected \(state"),
    (lambda w, X: w, {"a": "b"}, wr.DTypeError, r"state\['a'\].*str.*expected an array of numbers"),
    (lambda w, X: w, [{1, 2}], wr.DTypeError, r"state\[0\].*set.*expected an array of numbers"),
    (None, 0.0, wr.ArgumentError, "'step' is None; expected a function"),
]


@pytest.mark.parametrize(("step", "state", "kind", "match"), ODD)
def test_what_a_step_may_not_give(step, state, kind, match):
    with pytest.raises(kind, match=match):
        train(step, state, np.ones((40, 2)), batch_size=5, shards=2)


@pytest.mark.parametrize("batch_size", [10, "auto"])
def test_copies_that_the_first_step_took_are_gone_while_training_goes_on(batch_size):
    def trials():
        return {id(each) for each in gc.get_objects() if type(each).__name__ == "_Trial"}

    def look(epoch, state, scores):
        left.append(trials() - before)

    before, left = trials(), []
    train(lambda w, X: w, np.zeros(2), np.ones((40, 2)), epochs=2, shards=2, batch_size=batch_size, callback=look)
    assert left == [set(), set()]


def test_arguments_that_are_refused():
    for name, value in (("seed", -1), ("seed", None), ("callback", 3), ("epochs", True), ("average", ("async",))):
        with pytest.raises(wr.ArgumentError, match=f"train: argument '{name}'"):
            train(lambda w, X: w, 0.0, np.ones((4, 2)), **{name: value})
    for X in (np.ones((0, 2)), 3.0):
        with pytest.raises(wr.ShapeError, match="at least one"):
            train(lambda w, X: w, 0.0, X)
    lock = threading.Lock()
    with pytest.raises(wr.ArgumentError, match="can't be pickled"):
        train(lambda w, X: (w, lock)[0], 0.0, np.ones((4, 2)))


@dataclasses.dataclass
class Model:
    """A state that is a dataclass."""

    w: np.ndarray
    slots: object = None


class Stepping:
    """A step that is a method."""

    by = 2

    def step(self, state, X):
        """Write into what it is given."""
        X[:] = 0
        state.w += self.by
        return state


def test_states_of_many_kinds():
    X = np.full((40, 2), np.nan)
    state, history = train(Stepping().step, Model(np.zeros(2, "f4")), X, batch_size=10, shards=2)
    assert isinstance(state, Model)
    assert state.w.tolist() == [4, 4]
    assert state.w.dtype == np.float32
    assert np.isnan(X).all()
    assert history.history == {}
    pair, _ = train(
        lambda s, X: (s[0] + 1, {"m": s[1]["m"] + 1}), (0.0, {"m": np.zeros(1)}), X, batch_size=10, shards=2
    )
    assert pair[0] == pair[1]["m"][0] == 2  # a state, though it looks like one with metrics
    swapped, _ = train(lambda s, X: {"b": s["b"], "a": s["a"]}, {"a": np.ones(1), "b": np.zeros(1)}, X)
    assert (swapped["a"][0], swapped["b"][0]) == (1, 0)
    _, history = train(lambda s, X: (s, {"loss": float("nan")}), np.float32(1), X[:3], shards=9, batch_size=100)
    assert np.isnan(history.history["loss"]).all()
    assert float(train(lambda s, X: s * 0.5, 1.0, [[1.0], [2.0]], shards=1)[0]) == 0.5


def test_a_batch_size_is_found():
    def slow_call(w, X):
        time.sleep(0.002 + 4e-6 * max(0, len(X) - 250))  # pays up to 256 rows
        return w + 1

    state, history = train(slow_call, 0.0, np.ones((20_000, 2)), batch_size="auto", shards=1)
    assert history.batch_size in (256, 512, 1024)
    assert state == -(-20_000 // history.batch_size)
    assert train(slow_call, 0.0, np.ones((700, 2)), batch_size="auto", shards=1)[1].batch_size == 32
    assert train(slow_call, 0.0, np.ones((30, 2)), batch_size=7)[1].batch_size == 7
    with pytest.raises(wr.ArgumentError, match="batch_size"):
        train(slow_call, 0.0, np.ones((30, 2)), batch_size="automatic")


def test_large_states_stay_with_their_shards(monkeypatch):
    """What shards keep is the same whether it goes through the driver or stays where it is."""

    def work(state, own, at, X):
        own = {"seen": own["seen"] + X.sum(), "rounds": own["rounds"] + 1}
        return state + own["seen"] * 1e-3, own, RoundMetrics(float(len(X)))

    parts = cut_shards("test", [np.arange(30.0).reshape(10, 3)], 3, True, 0)
    found = []
    for limit in (rounds_module.SMALL, 0):
        monkeypatch.setattr(rounds_module, "SMALL", limit)
        rounds = Rounds(work, np.zeros(2), {"seen": np.zeros(2), "rounds": 0}, parts, 0, ())
        for number in range(20):
            assert rounds.run(0, number).rows == 10
        found.append((rounds.state.tobytes(), rounds.owns.tobytes()))
    assert found[0] == found[1]


def test_layouts():
    state = {"a": np.arange(3, dtype="f4"), "b": [np.ones((2, 2)), (np.int8(3), np.array(True))]}
    layout = StateLayout.of(state)
    back = layout.unpack(layout.pack(state))
    assert back["a"].dtype == np.float32
    assert (back["a"] == state["a"]).all()
    assert isinstance(back["b"][1], tuple)
    other = {"a": np.full(3, 9, "f4"), "b": [np.zeros((2, 2)), (np.int8(1), np.array(False))]}
    mean = layout.unpack(layout.mean(np.stack([layout.pack(state), layout.pack(other)]), np.array([3.0, 1.0])))
    np.testing.assert_allclose(mean["a"], [2.25, 3.0, 3.75])
    assert mean["b"][1] == (3, True)


SCRIPT = """
import sys, threading
import numpy as np
import windrow as wr
from support.ranks import kill_a_rank
from sklearn.linear_model import SGDRegressor
from windrow.ml import Averaged
X = wr.random.default_rng(1).normal(size=(60_000, 4), chunks=(5000, 4))
y = X[:, 0] - 2 * X[:, 1]
if "kill" in sys.argv:
    threading.Timer(0.15, kill_a_rank).start()
model = Averaged(SGDRegressor(), epochs=40, shards=4).fit(X, y)
print(model.estimator_.coef_.tobytes().hex(), len(wr.cluster().losses))
"""


@pytest.mark.ranks
def test_ranks_and_a_kill_give_the_same_weights(launch, tmp_path):
    script = tmp_path / "s.py"
    script.write_text(SCRIPT)
    plain = launch(0, script)
    ranks = launch(3, script)
    killed = launch(4, script, "kill")
    assert plain.status == ranks.status == killed.status == 0, (plain.err, ranks.err, killed.err)
    (a, _), (b, _), (c, losses) = (done.last.split() for done in (plain, ranks, killed))
    assert a == b == c
    assert losses == "1"


@pytest.mark.parametrize("average", ["epoch", "async"])
def test_errors_of_a_step_say_where_they_came(average):
    X = wr.arange(90.0, chunks=30).reshape(90, 1)

    def fail(w, X):
        if 79.0 in X:
            raise ZeroDivisionError("no")
        return w

    with pytest.raises(ZeroDivisionError) as raised:
        train(fail, np.zeros(1), X, shards=3, batch_size=10, shuffle=False, average=average)
    assert {"in batch 1 of the shard", "in shard 2 of epoch 0"} <= set(raised.value.__notes__)


def test_a_step_that_exits_is_named():
    def leave(w, X):
        if len(X) < 32:
            raise SystemExit(3)
        return w

    with pytest.raises(wr.WindrowError, match=r"leave: the task raised SystemExit: 3"):
        train(leave, np.zeros(1), wr.ones((40, 1)), shards=1, average="async")
