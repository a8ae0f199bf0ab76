"""More shards must not make a worse model: what counts by steps counts those of all shards."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import log_loss
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neural_network import MLPRegressor

from windrow.ml import Averaged

ROWS = 4000


@pytest.fixture(scope="module")
def noisy():
    """Labels that follow from a logistic model; the rows that training doesn't see come last."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2 * ROWS, 10))
    y = (rng.random(2 * ROWS) < 1 / (1 + np.exp(-X @ rng.normal(size=10)))).astype(int)
    return X, y


@pytest.mark.parametrize("alpha", [0.0001, 0.001])
def test_sgd_learns_as_well_from_any_number_of_shards(noisy, alpha):
    X, y = noisy

    def loss(shards):
        model = Averaged(SGDClassifier("log_loss", alpha=alpha, random_state=0), epochs=5, shards=shards)
        return log_loss(y[ROWS:], model.fit(X[:ROWS], y[:ROWS]).predict_proba(X[ROWS:]))

    alone = loss(1)
    assert [shards for shards in (2, 4, 16, 64) if loss(shards) > 1.03 * alone] == []


@pytest.mark.parametrize("average", ["epoch", 7, "async"])
def test_sgd_counts_the_rows_of_all_shards(noisy, average):
    X, _ = noisy
    several = MultiOutputRegressor(SGDRegressor())
    for shards in (1, 3):
        how = {"epochs": 2, "shards": shards, "average": average}
        assert Averaged(SGDRegressor(), **how).fit(X[:100], X[:100, 0]).estimator_.t_ == pytest.approx(1 + 2 * 100)
        each = Averaged(several, **how).fit(X[:100], X[:100, :2]).estimator_.estimators_
        assert [one.t_ for one in each] == pytest.approx([1 + 2 * 100] * 2)


def test_rates_that_fall_do_so_by_the_rows_of_all_shards(noisy):
    X, _ = noisy

    def train(shards, schedule):
        how = {"solver": "sgd", "learning_rate": schedule, "batch_size": 30, "random_state": 0}
        network = MLPRegressor(hidden_layer_sizes=(4,), **how)
        return Averaged(network, epochs=3, shards=shards).fit(X[:900], X[:900, 0]).estimator_

    for shards in (1, 3):
        falling, constant = train(shards, "invscaling"), train(shards, "constant")
        assert falling.t_ == constant.t_ == 3 * 900
        assert falling._optimizer.learning_rate == pytest.approx(0.001 / (3 * 900 + 1) ** 0.5)
        assert abs(falling.coefs_[0] - constant.coefs_[0]).max() > 1e-3
