"""Scikit-learn's neural networks, trained on shards whose weights are averaged after each epoch."""

from __future__ import annotations

from sklearn import neural_network as own

from ..arrays.interop.spaces import publish_space
from .averaging.fits import FitsByAveraging

__all__ = ["MLPClassifier", "MLPRegressor"]


class MLPClassifier(FitsByAveraging, own.MLPClassifier):
    """Scikit-learn's `MLPClassifier`; on Windrow arrays it trains in shards, which start with the same weights.

    Notes
    -----
    For Windrow arrays there are as many shards as ranks (threads, on the embedded engine). Rows are shuffled over all
    shards, and weights are averaged after each epoch; each shard keeps its optimiser's slots. A warning is given where
    shards take few steps an epoch. `loss_` is the mean over the rows of all shards, each measured before the step of
    its batch; `tol` is compared with it, as in scikit-learn. `early_stopping`, `solver="lbfgs"` and
    `learning_rate="adaptive"` are refused; `random_state` is an integer or None, which means 0.

    >>> from windrow.ml.neural_network import MLPClassifier
    >>> X = wr.random.default_rng(1).normal(size=(2000, 2), chunks=(500, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = MLPClassifier((8,), solver="sgd", learning_rate_init=0.1, batch_size=20, max_iter=5, random_state=1)
    >>> float(model.fit(X, y).score(X, y)) > 0.9
    True
    """


class MLPRegressor(FitsByAveraging, own.MLPRegressor):
    """Scikit-learn's `MLPRegressor`; on Windrow arrays it trains in shards, which start with the same weights.

    Notes
    -----
    For Windrow arrays there are as many shards as ranks (threads, on the embedded engine). Rows are shuffled over all
    shards, and weights are averaged after each epoch; each shard keeps its optimiser's slots. A warning is given where
    shards take few steps an epoch. `loss_` is the mean over the rows of all shards, each measured before the step of
    its batch; `tol` is compared with it, as in scikit-learn. `early_stopping`, `solver="lbfgs"` and
    `learning_rate="adaptive"` are refused; `random_state` is an integer or None, which means 0.

    >>> from windrow.ml.neural_network import MLPRegressor
    >>> X = wr.random.default_rng(1).normal(size=(2000, 2), chunks=(500, 2))
    >>> model = MLPRegressor(hidden_layer_sizes=(8,), batch_size=20, max_iter=20, random_state=1)
    >>> float(model.fit(X, X[:, 0]).score(X, X[:, 0])) > 0.9
    True
    """


publish_space(__name__, "ml.neural_network")
