"""What to use for estimators that can't be trained by averaging, and why they can't."""

from __future__ import annotations

from typing import Any

__all__ = ["suggest_alternative"]

_EXACT = {
    "linear_model": ("LinearRegression", "Ridge", "LogisticRegression"),
    "cluster": ("KMeans", "MiniBatchKMeans"),
    "naive_bayes": ("GaussianNB", "MultinomialNB", "BernoulliNB", "ComplementNB", "CategoricalNB"),
    "preprocessing": ("StandardScaler", "MinMaxScaler", "MaxAbsScaler"),
    "decomposition": ("PCA", "IncrementalPCA", "TruncatedSVD"),
}
_SAME = {"MiniBatchKMeans": "KMeans", "IncrementalPCA": "PCA"}
_OWN = "scikit-learn's own on computed rows, and windrow.ml.Fitted of it for lazy predictions"
_TREES = ("trees have no weights to average", f"{_OWN}; or one on a sample of the rows")
_KEEPS = ("what it learns are the rows themselves", _OWN)
_WHOLE = ("it solves one problem on all rows at once", _OWN)

_BY_NAME = {
    **dict.fromkeys(
        ("RidgeClassifier", "RidgeClassifierCV", "LogisticRegressionCV", "LinearSVC"),
        ("it solves one problem on all rows at once", "windrow.ml.linear_model.LogisticRegression or SGDClassifier"),
    ),
    **dict.fromkeys(
        ("RidgeCV", "BayesianRidge", "ARDRegression"),
        ("it solves one problem on all rows at once", "windrow.ml.linear_model.Ridge"),
    ),
    **dict.fromkeys(
        ("Lasso", "LassoCV", "ElasticNet", "ElasticNetCV"),
        ("it solves one problem on all rows at once", "SGDRegressor(penalty='l1' or 'elasticnet')"),
    ),
    **dict.fromkeys(
        ("HuberRegressor", "LinearSVR"),
        (
            "it solves one problem on all rows at once",
            "SGDRegressor(loss='huber' or 'epsilon_insensitive', penalty='l2')",
        ),
    ),
    **dict.fromkeys(
        ("SVC", "NuSVC"),
        (
            "its support vectors are rows, not weights",
            "SGDClassifier, after sklearn.kernel_approximation where a kernel is needed",
        ),
    ),
    **dict.fromkeys(
        ("SVR", "NuSVR"),
        (
            "its support vectors are rows, not weights",
            "SGDRegressor, after sklearn.kernel_approximation where a kernel is needed",
        ),
    ),
    "OneClassSVM": ("its support vectors are rows, not weights", "SGDOneClassSVM"),
    "Birch": ("it keeps a tree of clusters", "windrow.ml.cluster.KMeans"),
    "BisectingKMeans": ("it splits clusters one after the other", "windrow.ml.cluster.KMeans"),
    "MiniBatchDictionaryLearning": ("its sums belong to one order of batches", _OWN),
    "MiniBatchNMF": ("its sums belong to one order of batches", _OWN),
    "LatentDirichletAllocation": ("its topics on two shards needn't be the same ones", _OWN),
}
_BY_MODULE = (
    ("sklearn.tree", _TREES),
    ("sklearn.ensemble", _TREES),
    ("sklearn.neighbors", _KEEPS),
    ("sklearn.semi_supervised", _KEEPS),
    ("sklearn.gaussian_process", _KEEPS),
    ("sklearn.manifold", _KEEPS),
    ("sklearn.cluster", ("its clusters on two shards needn't be the same ones", "windrow.ml.cluster.KMeans")),
    ("sklearn.model_selection", ("it tries many estimators", "it around windrow.ml.Averaged, or windrow.ml.search")),
    ("sklearn.feature_selection", ("it chooses features", _OWN)),
    ("sklearn.preprocessing", ("it learns no weights", _OWN)),
    ("sklearn.impute", ("it learns no weights", _OWN)),
    ("sklearn.pipeline", ("it has several steps", "windrow.ml.Averaged as its last step")),
    ("sklearn.compose", ("it has several parts", "windrow.ml.Averaged as its last step")),
)


def suggest_alternative(estimator: Any) -> tuple[str, str]:
    """Return why an estimator can't be trained by averaging, and what to use."""
    for cls in type(estimator).__mro__:
        name, module = cls.__name__, cls.__module__
        if not module.startswith("sklearn."):
            continue
        for ours, names in _EXACT.items():
            if name in names:
                return "it can be learnt exactly", f"windrow.ml.{ours}.{_SAME.get(name, name)}, which is exact"
        if name in _BY_NAME:
            return _BY_NAME[name]
        for start, advice in _BY_MODULE:
            if module.startswith(start):
                return advice
    if hasattr(estimator, "partial_fit"):
        return "the mean of its states is not known to be a state", _OWN
    return _WHOLE
