"""Training that goes on from what was learnt, averages after batches, and what it refuses or warns of."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.datasets import load_digits
from sklearn.linear_model import PassiveAggressiveClassifier, SGDClassifier, SGDRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor

import windrow as wr
from windrow.ml import Averaged, train
from windrow.ml.linear_model import Perceptron as OursPerceptron
from windrow.ml.linear_model import SGDClassifier as OursClassifier
from windrow.ml.linear_model import SGDRegressor as OursRegressor
from windrow.ml.neural_network import MLPClassifier as OursNetwork
from windrow.ml.neural_network import MLPRegressor as OursNetRegressor
from windrow.ml.training.state import StateLayout

pytestmark = pytest.mark.filterwarnings("ignore:.*PassiveAggressive.*:FutureWarning")


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(1).normal(size=(3000, 4))
    return wr.from_array(X, chunks=(700, 4)), X, (X[:, 0] > 0).astype(int), X[:, 0] - X[:, 1]


def learnt(model):
    names = ("coef_", "intercept_", "t_", "coefs_", "intercepts_")
    return [
        np.concatenate(
            [np.ravel(a) for a in np.atleast_1d(v)] if isinstance(v, np.ndarray) else [np.ravel(a) for a in v]
        )
        if isinstance(v, (list, np.ndarray))
        else np.atleast_1d(v)
        for v in (getattr(model, n) for n in names if hasattr(model, n))
    ]


def same(one, other):
    for a, b in zip(learnt(one), learnt(other), strict=True):
        np.testing.assert_array_equal(a, b)


NETWORK = {"hidden_layer_sizes": (4,), "solver": "sgd", "momentum": 0.0, "batch_size": 50, "random_state": 1}
KINDS = [
    (OursClassifier, {}),
    (OursRegressor, {}),
    (OursPerceptron, {}),
    (OursNetwork, NETWORK),
    (OursNetRegressor, NETWORK),
]


@pytest.mark.parametrize(("kind", "more"), KINDS, ids=lambda v: getattr(v, "__name__", ""))
def test_warm_starts_go_on_as_if_training_had_not_stopped(data, kind, more):
    lazy, _, labels, numbers = data
    y = numbers if "Regressor" in kind.__name__ else labels
    whole = (
        kind(max_iter=5, tol=None, **more)
        if "solver" not in more
        else kind(max_iter=5, tol=0, n_iter_no_change=99, **more)
    )
    whole.fit(lazy, y)
    parts = whole.__class__(**{**whole.get_params(), "max_iter": 3, "warm_start": True})
    parts.fit(lazy, y)
    assert parts.n_iter_ == 3
    parts.set_params(max_iter=2).fit(lazy, y)
    assert parts.n_iter_ == 2
    same(parts, whole)
    steps = whole.__class__(**whole.get_params())
    classes = {} if y is numbers else {"classes": [0, 1]}
    steps.partial_fit(lazy, y, **classes)
    for _ in range(4):
        steps.partial_fit(lazy, y)
    same(steps, whole)
    assert type(steps.score(lazy, y)) is float
    fresh = kind(**{**whole.get_params(), "max_iter": 3}).fit(lazy, y)
    fresh.set_params(max_iter=5).fit(lazy, y)  # without warm_start it begins anew
    same(fresh, whole)


def test_slots_of_an_optimiser_go_on_too(data):
    lazy, _, y, _ = data
    given = {"hidden_layer_sizes": (4,), "batch_size": 50, "random_state": 1, "warm_start": True}
    whole = Averaged(MLPClassifier(**given), epochs=4, shards=1).fit(lazy, y)
    parts = Averaged(MLPClassifier(**given), epochs=2, shards=1).fit(lazy, y)
    assert parts.fit(lazy, y).estimator_._optimizer.t == whole.estimator_._optimizer.t == 4 * 60
    same(parts.estimator_, whole.estimator_)


@pytest.mark.parametrize("estimator", [SGDRegressor, PassiveAggressiveClassifier, SGDClassifier])
def test_averaged_estimators_learn_in_parts(data, estimator):
    estimator = estimator()
    lazy, X, labels, numbers = data
    y = numbers if isinstance(estimator, SGDRegressor) else labels
    classes = {} if y is numbers else {"classes": [0, 1]}
    whole = Averaged(estimator, epochs=3, shards=3).fit(lazy, y)
    for rows in (lazy, X):  # Windrow's and NumPy's
        parts = Averaged(estimator, shards=3).partial_fit(rows, y, **classes)
        same(parts.partial_fit(rows, y).partial_fit(rows, y).estimator_, whole.estimator_)


def test_memory_first_then_chunks(data):
    lazy, X, y, _ = data
    model = OursClassifier(max_iter=2, tol=None, warm_start=True, random_state=0).fit(X, y)
    before = model.coef_.copy()
    model.fit(lazy, y)
    assert model.t_ > 1 + 2 * 3000  # its steps were counted on
    assert not np.array_equal(before, model.coef_)
    assert model.score(X, y) > 0.98


def test_what_learning_in_parts_refuses(data):
    lazy, X, y, _ = data
    model = OursClassifier()
    with pytest.raises(wr.BadValue, match=r"SGDClassifier.partial_fit: argument 'classes'"):
        model.partial_fit(lazy, y)
    with pytest.raises(wr.BadValue, match="labels with 1"):
        OursClassifier().partial_fit(lazy, y, classes=[0, 2])
    model.partial_fit(lazy, np.zeros(3000, int), classes=[0, 1])  # labels of one class, as scikit-learn takes them
    with pytest.raises(wr.BadValue, match="those of the first call"):
        model.partial_fit(lazy, y, classes=[0, 1, 2])
    with pytest.raises(wr.ShapeError, match="is expecting 4 features"):
        model.partial_fit(lazy[:, :2], y)
    with pytest.raises(wr.BadValue, match="the classes before"):
        OursClassifier(max_iter=1, tol=None, warm_start=True).fit(lazy, y).fit(lazy, y + 1)
    with pytest.raises(AttributeError):
        OursNetwork(solver="lbfgs").partial_fit
    assert OursClassifier().partial_fit(X, y, classes=[0, 1]).score(X, y) > 0.9


def test_batches_are_dealt_out_among_the_shards():
    X, y = load_digits(return_X_y=True)
    lazy = wr.from_array(X / 16, chunks=(200, 64))

    def made(shards, average, **more):
        model = MLPClassifier((32,), learning_rate_init=0.005, random_state=0)
        return Averaged(model, epochs=4, shards=shards, average=average, **more).fit(lazy, y).score(X / 16, y)

    alone = made(1, "epoch")
    with pytest.warns(UserWarning, match=r"each of 8 shards takes only 1 steps an epoch.*average='batch'"):
        slow, scaled = (made(8, "epoch", scale_learning_rate=scale) for scale in (False, "auto"))
    assert slow < alone - 0.2
    assert slow + 0.1 < scaled
    assert made(8, "batch") > alone - 0.08
    assert made(8, 3) > alone - 0.08


def test_batches_are_as_many_as_told(data):
    lazy, _, y, _ = data
    model = Averaged(MLPClassifier((3,), batch_size=300, solver="adam"), epochs=2, shards=3, average="batch")
    assert model.fit(lazy, y).estimator_._optimizer.t == 2 * 10  # steps of a shard: 3000 rows in batches of 300
    assert model.estimator_.batch_size == 300
    with pytest.raises(wr.ArgumentError, match="'average' is 0"):
        Averaged(SGDRegressor(), average=0).fit(lazy, y)


def test_linear_models_average_after_batches(data):
    lazy, X, _, numbers = data
    for average in ("batch", 4, ("async", 2)):
        model = Averaged(SGDRegressor(), epochs=3, shards=3, average=average).fit(lazy, numbers)
        assert model.score(X, numbers) > 0.99


@pytest.mark.parametrize("weight", [np.zeros(3000), np.r_[np.ones(2999), np.nan], np.r_[np.ones(2999), -1.0]])
def test_weights_must_weigh_something(data, weight):
    lazy, _, _, numbers = data
    for weights in (weight, wr.from_array(weight, chunks=1000)):
        for model in (Averaged(SGDRegressor(), epochs=1), OursRegressor(max_iter=1)):
            with pytest.raises(wr.BadValue, match=r"SGDRegressor.fit: argument 'sample_weight' is"):
                model.fit(lazy, numbers, sample_weight=weights)


@pytest.mark.filterwarnings("ignore:shard .* has no rows", "ignore:.*takes only . steps")
@pytest.mark.parametrize(
    ("estimator", "average"),
    [
        *((SGDRegressor(), average) for average in ("epoch", 2)),
        *((MLPRegressor(hidden_layer_sizes=(3,), batch_size=500), average) for average in ("epoch", 2, "gradient")),
    ],
)
def test_shards_of_rows_that_weigh_nothing_are_left_out(data, estimator, average):
    lazy, X, _, numbers = data
    weight = np.where(np.arange(3000) < 2000, 0.0, 1.0)
    model = Averaged(estimator, epochs=2, shards=3, shuffle=False, average=average)
    assert np.isfinite(model.fit(lazy, numbers, sample_weight=weight).score(X, numbers))


@pytest.mark.parametrize("patience", [1, 3])
def test_patience_is_to_the_epoch(data, patience):
    lazy, _, _, numbers = data
    model = OursRegressor(max_iter=50, tol=1e9, n_iter_no_change=patience).fit(lazy, numbers)
    assert model.n_iter_ == 2 + patience  # the first epoch tells of no learning, the second is better than none
    assert len(model.history_.seconds) == len(model.history_.epoch) == model.n_iter_
    assert all(s > 0 for s in model.history_.seconds)


def test_epochs_have_orders_of_their_own():
    def step(state, rows):
        begin = int(state["count"])
        state["seen"][begin : begin + len(rows)] = rows[:, 0]
        return state | {"count": state["count"] + len(rows)}

    start = {"seen": np.zeros(120), "count": np.int64(0)}
    found, _ = train(step, start, np.arange(40.0)[:, None], epochs=3, batch_size=7, average=2, shards=1, seed=5)
    epochs = found["seen"].astype(int).reshape(3, 40).tolist()
    dealt = np.random.Generator(np.random.Philox(5)).permutation(40)
    wanted = [
        dealt[np.random.Generator(np.random.Philox([5, epoch, 0])).permutation(40)].tolist() for epoch in range(3)
    ]
    assert epochs == wanted


def test_integers_of_a_state_that_moves():
    state = {"w": np.array([1.0, 2.0]), "n": np.array([3, 9]), "seen": np.array([True, False])}
    layout = StateLayout.of(state)
    before = layout.pack({"w": np.array([0.0, 0.0]), "n": np.array([0, 0]), "seen": np.array([False, False])})
    after = layout.pack({"w": np.array([4.0, 8.0]), "n": np.array([5, 7]), "seen": np.array([False, True])})
    moved = layout.unpack(layout.move(layout.pack(state), before, after, 0.25))
    assert moved["w"].tolist() == [2.0, 4.0]
    assert moved["n"].tolist() == [5, 9]
    assert moved["seen"].tolist() == [True, True]

    def step(state, rows):
        return {"n": state["n"] + 1, "w": state["w"]}

    start = {"n": np.int64(0), "w": np.zeros(1)}
    made, _ = train(step, start, np.zeros((80, 1)), epochs=2, batch_size=10, shards=2, average="async", shuffle=False)
    assert 8 <= made["n"] <= 16  # what one shard alone counts at least, what both do at most


@pytest.mark.filterwarnings("ignore:.*takes only")
@pytest.mark.parametrize("average", ["gradient", "batch", "epoch"])
def test_larger_batches_go_on_with_the_optimisers_slots(data, average):
    X, _, _, y = data
    network = MLPRegressor(hidden_layer_sizes=(4,), batch_size=100, random_state=0)
    model, steps, slots = Averaged(network, average=average, shards=2), [0], None
    for size in (100, 300, 750):
        network.set_params(batch_size=size)
        optimizer = model.partial_fit(X, y).estimator_._optimizer
        steps.append(optimizer.t)
        for before, now in zip(slots or [], optimizer.vs, strict=slots is not None):
            assert (now >= 0.999 * before * optimizer.beta_2 ** (steps[-1] - steps[-2])).all(), "it is a part of it"
        slots = [v.copy() for v in optimizer.vs]
    per_step = {"gradient": 1, "batch": 1, "epoch": 2}[average]  # a shard's batches are of all rows, or of its own
    assert steps == [n // per_step for n in (0, 30, 40, 44)]
