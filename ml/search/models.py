"""Learners of a search for Keras models, which a user's function builds from parameters."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arguments import check_integer
from ...graph.errors import ArgumentError, bad
from ..keras.checks import check_compiled
from ..keras.distribute import distribute
from ..keras.inference import build, column
from ..keras.models.recipe import Recipe
from ..keras.models.replicas import borrow_replica
from ..keras.models.state import Variables, build_optimizer
from ..training.state import StateLayout
from .learners import pack_arrays

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..keras.metrics import Names

__all__ = ["KerasBuilder"]

Values = np.ndarray[Any, Any]
Model = tuple[Recipe, dict[str, Any], dict[str, Any]]
"""A model's recipe, its averaged state, and what it keeps for itself, such as optimiser slots."""
TESTED = 1024
"""Rows of a batch in tests, at least."""


@dataclass(frozen=True)
class KerasBuilder:
    """Trains what `build(**params)` returns, a compiled Keras model.

    Models are built on the driver, each with Keras's random numbers seeded the same. The score is the first metric that
    the model was compiled with, else the negative loss.
    """

    build: Callable[..., Any]
    size: int
    seed: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    target: tuple[tuple[int, ...], np.dtype[Any]]
    outputs: int = 0
    tabular: bool = False
    whole: bool = False

    @classmethod
    def of(cls, operation: str, build: Any, size: Any, seed: int, X: Any, y: Any) -> KerasBuilder:
        """Return the learner."""
        if not callable(build) or isinstance(build, type):
            expected = "an estimator of scikit-learn, or a function that builds a Keras model"
            raise ArgumentError(bad(operation, "estimator", build, expected))
        size = check_integer(operation, "batch_size", size, 1)
        return cls(build, int(size), seed, X.shape[1:], X.dtype, (y.shape[1:], y.dtype))

    def check(self, operation: str, argument: str, params: dict[str, Any]) -> None:
        """Raise if the function has no such parameter."""
        try:
            inspect.signature(self.build).bind(**params)
        except TypeError as error:
            raise ArgumentError(bad(operation, argument, params, f"what the function takes: {error}")) from error

    def start(self, params: dict[str, Any]) -> Model:
        """Return an untrained model."""
        importlib.import_module("keras.utils").set_random_seed(self.seed)
        model = self.build(**params)
        check_compiled(model, "search")
        build(model, np.zeros((1, *self.shape), self.dtype))
        variables = Variables(model)
        return Recipe.of(model), variables.shared(), variables.own(fresh=True)

    @staticmethod
    def model(model: Model) -> Any:
        """Return a trained model in the form that the user gets: distributed."""
        recipe, state, own = model
        keras_model = recipe.load()
        build_optimizer(keras_model)
        variables = Variables(keras_model)
        variables.put(state, own)
        variables.set_rate(float(state["rate"]))
        return distribute(keras_model)

    @staticmethod
    def call_best(model: Any, name: str, X: Any) -> Any:
        """Call a method of the best model with rows."""
        return getattr(model, name)(X)

    @staticmethod
    def score_best(model: Any, X: Any, y: Any) -> Any:
        """Return the score of the best model."""
        return _score(model.evaluate(X, y, return_dict=True))

    def train(self, model: Model, X: Values, y: Values, generator: np.random.Generator) -> Model:
        """Train on rows, in a new order; return the model."""
        recipe, state, own = model
        order = generator.permutation(len(X))
        rows = np.take(X, order, axis=0), column(np.take(y, order, axis=0))
        whole = len(X) // self.size
        rest = slice(whole * self.size, len(X)) if len(X) % self.size else None
        with borrow_replica(recipe) as copy:

            def begin() -> None:
                copy.variables.put(state, own)
                copy.variables.set_rate(float(state["rate"]))

            copy.train(begin, rows, self.size, np.arange(whole), rest)
            return recipe, {**copy.variables.shared(), "rate": state["rate"]}, copy.variables.own()

    def test(self, model: Model, X: Values, y: Values) -> Values:
        """Return the test sums of rows: their number, means times that, and the states of the metrics."""
        recipe, state, own = model
        if not len(X):
            names = self._names(recipe)
            return np.zeros(1 + len(names.means) + names.sums)
        with borrow_replica(recipe) as copy:
            names = copy.tells(*self._rows(X, y))
            copy.variables.put(state, own)
            metrics = copy.test((X, column(y)), max(self.size, TESTED))
            means = [metrics[n] for n in names.means]
            return np.concatenate([np.array([1.0, *means]) * len(X), copy.counters.sums()])

    def merge_metrics(self, model: Model, tests: Values) -> tuple[float, float, dict[str, float]]:
        """Return score, loss and all metrics over all blocks of test rows."""
        recipe, _, _ = model
        names, sums = self._names(recipe), np.add.reduce(tests, axis=0)
        end = 1 + len(names.means)
        means = dict(zip(names.means, (sums[1:end] / sums[0]).tolist(), strict=True))
        with borrow_replica(recipe) as copy:
            metrics = copy.collect_metrics(names, means, sums[end : end + names.sums], self._rows()[0])
        numbers = {name: float(value) for name, value in metrics.items() if np.ndim(value) == 0}
        return _score(numbers), numbers["loss"], numbers

    def _names(self, recipe: Recipe) -> Names:
        with borrow_replica(recipe) as copy:
            return copy.tells(*self._rows())

    def _rows(self, *some: Values) -> tuple[Any, Any]:
        """Return a row of zeros, and a function that returns some real rows."""
        X, y = (np.zeros((1, *shape), dtype) for shape, dtype in ((self.shape, self.dtype), self.target))
        rows = (X, column(y))
        return rows, lambda: (some[0], column(some[1])) if some else rows

    @staticmethod
    def mean(models: list[Model], rows: list[int]) -> list[Model]:
        """Return the shards' models with their weights averaged."""
        layout = StateLayout.of(models[0][1])
        mean_state = layout.mean(np.stack([layout.pack(m[1]) for m in models]), np.asarray(rows, np.float64))
        return [(recipe, layout.unpack(mean_state), own) for recipe, _, own in models]

    @staticmethod
    def arrays(model: Model) -> list[Values]:
        """Return a model's trained state as arrays, for a file."""
        layout = StateLayout.of(model[1:])
        return layout.arrays(layout.pack(model[1:]))

    def restore(self, params: dict[str, Any], arrays: list[Values], X: Values, y: Values) -> Model:
        """Return a model with this trained state."""
        recipe, *rest = self.start(params)
        layout = StateLayout.of(tuple(rest))
        state, own = layout.unpack(pack_arrays(layout, arrays))
        return recipe, state, own


def _score(metrics: dict[str, float]) -> float:
    return next((float(value) for name, value in metrics.items() if name != "loss"), -float(metrics["loss"]))
