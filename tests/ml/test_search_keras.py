"""Searches over Keras models that a function builds."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning

import windrow as wr
from windrow.ml.search import GridSearch, HalvingSearch
from windrow.ml.search.base import _Rungs

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def data(count=400):
    generator = np.random.default_rng(0)
    X = generator.random((count, 5), dtype="f4")
    y = (X[:, 0] > X[:, 1]).astype("i4")
    return wr.from_array(X, chunks=(80, 5)), wr.from_array(y, chunks=80)


def build(units=4, rate=0.01):
    layers = [keras.layers.Dense(units, "relu"), keras.layers.Dropout(0.1), keras.layers.Dense(2, "softmax")]
    model = keras.Sequential([keras.Input((5,)), *layers])
    model.compile(keras.optimizers.Adam(rate), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


SPACE = {"rate": [1e-5, 0.05], "units": [4, 8]}


@pytest.mark.slow
def test_a_grid_of_models():
    X, y = data()
    search = GridSearch(build, SPACE, epochs=3, shards=2, seed=3).fit(X, y)
    assert search.best_params_["rate"] == 0.05
    assert search.best_score_ > 0.7
    told = search.best_estimator_.evaluate(X, y, return_dict=True)
    assert search.score(X, y) == told["accuracy"] > 0.8
    assert search.predict(X).compute().shape == (400, 2)
    again = GridSearch(build, SPACE, epochs=3, shards=2, seed=3).fit(X, y)
    assert np.array_equal(search.cv_results_["mean_test_score"], again.cv_results_["mean_test_score"])
    by_loss = GridSearch(build, SPACE, epochs=1, scoring="loss", refit=False).fit(X, y)
    assert (by_loss.cv_results_["mean_test_score"] < 0).all()


def test_a_stopped_search_goes_on(tmp_path, monkeypatch):
    X, y = data()
    wanted = HalvingSearch(build, SPACE, max_epochs=4, factor=2).fit(X, y)
    train, count = _Rungs._train, [0]

    def stopping(self, rung):
        count[0] += 1
        if count[0] == 2:
            raise InterruptedError
        return train(self, rung)

    monkeypatch.setattr(_Rungs, "_train", stopping)
    with pytest.raises(InterruptedError):
        HalvingSearch(build, SPACE, max_epochs=4, factor=2, resume=tmp_path).fit(X, y)
    found = HalvingSearch(build, SPACE, max_epochs=4, factor=2, resume=tmp_path).fit(X, y)
    for name in ("params", "mean_test_score", "n_resources"):
        assert list(wanted.cv_results_[name]) == list(found.cv_results_[name])


def test_bad_functions_are_named():
    X, y = data()
    with pytest.raises(wr.WindrowError, match="parameters"):
        GridSearch(build, {"width": [1]}).fit(X, y)
    with pytest.raises(wr.WindrowError, match="compiled Keras model"):
        GridSearch(lambda units: keras.Sequential([keras.layers.Dense(units)]), {"units": [1]}).fit(X, y)
    with pytest.raises(wr.WindrowError, match="estimator"):
        GridSearch("model", {"units": [1]}).fit(X, y)
    with pytest.raises(wr.WindrowError, match="batch_size"):
        GridSearch(build, SPACE, batch_size=0).fit(X, y)


def fragile(rate):
    if rate < 0:
        raise ZeroDivisionError("no rate")
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1, "sigmoid")])
    metrics = [keras.metrics.AUC(name="auc"), "mae"]
    model.compile(keras.optimizers.SGD(rate), "binary_crossentropy", metrics=metrics, run_eagerly=True)
    return model


def test_metrics_of_all_rows_by_their_names():
    X, y = data()
    held = X[::2], y[::2]  # in chunks of 40
    with pytest.warns(FitFailedWarning, match="1 of 2 trials failed.*ZeroDivisionError: no rate"):
        search = GridSearch(fragile, {"rate": [0.5, -1.0]}, epochs=1, scoring="auc", batch_size=100).fit(
            X, y, validation_data=held
        )
    assert search.best_params_ == {"rate": 0.5}
    told = search.best_estimator_.evaluate(*(a.compute() for a in held), return_dict=True)
    assert search.best_score_ == pytest.approx(told["auc"], abs=1e-6)
    assert np.isnan(search.cv_results_["mean_test_score"][1])
    less = GridSearch(fragile, {"rate": [0.5]}, epochs=1, scoring="neg_mae", batch_size=100).fit(
        X, y, validation_data=held
    )
    assert less.best_score_ == pytest.approx(-told["mae"], abs=1e-6)
    with pytest.raises(wr.ArgumentError, match=r"'scoring' is 'f1'.*\['auc', 'loss', 'mae'\]"):
        GridSearch(fragile, {"rate": [0.5]}, epochs=1, scoring="f1").fit(X, y)
