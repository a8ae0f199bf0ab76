"""Scikit-learn's networks, trained on shards and averaged after each epoch."""

from __future__ import annotations

from sklearn import neural_network as own

from ..workers.public_api import publish
from .averaging.fits import FitsByAveraging

__all__ = ["MLPClassifier", "MLPRegressor"]


class MLPClassifier(FitsByAveraging, own.MLPClassifier):
    """Scikit-learn's `MLPClassifier`; for Windrow arrays trained on shards, whose weights start the same.

    Notes
    -----
    For Windrow arrays shards are as many as there are ranks (threads, on the embedded engine), rows are shuffled over
    all of them, and weights are averaged after each epoch; each shard keeps its optimiser's slots. A warning says where
    shards take few steps an epoch. `loss_` is the mean over all shards' rows, of which each is seen before its batch's
    step, and `tol` looks at it, as scikit-learn's does. `early_stopping`, `solver="lbfgs"` and
    `learning_rate="adaptive"` are refused; `random_state` is an integer or None, which stands for 0.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.neural_network import MLPClassifier
    >>> X = wr.random.default_rng(1).normal(size=(2000, 2), chunks=(500, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = MLPClassifier((8,), solver="sgd", learning_rate_init=0.1, batch_size=20, max_iter=5, random_state=1)
    >>> float(model.fit(X, y).score(X, y)) > 0.9
    True
    """


class MLPRegressor(FitsByAveraging, own.MLPRegressor):
    """Scikit-learn's `MLPRegressor`; for Windrow arrays trained on shards, whose weights start the same.

    Notes
    -----
    For Windrow arrays shards are as many as there are ranks (threads, on the embedded engine), rows are shuffled over
    all of them, and weights are averaged after each epoch; each shard keeps its optimiser's slots. A warning says where
    shards take few steps an epoch. `loss_` is the mean over all shards' rows, of which each is seen before its batch's
    step, and `tol` looks at it, as scikit-learn's does. `early_stopping`, `solver="lbfgs"` and
    `learning_rate="adaptive"` are refused; `random_state` is an integer or None, which stands for 0.

    Examples
    --------
    >>> import windrow as wr
    >>> from windrow.ml.neural_network import MLPRegressor
    >>> X = wr.random.default_rng(1).normal(size=(2000, 2), chunks=(500, 2))
    >>> model = MLPRegressor(hidden_layer_sizes=(8,), batch_size=20, max_iter=20, random_state=1)
    >>> float(model.fit(X, X[:, 0]).score(X, X[:, 0])) > 0.9
    True
    """


publish(__name__)
