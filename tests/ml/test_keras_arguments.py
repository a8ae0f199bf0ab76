"""`fit` in Keras's words: what its arguments mean on shards, and those that are refused."""

from __future__ import annotations

import warnings

import keras
import numpy as np
import pytest

import windrow as wr
from windrow.ml import Sequential, distribute

layers = keras.layers
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*steps an epoch:UserWarning")
ROWS = 500


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).random((ROWS, 5), dtype="f4")
    return X, (X.sum(axis=1) > 2.5).astype("i4")


def classifier(kind=keras.Sequential, units=1, loss="binary_crossentropy"):
    keras.utils.set_random_seed(1)
    model = kind([keras.Input((5,)), layers.Dense(units, "sigmoid")])
    model.compile(keras.optimizers.SGD(0.1), loss)
    return model


def lazily(*arrays):
    return tuple(wr.from_array(a, chunks=(70, *a.shape[1:])) for a in arrays)


def same(one, other):
    for a, b in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("columns", [1, 2])
def test_weights_of_classes(data, lazy, columns):
    X, y = data
    target = y if columns == 1 else np.eye(2, dtype="f4")[y]
    given = lazily(X, target) if lazy else (X, target)
    kind = {"units": columns, "loss": "binary_crossentropy" if columns == 1 else "categorical_crossentropy"}
    ours, theirs = classifier(**kind), classifier(**kind)
    more = {"class_weight": {1: 3.0}, "shuffle": False, "epochs": 2}
    distribute(ours).fit(*given, 64, shards=1, **more)
    theirs.fit(X, y[:, None] if columns == 1 else target, 64, verbose=0, **more)
    same(ours, theirs)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_part_is_held_out(data, lazy):
    X, y = data
    weights = np.linspace(0.5, 2, ROWS, dtype="f4")
    given = lazily(X, y, weights) if lazy else (X, y, weights)
    ours, theirs = classifier(), classifier()
    more = {"validation_split": 0.25, "shuffle": False, "epochs": 2}
    found = distribute(ours).fit(*given[:2], sample_weight=given[2], shards=1, **more)
    wanted = theirs.fit(X, y[:, None], sample_weight=weights, verbose=0, **more)
    same(ours, theirs)
    assert found.history["val_loss"] == pytest.approx(wanted.history["val_loss"], rel=1e-3)


def test_weights_of_validation_data(data):
    X, y = data
    weights = np.linspace(0, 2, ROWS, dtype="f4")
    model = classifier()
    losses = []
    for held in ((X, y, weights), lazily(X, y, weights), (X, y)):
        model.optimizer.learning_rate = 0.0
        losses.append(distribute(model).fit(X, y, validation_data=held).history["val_loss"][0])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert losses[0] != pytest.approx(losses[2], rel=1e-3)


def test_the_first_epoch_has_a_number(data):
    assert distribute(classifier()).fit(*data, epochs=5, initial_epoch=3).epoch == [3, 4]


def test_lazy_validation_of_a_model_that_fits_arrays(data):
    found = classifier(Sequential).fit(x=data[0], y=data[1], epochs=2, validation_data=lazily(*data))
    assert len(found.history["val_loss"]) == 2
    assert isinstance(classifier(Sequential).evaluate(data[0], *lazily(data[1])), float)


def test_keras_order_of_arguments(data):
    found = classifier(Sequential).fit(*lazily(*data), 64, 2, 0)
    assert found.epoch == [0, 1]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"steps_per_epoch": 3}, "'steps_per_epoch' is 3; expected none: an epoch is all rows"),
        ({"validation_steps": 3}, "'validation_steps' is 3; expected none: give a slice"),
        ({"validation_freq": 2}, "'validation_freq' is 2; expected 1"),
        ({"stepz": 3}, "'stepz' is 3"),
        ({"x": iter(())}, "'x' is .*; expected an array: rows of generators"),
        ({"y": None}, "'y' is .*None.*; expected an array"),
        ({"validation_split": 1.0}, "'validation_split' is 1.0; expected a number from 0 up to 1"),
        ({"validation_split": 0.99}, "'validation_split' is 0.99; expected a part of 4 rows"),
        ({"class_weight": {0: 1.0}, "sample_weight": np.ones(4)}, "'class_weight' is .*; expected one of them"),
        ({"class_weight": [1.0, 2.0]}, "'class_weight' is .*; expected a dict"),
        ({"initial_epoch": -1}, "'initial_epoch' is -1"),
        ({"initial_epoch": 1, "resume": "some.keras"}, "'initial_epoch' is 1; expected 0 with resume"),
        ({"staleness": -1, "average": "async"}, "fit: argument 'staleness' is -1"),
    ],
)
def test_what_is_refused(change, match):
    given = {"x": np.ones((4, 5), "f4"), "y": np.ones(4, "f4")} | change
    with pytest.raises(wr.ArgumentError, match=match):
        distribute(classifier()).fit(**given)


def test_a_loss_that_is_no_number_is_told_once(data):
    X = data[0].copy()
    X[3, 2] = np.nan
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        distribute(classifier()).fit(X, data[1], epochs=3, shards=1)
    told = [w for w in caught if "the loss of epoch" in str(w.message)]
    assert [str(w.message) for w in told] == [
        "fit: the loss of epoch 1 is nan; look for NaN among the rows, or lower the rate"
    ]
    assert told[0].filename == __file__
