"""Which of scikit-learn's estimators may be trained by averaging, and where their state lies.

A model may be averaged when its state is arrays whose mean over shards is a model again: linear models by SGD, and
networks that start from the same weights. Slots of an optimiser are kept per shard. The rows by whose number a learning
rate falls are those of all shards: counted by shard alone, rates would stay large the longer the more shards there are.
Where a rate falls row by row a round counts those of the other shards first, so that it begins with the rate to which
one process would come by its end.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ...graph.errors import ArgumentError, BadValue, InWords, ShapeError, bad
from ..training.state import StateLayout
from .alternatives import suggest_alternative

__all__ = ["NOTHING", "Averageable", "averageable", "balanced_weights", "is_balanced", "partial_fit"]

Values = np.ndarray[Any, Any]
NOTHING = 1e-300
"""A learning rate with which a step changes no weight."""


@dataclass(frozen=True)
class Averageable:
    """Where an estimator's state lies.

    Attributes
    ----------
    shared : tuple of str
        Attributes (arrays, or lists of them) that are averaged.
    slots : tuple of str
        Attributes that each shard keeps for itself, of the estimator or ("_optimizer.…") of its optimiser.
    refused : tuple of (str, value, str)
        Parameters with the values under which averaging is not sound, and why.
    rate : str
        The parameter that is the learning rate, of a model that starts from weights that are drawn.
    steps : str
        "rows": it learns row by row, so that several calls of `partial_fit` do what one does. "shard": a call is an
        epoch. "batches": a call is a step on a batch.
    loss : bool
        Whether it tells the loss of the rows that it has learnt from, as `loss_`.
    inner : Averageable, optional
        Of each of `estimators_`, whose states are averaged instead.
    """

    shared: tuple[str, ...] = ()
    slots: tuple[str, ...] = ()
    refused: tuple[tuple[str, Any, str], ...] = ()
    rate: str = ""
    steps: str = "rows"
    loss: bool = False
    inner: Averageable | None = None

    def state(self, estimator: Any) -> Any:
        """Return the averaged part of the state."""
        if self.inner is not None:
            return [self.inner.state(one) for one in estimator.estimators_]
        return {name: getattr(estimator, name) for name in self.shared}

    def deal(self, estimator: Any, size: int) -> None:
        """Set the rows of a batch, where an estimator has such."""
        for one in self.models(estimator):
            if hasattr(one, "batch_size"):
                one.set_params(batch_size=size)

    def models(self, estimator: Any) -> list[Any]:
        """Return the estimators that have weights: it, or those within."""
        return [estimator] if self.inner is None else estimator.estimators_

    def counts(self, estimator: Any) -> list[Any]:
        """Return how many rows the estimators have counted, from which they take their learning rates."""
        return [getattr(one, "t_", 0) for one in self.models(estimator)]

    def set_rates(self, estimator: Any, factor: float = 1.0) -> None:
        """Set the learning rates of optimisers: by a factor, and by what has been counted."""
        for one in self.models(estimator):
            if (optimizer := getattr(one, "_optimizer", None)) is not None:
                optimizer.learning_rate_init = optimizer.learning_rate = one.learning_rate_init * factor
                optimizer.iteration_ends(one.t_)

    def count_others(self, estimator: Any, rows: int) -> None:
        """Count the rows that the other shards take their steps on meanwhile, where an estimator counts its own."""
        for one in self.models(estimator):
            if hasattr(one, "t_"):
                one.t_ += type(one.t_)(rows)

    def own(self, estimator: Any) -> Any:
        """Return the part that a shard keeps."""
        if self.inner is not None:
            return [self.inner.own(one) for one in estimator.estimators_]
        return {name: getattr(_at(estimator, name), _last(name)) for name in self.slots if _has(estimator, name)}

    def put(self, estimator: Any, state: Any, own: Any) -> None:
        """Write a state, of arrays that the estimator may change, into an estimator."""
        if self.inner is not None:
            for one, its, kept in zip(estimator.estimators_, state, own, strict=True):
                self.inner.put(one, its, kept)
            return
        for name, value in state.items():
            setattr(estimator, name, _plain(value))
        for name, value in own.items():
            setattr(_at(estimator, name), _last(name), _plain(value))

    def go_on(self, operation: str, template: Any, start: Any) -> int:
        """Write into a template what an estimator has learnt; return in how many epochs, 0 for an unfitted one."""
        names = ("estimators_",) if self.inner is not None else self.shared
        if not all(hasattr(start, name) for name in names):
            return 0
        known, now = (np.asarray(getattr(one, "classes_", 0)) for one in (start, template))
        if not np.array_equal(known, now):
            raise BadValue(bad(operation, "y", InWords(f"labels of the classes {now}"), f"the classes before: {known}"))
        state, own = self.state(start), self.own(start)
        layouts = [StateLayout.of(s) for s in (self.state(template), state, self.own(template), own)]
        shapes = [(layout.structure, [leaf.shape for leaf in layout.leaves]) for layout in layouts]
        if shapes[0] != shapes[1]:
            came = InWords(f"rows for weights of {shapes[0][1]}")
            raise ShapeError(bad(operation, "X", came, f"rows as before, whose weights are of {shapes[1][1]}"))
        if shapes[2] != shapes[3]:  # another solver's
            own = self.own(template)
        mine, kept = layouts[0], StateLayout.of(own)
        self.put(template, mine.unpack(mine.pack(state)), kept.unpack(kept.pack(own)))
        return int(getattr(start, "_epochs", 1))

    def template(self, estimator: Any, classes: Any, rows: list[Values], seed: int) -> Any:
        """Return a copy that has all its attributes, as they are before the first step."""
        cloned: Any = clone(estimator)
        has = cloned.get_params(deep=True)
        fixed = {"shuffle": False, "warm_start": False, "verbose": 0}
        if has.get("random_state", 0) is None:
            fixed["random_state"] = seed
        nested = {f"estimator__{name}": value for name, value in fixed.items()} if self.inner is not None else {}
        cloned.set_params(**{k: v for k, v in (fixed | nested).items() if k in has})
        first = copy.deepcopy(cloned)
        where = self if self.inner is None else self.inner
        prefix = "" if self.inner is None else "estimator__"
        rates = {k: has[k] for k in (prefix + where.rate, prefix + "batch_size") if where.rate and k in has}
        if rates:
            first.set_params(**{prefix + where.rate: NOTHING})
            if where.steps == "shard":
                first.set_params(**{prefix + "batch_size": "auto"})
        partial_fit(first, classes, rows[:2])  # without weights, which may all be zero
        first.set_params(**rates)
        for one in self.models(first):
            where._restart(one, {k.removeprefix(prefix): v for k, v in rates.items()})
        return first

    def _restart(self, model: Any, rates: dict[str, Any]) -> None:
        """Undo what the first step did."""
        if not self.rate:
            for name in self.shared:
                value = getattr(model, name)
                setattr(model, name, np.zeros_like(value) if isinstance(value, np.ndarray) else 0.0)
            model.t_ = 1.0
            return
        model.set_params(**rates)
        optimizer = getattr(model, "_optimizer", None)
        if optimizer is not None:
            optimizer.learning_rate_init = optimizer.learning_rate = model.learning_rate_init
        for name in self.slots:
            if _has(model, name):
                owner, value = _at(model, name), getattr(_at(model, name), _last(name))
                fresh = [np.zeros_like(one) for one in value] if isinstance(value, list) else np.zeros_like(value)
                setattr(owner, _last(name), _plain(fresh))


def _at(estimator: Any, name: str) -> Any:
    return estimator._optimizer if name.startswith("_optimizer.") else estimator


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _has(estimator: Any, name: str) -> bool:
    return not name.startswith("_optimizer.") or hasattr(getattr(estimator, "_optimizer", None), _last(name))


def _plain(value: Any) -> Any:
    """Bring what was a number back to one; lists stay lists."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def partial_fit(estimator: Any, classes: Any, rows: list[Values]) -> None:
    """Call an estimator's `partial_fit` on X, y and weights, as far as there are any; `classes` where it has some."""
    X, *rest = rows
    keywords: dict[str, Any] = {} if classes is None else {"classes": classes}
    if len(rest) > 1:
        if not rest[1].any():  # scikit-learn refuses such rows, of which there is nothing to learn
            return
        keywords["sample_weight"] = rest[1]
    estimator.partial_fit(X, *rest[:1], **keywords)


def is_balanced(estimator: Any) -> bool:
    """Whether an estimator asks for class weights that follow from the labels of all rows."""
    asked = getattr(estimator, "class_weight", None)
    return isinstance(asked, str) and asked == "balanced"


def balanced_weights(labels: Values, classes: Any) -> dict[Any, float]:
    """Return balanced class weights, which `partial_fit` can't know from a part of the rows."""
    counts = np.bincount(np.searchsorted(classes, labels), minlength=len(classes))
    weights = len(labels) / (len(classes) * np.maximum(counts, 1))
    return dict(zip(classes.tolist(), weights.tolist(), strict=True))


_STOPPING = ("early_stopping", True, "it needs a validation set of its own in one fit; watch the score by epochs")
_SGD_REFUSED = (
    ("average", True, "its live state is another one; leave averaging to the shards"),
    _STOPPING,
    ("learning_rate", "adaptive", "it needs several epochs in one fit; use 'invscaling' or 'constant'"),
)
_LINEAR = Averageable(("coef_", "intercept_", "t_"), refused=_SGD_REFUSED)
_NETWORK = Averageable(
    ("coefs_", "intercepts_"),
    ("_optimizer.ms", "_optimizer.vs", "_optimizer.velocities", "_optimizer.t", "t_"),
    (
        _STOPPING,
        ("solver", "lbfgs", "it works on all rows at once; use 'adam' or 'sgd'"),
        ("learning_rate", "adaptive", "it needs several epochs in one fit; use 'constant' or 'invscaling'"),
    ),
    "learning_rate_init",
    "shard",
    loss=True,
)
_MACHINE = Averageable(
    ("components_", "intercept_hidden_", "intercept_visible_"), ("h_samples_",), (), "learning_rate", "batches"
)
_KNOWN = {
    **dict.fromkeys(("SGDRegressor", "SGDClassifier", "Perceptron"), _LINEAR),
    **dict.fromkeys(("PassiveAggressiveClassifier", "PassiveAggressiveRegressor"), _LINEAR),
    "SGDOneClassSVM": Averageable(("coef_", "offset_", "t_"), refused=_SGD_REFUSED),
    **dict.fromkeys(("MLPClassifier", "MLPRegressor"), _NETWORK),
    "BernoulliRBM": _MACHINE,
}
_SEVERAL = ("MultiOutputRegressor", "MultiOutputClassifier", "OneVsRestClassifier", "OneVsOneClassifier")


def averageable(operation: str, estimator: Any) -> Averageable:
    """Return where an estimator's state lies.

    Raises
    ------
    ArgumentError
        When averaging it would not be sound: says why, and what to use.
    """
    names = [cls.__name__ for cls in type(estimator).__mro__ if cls.__module__.startswith("sklearn.")]
    if any(name in _SEVERAL for name in names):
        return Averageable(inner=averageable(operation, estimator.estimator), steps="shard")
    kind = next((_KNOWN[name] for name in names if name in _KNOWN), None)
    if kind is None:
        (why, use), name = suggest_alternative(estimator), type(estimator).__name__
        known = f"an estimator whose weights can be averaged ({', '.join(_KNOWN)}, or {', '.join(_SEVERAL)} of these)"
        raise ArgumentError(bad(operation, "estimator", name, f"{known}: {why}; for {name} use {use}"))
    parameters = estimator.get_params(deep=False)
    for name, value, why in kind.refused:
        came = parameters.get(name)
        if (came is not False and came == value) or (name == "average" and came):
            raise ArgumentError(bad(operation, name, came, f"another value: {why}"))
    return kind
