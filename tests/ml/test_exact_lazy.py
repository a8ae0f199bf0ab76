"""What is learnt from Windrow arrays beside the defaults: weights, penalties, dtypes, further rows."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.compose
import sklearn.linear_model
import sklearn.pipeline
import sklearn.preprocessing
from sklearn.base import clone
from sklearn.metrics import r2_score

import windrow as wr
from windrow.ml import Fitted, over_rows
from windrow.ml.search.learners import merge_scores

MODULES = ("linear_model", "naive_bayes", "preprocessing", "cluster", "decomposition")
RNG = np.random.default_rng(8)
X = np.abs(RNG.normal(size=(400, 5)) * [1, 2, 5, 0.1, 1] + [0, 3, 1, 0, -2])
T = X @ [1.0, -2.0, 0.5, 3.0, 0.0] + RNG.normal(size=400)
Y = np.digitize(T, [-4.0, 0.0])
W = RNG.random(400)


def lazy(values: Any) -> wr.Array:
    return wr.from_array(values, chunks=(70, *values.shape[1:]))


def ours(name: str, *args: Any, **keywords: Any) -> Any:
    found = (importlib.import_module(f"windrow.ml.{module}") for module in MODULES)
    return next(getattr(m, name) for m in found if name in m.__all__)(*args, **keywords)


def theirs(name: str, *args: Any, **keywords: Any) -> Any:
    found = (importlib.import_module(f"sklearn.{module}") for module in MODULES)
    return next(getattr(m, name) for m in found if hasattr(m, name))(*args, **keywords)


def target_of(name: str) -> Any:
    return Y if "NB" in name or "Logistic" in name else T


# ---------------------------------------------------------------------- components' signs


@pytest.mark.parametrize("name", ["PCA", "TruncatedSVD"])
def test_components_have_scikit_learns_signs(name):
    for seed in range(8):
        rows = np.random.default_rng(seed).normal(size=(100, 6)) @ np.random.default_rng(seed + 50).normal(size=(6, 6))
        keywords = {} if name == "PCA" else {"algorithm": "arpack"}
        own = theirs(name, 3, **keywords).fit(rows)
        found = ours(name, 3).fit(lazy(rows))
        np.testing.assert_allclose(found.components_, own.components_, atol=1e-8)
        np.testing.assert_allclose(found.fit_transform(lazy(rows)).compute(), own.transform(rows), atol=1e-7)


# ---------------------------------------------------------------------- dtypes

KEPT = (
    *("LinearRegression", "Ridge", "LogisticRegression", "GaussianNB", "MultinomialNB", "StandardScaler"),
    *("MinMaxScaler", "MaxAbsScaler", "PCA", "TruncatedSVD", "KMeans"),
)


# For float32 matrices of 5 columns OpenBLAS's AVX-512 kernel adds up 8 numbers on its stack, of which it has written 5;
# it drops the rest, but that may raise the flag. NumPy and scikit-learn alone warn just so.
@pytest.mark.filterwarnings("ignore:invalid value encountered in matmul:RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("name", KEPT)
def test_dtypes_are_scikit_learns(name, dtype):
    rows, y = X.astype(dtype), target_of(name)
    y = y.astype(dtype) if y is T and dtype == "f4" else y
    own, found = theirs(name).fit(rows, y), ours(name).fit(lazy(rows), y)
    for attribute, value in vars(own).items():
        if attribute in ("n_samples_seen_", "epsilon_") or not attribute.endswith("_"):
            continue
        if isinstance(value, np.ndarray | np.floating):
            assert getattr(found, attribute).dtype == value.dtype, attribute
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(own, method):
            got, expected = getattr(found, method)(lazy(rows)).compute(), getattr(own, method)(rows)
            assert got.dtype == expected.dtype, method
            assert np.isfinite(got).all(), method


def test_moments_of_float32_are_as_exact_as_scikit_learns():
    rows = (np.random.default_rng(1).normal(size=(100_000, 2)) + 1e4).astype("f4")
    own = theirs("StandardScaler").fit(rows)
    found = ours("StandardScaler").fit(wr.from_array(rows, chunks=(9000, 2)))
    np.testing.assert_allclose(found.mean_, own.mean_, rtol=1e-9)
    np.testing.assert_allclose(found.var_, own.var_, rtol=1e-5)


# ---------------------------------------------------------------------- logistic regression

PENALTIES = (
    *({"solver": "saga", "l1_ratio": 1, "C": 0.05}, {"solver": "saga", "l1_ratio": 0.5, "C": 0.05}),
    *({"class_weight": "balanced"}, {"class_weight": {0: 5.0, 1: 1.0, 2: 0.2}}, {"solver": "newton-cg"}),
    {"solver": "saga", "l1_ratio": 1, "C": 0.05, "fit_intercept": False, "class_weight": "balanced"},
)


@pytest.mark.filterwarnings("ignore:.*penalty.*:FutureWarning")
@pytest.mark.parametrize("weight", [None, W])
@pytest.mark.parametrize("keywords", PENALTIES, ids=repr)
def test_logistic_regression_has_penalties_and_class_weights(keywords, weight):
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    options = {"tol": 1e-8, "max_iter": 5000} | keywords
    own = theirs("LogisticRegression", **options).fit(rows, Y, weight)
    found = ours("LogisticRegression", **options).fit(lazy(rows), Y, weight)
    np.testing.assert_allclose(found.coef_, own.coef_, atol=2e-5)
    np.testing.assert_allclose(found.intercept_, own.intercept_, atol=2e-5)
    assert ((found.coef_ == 0) == (own.coef_ == 0)).all()
    assert (own.coef_ == 0).any() == (keywords.get("l1_ratio", 0) > 0)


def test_logistic_regression_goes_on_from_where_it_was():
    model = ours("LogisticRegression", warm_start=True, tol=1e-7, max_iter=2000).fit(lazy(X), Y)
    before = model.coef_
    assert model.fit(lazy(X), Y).n_iter_[0] <= 2
    np.testing.assert_allclose(model.coef_, before, rtol=1e-3)


def test_logistic_regression_refuses_what_it_cannot():
    for keywords, match in (
        ({"solver": "liblinear"}, "'solver' is 'liblinear'"),
        ({"l1_ratio": 1}, "'solver' is 'lbfgs'; expected one of saga"),
        ({"class_weight": {7: 1.0}}, "'class_weight'"),
    ):
        with pytest.raises(wr.ArgumentError, match=match):
            ours("LogisticRegression", **keywords).fit(lazy(X), Y)


# ---------------------------------------------------------------------- further rows


@pytest.mark.parametrize("name", ["StandardScaler", "MinMaxScaler", "MaxAbsScaler"])
@pytest.mark.filterwarnings("ignore:All-NaN slice:RuntimeWarning")
@pytest.mark.parametrize("missing", [False, True])
def test_scalers_learn_from_further_rows(name, missing):
    rows = X.copy()
    if missing:
        rows[[3, 250, 260], [0, 1, 0]] = np.nan
        rows[:150, 4] = np.nan
    whole, found = theirs(name).fit(rows), ours(name)
    for part in np.split(rows, [150, 160]):
        assert found.partial_fit(lazy(part)) is found
    for attribute in ("scale_", "mean_", "var_", "data_min_", "data_max_", "max_abs_", "n_samples_seen_"):
        if hasattr(whole, attribute):
            np.testing.assert_allclose(getattr(found, attribute), getattr(whole, attribute), rtol=1e-10)
    with pytest.raises(wr.ShapeError, match="X has 2 features"):
        found.partial_fit(lazy(rows[:, :2]))


@pytest.mark.parametrize("name", ["GaussianNB", "MultinomialNB", "BernoulliNB", "ComplementNB", "CategoricalNB"])
def test_naive_bayes_learns_from_further_rows(name):
    rows = X.astype(int) if name == "CategoricalNB" else X
    order = np.argsort(Y, kind="stable")  # the parts have other classes
    rows, y, w = rows[order], Y[order], W[order]
    keywords = {"min_categories": int(rows.max()) + 1} if name == "CategoricalNB" else {}
    own, found, fitted = theirs(name, **keywords), ours(name, **keywords), ours(name, **keywords)
    for part in np.split(np.arange(400), [130, 290]):
        own.partial_fit(rows[part], y[part], classes=[0, 1, 2], sample_weight=w[part])
        found.partial_fit(lazy(rows[part]), y[part], classes=[0, 1, 2], sample_weight=w[part])
    fitted.fit(lazy(rows), y, w)  # GaussianNB's var_smoothing goes by the last rows' variance in partial_fit
    np.testing.assert_allclose(found.predict_proba(lazy(rows)).compute(), own.predict_proba(rows), rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(found.predict_proba(rows), fitted.predict_proba(rows), rtol=1e-4, atol=1e-9)
    with pytest.raises(wr.BadValue, match="labels among the classes"):
        found.partial_fit(lazy(rows), y + 1)
    with pytest.raises(ValueError, match="classes must be passed"):
        ours(name).partial_fit(lazy(rows), y)


# ---------------------------------------------------------------------- tables


def test_an_estimator_that_was_fitted_on_a_table_gets_tables_with_its_columns():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=list("abcde"))
    chosen = sklearn.compose.ColumnTransformer([("s", sklearn.preprocessing.StandardScaler(), ["c", "a"])])
    pipe = sklearn.pipeline.make_pipeline(chosen, sklearn.linear_model.LinearRegression()).fit(table, T)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Fitted(pipe).predict(lazy(X)).compute()
    np.testing.assert_allclose(found, pipe.predict(table), rtol=1e-12)


@pytest.mark.parametrize("name", ["PCA", "StandardScaler", "MinMaxScaler", "TruncatedSVD"])
def test_what_is_lazy_stays_an_array_whatever_the_output(name):
    pandas = pytest.importorskip("pandas")
    model = clone(ours(name)).set_output(transform="pandas")
    assert isinstance(model.fit_transform(lazy(X)), wr.Array)
    found = model.transform(lazy(X))
    assert isinstance(found, wr.Array)
    assert isinstance(model.transform(X), pandas.DataFrame)
    np.testing.assert_allclose(found.compute(), model.transform(X).to_numpy(), rtol=1e-12)


# ---------------------------------------------------------------------- weights of nothing


@pytest.mark.parametrize(
    "name",
    ["LinearRegression", "Ridge", "LogisticRegression", "GaussianNB", "MultinomialNB", "KMeans", "StandardScaler"],
)
def test_weights_of_nothing_are_refused(name):
    keywords = {"sample_weight": np.zeros(400)}
    with pytest.raises(wr.BadValue, match=rf"{name}.fit: argument 'sample_weight' is 'zero for every row'"):
        ours(name).fit(lazy(X), target_of(name), **keywords)


def test_sure_classes_warn_of_nothing():
    """Their shares underflow, as they do within scikit-learn's own."""
    rows = np.repeat(np.eye(3), 40, axis=0) * 5000
    for labels in (np.repeat(np.arange(3), 40), np.repeat([0, 1], [40, 80])):
        model = ours("LogisticRegression", C=1e3).fit(lazy(rows), lazy(labels))
        assert float(model.score(lazy(rows), labels)) == 1.0
        assert np.isfinite(model.predict_proba(lazy(rows)).compute()).all()


@pytest.mark.parametrize("name", ["LinearRegression", "Ridge", "LogisticRegression", "KMeans"])
@pytest.mark.parametrize("keywords", [{}, {"fit_intercept": False}])
def test_negative_weights_are_refused(name, keywords):
    keywords = {"n_clusters": 2} if name == "KMeans" else keywords
    weight = np.where(np.arange(400) == 390, -1.5, W)
    with pytest.raises(wr.BadValue, match=rf"{name}.fit: argument 'sample_weight' is -1.5 at the least"):
        ours(name, **keywords).fit(lazy(X), target_of(name), sample_weight=lazy(weight))


class Told:
    """Tells of the rows' first feature what it is told to."""

    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return self.answer(X[:, 0])


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: np.where(x > 2, "several", "few") if (x > 2).any() else np.full(len(x), "few"),
        lambda x: x / 2 if (x > 2).any() else x.astype(int),
    ],
)
def test_predictions_of_another_dtype_are_refused(answer):
    X = wr.from_array(np.arange(6.0).reshape(6, 1), chunks=(2, 1))
    found = over_rows(Told(answer), "predict", X)
    with pytest.raises(TypeError, match=r"Told\.predict: argument 'estimator' is dtype"):
        found.compute()


@pytest.mark.parametrize("cuts", [[5], [1, 5], [1, 1, 3, 5]])
def test_explained_variance_is_merged_over_blocks(cuts):
    """Also of few rows far from zero, where a count or a sum that doesn't begin at zero shows."""
    truth, guess = np.array([10.0, 10.3, 9.8, 10.1, 10.2]), np.array([10.1, 10.2, 9.9, 10.0, 10.2])
    told = []
    for y, p in zip(np.split(truth, cuts[:-1]), np.split(guess, cuts[:-1]), strict=True):
        off, mean = ((y - p) ** 2).sum(), y.mean() if len(y) else 0.0
        told.append([len(y), 0.0, off, off, mean, ((y - mean) ** 2).sum()])
    score, loss = merge_scores(np.array(told))
    assert score == pytest.approx(r2_score(truth, guess), rel=1e-12)
    assert loss == pytest.approx(((truth - guess) ** 2).mean(), rel=1e-12)
