"""Scikit-learn's own checks of estimators, and which of its estimators can be trained here."""

from __future__ import annotations

import importlib
import inspect
import pickle
import warnings

import numpy as np
import pytest
import sklearn.cluster
import sklearn.covariance
import sklearn.decomposition
import sklearn.discriminant_analysis
import sklearn.ensemble
import sklearn.gaussian_process
import sklearn.linear_model
import sklearn.mixture
import sklearn.neighbors
import sklearn.preprocessing
import sklearn.svm
import sklearn.tree
from sklearn.base import clone, is_classifier
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.utils import all_estimators
from sklearn.utils.estimator_checks import check_estimator

import windrow as wr
from windrow.ml import Averaged, Fitted, preprocessing
from windrow.ml.averaging.averageable import _KNOWN, _SEVERAL, averageable

pytestmark = pytest.mark.filterwarnings("ignore:.*steps an epoch:UserWarning")
WEIGHTS = "SGD takes weights as longer steps, not as repeated rows; scikit-learn expects this failure of its own too"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}
STARTS = dict.fromkeys(EXPECTED, "the start is drawn from the rows as they are; scikit-learn expects it of its own too")
SOLVER = {"check_non_transformer_estimators_n_iter": "n_iter_ is None but for iterative solvers, as scikit-learn's"}
SLOW = pytest.mark.slow
CHECKED = [
    pytest.param(Averaged(SGDRegressor(), epochs=5), EXPECTED),
    pytest.param(Averaged(SGDClassifier()), EXPECTED, marks=SLOW),
    pytest.param(Averaged(MLPClassifier((8,), learning_rate_init=0.01), epochs=40), EXPECTED, marks=SLOW),
    pytest.param(
        Averaged(MLPRegressor(hidden_layer_sizes=(8,), learning_rate_init=0.03), epochs=60), EXPECTED, marks=SLOW
    ),
]
for _module, _names in {
    "linear_model": {"LinearRegression": {}, "Ridge": SOLVER, "SGDRegressor": EXPECTED, "SGDClassifier": EXPECTED}
    | {"Perceptron": EXPECTED, "LogisticRegression": None},
    "neural_network": {"MLPClassifier": None, "MLPRegressor": None},
    "naive_bayes": {key: {} for key in ("BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB")},
    "preprocessing": {key: {} for key in ("MaxAbsScaler", "MinMaxScaler", "StandardScaler")},
    "cluster": {"KMeans": None},
    "decomposition": {"PCA": {}, "TruncatedSVD": {}},
}.items():
    _found = importlib.import_module(f"windrow.ml.{_module}")
    assert sorted(_names) == sorted(_found.__all__)
    for _name, _expected in _names.items():
        _few = STARTS if _name == "KMeans" else _expected or {}
        _marks = [SLOW] if _expected is None else []
        CHECKED.append(pytest.param(getattr(_found, _name)(), _few, marks=_marks))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "expected"), CHECKED, ids=lambda v: repr(v) if not isinstance(v, dict) else "")
def test_scikit_learns_checks(estimator, expected):
    for told in check_estimator(estimator, expected_failed_checks=expected, on_fail=None, on_skip=None):
        assert told["status"] != "failed", (told["check_name"], told["exception"])


INNER = sklearn.linear_model.Ridge()
WAYS = ({}, {"estimator": INNER}, {"estimators": [("a", INNER)]}, {"steps": [("a", INNER)]}, {"transformers": []})
WAYS += ({"transformer_list": [("a", sklearn.preprocessing.StandardScaler())]}, {"dictionary": np.eye(2)})
WAYS += (
    {"estimator": INNER, "param_grid": {}},
    {"estimator": INNER, "param_distributions": {}},
    {"base_estimator": INNER},
)


def some(cls):
    """Return an estimator of a class, whatever its arguments are called."""
    needed = {
        name
        for name, p in inspect.signature(cls).parameters.items()
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }
    return next(cls(**way) for way in WAYS if needed <= set(way) <= set(inspect.signature(cls).parameters))


def test_each_of_scikit_learns_estimators_trains_or_says_why_not():
    known = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, cls in all_estimators():
            estimator = some(cls)
            if name in _SEVERAL:
                estimator = cls(SGDRegressor() if "Regressor" in name else SGDClassifier())
            try:
                averageable("fit", estimator)
            except wr.ArgumentError as error:
                assert f"for {name} use " in str(error), name  # noqa: PT017
                with pytest.raises(wr.ArgumentError, match=f"for {name} use "):
                    Averaged(estimator).fit(wr.ones((4, 2)), np.ones(4))
            else:
                known.add(name)
    assert known == {name for name in (*_KNOWN, *_SEVERAL) if hasattr_of_sklearn(name)}


def hasattr_of_sklearn(name):
    return name in {found for found, _ in all_estimators()}


@pytest.mark.parametrize(
    ("estimator", "use"),
    [
        (sklearn.svm.SVC(), "SGDClassifier"),
        (sklearn.ensemble.RandomForestClassifier(), "trees have no weights"),
        (sklearn.neighbors.KNeighborsClassifier(), "the rows themselves"),
        (sklearn.cluster.MiniBatchKMeans(), "windrow.ml.cluster.KMeans"),
        (sklearn.decomposition.IncrementalPCA(), "windrow.ml.decomposition.PCA"),
        (sklearn.linear_model.LogisticRegression(), "windrow.ml.linear_model.LogisticRegression, which is exact"),
        (sklearn.linear_model.Lasso(), "penalty='l1'"),
    ],
)
def test_what_to_use_instead(estimator, use):
    with pytest.raises(wr.ArgumentError, match=use.replace("(", r"\(")):
        Averaged(estimator).fit(np.ones((4, 2)), np.arange(4))


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(5)
    X = generator.normal(size=(300, 3))
    t = X @ [1.0, -2.0, 0.5] + 1
    return X, t, np.digitize(t, [-1.0, 2.0]), wr.from_array(X, chunks=((120, 30, 150), (2, 1)))


def several():
    from sklearn.linear_model import SGDOneClassSVM
    from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
    from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
    from sklearn.neural_network import BernoulliRBM

    return {
        "one class": (SGDOneClassSVM(nu=0.05), lambda t, k: None, lambda m, X, y: (m.predict(X) == 1).mean() > 0.8),
        "RBM": (BernoulliRBM(4), lambda t, k: None, lambda m, X, y: m.transform(X).shape == (300, 4)),
        "outputs": (
            MultiOutputRegressor(SGDRegressor()),
            lambda t, k: np.c_[t, -t],
            lambda m, X, y: m.score(X, y) > 0.9,
        ),
        "labels": (
            MultiOutputClassifier(SGDClassifier()),
            lambda t, k: np.c_[k, k > 0],
            lambda m, X, y: m.score(X, y) > 0.8,
        ),
        "rest": (OneVsRestClassifier(SGDClassifier()), lambda t, k: k, lambda m, X, y: m.score(X, y) > 0.8),
        "one": (OneVsOneClassifier(SGDClassifier()), lambda t, k: k, lambda m, X, y: m.score(X, y) > 0.9),
        "multilabel": (
            MLPClassifier((8,), learning_rate_init=0.02, random_state=0),
            lambda t, k: np.c_[k > 0, k > 1].astype(int),
            lambda m, X, y: m.score(X, y) > 0.6,
        ),
        "words": (
            SGDClassifier(loss="log_loss"),
            lambda t, k: np.array(["a", "b", "c"], object)[k],
            lambda m, X, y: m.score(X, y) > 0.8 and m.predict_proba(X).shape == (300, 3),
        ),
    }


@pytest.mark.parametrize("name", several())
def test_more_that_can_be_averaged(data, name):
    X, t, k, lazy = data
    estimator, target, holds = several()[name]
    y = target(t, k)
    model = Averaged(estimator, epochs=8, shards=3).fit(lazy, y)
    assert holds(model, X, y)
    again = Averaged(clone(estimator), epochs=8, shards=3).fit(X, y)
    for method in ("predict", "transform", "predict_proba"):
        if hasattr(model, method) and name != "labels":
            ours = getattr(model, method)(lazy)
            assert isinstance(ours, wr.Array)
            assert (ours.compute() == getattr(again, method)(X)).all()


FITTED = {
    "forest": sklearn.ensemble.RandomForestClassifier(5, random_state=0),
    "boosted": sklearn.ensemble.HistGradientBoostingRegressor(max_iter=5),
    "tree": sklearn.tree.DecisionTreeRegressor(max_depth=3),
    "svc": sklearn.svm.SVC(),
    "neighbours": sklearn.neighbors.KNeighborsClassifier(),
    "lasso": sklearn.linear_model.Lasso(),
    "logistic": sklearn.linear_model.LogisticRegression(),
    "hinge": SGDClassifier(random_state=0),
    "lda": sklearn.discriminant_analysis.LinearDiscriminantAnalysis(),
    "mixture": sklearn.mixture.GaussianMixture(2, random_state=0),
    "density": sklearn.neighbors.KernelDensity(),
    "isolation": sklearn.ensemble.IsolationForest(n_estimators=5, random_state=0),
    "means": sklearn.cluster.KMeans(3, n_init=1, random_state=0),
    "pca": sklearn.decomposition.PCA(2),
    "onehot": sklearn.preprocessing.KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"),
    "quantiles": sklearn.preprocessing.QuantileTransformer(n_quantiles=20),
    "pipeline": make_pipeline(sklearn.preprocessing.StandardScaler(), sklearn.svm.SVR()),
}


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("name", FITTED)
def test_any_fitted_estimator_is_lazy(data, name):
    X, t, k, lazy = data
    y = k if is_classifier(FITTED[name]) else t
    own = clone(FITTED[name]).fit(X, y)
    model, methods = Fitted(own), []
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples"):
        assert hasattr(model, method) == hasattr(own, method)
        if hasattr(own, method):
            expected = getattr(own, method)(X)
            expected = expected.toarray() if hasattr(expected, "toarray") else expected
            found = getattr(model, method)(lazy)
            assert isinstance(found, wr.Array)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found.compute(), expected, rtol=1e-9, atol=1e-12)
            methods.append(method)
    assert methods
    if hasattr(own, "score"):
        assert float(model.score(lazy, y)) == pytest.approx(own.score(X, y), rel=1e-9)
    with pytest.raises(wr.ShapeError, match="3 features"):
        getattr(model, methods[0])(wr.ones((4, 2)))


def test_methods_are_there_as_the_estimator_has_them(data):
    X, _, k, lazy = data
    hinge, smooth = SGDClassifier(), SGDClassifier(loss="log_loss")
    ours = importlib.import_module("windrow.ml.linear_model").SGDClassifier
    for made in (Averaged(hinge, epochs=2), ours(max_iter=2, tol=None)):
        assert not hasattr(made.fit(lazy, k), "predict_proba")
        assert hasattr(made, "decision_function")
    for made in (Averaged(smooth, epochs=2), ours(loss="log_loss", max_iter=2, tol=None)):
        assert isinstance(made.fit(lazy, k).predict_proba(lazy), wr.Array)
        assert isinstance(made.predict_proba(X), np.ndarray)


@pytest.mark.parametrize(
    "last", ["linear_model.Ridge", "linear_model.LogisticRegression", "cluster.KMeans", "Averaged"]
)
def test_scores_of_lazy_rows_are_numbers(data, last):
    X, t, k, lazy = data
    module, _, name = last.rpartition(".")
    model = getattr(importlib.import_module(f"windrow.ml.{module}".rstrip(".")), name)
    model = model(SGDRegressor(), shards=2) if last == "Averaged" else model()
    y = k if "Logistic" in last else t
    pipe = make_pipeline(preprocessing.StandardScaler(), model).fit(lazy, y)
    found = pipe.score(lazy, wr.from_array(y, chunks=70))
    assert type(found) is float
    assert found == pytest.approx(pipe.score(X, y), rel=1e-6)
    if last != "cluster.KMeans":
        assert type(Fitted(pipe).score(lazy, y)) is float


def test_it_is_an_estimator(data):
    X, t, _, lazy = data
    model = Averaged(SGDRegressor(alpha=0.1), epochs=3, shards=2)
    assert clone(model).get_params()["estimator__alpha"] == 0.1
    assert model.set_params(estimator__alpha=1e-4, epochs=5).estimator.alpha == 1e-4
    fitted = pickle.loads(pickle.dumps(model.fit(lazy, t)))
    assert (fitted.predict(X) == model.predict(X)).all()
    pipe = make_pipeline(sklearn.preprocessing.StandardScaler(), Averaged(SGDRegressor(), shards=2))
    assert pipe.fit(X, t).score(X, t) > 0.98
    search = GridSearchCV(Averaged(SGDRegressor(), shards=2, epochs=3), {"estimator__alpha": [1e-4, 10.0]}, cv=2)
    assert search.fit(X, t).best_params_ == {"estimator__alpha": 1e-4}


def test_names_of_features(data):
    pandas = pytest.importorskip("pandas")
    X, t, _, lazy = data
    table = pandas.DataFrame(X, columns=list("abc"))
    model = Averaged(SGDRegressor(), shards=2).fit(table, t)
    assert list(model.feature_names_in_) == list("abc")
    assert (model.predict(table) == Averaged(SGDRegressor(), shards=2).fit(X, t).predict(X)).all()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["b", "a", "c"]])
    assert not hasattr(model.fit(lazy, t), "feature_names_in_")


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize(
    "estimator",
    [
        Averaged(SGDRegressor(), epochs=2, shards=2),
        *(
            getattr(importlib.import_module(f"windrow.ml.{m}"), n)()
            for m, n in (
                ("linear_model", "LinearRegression"),
                ("linear_model", "Ridge"),
                ("linear_model", "LogisticRegression"),
                ("naive_bayes", "GaussianNB"),
                ("cluster", "KMeans"),
                ("decomposition", "PCA"),
                ("decomposition", "TruncatedSVD"),
            )
        ),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:.*encountered.*:RuntimeWarning")
def test_nan_and_infinity_in_lazy_rows_are_refused(data, estimator, wrong):
    X = data[0].copy()
    X[250, 1] = wrong
    y = data[1] if "Logistic" not in repr(estimator) and "NB" not in repr(estimator) else data[2]
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        estimator.fit(wr.from_array(X, chunks=(100, 3)), y)


@pytest.mark.parametrize("name", ["StandardScaler", "MinMaxScaler", "MaxAbsScaler"])
def test_scalers_leave_out_what_is_missing(data, name):
    X = data[0].copy()
    X[[3, 250], [0, 1]] = np.nan
    module = importlib.import_module("windrow.ml.preprocessing")
    ours, theirs = getattr(module, name)(), getattr(sklearn.preprocessing, name)().fit(X)
    np.testing.assert_allclose(ours.fit(wr.from_array(X, chunks=(100, 2))).scale_, theirs.scale_, rtol=1e-12)
    X[7, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        getattr(module, name)().fit(wr.from_array(X, chunks=(100, 2)))


def test_a_scaler_takes_weights(data):
    X, w = data[0], np.linspace(0.1, 3, 300)
    ours = importlib.import_module("windrow.ml.preprocessing").StandardScaler().fit(data[3], sample_weight=w)
    theirs = sklearn.preprocessing.StandardScaler().fit(X, sample_weight=w)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-12)
    np.testing.assert_allclose(ours.scale_, theirs.scale_, rtol=1e-12)


def test_refusals_of_shapes_and_kinds(data):
    X, t, k, lazy = data
    ours = importlib.import_module("windrow.ml.linear_model")
    model = Averaged(SGDRegressor(), epochs=1, shards=2)
    for bad, error, match in (
        (lambda: model.fit(lazy, t[:-1]), wr.ShapeError, "'y' is"),
        (lambda: model.fit(lazy, t, np.ones(7)), wr.ShapeError, "'sample_weight' is"),
        (lambda: model.fit(wr.ones(5), np.ones(5)), wr.ShapeError, "'X' is"),
        (lambda: model.fit(wr.ones((5, 2), "c16"), np.ones(5)), wr.ArgumentError, "real numbers"),
        (lambda: model.fit(lazy, None), wr.BadValue, "'y' is None"),
        (lambda: model.fit(lazy, t).predict(wr.ones((3, 2))), wr.ShapeError, "3 features"),
        (lambda: ours.SGDClassifier().fit(lazy, np.ones(300)), wr.BadValue, "1 class"),
        (lambda: ours.SGDClassifier().partial_fit(lazy, k), wr.BadValue, "'classes' is None"),
        (lambda: Averaged(SGDClassifier(), epochs=1).fit(X, k, (k == 1).astype(float)), wr.BadValue, "1 class"),
    ):
        with pytest.raises(error, match=match):
            bad()


def test_sparse_rows_are_refused(data):
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        Averaged(SGDRegressor()).fit(sparse.csr_array(data[0]), data[1])
