"""Prediction and evaluation by a Keras model, block by block of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.align import regrid
from ...arrays.core import Node, as_array, make
from ...arrays.payload import payload
from ...graph.errors import ShapeError, bad
from ...graph.grid import Axis, Grid
from ...graph.kinds.mapping import MapBlocks
from .recipe import Recipe
from .replicas import borrowed
from .state import Variables

if TYPE_CHECKING:
    from ...arrays.array import Array

__all__ = ["column", "evaluated", "predicted"]

Values = np.ndarray[Any, Any]


def column(y: Any) -> Any:
    """Return y with an axis more where it has one, as Keras's losses expect: else (n, 1) less (n,) would be (n, n)."""
    return y[:, None] if np.ndim(y) == 1 else y


def predicted(model: Any, X: Any, batch_size: int, verbose: int | str = 0) -> Any:
    """Return a model's predictions, lazily for a Windrow array."""
    if not isinstance(X, Node):
        return model.predict(X, batch_size=batch_size, verbose=verbose)
    rows = _rows("predict", X)
    shape = model.compute_output_shape(rows.shape)[1:]
    dtype = np.dtype(str(getattr(model, "compute_dtype", "float32")))
    task = _Predict(Recipe.of(model), Variables(model).shared(), batch_size, dtype)
    grid = Grid([rows.expr.grid.axes[0], *(Axis.regular(n, n) for n in shape)])
    ways = ((0, *(None,) * (rows.ndim - 1)),)
    return make(MapBlocks(payload("predict", task, (), {}, "predict"), ways), (rows,), grid, dtype)


def evaluated(model: Any, X: Any, y: Any, batch_size: int, verbose: int | str = 0) -> dict[str, float]:
    """Return a model's loss and metrics, averaged by rows over blocks of Windrow arrays.

    A copy evaluates: on TensorFlow a model that has seen targets of one axis fails on columns, and the other way round.
    """
    if not isinstance(X, Node) and not isinstance(y, Node):
        given = {"batch_size": batch_size, "verbose": verbose, "return_dict": True}
        with borrowed(Recipe.of(model)) as copy:
            copy.variables.put(Variables(model).shared())
            told: dict[str, float] = copy.model.evaluate(X, column(y), **given)
        return told
    rows, target = _rows("evaluate", X), column(as_array("evaluate", "y", y))
    if len(rows) != len(target):
        raise ShapeError(bad("evaluate", "X, y", f"{rows.shape}, {target.shape}", "equally many rows"))
    if not len(rows):
        raise ShapeError(bad("evaluate", "X", rows.shape, "at least one row"))
    target = regrid(target, Grid([rows.expr.grid.axes[0], *(Axis.regular(n, n) for n in target.shape[1:])]))
    few = [np.zeros((1, *a.shape[1:]), a.dtype) for a in (rows, target)]
    recipe = Recipe.of(model)
    with borrowed(recipe) as copy:
        names = tuple(copy.model.evaluate(*few, verbose=0, return_dict=True))
    task = _Evaluate(recipe, Variables(model).shared(), batch_size, names)
    grid = Grid([Axis.regular(rows.numblocks[0], 1), Axis.regular(len(names) + 1, len(names) + 1)])
    ways = tuple((0, *(None,) * (a.ndim - 1)) for a in (rows, target))
    op = MapBlocks(payload("evaluate", task, (), {}, "evaluate"), ways)
    sums = make(op, (rows, target), grid, np.float64).sum(axis=0).compute()
    return {name: float(v / sums[0]) for name, v in zip(names, sums[1:], strict=True)}


@dataclass(frozen=True)
class _Predict:
    recipe: Recipe
    weights: dict[str, Any]
    size: int
    dtype: np.dtype[Any]

    def __call__(self, rows: Values) -> Values:
        with borrowed(self.recipe) as copy:
            copy.variables.put(self.weights)
            starts = range(0, max(len(rows), 1), self.size)
            parts = [copy.model(rows[i : i + self.size], training=False) for i in starts]
            return np.concatenate([np.asarray(part, self.dtype) for part in parts])


@dataclass(frozen=True)
class _Evaluate:
    recipe: Recipe
    weights: dict[str, Any]
    size: int
    names: tuple[str, ...]

    def __call__(self, rows: Values, target: Values) -> Values:
        if not len(rows):
            return np.zeros((1, len(self.names) + 1))
        with borrowed(self.recipe) as copy:
            copy.variables.put(self.weights)
            found = copy.model.evaluate(rows, target, batch_size=self.size, verbose=0, return_dict=True)
        return np.array([[1.0, *(found[name] for name in self.names)]]) * len(rows)


def _rows(operation: str, X: Any) -> Array:
    array = as_array(operation, "X", X)
    first, *rest = array.expr.grid.axes
    return regrid(array, Grid([first, *(Axis.regular(a.length, max(1, a.length)) for a in rest)]))
