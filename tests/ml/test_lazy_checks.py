"""Scikit-learn's own checks of estimators, on the lazy path: what comes as NumPy arrays goes on as Windrow arrays."""

from __future__ import annotations

import functools
import importlib
import threading
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import windrow as wr

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "inverse_transform")
INSIDE = threading.local()


def lazy(value: Any) -> Any:
    """Return an array of numbers as a lazy one in up to three chunks of rows; else what came."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biufc" or not value.ndim:
        return value
    if not value.size:
        return wr.from_array(value)
    return wr.from_array(value, chunks=(-(-len(value) // 3), *value.shape[1:]))


def at_first() -> bool:
    """Whether this is the call of a user, not one for a block of rows or from within another method."""
    return threading.current_thread() is threading.main_thread() and not getattr(INSIDE, "a_method", False)


def through(made: dict[str, type], name: str) -> Any:
    def method(self: Any) -> Any:
        own = getattr(super(made["class"], self), name)

        @functools.wraps(own)
        def call(X: Any, *args: Any, **keywords: Any) -> Any:
            rows = lazy(X) if at_first() else X
            if rows is X:
                return own(X, *args, **keywords)
            INSIDE.a_method = True
            try:
                found = own(rows, *map(lazy, args), **{k: lazy(v) for k, v in keywords.items()})
            finally:
                INSIDE.a_method = False
            return found.compute() if isinstance(found, wr.Array) else found

        return call

    return property(method)


def lazily(cls: type) -> type:
    """Return a class like `cls` whose methods see lazy arrays wherever it is given arrays of numbers."""
    made = {"class": type(cls.__name__, (cls,), {"__module__": __name__, "__init__": cls.__init__})}
    for name in ("fit", "partial_fit", "score", *METHODS):  # later than scikit-learn wraps what a class has
        setattr(made["class"], name, through(made, name))
    globals()[cls.__name__] = made["class"]  # where pickle finds it
    return made["class"]


STEPS = "SGD takes weights as longer steps, not as repeated rows; scikit-learn expects this failure of its own too"
START = "the start is drawn from the rows as they are; scikit-learn expects this failure of its own too"
LISTS = "a list is trained by scikit-learn's own fit, an array by averaging over shards: other weights"
SOLVER = "n_iter_ is None but for iterative solvers, as scikit-learn's"
WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
BY_STEPS = dict.fromkeys(WEIGHTS, STEPS)
EXPECTED = {
    "Ridge": {"check_non_transformer_estimators_n_iter": SOLVER},
    **dict.fromkeys(("SGDClassifier", "Perceptron"), BY_STEPS | {"check_classifier_data_not_an_array": LISTS}),
    "MLPClassifier": BY_STEPS | {"check_classifier_data_not_an_array": LISTS},
    **dict.fromkeys(("SGDRegressor", "MLPRegressor"), BY_STEPS | {"check_regressor_data_not_an_array": LISTS}),
    "KMeans": dict.fromkeys(WEIGHTS, START),
}
FASTER = {name: {"max_iter": 40, "learning_rate_init": 0.02} for name in ("MLPClassifier", "MLPRegressor")}
"""Parameters with which a network learns in fewer epochs."""
MODULES = ("linear_model", "neural_network", "naive_bayes", "preprocessing", "cluster", "decomposition")
FOUND = [importlib.import_module(f"windrow.ml.{module}") for module in MODULES]
SLOW = ("MLPClassifier", "MLPRegressor", "SGDClassifier", "SGDRegressor", "Perceptron", "KMeans", "LogisticRegression")
CHECKED = [
    pytest.param(getattr(module, name), marks=[pytest.mark.slow] if name in SLOW else [])
    for module in FOUND
    for name in module.__all__
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", CHECKED)
def test_scikit_learns_checks_of_lazy_arrays(cls):
    expected = EXPECTED.get(cls.__name__, {})
    model = lazily(cls)(**FASTER.get(cls.__name__, {}))
    for told in check_estimator(model, expected_failed_checks=expected, on_fail=None, on_skip=None):
        assert told["status"] != "failed", (told["check_name"], told["exception"])
