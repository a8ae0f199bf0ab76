"""Learners of a search for scikit-learn's estimators, trained by `partial_fit`. A learner is sent to the ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_regressor

from ...arrays.base import ArrayBase
from ...graph.errors import ArgumentError, InWords, bad
from ..averaging.averageable import averageable, balanced_weights, is_balanced
from ..fitted import may_write, over_rows, score
from ..training.state import StateLayout

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..averaging.averageable import Averageable

__all__ = ["PartialFit", "pack_arrays", "merge_scores"]

Values = np.ndarray[Any, Any]
TINY = np.finfo(np.float64).eps


@dataclass(frozen=True)
class PartialFit:
    """Trains an estimator with scikit-learn's `partial_fit`, a chunk of rows at a time.

    Attributes
    ----------
    estimator : estimator with `partial_fit`
    classes : numpy.ndarray or None
        Of a classifier: the labels of all rows.
    loss : bool
        Whether the log loss of a classifier on test rows is computed; the mean square of a regressor always is.
    seed : int
        For estimators without a `random_state`.
    scorers : tuple of (str, callable)
        Scikit-learn's scorers, each of which gets all test rows at once.
    balance : dict or None
        Of a classifier: the class weights that "balanced" means for the labels of all rows.
    """

    estimator: Any
    classes: Values | None
    loss: bool
    seed: int
    scorers: tuple[tuple[str, Callable[..., float]], ...] = ()
    balance: dict[Any, float] | None = None

    @classmethod
    def of(
        cls,
        operation: str,
        estimator: Any,
        classes: Values | None,
        loss: bool,
        seed: int,
        scorers: Any = (),
        labels: Values | None = None,
    ) -> PartialFit:
        """Return the learner; raise for an estimator without `partial_fit`."""
        if not hasattr(estimator, "partial_fit"):
            expected = (
                "one with partial_fit, which is trained chunk by chunk; for others use scikit-learn's own search "
                'within joblib.parallel_config("windrow")'
            )
            raise ArgumentError(bad(operation, "estimator", type(estimator).__name__, expected))
        balance = None if labels is None else balanced_weights(labels, classes)
        return cls(estimator, classes, loss, seed, tuple(scorers), balance)

    tabular = True
    """Whether rows must have one axis, of features."""

    @property
    def outputs(self) -> int:
        """The number of outputs whose moments a test returns, for R² of regressors, which doesn't add up itself."""
        return 1 if is_regressor(self.estimator) else 0

    @property
    def whole(self) -> bool:
        """Whether the test rows must be in one chunk."""
        return bool(self.scorers)

    def check(self, operation: str, argument: str, params: dict[str, Any]) -> None:
        """Raise if the estimator has no such parameter."""
        known = self.estimator.get_params()
        for name in params:
            if name not in known:
                raise ArgumentError(bad(operation, argument, name, f"a parameter of the estimator: {sorted(known)}"))

    def start(self, params: dict[str, Any]) -> Any:
        """Return an untrained model."""
        model: Any = clone(self.estimator)
        model.set_params(**{name: clone(value, safe=False) for name, value in params.items()})
        free = [k for k, v in model.get_params().items() if k.rpartition("__")[2] == "random_state" and v is None]
        return model.set_params(**dict.fromkeys(free, self.seed))

    @staticmethod
    def model(model: Any) -> Any:
        """Return a trained model in the form that the user gets."""
        return model

    @staticmethod
    def call_best(model: Any, name: str, X: Any) -> Any:
        """Call a method of the best model with rows; lazily for Windrow arrays."""
        return over_rows(model, name, X) if isinstance(X, ArrayBase) else getattr(model, name)(X)

    @staticmethod
    def score_best(model: Any, X: Any, y: Any) -> Any:
        """Compute the best model's score."""
        lazy = isinstance(X, ArrayBase) or isinstance(y, ArrayBase)
        return score(model, X, y) if lazy else model.score(X, y)

    def train(self, model: Any, X: Values, y: Values, generator: np.random.Generator) -> Any:
        """Train on rows, in a new order; return the model."""
        order = generator.permutation(len(X))
        keywords = {} if self.classes is None else {"classes": self.classes}
        balanced = is_balanced(model)
        if balanced:
            model.set_params(class_weight=self.balance)
        model.partial_fit(np.take(X, order, axis=0), np.take(y, order, axis=0), **keywords)
        return model.set_params(class_weight="balanced") if balanced else model

    def test(self, model: Any, X: Values, y: Values) -> Values:
        """Return the test sums of rows: number, score, loss, moments of each output (for R²), scorers' scores."""
        sums = self._sums(model, *((X.copy(), y.copy()) if may_write(model) else (X, y)))
        scores = [float(scorer(model, X.copy(), y.copy())) for _, scorer in self.scorers]
        return np.concatenate([sums, scores])

    def merge_metrics(self, model: Any, tests: Values) -> tuple[float, float, dict[str, float]]:
        """Return score, loss and scorers' scores over all blocks of test rows."""
        first = 3 + 3 * self.outputs
        names = [name for name, _ in self.scorers]
        return *merge_scores(tests[:, :first]), dict(zip(names, tests[0, first:].tolist(), strict=True))

    def _sums(self, model: Any, X: Values, y: Values) -> Values:
        out = np.zeros(3 + 3 * self.outputs)
        out[0] = len(X)
        X, y = np.ascontiguousarray(X), np.ascontiguousarray(y)
        if self.outputs:
            predicted, truth = (np.asarray(v, np.float64).reshape(len(X), -1) for v in (model.predict(X), y))
            off = ((predicted - truth) ** 2).sum(axis=0)
            centre = truth.mean(axis=0)
            out[2] = off.mean()
            out[3:] = np.array([off.mean(), centre.mean(), ((truth - centre) ** 2).sum(axis=0).mean()])
            return out
        out[1] = float(model.score(X, y)) * len(X)
        out[2] = self._log_loss(model, X, y) if self.loss else np.nan
        return out

    def _log_loss(self, model: Any, X: Values, y: Values) -> float:
        if self.classes is None or not hasattr(model, "predict_proba"):
            name = type(model).__name__
            raise ArgumentError(
                bad("search", "scoring", InWords("the loss"), f"'score': {name} tells no probabilities")
            )
        shares = np.clip(model.predict_proba(X), TINY, 1)
        return float(-np.log(shares[np.arange(len(X)), np.searchsorted(self.classes, y)]).sum())

    def mean(self, models: list[Any], rows: list[int]) -> list[Any]:
        """Return the shards' models with their weights averaged."""
        kind = self.kind(models[0])
        states = [kind.state(m) for m in models]
        layout = StateLayout.of(states[0])
        mean_state = layout.mean(np.stack([layout.pack(s) for s in states]), np.asarray(rows, np.float64))
        for model in models:
            kind.put(model, layout.unpack(mean_state), kind.own(model))
        return models

    @staticmethod
    def kind(model: Any) -> Averageable:
        """Return how a model's weights are read and written."""
        return averageable("search", model)

    def arrays(self, model: Any) -> list[Values] | None:
        """Return a model's trained state as arrays, for a file; None if it isn't only arrays."""
        try:
            kind = self.kind(model)
        except (TypeError, ValueError):  # not a kind of model whose weights we know
            return None
        if kind.inner is not None:
            return None
        layout = StateLayout.of(_learnt(kind, model))
        return layout.arrays(layout.pack(_learnt(kind, model)))

    def restore(self, params: dict[str, Any], arrays: list[Values], X: Values, y: Values) -> Any:
        """Return a model with this trained state; it is set up with some rows first."""
        plain = self.start(params)
        kind = self.kind(plain)
        copied: Any = clone(plain)
        known = copied.set_params(class_weight=self.balance) if is_balanced(plain) else plain
        model = kind.template(known, self.classes, [X, y], self.seed)
        model.set_params(**plain.get_params(deep=False))
        layout = StateLayout.of(_learnt(kind, model))
        learnt = layout.unpack(pack_arrays(layout, arrays))
        kind.put(model, learnt["state"], learnt["own"])
        for name, value in learnt["steps"].items():
            setattr(model, name, value[()])
        return model


def _learnt(kind: Averageable, model: Any) -> dict[str, Any]:
    """Return a model's trained state, and its counters of progress."""
    steps = {name: np.asarray(getattr(model, name)) for name in ("t_", "n_iter_") if hasattr(model, name)}
    return {"state": kind.state(model), "own": kind.own(model), "steps": steps}


def pack_arrays(layout: StateLayout, arrays: list[Values]) -> Values:
    """Pack arrays into bytes by a layout."""
    packed = np.zeros(layout.size, np.uint8)
    for target, value in zip(layout.arrays(packed), arrays, strict=True):
        np.copyto(target, value)
    return packed


def merge_scores(sums: Values) -> tuple[float, float]:
    """Return score and loss over blocks of test rows, given as (blocks, numbers), summed in order."""
    rows = sums[:, 0].sum()
    loss = float(sums[:, 2].sum() / rows)
    if sums.shape[1] == 3:
        return float(sums[:, 1].sum() / rows), loss
    count = centre = spread = 0.0
    for number, _, _, _, mean, square in sums.tolist():
        if number:
            step = mean - centre
            spread += square + step * step * count * number / (count + number)
            count += number
            centre += step * number / count
    return (1.0 - float(sums[:, 3].sum()) / spread if spread else float("nan")), loss
