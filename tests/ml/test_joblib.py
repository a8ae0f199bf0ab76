"""The backend of joblib."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV

import windrow as wr
import windrow.ml


def test_grid_search_is_the_same():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3000, 10))
    y = (X.sum(axis=1) > 0).astype(int)
    search = GridSearchCV(SGDClassifier(max_iter=5, tol=None, random_state=0), {"alpha": [1e-4, 1e-2, 1.0]}, cv=3)
    wanted = search.fit(X, y).cv_results_["mean_test_score"]
    with joblib.parallel_config("windrow"):
        found = search.fit(X, y).cv_results_["mean_test_score"]
    assert (wanted == found).all()


def test_errors_come_back_and_the_cluster_goes_on():
    def broken(i):
        if i == 3:
            raise KeyError(i)
        return np.full(100_000, i)

    with pytest.raises(KeyError):
        joblib.Parallel(backend="windrow", n_jobs=2)(joblib.delayed(broken)(i) for i in range(6))
    found = joblib.Parallel(backend="windrow", n_jobs=2)(joblib.delayed(broken)(i) for i in range(3))
    assert [int(a[0]) for a in found] == [0, 1, 2]
    assert float(wr.ones(3).sum()) == 3.0


def test_a_result_too_large_is_named():
    with pytest.raises(wr.WindrowError, match="expected at most"):
        joblib.Parallel(backend="windrow", n_jobs=2)(joblib.delayed(np.zeros)(1 << 20) for _ in range(2))


def test_large_arguments_are_sent_once_and_read_only():
    table = np.arange(100_000.0)

    def total(x, i):
        return float(x.sum() + i), x.flags.writeable

    found = joblib.Parallel(backend="windrow", n_jobs=2)(joblib.delayed(total)(table, i) for i in range(4))
    assert found == [(table.sum() + i, False) for i in range(4)]
