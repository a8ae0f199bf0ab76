"""What estimators learn of tables and their columns beside Windrow arrays, and of rows they can't take."""

from __future__ import annotations

import numpy as np
import pytest

import windrow as wr
from windrow.ml import Averaged
from windrow.ml.cluster import KMeans
from windrow.ml.decomposition import PCA, TruncatedSVD
from windrow.ml.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from windrow.ml.naive_bayes import GaussianNB, MultinomialNB
from windrow.ml.preprocessing import MinMaxScaler, StandardScaler

pandas = pytest.importorskip("pandas")
X = np.abs(np.random.default_rng(0).normal(size=(30, 3)))
Y = (X[:, 0] > 0.6).astype(int)
LAZY, LAZY_Y = wr.from_array(X, chunks=(10, 3)), wr.from_array(Y, chunks=10)
STEPS = {"max_iter": 2, "tol": None, "random_state": 0}
CLASSIFIERS = [LogisticRegression(), GaussianNB(), MultinomialNB(), SGDClassifier(**STEPS)]
CLASSIFIERS += [Averaged(SGDClassifier(), epochs=1, shards=2)]
REGRESSORS = [LinearRegression(), Ridge(), SGDRegressor(**STEPS), Averaged(SGDRegressor(), epochs=1, shards=2)]
OTHERS = [KMeans(2, random_state=0), PCA(2), TruncatedSVD(2), StandardScaler(), MinMaxScaler()]


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS, *OTHERS])
def test_names_of_columns_go_with_the_rows_they_are_of(model):
    table = pandas.DataFrame(X[:, :2], columns=["a", "b"])
    model.fit(table, Y)
    assert list(model.feature_names_in_) == ["a", "b"]
    model.fit(LAZY, Y)
    assert not hasattr(model, "feature_names_in_")
    method = model.predict if hasattr(model, "predict") else model.transform
    assert len(method(LAZY).compute()) == 30
    if model not in OTHERS:
        model.fit(table, LAZY_Y)
        assert list(model.feature_names_in_) == ["a", "b"]


@pytest.mark.parametrize("model", CLASSIFIERS)
def test_columns_of_words_are_labels(model):
    words = pandas.Series(np.where(Y, "yes", "no"), dtype=object)
    for labels in (words, words.astype("category")):
        model.fit(LAZY, labels)
        assert model.classes_.tolist() == ["no", "yes"]
        assert set(np.unique(model.predict(LAZY).compute())) <= {"no", "yes"}


@pytest.mark.parametrize("model", REGRESSORS)
def test_words_are_no_targets_of_a_regression(model):
    with pytest.raises(wr.DTypeError, match=r"\.fit: argument 'y' is dtype\('<U3'\); expected real numbers"):
        model.fit(LAZY, wr.from_array(np.where(Y, "yes", "no"), chunks=10))


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS])
def test_sparse_rows_are_named(model):
    sparse = pytest.importorskip("scipy.sparse")
    for rows in (sparse.csr_matrix(X), sparse.csr_array(X)):
        with pytest.raises(wr.ArgumentError, match=r"argument 'X' is a sparse csr_\w+; expected a dense array"):
            model.fit(rows, LAZY_Y)
