"""Estimators on rows whose chunks are empty, as those of `X[mask]` may be."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

import windrow as wr
from windrow.ml import Averaged, Fitted, train
from windrow.ml.search import GridSearch

MODULES = ("linear_model", "naive_bayes", "preprocessing", "cluster", "decomposition", "neural_network")
EVERY = [(module, name) for module in MODULES for name in importlib.import_module(f"windrow.ml.{module}").__all__]
KEYWORDS = {
    "KMeans": {"n_clusters": 3, "random_state": 0, "init": np.eye(3) * 4},
    "PCA": {"n_components": 2},
    "TruncatedSVD": {"n_components": 2},
    "MLPClassifier": {"hidden_layer_sizes": (4,), "max_iter": 2, "batch_size": 10},
    "MLPRegressor": {"hidden_layer_sizes": (4,), "max_iter": 2, "batch_size": 10},
}
RNG = np.random.default_rng(3)
X = RNG.integers(0, 5, (400, 3)).astype(float)
Y = (X[:, 0] + X[:, 1] > 4).astype(int)
W = RNG.random(400)
MASK = (RNG.random(400) > 0.5) & ((np.arange(400) < 100) | (np.arange(400) >= 200)) & (np.arange(400) < 300)


def chosen(values):
    """Return rows of a mask, of which the second and the last chunk are empty."""
    return wr.from_array(values, chunks=(100, *values.shape[1:]))[wr.from_array(MASK, chunks=100)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("module", "name"), EVERY)
def test_chunks_without_rows_change_nothing(module, name, weighted):
    cls = getattr(importlib.import_module(f"windrow.ml.{module}"), name)
    if weighted and "sample_weight" not in inspect.signature(cls.fit).parameters:
        pytest.skip("takes no weights")
    fitted = []
    with wr.Cluster(threads=1):
        for rows, labels, weight in ((chosen(X), chosen(Y), chosen(W)), (X[MASK], Y[MASK], W[MASK])):
            model = cls(**KEYWORDS.get(name, {}))
            lazy = wr.asarray(rows)
            model.fit(lazy, labels, **({"sample_weight": weight} if weighted else {}))
            said = model.predict(lazy) if hasattr(model, "predict") else model.transform(lazy)
            fitted.append(np.asarray(said, np.float64))
            if hasattr(model, "predict"):
                assert np.isfinite(float(model.score(lazy, labels)))
    np.testing.assert_allclose(fitted[0], fitted[1], rtol=1e-9, atol=1e-9)


def test_steps_and_searches_take_chunks_without_rows():
    from sklearn.linear_model import SGDClassifier

    rows, labels = chosen(X), chosen(Y)
    search = GridSearch(SGDClassifier(random_state=0), {"alpha": [1e-4, 1e-3]}, epochs=2, cv=2).fit(rows, labels)
    assert np.isfinite(search.best_score_)
    model = Averaged(SGDClassifier(random_state=0), epochs=2, shards=2).fit(rows, labels)
    assert Fitted(model.estimator_).predict(rows).compute().shape == (MASK.sum(),)
    state, _ = train(lambda state, X, y: state + len(y), np.float64(0), rows, labels, shards=1, shuffle=False)
    assert state == MASK.sum()
