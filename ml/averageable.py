"""Which of scikit-learn's estimators may be trained by averaging, and where their state lies.

A model may be averaged when its state is arrays whose mean over shards is a model again: linear models by SGD, and
networks that start from the same weights. What keeps a step count or slots of its optimiser keeps them per shard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph.errors import ArgumentError, bad

__all__ = ["Averageable", "averageable"]

EXACT = {
    "LinearRegression": "windrow.ml.linear_model.LinearRegression, which is exact",
    "Ridge": "windrow.ml.linear_model.Ridge, which is exact",
    "LogisticRegression": "windrow.ml.linear_model.LogisticRegression, which is exact",
    "KMeans": "windrow.ml.cluster.KMeans, which is exact",
    "MiniBatchKMeans": "windrow.ml.cluster.KMeans, which is exact",
    "GaussianNB": "windrow.ml.naive_bayes.GaussianNB, which is exact",
    "MultinomialNB": "windrow.ml.naive_bayes.MultinomialNB, which is exact",
    "BernoulliNB": "windrow.ml.naive_bayes.BernoulliNB, which is exact",
    "StandardScaler": "windrow.ml.preprocessing.StandardScaler, which is exact",
    "MinMaxScaler": "windrow.ml.preprocessing.MinMaxScaler, which is exact",
    "MaxAbsScaler": "windrow.ml.preprocessing.MaxAbsScaler, which is exact",
    "PCA": "windrow.ml.decomposition.PCA, which is exact",
    "TruncatedSVD": "windrow.ml.decomposition.TruncatedSVD, which is exact",
}


@dataclass(frozen=True)
class Averageable:
    """Where an estimator's state lies.

    Attributes
    ----------
    shared : tuple of str
        Attributes (arrays, or lists of them) that are averaged.
    slots : tuple of str
        Attributes of `_optimizer` that each shard keeps for itself.
    refused : dict of str to tuple
        Parameters with the values under which averaging is not sound, and why.
    by_row : bool
        Whether it learns row by row, so that several calls of `partial_fit` do what one does.
    """

    shared: tuple[str, ...]
    slots: tuple[str, ...] = ()
    refused: tuple[tuple[str, Any, str], ...] = ()
    by_row: bool = True

    def state(self, estimator: Any) -> dict[str, Any]:
        """Return the averaged part of the state."""
        return {name: getattr(estimator, name) for name in self.shared}

    def own(self, estimator: Any) -> dict[str, Any]:
        """Return the part that a shard keeps."""
        optimizer = getattr(estimator, "_optimizer", None)
        return {name: getattr(optimizer, name) for name in self.slots if hasattr(optimizer, name)}

    def put(self, estimator: Any, state: dict[str, Any], own: dict[str, Any]) -> None:
        """Write a state, of arrays that the estimator may change, into an estimator."""
        for name, value in state.items():
            setattr(estimator, name, _plain(value))
        for name, value in own.items():
            setattr(estimator._optimizer, name, _plain(value))


def _plain(value: Any) -> Any:
    """Bring what was a number back to one; lists stay lists."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


_SGD_REFUSED = (
    ("average", True, "its live state is another one; leave averaging to the shards"),
    ("early_stopping", True, "it needs a validation set of its own in one fit; watch the score by epochs"),
    ("learning_rate", "adaptive", "it needs several epochs in one fit; use 'invscaling' or 'constant'"),
)
_LINEAR = Averageable(("coef_", "intercept_", "t_"), refused=_SGD_REFUSED)
_NETWORK = Averageable(
    ("coefs_", "intercepts_"),
    ("ms", "vs", "velocities", "t"),
    (
        ("early_stopping", True, "it needs a validation set of its own in one fit; watch the score by epochs"),
        ("solver", "lbfgs", "it works on all rows at once; use 'adam' or 'sgd'"),
        ("learning_rate", "adaptive", "it needs several epochs in one fit; use 'constant' or 'invscaling'"),
    ),
    by_row=False,
)
_KNOWN = {
    "SGDRegressor": _LINEAR,
    "SGDClassifier": _LINEAR,
    "Perceptron": _LINEAR,
    "PassiveAggressiveClassifier": _LINEAR,
    "PassiveAggressiveRegressor": _LINEAR,
    "MLPClassifier": _NETWORK,
    "MLPRegressor": _NETWORK,
}


def averageable(operation: str, estimator: Any) -> Averageable:
    """Return where an estimator's state lies.

    Raises
    ------
    ArgumentError
        When averaging it would not be sound: says why, and what to use.
    """
    names = [cls.__name__ for cls in type(estimator).__mro__ if cls.__module__.startswith("sklearn.")]
    found = next((_KNOWN[name] for name in names if name in _KNOWN), None)
    if found is None:
        name = type(estimator).__name__
        use = EXACT.get(name, "scikit-learn's own on computed rows")
        expected = f"an estimator whose weights can be averaged ({', '.join(_KNOWN)}); for {name} use {use}"
        raise ArgumentError(bad(operation, "estimator", name, expected))
    parameters = estimator.get_params(deep=False)
    for name, value, why in found.refused:
        if parameters.get(name) == value and type(parameters[name]) is type(value):
            raise ArgumentError(bad(operation, name, value, f"another value: {why}"))
    return found
