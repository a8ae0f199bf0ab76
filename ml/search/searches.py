"""The searches: `GridSearch`, `RandomSearch`, `HalvingSearch`, `Hyperband`."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ...graph.arguments import check_integer
from .base import Plan, Rung, Search
from .scoring import better_first
from .space import every, random

__all__ = ["GridSearch", "HalvingSearch", "Hyperband", "RandomSearch"]


def _count(operation: str, argument: str, value: Any, least: int = 1) -> int:
    return check_integer(operation, argument, value, least)


def _all(operation: str, count: int, epochs: Any, patience: Any, threshold: Any) -> Plan:
    """Plan training all candidates; epoch by epoch if a trial or the search may end early."""
    epochs = _count(operation, "epochs", epochs)
    left = list(range(count))
    if patience is None and threshold is None:
        yield Rung(left, epochs)
        return
    patience = epochs if patience is None else _count(operation, "patience", patience)
    best, since = dict.fromkeys(left, -np.inf), dict.fromkeys(left, 0)
    for epoch in range(epochs):
        scores = yield Rung(left, epoch + 1, iteration=epoch)
        for candidate, value in zip(left, scores, strict=True):
            since[candidate] = 0 if value > best[candidate] else since[candidate] + 1
            best[candidate] = max(best[candidate], value)
        left = [c for c in left if since[c] < patience]
        if not left:
            return


def _plan_halving(candidates: list[int], epochs: list[int], factor: int, bracket: int) -> Plan:
    """Plan successive halving: train up to a number of epochs, keep the best 1 / factor, go on to the next number."""
    count = len(candidates)
    for iteration, end in enumerate(epochs):
        scores = yield Rung(sorted(candidates), end, bracket, iteration)
        order = better_first(scores)
        kept = max(1, count // factor ** (iteration + 1))
        candidates = [sorted(candidates)[i] for i in order[:kept]]


@dataclass(eq=False, repr=False)
class GridSearch(Search):
    """Trains every point of a grid.

    Parameters
    ----------
    estimator : estimator with `partial_fit`, or a function
        A function `build(**params)` returns a compiled Keras model.
    param_grid : dict or list of dicts
        Lists of values by the names of parameters.
    epochs : int
        Passes over the training rows.
    patience : int, optional
        A trial ends when its value hasn't improved for this many epochs; its last value counts.
    scoring : {"score", "loss", "time"}, str, callable, or dict or list of these
        The value by which trials are compared. "score": accuracy of a classifier, R² of a regressor, else the
        estimator's own score, averaged over chunks by their rows. Losses (log loss, mean square) and times (seconds of
        training) are negated. A function of one argument gets a dict with "score", "loss" (NaN if there is none),
        "time", "epochs" and "params", and returns a number; greater is better. Scikit-learn's names ("neg_log_loss"),
        scorers and functions of (estimator, X, y) get all test rows, gathered on one rank. With a dict or list of them
        each has columns of its own, and `refit` names the one by which trials are compared. For a Keras model: the name
        of one of its metrics, computed over all rows; prefixed with `"neg_"` where less is better.
    cv : int, optional
        The number of folds, each of which is tested on once. None: a share of the rows is held out.
    test_size : float
        That share, rounded to the nearest of 1/2, 1/3, 1/4, …
    shards : int
        Shards of each trial: they are trained side by side, and their weights are averaged after each epoch.
    shuffle : bool
        Whether rows are shuffled once, at the start. For classifiers the shuffle is stratified: each chunk has its
        share of each class.
    seed : int
        Seed of folds, shuffles and drawn points, not negative. The same seed gives the same result on any ranks.
    threshold : float, optional
        The search ends after the first rung in which a trial reaches this value.
    refit : bool or str
        Whether a model with the best parameters is trained on all rows at the end, for as many epochs.
    resume : path, optional
        A folder: results are written there, and a search that was stopped is resumed from it.
    batch_size : int
        Rows of a batch, for Keras models.
    error_score : float or "raise"
        The value of a trial that raises. The search goes on, and warns at its end; it raises if all trials do.

    Attributes
    ----------
    cv_results_ : dict of arrays, as scikit-learn's
        Times are those of all a trial's epochs.
    best_params_, best_score_, best_index_, best_epochs_, best_estimator_
    history_ : list
        The metrics of each trial in each rung.

    Raises
    ------
    ArgumentError
        There is no parameter of such a name. Values are checked in `fit`.

    Notes
    -----
    Unlike scikit-learn's GridSearchCV, it trains all trials side by side and leaves rows in place, and scores are means
    over chunks. `resume` continues a search that was stopped.

    References
    ----------
    Bergstra and Bengio, Random search for hyper-parameter optimization, JMLR 13 (2012), on why a grid is rarely best.

    >>> from sklearn.linear_model import SGDRegressor
    >>> X = wr.random.default_rng(1).normal(size=(4000, 3), chunks=(500, 3))
    >>> search = wr.ml.search.GridSearch(SGDRegressor(), {"eta0": [1e-6, 0.01]}, epochs=3)
    >>> search.fit(X, X[:, 0] - X[:, 2]).best_params_
    {'eta0': 0.01}
    >>> round(search.score(X, X[:, 0] - X[:, 2]), 3)
    1.0
    """

    param_grid: Any
    _: KW_ONLY
    epochs: int = 10
    patience: int | None = None
    _columns = ("n_resources",)
    _one_line = True

    def _make_plan(self, operation: str) -> tuple[list[dict[str, Any]], Plan]:
        """Return the candidates and the plan of rungs."""
        candidates = every(operation, self.param_grid)
        return candidates, _all(operation, len(candidates), self.epochs, self.patience, self.threshold)


@dataclass(eq=False, repr=False)
class RandomSearch(Search):
    """Trains random points of a space; methods and attributes are those of `GridSearch`.

    Parameters
    ----------
    estimator, epochs, patience : estimator or function, int, int or None
        As in `GridSearch`.
    scoring, cv, test_size, shards, shuffle, seed, threshold, refit, resume, batch_size, error_score
        As in `GridSearch`.
    param_distributions : dict or list of dicts
        Lists of values, or distributions with `rvs` such as SciPy's, by the names of parameters.
    n_iter : int
        The number of points to draw; if all parameters are lists, at most the number of different points.

    Raises
    ------
    ArgumentError
        There is no parameter of such a name. Values are checked in `fit`.

    References
    ----------
    Bergstra and Bengio, Random search for hyper-parameter optimization, JMLR 13 (2012).

    >>> from scipy.stats import loguniform
    >>> from sklearn.linear_model import SGDRegressor
    >>> X = wr.random.default_rng(1).normal(size=(4000, 3), chunks=(500, 3))
    >>> search = wr.ml.search.RandomSearch(SGDRegressor(), {"eta0": loguniform(1e-6, 0.1)}, n_iter=4, epochs=2)
    >>> round(search.fit(X, X[:, 0] - X[:, 2]).best_score_, 2)
    1.0
    """

    param_distributions: Any
    _: KW_ONLY
    n_iter: int = 10
    epochs: int = 10
    patience: int | None = None
    _columns = ("n_resources",)
    _one_line = True

    def _make_plan(self, operation: str) -> tuple[list[dict[str, Any]], Plan]:
        """Return the candidates and the plan of rungs."""
        count = _count(operation, "n_iter", self.n_iter)
        candidates = random(operation, self.param_distributions, count, self.seed)
        return candidates, _all(operation, len(candidates), self.epochs, self.patience, self.threshold)


@dataclass(eq=False, repr=False)
class HalvingSearch(Search):
    """Successive halving: many candidates are trained for few epochs, the best of them for more, until few are left.

    Parameters
    ----------
    estimator, scoring, cv, test_size, shards, shuffle, seed, threshold, refit, resume, batch_size, error_score
        As in `GridSearch`.
    param_distributions : dict or list of dicts
        Lists of values, or distributions with `rvs`, by the names of parameters.
    n_candidates : int, optional
        The number of candidates. None: as many as leave one for `max_epochs`, or all points of lists if these are
        fewer.
    factor : int
        After a rung one in `factor` candidates is kept, and is trained for `factor` times the epochs.
    min_epochs, max_epochs : int
        Epochs of the first rung, and at most of the last one.

    Attributes
    ----------
    cv_results_ : dict of arrays, as those of scikit-learn's halving searches
        A row for each candidate of each rung, with "iter" and "n_resources" (epochs).

    Raises
    ------
    ArgumentError
        There is no parameter of such a name. Values are checked in `fit`.

    Notes
    -----
    The best candidate is that of the last rung. A rung begins when all trials of the previous one have ended, so the
    result doesn't depend on the order in which they end.

    References
    ----------
    Jamieson and Talwalkar, Non-stochastic best arm identification and hyperparameter optimization, AISTATS 2016.

    >>> from sklearn.linear_model import SGDRegressor
    >>> X = wr.random.default_rng(1).normal(size=(4000, 3), chunks=(500, 3))
    >>> rates = {"eta0": [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2]}
    >>> search = wr.ml.search.HalvingSearch(SGDRegressor(), rates, max_epochs=9)
    >>> search.fit(X, X[:, 0] - X[:, 2]).cv_results_["n_resources"]
    array([1, 1, 1, 1, 1, 1, 3, 3])
    """

    param_distributions: Any
    _: KW_ONLY
    n_candidates: int | None = None
    factor: int = 3
    min_epochs: int = 1
    max_epochs: int = 27

    def _make_plan(self, operation: str) -> tuple[list[dict[str, Any]], Plan]:
        """Return the candidates and the plan of rungs."""
        factor = _count(operation, "factor", self.factor, 2)
        epochs = [_count(operation, "min_epochs", self.min_epochs)]
        most = _count(operation, "max_epochs", self.max_epochs, epochs[0])
        while epochs[-1] * factor <= most:
            epochs.append(epochs[-1] * factor)
        count = factor ** (len(epochs) - 1) if self.n_candidates is None else self.n_candidates
        candidates = random(operation, self.param_distributions, _count(operation, "n_candidates", count), self.seed)
        rungs = 1
        while rungs < len(epochs) and len(candidates) // factor**rungs:
            rungs += 1
        return candidates, _plan_halving(list(range(len(candidates))), epochs[:rungs], factor, 0)


@dataclass(eq=False, repr=False)
class Hyperband(Search):
    """Hyperband: successive halving from many candidates with few epochs to few candidates with many.

    Bracket s begins with ceil((s_max + 1) / (s + 1) · factor^s) candidates and max_epochs / factor^s epochs. So there
    is no need to choose between more candidates and more epochs.

    Parameters
    ----------
    estimator, scoring, cv, test_size, shards, shuffle, seed, threshold, refit, resume, batch_size, error_score
        As in `GridSearch`.
    param_distributions : dict or list of dicts
        Lists of values, or distributions with `rvs`, by the names of parameters. Each bracket draws anew.
    max_epochs : int
        Epochs of a trial, at most.
    factor : int
        After a rung one in `factor` candidates is kept, and is trained for `factor` times the epochs.

    Attributes
    ----------
    cv_results_ : dict of arrays
        A row for each candidate of each rung, with "bracket", "iter" and "n_resources" (epochs).

    Raises
    ------
    ArgumentError
        There is no parameter of such a name. Values are checked in `fit`.

    Notes
    -----
    The best candidate is that of the brackets' last rungs. Brackets run one after the other, and a rung begins when all
    trials of the previous one have ended, so the result doesn't depend on the order in which they end.

    References
    ----------
    Li, Jamieson, DeSalvo, Rostamizadeh and Talwalkar, Hyperband: a novel bandit-based approach to hyperparameter
    optimization, JMLR 18 (2018).

    >>> from scipy.stats import loguniform
    >>> from sklearn.linear_model import SGDRegressor
    >>> X = wr.random.default_rng(1).normal(size=(4000, 3), chunks=(500, 3))
    >>> search = wr.ml.search.Hyperband(SGDRegressor(), {"eta0": loguniform(1e-6, 0.1)}, max_epochs=9)
    >>> round(search.fit(X, X[:, 0] - X[:, 2]).best_score_, 2)
    1.0
    >>> len(set(search.cv_results_["candidate"])), search.best_epochs_
    (17, 9)
    """

    param_distributions: Any
    _: KW_ONLY
    max_epochs: int = 27
    factor: int = 3
    _columns = ("bracket", "iter", "n_resources", "candidate")

    def _make_plan(self, operation: str) -> tuple[list[dict[str, Any]], Plan]:
        """Return the candidates and the plan of rungs."""
        factor, most = _count(operation, "factor", self.factor, 2), _count(operation, "max_epochs", self.max_epochs)
        brackets = 0
        while factor ** (brackets + 1) <= most:
            brackets += 1
        candidates: list[dict[str, Any]] = []
        plans = []
        for s in range(brackets, -1, -1):
            count = -(-(brackets + 1) * factor**s // (s + 1))
            drawn = int(np.random.default_rng([self.seed, s]).integers(1 << 31))
            some = random(operation, self.param_distributions, count, drawn)
            epochs = [max(1, round(most / factor ** (s - i))) for i in range(s + 1)]
            plans.append(
                _plan_halving(list(range(len(candidates), len(candidates) + len(some))), epochs, factor, brackets - s)
            )
            candidates += some
        return candidates, _chain_plans(plans)


def _chain_plans(plans: list[Plan]) -> Plan:
    for plan in plans:
        yield from plan
