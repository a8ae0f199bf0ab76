"""Estimators that are exact, beside scikit-learn's own on the same rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn.cluster
import sklearn.decomposition
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.preprocessing
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

import windrow as wr
import windrow.ml.cluster
import windrow.ml.decomposition
import windrow.ml.linear_model
import windrow.ml.naive_bayes
import windrow.ml.preprocessing

ROWS, FEATURES = 601, 5
GRIDS = [(601, 5), (100, 5), ((1, 300, 300), (2, 3)), (7, 1)]


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(5)
    X = generator.normal(size=(ROWS, FEATURES)) * [1, 2, 5, 0.1, 1] + [0, 3, 1, 0, -2]
    y = X @ [1.0, -2.0, 0.5, 3.0, 0.0] + 4 + generator.normal(size=ROWS) * 0.1
    return X, y, np.digitize(y, [-1.0, 3.0])


@pytest.mark.parametrize("chunks", GRIDS)
@pytest.mark.parametrize("name", ["StandardScaler", "MinMaxScaler", "MaxAbsScaler"])
def test_scalers(data, name, chunks):
    X = data[0]
    ours = getattr(windrow.ml.preprocessing, name)().fit(wr.from_array(X, chunks=chunks))
    theirs = getattr(sklearn.preprocessing, name)().fit(X)
    np.testing.assert_allclose(ours.scale_, theirs.scale_, rtol=1e-12)
    lazy = ours.transform(wr.from_array(X, chunks=chunks))
    assert isinstance(lazy, wr.Array)
    np.testing.assert_allclose(lazy.compute(), theirs.transform(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-9, atol=1e-12)
    assert clone(ours).get_params() == theirs.get_params()


def test_a_constant_column_is_not_scaled():
    X = np.column_stack([np.full(50, 3.0), np.arange(50.0)])
    ours = windrow.ml.preprocessing.StandardScaler().fit(wr.from_array(X, chunks=(7, 2)))
    assert ours.scale_[0] == 1.0
    np.testing.assert_allclose(ours.transform(X), sklearn.preprocessing.StandardScaler().fit_transform(X), atol=1e-12)


def test_features_far_from_zero_are_scaled():
    X = np.random.default_rng(0).normal(size=(1000, 2)) + np.array([1e8, -1e7])
    ours = windrow.ml.preprocessing.StandardScaler().fit(wr.from_array(X, chunks=(100, 2)))
    parts = windrow.ml.preprocessing.StandardScaler()
    for at in range(0, 1000, 250):
        parts.partial_fit(wr.from_array(X[at : at + 250], chunks=(100, 2)))
    theirs = sklearn.preprocessing.StandardScaler().fit(X)
    for model in (ours, parts):
        np.testing.assert_allclose(model.scale_, theirs.scale_, rtol=1e-9)
        np.testing.assert_allclose(model.mean_, theirs.mean_, rtol=1e-14)


@pytest.mark.parametrize("name", ["LinearRegression", "Ridge"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("targets", [1, 2])
def test_columns_that_depend_on_each_other_get_the_least_norm(data, name, fit_intercept, targets):
    X, y, _ = data
    X = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2] * 3])
    y = y if targets == 1 else np.column_stack([y, X[:, 0] ** 2])
    keywords = {"alpha": 0} if name == "Ridge" else {}
    model = getattr(windrow.ml.linear_model, name)(fit_intercept=fit_intercept, **keywords)
    model.fit(wr.from_array(X, chunks=(100, 7)), wr.from_array(y, chunks=100))
    theirs = sklearn.linear_model.LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("chunks", GRIDS)
@pytest.mark.parametrize("name", ["LinearRegression", "Ridge"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_linear_models(data, name, chunks, fit_intercept):
    X, y, _ = data
    lazy = wr.from_array(X, chunks=chunks)
    ours = getattr(windrow.ml.linear_model, name)(fit_intercept=fit_intercept).fit(lazy, wr.from_array(y, chunks=50))
    theirs = getattr(sklearn.linear_model, name)(fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-10)
    assert float(ours.score(lazy, y)) == pytest.approx(theirs.score(X, y), abs=1e-12)


@pytest.mark.parametrize("name", ["LinearRegression", "Ridge"])
@pytest.mark.parametrize("scales", [(1, 1e8, 1, 1), (1e-6, 1, 1e6, 1e9), (1e-12, 1e12, 1, 1)])
def test_columns_of_very_different_scale_are_all_kept(name, scales):
    """Scikit-learn's own loses some; on columns of one scale it tells what is right."""
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(600, 4)) + 3
    columns[:, 3] += columns[:, 0]
    y = columns @ [1, 2, 3, 4] + generator.normal(size=600)
    more = {"alpha": 0.0} if name == "Ridge" else {}
    wide = np.column_stack([columns * scales, np.full(600, 1e9 + 0.1)])
    model = getattr(windrow.ml.linear_model, name)(**more)
    model.fit(wr.from_array(wide, chunks=(70, -1)), wr.from_array(y, chunks=70))
    own = sklearn.linear_model.LinearRegression().fit(columns, y)
    np.testing.assert_allclose(model.coef_, [*own.coef_ / scales, 0], rtol=1e-7)
    np.testing.assert_allclose(model.intercept_, own.intercept_, rtol=1e-6)
    if name == "LinearRegression":
        assert model.rank_ == 4
        centred = wide - wide.mean(0)
        singular = np.linalg.svd(centred[:, :4], compute_uv=False)
        np.testing.assert_allclose(model.singular_[:3], singular[:3], rtol=1e-6)


def test_linear_regression_of_several_targets_with_weights(data):
    X, y, _ = data
    Y, w = np.column_stack([y, -y, y * 2]), np.linspace(0.5, 2, ROWS)
    ours = windrow.ml.linear_model.LinearRegression().fit(wr.from_array(X, chunks=(90, 5)), Y, w)
    theirs = sklearn.linear_model.LinearRegression().fit(X, Y, w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression(data, classes):
    X, y, labels = data
    target = labels if classes == 3 else (y > 0).astype(int)
    ours = windrow.ml.linear_model.LogisticRegression(max_iter=500, tol=1e-8).fit(
        wr.from_array(X, chunks=(100, 5)), target
    )
    theirs = sklearn.linear_model.LogisticRegression(max_iter=5000, tol=1e-8).fit(X, target)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=2e-3, atol=2e-3)
    lazy = ours.predict(wr.from_array(X, chunks=(200, 5)))
    assert (lazy.compute() == theirs.predict(X)).mean() > 0.995


def test_labels_may_be_words(data):
    X, _, labels = data
    words = np.array(["low", "middle", "high"])[labels]
    model = windrow.ml.naive_bayes.GaussianNB().fit(wr.from_array(X, chunks=(100, 5)), words)
    found = model.predict(wr.from_array(X, chunks=(100, 5))).compute()
    assert (found == sklearn.naive_bayes.GaussianNB().fit(X, words).predict(X)).all()


@pytest.mark.parametrize("chunks", GRIDS)
def test_gaussian_naive_bayes(data, chunks):
    X, _, labels = data
    ours = windrow.ml.naive_bayes.GaussianNB().fit(wr.from_array(X, chunks=chunks), wr.from_array(labels, chunks=77))
    theirs = sklearn.naive_bayes.GaussianNB().fit(X, labels)
    for name in ("theta_", "var_", "class_prior_", "class_count_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)
    probabilities = ours.predict_proba(wr.from_array(X, chunks=chunks)).compute()
    np.testing.assert_allclose(probabilities, theirs.predict_proba(X), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB", "ComplementNB"])
def test_counted_naive_bayes(data, name):
    counts, labels = np.abs(data[0]).astype(int), data[2]
    ours = getattr(windrow.ml.naive_bayes, name)().fit(wr.from_array(counts, chunks=(90, 2)), labels)
    theirs = getattr(sklearn.naive_bayes, name)().fit(counts, labels)
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12)
    assert (ours.predict(wr.from_array(counts, chunks=(90, 5))).compute() == theirs.predict(counts)).all()


def test_categorical_naive_bayes(data):
    counts, labels = np.abs(data[0]).astype(int), data[2]
    w = np.linspace(0.5, 2, ROWS)
    ours, theirs = windrow.ml.naive_bayes.CategoricalNB(), sklearn.naive_bayes.CategoricalNB().fit(counts, labels, w)
    ours.fit(wr.from_array(counts[:300], chunks=(90, 2)), labels[:300] > 0)  # forgotten by the next fit
    ours.fit(wr.from_array(counts, chunks=(90, 2)), labels, w)
    for mine, its in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-12)
    assert (ours.predict(wr.from_array(counts, chunks=(90, 5))).compute() == theirs.predict(counts)).all()
    with pytest.raises(wr.BadValue, match="-1"):
        ours.fit(wr.from_array(counts - 1), labels)


@pytest.mark.parametrize("chunks", GRIDS)
def test_k_means_from_given_centres(data, chunks):
    X = data[0]
    start = X[[0, 100, 200, 300]]
    keywords = {"init": start, "n_init": 1, "max_iter": 10, "tol": 0}
    with np.errstate(all="ignore"):
        ours = windrow.ml.cluster.KMeans(4, **keywords).fit(wr.from_array(X, chunks=chunks))
        theirs = sklearn.cluster.KMeans(4, **keywords).fit(X)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-8)
    assert (ours.labels_.compute() == theirs.labels_).all()
    assert (ours.predict(wr.from_array(X, chunks=chunks)).compute() == theirs.labels_).all()
    assert (pickle.loads(pickle.dumps(ours)).predict(X) == theirs.labels_).all()


@pytest.mark.filterwarnings("ignore")
def test_k_means_with_weights_ties_and_empty_clusters(data):
    X, w = data[0].round(1), np.linspace(0.5, 2, ROWS)
    start = np.concatenate([X[[0, 100]], X[[0]], [[900.0] * FEATURES]])  # two alike; one that nothing is near to
    keywords = {"init": start, "n_init": 1, "max_iter": 8, "tol": 0}
    lazy = wr.from_array(X, chunks=(100, 5))
    ours = windrow.ml.cluster.KMeans(4, **keywords).fit(lazy)
    theirs = sklearn.cluster.KMeans(4, **keywords).fit(X)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=0.2)  # which far rows empty clusters go to is free
    assert len(np.unique(ours.labels_.compute())) == 4
    keywords["init"] = X[[0, 100, 200, 300]]
    ours = windrow.ml.cluster.KMeans(4, **keywords).fit(lazy, sample_weight=w)
    theirs = sklearn.cluster.KMeans(4, **keywords).fit(X, sample_weight=w)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-8)
    assert float(ours.score(lazy)) == pytest.approx(theirs.score(X), rel=1e-9)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_k_means_begins_at_rows_that_weigh(init):
    """Rows of no weight are as good as not there, however far away."""
    generator = np.random.default_rng(3)
    near = np.concatenate([generator.normal(size=(60, 2)) + np.array([30 * i, 0]) for i in range(3)])
    far = generator.normal(size=(20, 2)) * 1e4
    X, w = np.concatenate([far, near]), np.repeat([0.0, 2.0], [len(far), len(near)])
    for seed in range(5):
        model = windrow.ml.cluster.KMeans(3, init=init, n_init=3, random_state=seed)
        model.fit(wr.from_array(X, chunks=(50, 2)), sample_weight=w)
        assert (np.abs(model.cluster_centers_) < 70).all()
    model = windrow.ml.cluster.KMeans(2, init=init, n_init=1, random_state=0)
    model.fit(wr.from_array(X, chunks=(50, 2)), sample_weight=np.arange(len(X)) == 70)
    assert model.inertia_ < 1e-20


@pytest.mark.filterwarnings("ignore")
def test_k_means_moves_a_centre_without_rows_to_one_by_its_weight(data):
    X, w = np.concatenate([data[0], [[80.0] * FEATURES]]), np.linspace(0.5, 7, ROWS + 1)
    keywords = {"init": np.concatenate([X[[0, 100]], [[-900.0] * FEATURES]]), "n_init": 1, "max_iter": 1}
    ours = windrow.ml.cluster.KMeans(3, **keywords).fit(wr.from_array(X, chunks=(100, 5)), sample_weight=w)
    theirs = sklearn.cluster.KMeans(3, **keywords).fit(X, sample_weight=w)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-8)
    w[-1] = 0
    X = np.concatenate([X, [[70.0] * FEATURES]])
    w = np.append(w, 3.0)
    ours = windrow.ml.cluster.KMeans(3, **keywords).fit(wr.from_array(X, chunks=(100, 5)), sample_weight=w)
    np.testing.assert_allclose(ours.cluster_centers_[2], 70.0)


def test_k_means_far_from_the_origin(data):
    """Squared distances lose no digits to a mean far from zero."""
    X = data[0] + 1e6
    keywords = {"init": X[[0, 100, 200, 300]], "n_init": 1, "max_iter": 10, "tol": 0}
    with np.errstate(all="ignore"):
        ours = windrow.ml.cluster.KMeans(4, **keywords).fit(wr.from_array(X, chunks=(100, 5)))
        theirs = sklearn.cluster.KMeans(4, **keywords).fit(X)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)


def test_k_means_finds_what_is_apart():
    generator = np.random.default_rng(0)
    X = np.concatenate([generator.normal(size=(200, 2)) + 40 * np.array([i, -i]) for i in range(5)])
    model = windrow.ml.cluster.KMeans(5, random_state=0).fit(wr.from_array(X, chunks=(90, 2)))
    assert sorted(np.bincount(model.labels_.compute())) == [200] * 5


@pytest.mark.parametrize("name", ["PCA", "TruncatedSVD"])
def test_components(data, name):
    X = data[0]
    ours = getattr(windrow.ml.decomposition, name)(3).fit(wr.from_array(X, chunks=(100, 2)))
    keywords = {"svd_solver": "full"} if name == "PCA" else {"algorithm": "arpack"}
    theirs = getattr(sklearn.decomposition, name)(3, **keywords).fit(X)
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(theirs.components_), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=1e-9)
    lazy = ours.transform(wr.from_array(X, chunks=(100, 2)))
    np.testing.assert_allclose(np.abs(lazy.compute()), np.abs(theirs.transform(X)), rtol=1e-6, atol=1e-8)


def test_any_fitted_estimator_predicts_lazily(data):
    X, y, labels = data
    tree = DecisionTreeRegressor(max_depth=4).fit(X, y)
    lazy = wr.from_array(X, chunks=(100, 2))
    model = wr.ml.Fitted(tree)
    assert (model.predict(lazy).compute() == tree.predict(X)).all()
    assert float(model.score(lazy, y)) == pytest.approx(tree.score(X, y))
    svc = SVC().fit(X, labels)
    assert wr.ml.Fitted(svc).decision_function(lazy).shape == (ROWS, 3)
    with pytest.raises(AttributeError):
        wr.ml.Fitted(svc).transform(lazy)


def test_pipelines(data):
    X, y, _ = data
    lazy = wr.from_array(X, chunks=(100, 5))
    ours = make_pipeline(windrow.ml.preprocessing.StandardScaler(), windrow.ml.linear_model.Ridge())
    theirs = make_pipeline(sklearn.preprocessing.StandardScaler(), sklearn.linear_model.Ridge())
    found = ours.fit(lazy, wr.from_array(y)).predict(lazy)
    np.testing.assert_allclose(found.compute(), theirs.fit(X, y).predict(X), rtol=1e-7)


def test_what_is_wrong_is_named():
    model = windrow.ml.linear_model.LinearRegression()
    with pytest.raises(wr.ShapeError, match=r"LinearRegression.fit: argument 'X' is \(5,\)"):
        model.fit(wr.ones(5), wr.ones(5))
    with pytest.raises(wr.ShapeError, match=r"'y' is \(4,\)"):
        model.fit(wr.ones((5, 2)), wr.ones(4))
    with pytest.raises(wr.ArgumentError, match="'X' is dtype"):
        model.fit(wr.ones((5, 2), "c16"), wr.ones(5))
    with pytest.raises(wr.BadValue, match="alone"):
        windrow.ml.linear_model.LogisticRegression().fit(wr.ones((5, 2)), wr.ones(5))
    with pytest.raises(wr.BadValue, match="fractions, as a regression has"):
        windrow.ml.linear_model.LogisticRegression().fit(wr.ones((5, 2)), wr.arange(5) / 4)
    with pytest.raises(wr.BadValue, match=r"GaussianNB.fit.*fractions"):
        windrow.ml.naive_bayes.GaussianNB().fit(wr.ones((5, 2)), wr.arange(5) / 4)
    for wrong in (
        windrow.ml.linear_model.LogisticRegression(C=-1.0),
        windrow.ml.linear_model.Ridge(-1.0),
        windrow.ml.cluster.KMeans(0),
        windrow.ml.cluster.KMeans(2, max_iter=0),
    ):
        with pytest.raises(ValueError, match=f"parameter of {type(wrong).__name__} must be"):
            wrong.fit(wr.random.default_rng(0).random((5, 2)), wr.arange(5) % 2)
