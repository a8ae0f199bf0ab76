"""When estimators on shards stop, what they are told of targets, and what their methods are called in plans."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn.linear_model
import sklearn.neural_network
from sklearn.base import is_classifier
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import SGDRegressor as Plain

import windrow as wr
from windrow.ml import Averaged, Fitted, over_rows
from windrow.ml.cluster import KMeans
from windrow.ml.linear_model import Perceptron, SGDClassifier, SGDRegressor
from windrow.ml.neural_network import MLPClassifier, MLPRegressor
from windrow.ml.preprocessing import StandardScaler

generator = np.random.default_rng(8)
X = generator.normal(size=(200, 3))
LABELS = (X[:, 0] + generator.normal(size=200) > 0.3).astype("i8")
WEIGHT = generator.random(200)
LAZY = wr.from_array(X, chunks=(70, 3))


LOSSES = {
    "hinge": lambda m: np.maximum(0, 1 - m),
    "log_loss": lambda m: np.where(m < -30, -m, np.log1p(np.exp(-np.maximum(m, -30)))),
    "modified_huber": lambda m: np.where(m < -1, -4 * m, np.maximum(0, 1 - m) ** 2),
    "squared_error": lambda r: r**2 / 2,
    "epsilon_insensitive": lambda r: np.maximum(0, np.abs(r) - 0.1),
    "huber": lambda r: np.where(np.abs(r) <= 0.1, r**2 / 2, 0.1 * np.abs(r) - 0.005),
}


def losses_of_scikit_learns(model, y, each, loss, epochs=3):
    """Return the weighed mean of each epoch: of parts of the rows, each before it is learnt."""
    means = []
    keywords = {"classes": [-1, 1]} if is_classifier(model) else {}
    for _ in range(epochs):
        lost = []
        for lo in range(0, len(X), 13):  # a sixteenth
            part = slice(lo, lo + 13)
            values = (
                X[part] @ model.coef_.ravel() + model.intercept_ if hasattr(model, "coef_") else np.zeros(len(X[part]))
            )
            lost.append(LOSSES[loss](values * y[part] if keywords else values - y[part]))
            model.partial_fit(X[part], y[part], sample_weight=each[part], **keywords)
        means.append(np.average(np.concatenate(lost), weights=each))
    return means


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("classes", [None, {1: 40.0}, "balanced"])
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "modified_huber"])
def test_the_loss_that_stops_training_is_that_of_rows_before_they_are_learnt(loss, classes, weight):
    y = LABELS * 2 - 1
    how = {"loss": loss, "random_state": 1, "shuffle": False}
    scales = {None: np.ones(2), "balanced": 100 / np.bincount(LABELS)}.get(None if classes is None else str(classes))
    each = (np.array([1.0, 40.0]) if scales is None else scales)[LABELS] * (1 if weight is None else weight)
    with wr.Cluster(threads=1):
        model = SGDClassifier(max_iter=3, tol=0.0, n_iter_no_change=99, class_weight=classes, **how)
        model.fit(wr.from_array(X, chunks=(200, 3)), y, sample_weight=weight)
    wanted = losses_of_scikit_learns(sklearn.linear_model.SGDClassifier(**how), y, each, loss)
    np.testing.assert_allclose(model.history_.history["loss"], wanted, rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared_error", "huber", "epsilon_insensitive"])
def test_the_loss_of_regressors_is_weighed(loss):
    y = X[:, 0] * 2 - X[:, 1]
    how = {"loss": loss, "random_state": 1, "shuffle": False}
    with wr.Cluster(threads=1):
        model = SGDRegressor(max_iter=3, tol=0.0, n_iter_no_change=99, **how)
        model.fit(wr.from_array(X, chunks=(200, 3)), y, sample_weight=WEIGHT)
    wanted = losses_of_scikit_learns(Plain(**how), y, WEIGHT, loss)
    np.testing.assert_allclose(model.history_.history["loss"], wanted, rtol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_linear_models_train_on_until_their_loss_stays(loss):
    """As long as scikit-learn's nearly: by the score they stopped after a tenth of its epochs."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 20))
    y = (rows @ rng.normal(size=20) + 2 * rng.normal(size=1000) > 0).astype(int)
    wanted = sklearn.linear_model.SGDClassifier(loss=loss, random_state=0).fit(rows, y).n_iter_
    assert SGDClassifier(loss=loss, random_state=0).fit(wr.from_array(rows, chunks=(500, 20)), y).n_iter_ > wanted / 4


@pytest.mark.filterwarnings("ignore:.*takes only 1 steps")
@pytest.mark.parametrize("cls", [SGDClassifier, SGDRegressor, Perceptron, MLPClassifier, MLPRegressor])
def test_targets_that_lack_or_are_columns(cls):
    with pytest.raises(ValueError, match=f"{cls.__name__}.fit requires y to be passed, but the target y is None"):
        cls().fit(LAZY, None)
    flat = cls(max_iter=2, random_state=0)
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        column = flat.fit(LAZY[:100], LABELS[:100, None]).predict(X)
    assert column.ndim == 1


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("cls", [MLPClassifier, MLPRegressor])
def test_networks_stop_by_their_loss_as_scikit_learns_do(cls, weight):
    """On one shard, whose rows stay in order, training is scikit-learn's own."""
    how = {"hidden_layer_sizes": (4,), "batch_size": 20, "max_iter": 300, "random_state": 1, "shuffle": False}
    how |= {"learning_rate_init": 0.01, "n_iter_no_change": 3, "tol": 1e-3}
    wanted = getattr(sklearn.neural_network, cls.__name__)(**how).fit(X, LABELS, sample_weight=weight)
    with wr.Cluster(threads=1):
        model = cls(**how).fit(wr.from_array(X, chunks=(70, 3)), LABELS, sample_weight=weight)
    assert 10 < model.n_iter_ == wanted.n_iter_ < 300
    np.testing.assert_allclose(model.loss_curve_, wanted.loss_curve_, rtol=1e-9)
    np.testing.assert_allclose([model.loss_, model.best_loss_], [wanted.loss_, wanted.best_loss_], rtol=1e-9)
    assert model.history_.history["loss"] == model.loss_curve_


@pytest.mark.filterwarnings("ignore:.*takes only . steps")
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("average", ["epoch", "batch", 3, "gradient", ("async", 2)])
def test_the_loss_of_networks_is_that_of_all_shards(average, weight):
    """Where no step changes a weight each epoch tells the loss of the weights at the start."""
    network = sklearn.neural_network.MLPClassifier((4,), batch_size=20, learning_rate_init=1e-300, random_state=0)
    model = Averaged(network, epochs=2, shards=2, average=average).fit(LAZY, LABELS, sample_weight=weight)
    shares = model.estimator_.predict_proba(X)[np.arange(200), LABELS]
    wanted = np.average(-np.log(shares), weights=weight)
    assert model.estimator_.loss_curve_ == model.history_.history["loss"]
    # Scikit-learn means weighted rows batch by batch.
    np.testing.assert_allclose(model.estimator_.loss_curve_, wanted, rtol=3e-4 if weight is None else 0.02)


@pytest.mark.filterwarnings("ignore:.*takes only . steps")
@pytest.mark.parametrize("solver", ["adam", "sgd"])
@pytest.mark.parametrize("average", ["epoch", "batch", "gradient"])
def test_training_that_goes_on_is_training_that_never_stopped(solver, average):
    network = sklearn.neural_network.MLPClassifier((4,), batch_size=20, solver=solver, random_state=0, warm_start=True)
    once = Averaged(network, epochs=4, shards=2, average=average).fit(LAZY, LABELS).estimator_
    twice = Averaged(network, epochs=2, shards=2, average=average).fit(LAZY, LABELS)
    twice = pickle.loads(pickle.dumps(twice)).fit(LAZY, LABELS)
    assert all(np.array_equal(*pair) for pair in zip(once.coefs_, twice.estimator_.coefs_, strict=True))
    assert once.loss_curve_ == twice.estimator_.loss_curve_
    assert once.best_loss_ == twice.estimator_.best_loss_
    twice.estimator_.partial_fit(X, LABELS)  # elsewhere: all shards go on from its slots
    twice.shards = 3
    assert np.isfinite(twice.fit(LAZY, LABELS).score(X, LABELS))


@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_rates_of_gradients_are_scaled_where_that_is_asked_for(solver):
    def train(rate, **more):
        network = sklearn.neural_network.MLPClassifier((4,), solver=solver, learning_rate_init=rate, random_state=0)
        return Averaged(network, epochs=2, shards=2, average="gradient", **more).fit(LAZY, LABELS).estimator_

    usual, twice, scaled = train(0.01), train(0.02), train(0.01, scale_learning_rate=True)
    assert np.array_equal(scaled.coefs_[0], twice.coefs_[0])
    assert not np.array_equal(scaled.coefs_[0], usual.coefs_[0])
    assert scaled._optimizer.learning_rate_init == 0.01


def test_networks_of_windrows_go_on_as_if_they_never_stopped():
    how = {"hidden_layer_sizes": (4,), "batch_size": 10, "random_state": 0, "warm_start": True}
    with wr.Cluster(threads=2):
        rows = wr.from_array(X, chunks=(70, 3))
        once = MLPRegressor(max_iter=4, **how).fit(rows, LABELS)
        twice = MLPRegressor(max_iter=2, **how).fit(rows, LABELS).fit(rows, LABELS)
        assert all(np.array_equal(*pair) for pair in zip(once.coefs_, twice.coefs_, strict=True))
        said = twice.predict(rows)
        assert b"_slots" in pickle.dumps(twice)
        assert b"_slots" not in said.expr.op.payload.pickled  # ranks that predict don't train


def test_classes_may_be_a_lazy_array():
    for model in (SGDClassifier(random_state=0), Averaged(Perceptron(), shards=2)):
        model.partial_fit(LAZY, LABELS, classes=wr.from_array(np.array([0, 1, 2]), chunks=2))
        assert model.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("model", [SGDClassifier(), Averaged(Perceptron(), shards=1), SGDClassifier(warm_start=True)])
def test_going_on_takes_rows_of_as_many_features(model):
    model.fit(LAZY, LABELS)
    go_on = model.fit if getattr(model, "warm_start", False) else model.partial_fit
    with pytest.raises(wr.ShapeError, match=r"X has 2 features, but .* is expecting 3 features as input"):
        go_on(LAZY[:, :2], LABELS)


def test_methods_of_models_bear_their_names():
    y = X[:, 0]
    made = {
        "KMeans.predict": KMeans(2, random_state=0, n_init=1).fit(LAZY).predict(LAZY),
        "KMeans.transform": KMeans(2, random_state=0, n_init=1).fit(LAZY).transform(LAZY),
        "StandardScaler.fit_transform": StandardScaler().fit_transform(LAZY),
        "Averaged.predict": Averaged(Plain(), epochs=1, shards=1).fit(LAZY, y).predict(LAZY),
        "Fitted.predict": Fitted(Plain().fit(X, y)).predict(LAZY),
        "over_rows": over_rows(Plain().fit(X, y), "predict", LAZY),
    }
    assert {name: array.expr.origin.call for name, array in made.items()} == {name: name for name in made}
    assert all(array.expr.origin.file == __file__ for array in made.values())
